"""`onnxperf.profile`: where the time of a model goes, per operator, per node and per node of the original."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, cast

from onnxperf.api._shared import recordings
from onnxperf.api._shared.racing import with_threads
from onnxperf.api._shared.requests import InputKeywords, check_keywords, input_options, session_options
from onnxperf.api._shared.subjects import Entry, Source, chosen_calls, model_specs, open_entries
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.profiling import Progress, TurnsEnd
from onnxperf.measure.trace import read_trace, trace_of_events
from onnxperf.records import EVENT_CAP, SessionOptions
from onnxperf.results.profile import ProfileResult

TIMEOUT_S = 600.0

Events = Sequence[Mapping[str, Any]]


def profile(
    source: Source | Events,
    feeds: Mapping[str, Any] | None = None,
    *,
    repeat: int | None = None,
    keep_trace: str | Path | None = None,
    timeout: float = TIMEOUT_S,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[InputKeywords],
) -> ProfileResult:
    """Profile a model with onnxruntime, or read a trace that onnxruntime wrote.

    `source` is a model (a path, bytes or a ModelProto), a trace (a path or a list of events). A model runs in a
    process of its own, `repeat` times (for about a second unless given), in turn with a session that is not profiled,
    so that the cost of profiling is known. `keep_trace` names a file for onnxruntime's trace.
    """
    check_keywords(keywords, InputKeywords)
    if is_events(source):
        return recordings.trace_result(trace_of_events(cast("Events", source)), "events")
    if is_trace(source):
        path = Path(cast("str", source))
        return recordings.trace_result(read_trace(path), path.name)
    if repeat is not None and repeat < 1:
        raise BadOption(f"--repeat {repeat}: expected at least 1")
    session = with_threads(session_options(keywords))
    chosen_calls(["ort"], ["run"], session)
    entry = open_entries(cast("Source", source), input_options(keywords), feeds)[0]
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        each = recordings.recorded(entry, session, Path(folder), "model")
        most = recordings.iterations_that_fit(each, repeat, timeout, progress)
        plain = model_specs([entry], {"ort": ("run",)}, session)[0]
        end = recordings.play([plain, each.spec], repeat, most, timeout, progress)
        result = _result(each, end, session, _notes(entry, end, repeat, most))
        if keep_trace is not None:
            _keep(end, Path(keep_trace))
    return result


def _result(each: recordings.Recorded, end: TurnsEnd, session: SessionOptions, notes: tuple[str, ...]) -> ProfileResult:
    plain, traced = end.turns
    changes = {
        "machine": machines.describe_machine(),
        "session": session,
        "command": "onnxperf.profile",
        "interrupted": end.interrupted,
        "profiled_ns": statistics.median(traced.call_ns) if traced.call_ns else None,
        "unprofiled_ns": statistics.median(plain.call_ns) if plain.call_ns else None,
    }
    return recordings.recorded_result(each.original, traced.trace, changes, notes)


def is_events(source: object) -> bool:
    """Whether this is a list of events, as json.load gives them."""
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
        return False  # whoever opens it as a model will say what is wrong


def _notes(entry: Entry, end: TurnsEnd, repeat: int | None, most: int | None) -> tuple[str, ...]:
    notes = [*entry.feeds.notes, "session initialisation includes writing down the optimised graph"]
    if most is not None and repeat is not None and repeat > most:
        notes.append(f"{most} iterations instead of {repeat}: a trace holds at most {EVENT_CAP:,} events")
    if end.interrupted:
        notes.append("interrupted: the profile holds what ran until then")
    return tuple(notes)


def _keep(end: TurnsEnd, path: Path) -> None:
    trace = end.turns[-1].trace
    try:
        shutil.copyfile(str(trace), path)
    except OSError as error:
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}") from error
