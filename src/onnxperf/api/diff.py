"""`onnxperf.diff`: two models, traces or optimisation levels side by side, node by node."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, get_type_hints

from msgspec.structs import replace

from onnxperf.analyze.diff import align, sentence
from onnxperf.api._shared import recordings
from onnxperf.api._shared.racing import judged_case, run_race, start_of, visible_options, with_threads
from onnxperf.api._shared.requests import (
    DiffKeywords,
    InputKeywords,
    check_keywords,
    input_options,
    names_in,
    race_options,
    session_options,
)
from onnxperf.api._shared.subjects import Entry, Source, chosen_calls, model_specs, open_entries
from onnxperf.api.profile import TIMEOUT_S, Events, is_events, is_trace, profile
from onnxperf.errors import BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.profiling import Progress
from onnxperf.records import Case, Diff, RaceOptions, SessionOptions, WorkerLimits
from onnxperf.results.diff import DiffResult
from onnxperf.results.profile import ProfileResult

Side = Source | Events | ProfileResult


def diff(
    base: Side,
    opti: Side | None = None,
    *,
    opt_level: str | Sequence[str] = "all",
    feeds: Mapping[str, Any] | None = None,
    repeat: int | None = None,
    race: bool = True,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[DiffKeywords],
) -> DiffResult:
    """Compare two models, traces or profiles node by node; or one model at two optimisation levels.

    Where both sides can be run, they are profiled in turn, and an unprofiled race gives the verdict (not with
    `race=False`). `opt_level` is one level for both sides or one for each.
    """
    check_keywords(keywords, DiffKeywords)
    levels = names_in(opt_level)
    if opti is None:
        if len(levels) != 2:
            raise BadOption("a diff has two sides: give two models or traces, or one model and two --opt-level")
        if not _runs(base):
            raise BadOption("a trace has only the optimisation level it was made with; give two traces")
        opti = base
    if len(levels) > 2:
        raise BadOption(f"--opt-level {','.join(levels)}: expected one level, or one for each side")
    sides = [(base, levels[0]), (opti, levels[-1])]
    if all(_runs(side) for side, _ in sides):
        return _diff_of_models(sides, feeds, repeat, race, progress, keywords)
    results = [_profile(side, level, feeds, repeat, progress, keywords) for side, level in sides]
    return _result(results[0], results[1], None, ("one side is a trace, so there was no race: nothing is claimed",))


def _runs(side: Side) -> bool:
    return not isinstance(side, ProfileResult) and not is_events(side) and not is_trace(side)


def _profile(
    side: Side,
    level: str,
    feeds: Mapping[str, Any] | None,
    repeat: int | None,
    progress: Progress,
    keywords: Mapping[str, Any],
) -> ProfileResult:
    """A side that stands alone; a trace takes no options."""
    if isinstance(side, ProfileResult):
        return side
    if not _runs(side):
        return profile(side)
    own = {key: value for key, value in keywords.items() if key in get_type_hints(InputKeywords)}
    return profile(side, feeds, repeat=repeat, progress=progress, **{**own, "opt_level": level})


def _diff_of_models(
    sides: Sequence[tuple[Any, str]],
    feeds: Mapping[str, Any] | None,
    repeat: int | None,
    with_race: bool,
    progress: Progress,
    keywords: Mapping[str, Any],
) -> DiffResult:
    """Race both sides without the profiler; then let their profiled iterations alternate."""
    machine = machines.describe_machine()
    options = visible_options(race_options(keywords), machine.cpu)
    sessions = [with_threads(session_options({**keywords, "opt_level": level})) for _, level in sides]
    chosen_calls(["ort"], ["run"], sessions[0])
    entries = _entries([side for side, _ in sides], keywords, feeds)
    labels = _labels(entries, sessions)
    case = _race(entries, sessions, labels, options, progress) if with_race else None
    timeout = keywords.get("timeout", TIMEOUT_S)
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        both = [
            recordings.recorded(entry, session, Path(folder), name)
            for entry, session, name in zip(entries, sessions, ("base", "opti"), strict=True)
        ]
        fitting = [recordings.iterations_that_fit(each, repeat, timeout, progress) for each in both]
        most = min((each for each in fitting if each is not None), default=None)
        end = recordings.play([each.spec for each in both], repeat, most, timeout, progress)
        results = []
        for each, turns, session, label in zip(both, end.turns, sessions, labels, strict=True):
            changes = {"machine": machine, "session": session, "model": label, "interrupted": end.interrupted}
            results.append(recordings.recorded_result(each.original, turns.trace, changes, ()))
    notes = [*dict.fromkeys(note for entry in entries for note in entry.feeds.notes)]
    notes += ["interrupted: the profiles hold what ran until then"] if end.interrupted else []
    return _result(results[0], results[1], case, tuple(notes))


def _entries(sides: Sequence[Any], keywords: Mapping[str, Any], feeds: Mapping[str, Any] | None) -> list[Entry]:
    """The models with their inputs; one model at two levels is opened once."""
    if sides[0] is sides[1]:
        return open_entries(sides[0], input_options(keywords), feeds) * 2
    return open_entries(list(sides), input_options(keywords), feeds)


def _labels(entries: Sequence[Entry], sessions: Sequence[SessionOptions]) -> list[str]:
    """What sets the sides apart: the models, the levels, or both."""
    same_level = sessions[0].opt_level == sessions[1].opt_level
    if entries[0] is entries[1]:
        return [session.opt_level for session in sessions] if not same_level else ["first", "second"]
    names = [entry.model.label for entry in entries]
    return names if same_level else [f"{name} · {each.opt_level}" for name, each in zip(names, sessions, strict=True)]


def _race(
    entries: Sequence[Entry],
    sessions: Sequence[SessionOptions],
    labels: Sequence[str],
    options: RaceOptions,
    progress: Progress,
) -> Case:
    specs: list[WorkerSpec] = []
    for entry, session, label in zip(entries, sessions, labels, strict=True):
        spec = model_specs([entry], {"ort": ("run",)}, session)[0]
        specs.append(replace(spec, subjects=(replace(spec.subjects[0], name=label),)))
    end = run_race(specs, options, start_of(WorkerLimits(timeout=TIMEOUT_S)), progress)
    return replace(judged_case(end, options), model=", ".join(dict.fromkeys(e.model.label for e in entries)))


def _result(base: ProfileResult, opti: ProfileResult, race: Case | None, notes: tuple[str, ...]) -> DiffResult:
    rows = align(base.record.nodes, opti.record.nodes)
    record = Diff(
        base=base.record,
        opti=opti.record,
        rows=rows,
        race=race,
        command="onnxperf.diff",
        notes=notes,
        answer=sentence(rows, race, base.record.model, opti.record.model),
    )
    return DiffResult(record, base, opti)
