"""`onnxperf.bench`: race models, call styles, runtimes and callables against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from msgspec.structs import replace

from onnxperf.analyze.advice import answer
from onnxperf.analyze.comparison import baseline_of, compare, settled
from onnxperf.api import crews as crewing
from onnxperf.api.options import (
    BenchKeywords,
    check_keywords,
    input_options,
    names_in,
    race_options,
    session_options,
)
from onnxperf.errors import BadInput
from onnxperf.measure import machine as machines
from onnxperf.measure import noise
from onnxperf.measure.messages import Crew
from onnxperf.measure.plan import DEFAULT_TIME_S
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.race import Progress, RaceEnd, Tools, race
from onnxperf.records import Bench, Case, RaceOptions, SessionOptions, Subject
from onnxperf.results.bench import BenchResult

_MEMORY_SHARE = 0.8
"""Part of the free memory that workers may fill together."""


def bench(
    model: crewing.Sources,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] = "ort",
    feeds: Mapping[str, Any] | None = None,
    against: Mapping[str, Callable[..., Any]] | None = None,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[BenchKeywords],
) -> BenchResult:
    """Time a model, or race several ways of running it; Ctrl-C returns what was measured until then.

    `model` is a path, bytes or a ModelProto, or a list or dict of them. `against` adds callables, which are called
    with the feeds as positional arguments in the order of the model's inputs, each in a process of its own.
    """
    check_keywords(keywords, BenchKeywords)
    machine = machines.describe_machine()
    session = with_threads(session_options(keywords))
    asked = race_options(keywords)
    options = visible_options(asked, machine.cpu)
    calls = crewing.chosen_calls(names_in(runtime), names_in(call), session)
    entries = crewing.open_entries(model, input_options(keywords), feeds)
    crews = [
        *crewing.model_crews(entries, calls, session),
        *crewing.function_crews(against or {}, entries[0].feeds, session, options),
    ]
    crewing.check_names(crews, options.baseline)
    end = run_race(crews, options, progress)
    notes = (*_notes_on_entries(entries), *_notes_on_race(crews, end, asked, options))
    case = replace(
        judged_case(end, options),
        model=", ".join(entry.model.label for entry in entries),
        fingerprint={entry.model.label: entry.model.fingerprint for entry in entries},
        dims={name: size for entry in entries for name, size in entry.feeds.dims.items()},
        shapes={name: array.shape for entry in entries for name, array in entry.feeds.arrays.items()},
        notes=notes,
    )
    _refuse_if_nothing_ran(case)
    return BenchResult(Bench(machine=machines.after_the_race(machine), command="onnxperf.bench", cases=(case,)))


def run_race(crews: Sequence[Crew], options: RaceOptions, progress: Progress) -> RaceEnd:
    """Race crews in processes of their own until the comparison is settled."""
    tools = Tools(
        launch=partial(ProcessWorker, timeout_s=options.timeout),
        settled=partial(settled, baseline=options.baseline, min_effect=options.min_effect, seed=options.seed),
        progress=progress,
        cpus=machines.processors(),
        memory_bytes=int(machines.available_memory() * _MEMORY_SHARE),
    )
    return race(crews, options, tools)


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
