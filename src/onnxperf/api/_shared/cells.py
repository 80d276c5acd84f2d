"""The cases of a bench or a sweep: one race each, run one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeGuard

from msgspec.structs import replace

from onnxperf.analyze.answers.instructions import about_counts, note_on_counts
from onnxperf.analyze.answers.race import about_parts, cast_text, notes_on_retracing
from onnxperf.analyze.judges.comparison import baseline_of
from onnxperf.analyze.judges.throughput import with_rates
from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._keeping.run_recorder import CaseRecorder
from onnxperf.api._shared.counting import counted
from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.origins import recall
from onnxperf.api._shared.outputs import compared
from onnxperf.api._shared.racing import judged_case, memory_for_workers, run_race, start_of, visible_options
from onnxperf.api._shared.reload import explained
from onnxperf.api._shared.requests import Against, Settings, names_in
from onnxperf.api._shared.setups import setups_of
from onnxperf.api._shared.sources import (
    is_plain,
    load_source,
    named_sources,
    notes_on_calls,
    source_callables,
    sources_of,
)
from onnxperf.api._shared.subjects import (
    Entry,
    Sources,
    check_names,
    function_specs,
    in_environments,
    model_specs,
    open_entries,
    rows_of,
    source_specs,
)
from onnxperf.api._shared.variants import named_settings
from onnxperf.api._shared.yardstick import with_yardstick
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.instructions import find_tools
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.pool import Launches, Pool
from onnxperf.measure.race import Progress, RaceEnd
from onnxperf.model.inputs import Feeds
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Bench, Case
from onnxperf.records.sweep import NodeStep
from onnxperf.wording.names import with_reasons
from onnxperf.wording.numbers import significant, time_text
from onnxperf.zoo import PREFIX

Seen = Callable[[Sequence[Case], Sequence[NodeStep]], None]
"""Receives the cases so far, and what the nodes of a cluster are doing."""
_LONG_START_S = 10.0
"""A longer start is worth a note, as it is no part of the measuring time."""


def unseen(_cases: Sequence[Case], _steps: Sequence[NodeStep]) -> None:
    """Cases are not shown before all are there."""


@dataclass(frozen=True)
class Cell:
    """One case of a sweep, not yet run."""

    key: str
    """Sets it apart from all others, today and when the sweep is resumed."""
    label: str
    dims: dict[str, int]
    settings: Settings
    run: Callable[[Progress, Launches], Case]
    """Runs it with workers from the given place."""
    parts: tuple[Contest, Group] | None = None
    """What it is made of, so that another machine can run it; None for functions, which stay here."""


@dataclass(frozen=True)
class Contest:
    """Which models race against which sources, and how they are called."""

    models: Sources
    against: Against = None
    call: str | Sequence[str] = "run"
    runtime: str | Sequence[str] = "ort"
    feeds: Mapping[str, Any] | None = None
    names: Sequence[str] = ()
    """Names of the models in the list of cases [default: their paths]."""
    listed: bool = False
    """Its cases are only listed, never run: no source is loaded, and no model of the zoo built."""
    envs: Mapping[str, str] = field(default_factory=dict)
    """Environments of models, by their labels, that do not run in that of the others."""

    @classmethod
    def of(cls, models: Sources, keywords: Mapping[str, Any]) -> Contest:
        """The contest of models with what keywords add to them."""
        call, runtime = keywords.get("call", "run"), keywords.get("runtime", "ort")
        against = keywords.get("against")
        if isinstance(against, list):  # texts, as they are typed
            against = sources_of(against)
        return cls(models, against, call, runtime, keywords.get("feeds"))


def cells_of(contest: Contest, settings: Settings) -> list[Cell]:
    """The cases of a bench: every combination of dimensions, for every group of models that race together."""
    cells = []
    if settings.race.count and not contest.listed:
        find_tools()  # what is missing is named before anything is measured
    raced = _listed_groups if contest.listed else groups
    for dims, group in product(settings.sizes, raced(contest.models, contest.against)):
        cells.append(cell_of(contest, group, dims, settings))
    return cells


def cell_of(contest: Contest, group: Group, dims: dict[str, int], settings: Settings) -> Cell:
    """One case: a group of models at these sizes."""
    given = () if isinstance(group.models, Mapping) else contest.names
    names = given or _names(group.models)
    label = ", ".join(map(_short, names))
    key = f"{', '.join(names)} {' '.join(f'{name}={size}' for name, size in dims.items())}".strip()
    run = with_yardstick(partial(_case, contest, group, dims, settings), settings.yardstick, settings.limits)
    return Cell(key, label, dims, settings, run, (contest, group))


def cell_of_functions(functions: Mapping[str, Callable[[], Any]], settings: Settings) -> Cell:
    """Functions that race each other, each on data of its own."""
    if settings.race.count:
        raise BadOption("only models are counted; leave it out", option="count", value=settings.race.count)
    label = ", ".join(functions)
    run = with_yardstick(partial(_race_of_functions, functions, settings), settings.yardstick, settings.limits)
    return Cell(label, label, {}, settings, run)


def run_cells(
    cells: Sequence[Cell],
    progress: Progress,
    recorder: CaseRecorder | None = None,
    seen: Seen = unseen,
    place: ClusterPlace | None = None,
) -> Bench:
    """Run cases one after the other; one that fails does not end the others, and `seen` receives each.

    Without a `place` they run here.
    """
    if place is not None:
        from onnxperf.api._cluster.cluster_cells import run_on_cluster

        return run_on_cluster(cells, progress, recorder, seen, place)
    machine = machines.describe_machine()
    if recorder is not None:
        recorder.plan([cell.key for cell in cells], machine)
    cases: list[Case] = []
    interrupted = False
    start = start_of(cells[0].settings.limits)
    remaining = {cell.key: cell for cell in cells if recorder is None or recorder.wanted(cell.key)}
    try:
        with Pool(start, memory_for_workers) as pool:
            launches = pool.launches if len(cells) > 1 else lambda _specs, _options: start
            for cell, case in _run_all(cells, progress, recorder, launches):
                remaining.pop(cell.key, None)
                cases.append(unfinished(case) if case.interrupted and len(cells) > 1 else case)
                if recorder is not None and not case.interrupted:
                    recorder.finish(cell.key, case)
                seen(cases, ())
    except KeyboardInterrupt:
        if recorder is None and not cases:
            raise
        interrupted = True
    inside = any(case.interrupted for case in cases)
    cases += never_begun(remaining.values(), between=not inside) if interrupted or inside else []
    after = machines.after_the_race(machine)
    kept = recorder.result(cases, after) if recorder is not None else None
    return kept or Bench(machine=after, command="onnxperf.bench", cases=tuple(cases))


def never_begun(cells: Iterable[Cell], between: bool) -> list[Case]:
    """Cases that an interrupted sweep leaves; the first is the interrupted one where that fell between two races."""
    left = enumerate(cells)
    return [Case(model=c.label, dims=c.dims, status="pending", interrupted=between and not n) for n, c in left]


def unfinished(case: Case) -> Case:
    """A case of many that was interrupted: what it measured is shown, and nothing is concluded from it."""
    subjects = [replace(each, status="pending") if each.status == "ok" else each for each in case.subjects]
    return replace(case, status="pending", subjects=tuple(subjects))


def _run_all(
    cells: Sequence[Cell], progress: Progress, recorder: CaseRecorder | None, launches: Launches
) -> Iterator[tuple[Cell, Case]]:
    """Run the cases that are wanted, until the user interrupts one."""
    for number, cell in enumerate(cells):
        if recorder is not None and not recorder.wanted(cell.key):
            continue
        report = progress if len(cells) == 1 else partial(_report_case, progress, number, len(cells))
        if recorder is not None:
            recorder.begin(cell.key)
        try:
            case = cell.run(report, launches)
        except BadInput as error:
            if len(cells) == 1 and recorder is None:
                raise
            case = Case(model=cell.label, dims=cell.dims, status="failed", answer=str(error))
        yield cell, case
        if case.interrupted:
            break  # not finished: it is run again when the sweep is resumed


def _report_case(progress: Progress, number: int, total: int, done: float, text: str) -> None:
    progress((number + done) / total, f"case {number + 1} of {total}: {text}")


def _names(model: Sources) -> list[str]:
    """What models are called before they are opened."""
    several = model if isinstance(model, list | tuple | Mapping) else [model]
    return [str(each) if isinstance(each, str | Path) else "model" for each in several]


def _short(spelled: str) -> str:
    """The label that a model gets when it is opened."""
    return spelled if spelled.startswith(PREFIX) else Path(spelled).name.removesuffix(".onnx")


@dataclass(frozen=True)
class Group:
    """Models that race together with their sources."""

    models: Sources
    sources: Mapping[str, Any]
    ranges: Mapping[str, tuple[float, float]]
    """Of inputs, where the models bring them."""


def groups(model: Sources, against: Against) -> Iterator[Group]:
    """Models that race together with their sources; each framework of a zoo model has a model of its own."""
    if isinstance(against, str):
        against = sources_of([against])
    if against is None or isinstance(against, Mapping):
        yield Group(model, named_sources(against or {}), {})
        return
    names, only = names_in(against), _only(model)
    if not _is_of_zoo(only):
        yield Group(model, _converted_from(only, names), {})
        return
    from onnxperf.zoo.build import zoo_model

    for name in names:
        entry = zoo_model(only, name)
        yield Group({f"{only} {name}": entry.onnx}, entry.subjects(), entry.ranges)


def _listed_groups(model: Sources, against: Against) -> Iterator[Group]:
    """The groups that `groups` would make, by name only."""
    only = _only(model)
    if against is None or isinstance(against, Mapping) or not _is_of_zoo(only):
        yield Group(model, {}, {})
        return
    from onnxperf.zoo.build import find_entry

    for name in names_in(against):
        yield Group({f"{only} {name}": find_entry(only, name).onnx}, {}, {})


def _only(model: Sources) -> Sources:
    """The model, if there is one only."""
    return model[0] if isinstance(model, list | tuple) and len(model) == 1 else model


def _is_of_zoo(model: Sources) -> TypeGuard[str]:
    return isinstance(model, str) and model.startswith(PREFIX)


def _converted_from(model: Sources, names: Sequence[str]) -> dict[str, Any]:
    """The source of a model that was converted here, under the name of its framework."""
    known = recall(open_source(model).fingerprint) if isinstance(model, str | Path) else None
    if known is None:
        raise BadOption(
            "the source is known only of a zoo model and of one that `onnxperf convert` wrote here",
            option="against",
            value=",".join(names),
            expected="FILE.py:function",
        )
    if list(names) != [known.framework]:
        raise BadOption.unknown("source of this model", ",".join(names), [known.framework], option="against")
    return {known.framework: load_source(known.source)}


def _case(
    contest: Contest, group: Group, dims: Mapping[str, int], settings: Settings, progress: Progress, launches: Launches
) -> Case:
    """One race."""
    options = visible_options(settings.race, machines.cpu_model())
    setups = setups_of(contest.runtime, contest.call, settings)
    inputs = settings.sized(dims, group.ranges)
    entries = open_entries(group.models, inputs, contest.feeds, settings.limits.timeout)
    callables = _callables(entries, settings, group.sources)
    sources = source_specs(callables, entries[0], settings)
    specs = [*in_environments(model_specs(entries, setups), contest.envs), *sources]
    check_names(specs, options.baseline)
    several = sum(len(spec.subjects) for spec in specs) > 1
    end = run_race(specs, options, launches(specs, options), progress, several and settings.tolerances.check)
    uncounted: tuple[str, ...] = ()
    if options.count and not end.interrupted:
        end, uncounted = counted(end, specs, settings.limits, find_tools(), progress)
    rows = [subject.name for spec in sources for subject in spec.subjects]
    plain = [row for name, source in group.sources.items() if is_plain(source) for row in rows_of(name, rows)]
    equality = compared(end, specs, entries, settings.tolerances, plain)
    equality.differing = explained(
        equality.differing,
        group.sources,
        lambda again: source_specs(_callables(entries, settings, again), entries[0], settings),
        settings.tolerances,
    )
    judged = judged_case(end, options, equality.differing)
    about_race = _notes_on_race(specs, end, settings.race, options)
    counts = (*note_on_counts(judged.subjects, machines.vector_extensions()), *uncounted)
    about_inputs = (*_notes_on_entries(entries), *notes_on_calls(callables))
    notes = (*about_inputs, *about_race, *counts, *equality.notes, *judged.notes)
    case = replace(
        judged,
        model=", ".join(entry.model.label for entry in entries),
        fingerprint={entry.model.label: entry.model.fingerprint for entry in entries},
        dims={name: size for entry in entries for name, size in entry.feeds.dims.items()},
        shapes={name: array.shape for entry in entries for name, array in entry.feeds.arrays.items()},
        notes=notes,
    )
    _refuse_if_nothing_ran(case)
    parts = about_parts(case.subjects, {entry.model.label: cast_text(_types_cast(entry)) for entry in entries})
    counts_say = about_counts(case.subjects, case.baseline, case.min_effect)
    said = "\n".join(filter(None, [equality.sentence, case.answer, parts, counts_say]))
    return with_rates(replace(case, answer=said))


def _callables(
    entries: Sequence[Entry], settings: Settings, sources: Mapping[str, Any]
) -> dict[str, Callable[..., Any]]:
    return source_callables(sources, entries[0].feeds.arrays, settings.source.device)


def _race_of_functions(
    functions: Mapping[str, Callable[[], Any]], settings: Settings, progress: Progress, launches: Launches
) -> Case:
    options = visible_options(settings.race, machines.cpu_model())
    specs = function_specs(functions, Feeds({}, {}), settings.session.threads, settings.source)
    check_names(specs, options.baseline)
    end = run_race(specs, options, launches(specs, options), progress)
    judged = judged_case(end, options)
    notes = (*_notes_on_race(specs, end, settings.race, options), *judged.notes)
    case = replace(judged, model=", ".join(functions), notes=notes)
    _refuse_if_nothing_ran(case)
    return with_rates(case)


def _refuse_if_nothing_ran(case: Case) -> None:
    """When every subject refused to start, the request is at fault, not the race."""
    statuses = {subject.status for subject in case.subjects}
    if statuses <= {"failed", "skipped"} and not any(subject.blocks for subject in case.subjects):
        raise BadInput(next(subject.reason for subject in case.subjects))


def _types_cast(entry: Entry) -> dict[str, tuple[str, str]]:
    """The types that inputs have and get."""
    types = {}
    for name, wanted in entry.casts.items():
        given = entry.feeds.arrays[name].dtype
        types[name] = (given.name if given.isnative else str(given), wanted)  # a name lacks the byte order
    return types


def _notes_on_entries(entries: Sequence[Entry]) -> list[str]:
    """Notes on inputs: what holds for all models is said once, the rest with their names."""
    named = [(entry.model.label, note) for entry in entries for note in dict.fromkeys(entry.feeds.notes)]
    times = Counter(note for _, note in named)
    common = [note for note, number in times.items() if number == len(entries)]
    return [*common, *with_reasons((label, note) for label, note in named if note not in common)]


def _notes_on_settings(specs: Sequence[WorkerSpec]) -> list[str]:
    """What all sessions have in common and onnxruntime would not do by itself; headings have the number of threads."""
    first, *others = [named_settings(spec.session) for spec in specs if spec.runtime == "ort"] or [{}]
    shared = [f"`{name}={text}`" for name, text in first.items() if all(each.get(name) == text for each in others)]
    told = [text for text in shared if not text.startswith(("`threads=", "`env="))]
    return [f"settings of all subjects: {', '.join(told)}"] if told else []


def _notes_on_race(specs: Sequence[WorkerSpec], end: RaceEnd, asked: RaceOptions, used: RaceOptions) -> list[str]:
    """Everything that a reader would not expect."""
    notes = _notes_on_settings(specs)
    if used.min_effect > asked.min_effect:
        raised = f"{significant(100 * asked.min_effect)} % to {significant(100 * used.min_effect)} %"
        notes.append(f"minimum effect raised from {raised}, the noise that onnxperf doctor found on this machine")
    if asked.baseline and baseline_of(end.subjects, asked.baseline) != asked.baseline:
        notes.append(f"the baseline {asked.baseline} was not measured; compared with the first that was")
    if end.start_s > _LONG_START_S:
        notes.append(f"starting, loading and warming up took {time_text(1e9 * end.start_s)} before the first round")
    if end.batches > 1:
        notes.append(
            f"raced in {end.batches} batches, each with the baseline: all of them at once do not fit into memory"
        )
    if any(subject.conditions.get("assume_finite") for subject in end.subjects):
        notes.append("scikit-learn runs with assume_finite=True, as requested or set (check_finite=True turns it off)")
    notes += notes_on_retracing(end.subjects)
    return notes
