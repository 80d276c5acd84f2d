"""A rough measure of the work in each node: multiplications, and numbers read and written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import onnx

Shape = tuple[int, ...]

_MULTIPLICATIONS_PER_MOVE = 8
"""A processor multiplies about this many numbers in the time that it takes to move one through memory."""


def work_of_nodes(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> dict[str, float]:
    """Work of every node of the main graph by its name, where shapes are known; in moves of one number."""
    known = _shapes(proto, shapes)
    return dict(_weigh(proto.graph.node, known))


def _weigh(nodes: Iterable[onnx.NodeProto], known: Mapping[str, Shape]) -> Iterator[tuple[str, float]]:
    for node in nodes:
        names = [name for name in (*node.input, *node.output) if name]
        if node.name and all(name in known for name in names):
            moves = sum(math.prod(known[name]) for name in names)
            yield node.name, moves + multiplications(node, known) / _MULTIPLICATIONS_PER_MOVE


def multiplications(node: onnx.NodeProto, known: Mapping[str, Shape]) -> float:
    """Multiply-adds of a node, where its operator is known to consist of them; else 0."""
    if node.op_type in ("Conv", "ConvTranspose") and len(node.input) > 1:
        side = node.output[0] if node.op_type == "Conv" else node.input[0]
        return float(math.prod(known[side]) * math.prod(known[node.input[1]][1:]))
    if node.op_type in ("MatMul", "Gemm") and node.input:
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        left = known[node.input[0]]
        inner = (left[0] if transposed else left[-1]) if left else 1
        return float(math.prod(known[node.output[0]]) * inner)
    return 0.0


def _shapes(proto: onnx.ModelProto, fed: Mapping[str, Shape]) -> dict[str, Shape]:
    """Shapes of all tensors, as far as ONNX can infer them from those of the inputs."""
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    for value in bare.graph.input:
        if value.name in fed:
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=size) for size in fed[value.name])
    with suppress(onnx.shape_inference.InferenceError, ValueError, RuntimeError):  # a part is better than nothing
        bare = onnx.shape_inference.infer_shapes(bare, data_prop=True)
    known = {tensor.name: tuple(tensor.dims) for tensor in bare.graph.initializer}
    for value in (*bare.graph.input, *bare.graph.value_info, *bare.graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
            known.setdefault(value.name, tuple(dim.dim_value for dim in dims))
    return known
