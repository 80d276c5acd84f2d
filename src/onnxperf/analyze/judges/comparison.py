"""From measurements to times, speedups and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES, Evidence, what_is_missing
from onnxperf.analyze.judges.throughput import with_rates
from onnxperf.analyze.judges.times import numbered, timed
from onnxperf.records.comparison import Unit, Verdict
from onnxperf.records.race import BENCH_VERSION, LARGE_CLAIM, SMALL_CLAIM, Bench, Block, Case, Measurement, Subject

R = TypeVar("R", bound=Struct)

PRECISE = 0.05
"""A race goes on while an interval reaches further than this from its middle, even if its verdict is clear."""


def baseline_of(subjects: Sequence[Measurement], wanted: str | None) -> str | None:
    """The subject that was requested, else the first; if it was never measured, the first that was."""
    measured = [subject.name for subject in subjects if subject.blocks]
    return wanted if wanted in measured else next(iter(measured), None)


def settled(subjects: Sequence[Measurement], baseline: str | None, min_effect: float, alpha_share: float = 1.0) -> bool:
    """Is there nothing left to find out about these subjects?"""
    measured = [subject for subject in subjects if subject.status == "ok"]
    if len(measured) == 1:
        return _is_precise(measured[0], min_effect)
    judged = compare(subjects, baseline_of(subjects, baseline), min_effect, alpha_share)
    sound = [subject for subject in judged if subject.status == "ok"]
    return all(map(_is_settled, sound))


def _is_settled(subject: Subject) -> bool:
    if subject.verdict in (None, "undecided", "baseline"):
        return subject.verdict == "baseline"
    if subject.speedup_low is None or subject.speedup_high is None:
        return False  # decided, but by how much? The next set-up shows it.
    return subject.speedup_high / subject.speedup_low < (1 + PRECISE) ** 2


def compare(
    subjects: Sequence[Measurement], baseline: str | None, min_effect: float, alpha_share: float = 1.0
) -> tuple[Subject, ...]:
    """The measurements with their times, speedups and verdicts, which may use this part of the error probability."""
    base = next((subject for subject in subjects if subject.name == baseline), None)
    rivals = [s for s in subjects if base is not None and s is not base and paired(s, base).values.size]
    judgements = _judge(rivals, base, min_effect, alpha_share) if base is not None else {}
    return tuple(_concluded(subject, subject is base, judgements.get(subject.name)) for subject in subjects)


def with_times_of_today(record: R) -> R:
    """A record that was kept before, with the times of its races as they are read from blocks and calls today."""
    if isinstance(record, Bench):
        return replace(record, cases=tuple(map(measured_again, record.cases)), version=BENCH_VERSION)
    race = getattr(record, "race", None)
    return replace(record, race=measured_again(race)) if isinstance(race, Case) else record


def measured_again(case: Case) -> Case:
    """A case that was kept before, with times and intervals as they are read from blocks and calls today.

    Verdicts stay what they were when they were given.
    """
    base = next((subject for subject in case.subjects if subject.name == case.baseline), None)
    return with_rates(replace(case, subjects=tuple(_measured_again(subject, base) for subject in case.subjects)))


def _measured_again(subject: Subject, base: Subject | None) -> Subject:
    again = timed(subject)
    if base is None or subject is base or paired(subject, base).evidence.carries_interval:
        return again
    return replace(again, speedup_low=None, speedup_high=None)


def estimate_against(subject: Measurement, base: Measurement) -> st.Estimate | None:
    """The log-speedup of a subject with its error, from which its interval comes; None where units are too few."""
    reading = reading_of((base, subject))
    both = paired(subject, base, reading)
    return _test_of(both, reading, 0.0).estimate if both.values.size else None


class Rounds(NamedTuple):
    """The rounds that a subject shares with the baseline."""

    ours: st.Floats
    """Time of a call of the subject in each round."""
    theirs: st.Floats
    """That of the baseline."""
    units: st.Ints
    """Which launch or set-up each round belongs to, from 0."""
    evidence: Evidence

    @property
    def values(self) -> st.Floats:
        """Log-ratio of each round; above 0 is faster."""
        return np.asarray(np.log(self.theirs / self.ours), dtype=np.float64)


class Reading(NamedTuple):
    """How blocks are read: the time of each, and the log-ratio that all blocks of a unit give together."""

    time_of: Callable[[Block], float]
    by_unit: Callable[[Rounds], st.Floats]


def _matched(rounds: Rounds) -> st.Floats:
    ours, theirs, quickest = rounds.ours, rounds.theirs, (float(rounds.ours.min()), float(rounds.theirs.min()))
    of_units = [rounds.units == unit for unit in range(int(rounds.units.max()) + 1)]
    return np.array([st.matching_shift(ours[own], theirs[own], quickest) for own in of_units], dtype=np.float64)


ALL_CALLS = Reading(lambda block: block.per_call_ns, lambda rounds: st.by_unit(np.median, rounds.values, rounds.units))
"""Whole blocks, paired by round."""
QUICKEST = Reading(lambda block: max(block.quickest_ns or 0.0, 1e-3), _matched)
"""The quickest piece of every block; those of a unit are matched with each other.

