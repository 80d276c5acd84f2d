"""`fold-constants`: computes nodes that depend only on constants once, and stores their results."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from onnxperf.model.cost import multiplications
from onnxperf.model.graph import bodies, element_dtype
from onnxperf.model.rewrites.base import EditedModel, array_of, is_op

_MOST_BYTES = 1 << 24
"""Maximum size of one tensor, as an operand or as a stored result."""
_MOST_BYTES_OF_ALL = 1 << 28
"""Maximum size of all results together, including unstored ones."""
_MOST_MULTIPLICATIONS = 1e9
_FOLDED = frozenset(
    [
        "Abs", "Add", "And", "Cast", "Ceil", "Clip", "Concat", "ConstantOfShape", "Cos", "Div", "Equal", "Erf",
        "Exp", "Expand", "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual",
        "Identity", "Less", "LessOrEqual", "Log", "MatMul", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pad",
        "Pow", "Range", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Relu",
        "Reshape", "Round", "Shape", "Sigmoid", "Sign", "Sin", "Size", "Slice", "Softmax", "Split", "Sqrt",
        "Squeeze", "Sub", "Sum", "Tanh", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor",
    ]
)  # fmt: skip
"""Operators without randomness whose time follows from their tensor sizes."""


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Compute what is known; results that are too large, or of unknown size, remain nodes."""
    edited = EditedModel(proto)
    values: dict[str, NDArray[np.generic]] = {}
    folded: list[onnx.NodeProto] = []
    spent = 0
    for node in edited.nodes:
        results = _computed(edited, node, values, _MOST_BYTES_OF_ALL - spent)
        if results is not None:
            values.update(zip(node.output, results, strict=True))
            spent += sum(each.nbytes for each in results)
            folded.append(node)
    if not folded:
        return None
    gone = {id(node) for node in folded}
    needed = {name for node in edited.nodes if id(node) not in gone for name in (*node.input, *_inside(node))}
    for node in folded:
        edited.replace(node, [])
        for name in node.output:
            if name in needed or name in edited.results:
                edited.graph.initializer.append(numpy_helper.from_array(values[name], name))
    return edited.finished()


def _inside(node: onnx.NodeProto) -> list[str]:
    return [name for _, body in bodies(node) for inner in body.node for name in (*inner.input, *_inside(inner))]


def _computed(
    edited: EditedModel, node: onnx.NodeProto, values: dict[str, NDArray[np.generic]], left: int
) -> list[NDArray[np.generic]] | None:
    """The results of a node that depends only on constants; None for other nodes, and if it would take too much."""
    if not is_op(node, *_FOLDED) or not node.input or not all(node.output):
        return None
    if any(name and name not in values and name not in edited.constants for name in node.input):
        return None
    if _bytes(edited, node) > min(left, _MOST_BYTES):
        return None
    inputs = [_value(edited, name, values) for name in node.input]
    if any(array is None and name for name, array in zip(node.input, inputs, strict=True)):
        return None
    return _evaluated(
        edited, node, [(name, array) for name, array in zip(node.input, inputs, strict=True) if array is not None]
    )


def _value(edited: EditedModel, name: str, values: dict[str, NDArray[np.generic]]) -> NDArray[np.generic] | None:
    if not name or name in values:
        return values.get(name)
    tensor = edited.constants[name]
    dtype = element_dtype(tensor.data_type)
    if dtype is None or math.prod(tensor.dims) * dtype.itemsize > _MOST_BYTES:
        return None
    return array_of(tensor)


def _bytes(edited: EditedModel, node: onnx.NodeProto) -> float:
    """The size of its results; infinite if it cannot be inferred."""
    total = 0.0
    for name in node.output:
        shape, dtype = edited.shape(name), element_dtype(edited.element(name))
        if shape is None or dtype is None:
            return math.inf
        total += math.prod(shape) * dtype.itemsize
    known = {name: shape for name in (*node.input, *node.output) if (shape := edited.shape(name)) is not None}
    is_known = all(name in known for name in node.input)
    if is_op(node, "MatMul") and (not is_known or multiplications(node, known) > _MOST_MULTIPLICATIONS):
        return math.inf
    return total


def _evaluated(
    edited: EditedModel, node: onnx.NodeProto, inputs: Sequence[tuple[str, NDArray[np.generic]]]
) -> list[NDArray[np.generic]] | None:
    from onnx.reference import ReferenceEvaluator

    fed = dict(inputs)
    values = [onnx.helper.make_tensor_value_info(name, _element(array), array.shape) for name, array in fed.items()]
    made = [onnx.helper.make_tensor_value_info(name, edited.element(name), None) for name in node.output]
    graph = onnx.helper.make_graph([node], "constant", values, made)
    model = onnx.helper.make_model(graph, opset_imports=edited.model.opset_import)
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, fed)
    except Exception:  # kernels may fail in any way on unexpected attributes: the node stays as it is
        return None
    arrays = [np.asarray(each) for each in results]
    alike = all(
        each.shape == edited.shape(name) and each.dtype == element_dtype(edited.element(name))
        for name, each in zip(node.output, arrays, strict=True)
    )
    return arrays if alike else None


def _element(array: NDArray[np.generic]) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
