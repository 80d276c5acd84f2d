"""Operations spelled out in a graph, and what keeps onnxruntime from fusing each into one node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import onnx
from msgspec.structs import replace

from onnxperf.model.rewrites import gelu, layernorm
from onnxperf.model.rewrites.algebra import origin
from onnxperf.model.rewrites.base import EditedModel, is_op, is_sound
from onnxperf.records.inspection import Pattern

_MOST_NODES = 40
"""Per operation."""
_HANDING_ON = ("Cast", "Identity", "Reshape", "Expand", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Dropout")
_BETWEEN = ("Add", "Mul", "Div", "Sub", "Where", *_HANDING_ON)
"""Allowed between the first product of an attention and its Softmax: the scale, the mask, and additional nodes."""
_QUANTISED = ("Conv", "ConvTranspose", "MatMul", "Gemm")

_Kind = Literal["gelu", "layernorm", "attention", "qdq"]


def patterns(proto: onnx.ModelProto) -> Iterator[Pattern]:
    """Every Gelu, LayerNormalization, attention and quantized product in a graph whose nodes have names."""
    if not is_sound(proto.graph):
        return
    edited = EditedModel(proto)
    for node in edited.nodes:
        if not node.input or not node.output:
            continue
        for find in (_gelu, _layernorm, _attention, _qdq):
            yield from find(edited, node)


# ---------------------------------------------------------------- one pattern each


def _gelu(edited: EditedModel, node: onnx.NodeProto) -> Iterator[Pattern]:
    match = gelu.matched(edited, node.output[0]) if is_op(node, "Mul", "Div") else None
    if match is None:
        return
    x, kind = match
    nodes = _inside(edited, node, {x})
    core = next((each for each in nodes if is_op(each, "Erf", "Tanh")), None)
    if core is None:
        return
    spelling = [core] if kind == "tanh" else _gelu_spelling(edited, node, core, x)
    yield _pattern(edited, "gelu", core, nodes, spelling)


def _gelu_spelling(edited: EditedModel, last: onnx.NodeProto, erf: onnx.NodeProto, x: str) -> list[onnx.NodeProto]:
    """Spellings that onnxruntime does not recognize: x * 0.7 for x / 1.4, and a factor 0.5 on the side of the Erf."""
    scaled = edited.maker(origin(edited, erf.input[0]), "Mul")
    operands = [origin(edited, name) for name in last.input]
    if scaled is not None:
        return [scaled]
    return [last] if x in operands and not any(edited.scalar(name) for name in operands) else []


def _layernorm(edited: EditedModel, node: onnx.NodeProto) -> Iterator[Pattern]:
    found = layernorm.matched(edited, node) if is_op(node, "Div", "Mul") else None
    if found is None:
        return
    match = layernorm.with_weights(edited, found)
    nodes = _inside(edited, match.ending, {match.x})
    core = next((each for each in nodes if is_op(each, "Sub")), node)
    spelling = [] if is_op(node, "Div") else [node]
    spelling += [each for each in nodes if is_op(each, "Mul") and len(set(each.input)) == 1]
    spelling += [] if match.bias else [match.ending]
    yield _pattern(edited, "layernorm", core, nodes, spelling)


def _attention(edited: EditedModel, node: onnx.NodeProto) -> Iterator[Pattern]:
    """MatMul, scale and mask, Softmax, MatMul."""
    if not is_op(node, "Softmax"):
        return
    after, before = _after(edited, node.output[0]), _before(edited, node.input[0])
    products = [*before[-1:], *after[-1:]]
    if len(products) != 2 or not all(is_op(each, "MatMul") for each in products):
        return
    if any(name in edited.constants for each in products for name in each.input):
        return  # a product with weights: a layer, not an attention
    found = _pattern(edited, "attention", node, [*before[::-1], node, *after], [])
    guards = _names(each for each in after if is_op(each, "IsNaN", "Where"))
    yield replace(found, extra=(*guards, *found.extra))


def _after(edited: EditedModel, name: str) -> list[onnx.NodeProto]:
    """The nodes from the Softmax to the second product; torch's exporter inserts a test for NaN in between."""
    found: list[onnx.NodeProto] = []
    while len(found) < _MOST_NODES and (users := edited.users_of(name)):
        found += [each for each in users if is_op(each, "IsNaN")]
        ranked = [each for op in ("MatMul", "Where", *_HANDING_ON) for each in users if is_op(each, op)]
        found += ranked[:1]
        if not ranked or is_op(ranked[0], "MatMul") or not ranked[0].output:
            break
        name = ranked[0].output[0]
    return found


