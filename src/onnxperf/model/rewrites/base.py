"""A copy of a model for changes to its main graph: what its names refer to, and how to replace nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from onnxperf.model.cost import KnownType, infer_types
from onnxperf.model.graph import all_names, bodies, element_dtype, initialisers, is_external, opset_of, short_domain

MICROSOFT = "com.microsoft"
"""Domain of the operators that exist only in onnxruntime."""
CONSTANTS_NEED_NO_INPUT = 4
"""From this IR version on, an initializer that is also an input may be overridden by a feed."""
FLOATS = frozenset(
    {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
)
_LONGEST_STEM = 200

Rewriting = Callable[[onnx.ModelProto], onnx.ModelProto | None]
"""A rewrite: a changed copy, or None if there is nothing to change; the given model is not changed."""
_Message = TypeVar("_Message")


# ---------------------------------------------------------------- queries on a graph


def is_sound(graph: onnx.GraphProto) -> bool:
    """Whether every tensor is created once, and before it is used: no cycles and no missing inputs."""
    known = {value.name for value in graph.input} | initialisers(graph) | {""}
    for node in graph.node:
        if not known.issuperset(used_by(node)):
            return False
        made = [name for name in node.output if name]
        if len(set(made)) < len(made) or not known.isdisjoint(made):
            return False
        known.update(made)
    return known.issuperset(value.name for value in graph.output)


def used_by(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node reads, including outer names read by its bodies."""
    yield from node.input
    yield from used_in_bodies(node)


def used_in_bodies(node: onnx.NodeProto) -> Iterator[str]:
    """Outer names that the bodies of a node read."""
    for _, body in bodies(node):
        own = {value.name for value in body.input} | initialisers(body) | {""}
        for inner in body.node:
            yield from (name for name in used_by(inner) if name not in own)
            own.update(inner.output)
        yield from (value.name for value in body.output if value.name not in own)


