"""`onnxperf.profile`: where the time of a model goes, per operator, per node and per node of the original."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, cast

from msgspec.structs import replace

from onnxperf.api._shared import recordings
from onnxperf.api._shared.recordings import Events, is_events, is_trace
from onnxperf.api._shared.requests import InputKeywords, Settings, parse, require
from onnxperf.api._shared.subjects import Entry, Source, chosen_calls, model_specs, open_entries
from onnxperf.errors import BadInput
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.profiling import Progress, TurnsEnd
from onnxperf.records.options import LONG_TIMEOUT_S
from onnxperf.records.trace import EVENT_CAP
from onnxperf.render.kit.files import check_folder
from onnxperf.results.profile import ProfileResult
from onnxperf.wording.numbers import grouped


def profile(
    source: Source | Events,
    feeds: Mapping[str, Any] | None = None,
    *,
    repeat: int | None = None,
    keep_trace: str | Path | None = None,
    timeout: float = LONG_TIMEOUT_S,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[InputKeywords],
) -> ProfileResult:
    """Profile a model with onnxruntime, or read a trace that onnxruntime wrote.

    `source` is a model (a path, bytes or a ModelProto), a trace (a path or a list of events). A model runs in a
    process of its own, `repeat` times (for about a second unless given), in turn with a session that is not profiled,
    so that the cost of profiling is known. `keep_trace` names a file for onnxruntime's trace.
    """
    settings = parse(keywords, InputKeywords, timeout)
    if is_events(source) or is_trace(source):
        return recordings.result_of_trace(cast("str | Events", source))
    require(repeat is None or repeat >= 1, "repeat", repeat, "at least 1")
    if keep_trace is not None:
        check_folder(keep_trace)
    chosen_calls(["ort"], ["run"], settings.session)
    entry = open_entries(cast("Source", source), settings.inputs, feeds)[0]
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        plan = recordings.plan_recording(entry, settings.session, Path(folder), "model")
        most = recordings.iterations_that_fit(plan, repeat, settings.limits, progress)
        plain = model_specs([entry], {"ort": ("run",)}, settings.session)[0]
        end = recordings.run_in_turns([plain, plan.spec], repeat, most, settings.limits, progress)
        result = recordings.result_of_recording(plan.recorded, end.turns[1].trace)
        if keep_trace is not None:
            _copy(end.turns[1].trace, Path(keep_trace))
    _add_conditions(result, settings, end, _notes(entry, repeat, most))
    return result


def _add_conditions(result: ProfileResult, settings: Settings, end: TurnsEnd, notes: list[str]) -> None:
    plain, traced = end.turns
    result.record = replace(
        result.record,
        machine=machines.describe_machine(),
        session=settings.session,
        command="onnxperf.profile",
        interrupted=end.interrupted,
        profiled_ns=statistics.median(traced.call_ns) if traced.call_ns else None,
        unprofiled_ns=statistics.median(plain.call_ns) if plain.call_ns else None,
        notes=(*result.record.notes, *notes),
    )


def _notes(entry: Entry, repeat: int | None, most: int | None) -> list[str]:
    notes = [*entry.feeds.notes, "session initialisation includes writing the optimised graph"]
    if most is not None and repeat is not None and repeat > most:
        notes.append(f"{most} iterations instead of {repeat}: a trace holds at most {grouped(EVENT_CAP)} events")
    return notes


def _copy(trace: Path | None, path: Path) -> None:
    try:
        shutil.copyfile(str(trace), path)
    except OSError as error:
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}") from error
