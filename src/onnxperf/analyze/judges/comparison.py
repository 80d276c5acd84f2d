"""From measurements to times, speedups and verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.records.race import MIN_ROUNDS, SMALL_CLAIM, Block, Measurement, Subject, Verdict
from onnxperf.wording.numbers import count, significant

MIN_LAUNCHES = 3
"""Launches that a claim below SMALL_CLAIM needs."""
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
    if subject.speedup_low is None or subject.speedup_high is None:
        return subject.verdict is not None
    return subject.verdict != "undecided" and subject.speedup_high / subject.speedup_low < (1 + PRECISE) ** 2


def compare(
    subjects: Sequence[Measurement], baseline: str | None, min_effect: float, seed: int = 0
) -> tuple[Subject, ...]:
    """The measurements with their times, speedups and verdicts."""
    base = next((subject for subject in subjects if subject.name == baseline), None)
    rivals = [s for s in subjects if base is not None and s is not base and paired(s, base).values.size]
    judgements = _judge(rivals, base, min_effect, seed) if base is not None else {}
    return tuple(_summarise(subject, base, judgements.get(subject.name)) for subject in subjects)


class _Pairs(NamedTuple):
    """Log-ratios of the rounds that a subject shares with the baseline; above 0 is faster."""

    values: st.Floats
    launches: st.Ints
    runs: st.Ints

    def bootstrap(self, draws: int, seed: int) -> st.Floats:
        return st.bootstrap_medians(self.values, self.launches, self.runs, draws, seed)


class _Judgement(NamedTuple):
    log_speedup: float
    low: float
    high: float
    verdict: Verdict
    reason: str


def paired(subject: Measurement, base: Measurement) -> _Pairs:
    """Log-ratios of the rounds that both have."""
    theirs = {block.round: block for block in base.blocks}
    both = [(block, theirs[block.round]) for block in subject.blocks if block.round in theirs]
    return _Pairs(
        np.array([math.log(_per_call(b) / _per_call(a)) for a, b in both], dtype=np.float64),
        _numbered([(a.launch, b.launch) for a, b in both]),
        st.runs_of(_numbered([(a.launch, a.set_up, b.launch, b.set_up) for a, b in both])),
    )


def _numbered(keys: Sequence[tuple[int, ...]]) -> st.Ints:
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _judge(rivals: Sequence[Measurement], base: Measurement, min_effect: float, seed: int) -> dict[str, _Judgement]:
    """Compare all rivals with the baseline at once."""
    alphas = [alpha_of(subject) for subject in rivals]
    pairs = [paired(subject, base) for subject in rivals]
    intervals = st.holm_intervals(alphas, lambda draws: [pair.bootstrap(draws, seed) for pair in pairs])
    judgements = {}
    for subject, pair, bounds in zip(rivals, pairs, intervals, strict=True):
        estimate, (low, high) = float(np.median(pair.values)), bounds
        if int(pair.runs.max()) == 0:
            # Drawing from a single run gives it back: only the rounds themselves show how sure this is.
            low, high = min(low, float(pair.values.min())), max(high, float(pair.values.max()))
        verdict, reason = verdict_of(estimate, (low, high), min_effect, len(pair.values), int(pair.launches.max()) + 1)
        judgements[subject.name] = _Judgement(estimate, low, high, verdict, reason)
    return judgements


def verdict_of(
    estimate: float, bounds: tuple[float, float], min_effect: float, rounds: int, launches: int
) -> tuple[Verdict, str]:
    """Turn an interval of the log-speedup into a word, with what is missing when the word is `undecided`."""
    band, (low, high) = math.log1p(min_effect), bounds
    if rounds < MIN_ROUNDS:
        return "undecided", f"only {count(rounds, 'round')}; a verdict needs {MIN_ROUNDS}"
    verdict: Verdict = "undecided"
    if -band < low and high < band:
        verdict = "equivalent"
    elif (low > 0 or high < 0) and abs(estimate) >= band:
        verdict = "faster" if low > 0 else "slower"
    claim = band if verdict == "equivalent" else abs(estimate)
    if verdict != "undecided" and claim < math.log1p(SMALL_CLAIM) and launches < MIN_LAUNCHES:
        few = f"needs {MIN_LAUNCHES} launches, not {launches}; give it more `time`"
        return "undecided", f"a claim below {significant(100 * SMALL_CLAIM)} % {few}"
    return verdict, ""


def _summarise(subject: Measurement, base: Measurement | None, judgement: _Judgement | None) -> Subject:
    measured = {field: getattr(subject, field) for field in Measurement.__struct_fields__}
    if not subject.blocks or base is None:
        return Subject(**measured)
    times = np.array([_per_call(block) for block in subject.blocks])
    median = float(np.median(times))
    paired = median
    if judgement is not None:
        paired = float(np.median([_per_call(block) for block in base.blocks])) / math.exp(judgement.log_speedup)
    # Times are scaled to the paired estimate, so that they agree with the speedups; the scale is 1 but for noise.
    scale = paired / median
    summary = Subject(
        **measured,
        mean_ns=float(times.mean()) * scale,
        median_ns=paired,
        deviation_ns=float(times.std()) * scale,
        min_ns=float(times.min()),
        max_ns=float(times.max()),
        p90_ns=st.percentile(subject.call_ns, 0.90),
        p99_ns=st.percentile(subject.call_ns, 0.99),
    )
    if subject is base:
        return replace(summary, speedup=1.0, verdict="baseline")
    if judgement is None:
        return summary
    return replace(
        summary,
        speedup=math.exp(judgement.log_speedup),
        speedup_low=math.exp(judgement.low),
        speedup_high=math.exp(judgement.high),
        verdict=judgement.verdict,
        reason=subject.reason or judgement.reason,
    )


def alpha_of(subject: Measurement) -> float:
    """The part of the error probability that the looks at a subject have spent."""
    return st.spend_alpha(max(1, subject.looks_planned))[max(1, subject.looks) - 1]


def _is_precise(subject: Measurement, min_effect: float, seed: int) -> bool:
    """A subject that runs alone is known well enough when its median moves by less than the minimum effect."""
    times = np.log([_per_call(block) for block in subject.blocks])
    launches = _numbered([(block.launch,) for block in subject.blocks])
    runs = st.runs_of(_numbered([(block.launch, block.set_up) for block in subject.blocks]))
    alpha = alpha_of(subject)
    draws = st.bootstrap_medians(times, launches, runs, st.draws_needed(1, alpha), seed)
    low, high = st.interval(draws, alpha)
    return high - low < 2 * math.log1p(min_effect)


def _per_call(block: Block) -> float:
    return max(block.duration_ns, 1) / block.calls
