"""Models that record themselves: specs whose sessions write a trace and the graph that they execute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import onnx
from msgspec.structs import replace

from onnxperf.analyze import profile as sums
from onnxperf.analyze.attribution import attribute, source_times
from onnxperf.analyze.events import lay_out
from onnxperf.api._shared.subjects import Entry, model_specs
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.profiling import Progress, TurnsEnd, most_iterations, take_turns
from onnxperf.measure.trace import read_trace
from onnxperf.model.cost import work_of_nodes
from onnxperf.model.graph import all_nodes
from onnxperf.model.load import Model
from onnxperf.model.outline import outline, with_names
from onnxperf.records import EVENT_CAP, Graph, Profile, Recording, SessionOptions, Trace
from onnxperf.results.profile import ProfileResult

FOLDER_OPTION = "session.model_external_initializers_file_folder_path"
"""Where onnxruntime finds the external data of a model that lies elsewhere."""
_EXPANSION = 20
"""Executed nodes that one node of a model may become (casts, reorders, the inside of an operator)."""


@dataclass(frozen=True, eq=False)
class Original:
    """A model that is recorded, and where the graph is that its session executes."""

    model: Model
    proto: onnx.ModelProto
    """The model with a name for every node."""
    executed_path: Path
    shapes: dict[str, tuple[int, ...]]
    """Of its inputs."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A model set up to be recorded."""

    spec: WorkerSpec
    original: Original


def recorded(entry: Entry, session: SessionOptions, folder: Path, name: str) -> Recorded:
    """Set up a model to be recorded in a folder of ours; nodes without a name of their own get one first."""
    named = named_model(entry.model, folder, name)
    executed = folder / f"{name}.executed.onnx"
    recording = Recording(trace_prefix=str(folder / name), executed_path=str(executed))
    plain = model_specs([entry], {"ort": ("run",)}, session)[0]
    with_options = replace(session, options={**named.options, **session.options})
    spec = replace(plain, model_path=str(named.path), session=with_options, recording=recording)
    shapes = {name: array.shape for name, array in entry.feeds.arrays.items()}
    return Recorded(spec, Original(entry.model, named.proto, executed, shapes))


class Named(NamedTuple):
    """A model in which every node has a name of its own."""

    proto: onnx.ModelProto
    path: Path
    options: dict[str, str]
    """What a session needs to find its external data."""


def named_model(model: Model, folder: Path, name: str = "model") -> Named:
    """The model itself, or a copy in `folder` in which the nodes have names; the weights stay where they are."""
    proto, changed = with_names(model.proto)
    if not changed:
        return Named(proto, model.path, {})
    path = folder / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    return Named(proto, path, {FOLDER_OPTION: str(model.path.parent)})


@contextmanager
def subjects_errors_are_mine() -> Iterator[None]:
    """A profile has one subject: what ends it ends the request."""
    try:
        yield
    except SubjectError as error:
        raise BadInput(str(error)) from error


def play(
    specs: list[WorkerSpec], repeat: int | None, most: int | None, timeout_s: float, progress: Progress
) -> TurnsEnd:
    """Call the sessions of specs in turn, each in a process of its own."""
    launch = partial(ProcessWorker, timeout_s=timeout_s)
    with subjects_errors_are_mine():
        return take_turns(specs, repeat, launch, machines.processors(), progress, most)


def iterations_that_fit(each: Recorded, repeat: int | None, timeout_s: float, progress: Progress) -> int | None:
    """How many iterations a trace can hold; a model with bodies or functions must be tried to know."""
    proto = each.original.proto
    nodes = sum(1 for _ in all_nodes(proto))
    nested = proto.functions or nodes > len(proto.graph.node)
    if not nested and (repeat or 100) * (_EXPANSION * nodes + 10) < EVENT_CAP:
        return None
    recording = each.spec.recording
    prefix = f"{recording.trace_prefix if recording else ''}.trial"
    trial = replace(each.spec, recording=Recording(trace_prefix=prefix))
    progress(0.0, "counting events")
    trace = play([trial], 1, None, timeout_s, progress).turns[0].trace
    return None if trace is None else most_iterations(len(read_trace(trace)))


def trace_result(trace: Trace, label: str) -> ProfileResult:
    """What a trace alone says."""
    layout = lay_out(trace)
    record = sums.summarise(trace, layout, label)
    return ProfileResult(replace(record, answer=sums.answer(record)), trace, layout)


def recorded_result(
    original: Original, path: Path | None, changes: dict[str, object], notes: tuple[str, ...]
) -> ProfileResult:
    """What the trace of a model says, with the nodes of the original that its time goes back to."""
    if path is None:
        raise BadInput("onnxruntime wrote no trace")
    result = trace_result(read_trace(path), original.model.label)
    executed = outline(onnx.load(original.executed_path, load_external_data=False))
    nodes = sums.with_tensors(result.record.nodes, dict(_outputs(executed)))
    record: Profile = replace(
        result.record,
        fingerprint=original.model.fingerprint,
        nodes=nodes,
        sources=source_times(attribute(outline(original.proto), executed), nodes),
        notes=(*result.record.notes, *notes),
        **changes,
    )
    weights = partial(work_of_nodes, original.proto, original.shapes)
    return ProfileResult(record, result.trace, result.layout, weights, executed)


def _outputs(graph: Graph, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[tuple[str, ...], str], tuple[str, ...]]]:
    """Output tensors of every executed node, by its path and name."""
    for node in graph.nodes:
        yield (path, node.name), node.outputs
        for _, body in node.subgraphs:
            yield from _outputs(body, (*path, node.name))
