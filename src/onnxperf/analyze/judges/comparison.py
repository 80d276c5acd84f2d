"""From measurements to times, speedups and verdicts."""

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
"""A race goes on while an interval reaches further than this from its middle, even if its verdict is clear."""
_PERHAPS, _PROBABLY, _LIKELY, _SURELY = 0.5, 0.1, 0.01, 0.002
"""How rarely chance may part the two readings of a race that far: until both have to give one verdict before a race may
end early, or at all; until means give the speedup; and until these decide alone."""
_SLOW_LAUNCH = 0.08
"""A launch is slow as a whole when it is slower than the usual one by more than this: no layout of memory does that."""
_RULE_OF_THREE = 3
"""Calls / 3: what happens less often is missed in 5 % of races (0.95 = 1 - exp(-3))."""


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
    judged = [_with_judgement(subject, subject is base, judgements.get(subject.name)) for subject in subjects]
    return with_fitted_times(judged, baseline, min_effect)


# ---------------------------------------------------------------- verdicts


class Read(NamedTuple):
    """A rival and the baseline by one reading of their blocks."""

    rounds: Rounds
    estimate: st.Estimate
    least: float
    """Log of the smallest speedup that can be claimed from so little evidence."""

    @property
    def p_value(self) -> float:
        """How often chance alone goes that far."""
        return self.estimate.beyond(self.least)


class _Judgement(NamedTuple):
    found: Comparison
    varies: bool = False
    slow_launches: int | None = None


def _judge(
    rivals: Sequence[Measurement], base: Measurement, min_effect: float, alpha_share: float
) -> dict[str, _Judgement]:
    """Compare all rivals with the baseline at once, so that many raise no more false alarms than one (Holm)."""
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
    """Both readings of a rival beside the baseline."""

    deciding: Read | None
    """None where other programs bias the race."""
    other: Read | None = None
    """What may contradict it."""
    by_means: bool = False
    """Means of launches decide, as calls vary."""
    is_doubtful: bool = False
    """The two differ, but not so clearly that the other need not agree."""

    def contradict(self, deciding: str | None, other: str | None) -> bool:
        """Whether what the other reading says takes back what the deciding one does.

        Another word does; where the two differ probably, having no word for it does too.
        """
        return self.other is not None and other != deciding and (other != "undecided" or self.is_doubtful)


def readings_of(subject: Measurement, base: Measurement, reading: Reading, min_effect: float) -> Readings:
    """Quickest pieces decide, or means of launches where the two differ beyond the noise.

    Quickest pieces flatter a subject whose own calls vary: what other programs do slows down both sides, what a subject
    does by itself only its own.
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
    differ = f"by its quickest calls it is {quick}, by all calls {all_calls}"
    return replace(found, verdict="undecided", reason=f"{differ}: a longer `time` shows whether its calls vary")


def _biased(subject: Measurement, base: Measurement) -> Comparison:
    """What remains to be said where other programs took processors from threads that wait for each other."""
    whole = paired(subject, base, reading_of((subject, base)))
    threaded = " and ".join(each.name for each in (subject, base) if has_several_threads(each))
    reason = (
        f"other programs took processors from the threads of {threaded} all the time: close them, or use `threads=1`"
    )
    return Comparison(ratio=math.exp(float(np.median(whole.values))), verdict="undecided", reason=reason)


def _unless_launches_differ(found: Comparison, slow_launches: int | None) -> Comparison:
    """Not equal where a launch was slower as a whole: how often that happens, a few launches do not tell."""
    if found.verdict != "equivalent" or not slow_launches:
        return found
    units = "launches" if found.unit == "launch" else "set-ups"
    slow = f"it was slower by more than {whole_percent(_SLOW_LAUNCH)} in {slow_launches} of {found.units} {units}"
    return replace(found, verdict="undecided", reason=f"{slow}: a longer `time` shows how often that happens")


def _with_blind_spot(found: Comparison, subject: Measurement) -> Comparison:
    """Equal by single calls, of which there were few: what that cannot show."""
    calls = [block.calls for block in subject.blocks]
    if found.verdict != "equivalent" or max(calls) > 1:
        return found
    return replace(found, reason=f"slow calls rarer than 1 in {max(len(calls) // _RULE_OF_THREE, 1)} cannot be seen")


def _slow_launches(subject: Measurement, base: Measurement) -> int | None:
    """Launches in which the subject was slower as a whole than it usually is, beside the baseline."""
    reading = reading_of((subject, base))
    rounds = paired(subject, base, reading)
    if not rounds.evidence.carries_estimate:
        return None
    shifts = reading.by_unit(rounds)
    return int((shifts < np.median(shifts) - math.log1p(_SLOW_LAUNCH)).sum())


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
