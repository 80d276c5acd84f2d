"""A draft of a graph: plain nodes that can be compared and costed, and finally become an ONNX model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxperf.contraction.equation import Shape
from onnxperf.errors import BadOption

Attribute = int | str | tuple[int, ...]

ELEMENT_TYPES = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
}
MIN_OPSET = 13
"""From this opset on, the axes of ReduceSum are an input."""
DEFAULT_OPSET = 18
MICROSOFT = "com.microsoft"
_CONTRIBUTED = {"FusedMatMul"}
_IR_VERSION = 10
"""Supported by every onnxruntime since 1.18."""
_OPERANDS_AS_INPUTS: dict[str, tuple[str, ...]] = {
    "Reshape": ("shape",),
    "ReduceSum": ("axes",),
    "Slice": ("starts", "ends", "axes", "steps"),
}
"""Constants that the operator takes as inputs, in order."""


@dataclass(frozen=True)
class DraftNode:
    """One operator with one output; its inputs are values of its draft."""

    op: str
    inputs: tuple[int, ...]
    shape: Shape
    attributes: tuple[tuple[str, Attribute], ...] = ()
    body: Draft | None = None


@dataclass(frozen=True)
class Draft:
    """Nodes in execution order: values are numbered starting with the inputs; the last one is the result."""

    inputs: tuple[Shape, ...]
    nodes: tuple[DraftNode, ...] = ()
    microseconds: float = field(default=0.0, compare=False)

    def shape(self, value: int) -> Shape:
        """Shape of a value."""
        known = len(self.inputs)
        return self.inputs[value] if value < known else self.nodes[value - known].shape

    def add(self, node: DraftNode, microseconds: float) -> tuple[Draft, int]:
        """This draft with one more node, and the value of that node."""
        called = Draft(self.inputs, (*self.nodes, node), self.microseconds + microseconds)
        return called, len(self.inputs) + len(self.nodes)

    def reshape(self, value: int, shape: Shape, microseconds: float) -> tuple[Draft, int]:
        """The value in another shape: skips previous reshapes, and adds nothing if nothing changes."""
        source = self._unreshaped(value)
        for same in (value, source):
            if self.shape(same) == shape:
                return self, same
        return self.add(DraftNode("Reshape", (source,), shape, (("shape", shape),)), microseconds)

    def comes_from(self, value: int, op: str) -> bool:
        """Is the value the result of this operator, in any shape?"""
        node = self._producer(self._unreshaped(value))
        return node is not None and node.op == op

    def _unreshaped(self, value: int) -> int:
        while (node := self._producer(value)) is not None and node.op == "Reshape":
            value = node.inputs[0]
        return value

    def _producer(self, value: int) -> DraftNode | None:
        return self.nodes[value - len(self.inputs)] if value >= len(self.inputs) else None

    def finished(self, result: int) -> Draft:
        """Only what the result needs, with the result as the last node."""
        known = len(self.inputs)
        draft, needed = self, {result}
        if result < known:
            draft, result = self.add(DraftNode("Identity", (result,), self.shape(result)), 0.0)
            needed = {result}
        for value in range(result, known - 1, -1):
            if value in needed:
                needed.update(draft.nodes[value - known].inputs)
        kept = sorted(value for value in needed if known <= value <= result)
        place = {**{i: i for i in range(known)}, **{value: known + i for i, value in enumerate(kept)}}
        nodes = [draft.nodes[value - known] for value in kept]
        renumbered = tuple(replace(node, inputs=tuple(place[i] for i in node.inputs)) for node in nodes)
        return Draft(self.inputs, renumbered, draft.microseconds)


def check_target(dtype: str, opset: int) -> None:
    """Reject an element type or an opset for which no graph can be built."""
    if dtype not in ELEMENT_TYPES:
        raise BadOption.unknown("einsum element type", dtype, ELEMENT_TYPES)
    newest = onnx.defs.onnx_opset_version()
    if not MIN_OPSET <= opset <= newest:
        raise BadOption(f"einsum graphs need an opset from {MIN_OPSET} to {newest}, not {opset}")


def to_model(draft: Draft, dtype: str, opset: int = DEFAULT_OPSET) -> onnx.ModelProto:
    """The draft as an ONNX model with inputs X0, X1, ... and the output Y."""
    check_target(dtype, opset)
    graph = _Writer(dtype).graph(draft, "einsum", [f"X{i}" for i in range(len(draft.inputs))], "Y")
    opsets = [helper.make_opsetid("", opset)]
    if any(node.op in _CONTRIBUTED for node in all_nodes(draft)):
        opsets.append(helper.make_opsetid(MICROSOFT, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="onnxperf")


def all_nodes(draft: Draft) -> Iterator[DraftNode]:
    """Every node of a draft, including those in loop bodies."""
    for node in draft.nodes:
        yield node
        if node.body is not None:
            yield from all_nodes(node.body)


class _Writer:
    """Writes one graph, or a loop body in it; each constant is stored once per graph."""

    def __init__(self, dtype: str, prefix: str = "") -> None:
        self.dtype, self.prefix = dtype, prefix
        self.constants: dict[str, onnx.TensorProto] = {}

    def graph(self, draft: Draft, name: str, inputs: Sequence[str], output: str) -> onnx.GraphProto:
        last = len(draft.inputs) + len(draft.nodes) - 1
        names = [*inputs, *(f"{self.prefix}v{i}" for i in range(len(inputs), last)), output]
        # float16 drafts are cast on input and output: only the casts have two types
        types = self._types(draft)
        nodes = [self._node(node, names, names[len(inputs) + i]) for i, node in enumerate(draft.nodes)]
        return helper.make_graph(
            nodes,
            name,
            [
                helper.make_tensor_value_info(each, kind, shape)
                for each, kind, shape in zip(inputs, types, draft.inputs, strict=False)
            ],
            [helper.make_tensor_value_info(output, types[-1], draft.nodes[-1].shape)],
            list(self.constants.values()),
        )

    def _types(self, draft: Draft) -> list[int]:
        types: list[int] = [ELEMENT_TYPES[self.dtype]] * len(draft.inputs)
        for node in draft.nodes:
            target = dict(node.attributes).get("to")
            source = types[node.inputs[0]] if node.inputs else ELEMENT_TYPES[working_type(self.dtype)]
            types.append(target if isinstance(target, int) else source)
        return types

    def _node(self, node: DraftNode, names: Sequence[str], output: str) -> onnx.NodeProto:
        attributes: dict[str, Attribute | onnx.GraphProto] = dict(node.attributes)
        inputs = [names[i] for i in node.inputs]
        for name in _OPERANDS_AS_INPUTS.get(node.op, ()):
            inputs.append(self._constant(np.array(attributes.pop(name), np.int64)))
        if node.op == "GatherElements":
            inputs.append(self._places(attributes.pop("sizes"), attributes.pop("steps")))
        if node.op == "Filled":
            return self._filled(node, dict(node.attributes), output)
        if node.body is not None:
            writer = _Writer(working_type(self.dtype), f"{output}_")
            own = [f"{output}_x{i}" for i in range(len(node.body.inputs))]
            attributes["body"] = writer.graph(node.body, f"{output}_body", own, f"{output}_y")
        domain = MICROSOFT if node.op in _CONTRIBUTED else ""
        made = helper.make_node(node.op, inputs, [output], name=f"{node.op}_{output}", domain=domain)
        made.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        return made

    def _filled(self, node: DraftNode, attributes: Mapping[str, Attribute], output: str) -> onnx.NodeProto:
        value = numpy_helper.from_array(np.full(1, attributes["value"], working_type(self.dtype)))
        shape = self._constant(np.array(node.shape, np.int64))
        return helper.make_node("ConstantOfShape", [shape], [output], name=f"Filled_{output}", value=value)

    def _places(self, sizes: Attribute, steps: Attribute) -> str:
        """The positions of a tensor's elements in another one, if each of its axes has its own step there."""
        places = np.zeros(1, np.int64)
        if isinstance(sizes, tuple) and isinstance(steps, tuple):
            for size, step in zip(sizes, steps, strict=True):
                places = np.add.outer(places, np.arange(size, dtype=np.int64) * step).ravel()
        name = f"{self.prefix}places_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(places, name)
        return name

    def _constant(self, value: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
        name = f"{self.prefix}c_{'_'.join(map(str, value.ravel())) or 'empty'}"
        self.constants.setdefault(name, numpy_helper.from_array(value, name))
        return name


def working_type(dtype: str) -> str:
    """The type in which a graph computes: onnxruntime's CPU kernels for products and sums lack float16."""
    return "float32" if dtype == "float16" else dtype
