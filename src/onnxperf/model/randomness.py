"""Operators that draw random numbers, anywhere in a model, if its outputs depend on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto

from onnxperf.model.graph import short_domain

_RANDOM = {
    "": {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"},
    "com.microsoft": {"Sampling"},
}
"""By domain, regardless of their seed: it fixes a sequence, not the numbers that a call draws from it."""
_DROPOUTS = {"": ("Dropout", 2), "com.microsoft": ("BiasDropout", 4)}
"""Operators that draw in training mode only: by domain, with the input that switches it on."""
_ONLY_SHAPES = ("Shape", "Size")
"""Operators whose results do not depend on the values of their inputs."""

Key = tuple[str, str]
"""Domain and name of an operator or a function."""


class _Scope(NamedTuple):
    """What a graph's nodes may refer to in addition to each other."""

    opset: int
    switches: Mapping[str, bool]
    """Boolean constants."""


def random_operators(model: ModelProto) -> tuple[str, ...]:
    """Types of the operators that draw random numbers for a model's outputs, including those in functions and bodies.

    A Dropout counts if its training mode is a constant true; if it is computed, the caller must decide by running the
    model twice.
    """
    in_functions = _random_functions(model.functions)
    scope = _Scope(_opset(model.opset_import), {})
    found: dict[str, None] = {}
    for node, inner in _needed_of_graph(model.graph, scope):
        name = _drawn_by(node, inner) or in_functions.get(_key(node))
        found.update({name: None} if name else {})
    return tuple(found)


def _random_functions(functions: Iterable[FunctionProto]) -> dict[Key, str]:
    """Functions that draw random numbers, each with an operator that does so: from callees to callers, once each."""
    random: dict[Key, str] = {}
    callers: dict[Key, set[Key]] = {}
    for function in functions:
        own = short_domain(function.domain), function.name
        scope = _Scope(_opset(function.opset_import), _switches(function.node, ()))
        for node, inner in _needed(function.node, function.output, scope):
            callers.setdefault(_key(node), set()).add(own)
            name = _drawn_by(node, inner)
            if name:
                random.setdefault(own, name)
    todo = list(random)
    while todo:
        called = todo.pop()
        for caller in callers.get(called, ()):
            if caller not in random:
                random[caller] = random[called]
                todo.append(caller)
    return random


# ---------------------------------------------------------------- nodes that matter


def _needed_of_graph(graph: GraphProto, outer: _Scope) -> Iterator[tuple[NodeProto, _Scope]]:
    scope = outer._replace(switches={**outer.switches, **_switches(graph.node, graph.initializer)})
    yield from _needed(graph.node, [output.name for output in graph.output], scope)


def _needed(nodes: Iterable[NodeProto], outputs: Iterable[str], scope: _Scope) -> Iterator[tuple[NodeProto, _Scope]]:
    """The nodes whose values reach the outputs, and those in their bodies."""
    listed = list(nodes)
    makers = {name: place for place, node in enumerate(listed) for name in node.output if name}
    todo, seen = list(outputs), set[int]()
    while todo:
        place = makers.get(todo.pop())
        if place is None or place in seen:
            continue
        seen.add(place)
        node = listed[place]
        if _key(node) not in (("", name) for name in _ONLY_SHAPES):
            todo += node.input
            todo += [name for body in _bodies(node) for name in _names_read(body)]
    for place in sorted(seen):
        yield listed[place], scope
        for body in _bodies(listed[place]):
            yield from _needed_of_graph(body, scope)


def _names_read(graph: GraphProto) -> Iterator[str]:
    """Outer names that a body may read; an upper bound, as it may define some of them itself."""
    yield from (output.name for output in graph.output)
    for node in graph.node:
        yield from node.input
        for body in _bodies(node):
            yield from _names_read(body)


def _bodies(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


# ---------------------------------------------------------------- what a node does


def _drawn_by(node: NodeProto, scope: _Scope) -> str:
    """The type of a node that draws random numbers; empty for any other."""
    domain, name = _key(node)
    if name in _RANDOM.get(domain, ()):
        return name
    if name != _DROPOUTS.get(domain, ("", 0))[0]:
        return ""
    if domain == "" and scope.opset < 7:  # training was an attribute then, and on by default
        return "" if any(each.name == "is_test" and each.i for each in node.attribute) else name
    place = _DROPOUTS[domain][1]
    is_training = len(node.input) > place and scope.switches.get(node.input[place], False)
    return name if is_training and (domain or scope.opset >= 12) else ""


def _switches(nodes: Iterable[NodeProto], initializers: Sequence[TensorProto]) -> dict[str, bool]:
    """Constants with a single truth value."""
    found = {each.name: _truth(each) for each in initializers if each.data_type == TensorProto.BOOL}
    for node in nodes:
        if _key(node) == ("", "Constant"):
            values = [each.t for each in node.attribute if each.name == "value"]
            truths = [_truth(each) for each in values if each.data_type == TensorProto.BOOL]
            found |= dict(zip(node.output, truths, strict=False))
    return found


def _truth(tensor: TensorProto) -> bool:
    return any(tensor.raw_data[:1]) or any(tensor.int32_data[:1])


def _opset(imports: Iterable[OperatorSetIdProto]) -> int:
    return max((each.version for each in imports if short_domain(each.domain) == ""), default=1)


def _key(node: NodeProto) -> Key:
    return short_domain(node.domain), node.op_type
