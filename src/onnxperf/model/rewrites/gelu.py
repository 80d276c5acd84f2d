"""`gelu`: replaces a spelled-out Gelu that onnxruntime does not recognize with one operator."""

from __future__ import annotations

import math

import onnx

from onnxperf.model.rewrites.algebra import near, one_plus, origin, product
from onnxperf.model.rewrites.base import FLOATS, MICROSOFT, EditedModel, is_op

_GELU_SINCE = 20
"""Opset of ONNX's own operator; before, only onnxruntime provides one."""
_CUBIC = 0.044715


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Replace every spelled-out Gelu, except those that onnxruntime fuses as they are."""
    edited = EditedModel(proto)
    found = 0
    for node in edited.nodes:
        if is_op(node, "Mul", "Div") and len(node.output) == 1:
            match = matched(edited, node.output[0])
            if match is not None and not (match[1] == "none" and is_fused(edited, node, match[0])):
                found += _replace(edited, node, *match)
    return edited.finished() if found else None


def matched(edited: EditedModel, name: str) -> tuple[str, str] | None:
    """The input and kind (ONNX's name) of the Gelu that a tensor is the result of; None if it is not a Gelu."""
    whole = product(edited, name)
    if not near(whole.factor, 0.5) or len(whole.terms) != 2:
        return None
    for x, gate in (whole.terms, whole.terms[::-1]):
        inner = one_plus(edited, gate)
        if inner is None:
            continue
        erf, tanh = edited.maker(inner, "Erf"), edited.maker(inner, "Tanh")
        if erf is not None and _is_scaled(edited, erf.input[0], x, math.sqrt(0.5)):
            return x, "none"
        if tanh is not None and _is_cubic(edited, tanh.input[0], x):
            return x, "tanh"
    return None


def _is_scaled(edited: EditedModel, name: str, x: str, factor: float) -> bool:
    found = product(edited, name)
    return found.terms == (x,) and near(found.factor, factor)


def _is_cubic(edited: EditedModel, name: str, x: str) -> bool:
    """Whether a tensor is sqrt(2 / pi) * (x + 0.044715 * x * x * x), or the same with x factored out."""
    found = product(edited, name)
    if not near(found.factor, math.sqrt(2 / math.pi)) or len(found.terms) not in (1, 2):
        return False
    power = 3 if len(found.terms) == 1 else 2
    rest = [each for each in found.terms if each != x]
    if len(rest) != 1:
        return False
    node = edited.maker(rest[0], "Add")
    if node is None or len(node.input) != 2:
        return False
    for first, second in (tuple(node.input), tuple(node.input)[::-1]):
        linear = origin(edited, first) == x if power == 3 else near(edited.scalar(origin(edited, first)), 1.0)
        cubic = product(edited, second)
        if linear and cubic.terms == (x,) * power and near(cubic.factor, _CUBIC):
            return True
    return False


def is_fused(edited: EditedModel, node: onnx.NodeProto, x: str) -> bool:
    """Whether onnxruntime recognizes it: x / sqrt(2), Erf, + 1, * x, * 0.5 in this order, or with x * 0.5 first."""
    factors = [edited.maker(name, "Mul", "Add") for name in node.input]
    number = any(edited.scalar(name) is not None for name in node.input)
    last = next((each for each in factors if each is not None and (not number or each.op_type == "Mul")), None)
    if last is None or not is_op(node, "Mul"):
        return False
    adds = [edited.maker(name, "Add") for name in (last.input if number else node.input)]
    add = next((each for each in adds if each is not None), None)
    erf = next((each for name in add.input if (each := edited.maker(name, "Erf"))), None) if add is not None else None
    div = edited.maker(erf.input[0], "Div") if erf is not None else None
    if add is None or erf is None or div is None or div.input[0] != x:
        return False
    halves = set(last.input) if number else {name for each in factors if each is not None for name in each.input}
    private = all(edited.is_private(each.output[0]) for each in (div, erf, add))
    return private and x in halves and len({edited.element(name) for name in (x, *node.output)}) == 1


def _replace(edited: EditedModel, node: onnx.NodeProto, x: str, kind: str) -> bool:
    name = node.output[0]
    element, wanted = edited.element(x), edited.element(name)
    known = {edited.shape(x), edited.shape(name)} - {None}
    if element not in FLOATS or wanted not in FLOATS or len(known) > 1:
        return False
    made = name if element == wanted else edited.fresh(f"{name}_gelu")
    if edited.opset >= _GELU_SINCE:
        nodes = [onnx.helper.make_node("Gelu", [x], [made], name=node.name, approximate=kind)]
    else:
        operator = "Gelu" if kind == "none" else "FastGelu"
        nodes = [onnx.helper.make_node(operator, [x], [made], name=node.name, domain=MICROSOFT)]
        edited.import_domain(MICROSOFT, 1)
    if made != name:
        nodes.append(onnx.helper.make_node("Cast", [made], [name], to=wanted))
    edited.replace(node, nodes)
    return True