def constants_of(proto: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    """Tensors of the main graph that never change: Constant nodes, and initializers that no feed can override."""
    graph = proto.graph
    fed = {value.name for value in graph.input} if proto.ir_version >= CONSTANTS_NEED_NO_INPUT else set()
    found = {each.name: each for each in graph.initializer if each.name not in fed}
    for node in graph.node:
        tensor = constant_of(node)
        if tensor is not None and node.output:
            found[node.output[0]] = tensor
    return found


def constant_of(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """The tensor of a Constant node; None for all others, and for sparse tensors and texts."""
    if node.op_type != "Constant" or short_domain(node.domain) or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    makers: dict[str, Callable[[], onnx.TensorProto]] = {
        "value": lambda: attribute.t,
        "value_float": lambda: numpy_helper.from_array(np.array(attribute.f, np.float32)),
        "value_floats": lambda: numpy_helper.from_array(np.array(attribute.floats, np.float32)),
        "value_int": lambda: numpy_helper.from_array(np.array(attribute.i, np.int64)),
        "value_ints": lambda: numpy_helper.from_array(np.array(attribute.ints, np.int64)),
    }
    return makers[attribute.name]() if attribute.name in makers else None


def array_of(tensor: onnx.TensorProto) -> NDArray[np.generic] | None:
    """Its values; None if they are in another file, or not numeric."""
    if is_external(tensor) or tensor.data_type == onnx.TensorProto.STRING or element_dtype(tensor.data_type) is None:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError):
        return None


def scalar_of(tensor: onnx.TensorProto) -> float | None:
    """Its value as a number, if it has one element and at most one axis."""
    if len(tensor.dims) > 1 or math.prod(tensor.dims) != 1:
        return None
    array = array_of(tensor)
    return None if array is None or array.dtype.kind in "OSUc" else float(array.reshape(-1)[0].astype(np.float64))


def integer(node: onnx.NodeProto, name: str, default: int = 0) -> int:
    """An integer attribute."""
    return next((int(each.i) for each in node.attribute if each.name == name), default)


def integers(node: onnx.NodeProto, name: str) -> tuple[int, ...]:
    """An attribute that is a list of integers."""
    return next((tuple(each.ints) for each in node.attribute if each.name == name), ())


def keep(field: MutableSequence[_Message], values: Sequence[_Message]) -> None:
    """Make these the only members of a field."""
    del field[:]
    field.extend(values)


# ---------------------------------------------------------------- a graph under edit


class EditedModel:
    """A copy of a model, and what is known about the names in its main graph."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(proto)
        self.graph = self.model.graph
        self.opset = opset_of(proto)
        self.nodes: list[onnx.NodeProto] = list(self.graph.node)
        self.constants: Mapping[str, onnx.TensorProto] = constants_of(self.model)
        self.makers = {name: node for node in self.nodes for name in node.output if name}
        self.results = {value.name for value in self.graph.output}
        self.inside = {name for node in self.nodes for name in used_in_bodies(node)}
        """Names used by bodies: these are never renamed."""
        self.users: dict[str, dict[int, onnx.NodeProto]] = {}
        """Nodes that read a tensor, by node identity."""
        for node in self.nodes:
            for name in dict.fromkeys(node.input):
                self.users.setdefault(name, {})[id(node)] = node
        self._added: list[tuple[onnx.NodeProto, list[onnx.NodeProto]]] = []
        self.forgotten: set[str] = set()
        """Names whose declared shapes are no longer valid."""

    @cached_property
    def types(self) -> dict[str, KnownType]:
        """Element types and shapes, as far as they can be inferred."""
        return infer_types(self.model, {})

    @cached_property
    def _taken(self) -> set[str]:
        return all_names(self.graph)

    def maker(self, name: str, *op_types: str) -> onnx.NodeProto | None:
        """The node that creates a tensor, if it is one of ONNX's own operators with one of these names."""
        node = self.makers.get(name)
        return node if node is not None and is_op(node, *op_types) else None

    def element(self, name: str) -> int:
        """The element type of a tensor; 0 if unknown."""
        known = self.types.get(name)
        return known.element if known is not None else 0

    def shape(self, name: str) -> tuple[int, ...] | None:
        """The shape of a tensor, if all its sizes are known."""
        known = self.types.get(name)
        return known.shape if known is not None else None

    def scalar(self, name: str) -> float | None:
        """The value of a constant with one element."""
        tensor = self.constants.get(name)
        return None if tensor is None else scalar_of(tensor)

    def is_private(self, name: str) -> bool:
        """Whether a tensor has one user, and is not an output of the model."""
        return len(self.users.get(name, ())) == 1 and name not in self.results and name not in self.inside

    def fresh(self, name: str) -> str:
        """A name that is not used yet."""
        stem, number = name[:_LONGEST_STEM], 0
        while (candidate := f"{stem}_{number}" if number else stem) in self._taken:
            number += 1
        self._taken.add(candidate)
        return candidate

    def constant(self, array: NDArray[np.generic], name: str) -> str:
        """A new initializer."""
        tensor = numpy_helper.from_array(array, self.fresh(name))
        self.graph.initializer.append(tensor)
        return str(tensor.name)

    def replace(self, node: onnx.NodeProto, others: Iterable[onnx.NodeProto]) -> None:
        """Replace a node with others that create its results."""
        self._added.append((node, list(others)))

    def bypass(self, name: str, source: str) -> bool:
        """Make all users of a tensor read another one; False if that is impossible."""
        if name in self.inside or name in self.results:
            return False
        for user in list(self.users.get(name, {}).values()):
            self.connect(user, name, source)
        return True

    def connect(self, user: onnx.NodeProto, name: str, source: str) -> None:
        """Make one node read another tensor in place of one."""
        user.input[:] = [source if each == name else each for each in user.input]
        del self.users[name][id(user)]
        self.users.setdefault(source, {})[id(user)] = user

    def users_of(self, name: str) -> list[onnx.NodeProto]:
        """The nodes that read a tensor, without those in bodies."""
        return list(self.users.get(name, {}).values())

    def import_domain(self, domain: str, version: int) -> None:
        """Declare that operators of a domain are used."""
        if all(each.domain != domain for each in self.model.opset_import):
            self.model.opset_import.append(onnx.helper.make_opsetid(domain, version))

    def finished(self) -> onnx.ModelProto:
        """The changed model, without unused nodes and declarations."""
        others = {id(node): nodes for node, nodes in self._added}
        nodes = [each for node in self.nodes for each in others.get(id(node), [node])]
        needed = set(self.results)
        kept: list[onnx.NodeProto] = []
        for node in reversed(nodes):
            if not needed.isdisjoint(node.output):
                kept.append(node)
                needed.update(used_by(node))
        kept.reverse()
        copies = [_copied(node) for node in kept]
        keep(self.graph.node, copies)
        made = {name for node in copies for name in node.output}
        known = (made | {value.name for value in self.graph.input} | initialisers(self.graph)) - self.forgotten
        keep(self.graph.value_info, [_copied(each) for each in self.graph.value_info if each.name in known])
        return self.model


def is_op(node: onnx.NodeProto, *op_types: str) -> bool:
    """Whether a node is one of ONNX's own operators with one of these names."""
    return node.op_type in op_types and not short_domain(node.domain)


def _copied(message: _Message) -> _Message:
    copy = type(message)()
    copy.CopyFrom(message)  # type: ignore[attr-defined]
    return copy
