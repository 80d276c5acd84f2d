"""Types of all tensors, and a rough measure of each node's work: multiplications, numbers read and written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import onnx

from onnxperf.model.graph import dims_of, is_external, set_shape, with_bodies
from onnxperf.records.view import Dims

Shape = tuple[int, ...]

INFERENCE_ERRORS = (
    onnx.shape_inference.InferenceError,
    onnx.checker.ValidationError,  # a function that calls itself
    ValueError,
    RuntimeError,
    TypeError,
)
"""Errors that shape inference raises for models that it cannot process."""

_MULTIPLICATIONS_PER_MOVE = 8
"""A processor performs about this many multiplications in the time that it takes to move one number through memory."""
_MOST_NUMBERS_OF_A_SHAPE = 1024
"""A tensor with more elements is not a shape, axes or pads: its values determine no other sizes."""
_MOST_NUMBERS_OF_ALL_SHAPES = 1 << 20
_HIDDEN = "onnxperf has hidden "
"""The prefix of names that temporarily replace sizes."""


@dataclass(frozen=True)
class KnownType:
    """What is known about a tensor before anything runs."""

    element: int
    """Its element type, as numbered by ONNX; 0 if unknown."""
    shape: Shape | None


def work_of_nodes(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> dict[str, float]:
    """Work of every node of the main graph by name, if its shapes are known; in moves of one number."""
    known = infer_shapes(proto, shapes)
    work = {}
    for node in proto.graph.node:
        names = [name for name in (*node.input, *node.output) if name]
        if node.name and all(name in known for name in names):
            moves = sum(math.prod(known[name]) for name in names)
            work[node.name] = moves + multiplications(node, known) / _MULTIPLICATIONS_PER_MOVE
    return work


def multiplications(node: onnx.NodeProto, known: Mapping[str, Shape]) -> float:
    """Multiply-adds of a node, if its operator consists of them; else 0."""
    if node.op_type in ("Conv", "ConvTranspose") and len(node.input) > 1:
        side = node.output[0] if node.op_type == "Conv" else node.input[0]
        return float(math.prod(known[side]) * math.prod(known[node.input[1]][1:]))
    if node.op_type in ("MatMul", "Gemm") and node.input:
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        left = known[node.input[0]]
        inner = (left[0] if transposed else left[-1]) if left else 1
        return float(math.prod(known[node.output[0]]) * inner)
    return 0.0


def infer_shapes(proto: onnx.ModelProto, fed: Mapping[str, Shape]) -> dict[str, Shape]:
    """Shapes of the main graph's tensors, as far as ONNX can infer them from those of the inputs."""
    types = infer_types(proto, fed)
    return {name: each.shape for name, each in types.items() if each.shape is not None}


def infer_types(proto: onnx.ModelProto, fed: Mapping[str, Shape]) -> dict[str, KnownType]:
    """Element types and shapes of the main graph's tensors, as far as ONNX can infer them."""
    bare = without_weights(proto)
    for value in bare.graph.input:
        if value.name in fed:
            set_shape(value, fed[value.name])
    with suppress(*INFERENCE_ERRORS):  # a partial result is better than none
        bare = inferred(bare)
    known = {each.name: KnownType(each.data_type, tuple(each.dims)) for each in bare.graph.initializer}
    for sparse in bare.graph.sparse_initializer:
        known[sparse.values.name] = KnownType(sparse.values.data_type, tuple(sparse.dims))
    for value in (*bare.graph.input, *bare.graph.value_info, *bare.graph.output):
        if value.type.HasField("tensor_type"):
            tensor = value.type.tensor_type
            known.setdefault(value.name, KnownType(tensor.elem_type, whole(dims_of(tensor))))
    return known


def whole(dims: Dims | None) -> Shape | None:
    """A shape whose sizes are all known; None for any other."""
    sizes = tuple(size for size in dims or () if isinstance(size, int))
    return sizes if dims is not None and len(sizes) == len(dims) else None


def inferred(bare: onnx.ModelProto) -> onnx.ModelProto:
    """A model without weights, with the types of its tensors as far as ONNX can infer them.

    ONNX follows the values of short integer tensors to find the shapes computed from them. It treats every tensor with
    one axis as such, and needs 100 bytes for each of its elements: the sizes of long ones are therefore temporarily
    replaced by names. If the graph itself computes long ones, memory may still not suffice.
    """
    hidden = _hide_long_vectors(bare)
    try:
        found = _infer(bare)
    finally:
        _show_again(bare, hidden)
    if not hidden:
        return found
    _show_again(found, hidden)
    return onnx.shape_inference.infer_shapes(found)  # what follows from the hidden sizes


def _infer(bare: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return onnx.shape_inference.infer_shapes(bare, data_prop=True)
    except MemoryError:
        return onnx.shape_inference.infer_shapes(bare)


def _hide_long_vectors(bare: onnx.ModelProto) -> dict[str, int]:
    """Replace the sizes of long tensors with one axis by names, if they have enough elements to matter."""
    values = (*bare.graph.input, *bare.graph.output, *bare.graph.value_info)
    shapes = (value.type.tensor_type.shape for value in values if value.type.HasField("tensor_type"))
    vectors = (shape.dim[0] for shape in shapes if len(shape.dim) == 1)
    long = [dim for dim in vectors if dim.dim_value > _MOST_NUMBERS_OF_A_SHAPE]
    if sum(dim.dim_value for dim in long) <= _MOST_NUMBERS_OF_ALL_SHAPES:
        return {}
    names = {f"{_HIDDEN}{dim.dim_value}": dim.dim_value for dim in long}
    for dim in long:
        dim.dim_param = f"{_HIDDEN}{dim.dim_value}"
    return names


def _show_again(proto: onnx.ModelProto, hidden: Mapping[str, int]) -> None:
    for graph in with_bodies(proto.graph) if hidden else ():
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in hidden:
                    dim.dim_value = hidden[dim.dim_param]


def without_weights(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that declares large and external initializers as inputs: inference needs their types, not their bytes."""
    bare = onnx.ModelProto(ir_version=proto.ir_version, opset_import=proto.opset_import, functions=proto.functions)
    source, graph = proto.graph, bare.graph
    graph.name = source.name
    graph.node.extend(source.node)
    graph.input.extend(source.input)
    graph.output.extend(source.output)
    graph.value_info.extend(source.value_info)
    graph.sparse_initializer.extend(source.sparse_initializer)
    inputs = {value.name for value in source.input}
    for tensor in source.initializer:
        if not is_external(tensor) and math.prod(tensor.dims) <= _MOST_NUMBERS_OF_A_SHAPE:
            graph.initializer.append(tensor)
        elif tensor.name not in inputs:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return bare
