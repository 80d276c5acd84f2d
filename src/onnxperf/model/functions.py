"""Local functions: how many nodes a model has after runtimes inline them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx

from onnxperf.errors import BadModel
from onnxperf.model.graph import bodies
from onnxperf.wording.numbers import grouped

MOST_NODES = 250_000
"""The maximum number of nodes after inlining. A call costs a few bytes, and two dozen doublings make millions."""
DEEPEST = 100
"""The maximum depth of nested calls. Runtimes and shape inference follow them recursively."""

Key = tuple[str, str, str]
"""Domain, name and overload."""


def function_key(function: onnx.FunctionProto) -> Key:
    """What identifies a function, and the nodes that call it."""
    return function.domain, function.name, function.overload


def call_key(node: onnx.NodeProto) -> Key:
    """The function that a node calls, if one exists."""
    return node.domain, node.op_type, node.overload


def check_functions(proto: onnx.ModelProto, what: str) -> None:
    """Reject a model whose functions grow beyond all bounds when expanded; each function is inspected once."""
    if not proto.functions:
        return
    functions = {function_key(each): each for each in proto.functions}
    calls = {key: list(_calls(each.node, functions)) for key, each in functions.items()}
    own = {key: sum(1 for _ in _nested(each.node)) for key, each in functions.items()}
    nodes: dict[Key, int] = {}
    depths: dict[Key, int] = {}
    for key in _callees_first(calls):
        # Shape inference and runtimes reject a function that calls itself.
        nodes[key] = own[key] + sum(nodes.get(each, 0) for each in calls[key])
        depths[key] = 1 + max((depths.get(each, 0) for each in calls[key]), default=0)
    called = list(_calls(proto.graph.node, functions))
    if max((depths[key] for key in called), default=0) > DEEPEST:
        raise BadModel(f"the local functions of {what} are nested more than {DEEPEST} deep; inline them")
    if sum(nodes[key] for key in called) > MOST_NODES:
        raise BadModel(
            f"the local functions of {what} expand to more than {grouped(MOST_NODES)} nodes; "
            "export it without functions"
        )


def _nested(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for _, body in bodies(node):
            yield from _nested(body.node)


def _calls(nodes: Iterable[onnx.NodeProto], functions: Mapping[Key, onnx.FunctionProto]) -> Iterator[Key]:
    return (key for node in _nested(nodes) if (key := call_key(node)) in functions)


def _callees_first(calls: Mapping[Key, list[Key]]) -> Iterator[Key]:
    """Every function after those that it calls; without recursion, because chains may be long."""
    seen: set[Key] = set()
    for root in calls:
        pending = [(root, False)]
        while pending:
            key, is_left = pending.pop()
            if is_left:
                yield key
            elif key not in seen:
                seen.add(key)
                pending.append((key, True))
                pending.extend((each, False) for each in dict.fromkeys(calls[key]) if each not in seen)