def _before(edited: EditedModel, name: str) -> list[onnx.NodeProto]:
    """The nodes from a tensor back to the product that it comes from, along the non-constant side."""
    found: list[onnx.NodeProto] = []
    while len(found) < _MOST_NODES and (maker := edited.makers.get(name)) is not None:
        found.append(maker)
        if not is_op(maker, *_BETWEEN):
            break
        sides = [each for each in maker.input if each in edited.makers and each not in edited.constants]
        name = next((each for each in sides if _leads_to_product(edited, each)), sides[0] if sides else "")
    return found


def _leads_to_product(edited: EditedModel, name: str) -> bool:
    for _ in range(_MOST_NODES):
        node = edited.makers.get(name)
        if node is None or is_op(node, "MatMul"):
            return node is not None
        if not is_op(node, *_BETWEEN):
            return False
        name = next((each for each in node.input if each in edited.makers and each not in edited.constants), "")
    return False


def _qdq(edited: EditedModel, node: onnx.NodeProto) -> Iterator[Pattern]:
    """A product between one DequantizeLinear per operand and a QuantizeLinear."""
    if not is_op(node, *_QUANTISED):
        return
    operands = [name for name in node.input[:2] if name]
    makers = [edited.makers.get(name) for name in operands]
    dequantised = [each for each in makers if each is not None and is_op(each, "DequantizeLinear")]
    if not dequantised:
        return
    floats = [each for each in makers if each is not None and not is_op(each, "DequantizeLinear")]
    users = edited.users_of(node.output[0])
    others = [each for each in users if not is_op(each, "QuantizeLinear")]
    quantised = [each for each in users if is_op(each, "QuantizeLinear")]
    nodes = [*dequantised, node, *quantised]
    yield Pattern(
        kind="qdq", core=node.name, nodes=_names(nodes), extra=_names([*floats, *others]), spelling=(), shared=()
    )


# ---------------------------------------------------------------- shared


def _inside(edited: EditedModel, last: onnx.NodeProto, ends: set[str]) -> list[onnx.NodeProto]:
    """The nodes between some tensors and a node, in graph order."""
    found: dict[int, onnx.NodeProto] = {id(last): last}
    pending = list(last.input)
    while pending and len(found) < _MOST_NODES:
        name = pending.pop()
        node = edited.makers.get(name)
        if name in ends or node is None or id(node) in found or name in edited.constants:
            continue
        found[id(node)] = node
        pending += node.input
    return [node for node in edited.nodes if id(node) in found]


def _pattern(
    edited: EditedModel, kind: _Kind, core: onnx.NodeProto, nodes: list[onnx.NodeProto], spelling: list[onnx.NodeProto]
) -> Pattern:
    shared = [each for each in nodes[:-1] if _is_used_outside(edited, each, nodes)]
    return Pattern(
        kind=kind,
        core=core.name,
        nodes=_names(nodes),
        extra=_names(each for each in nodes if is_op(each, *_HANDING_ON)),
        spelling=_names(spelling),
        shared=_names(shared),
    )


def _is_used_outside(edited: EditedModel, node: onnx.NodeProto, nodes: list[onnx.NodeProto]) -> bool:
    own = {id(each) for each in nodes}
    users = [user for name in node.output for user in edited.users_of(name)]
    kept = any(name in edited.results or name in edited.inside for name in node.output)
    return kept or any(id(user) not in own for user in users)


def _names(nodes: Iterable[onnx.NodeProto]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)
