"""The quantizer's side: runs onnxruntime's quantizer and converters, and compares the resulting models."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper, version_converter

from onnxperf.errors import BadModel, SubjectError, required
from onnxperf.measure.quantizing import (
    ComparedModels,
    CompareModels,
    ConvertedModel,
    ConvertModel,
    InputRange,
    PreparedModel,
    PrepareModel,
    QuantizedModel,
    QuantizeModel,
)
from onnxperf.measure.worker.host import Host
from onnxperf.measure.worker.limits import allow_memory
from onnxperf.measure.worker.output_errors import OutputComparison
from onnxperf.model.graph import initialisers
from onnxperf.model.load import parse_file
from onnxperf.model.outline import with_names
from onnxperf.records.quantize import Mode
from onnxperf.runtimes.find import find_runtime

_CACHE = "calibration.json"
"""File of activation ranges, next to the prepared model and shared by all static candidates."""
_MOST_KEPT_BYTES = 1 << 28
_LEAST_OPSET = 13
"""From this opset on, DequantizeLinear has an axis, and MaxPool (12) accepts int8."""
_FIRST_IR_WITH_CONSTANTS = 4
"""Before this version every initializer had to be an input."""
_CONVOLUTIONS = ("Conv", "ConvTranspose")
_FLOAT16, _BFLOAT16 = onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16


def prepare_model(host: Host, request: PrepareModel) -> PreparedModel:
    """Parse with all checks, load the weights, and let onnxruntime simplify the graph if possible."""
    allow_memory(request.place.memory_bytes)
    logging.disable(logging.CRITICAL)  # the quantizer warns about everything, with a traceback
    source = request.place.path
    proto, _ = with_names(parse_file(source, request.place.what).proto)
    onnx.load_external_data_for_model(proto, str(source.parent))
    _settle_weights(proto, host.feeds[0] if host.feeds else ())
    proto = _renewed(proto)
    path = Path(request.path)
    named = path.with_name(f"named-{path.name}")
    named.write_bytes(proto.SerializeToString())
    prepare = _quantization("shape_inference").quant_pre_process
    for options in ({}, {"skip_optimization": True}):
        try:
            prepare(str(named), str(path), skip_symbolic_shape=True, **options)
        except Exception:  # noqa: S112 - it raises any kind of error; unsimplified models may still be quantized
            continue
        if path.is_file():
            break
    if not path.is_file():
        path.write_bytes(proto.SerializeToString())
    named.unlink()
    prepared, _ = with_names(onnx.load(path))  # nodes inserted by onnxruntime have no names
    _forget_shapes_of_weights(prepared)
    path.write_bytes(prepared.SerializeToString())
    convolutions = sum(node.op_type in _CONVOLUTIONS for node in prepared.graph.node)
    return PreparedModel(len(prepared.graph.node), convolutions)


def _settle_weights(proto: onnx.ModelProto, fed: Collection[str]) -> None:
    """Turn weights that are also inputs, as old versions required, into constants unless they are fed, to quantize
    them."""
    weights = initialisers(proto.graph).difference(fed)
    kept = [value for value in proto.graph.input if value.name not in weights]
    if len(kept) < len(proto.graph.input):
        del proto.graph.input[:]
        proto.graph.input.extend(kept)
        proto.ir_version = max(proto.ir_version, _FIRST_IR_WITH_CONSTANTS)


def _forget_shapes_of_weights(proto: onnx.ModelProto) -> None:
    """Remove recorded shapes of weights: the quantizer transposes weights and then rejects shapes recorded by
    exporters."""
    weights = initialisers(proto.graph)
    kept = [value for value in proto.graph.value_info if value.name not in weights]
    del proto.graph.value_info[:]
    proto.graph.value_info.extend(kept)


def _renewed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model in an opset that allows more quantization, if onnx can convert it without changing its nodes."""
    if _opset(proto) >= _LEAST_OPSET:
        return proto
    try:
        newer = version_converter.convert_version(proto, _LEAST_OPSET)
        onnx.checker.check_model(newer)
    except Exception:
        return proto  # it raises any kind of error, and the old model may still be quantized
    names = {node.name for node in newer.graph.node}
    return newer if all(node.name in names for node in proto.graph.node) else proto


