"""`onnxperf.bench`: race models, call styles, runtimes and callables against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Unpack, cast

from msgspec.structs import replace

from onnxperf.analyze.advice import about_parts, answer, cast_text
from onnxperf.analyze.comparison import baseline_of, compare, settled
from onnxperf.api import crews as crewing
from onnxperf.api.agreement import Tolerances, compared
from onnxperf.api.keeping import CaseKeeper
from onnxperf.api.options import (
    BenchKeywords,
    check_keywords,
    input_options,
    names_in,
    race_options,
    session_options,
)
from onnxperf.api.origins import recall
from onnxperf.api.sources import is_plain, load_source, source_callables
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure import machine as machines
from onnxperf.measure import noise
from onnxperf.measure.fleet import Launch
from onnxperf.measure.messages import Crew
from onnxperf.measure.plan import DEFAULT_TIME_S
from onnxperf.measure.pool import Pool
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.race import Progress, RaceEnd, Tools, race
from onnxperf.model.inputs import Feeds
from onnxperf.model.load import open_model
from onnxperf.records import Bench, Case, RaceOptions, SessionOptions, Subject
from onnxperf.results.bench import BenchResult

_MEMORY_SHARE = 0.8
"""Part of the free memory that workers may fill together."""


Against = Mapping[str, Any] | str | Sequence[str] | None


def bench(
    model: crewing.Sources | crewing.Functions,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] = "ort",
    feeds: Mapping[str, Any] | None = None,
    against: Against = None,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[BenchKeywords],
) -> BenchResult:
    """Time a model, or race several ways of running it; Ctrl-C returns what was measured until then.

    `model` is a path, bytes, a ModelProto or the name of a zoo model ("zoo:resnet50"), or a list or dict of them.
    `against` adds what it was converted from (a torch module, a Keras model, the path of a saved_model, a fitted
    estimator) or any callable, by name; for a zoo model, names of frameworks. They are called with the feeds in the
    order of the model's inputs, each in a process of its own; one whose outputs are not the model's gets the status
    `differs`. Where `dims` has several values for a dimension, there is a case for every combination.
    A function without arguments, or a dict of them by name, is raced without any model.
    """
    functions = crewing.functions_in(model)
    if functions:
        asked = {**keywords, "call": call, "runtime": runtime, "feeds": feeds, "against": against}
        crewing.refuse_options_of_models(asked, {"call": "run", "runtime": "ort"})
        return BenchResult(run_cells([_cell_of_functions(functions, keywords)], progress))
    cells = cells_of(cast("crewing.Sources", model), against, (call, runtime, feeds), keywords)
    return BenchResult(run_cells(cells, progress))


@dataclass(frozen=True)
class Cell:
    """One case of a sweep, not yet run."""

    key: str
    """Sets it apart from all others, today and when the sweep is resumed."""
    label: str
    dims: dict[str, int]
    options: RaceOptions
    run: Callable[[Progress, Launch | None], Case]
    """Runs it; workers come from the given place, or are started for this case alone."""

    def pool(self) -> Pool:
        """Workers that this case and those after it share."""
        return Pool(start_of(self.options))


def cells_of(
    model: crewing.Sources,
    against: Against,
    how: tuple[str | Sequence[str], str | Sequence[str], Mapping[str, Any] | None],
    keywords: Mapping[str, Any],
    name: str = "",
) -> list[Cell]:
    """The cases of a bench: every combination of dimensions, for every group of models that race together."""
    check_keywords(keywords, BenchKeywords)
    options = race_options(keywords)
    cells = []
    for dims, (own, sources, ranges) in product(combinations(keywords.get("dims") or {}), groups(model, against)):
        known = {**keywords, "dims": dims, "ranges": {**ranges, **(keywords.get("ranges") or {})}}
        spelled = name if name and isinstance(own, str) else _label(own)
        label = spelled if spelled.startswith(crewing.ZOO_PREFIX) else Path(spelled).name.removesuffix(".onnx")
        key = f"{spelled} {' '.join(f'{name}={size}' for name, size in dims.items())}".strip()
        cells.append(Cell(key, label, dims, options, partial(_case, own, sources, how, known)))
    return cells


def _cell_of_functions(functions: Mapping[str, Callable[[], Any]], keywords: Mapping[str, Any]) -> Cell:
    """Functions that race each other, each on data of its own."""
    check_keywords(keywords, BenchKeywords)
    options = race_options(keywords)
    label = ", ".join(functions)
    return Cell(label, label, {}, options, partial(_race_of_functions, functions, keywords))


def _race_of_functions(
    functions: Mapping[str, Callable[[], Any]], keywords: Mapping[str, Any], progress: Progress, launch: Launch | None
) -> Case:
    asked = race_options(keywords)
    options = visible_options(asked, machines.cpu_model())
    crews = crewing.function_crews(functions, Feeds({}, {}), with_threads(session_options(keywords)), options)
    crewing.check_names(crews, options.baseline)
    end = run_race(crews, options, progress, launch=launch)
    notes = tuple(_notes_on_race(crews, end, asked, options))
    case = replace(judged_case(end, options), model=", ".join(functions), notes=notes)
    _refuse_if_nothing_ran(case)
    return case


def run_cells(
    cells: Sequence[Cell],
    progress: Progress,
    keeper: CaseKeeper | None = None,
    seen: Callable[[Sequence[Case]], None] = lambda _cases: None,
) -> Bench:
    """Run cases one after the other; one that fails does not end the others, and `seen` is told of each."""
    machine = machines.describe_machine()
    if keeper is not None:
        keeper.plan([cell.key for cell in cells], machine)
    cases: list[Case] = []
    with ExitStack() as stack:
        pool = stack.enter_context(cells[0].pool()) if len(cells) > 1 else None
        for case in _run_all(cells, progress, keeper, pool):
            cases.append(case)
            seen(cases)
    after = machines.after_the_race(machine)
    kept = keeper.result(cases, after) if keeper is not None else None
    return kept or Bench(machine=after, command="onnxperf.bench", cases=tuple(cases))


def _run_all(cells: Sequence[Cell], progress: Progress, keeper: CaseKeeper | None, pool: Pool | None) -> Iterator[Case]:
    """Run the cases that are wanted, until the user interrupts one."""
    for number, cell in enumerate(cells):
        if keeper is not None and not keeper.wanted(cell.key):
            continue
        told = progress if len(cells) == 1 else partial(_told_of_case, progress, number, len(cells))
        if keeper is not None:
            keeper.begin(cell.key)
        try:
            case = cell.run(told, None if pool is None else pool.launch)
        except BadInput as error:
            if len(cells) == 1 and keeper is None:
                raise
            case = Case(model=cell.label, dims=cell.dims, status="failed", answer=str(error))
        if case.interrupted:
            yield case
            break  # not finished: whoever resumes runs it again
        if keeper is not None:
            keeper.finish(cell.key, case)
        yield case


def _told_of_case(progress: Progress, number: int, total: int, done: float, text: str) -> None:
    progress((number + done) / total, f"case {number + 1} of {total}: {text}")


def _label(model: crewing.Sources) -> str:
    """What a model is called that could not be opened."""
    several = model if isinstance(model, list | tuple | Mapping) else [model]
    return ", ".join(str(each) if isinstance(each, str | Path) else "model" for each in several)


def combinations(dims: Mapping[str, int | Sequence[int]]) -> Iterator[dict[str, int]]:
    """Every combination of the values of the dimensions."""
    values = [size if isinstance(size, list | tuple) else [size] for size in dims.values()]
    for name, sizes in zip(dims, values, strict=True):
        if not sizes:
            raise BadOption(f"--dim {name}: no value given")
        if len(set(sizes)) < len(sizes):
            raise BadOption(f"--dim {name}={','.join(map(str, sizes))}: a size is there twice")
    yield from (dict(zip(dims, sizes, strict=True)) for sizes in product(*values))


def groups(
    model: crewing.Sources, against: Against
) -> Iterator[tuple[crewing.Sources, Mapping[str, Any], Mapping[str, tuple[float, float]]]]:
    """Models that race together with their sources; each framework of a zoo model has a model of its own.

    A zoo model also knows the ranges of its inputs.
    """
    if against is None or isinstance(against, Mapping):
        yield model, against or {}, {}
        return
    names = names_in(against)
    only = model[0] if isinstance(model, list | tuple) and len(model) == 1 else model
    if not isinstance(only, str) or not only.startswith(crewing.ZOO_PREFIX):
        yield model, _converted_from(only, names), {}
        return
    from onnxperf.api.zoo import zoo_model

    for name in names:
        entry = zoo_model(only, name)
        yield {f"{only} {name}": entry.onnx}, entry.subjects(), entry.ranges


def _converted_from(model: crewing.Sources, names: Sequence[str]) -> dict[str, Any]:
    """The source of a model that was converted here, under the name of its framework."""
    known = recall(open_model(model).fingerprint) if isinstance(model, str | Path) else None
    if known is None:
        told = "only a zoo model, or one that onnxperf convert wrote here, knows its source; give FILE.py:function"
        raise BadOption(f"--against {','.join(names)}: {told}")
    if list(names) != [known.framework]:
        raise BadOption.unknown("source of this model", ",".join(names), [known.framework])
    loaded = known.source if Path(known.source).is_dir() else load_source(known.source)
    return {known.framework: loaded[0] if isinstance(loaded, tuple) else loaded}


def _case(
    model: crewing.Sources,
    against: Mapping[str, Any],
    how: tuple[str | Sequence[str], str | Sequence[str], Mapping[str, Any] | None],
    keywords: Mapping[str, Any],
    progress: Progress,
    launch: Launch | None,
) -> Case:
    """One race."""
    call, runtime, feeds = how
    session = with_threads(session_options(keywords))
    asked = race_options(keywords)
    options = visible_options(asked, machines.cpu_model())
    calls = crewing.chosen_calls(names_in(runtime), names_in(call), session)
    entries = crewing.open_entries(model, input_options(keywords), feeds)
    sources = source_callables(against, list(entries[0].feeds.arrays), options.device)
    crews = [
        *crewing.model_crews(entries, calls, session),
        *crewing.function_crews(sources, entries[0].feeds, session, options),
    ]
    crewing.check_names(crews, options.baseline)
    end = run_race(crews, options, progress, bool(sources) or len(calls) > 1, launch)
    tolerances = Tolerances(options.rtol, options.atol, options.match)
    plain = [name for name, source in against.items() if is_plain(source)]
    differing, unlike = compared(end, entries[0].model.label, tolerances, plain)
    notes = (*_notes_on_entries(entries), *_notes_on_race(crews, end, asked, options), *unlike)
    case = replace(
        with_differences(judged_case(end, options), differing),
        model=", ".join(entry.model.label for entry in entries),
        fingerprint={entry.model.label: entry.model.fingerprint for entry in entries},
        dims={name: size for entry in entries for name, size in entry.feeds.dims.items()},
        shapes={name: array.shape for entry in entries for name, array in entry.feeds.arrays.items()},
        notes=notes,
    )
    _refuse_if_nothing_ran(case)
    parts = about_parts(case.subjects, {entry.model.label: cast_text(_types_cast(entry)) for entry in entries})
    return replace(case, answer=f"{case.answer} {parts}".strip())


def run_race(
    crews: Sequence[Crew],
    options: RaceOptions,
    progress: Progress,
    collect: bool = False,
    launch: Launch | None = None,
) -> RaceEnd:
    """Race crews in processes of their own until the comparison is settled; `collect` brings their outputs home."""
    tools = Tools(
        launch=launch or start_of(options),
        settled=partial(settled, baseline=options.baseline, min_effect=options.min_effect, seed=options.seed),
        progress=progress,
        cpus=machines.processors(),
        memory_bytes=int(machines.available_memory() * _MEMORY_SHARE),
        collect=collect,
    )
    return race(crews, options, tools)


def start_of(options: RaceOptions) -> Callable[[Crew], ProcessWorker]:
    """How workers are started, with their limits."""
    return partial(ProcessWorker, timeout_s=options.timeout, memory_limit_bytes=options.memory_limit)


def judged_case(end: RaceEnd, options: RaceOptions) -> Case:
    """What a race says, with its verdicts and its answer."""
    baseline = baseline_of(end.subjects, options.baseline)
    subjects = compare(end.subjects, baseline, options.min_effect, options.seed)
    measured_s = sum(block.duration_ns for subject in subjects for block in subject.blocks) / 1e9
    return Case(
        model="",
        status=_status(subjects),
        baseline=baseline,
        min_effect=options.min_effect,
        interrupted=end.interrupted,
        answer=answer(subjects, baseline, options.min_effect, max(options.time or DEFAULT_TIME_S, measured_s)),
        subjects=subjects,
    )


def with_differences(case: Case, differing: Mapping[str, str]) -> Case:
    """The case with the status `differs` for the subjects named, and why."""
    subjects = tuple(
        replace(subject, status="differs", reason=differing[subject.name])
        if subject.name in differing and subject.status == "ok"
        else subject
        for subject in case.subjects
    )
    return replace(case, subjects=subjects, status=_status(subjects))


def with_threads(session: SessionOptions) -> SessionOptions:
    """The options with the number of threads that will be used."""
    return session if session.threads else replace(session, threads=machines.usable_cores())


def visible_options(options: RaceOptions, cpu: str) -> RaceOptions:
    """The minimum effect that was asked for, but never less than what this machine can show."""
    known = noise.recall(cpu)
    return replace(options, min_effect=max(options.min_effect, known.band if known else 0.0))


def _status(subjects: Sequence[Subject]) -> Any:
    return next((subject.status for subject in subjects if subject.status not in ("ok", "skipped")), "ok")


def _refuse_if_nothing_ran(case: Case) -> None:
    """When every subject refused to start, the request is at fault, not the race."""
    statuses = {subject.status for subject in case.subjects}
    if statuses <= {"failed", "skipped"} and not any(subject.blocks for subject in case.subjects):
        raise BadInput(next(subject.reason for subject in case.subjects))


def _types_cast(entry: crewing.Entry) -> dict[str, tuple[str, str]]:
    """The types that inputs have and get."""
    types = {}
    for name, wanted in entry.casts.items():
        given = entry.feeds.arrays[name].dtype
        types[name] = (given.name if given.isnative else str(given), wanted)  # a name does not tell the byte order
    return types


def _notes_on_entries(entries: Sequence[crewing.Entry]) -> list[str]:
    several = len(entries) > 1
    return [f"{e.model.label}: {note}" if several else note for e in entries for note in e.feeds.notes]


def _notes_on_race(crews: Sequence[Crew], end: RaceEnd, asked: RaceOptions, used: RaceOptions) -> list[str]:
    """Everything that a reader would not expect."""
    threads = crews[0].threads
    notes = [f"every subject may use {threads} thread{'s' if threads > 1 else ''} (--threads changes it)"]
    if any(crew.runtime == "ort" for crew in crews):
        session = next(crew.session for crew in crews if crew.runtime == "ort")
        changed = [f"{threads} intra-op thread{'s' if threads > 1 else ''}", "1 inter-op thread"]
        changed += [f"optimisation level {session.opt_level}"] if session.opt_level != "all" else []
        changed += [f"provider {session.provider}"] if session.provider != "cpu" else []
        changed += [f"{key}={value}" for key, value in session.options.items()]
        notes = [f"set for onnxruntime instead of its defaults: {', '.join(changed)}"]
    if used.min_effect > asked.min_effect:
        raised = f"{100 * asked.min_effect:.3g} % to {100 * used.min_effect:.3g} %"
        notes.append(f"minimum effect raised from {raised}, the noise that onnxperf doctor found on this machine")
    if asked.baseline and baseline_of(end.subjects, asked.baseline) != asked.baseline:
        notes.append(f"the baseline {asked.baseline} was not measured; compared with the first that was")
    if end.batches > 1:
        notes.append(f"raced in {end.batches} batches, each with the baseline: all at once do not fit into memory")
    if any(subject.conditions.get("assume_finite") for subject in end.subjects):
        notes.append("scikit-learn runs with assume_finite=True (check_finite=True turns its checks on)")
    return notes
