"""Derive times, speedups and verdicts from measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.pairing import (
    MEANS,
    QUICKEST,
    Reading,
    Rounds,
    estimate_of,
    has_several_threads,
    paired,
    reading_of,
    undisturbed,
)
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES, what_is_missing
from onnxperf.analyze.judges.times import timed, with_fitted_times
from onnxperf.records.comparison import Comparison, Verdict
from onnxperf.records.race import (
    FEWEST_ROUNDS,
    LARGE_CLAIM,
    SMALL_CLAIM,
    Measurement,
    Subject,
)
from onnxperf.wording.numbers import whole_percent

R = TypeVar("R", bound=Struct)

PRECISE = 0.05
"""A race continues while an interval extends further than this from its center, even if its verdict is clear."""
_PERHAPS, _PROBABLY, _LIKELY, _SURELY = 0.5, 0.1, 0.01, 0.002
"""Probabilities that the two readings of a race differ this much by chance: below which both must agree to end a race
early, or to decide it at all; below which means give the speedup; and below which means decide alone."""
_SLOW_LAUNCH = 0.08
"""A launch is slow overall if it is slower than a typical one by more than this, which no memory layout causes."""
_RULE_OF_THREE = 3
"""Events rarer than 3 / calls are missed in 5 % of races (0.95 = 1 - exp(-3))."""


def baseline_of(subjects: Sequence[Measurement], wanted: str | None) -> str | None:
    """The requested subject, else the first; if that was not measured, the first measured one."""
    measured = [subject.name for subject in subjects if subject.blocks]
    return wanted if wanted in measured else next(iter(measured), None)


def settled(subjects: Sequence[Measurement], baseline: str | None, min_effect: float, alpha_share: float = 1.0) -> bool:
    """Whether all questions about these subjects are answered."""
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
        return False  # decided, but by an unknown amount, which the next set-up shows
    return subject.speedup_high / subject.speedup_low < (1 + PRECISE) ** 2


def compare(
    subjects: Sequence[Measurement], baseline: str | None, min_effect: float, alpha_share: float = 1.0
) -> tuple[Subject, ...]:
    """The measurements with times, speedups and verdicts, using this share of the error probability."""
    base = next((subject for subject in subjects if subject.name == baseline), None)
    rivals = [s for s in subjects if base is not None and s is not base and paired(s, base).values.size]
    judgements = _judge(rivals, base, min_effect, alpha_share) if base is not None else {}
    judged = [_with_judgement(subject, subject is base, judgements.get(subject.name)) for subject in subjects]
    return with_fitted_times(judged, baseline, min_effect)


# ---------------------------------------------------------------- verdicts


class Read(NamedTuple):
    """A rival and the baseline with one reading of their blocks."""

    rounds: Rounds
    estimate: st.Estimate
    least: float
    """Log of the smallest speedup that this evidence can support."""

    @property
    def p_value(self) -> float:
        """p-value of the difference."""
        return self.estimate.beyond(self.least)


class _Judgement(NamedTuple):
    found: Comparison
    varies: bool = False
    slow_launches: int | None = None


def _judge(
    rivals: Sequence[Measurement], base: Measurement, min_effect: float, alpha_share: float
) -> dict[str, _Judgement]:
    """Compare all rivals with the baseline together, with the error probability of a single comparison (Holm)."""
    reading = reading_of((base, *rivals))
    readings = {each.name: readings_of(each, base, reading, min_effect) for each in rivals}
    p_values = [1.0 if each.deciding is None else each.deciding.p_value for each in readings.values()]
    levels = st.holm_levels(p_values, [alpha_share * alpha_of(subject) for subject in rivals])
    found = {}
    for subject, level in zip(rivals, levels, strict=True):
        read = readings[subject.name]
        if read.deciding is None:
            found[subject.name] = _Judgement(_biased(subject, base))
            continue
        judged = _unless_contradicted(_concluded(read.deciding, level, min_effect), read, level, min_effect)
        slow_launches = _slow_launches(subject, base)
        judged = _with_blind_spot(_unless_launches_differ(judged, slow_launches), subject)
        found[subject.name] = _Judgement(judged, read.by_means, slow_launches)
    return found


class Readings(NamedTuple):
    """Both readings of a rival and the baseline."""

    deciding: Read | None
    """The deciding reading; None if other programs bias the race."""
    other: Read | None = None
    """The reading that may contradict it."""
    by_means: bool = False
    """Whether means of launches decide because calls vary."""
    is_doubtful: bool = False
    """Whether the readings probably differ, so that the other one must agree."""

    def contradict(self, deciding: str | None, other: str | None) -> bool:
        """Whether the other reading contradicts the deciding one.

        A different verdict does; if the readings probably differ, an undecided one does too.
        """
        return self.other is not None and other != deciding and (other != "undecided" or self.is_doubtful)


def readings_of(subject: Measurement, base: Measurement, reading: Reading, min_effect: float) -> Readings:
    """The fastest pieces decide, or means of launches if the two differ beyond the noise.

    The fastest pieces overrate a subject whose own calls vary: other programs slow down both sides, but a subject's own
    variation only affects itself.
    """
    rounds = undisturbed(subject, base, reading)
    if rounds is None:
        return Readings(None)
    quick = Read(rounds, estimate_of(rounds, reading), _least(rounds, min_effect))
    whole = undisturbed(subject, base, MEANS)
    if reading is not QUICKEST or whole is None or not rounds.evidence.carries_estimate:
        return Readings(quick)
    means = Read(whole, estimate_of(whole, MEANS), quick.least)
    differences = st.mean_of(MEANS.by_unit(whole) - reading.by_unit(rounds))
    chance = differences.p_value if abs(differences.value) >= math.log1p(min_effect) else 1.0
    if chance < _LIKELY:
        return Readings(means, quick if chance >= _SURELY else None, by_means=True, is_doubtful=True)
    is_early = subject.looks < subject.looks_planned
    return Readings(quick, means, is_doubtful=chance < (_PERHAPS if is_early else _PROBABLY))


def _least(rounds: Rounds, min_effect: float) -> float:
    return 0.0 if rounds.evidence.carries_estimate else math.log1p(max(LARGE_CLAIM, min_effect))


def _concluded(read: Read, level: float, min_effect: float) -> Comparison:
    evidence, estimate = read.rounds.evidence, read.estimate
    bounds = estimate.interval(level) if evidence.rounds >= FEWEST_ROUNDS else None
    verdict: Verdict = "undecided"
    if bounds is not None and read.least == 0:
        verdict = verdict_of(estimate.value, bounds, min_effect, evidence.launches)
    elif bounds is not None and (bounds[0] > read.least or bounds[1] < -read.least):
        verdict = "faster" if estimate.value > 0 else "slower"
    shown = bounds if evidence.carries_interval else None
    return Comparison(
        ratio=math.exp(estimate.value),
        low=math.exp(shown[0]) if shown else None,
        high=math.exp(shown[1]) if shown else None,
        verdict=verdict,
        reason=what_is_missing(evidence, shown, min_effect) if verdict == "undecided" else "",
        unit=(evidence.unit if read.least == 0 else "round") if shown else None,
        units=(evidence.units if read.least == 0 else evidence.rounds) if shown else None,
    )


def _unless_contradicted(found: Comparison, read: Readings, level: float, min_effect: float) -> Comparison:
    if read.other is None or found.verdict == "undecided":
        return found
    other = _concluded(read.other, level, min_effect).verdict
    if not read.contradict(found.verdict, other):
        return found
    quick, all_calls = (other, found.verdict) if read.by_means else (found.verdict, other)
    differ = f"it is {quick} by its fastest calls and {all_calls} by all calls"
    return replace(found, verdict="undecided", reason=f"{differ}: a longer `time` shows whether its calls vary")


def _biased(subject: Measurement, base: Measurement) -> Comparison:
    """The result if other programs took processors from threads that wait for each other."""
    whole = paired(subject, base, reading_of((subject, base)))
    threaded = " and ".join(each.name for each in (subject, base) if has_several_threads(each))
    reason = f"other programs constantly took processors from the threads of {threaded}: close them, or use `threads=1`"
    return Comparison(ratio=math.exp(float(np.median(whole.values))), verdict="undecided", reason=reason)


def _unless_launches_differ(found: Comparison, slow_launches: int | None) -> Comparison:
    """Not equivalent if a launch was slower overall: a few launches cannot show how often that happens."""
    if found.verdict != "equivalent" or not slow_launches:
        return found
    units = "launches" if found.unit == "launch" else "set-ups"
    slow = f"it was slower by more than {whole_percent(_SLOW_LAUNCH)} in {slow_launches} of {found.units} {units}"
    return replace(found, verdict="undecided", reason=f"{slow}: a longer `time` shows how often that happens")


def _with_blind_spot(found: Comparison, subject: Measurement) -> Comparison:
    """For equivalence based on few single calls, state what they cannot show."""
    calls = [block.calls for block in subject.blocks]
    if found.verdict != "equivalent" or max(calls) > 1:
        return found
    return replace(found, reason=f"slow calls rarer than 1 in {max(len(calls) // _RULE_OF_THREE, 1)} go undetected")


def _slow_launches(subject: Measurement, base: Measurement) -> int | None:
    """Number of launches in which the subject was slower overall than usual, relative to the baseline."""
    reading = reading_of((subject, base))
    rounds = paired(subject, base, reading)
    if not rounds.evidence.carries_estimate:
        return None
    shifts = reading.by_unit(rounds)
    return int((shifts < np.median(shifts) - math.log1p(_SLOW_LAUNCH)).sum())


def verdict_of(estimate: float, bounds: tuple[float, float], min_effect: float, launches: int) -> Verdict:
    """The verdict for an interval of the log-speedup."""
    band, (low, high) = math.log1p(min_effect), bounds
    verdict: Verdict = "undecided"
    if -band < low and high < band:
        verdict = "equivalent"
    elif (low > 0 or high < 0) and abs(estimate) >= band:
        verdict = "faster" if low > 0 else "slower"
    claim = band if verdict == "equivalent" else abs(estimate)
    return "undecided" if claim < math.log1p(SMALL_CLAIM) and launches < MIN_LAUNCHES else verdict


def _with_judgement(subject: Measurement, is_base: bool, judgement: _Judgement | None) -> Subject:
    measured = {field: getattr(subject, field) for field in Measurement.__struct_fields__}
    summary = timed(Subject(**measured))
    if is_base and subject.blocks:
        return replace(summary, speedup=1.0, verdict="baseline")
    if judgement is None:
        return summary
    found = judgement.found
    return replace(
        summary,
        **found.named("speedup"),
        verdict=found.verdict,
        reason=subject.reason or found.reason,
        unit=found.unit,
        units=found.units,
        varies=judgement.varies,
        slow_launches=judgement.slow_launches,
    )


def alpha_of(subject: Measurement) -> float:
    """The share of the error probability spent by the interim analyses of a subject."""
    return st.spend_alpha(max(1, subject.looks_planned))[max(1, subject.looks) - 1]


def _is_precise(subject: Measurement, min_effect: float) -> bool:
    """Whether the time of a single subject is known to within the minimum effect."""
    rounds = paired(subject, subject)
    if not rounds.evidence.carries_estimate:
        return False
    times = st.by_unit(np.median, np.log(rounds.ours), rounds.units)
    low, high = st.trimmed_mean(times).interval(alpha_of(subject))
    return high - low < 2 * math.log1p(min_effect)


def rounds_to_units(subjects: Sequence[Measurement], baseline: str | None) -> float | None:
    """Variation of rounds within a unit relative to that between units; the median over several rivals.

    None if unknown.
    """
    base = next((subject for subject in subjects if subject.name == baseline_of(subjects, baseline)), None)
    measured = [each for each in subjects if each.blocks]
    reading = reading_of(measured)
    rivals = [paired(each, base, reading) for each in measured if base is not None and each is not base]
    found = [_ratio_of_spreads(each, reading) for each in rivals if each.evidence.units > 1]
    return float(np.median(found)) if found else None


def _ratio_of_spreads(rounds: Rounds, reading: Reading) -> float:
    return st.ratio_of_spreads(rounds.values, rounds.units, reading.by_unit(rounds))
