"""`layernorm`: respells a LayerNormalization that onnxruntime does not fuse, so that it does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from msgspec import Struct

from onnxperf.model.graph import element_dtype
from onnxperf.model.rewrites.algebra import origin, product
from onnxperf.model.rewrites.base import FLOATS, EditedModel, array_of, integer, integers, is_op

_OPERATOR_SINCE = 17
"""Opset of ONNX's own operator; before, it is spelled as onnxruntime recognizes it."""


class Normalised(Struct, frozen=True):
    """(x - mean) / sqrt(variance + epsilon) over the last axis, and what follows it."""

    x: str
    epsilon: float
    ending: onnx.NodeProto
    """Its last node."""
    scale: str = ""
    bias: str = ""


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Replace every normalization over the last axis that onnxruntime does not fuse as it is."""
    edited = EditedModel(proto)
    found = 0
    for node in edited.nodes:
        match = matched(edited, node) if is_op(node, "Div", "Mul") else None
        if match is not None:
            weighted = with_weights(edited, match)
            if not is_fused(edited, node, weighted):
                found += _replace(edited, weighted)
    return edited.finished() if found else None


# ---------------------------------------------------------------- recognized


def matched(edited: EditedModel, node: onnx.NodeProto) -> Normalised | None:
    """The normalization that ends with a node, without the weights after it; None if there is none."""
    for difference, root in _quotients(edited, node):
        sub = edited.maker(origin(edited, difference), "Sub")
        add = edited.maker(origin(edited, root), "Add")
        if sub is None or add is None or len(add.input) != 2 or len(sub.input) != 2:
            continue
        x = origin(edited, sub.input[0])
        for mean, number in (tuple(add.input), tuple(add.input)[::-1]):
            epsilon = edited.scalar(origin(edited, number))
            if epsilon is None or not 0 < epsilon < 1:
                continue
            if _is_variance(edited, mean, sub.output[0]) and _mean_of(edited, sub.input[1]) == x:
                return Normalised(x, epsilon, node)
    return None


def _quotients(edited: EditedModel, node: onnx.NodeProto) -> Iterator[tuple[str, str]]:
    """Pairs of a dividend and the operand of the square root that divides it, in its three spellings."""
    left, right = node.input
    if is_op(node, "Div"):
        if root := _root(edited, right, "Sqrt"):
            yield left, root
        return
    for difference, factor in ((left, right), (right, left)):
        reciprocal = edited.maker(origin(edited, factor), "Reciprocal")
        divided = edited.maker(origin(edited, factor), "Div")
        power = edited.maker(origin(edited, factor), "Pow")
        if reciprocal is not None and (root := _root(edited, reciprocal.input[0], "Sqrt")):
            yield difference, root
        elif divided is not None and edited.scalar(divided.input[0]) == 1.0:
            if root := _root(edited, divided.input[1], "Sqrt"):
                yield difference, root
        elif power is not None and edited.scalar(power.input[1]) == -0.5:
            yield difference, power.input[0]


def _root(edited: EditedModel, name: str, op_type: str) -> str:
    node = edited.maker(origin(edited, name), op_type)
    return str(node.input[0]) if node is not None else ""


def _mean_of(edited: EditedModel, name: str) -> str:
    """The tensor of which a tensor is the mean over the last axis; empty if it is not a mean."""
    node = edited.maker(origin(edited, name), "ReduceMean")
    if node is None or not integer(node, "keepdims", 1):
        return ""
    axes = integers(node, "axes")
    if len(node.input) > 1 and node.input[1] in edited.constants:
        array = array_of(edited.constants[node.input[1]])
        axes = (
            tuple(int(each) for each in array.reshape(-1)[:2]) if array is not None and array.dtype.kind == "i" else ()
        )
    shape = edited.shape(node.input[0])
    last = {-1} if shape is None else {-1, len(shape) - 1}
    return origin(edited, node.input[0]) if len(axes) == 1 and axes[0] in last else ""


def _is_variance(edited: EditedModel, name: str, difference: str) -> bool:
    """Whether a tensor is the mean of the squares of a difference, or of one computed the same way."""
    squares = _mean_of(edited, name)
    if not squares:
        return False
    found = product(edited, squares)
    if found.factor != 1.0 or len(found.terms) != 2 or found.terms[0] != found.terms[1]:
        return False
    return found.terms[0] == difference or _operands(edited, found.terms[0]) == _operands(edited, difference) != []


def _operands(edited: EditedModel, name: str) -> list[str]:
    node = edited.maker(name, "Sub")
    return [origin(edited, each) for each in node.input] if node is not None else []


def with_weights(edited: EditedModel, match: Normalised) -> Normalised:
    """The same with the subsequent multiplication and addition of weights."""
    name = match.ending.output[0]
    size = _last_size(edited, match.x)
    step = _next(edited, name, "Mul")
    scale = _weight(edited, step, name, size) if step is not None else ""
    if step is None or not scale:
        return match
    scaled = step.output[0]
    last = _next(edited, scaled, "Add")
    bias = _weight(edited, last, scaled, size) if last is not None else ""
    if last is None or not bias:
        return Normalised(match.x, match.epsilon, step, scale)
    return Normalised(match.x, match.epsilon, last, scale, bias)


def _last_size(edited: EditedModel, name: str) -> int | None:
    shape = edited.shape(name)
    return shape[-1] if shape else None


def _next(edited: EditedModel, name: str, op_type: str) -> onnx.NodeProto | None:
    users = edited.users_of(name)
    return users[0] if edited.is_private(name) and is_op(users[0], op_type) and len(users[0].input) == 2 else None


def _weight(edited: EditedModel, node: onnx.NodeProto, name: str, size: int | None) -> str:
    other = next((each for each in node.input if each != name), "")
    tensor = edited.constants.get(other)
    return other if tensor is not None and len(tensor.dims) == 1 and size in (None, tensor.dims[0]) else ""


def is_fused(edited: EditedModel, node: onnx.NodeProto, match: Normalised) -> bool:
    """Whether onnxruntime recognizes it: a Div by Sqrt, squares by Pow, each with one user, and both weights."""
    if not match.bias or not is_op(node, "Div"):
        return False
    root = edited.maker(node.input[1], "Sqrt")
    add = edited.maker(root.input[0], "Add") if root is not None else None
    means = [edited.maker(name, "ReduceMean") for name in add.input] if add is not None else []
    mean = next((each for each in means if each is not None), None)
    power = edited.maker(mean.input[0], "Pow") if mean is not None else None
    if root is None or add is None or mean is None or power is None:
        return False
    direct = all(edited.maker(name, "Sub") is not None for name in (power.input[0], node.input[0]))
    return direct and all(edited.is_private(each.output[0]) for each in (root, add, mean, power))


# ---------------------------------------------------------------- replaced


def _replace(edited: EditedModel, match: Normalised) -> bool:
    name = match.ending.output[0]
    element, size = edited.element(match.x), _last_size(edited, match.x)
    known = {edited.shape(match.x), edited.shape(name)} - {None}
    dtype = element_dtype(element)
    if element not in FLOATS or edited.element(name) != element or len(known) > 1 or dtype is None:
        return False
    if any(weight and edited.constants[weight].data_type != element for weight in (match.scale, match.bias)):
        return False
    if match.scale:
        size = size or int(edited.constants[match.scale].dims[0])
    if not size:
        return False
    scale = match.scale or edited.constant(np.ones(size, dtype), f"{name}_scale")
    bias = match.bias or edited.constant(np.zeros(size, dtype), f"{name}_bias")
    weighted = Normalised(match.x, match.epsilon, match.ending, scale, bias)
    spell = _operator if edited.opset >= _OPERATOR_SINCE else _spelled
    edited.replace(match.ending, spell(edited, weighted, dtype))
    return True


def _operator(_bench: EditedModel, match: Normalised, _dtype: np.dtype[np.generic]) -> list[onnx.NodeProto]:
    inputs = [match.x, match.scale, match.bias]
    made = [match.ending.output[0]]
    return [
        onnx.helper.make_node(
            "LayerNormalization", inputs, made, name=match.ending.name, axis=-1, epsilon=match.epsilon
        )
    ]


def _spelled(edited: EditedModel, match: Normalised, dtype: np.dtype[np.generic]) -> list[onnx.NodeProto]:
    stem = match.ending.output[0]
    mean, difference, square, variance, shifted, root, quotient, scaled = (
        edited.fresh(f"{stem}_{part}")
        for part in ("mean", "difference", "square", "variance", "shifted", "root", "quotient", "scaled")
    )
    two = edited.constant(np.array(2, dtype), f"{stem}_two")
    epsilon = edited.constant(np.array(match.epsilon, dtype), f"{stem}_epsilon")
    make = onnx.helper.make_node
    return [
        make("ReduceMean", [match.x], [mean], axes=[-1], keepdims=1),
        make("Sub", [match.x, mean], [difference]),
        make("Pow", [difference, two], [square]),
        make("ReduceMean", [square], [variance], axes=[-1], keepdims=1),
        make("Add", [variance, epsilon], [shifted]),
        make("Sqrt", [shifted], [root]),
        make("Div", [difference, root], [quotient]),
        make("Mul", [quotient, match.scale], [scaled]),
        make("Add", [scaled, match.bias], [stem], name=match.ending.name),
    ]
