"""Where the bytes of a model are: weights, copies of inputs, onnxruntime's arena, and what is alive at the peak."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.analyze.live_set import LiveSet, live_sets
from onnxperf.api import crews as crewing
from onnxperf.api import recordings
from onnxperf.measure.memory_steps import Weighing
from onnxperf.measure.packing import Tensor
from onnxperf.model.cost import infer_types
from onnxperf.model.graph import all_nodes, all_tensors
from onnxperf.model.outline import outline
from onnxperf.records import Breakdown, InputCopy, SessionOptions
from onnxperf.results.profile import ProfileResult

_CALLS = 3
"""Calls in the trace for each size: the first takes memory, the second builds the plan, the third is steady."""


@dataclass(frozen=True)
class Recorded:
    """What onnxruntime says about its own memory."""

    arena_bytes: tuple[int, ...]
    """What the arena held at the end of each call."""
    used_bytes: int
    """The most that was in use at the end of a node."""
    weights_bytes: int
    """Initialisers of the graph that is executed."""
    live_set: LiveSet | None


def record_arena(
    entry: crewing.Entry, more: tuple[Mapping[str, Tensor], ...], session: SessionOptions, timeout_s: float
) -> Recorded:
    """Run a model a few times with a trace, in a process of its own: what was weighed is not disturbed by it."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        each = recordings.recorded(entry, session, Path(folder), "memory")
        crew = replace(each.crew, more_feeds=tuple(map(dict, more)))
        end = recordings.play([crew], _CALLS * (1 + len(more)), None, timeout_s, lambda _done, _text: None)
        result = recordings.recorded_result(each.original, end.turns[0].trace, {}, ())
        executed = onnx.load(each.original.executed_path, load_external_data=False)
    return Recorded(
        arena_bytes=_per_iteration(result, "mem_arena_held"),
        used_bytes=max(_per_iteration(result, "mem_bytes_in_use"), default=0),
        weights_bytes=_weights_bytes(executed),
        live_set=live_sets(outline(executed), _traced_sizes(result) | _fed_sizes(entry)).peak,
    )


def breakdown_of(entry: crewing.Entry, weighing: Weighing, recorded: Recorded | None) -> Breakdown:
    """Where the bytes of a subject are, as far as anyone can tell."""
    proto = entry.model.proto
    shapes = {name: array.shape for name, array in entry.feeds.arrays.items()}
    is_model = weighing.subject.model is not None
    live = recorded.live_set if recorded else live_sets(outline(proto), _inferred_sizes(proto, shapes)).peak
    if not is_model or not live or not live.live_bytes:
        live = None  # a framework has a graph of its own; or no size is known
    return Breakdown(
        weights_on_disk_bytes=_weights_bytes(proto),
        weights_in_memory_bytes=recorded.weights_bytes if recorded else None,
        input_bytes=entry.feeds.nbytes,
        output_bytes=weighing.output_bytes,
        copies=tuple(_copies(entry)) if is_model else (),
        arena_held_bytes=max(recorded.arena_bytes, default=0) if recorded else None,
        arena_used_bytes=recorded.used_bytes if recorded else None,
        planned_bytes=live.live_bytes if live else None,
        peak_node=live.name if live else "",
        peak_op=live.op_type if live else "",
        alive=live.alive if live else (),
    )


def _copies(entry: crewing.Entry) -> Iterable[InputCopy]:
    """Inputs of another type, or spread in memory, are copied in every call."""
    for name, array in entry.feeds.arrays.items():
        if name in entry.casts:
            to = entry.casts[name]
            size = array.size * np.dtype(to).itemsize
            yield InputCopy(name=name, reason="cast", from_type=array.dtype.name, to_type=to, copied_bytes=size)
        elif not array.flags.c_contiguous:
            kind = array.dtype.name
            yield InputCopy(name=name, reason="layout", from_type=kind, to_type=kind, copied_bytes=array.nbytes)


def _per_iteration(result: ProfileResult, column: str) -> tuple[int, ...]:
    """The highest value of a column in each call."""
    values = result.trace.numbers.get(column)
    if values is None:
        return ()
    kernels = result.layout.is_kernel
    calls = range(result.layout.iterations)
    return tuple(int(values[kernels & (result.layout.iteration == call)].max(initial=0)) for call in calls)


def _fed_sizes(entry: crewing.Entry) -> dict[str, int]:
    """Sizes of the inputs as the model reads them."""
    casts = {name: np.dtype(kind) for name, kind in entry.casts.items()}
    return {name: each.size * casts.get(name, each.dtype).itemsize for name, each in entry.feeds.arrays.items()}


def _traced_sizes(result: ProfileResult) -> dict[str, int]:
    """Sizes of all tensors that the trace knows, by name."""
    sizes: dict[str, int] = {}
    for node in result.record.nodes:
        for name, kind in zip(node.tensors, node.outputs, strict=False):
            sizes[name] = math.prod(kind.shape) * _ITEM_BYTES.get(kind.dtype, 0)
    return sizes


_ITEM_BYTES = {
    **{"float": 4, "double": 8, "float16": 2, "bfloat16": 2, "bool": 1, "complex64": 8, "complex128": 16},
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""Bytes of an element, by onnxruntime's names."""


def _inferred_sizes(proto: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Sizes of all tensors whose shapes ONNX can infer."""
    types = infer_types(proto, {name: tuple(shape) for name, shape in shapes.items()})
    return {
        name: _size(kind.element, kind.shape)
        for name, kind in types.items()
        if kind.shape is not None and all(isinstance(size, int) for size in kind.shape)
    }


def _weights_bytes(proto: onnx.ModelProto) -> int:
    """Bytes of all tensors, and of the numbers that operators such as LinearRegressor have in their attributes."""
    listed = (attribute for node in all_nodes(proto) for attribute in node.attribute)
    numbers = sum(4 * len(each.floats) + 8 * len(each.ints) for each in listed)
    return numbers + sum(_size(tensor.data_type, tensor.dims) for tensor in all_tensors(proto))


def _size(data_type: int, dims: Iterable[int]) -> int:
    """Bytes of a tensor; texts, whose length is not in their shape, count nothing."""
    if data_type in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return 0
    return math.prod(dims) * onnx.helper.tensor_dtype_to_np_dtype(data_type).itemsize
