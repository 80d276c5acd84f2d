"""`onnxperf.diff`: two models, traces or variants side by side, node by node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from onnxperf.analyze.answers.diff import diff_answer
from onnxperf.analyze.graphs.attribution import attribute
from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import judged_case, run_race, start_of, visible_options
from onnxperf.api._shared.recordings import Events, is_events, is_trace, notes_on_load, only_ort_setup, spec_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.side_by_side import Side as ProfiledSide
from onnxperf.api._shared.side_by_side import profiles_in_turns
from onnxperf.api._shared.subjects import Entry, open_entries
from onnxperf.api._shared.variants import Variant
from onnxperf.api.diff_view import drawing_of, drawing_of_executed, label_of
from onnxperf.errors import BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.model_reader import outline_of
from onnxperf.measure.profiling import Progress
from onnxperf.model.opened import Model
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import DIFF
from onnxperf.options.shared import Effect, Time, Warmup
from onnxperf.records.base import Machine
from onnxperf.records.diff import Diff
from onnxperf.records.profile import Profile, SourceGroup
from onnxperf.records.race import Case
from onnxperf.results.diff import DiffResult
from onnxperf.results.profile import ProfileResult

Side = Source | Events | ProfileResult

_WITHOUT_RACE = frozenset(DIFF.options) - {name for group in (Time, Effect, Warmup) for name in group.declared}
"""Options that have an effect if nothing is raced."""


@public(DIFF)
def diff(
    before: Side,
    after: Side | None = None,
    *,
    feeds: Mapping[str, Any] | None,
    calls: int | None,
    race: bool,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> DiffResult:
    """Compare two models, traces or profiles node by node; or one model under two values of a setting.

    If both sides can be run, they are profiled in turn in five processes each, and an unprofiled race gives the verdict
    (not with `race=False`). `calls` is the number of profiled inferences of each side in all processes. Fewer than 11
    run in one process, which proves nothing about single nodes. A setting, such as `opt_level`, has one value for both
    sides or one for each; so have `variants`. `save("NAME.graph.svg")` of the result draws both graphs.
    """
    variants = settings.variants
    if after is None:
        if len(variants) != 2:
            raise BadOption("a diff has two sides: give two models or traces, or one model and two values of a setting")
        if not _runs(before):
            raise BadOption("a trace has only the settings that it was made with; give two traces")
        after = before
    if len(variants) > 2:
        raise BadOption("a diff has two sides: give one value of each setting, or two values of one setting")
    sides = [settings.under(each) for each in (variants[0], variants[-1])]
    request = _Request(settings, feeds, calls, progress)
    _refuse_useless(before, after, race, {**given, "feeds": feeds is not None})
    if _runs(before) and _runs(after):
        result = _diff_of_models([cast("Source", before), cast("Source", after)], sides, race, request)
        return result if race else _noted(result, "the race was left out, so there is no verdict")
    results = [_profile(side, each, request) for side, each in zip((before, after), sides, strict=True)]
    first, second = _named_apart(results, _folders((before, after)))
    return _noted(_result(first, second, None, ()), _why_no_race(before, after))


def _refuse_useless(before: Side, after: Side, race: bool, given: Mapping[str, Any]) -> None:
    """Refuse options that nothing depends on: a trace and a profile are read as they are."""
    if not _runs(before) and not _runs(after):
        refuse_useless(given, ("store", "tags"), "sides measured before")
    elif not _runs(before) or not _runs(after):
        refuse_useless(given, _WITHOUT_RACE, "a side measured before: there is no race")
    elif not race:
        refuse_useless(given, _WITHOUT_RACE, "a diff without a race")


def diff_of_variants(
    model: Source,
    settings: Settings,
    variants: Sequence[Variant],
    feeds: Mapping[str, Any] | None,
    progress: Progress,
) -> DiffResult:
    """Compare a model under two variants node by node, without a race."""
    sides = [settings.under(each) for each in variants]
    return _diff_of_models([model, model], sides, False, _Request(settings, feeds, None, progress))


@dataclass(frozen=True)
class _Request:
    """What both sides have in common."""

    settings: Settings
    feeds: Mapping[str, Any] | None
    calls: int | None
    progress: Progress


def _runs(side: Side) -> bool:
    return not isinstance(side, ProfileResult) and not is_events(side) and not is_trace(side)


def _why_no_race(before: Side, after: Side) -> str:
    """What the sides are that cannot be run."""
    kinds = ["profile" if isinstance(side, ProfileResult) else "trace" for side in (before, after) if not _runs(side)]
    if len(kinds) == 1:
        what = f"one side is a {kinds[0]}"
    elif kinds[0] == kinds[1]:
        what = f"both sides are {kinds[0]}s"
    else:
        what = "one side is a trace and the other a profile"
    return f"{what}, so there was no race, and there is no verdict"


def _noted(result: DiffResult, note: str) -> DiffResult:
    result.record = replace(result.record, notes=(note, *result.record.notes))
    return result


def _profile(side: Side, settings: Settings, request: _Request) -> ProfileResult:
    """A side that stands alone; a trace takes no options."""
    if isinstance(side, ProfileResult):
        return side
    if not _runs(side):
        return recordings.result_of_trace(cast("str | Events", side))
    entry = open_entries(cast("Source", side), settings.inputs, request.feeds, settings.limits.timeout)[0]
    return recordings.profile_model(entry, settings, request.calls, request.progress)


# ---------------------------------------------------------------- names of the sides

_Pair = tuple[str, str]


def _folders(sides: Sequence[Side]) -> _Pair:
    """The folders that set two files of one name apart; empty for all else."""
    if not all(isinstance(side, str | os.PathLike) for side in sides):
        return "", ""
    first, second = (Path(cast("str", side)).absolute() for side in sides)
    if first.name != second.name:
        return "", ""
    pairs = ((one.name, other.name) for one, other in zip(first.parents, second.parents, strict=False))
    return next(((one, other) for one, other in pairs if one != other), ("", ""))


def _named_apart(results: Sequence[ProfileResult], folders: _Pair) -> list[ProfileResult]:
    """Profiles whose names differ: by folder, level, version of onnxruntime, or as before and after."""
    records = [result.record for result in results]
    if records[0].model != records[1].model:
        return list(results)
    levels = [each.session.opt_level if each.session else "" for each in records]
    versions = [f"onnxruntime {each.machine.versions.get('onnxruntime')}" if each.machine else "" for each in records]
    facts = (folders, levels, versions, ("before", "after"))
    chosen = next(pair for pair in facts if pair[0] != pair[1] and all(pair))
    named = [copy(result) for result in results]  # what was given keeps its name
    for result, fact in zip(named, chosen, strict=True):
        result.record = replace(result.record, model=f"{result.record.model} · {fact}")
    return named


# ---------------------------------------------------------------- both sides can be run


def _diff_of_models(
    sources: Sequence[Source], sides: Sequence[Settings], with_race: bool, request: _Request
) -> DiffResult:
    """Race both sides without the profiler; then let their profiled iterations alternate."""
    machine = machines.describe_machine()
    setups = [only_ort_setup(each) for each in sides]
    entries = _entries(sources, request)
    labels = _labels(entries, sides, _folders(sources))
    models = [ProfiledSide(*parts) for parts in zip(entries, setups, labels, strict=True)]
    case = _race(models, machine, request) if with_race else None
    stopped = case is not None and case.interrupted
    results = [_unprofiled(each, machine) for each in models] if stopped else _profiles(models, machine, request)
    for result, model in zip(results, models, strict=True):
        result.record = replace(result.record, unprofiled_ns=_raced_ns(case, model.label))
    notes = tuple(dict.fromkeys(note for entry in entries for note in entry.feeds.notes))
    drawing = partial(_drawing, [entry.model for entry in entries], sides)
    return _result(results[0], results[1], case, notes, _groups(entries[0].model, entries[1].model), drawing)


def _drawing(models: Sequence[Model], sides: Sequence[Settings]) -> str:
    """One model as it is executed under each of two variants, or two models as they are."""
    before, after = models
    if before is after and sides[0].given != sides[1].given:
        return drawing_of_executed(before, sides).svg
    return drawing_of(before, after).svg


def _entries(sources: Sequence[Source], request: _Request) -> list[Entry]:
    """The models with their inputs; one model at two levels is opened once."""
    inputs, timeout_s = request.settings.inputs, request.settings.limits.timeout
    if sources[0] is sources[1]:
        return open_entries(sources[0], inputs, request.feeds, timeout_s) * 2
    return open_entries(list(sources), inputs, request.feeds, timeout_s)


def _groups(before: Model, after: Model) -> tuple[SourceGroup, ...]:
    """Which nodes of the first model became which of the second; none if it is one model, or most are unrelated."""
    if before.fingerprint == after.fingerprint:
        return ()
    groups = attribute(*(outline_of(model, named=True).graph for model in (before, after)))
    known = sum(len(group.executed) for group in groups if group.sources)
    return groups if 2 * known >= sum(len(group.executed) for group in groups) else ()


def _labels(entries: Sequence[Entry], sides: Sequence[Settings], folders: _Pair) -> list[str]:
    """What sets the sides apart: the models, their folders, their settings."""
    settings = [label_of(each) for each in sides]
    same_settings = settings[0] == settings[1]
    if entries[0] is entries[1]:
        return ["first", "second"] if same_settings else settings
    names = [entry.model.label for entry in entries]
    if folders[0] != folders[1]:
        names = [f"{folder}/{names[0]}" for folder in folders]
    return names if same_settings else [f"{name} · {each}" for name, each in zip(names, settings, strict=True)]


def _race(models: Sequence[ProfiledSide], machine: Machine, request: _Request) -> Case:
    specs: list[WorkerSpec] = []
    for each in models:
        spec = spec_of(each.entry, each.setup)
        specs.append(replace(spec, subjects=(replace(spec.subjects[0], name=each.label),)))
    options = visible_options(request.settings.race, machine.cpu)
    end = run_race(specs, options, start_of(request.settings.limits), request.progress)
    return replace(judged_case(end, options), model=", ".join(dict.fromkeys(m.entry.model.label for m in models)))


def _raced_ns(case: Case | None, label: str) -> float | None:
    """The time of a side in the race, which is a call without the profiler."""
    return next((each.time_ns for each in case.subjects if each.name == label), None) if case is not None else None


def _profiles(models: Sequence[ProfiledSide], machine: Machine, request: _Request) -> list[ProfileResult]:
    return profiles_in_turns(models, machine, request.calls, request.settings.limits, request.progress)


def _unprofiled(model: ProfiledSide, machine: Machine) -> ProfileResult:
    """A side whose race the user stopped: nothing more is run."""
    record = Profile(
        model=model.label, machine=machine, session=model.setup.session, events=0, iterations=0, interrupted=True
    )
    return ProfileResult(record)


def _result(
    before: ProfileResult,
    after: ProfileResult,
    race: Case | None,
    notes: tuple[str, ...],
    groups: tuple[SourceGroup, ...] = (),
    drawing: Callable[[], str] | None = None,
) -> DiffResult:
    raced = race.notes if race is not None else ()
    record = Diff(
        before=before.record,
        after=after.record,
        rows=compared_rows(before.record, after.record, groups),
        groups=groups,
        race=race,
        command="onnxperf.diff",
        notes=(*notes, *raced, *notes_on_load(before.record, raced)),
    )
    return DiffResult(replace(record, answer=diff_answer(record)), before, after, drawing)
