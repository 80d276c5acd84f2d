"""Converts tensors and nodes of one floating-point type inside a model to float32; the interface keeps its types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from onnxperf.model.graph import all_tensors, bodies, is_external, with_bodies
from onnxperf.model.rewrites.base import EditedModel

_FLOAT = onnx.TensorProto.FLOAT
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_datatype", "output_dtype"})
"""Attributes that give an element type."""
_LARGEST = float(np.finfo(np.float32).max)


def in_float32(proto: onnx.ModelProto, old: int) -> onnx.ModelProto | None:
    """Cast inputs of the old type on entry, and outputs on exit; None if nothing has that type."""
    graph = proto.graph
    interface = (*graph.input, *graph.output)
    if proto.functions or graph.sparse_initializer or not all(each.type.HasField("tensor_type") for each in interface):
        return None
    fed = {value.name for value in graph.input}
    inner = [tensor for tensor in all_tensors(proto) if tensor.data_type == old and tensor.name not in fed]
    if not (inner or any(_has(value, old) for value in interface) or any(_named_types(graph, old))):
        return None
    edited = EditedModel(proto)
    results = [value.name for value in graph.output if _has(value, old) and value.name not in fed]
    if not all(map(_fits, inner)) or any(name not in edited.makers for name in results):
        return None
    _convert(edited.model, fed, old)
    _cast_inputs(edited, [value.name for value in graph.input if _has(value, old)])
    _cast_outputs(edited, results, old)
    return edited.finished()


def _has(value: onnx.ValueInfoProto, old: int) -> bool:
    return bool(value.type.tensor_type.elem_type == old)


def _named_types(graph: onnx.GraphProto, old: int) -> Iterator[onnx.AttributeProto]:
    """Attributes that give the type."""
    for each in with_bodies(graph):
        for node in each.node:
            yield from (one for one in node.attribute if one.name in _TYPE_ATTRIBUTES and one.i == old)


def _fits(tensor: onnx.TensorProto) -> bool:
    """Whether all its values fit into float32, with rounding."""
    if is_external(tensor):
        return False
    array = numpy_helper.to_array(tensor)
    finite = array[np.isfinite(array)]
    return not finite.size or float(np.abs(finite).max()) <= _LARGEST


def _convert(model: onnx.ModelProto, fed: set[str], old: int) -> None:
    """Convert all inner tensors, declarations and attributes to float32."""
    for tensor in all_tensors(model):
        if tensor.data_type == old and tensor.name not in fed:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for attribute in _named_types(model.graph, old):
        attribute.i = _FLOAT
    inside = [body for node in model.graph.node for _, one in bodies(node) for body in with_bodies(one)]
    declared = [value for body in inside for value in (*body.input, *body.output, *body.value_info)]
    for value in (*model.graph.value_info, *declared):
        if value.type.HasField("tensor_type") and _has(value, old):
            value.type.tensor_type.elem_type = _FLOAT


def _cast_inputs(edited: EditedModel, names: list[str]) -> None:
    """Pass a float32 copy of these inputs to all nodes."""
    inner = {name: edited.fresh(f"{name}_float32") for name in names}
    for node in edited.nodes:
        _rename(node, inner)
    casts = [onnx.helper.make_node("Cast", [name], [other], to=_FLOAT) for name, other in inner.items()]
    edited.nodes[:0] = casts


def _cast_outputs(edited: EditedModel, names: list[str], old: int) -> None:
    """Cast these outputs back to the old type; nodes continue with the uncast tensors."""
    inner = {name: edited.fresh(f"{name}_float32") for name in names}
    for node in edited.nodes:
        _rename(node, inner)
        node.output[:] = [inner.get(each, each) for each in node.output]
    edited.nodes += [onnx.helper.make_node("Cast", [other], [name], to=old) for name, other in inner.items()]


def _rename(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Make a node and its bodies use other tensors; a body that uses a name for its own value keeps it."""
    node.input[:] = [names.get(each, each) for each in node.input]
    for _, body in bodies(node):
        own = {value.name for value in (*body.input, *body.initializer)}
        own.update(name for inner in body.node for name in inner.output)
        outside = {name: other for name, other in names.items() if name not in own}
        for inner in body.node:
            _rename(inner, outside)
        # a body's result must be created inside it
        results = [value.name for value in body.output if value.name in outside]
        body.node.extend(onnx.helper.make_node("Identity", [outside[name]], [name]) for name in results)
