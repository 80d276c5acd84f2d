"""Where the bytes of a model are: weights, copies of inputs, onnxruntime's arena, and what is alive at the peak."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.graphs.live_set import LiveSet, live_sets
from onnxperf.analyze.trace.node_memory import tensor_sizes
from onnxperf.api._shared import recordings
from onnxperf.api._shared.subjects import Entry
from onnxperf.measure import model_reader
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.memory_steps import MemoryProbe
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.profiling import take_turns
from onnxperf.records.graph import Graph
from onnxperf.records.memory import Breakdown, InputCopy
from onnxperf.records.options import SessionOptions
from onnxperf.records.trace import MISSING
from onnxperf.results.profile import ProfileResult
from onnxperf.runtimes.find import find_runtime

_CALLS = 3
"""Calls in the trace for each size: the first takes memory, the second builds the plan, the third is steady."""


@dataclass(frozen=True)
class ArenaAccount:
    """What onnxruntime says about its own memory."""

    arena_bytes: tuple[int, ...]
    """What the arena held at the end of each call; nothing if the trace has no memory figures."""
    used_bytes: int | None
    """The most that was in use at the end of a node."""
    weights_bytes: int
    """Initialisers of the graph that is executed."""
    live_set: LiveSet | None


def record_arena(
    entries: Sequence[Entry], session: SessionOptions, launch: Callable[[WorkerSpec], ProcessWorker]
) -> ArenaAccount:
    """Run a model a few times in each size with a trace, in a process of its own: what was probed is not disturbed."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        plan = recordings.plan_recording(entries[0], session, Path(folder), "memory")
        spec = replace(plan.spec, more_feeds=tuple(other.packed for other in entries[1:]))
        end = take_turns([spec], _CALLS * len(entries), launch, machines.processors())
        if end.interrupted:
            raise KeyboardInterrupt  # a trace of fewer calls would say something else about the growth
        result = recordings.result_of_recording(plan.recorded, end.turns[0].trace)
        executed, what = plan.recorded.executed_path, "the graph that onnxruntime executes"
        whole_graph = model_reader.outline_of_file(executed, what).graph
        weights_bytes = model_reader.sizes_of_file(executed, what).weights_bytes
    entry = largest(entries)
    graph = _as_fed(whole_graph, entry)
    call = next(number for number, each in enumerate(entries) if each is entry)  # the first calls take them in order
    sizes = tensor_sizes(result.trace, result.layout, graph, iteration=call)
    return ArenaAccount(
        arena_bytes=_per_iteration(result, "mem_arena_held"),
        used_bytes=max(_per_iteration(result, "mem_bytes_in_use"), default=None),
        weights_bytes=weights_bytes,
        live_set=live_sets(graph, sizes | _fed_sizes(entry)).peak,
    )


def largest(entries: Sequence[Entry]) -> Entry:
    """The one with the most bytes of inputs."""
    return max(entries, key=lambda entry: entry.feeds.nbytes)


def breakdown_of(entry: Entry, memory_probe: MemoryProbe, account: ArenaAccount | None) -> Breakdown:
    """Where the bytes of a subject are, as far as they are known."""
    shapes = {name: array.shape for name, array in entry.feeds.arrays.items()}
    is_model = memory_probe.subject.model is not None
    sizes = model_reader.sizes_of(entry.model, shapes)
    live = account.live_set if account else _planned(entry, sizes.tensors)
    if not is_model or not live or not live.live_bytes:
        live = None  # a framework has a graph of its own; or no size is known
    return Breakdown(
        dims=dict(entry.feeds.dims),
        weights_on_disk_bytes=sizes.weights_bytes,
        weights_in_memory_bytes=account.weights_bytes if account else None,
        input_bytes=entry.feeds.nbytes,
        output_bytes=memory_probe.output_bytes,
        copies=tuple(copies_of(entry, memory_probe.subject.runtime, memory_probe.subject.call)) if is_model else (),
        arena_held_bytes=max(account.arena_bytes, default=None) if account else None,
        arena_used_bytes=account.used_bytes if account else None,
        planned_bytes=live.live_bytes if live else None,
        peak_node=live.name if live else "",
        peak_op=live.op_type if live else "",
        alive=live.alive if live else (),
    )


def copies_of(entry: Entry, runtime: str, call: str | None) -> Iterable[InputCopy]:
    """Inputs of another type are copied in every call; so are those spread in memory, where the runtime does that."""
    makes_contiguous = find_runtime(runtime).call(call or "run").makes_contiguous
    for name, array in entry.feeds.arrays.items():
        kind, arrives = array.dtype.name, array
        if name in entry.casts:
            given, kind = kind, entry.casts[name]
            arrives = np.empty_like(array, dtype=kind)  # touches no memory, and has the layout that a cast leaves
            yield InputCopy(name=name, reason="cast", from_type=given, to_type=kind, copied_bytes=arrives.nbytes)
        if makes_contiguous and not arrives.flags.c_contiguous:
            yield InputCopy(name=name, reason="layout", from_type=kind, to_type=kind, copied_bytes=arrives.nbytes)


def _per_iteration(result: ProfileResult, column: str) -> tuple[int, ...]:
    """The highest value of a column in each call; nothing if the trace has no such values."""
    values = result.trace.numbers.get(column)
    if values is None:
        return ()
    known = result.layout.is_kernel & (values != MISSING)
    if not known.any():
        return ()
    calls = range(result.layout.iterations)
    return tuple(int(values[known & (result.layout.iteration == call)].max(initial=0)) for call in calls)


def _as_fed(graph: Graph, entry: Entry) -> Graph:
    """A graph whose inputs are what is fed: an initializer that could be overridden and is not is a constant."""
    fed = tuple(name for name in graph.inputs if name in entry.feeds.arrays)
    return replace(graph, inputs=fed, constants=graph.constants | (set(graph.inputs) - set(fed)))


def _fed_sizes(entry: Entry) -> dict[str, int]:
    """Sizes of the inputs as the model reads them."""
    casts = {name: np.dtype(kind) for name, kind in entry.casts.items()}
    return {name: each.size * casts.get(name, each.dtype).itemsize for name, each in entry.feeds.arrays.items()}


def _planned(entry: Entry, sizes: dict[str, int]) -> LiveSet | None:
    """What is alive where most is, by the order of the file and inferred sizes."""
    graph = _as_fed(model_reader.outline_of(entry.model).graph, entry)
    return live_sets(graph, sizes | _fed_sizes(entry)).peak