def _opset(proto: onnx.ModelProto) -> int:
    return next((each.version for each in proto.opset_import if each.domain in ("", "ai.onnx")), 0)


def quantize_model(host: Host, request: QuantizeModel) -> QuantizedModel:
    """Call onnxruntime's quantizer with a candidate's arguments."""
    tools, way = _quantization(), request.way
    before = onnx.load(request.prepared)
    if way.mode == "static" and way.per_channel:
        _require_opset(before, _LEAST_OPSET)
    types = {"int8": tools.QuantType.QInt8, "uint8": tools.QuantType.QUInt8}
    common = {
        "weight_type": types[way.weights],
        "per_channel": way.per_channel,
        "nodes_to_quantize": _with_aliases(request.only),
        "nodes_to_exclude": _with_aliases(request.exclude),
        "extra_options": {"DefaultTensorType": onnx.TensorProto.FLOAT},
    }
    if way.mode == "dynamic":
        tools.quantize_dynamic(request.prepared, request.path, **common)
    else:
        tools.quantize_static(
            request.prepared,
            request.path,
            _Reader(_inputs_of(host, request.calibration)),
            quant_format=tools.QuantFormat.QDQ,
            activation_type=types[way.activations],
            **common,
            **_cached(tools.quantize_static, Path(request.prepared).with_name(_CACHE)),
        )
    return QuantizedModel(
        _quantized_nodes(before, onnx.load(request.path), way.mode), Path(request.path).stat().st_size
    )


def _quantization(module: str = "") -> Any:
    """Onnxruntime's quantizer; imported here because no other worker needs it."""
    name = "onnxruntime.quantization" + (f".{module}" if module else "")
    return required(name, "cpu", "onnxruntime")


def _require_opset(proto: onnx.ModelProto, least: int) -> None:
    version = _opset(proto)
    if version < least:
        raise SubjectError("skipped", f"requires opset {least}, but the model has {version}")


def _cached(function: Any, path: Path) -> dict[str, str]:
    """Argument with the cache file of calibration ranges, for releases that support it."""
    known = "calibration_cache_path" in inspect.signature(function).parameters
    return {"calibration_cache_path": str(path)} if known else {}


def _with_aliases(nodes: Sequence[str]) -> list[str]:
    """Names of nodes as the quantizer sees them: in dynamic mode it first splits each Gemm."""
    return [alias for name in nodes for alias in (name, f"{name}_MatMul", f"{name}_Add")]


class _Reader:
    """Inputs in the form that the quantizer expects."""

    def __init__(self, inputs: Iterator[dict[str, Any]]) -> None:
        self._inputs = inputs

    def get_next(self) -> dict[str, Any] | None:
        """The next inputs; None if there are no more."""
        return next(self._inputs, None)


def _inputs_of(host: Host, span: InputRange) -> Iterator[dict[str, Any]]:
    """Inputs of single calls; the worker holds each input of all calls in one array, with calls along its first
    axis."""
    for number in range(span.first, span.last):
        yield {name: np.ascontiguousarray(array[number]) for name, array in host.feeds[0].items()}


