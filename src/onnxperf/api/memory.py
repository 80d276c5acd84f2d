"""`onnxperf.memory`: what loading a model and calling it cost in memory, and where the bytes go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from msgspec.structs import replace

from onnxperf.analyze.answers.memory import memory_answer
from onnxperf.analyze.answers.race import note_on_others
from onnxperf.analyze.judges.arena import settings_to_try, trial_of, unexplained_bytes
from onnxperf.analyze.judges.growth import LEAST_POINTS, judge_growth
from onnxperf.api._shared.cells import Contest, groups
from onnxperf.api._shared.memory_breakdown import ArenaAccount, breakdown_of, largest, record_arena
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import start_of
from onnxperf.api._shared.requests import Settings, require
from onnxperf.api._shared.setups import Setup, setups_of
from onnxperf.api._shared.sources import notes_on_calls, source_callables
from onnxperf.api._shared.subjects import (
    Entry,
    FunctionByName,
    Functions,
    Sources,
    check_names,
    function_specs,
    functions_in,
    is_named,
    model_specs,
    open_entries,
    refuse_options_of_models,
    source_specs,
)
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import load
from onnxperf.measure.memory_steps import MemoryProbe, probe_subject
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.model.inputs import Feeds
from onnxperf.options.functions import MEMORY
from onnxperf.records.memory import Memory, MemoryCase, MemorySubject
from onnxperf.results.memory import MemoryResult
from onnxperf.runtimes.find import find_runtime
from onnxperf.wording.labels import ARENA_SETTINGS


@public(MEMORY)
def memory(
    model: Sources | Functions,
    feeds: Mapping[str, Any] | None = None,
    *,
    calls: int | None,
    sample_every: float,
    skip_arena: bool,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> MemoryResult:
    """Measure models or callables, each alone in a fresh process; Ctrl-C returns the results so far.

    `model` is what `onnxperf.bench` takes, or a function without arguments, its name as FILE.py:function, or a dict of
    functions by name. The peaks of loading, of the first call and of steady calls are the kernel's. The curve is
    sampled every `sample_every` seconds. Growth is judged over `calls` (at least 5), or two seconds of them. If `dims`
    has several values for a dimension, there is a case for each, and one more in which one session gets all of them.
    If much of what onnxruntime needs is unexplained, other settings of its arena are measured too, unless `skip_arena`.
    """
    require(calls is None or calls >= LEAST_POINTS, "calls", calls, f"at least {LEAST_POINTS} calls")
    request = _Request(settings, calls, sample_every, skip_arena)
    machine = machines.describe_machine()
    functions = functions_in(FunctionByName(model) if is_named(model) else model)
    if functions:
        refuse_options_of_models(given)
        plans = [_plan_of_functions(functions, request)]
    else:
        plans = list(_plans(Contest.of(cast("Sources", model), {**given, "feeds": feeds}), request))
    cases: list[MemoryCase] = []
    for number, plan in enumerate(plans):
        cases.append(_probe(plan, request, partial(_report_case, progress, number, plans)))
        if cases[-1].interrupted:
            break
    _refuse_if_nothing_ran(cases)
    after = machines.after_the_race(machine)
    interval_ns = round(sample_every * 1e9)
    return MemoryResult(Memory(machine=after, command="onnxperf.memory", interval_ns=interval_ns, cases=tuple(cases)))


@dataclass(frozen=True)
class _Request:
    """What all cases have in common."""

    settings: Settings
    calls: int | None
    interval_s: float
    skip_arena: bool


@dataclass(frozen=True)
class _Plan:
    """A case that was not yet measured."""

    case: MemoryCase
    specs: Callable[[], list[WorkerSpec]]
    """Packs inputs and models, which takes memory: only when the turn of the case has come."""
    entry: Entry | None = None
    """The model, with its largest inputs if there are several."""
    recorded: Callable[[], ArenaAccount] | None = None
    """Runs the model once more with onnxruntime's trace, which has the arena."""


def _plan_of_functions(functions: Mapping[str, Callable[[], Any]], request: _Request) -> _Plan:
    specs = partial(function_specs, functions, Feeds({}, {}), request.settings.session.threads, request.settings.source)
    notes = ("the data of a callable was sent with it, before anything was measured",)
    return _Plan(MemoryCase(model=", ".join(functions), notes=notes), specs)


def _plans(contest: Contest, request: _Request) -> Iterator[_Plan]:
    """A case for every combination of sizes; if there are several, one more in which a session gets them all."""
    settings = request.settings
    setups = setups_of(contest.runtime, contest.call, settings)
    for group in groups(contest.models, contest.against):
        by_size = [
            open_entries(group.models, settings.sized(dims, group.ranges), contest.feeds, settings.limits.timeout)
            for dims in settings.sizes
        ]
        for entries in zip(*by_size, strict=True):  # one model in all its sizes
            plans = [[each] for each in entries] + ([list(entries)] if len(entries) > 1 else [])
            yield from (_plan_of_model(some, setups, group.sources, request) for some in plans)


