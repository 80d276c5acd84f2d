"""From measurements to times, speedups and verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES, Evidence, what_is_missing
from onnxperf.analyze.judges.times import numbered, timed
from onnxperf.records.race import (
    ALPHA,
    BENCH_VERSION,
    LARGE_CLAIM,
    MIN_ROUNDS,
    SMALL_CLAIM,
    Bench,
    Case,
    Measurement,
    Subject,
    Verdict,
)

R = TypeVar("R", bound=Struct)

PRECISE = 0.05
"""A race goes on while an interval reaches further than this from its middle, even if its verdict is clear."""


def baseline_of(subjects: Sequence[Measurement], wanted: str | None) -> str | None:
    """The subject that was requested, else the first; if it was never measured, the first that was."""
    measured = [subject.name for subject in subjects if subject.blocks]
    return wanted if wanted in measured else next(iter(measured), None)


def settled(subjects: Sequence[Measurement], baseline: str | None, min_effect: float, seed: int = 0) -> bool:
    """Is there nothing left to find out about these subjects?"""
    measured = [subject for subject in subjects if subject.status == "ok"]
    if len(measured) == 1:
        return _is_precise(measured[0], min_effect, seed)
    judged = compare(subjects, baseline_of(subjects, baseline), min_effect, seed)
    return all(_is_settled(subject) for subject in judged if subject.status == "ok")


def _is_settled(subject: Subject) -> bool:
    if subject.verdict in (None, "undecided", "baseline"):
        return subject.verdict == "baseline"
    if subject.speedup_low is None or subject.speedup_high is None:
        return False  # decided, but by how much? The next set-up shows it.
    return subject.speedup_high / subject.speedup_low < (1 + PRECISE) ** 2


def compare(
    subjects: Sequence[Measurement], baseline: str | None, min_effect: float, seed: int = 0
) -> tuple[Subject, ...]:
    """The measurements with their times, speedups and verdicts."""
    base = next((subject for subject in subjects if subject.name == baseline), None)
    rivals = [s for s in subjects if base is not None and s is not base and paired(s, base).values.size]
    judgements = _judge(rivals, base, min_effect, seed) if base is not None else {}
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
    return replace(case, subjects=tuple(_measured_again(subject, base) for subject in case.subjects))


def _measured_again(subject: Subject, base: Subject | None) -> Subject:
    again = timed(subject)
    if base is None or subject is base or paired(subject, base).evidence.carries_interval:
        return again
    return replace(again, speedup_low=None, speedup_high=None)


class _Pairs(NamedTuple):
    """Log-ratios of the rounds that a subject shares with the baseline; above 0 is faster."""

    values: st.Floats
    launches: st.Ints
    set_ups: st.Ints
    runs: st.Ints
    span_s: float

    @property
    def evidence(self) -> Evidence:
        launches, set_ups = (len(np.unique(each)) for each in (self.launches, self.set_ups))
        return Evidence(len(self.values), launches, set_ups, self.span_s)

    def bootstrap(self, draws: int, seed: int) -> st.Floats:
        return st.bootstrap_medians(self.values, self.launches, self.runs, draws, seed)


def paired(subject: Measurement, base: Measurement) -> _Pairs:
    """Log-ratios of the rounds that both have."""
    theirs = {block.round: block for block in base.blocks}
    both = [(block, theirs[block.round]) for block in subject.blocks if block.round in theirs]
    set_ups = numbered([(a.launch, a.set_up, b.launch, b.set_up) for a, b in both])
    starts = [block.start_ns for _, block in both]  # of the baseline, so that all of its rivals have the same pace
    return _Pairs(
        np.array([math.log(b.per_call_ns / a.per_call_ns) for a, b in both], dtype=np.float64),
        numbered([(a.launch, b.launch) for a, b in both]),
        set_ups,
        st.runs_of(set_ups),
        (max(starts) - min(starts)) / 1e9 if starts else 0.0,
    )


# ---------------------------------------------------------------- verdicts


class _Test(NamedTuple):
    """How likely data as clear as these are without a difference, and the draws of an interval where there are any."""

    p_value: float
    draws: st.Floats | None


class _Judgement(NamedTuple):
    log_speedup: float
    bounds: tuple[float, float] | None
    verdict: Verdict
    reason: str


def _judge(rivals: Sequence[Measurement], base: Measurement, min_effect: float, seed: int) -> dict[str, _Judgement]:
    """Compare all rivals with the baseline at once, so that many raise no more false alarms than one (Holm)."""
    alphas = [alpha_of(subject) for subject in rivals]
    draws = st.draws_needed(max(len(rivals), 1), min(alphas, default=ALPHA))
    pairs = [paired(subject, base) for subject in rivals]
    tests = [_test_of(each, min_effect, draws, seed) for each in pairs]
    levels = st.holm_levels([test.p_value for test in tests], alphas)
    return {
        subject.name: _judgement(each, test, level, min_effect)
        for subject, each, test, level in zip(rivals, pairs, tests, levels, strict=True)
    }


def _test_of(pairs: _Pairs, min_effect: float, draws_needed: int, seed: int) -> _Test:
    """Many rounds of several set-ups: the bootstrap. Few, or all of one set-up: do all agree in a large difference?"""
    if len(pairs.values) >= MIN_ROUNDS and pairs.evidence.set_ups > 1:
        draws = pairs.bootstrap(draws_needed, seed)
        return _Test(st.two_sided_p(draws), draws)
    return _Test(st.sign_test(pairs.values, math.log1p(max(LARGE_CLAIM, min_effect))), None)


def _judgement(pairs: _Pairs, test: _Test, level: float, min_effect: float) -> _Judgement:
    evidence, estimate = pairs.evidence, float(np.median(pairs.values))
    bounds: tuple[float, float] | None = None
    verdict: Verdict = "undecided"
    if test.draws is not None:
        bounds = st.interval(test.draws, level)
        verdict = verdict_of(estimate, bounds, min_effect, evidence.launches)
    else:
        if evidence.carries_interval:
            bounds = st.range_of(pairs.values, level)
        if test.p_value <= level:
            verdict = "faster" if estimate > 0 else "slower"
    reason = what_is_missing(evidence, bounds, min_effect) if verdict == "undecided" else ""
    return _Judgement(estimate, bounds, verdict, reason)


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
    )


def alpha_of(subject: Measurement) -> float:
    """The part of the error probability that the looks at a subject have spent."""
    return st.spend_alpha(max(1, subject.looks_planned))[max(1, subject.looks) - 1]


def _is_precise(subject: Measurement, min_effect: float, seed: int) -> bool:
    """A subject that runs alone is known well enough when its median moves by less than the minimum effect."""
    times = np.log([block.per_call_ns for block in subject.blocks])
    launches = numbered([(block.launch,) for block in subject.blocks])
    runs = st.runs_of(numbered([(block.launch, block.set_up) for block in subject.blocks]))
    alpha = alpha_of(subject)
    draws = st.bootstrap_medians(times, launches, runs, st.draws_needed(1, alpha), seed)
    low, high = st.interval(draws, alpha)
    return high - low < 2 * math.log1p(min_effect)
