"""What trials gave: which helped in time, in CPU time or in memory, all of them judged together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.comparison import ALL_CALLS, Reading, alpha_of, paired
from onnxperf.records.advice import Advice, Goal, Hazard, Trial, TrialOutcome, Tried
from onnxperf.records.base import Status
from onnxperf.records.race import Case, Subject

TIME_SHARE = 0.7
"""Part of the error probability for the speedups of all trials together (Holm)."""
_CPU_SHARE = 0.1
"""That for CPU times. What is left is for memory: that five processes of a trial all need less than five of the
defaults by chance happens in 0.4 %, and there are two such trials."""
MEMORY_PROCESSES = 5
_LEAST_SAVED = 0.05
"""Part of the CPU time or of the memory from which on a saving is a gain."""
_BY_CPU = Reading(lambda block: max((block.cpu_ns or 0) / block.calls, 1e-3), ALL_CALLS.by_unit)
_ORDER: tuple[TrialOutcome, ...] = ("gain", "trade", "undecided", "none", "untried")


class Attempt(NamedTuple):
    """A trial of a hazard, and the subject of the race that tried it; several hazards may share one."""

    hazard: Hazard
    trial: Trial
    subject: str
    problem: str = ""
    """Why it could not be tried."""


def judged_trials(
    attempts: Sequence[Attempt], race: Case | None, needs: Mapping[str, Sequence[int]]
) -> tuple[Tried, ...]:
    """Every trial with what the race says of it; `needs` has bytes of several processes by subject."""
    subjects = {subject.name: subject for subject in race.subjects} if race else {}
    base = subjects.get(race.baseline or "") if race else None
    cpu = _cpu_ratios([subjects[each.subject] for each in attempts if _counts_cpu(each, subjects)], base)
    return tuple(_tried(each, subjects.get(each.subject), base, cpu, needs) for each in attempts)


def best_of(hazard: Hazard, tried: Sequence[Tried]) -> Tried | None:
    """The trial of a hazard that counts: the largest gain, or the nearest to one."""
    own = [each for each in tried if each.hazard == hazard.kind and each.trial in hazard.trials]
    return min(own, key=lambda each: (_ORDER.index(each.outcome), -gain_of(each, hazard.goal)), default=None)


def gain_of(tried: Tried, goal: Goal) -> float:
    """How many times better it is than the defaults, in what it gained."""
    if gained_in(tried, goal) == "time":
        return tried.speedup or 0.0
    ratio = tried.cpu_ratio if goal == "cpu" else tried.memory_ratio
    return 1 / ratio if ratio else 0.0


def gained_in(tried: Tried, goal: Goal) -> Goal:
    """A trial that is faster gained time, whatever its hazard costs."""
    return "time" if tried.verdict == "faster" else goal


def best_rewrite(tried: Sequence[Tried]) -> Trial | None:
    """The rewrite that makes the model fastest; None where none helps."""
    gains = [each for each in tried if each.trial.rewrite and each.outcome == "gain"]
    best = max(gains, key=lambda each: each.speedup or 0.0, default=None)
    return best.trial if best else None


def ranked(record: Advice) -> Advice:
    """Hazards with the largest gain first: time, then CPU time and memory, then trades, and what did not help."""

    def place(hazard: Hazard) -> tuple[int, bool, float, float]:
        best = best_of(hazard, record.tried)
        if best is None:
            return len(_ORDER), False, 0.0, -(hazard.share or 0.0)
        helps = best.outcome in ("gain", "trade")
        gain = gain_of(best, hazard.goal) if helps else 0.0
        return _ORDER.index(best.outcome), gained_in(best, hazard.goal) != "time", -gain, -(hazard.share or 0.0)

    hazards = tuple(sorted(record.hazards, key=place))
    kinds = [each.kind for each in hazards]
    tried = sorted(record.tried, key=lambda each: (kinds.index(each.hazard), _ORDER.index(each.outcome)))
    return replace(record, hazards=hazards, tried=tuple(tried))


# ---------------------------------------------------------------- one trial


def _counts_cpu(attempt: Attempt, subjects: Mapping[str, Subject]) -> bool:
    return attempt.hazard.goal == "cpu" and attempt.subject in subjects


def _tried(
    attempt: Attempt,
    subject: Subject | None,
    base: Subject | None,
    cpu: Mapping[str, tuple[float, float]],
    needs: Mapping[str, Sequence[int]],
) -> Tried:
    if subject is None:
        status: Status = "failed" if attempt.problem else "pending"
        return Tried(hazard=attempt.hazard.kind, trial=attempt.trial, status=status, reason=attempt.problem)
    memory = _memory(needs.get(subject.name, ()), needs.get(base.name, ()) if base else ())
    cpu_ratio = subject.cpu_ns / base.cpu_ns if base is not None and base.cpu_ns and subject.cpu_ns else None
    cpu_low, cpu_high = cpu.get(subject.name, (None, None)) if attempt.hazard.goal == "cpu" else (None, None)
    found = Tried(
        hazard=attempt.hazard.kind,
        trial=attempt.trial,
        status=subject.status,
        reason=subject.reason,
        speedup=subject.speedup,
        speedup_low=subject.speedup_low,
        speedup_high=subject.speedup_high,
        cpu_ratio=cpu_ratio,
        cpu_low=cpu_low,
        cpu_high=cpu_high,
        memory_ratio=memory[0] if memory else None,
        memory_low=memory[1] if memory else None,
        memory_high=memory[2] if memory else None,
        verdict=subject.verdict,
    )
    return replace(found, outcome=_outcome(found, attempt.hazard.goal))


def _outcome(tried: Tried, goal: Goal) -> TrialOutcome:
    if tried.status != "ok" or tried.verdict in (None, "baseline"):
        return "untried"
    if tried.verdict == "faster":
        return "gain"
    ratios = {"time": (None, None), "cpu": (tried.cpu_ratio, tried.cpu_high)}
    ratio, high = ratios.get(goal, (tried.memory_ratio, tried.memory_high))
    if ratio is not None and high is not None and high < 1 and ratio <= 1 - _LEAST_SAVED:
        return "trade" if tried.verdict == "slower" else "gain"
    is_open = tried.verdict == "undecided" and (tried.speedup_high is None or tried.speedup_high > 1)
    return "undecided" if is_open else "none"


def _cpu_ratios(subjects: Sequence[Subject], base: Subject | None) -> dict[str, tuple[float, float]]:
    """Intervals of the CPU time of subjects / that of the baseline, by launches, at the levels of Holm's procedure."""
    if base is None or any(block.cpu_ns is None for each in (base, *subjects) for block in each.blocks):
        return {}
    different = {each.name: each for each in subjects}
    estimates: dict[str, st.Estimate] = {}
    for name, subject in different.items():
        rounds = paired(subject, base, _BY_CPU)
        if rounds.values.size and rounds.evidence.carries_estimate:
            estimates[name] = st.trimmed_mean(_BY_CPU.by_unit(rounds))
    alphas = [_CPU_SHARE * alpha_of(different[name]) for name in estimates]
    levels = st.holm_levels([each.p_value for each in estimates.values()], alphas)
    found = {}
    for (name, estimate), level in zip(estimates.items(), levels, strict=True):
        low, high = estimate.interval(level)  # logs of baseline / subject
        found[name] = (math.exp(-high), math.exp(-low))
    return found


def _memory(ours: Sequence[int], theirs: Sequence[int]) -> tuple[float, float, float] | None:
    """Ratio of medians, and how far all processes of one side are from all of the other."""
    if not ours or not theirs:
        return None
    return (
        max(median(ours), 1) / max(median(theirs), 1),
        max(min(ours), 1) / max(*theirs, 1),
        max(*ours, 1) / max(min(theirs), 1),
    )
