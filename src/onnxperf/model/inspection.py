"""What a model's file shows: types, constants, denormals, and the nodes that advice refers to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import onnx
from msgspec.structs import replace

from onnxperf.model.cost import INFERENCE_ERRORS, inferred, without_weights
from onnxperf.model.denormals import count_denormals
from onnxperf.model.graph import all_tensors, dims_of, initialisers, opset_of, with_bodies
from onnxperf.model.load import dtype_name
from onnxperf.model.outline import outline, with_names
from onnxperf.model.patterns import patterns
from onnxperf.model.randomness import random_operators
from onnxperf.model.rewrites.base import (
    CONSTANTS_NEED_NO_INPUT,
    constant_of,
    constants_of,
    integer,
    integers,
    is_op,
    scalar_of,
    used_by,
)
from onnxperf.model.rewrites.drop_casts import holds_all_of
from onnxperf.model.rewrites.drop_unused import unused_initialisers
from onnxperf.model.rewrites.opset import newest_opset
from onnxperf.model.tensors import stored_bytes
from onnxperf.records.inspection import Inspection, NodeFact, Stored, TensorFact

_MOST_LISTED = 1000
"""The maximum number of findings of a kind: people read the list, and each finding costs only a little."""
_LONGEST_EQUATION = 200
_DOUBLE = "float64"
_CONVERSIONS = ("Cast", "CastLike", "Identity")

_Detail = Callable[[onnx.NodeProto], str]


def inspect(proto: onnx.ModelProto, folder: Path | None = None) -> Inspection:
    """Inspect a model; external data are also searched for denormals if the model's folder is known."""
    named, _ = with_names(proto)
    graph = named.graph
    tensors = _tensors(named)
    names = initialisers(graph)
    fed = {value.name for value in graph.input}
    float64 = (node for node in graph.node if not is_op(node, "Constant", *_CONVERSIONS) and _is_float64(node, tensors))
    return Inspection(
        graph=outline(named),
        opset=opset_of(named),
        newest_opset=newest_opset(),
        tensors=tensors,
        scalars=_scalars(named),
        symbols=_symbols(graph, names),
        denormals=_denormals(named, folder),
        unused=_unused(graph),
        overridable=tuple(sorted(names & fed)) if named.ir_version >= CONSTANTS_NEED_NO_INPUT else (),
        einsums=_facts(graph, "Einsum", _equation),
        transposes=_facts(graph, "Transpose", lambda node: ",".join(map(str, integers(node, "perm")))),
        casts=_facts(graph, "Cast", lambda node: dtype_name(integer(node, "to"))),
        idle_casts=tuple(_idle_casts(graph, tensors)),
        patterns=tuple(islice(patterns(named), _MOST_LISTED)),
        constant_nodes=tuple(_constant_nodes(named)),
        float64_nodes=tuple(node.name for node in float64),
        float64_bytes=sum(_stored(each).nbytes for each in all_tensors(named) if each.data_type == each.DOUBLE),
    )


# ---------------------------------------------------------------- tensors


def _tensors(proto: onnx.ModelProto) -> dict[str, TensorFact]:
    bare = without_weights(proto)
    with suppress(*INFERENCE_ERRORS):  # a partial result is better than none
        bare = inferred(bare)
    known: dict[str, TensorFact] = {}
    for value in (*proto.graph.input, *bare.graph.input, *bare.graph.value_info, *bare.graph.output):
        if value.type.HasField("tensor_type"):
            tensor = value.type.tensor_type
            known.setdefault(value.name, TensorFact(dtype_name(tensor.elem_type), dims_of(tensor)))
    for tensor in proto.graph.initializer:
        known.setdefault(tensor.name, TensorFact(dtype_name(tensor.data_type), tuple(tensor.dims)))
    return known


def _scalars(proto: onnx.ModelProto) -> dict[str, float]:
    values = {name: scalar_of(tensor) for name, tensor in constants_of(proto).items()}
    return {name: value for name, value in values.items() if value is not None}


def _symbols(graph: onnx.GraphProto, names: set[str]) -> tuple[str, ...]:
    inputs = [value.type.tensor_type for value in graph.input if value.name not in names]
    return tuple(dict.fromkeys(dim.dim_param for tensor in inputs for dim in tensor.shape.dim if dim.dim_param))


def _stored(tensor: onnx.TensorProto, denormals: int = 0) -> Stored:
    elements = math.prod(tensor.dims)
    return Stored(tensor.name, elements, stored_bytes(tensor.data_type, elements) or 0, denormals)


def _denormals(proto: onnx.ModelProto, folder: Path | None) -> tuple[Stored, ...]:
    counted = ((name, tensor, count_denormals(tensor, folder)) for name, tensor in _weights(proto.graph))
    found = [replace(_stored(tensor, number), name=name) for name, tensor, number in counted if number]
    return tuple(sorted(found, key=lambda each: -each.denormals)[:_MOST_LISTED])


def _weights(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Stored tensors by the names that nodes use for them, including those of bodies."""
    for each in with_bodies(graph):
        yield from ((tensor.name, tensor) for tensor in each.initializer)
        for node in each.node:
            tensor = constant_of(node)
            if tensor is not None and node.output:
                yield node.output[0], tensor


def _unused(graph: onnx.GraphProto) -> tuple[Stored, ...]:
    names = unused_initialisers(graph)
    found = [_stored(tensor) for tensor in graph.initializer if tensor.name in names]
    return tuple(sorted(found, key=lambda each: -each.nbytes)[:_MOST_LISTED])


# ---------------------------------------------------------------- nodes


def _facts(graph: onnx.GraphProto, op_type: str, detail: _Detail) -> tuple[NodeFact, ...]:
    return tuple(NodeFact(node.name, detail(node)) for node in graph.node if is_op(node, op_type))


def _equation(node: onnx.NodeProto) -> str:
    found = next((each.s for each in node.attribute if each.name == "equation"), b"")
    return found.decode(errors="replace")[:_LONGEST_EQUATION]


def _idle_casts(graph: onnx.GraphProto, tensors: dict[str, TensorFact]) -> Iterator[str]:
    """Casts to the type that a tensor already has, and those that undo the previous one."""
    sources: dict[str, str] = {}
    for node in graph.node:
        if not is_op(node, "Cast") or not node.input or not node.output:
            continue
        before = sources.get(node.input[0], node.input[0])
        wanted = dtype_name(integer(node, "to"))
        if before in tensors and tensors[before].dtype == wanted:
            yield node.name
        if before in tensors and holds_all_of(tensors[before].dtype, wanted):
            sources[node.output[0]] = before


def _constant_nodes(proto: onnx.ModelProto) -> Iterator[str]:
    graph = proto.graph
    known = initialisers(graph) | {""}
    drawing = set(random_operators(proto))
    for node in graph.node:
        if is_op(node, "Constant"):
            known.update(node.output)
        elif node.input and known.issuperset(used_by(node)) and node.op_type not in drawing:
            known.update(node.output)
            yield node.name


def _is_float64(node: onnx.NodeProto, tensors: dict[str, TensorFact]) -> bool:
    return any(name in tensors and tensors[name].dtype == _DOUBLE for name in (*node.input, *node.output))
