"""How subjects are raced and judged, for every public function that races."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from msgspec.structs import replace

from onnxperf.analyze.answers.pace import about_cpu, notes_on_pace
from onnxperf.analyze.answers.race import answer, before_the_race, note_on_others
from onnxperf.analyze.judges.comparison import baseline_of, compare, rounds_to_units, settled
from onnxperf.analyze.judges.gate import all_told
from onnxperf.analyze.judges.instructions import with_counts_compared
from onnxperf.analyze.judges.reasons import beyond
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import load, noise
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.plan import DEFAULT_TIME_S, Plan
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.race import Progress, RaceEnd, Settled, Tools, race
from onnxperf.measure.worker_group import Launch
from onnxperf.records.base import Status
from onnxperf.records.options import RaceOptions, WorkerLimits
from onnxperf.records.race import MIN_ROUNDS, Case, Subject

_MEMORY_SHARE = 0.8
"""Part of the free memory that workers may fill together."""


def run_race(
    specs: Sequence[WorkerSpec],
    options: RaceOptions,
    launch: Launch,
    progress: Progress,
    collect: bool = False,
    enough: Settled | None = None,
) -> RaceEnd:
    """Race specs in processes of their own until the comparison is settled; `collect` brings their outputs home.

    `enough` decides instead of the usual judge whether it is settled.
    """
    judge = settled if options.max_slowdown is None else partial(all_told, max_slowdown=options.max_slowdown)
    usual = partial(judge, baseline=options.baseline, min_effect=options.min_effect, alpha_share=options.alpha_share)
    tools = Tools(
        launch=launch,
        settled=enough or usual,
        noise=partial(rounds_to_units, baseline=options.baseline),
        progress=progress,
        cpus=machines.processors(),
        memory_bytes=memory_for_workers(),
        collect=collect,
        warn=_warning,
        others=load.SinceBefore(),
    )
    before = load.snapshot()
    end = race(specs, options, tools)
    return replace(end, others=load.share_of_others(before, load.snapshot()))


def memory_for_workers() -> int:
    """Bytes that workers may fill together now."""
    return int(machines.available_memory() * _MEMORY_SHARE)


def _warning(plan: Plan) -> str:
    rounds = plan.rounds
    return before_the_race(rounds, plan.needed, plan.seconds_for(rounds), plan.seconds_for(MIN_ROUNDS))


def start_of(limits: WorkerLimits) -> Callable[[WorkerSpec], ProcessWorker]:
    """How workers are started, with their limits."""
    return partial(ProcessWorker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)


def judged_case(end: RaceEnd, options: RaceOptions, differing: Mapping[str, str] = MappingProxyType({})) -> Case:
    """A race with its verdicts and its answer; subjects in `differing` have other outputs, for the reason given."""
    baseline = baseline_of(end.subjects, options.baseline)
    measured = [
        replace(subject, status="differs", reason=differing[subject.name])
        if subject.name in differing and subject.status == "ok"
        else subject
        for subject in end.subjects
    ]
    judged = compare(measured, baseline, options.min_effect, options.alpha_share)
    used_s = options.time or DEFAULT_TIME_S
    longer = [replace(each, reason=beyond(each.reason, used_s)) for each in judged]
    subjects = with_counts_compared(longer, baseline)
    return Case(
        model="",
        status=_status(subjects),
        baseline=baseline,
        min_effect=options.min_effect,
        interrupted=end.interrupted,
        answer=" ".join(filter(None, [answer(subjects, baseline, options.min_effect), about_cpu(subjects)])),
        notes=(*notes_on_pace(subjects), *note_on_others(end.others)),
        subjects=subjects,
    )


def visible_options(options: RaceOptions, cpu: str) -> RaceOptions:
    """The requested minimum effect, but never less than what this machine can show."""
    known = noise.recall(cpu)
    return replace(options, min_effect=max(options.min_effect, known.band if known else 0.0))


def _status(subjects: Sequence[Subject]) -> Status:
    return next((subject.status for subject in subjects if subject.status not in ("ok", "skipped")), "ok")
