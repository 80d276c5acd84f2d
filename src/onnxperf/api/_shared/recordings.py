"""Models that record themselves: specs whose sessions write a trace and the graph that they execute."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.answers.headroom import headroom_answer, headroom_notes
from onnxperf.analyze.answers.profile import profile_answer
from onnxperf.analyze.answers.race import note_on_others
from onnxperf.analyze.graphs.attribution import attribute, source_times
from onnxperf.analyze.graphs.modules import module_times, with_origins
from onnxperf.analyze.trace import profile as sums
from onnxperf.analyze.trace.events import lay_out
from onnxperf.analyze.trace.headroom import headroom_of
from onnxperf.analyze.trace.launches import join_launches
from onnxperf.analyze.trace.timeline import with_timelines
from onnxperf.api._shared.peaks import peaks_of
from onnxperf.api._shared.racing import start_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup, setups_of
from onnxperf.api._shared.subjects import Entry, model_specs
from onnxperf.errors import BadInput, BadOption, SubjectError, refused
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import load
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.model_reader import applied, outline_of, outline_of_file, view_of, work_of_nodes, written_model
from onnxperf.measure.profiling import Progress, TurnsEnd, most_iterations, take_launches, take_turns
from onnxperf.measure.reading import Outlined
from onnxperf.measure.trace.read import read_trace, trace_of_events
from onnxperf.model.node_settings import answer_settings, decode_settings
from onnxperf.model.opened import Model, OwnFolder
from onnxperf.records.base import Experiment
from onnxperf.records.headroom import Peaks
from onnxperf.records.options import Recording, SessionOptions, WorkerLimits
from onnxperf.records.profile import PROFILED_LAUNCHES, Profile, undisturbed
from onnxperf.records.trace import EVENT_CAP, Trace
from onnxperf.results.profile import ProfileResult
from onnxperf.wording.busy import is_busy_text
from onnxperf.wording.numbers import grouped

FOLDER_OPTION = "session.model_external_initializers_file_folder_path"
"""Where onnxruntime finds the external data of a model that lies elsewhere."""
_EXPANSION = 20
"""Executed nodes that one node of a model may become (casts, reorders, the inside of an operator)."""


Events = Sequence[Mapping[str, Any]]
"""Events of a trace, as json.load gives them."""


@dataclass(frozen=True, eq=False)
class RecordedModel:
    """A model that is recorded, and where the graph is that its session executes."""

    model: Model
    outlined: Outlined
    """Its graph, with a name for every node."""
    executed_path: Path
    shapes: dict[str, tuple[int, ...]]
    """Of its inputs."""


@dataclass(frozen=True, eq=False)
class RecordingPlan:
    """A model set up to be recorded."""

    spec: WorkerSpec
    recorded: RecordedModel


def ort_setups(settings: Settings) -> list[Setup]:
    """The variants of a request, each with one call style; only onnxruntime can be profiled."""
    setups = setups_of("ort", "run", settings)
    for each in setups:
        if each.runtime != "ort":
            raise BadOption(f"{each.runtime} has no profiler; use onnxruntime", option="variants", value=each.name)
        if len(each.calls) > 1:
            raise BadOption("a profile needs one call style", option="variants", value=each.name)
    return setups


def only_ort_setup(settings: Settings) -> Setup:
    """The variant of a request that has one only."""
    _ = settings.session  # refuses several values
    return ort_setups(settings)[0]


def spec_of(entry: Entry, setup: Setup) -> WorkerSpec:
    """A model under a variant, without the profiler."""
    return model_specs([entry], [setup])[0]


def plan_recording(
    entry: Entry, session: SessionOptions, folder: Path, name: str, calls: tuple[str, ...] = ("run",)
) -> RecordingPlan:
    """Set up a model to be recorded in a folder of ours; nodes without a name of their own get one first."""
    named = named_model(entry.model, folder, name)
    executed = folder / f"{name}.executed.onnx"
    recording = Recording(trace_prefix=str(folder / name), executed_path=str(executed))
    with_options = replace(session, options={**named.options, **session.options})
    spec = spec_of(entry, Setup("ort", calls, session))
    spec = replace(spec, model_path=str(named.path), session=with_options, recording=recording)
    shapes = {name: array.shape for name, array in entry.feeds.arrays.items()}
    return RecordingPlan(spec, RecordedModel(entry.model, named.outlined, executed, shapes))


class Named(NamedTuple):
    """A model in which every node has a name of its own."""

    outlined: Outlined
    path: Path
    options: dict[str, str]
    """What a session needs to find its external data."""


def named_model(model: Model, folder: Path, name: str = "model") -> Named:
    """The model itself, or a copy in `folder` in which the nodes have names; the weights stay where they are."""
    path = folder / f"{name}.onnx"
    outlined = outline_of(model, named=True, copy=path)
    if not outlined.written:
        return Named(outlined, model.path, {})
    return Named(outlined, path, {FOLDER_OPTION: str(model.path.parent)})


@contextmanager
def subject_errors_as_bad_input() -> Iterator[None]:
    """A profile has one subject: what ends it ends the request."""
    try:
        yield
    except SubjectError as error:
        raise refused(error) from error


def iterations_that_fit(plan: RecordingPlan, calls: int | None, limits: WorkerLimits, progress: Progress) -> int | None:
    """How many iterations a trace can hold; a model with bodies or functions must be tried to find out."""
    outlined = plan.recorded.outlined
    nodes = sum(each.nodes for each in outlined.operators)
    nested = outlined.functions or nodes > len(outlined.graph.nodes)
    if not nested and (calls or 100) * (_EXPANSION * nodes + 10) < EVENT_CAP:
        return None
    recording = plan.spec.recording
    prefix = f"{recording.trace_prefix if recording else ''}.trial"
    trial = replace(plan.spec, recording=Recording(trace_prefix=prefix))
    progress(0.0, "counting events")
    with subject_errors_as_bad_input():
        trace = take_turns([trial], 1, start_of(limits), machines.processors(), progress).turns[0].trace
    return None if trace is None else most_iterations(len(read_trace(trace)))


def launches_that_count(ends: Sequence[TurnsEnd]) -> list[TurnsEnd]:
    """Without a launch that was stopped before all of its sessions had a call that counts, which shows nothing."""
    return [end for end in ends if end is ends[0] or all(turns.call_ns for turns in end.turns)]


def time_of_calls(ends: Sequence[TurnsEnd], index: int) -> float | None:
    """The undisturbed time of a call of one of the sessions, seen from outside, in nanoseconds."""
    calls = [ns for end in ends for ns in end.turns[index].call_ns]
    return undisturbed(calls) if calls else None


def waits_of_calls(ends: Sequence[TurnsEnd], index: int, iterations: int) -> tuple[int | None, ...]:
    """How long threads waited for a processor in each inference of a trace, in microseconds; the first is not known."""
    waits = [ns // 1000 for end in ends for ns in end.turns[index].waited_ns]
    return (None, *waits) if len(waits) + 1 == iterations else ()


def notes_on_load(record: Experiment, noted: Sequence[str] = ()) -> tuple[str, ...]:
    """A warning where other programs used the processors while this was measured, unless it was noted already."""
    share = record.machine.others_share if record.machine is not None else None
    return () if any(map(is_busy_text, noted)) else note_on_others(share)


def profile_model(
    entry: Entry,
    settings: Settings,
    calls: int | None,
    progress: Progress,
    roofline: bool = False,
) -> ProfileResult:
    """Run a model that records itself in turn with one that does not, in several launches."""
    setup = only_ort_setup(settings)
    session = setup.session
    peaks = peaks_of(session.threads or 1, progress) if roofline else None
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        plan = plan_recording(entry, session, Path(folder), "model", setup.calls)
        most = iterations_that_fit(plan, calls, settings.limits, progress)
        specs, start = [spec_of(entry, setup), plan.spec], start_of(settings.limits)
        machine, before = machines.describe_machine(), load.snapshot()
        with subject_errors_as_bad_input():
            ends = take_launches(specs, calls, start, machines.processors(), progress, most, PROFILED_LAUNCHES)
        counted = launches_that_count(ends)
        result = result_of_recording(plan.recorded, *(end.turns[1].trace for end in counted))
        record = replace(
            result.record,
            machine=load.machine_since(before, machine),
            session=session,
            command="onnxperf.profile",
            interrupted=ends[-1].interrupted,
            profiled_ns=time_of_calls(counted, 1),
            unprofiled_ns=time_of_calls(counted, 0),
            waited_us=waits_of_calls(counted, 1, result.record.iterations),
        )
        result.record = replace(record, answer=profile_answer(record))  # the overhead may lead it
        if peaks is not None:
            result.record = _with_headroom(result, plan.recorded, peaks)
    record = result.record
    result.record = replace(record, notes=(*record.notes, *_notes(entry, calls, most), *notes_on_load(record)))
    return result


def _with_headroom(result: ProfileResult, recorded: RecordedModel, peaks: Peaks) -> Profile:
    """The record with the limits of its nodes; packed weights and attributes come from the executed graph."""
    executed = written_model(recorded.executed_path, "the graph that onnxruntime executes")
    settings = decode_settings(applied(executed, f"{answer_settings.__module__}:{answer_settings.__name__}", b""))
    headroom = headroom_of(result.record, result.trace, result.layout, settings, peaks)
    record = replace(result.record, headroom=headroom)
    answer = "\n".join(filter(None, [record.answer, headroom_answer(record)]))
    return replace(record, answer=answer, notes=(*record.notes, *headroom_notes(record)))


def _notes(entry: Entry, calls: int | None, most: int | None) -> list[str]:
    notes = [*entry.feeds.notes]
    if most is not None and calls is not None and calls > most:
        notes.append(f"{most} iterations instead of {calls}: a trace holds at most {grouped(EVENT_CAP)} events")
    return notes


# ---------------------------------------------------------------- results


def is_events(source: object) -> bool:
    """Whether this is a list of events."""
    return isinstance(source, list | tuple)


def is_trace(source: object) -> bool:
    """Whether a path names a trace: by its name, or by how it begins."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = Path(source)
    if path.suffix.lower() == ".json":
        return True
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] in (b"[", b"{")
    except (OSError, ValueError):
        return False  # opening it as a model says what is wrong