Other programs, and other guests of the host, only ever slow down: while they make blocks differ by 10 %, and rounds by
as much, matched pieces of a launch differ by half a percent.
"""


def reading_of(subjects: Iterable[Measurement]) -> Reading:
    """By quickest pieces, unless a subject was measured before these were timed."""
    has_pieces = all(block.quickest_ns is not None for subject in subjects for block in subject.blocks)
    return QUICKEST if has_pieces else ALL_CALLS


def paired(subject: Measurement, base: Measurement, reading: Reading = ALL_CALLS) -> Rounds:
    """The rounds that both have: launches are their units, or set-ups where launches are few."""
    theirs = {block.round: block for block in base.blocks}
    both = [(block, theirs[block.round]) for block in subject.blocks if block.round in theirs]
    launches = numbered([(a.launch, b.launch) for a, b in both])
    set_ups = numbered([(a.launch, a.set_up, b.launch, b.set_up) for a, b in both])
    starts = [block.start_ns for _, block in both]  # of the baseline, so that all of its rivals have the same pace
    span_s = (max(starts) - min(starts)) / 1e9 if starts else 0.0
    evidence = Evidence(len(both), len(np.unique(launches)), len(np.unique(set_ups)), span_s)
    return Rounds(
        np.array([reading.time_of(block) for block, _ in both], dtype=np.float64),
        np.array([reading.time_of(block) for _, block in both], dtype=np.float64),
        launches if evidence.unit == "launch" else set_ups,
        evidence,
    )


# ---------------------------------------------------------------- verdicts


class _Test(NamedTuple):
    """How likely data as clear as these are without a difference, and the estimate where units carry one."""

    p_value: float
    estimate: st.Estimate | None


class _Judgement(NamedTuple):
    log_speedup: float
    bounds: tuple[float, float] | None
    verdict: Verdict
    reason: str
    unit: Unit
    units: int


def _judge(
    rivals: Sequence[Measurement], base: Measurement, min_effect: float, alpha_share: float
) -> dict[str, _Judgement]:
    """Compare all rivals with the baseline at once, so that many raise no more false alarms than one (Holm)."""
    reading = reading_of((base, *rivals))
    pairs = [paired(subject, base, reading) for subject in rivals]
    tests = [_test_of(each, reading, min_effect) for each in pairs]
    levels = st.holm_levels([test.p_value for test in tests], [alpha_share * alpha_of(subject) for subject in rivals])
    found = {
        subject.name: _judgement(each, test, level, min_effect)
        for subject, each, test, level in zip(rivals, pairs, tests, levels, strict=True)
    }
    if reading is not ALL_CALLS:
        for subject, level in zip(rivals, levels, strict=True):
            whole = paired(subject, base)
            of_all = _judgement(whole, _test_of(whole, ALL_CALLS, min_effect), level, min_effect)
            found[subject.name] = _unless_contradicted(found[subject.name], of_all.verdict)
    return found


def _unless_contradicted(found: _Judgement, of_all_calls: Verdict) -> _Judgement:
    """No verdict where whole blocks have another one: then calls of a subject differ by themselves, not by chance."""
    if "undecided" in (found.verdict, of_all_calls) or found.verdict == of_all_calls:
        return found
    differ = f"by its quickest calls it is {found.verdict}, by all calls {of_all_calls}"
    return found._replace(verdict="undecided", reason=f"{differ}: its times vary too much; look at its percentiles")


def _test_of(pairs: Rounds, reading: Reading, min_effect: float) -> _Test:
    """Enough units: Student's test of their trimmed mean. Fewer: do all rounds agree in a large difference?"""
    if pairs.evidence.carries_estimate:
        estimate = st.trimmed_mean(reading.by_unit(pairs))
        return _Test(estimate.p_value, estimate)
    return _Test(st.sign_test(pairs.values, math.log1p(max(LARGE_CLAIM, min_effect))), None)