def _quantized_nodes(before: onnx.ModelProto, after: onnx.ModelProto, mode: Mode) -> tuple[str, ...]:
    """Nodes that were replaced, or in static mode those that read values converted from int8."""
    names = {node.name: node for node in after.graph.node}
    dequantized = {name for node in after.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    found = []
    for node in before.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"):
            continue
        replaced = any(f"{node.name}{suffix}" in names for suffix in ("_quant", "_MatMul_quant"))
        same = names.get(node.name)
        if replaced or (mode == "static" and same is not None and not dequantized.isdisjoint(same.input)):
            found.append(node.name)
    return tuple(found)


# ---------------------------------------------------------------- other floating-point types


def convert_model(host: Host, request: ConvertModel) -> ConvertedModel:
    """Convert a model and call it once, since not every type has kernels for every operator."""
    tools = required("onnxruntime.transformers.float16", "cpu", "onnxruntime")
    proto = tools.convert_float_to_float16(onnx.load(request.prepared), keep_io_types=True)
    if request.precision == "bfloat16":
        _to_bfloat16(proto)
    path = Path(request.path)
    path.write_bytes(proto.SerializeToString())
    session = find_runtime("ort").open_session(path, request.session)
    session.bind("run", next(_inputs_of(host, InputRange(0, 1))), {})()
    return ConvertedModel(path.stat().st_size)


def _to_bfloat16(proto: onnx.ModelProto) -> None:
    """Turn every float16 of a converted model into bfloat16, which ONNX handles the same way."""
    graph = proto.graph
    for tensor in graph.initializer:
        if tensor.data_type == _FLOAT16:
            values = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(onnx.helper.make_tensor(tensor.name, _BFLOAT16, tensor.dims, values.ravel()))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == _FLOAT16:
                attribute.i = _BFLOAT16
            if attribute.HasField("t") and attribute.t.data_type == _FLOAT16:
                raise BadModel("constants in attributes cannot be converted to bfloat16")
    for value in graph.value_info:
        if value.type.tensor_type.elem_type == _FLOAT16:
            value.type.tensor_type.elem_type = _BFLOAT16


# ---------------------------------------------------------------- comparison


def compare_models(host: Host, request: CompareModels) -> ComparedModels:
    """Run both models on each of the inputs and accumulate the differences of their outputs."""
    open_session = find_runtime("ort").ready()
    begin = perf_counter()
    second = open_session(Path(request.path), request.session)
    opening_s = perf_counter() - begin
    comparison: OutputComparison | None = None
    times: tuple[list[float], list[float]] = [], []
    for number, ours in enumerate(_reference_outputs(host, request)):
        comparison = comparison or OutputComparison(ours.names)
        feeds = next(_inputs_of(host, InputRange(request.inputs.first + number, request.inputs.last)))
        theirs = _called(second, feeds)
        comparison.add(ours.outputs, theirs.outputs)
        times[0].append(ours.seconds)
        times[1].append(theirs.seconds)
    if comparison is None:
        return ComparedModels((), opening_s)
    return ComparedModels(comparison.errors(), opening_s, median(times[1]), median(times[0]))


class _Call(NamedTuple):
    names: list[str]
    outputs: list[Any]
    seconds: float


_KEPT: dict[tuple[str, InputRange], list[_Call]] = {}
"""Outputs of the reference model, kept for one model at a time."""


def _reference_outputs(host: Host, request: CompareModels) -> Iterator[_Call]:
    key = (request.reference, request.inputs)
    if key in _KEPT:
        yield from _KEPT[key]
        return
    _KEPT.clear()
    session = find_runtime("ort").ready()(Path(request.reference), request.session)
    calls: list[_Call] = []
    kept_bytes = 0
    for feeds in _inputs_of(host, request.inputs):
        call = _called(session, feeds)
        kept_bytes += sum(getattr(each, "nbytes", 0) for each in call.outputs)
        if kept_bytes <= _MOST_KEPT_BYTES:
            calls.append(call)
        yield call
    if kept_bytes <= _MOST_KEPT_BYTES:
        _KEPT[key] = calls


def _called(session: Any, feeds: dict[str, Any]) -> _Call:
    call = session.bind("run", feeds, {})
    begin = perf_counter()
    outputs: list[Any] = call()
    return _Call(list(session.output_names), outputs, perf_counter() - begin)