class _TraceFiles:
    """Traces as onnxruntime wrote them, one per launch; they are removed with the last result that refers to them."""

    def __init__(self, written: Iterable[Path]) -> None:
        self._folder = OwnFolder()
        self._paths = [Path(shutil.move(each, self._folder.path)) for each in written]

    def __call__(self) -> list[bytes]:
        """What each file holds."""
        return [path.read_bytes() for path in self._paths]


def result_of_trace(source: str | os.PathLike[str] | Events) -> ProfileResult:
    """What a trace alone says: a file that onnxruntime wrote, or a list of events."""
    if isinstance(source, str | os.PathLike):
        return _summed_up(read_trace(Path(source)), Path(source).name)
    return _summed_up(trace_of_events(source), "events")


def result_of_recording(recorded: RecordedModel, *traces: Path | None) -> ProfileResult:
    """What the trace of a model says, with the nodes of the original that its time goes back to; one per launch."""
    written = [each for each in traces if each is not None]
    read = [read_trace(each) for each in written]
    if len(read) < max(len(traces), 1):
        raise BadInput("onnxruntime wrote no trace")
    trace, launches = join_launches(read) if len(read) > 1 else (read[0], ())
    result = _summed_up(trace, recorded.model.label)
    executed = outline_of_file(recorded.executed_path, "the graph that onnxruntime executes").graph
    groups = attribute(recorded.outlined.graph, executed)
    named = sums.with_tensors(result.record.nodes, executed)
    nodes = with_origins(named, groups, recorded.outlined.modules)
    record = replace(
        result.record,
        fingerprint=recorded.model.fingerprint,
        launches=launches,
        nodes=nodes,
        sources=source_times(groups, nodes),
        modules=module_times(nodes),
    )
    record = with_timelines(replace(record, answer=profile_answer(record)), result.trace, result.layout, executed)
    weights = partial(work_of_nodes, recorded.model, recorded.shapes)
    view = partial(view_of, recorded.model, False, recorded.shapes)
    return ProfileResult(record, result.trace, result.layout, weights, executed, view, _TraceFiles(written))


def _summed_up(trace: Trace, label: str) -> ProfileResult:
    layout = lay_out(trace)
    record = sums.summarise(trace, layout, label)
    record = with_timelines(replace(record, answer=profile_answer(record)), trace, layout)
    return ProfileResult(record, trace, layout)
