"""Results of remedies: which ones improve time, CPU time or memory, judged together."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.comparison import alpha_of
from onnxperf.analyze.judges.pairing import ALL_CALLS, Reading, paired, reading_of
from onnxperf.analyze.judges.weighing import weighed
from onnxperf.records.advice import FASTER, Advice, Goal, Hazard, Trial, TrialOutcome, Tried
from onnxperf.records.base import Status
from onnxperf.records.comparison import Comparison
from onnxperf.records.race import Case, Subject

TIME_SHARE = 0.7
"""Share of the error probability for the speedups of all candidates (Holm)."""
_CPU_SHARE = 0.1
"""Share for CPU times. The rest is for memory, for which there are two candidates."""
_LEAST_SAVED = 0.05
"""Share of the CPU time or memory from which a saving counts as a gain."""
SCREENING = 0.35
"""Share of the time for a first race of all candidates, which drops hopeless ones."""
_FEWEST_UNITS = 3
"""Minimum number of launches (or rounds, if there are fewer launches) that must all agree to drop a candidate."""
_MANY_UNITS = 6
"""From this number on, a majority is enough."""
_NO_TIME = "there was no time left for a longer race; increase `time`"
_NOT_REPEATED = "more than the share of the hazard allows, and the race was not repeated"
_BY_CPU = Reading(lambda block: max((block.cpu_ns or 0) / block.calls, 1e-3), ALL_CALLS.by_unit)
_ORDER: tuple[TrialOutcome, ...] = ("gain", "unexplained", "trade", "undecided", "none", "untried")


class Attempt(NamedTuple):
    """A candidate remedy of a hazard and its subject in the race; several hazards may share one."""

    hazard: Hazard
    trial: Trial
    subject: str
    problem: str = ""
    """Why it could not be tested."""


def judged_trials(
    attempts: Sequence[Attempt], race: Case | None, needs: Mapping[str, Sequence[int]], screening: Case | None = None
) -> tuple[Tried, ...]:
    """Judge every candidate; `needs` contains bytes of several processes by subject.

    Only the final race can claim a gain. Candidates dropped by the screening, or without time for the race, keep their
    screening results. Since selection and proof use different launches, selection does not bias the gain.
    """
    subjects = _subjects(race)
    base = subjects.get(race.baseline or "") if race else None
    cpu = _cpu_ratios([subjects[each.subject] for each in attempts if _counts_cpu(each, subjects)], base)
    return tuple(
        _screened(each, screening)
        if screening is not None and _is_unknown(subjects.get(each.subject))
        else _tried(each, subjects.get(each.subject), base, cpu, needs, screening is not None)
        for each in attempts
    )


def _subjects(race: Case | None) -> dict[str, Subject]:
    return {subject.name: subject for subject in race.subjects} if race else {}


def _is_unknown(subject: Subject | None) -> bool:
    return subject is None or (subject.status == "ok" and subject.speedup is None)


# ---------------------------------------------------------------- gains that are too large


def is_beyond_share(tried: Tried, share: float | None) -> bool:
    """Whether it is faster, including its interval, than removing this share of the time would allow (Amdahl)."""
    least = tried.speedup if tried.speedup_low is None else tried.speedup_low
    return tried.verdict == "faster" and share is not None and least is not None and least * (1 - share) > 1


def to_repeat(attempts: Sequence[Attempt], tried: Sequence[Tried]) -> list[str]:
    """Subjects with a gain larger than the share of a hazard allows; they race again before it is reported."""
    doubted = [
        attempt.subject
        for attempt, each in zip(attempts, tried, strict=True)
        if each.outcome == "gain" and is_beyond_share(each, attempt.hazard.share)
    ]
    return list(dict.fromkeys(doubted))


def with_repeat(attempts: Sequence[Attempt], tried: Sequence[Tried], repeat: Case | None) -> tuple[Tried, ...]:
    """Candidates, with doubted gains replaced by the results of their second race, which alone count."""
    doubted = to_repeat(attempts, tried)
    return tuple(
        _repeated(attempt, each, repeat) if attempt.subject in doubted else each
        for attempt, each in zip(attempts, tried, strict=True)
    )


def _repeated(attempt: Attempt, tried: Tried, repeat: Case | None) -> Tried:
    subjects = _subjects(repeat)
    subject, base = subjects.get(attempt.subject), subjects.get(repeat.baseline or "") if repeat else None
    if subject is None or (subject.status == "ok" and subject.speedup is None):
        return replace(tried, outcome="undecided", verdict="undecided", reason=_NOT_REPEATED)
    judged = _cpu_ratios([subject], base) if attempt.hazard.goal == "cpu" else {}
    found = _with_cpu(_with_speedup(tried, subject, SCREENING), _cpu_of(subject, base, judged))
    found = replace(found, outcome=_outcome(found, attempt.hazard.goal))
    explained = found.outcome != "gain" or not is_beyond_share(found, attempt.hazard.share)
    return found if explained else replace(found, outcome="unexplained")


# ---------------------------------------------------------------- screening


def finalists(screening: Case, attempts: Sequence[Attempt], most: int) -> list[str]:
    """Subjects worth a longer race, most promising first; others only if there is room for them.

    Remedies for CPU time or memory may be slower, so they are not dropped because of their speed.
    """
    subjects = _subjects(screening)
    base = subjects.get(screening.baseline or "")
    spared = {each.subject for each in attempts if each.hazard.goal != "time"}
    fine = [
        each for each in screening.subjects if each.status == "ok" and each is not base and each.speedup is not None
    ]
    if base is None:
        return []
    alive = {each.name: _promise(each, base) for each in fine if not why_dropped(each, base, screening.min_effect)}
    order = sorted(alive, key=lambda name: -alive[name])
    return [*order, *(each.name for each in fine if each.name in spared and each.name not in alive)][:most]


def why_dropped(subject: Subject, base: Subject, min_effect: float) -> str:
    """Why a candidate is not worth a longer race; empty if it is."""
    logs, unit = _units(subject, base)
    if len(logs) < _FEWEST_UNITS:
        return ""
    if max(logs) < 0:
        return f"slower in every {_ONE[unit]}: dropped after screening"
    if max(logs) < math.log1p(min_effect):
        return f"no gain in any {_ONE[unit]}: dropped after screening"
    if len(logs) >= _MANY_UNITS and median(logs) < 0:
        return f"slower in most {_PLURALS[unit]}: dropped after screening"
    return ""


_ONE = {"launch": "launch", "set-up": "session", "round": "round"}
_PLURALS = {"launch": "launches", "set-up": "sessions", "round": "rounds"}


def _units(subject: Subject, base: Subject) -> tuple[list[float], str]:
    """Log-speedups of launches or set-ups (of rounds if there are too few of these), and the name of the unit."""
    reading = reading_of((base, subject))
    rounds = paired(subject, base, reading)
    if rounds.evidence.units < _FEWEST_UNITS:
        return rounds.values.tolist(), "round"
    return reading.by_unit(rounds).tolist(), rounds.evidence.unit


def _promise(subject: Subject, base: Subject) -> float:
    """Median of its units, minus their median deviation if there are enough: inconsistent ratios count less."""
    logs, _ = _units(subject, base)
    middle = median(logs)
    return middle - (median(abs(each - middle) for each in logs) if len(logs) >= _MANY_UNITS else 0.0)


def _screened(attempt: Attempt, screening: Case) -> Tried:
    """A candidate that did not take part in the final race."""
    subjects = _subjects(screening)
    subject, base = subjects.get(attempt.subject), subjects.get(screening.baseline or "")
    found = _tried(attempt, subject, base, {}, {})
    if subject is None or base is None or subject.status != "ok" or subject.speedup is None:
        return found
    why = why_dropped(subject, base, screening.min_effect)
    return replace(found, outcome="none" if why else "undecided", reason=why or _NO_TIME)


def best_of(hazard: Hazard, tried: Sequence[Tried]) -> Tried | None:
    """The candidate that counts for a hazard: the largest gain, or the nearest to one."""
    own = [each for each in tried if each.hazard == hazard.kind and each.trial in hazard.trials]
    return min(own, key=lambda each: (_ORDER.index(each.outcome), -gain_of(each, hazard.goal)), default=None)


def gain_of(tried: Tried, goal: Goal) -> float:
    """Improvement factor over the defaults, in the resource it improves."""
    if gained_in(tried, goal) == "time":
        return tried.speedup or 0.0
    ratio = tried.cpu_ratio if goal == "cpu" else tried.memory_ratio
    return 1 / ratio if ratio else 0.0


def gained_in(tried: Tried, goal: Goal) -> Goal:
    """Resource improved by a candidate: time if it is faster, else the goal of its hazard."""
    return "time" if tried.verdict == "faster" else goal


def best_rewrite(tried: Sequence[Tried]) -> Trial | None:
    """The rewrite with the largest gain; None if none helps."""
    gains = [each for each in tried if each.trial.rewrite and each.outcome in FASTER]
    best = max(gains, key=lambda each: each.speedup or 0.0, default=None)
    return best.trial if best else None


def ranked(record: Advice) -> Advice:
    """Hazards with the largest gain first: time, then CPU time and memory, then trades, then those without a gain."""

    def place(hazard: Hazard) -> tuple[int, bool, float, float]:
        best = best_of(hazard, record.tried)
        if best is None:
            return len(_ORDER), False, 0.0, -(hazard.share or 0.0)
        helps = best.outcome in (*FASTER, "trade")
        gain = gain_of(best, hazard.goal) if helps else 0.0
        return _ORDER.index(best.outcome), gained_in(best, hazard.goal) != "time", -gain, -(hazard.share or 0.0)

    hazards = tuple(sorted(record.hazards, key=place))
    kinds = [each.kind for each in hazards]
    tried = sorted(record.tried, key=lambda each: (kinds.index(each.hazard), _ORDER.index(each.outcome)))
    return replace(record, hazards=hazards, tried=tuple(tried))


# ---------------------------------------------------------------- one candidate


def _counts_cpu(attempt: Attempt, subjects: Mapping[str, Subject]) -> bool:
    return attempt.hazard.goal == "cpu" and attempt.subject in subjects


def _tried(
    attempt: Attempt,
    subject: Subject | None,
    base: Subject | None,
    cpu: Mapping[str, Comparison],
    needs: Mapping[str, Sequence[int]],
    was_screened: bool = False,
) -> Tried:
    if subject is None:
        status: Status = "failed" if attempt.problem else "pending"
        return Tried(hazard=attempt.hazard.kind, trial=attempt.trial, status=status, reason=attempt.problem)
    least = 1 / (1 - _LEAST_SAVED) - 1
    memory = weighed(needs.get(base.name, ()) if base else (), needs.get(subject.name, ()), least).inverse()
    found = Tried(
        hazard=attempt.hazard.kind,
        trial=attempt.trial,
        status=subject.status,
        memory_ratio=memory.ratio,
        memory_low=memory.low,
        memory_high=memory.high,
    )
    found = _with_speedup(found, subject, 1 - SCREENING if was_screened else 1.0)
    found = _with_cpu(found, _cpu_of(subject, base, cpu if attempt.hazard.goal == "cpu" else {}))
    return replace(found, outcome=_outcome(found, attempt.hazard.goal))


def _with_speedup(tried: Tried, subject: Subject, part: float) -> Tried:
    """A candidate with the result of its subject in a race that had this share of the time."""
    found = Comparison.spelled(subject, "speedup")
    reason = _of_whole_time(found.reason, part)
    return replace(tried, status=subject.status, reason=reason, verdict=found.verdict, **found.named("speedup"))


def _with_cpu(tried: Tried, usage: Comparison) -> Tried:
    return replace(tried, cpu_ratio=usage.ratio, cpu_low=usage.low, cpu_high=usage.high)


def _of_whole_time(reason: str, part: float) -> str:
    """Scale the proposed time in a reason to the total time, of which a race gets a share."""
    whole = lambda found: f"`time={math.ceil(int(found[1]) / part)}`"  # noqa: E731
    return re.sub(r"`time=(\d+)`", whole, reason)


def _saves(tried: Tried, goal: Goal) -> bool:
    """Whether it saves CPU time or memory, if that is the goal."""
    ends = {"cpu": (tried.cpu_ratio, tried.cpu_high), "memory": (tried.memory_ratio, tried.memory_high)}
    ratio, high = ends.get(goal, (None, None))
    return ratio is not None and high is not None and high < 1 and ratio <= 1 - _LEAST_SAVED


def _outcome(tried: Tried, goal: Goal) -> TrialOutcome:
    if tried.status != "ok" or tried.verdict in (None, "baseline"):
        return "untried"
    if tried.verdict == "faster":
        return "gain"
    if _saves(tried, goal):
        return "trade" if tried.verdict == "slower" else "gain"
    is_open = tried.verdict == "undecided" and (tried.speedup_high is None or tried.speedup_high > 1)
    return "undecided" if is_open else "none"


def _cpu_of(subject: Subject, base: Subject | None, judged: Mapping[str, Comparison]) -> Comparison:
    """CPU time / CPU time of the baseline: as judged, or without an interval."""
    if base is None or not base.cpu_ns or not subject.cpu_ns:
        return Comparison()
    return judged.get(subject.name) or Comparison(ratio=subject.cpu_ns / base.cpu_ns)


def _cpu_ratios(subjects: Sequence[Subject], base: Subject | None) -> dict[str, Comparison]:
    """CPU times of subjects / that of the baseline, over launches, at the levels of Holm's procedure."""
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
        low, high = map(math.exp, estimate.interval(level))  # baseline / subject
        found[name] = Comparison(ratio=math.exp(estimate.value), low=low, high=high).inverse()
    return found