def _plan_of_model(
    entries: Sequence[Entry],
    setups: Sequence[Setup],
    sources: Mapping[str, Any],
    request: _Request,
) -> _Plan:
    """One model, fed with one size or with several in turn."""
    entry = entries[0]
    functions = source_callables(sources, entry.feeds.arrays, request.settings.source.device)

    def specs() -> list[WorkerSpec]:
        together = [
            *model_specs([entry], setups),
            *source_specs(functions, entry, request.settings),
        ]
        more = tuple(each.packed for each in entries[1:])
        check_names(together, None)
        return [replace(spec, subjects=(each,), more_feeds=more) for spec in together for each in spec.subjects]

    dims = {name: tuple(dict.fromkeys(each.feeds.dims[name] for each in entries)) for name in entry.feeds.dims}
    case = MemoryCase(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        dims=dims,
        shapes={name: array.shape for name, array in entry.feeds.arrays.items()},
        notes=(*entry.feeds.notes, *notes_on_calls(functions)),
    )
    launch = start_of(request.settings.limits)
    sessions = [setup.session for setup in setups if find_runtime(setup.runtime).records]
    recorded = partial(record_arena, entries, sessions[0], launch) if sessions else None
    return _Plan(case, specs, largest(entries), recorded)


def _report_case(progress: Progress, number: int, plans: Sequence[_Plan], done: float, text: str) -> None:
    label = f"case {number + 1} of {len(plans)}: " if len(plans) > 1 else ""
    progress((number + done) / len(plans), label + text)


def _probe(plan: _Plan, request: _Request, progress: Progress) -> MemoryCase:
    """Probe all subjects of a case, one after the other."""
    probes: list[MemoryProbe] = []
    notes = list(plan.case.notes)
    specs = plan.specs()
    limits = request.settings.limits
    start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
    before = load.snapshot()
    for number, spec in enumerate(specs):
        name = spec.subjects[0].name
        report = partial(_report_subject, progress, number, len(specs) + 1, name)
        probes.append(probe_subject(spec, start, request.calls, request.interval_s, report))
        if probes[-1].interrupted:
            break
    interrupted = any(each.interrupted for each in probes)
    recorded = None
    if plan.recorded is not None and not interrupted and any(_records(each.subject) for each in probes):
        progress(len(specs) / (len(specs) + 1), "onnxruntime's own figures about its arena")
        try:
            recorded = _arena(plan.recorded, notes)
        except KeyboardInterrupt:
            interrupted = True
    subjects = [_with_causes(each, plan, recorded if _records(each.subject) else None) for each in probes]
    if not interrupted and not request.skip_arena:
        report = partial(progress, len(specs) / (len(specs) + 1))
        interrupted = _try_arena_settings(specs, subjects, partial(_trial, start=start, request=request, report=report))
    notes += note_on_others(load.share_of_others(before, load.snapshot()))
    status: Any = next((each.status for each in subjects if each.status not in ("ok", "skipped")), "ok")
    case = replace(plan.case, status=status, interrupted=interrupted, notes=tuple(notes), subjects=tuple(subjects))
    return replace(case, answer=memory_answer(case))


def _try_arena_settings(
    specs: Sequence[WorkerSpec], subjects: list[MemorySubject], trial: Callable[[WorkerSpec], MemoryProbe]
) -> bool:
    """Add what other settings of the arena would need, if that is worth the time; whether Ctrl-C came meanwhile."""
    for number, (spec, subject) in enumerate(zip(specs, subjects, strict=False)):
        for setting in settings_to_try(subject) if _records(subject) else ():
            probe = trial(replace(spec, session=replace(spec.session, arena=setting)))
            if probe.interrupted:
                return True
            subjects[number] = replace(
                subjects[number], trials=(*subjects[number].trials, trial_of(setting, probe.subject))
            )
    return False


def _trial(spec: WorkerSpec, start: Any, request: _Request, report: Callable[[str], None]) -> MemoryProbe:
    """As few calls as show a need."""
    name = f"{spec.subjects[0].name}, {ARENA_SETTINGS[spec.session.arena]}"
    return probe_subject(spec, start, 1, request.interval_s, lambda _done, text: report(f"{name}: {text}"))


def _arena(recorded: Callable[[], ArenaAccount], notes: list[str]) -> ArenaAccount | None:
    """What onnxruntime's trace has about its arena; if it has nothing, there is a note."""
    try:
        arena = recorded()
    except (SubjectError, BadInput) as error:
        notes.append(f"onnxruntime gave no figures about its arena: {error}")
        return None
    if not arena.arena_bytes:
        notes.append("the trace of this onnxruntime has no memory figures, so nothing is known about its arena")
    return arena


def _report_subject(progress: Progress, number: int, total: int, name: str, done: float, text: str) -> None:
    progress((number + done) / total, f"{name}: {text}")


def _records(subject: MemorySubject) -> bool:
    """Whether the runtime of a model has figures of its own about it."""
    return subject.model is not None and subject.status == "ok" and find_runtime(subject.runtime).records


def _with_causes(memory_probe: MemoryProbe, plan: _Plan, account: ArenaAccount | None) -> MemorySubject:
    arena = account.arena_bytes if account is not None else ()
    if memory_probe.subject.sizes == 1:
        arena = arena[1:]  # the second call of a session replaces what the first took by one planned block
    subject = replace(memory_probe.subject, growth=judge_growth(memory_probe.points, arena))
    if plan.entry is None:
        return subject
    breakdown = breakdown_of(plan.entry, memory_probe, account)
    unexplained = unexplained_bytes(subject.needed_bytes, breakdown)
    return replace(subject, breakdown=replace(breakdown, unexplained_bytes=unexplained))


def _refuse_if_nothing_ran(cases: Sequence[MemoryCase]) -> None:
    """When every subject refused to start, the request is at fault."""
    subjects = [subject for case in cases for subject in case.subjects]
    if subjects and all(each.status in ("failed", "skipped") and not each.steps for each in subjects):
        raise BadInput(subjects[0].reason)