def _judgement(pairs: Rounds, test: _Test, level: float, min_effect: float) -> _Judgement:
    evidence = pairs.evidence
    bounds: tuple[float, float] | None = None
    verdict: Verdict = "undecided"
    unit: Unit = "round"
    units = evidence.rounds
    if test.estimate is not None:
        unit, units = evidence.unit, evidence.units
        estimate, bounds = test.estimate.value, test.estimate.interval(level)
        verdict = verdict_of(estimate, bounds, min_effect, evidence.launches)
    else:
        estimate = float(np.median(pairs.values))
        if evidence.carries_interval:
            bounds = st.range_of(pairs.values, level)
        if test.p_value <= level:
            verdict = "faster" if estimate > 0 else "slower"
    reason = what_is_missing(evidence, bounds, min_effect) if verdict == "undecided" else ""
    return _Judgement(estimate, bounds, verdict, reason, unit, units)


def verdict_of(estimate: float, bounds: tuple[float, float], min_effect: float, launches: int) -> Verdict:
    """Turn an interval of the log-speedup into a word."""
    band, (low, high) = math.log1p(min_effect), bounds
    verdict: Verdict = "undecided"
    if -band < low and high < band:
        verdict = "equivalent"
    elif (low > 0 or high < 0) and abs(estimate) >= band:
        verdict = "faster" if low > 0 else "slower"
    claim = band if verdict == "equivalent" else abs(estimate)
    return "undecided" if claim < math.log1p(SMALL_CLAIM) and launches < MIN_LAUNCHES else verdict


def _concluded(subject: Measurement, is_base: bool, judgement: _Judgement | None) -> Subject:
    measured = {field: getattr(subject, field) for field in Measurement.__struct_fields__}
    summary = timed(Subject(**measured))
    if is_base and subject.blocks:
        return replace(summary, speedup=1.0, verdict="baseline")
    if judgement is None:
        return summary
    low, high = map(math.exp, judgement.bounds) if judgement.bounds else (None, None)
    return replace(
        summary,
        speedup=math.exp(judgement.log_speedup),
        speedup_low=low,
        speedup_high=high,
        verdict=judgement.verdict,
        reason=subject.reason or judgement.reason,
        unit=judgement.unit if judgement.bounds else None,
        units=judgement.units if judgement.bounds else None,
    )


def alpha_of(subject: Measurement) -> float:
    """The part of the error probability that the looks at a subject have spent."""
    return st.spend_alpha(max(1, subject.looks_planned))[max(1, subject.looks) - 1]


def _is_precise(subject: Measurement, min_effect: float) -> bool:
    """A subject that runs alone is known well enough when its time is, to less than the minimum effect."""
    rounds = paired(subject, subject)
    if not rounds.evidence.carries_estimate:
        return False
    times = st.by_unit(np.median, np.log(rounds.ours), rounds.units)
    low, high = st.trimmed_mean(times).interval(alpha_of(subject))
    return high - low < 2 * math.log1p(min_effect)


def rounds_to_units(subjects: Sequence[Measurement], baseline: str | None) -> float | None:
    """How much the rounds of a unit differ, compared with how much units do; of several rivals, the one in the middle.

    None where it is not known.
    """
    base = next((subject for subject in subjects if subject.name == baseline_of(subjects, baseline)), None)
    measured = [each for each in subjects if each.blocks]
    reading = reading_of(measured)
    rivals = [paired(each, base, reading) for each in measured if base is not None and each is not base]
    found = [_ratio_of_spreads(each, reading) for each in rivals if each.evidence.units > 1]
    return float(np.median(found)) if found else None


def _ratio_of_spreads(rounds: Rounds, reading: Reading) -> float:
    return st.ratio_of_spreads(rounds.values, rounds.units, reading.by_unit(rounds))
