"""Judge the candidates of a tuning over launches, and its confirming race."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.comparison import compare, settled
from onnxperf.analyze.judges.pairing import paired, reading_of
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES
from onnxperf.analyze.judges.weighing import weighed
from onnxperf.records.base import Status
from onnxperf.records.comparison import Comparison
from onnxperf.records.race import Block, Case, Measurement, Subject
from onnxperf.records.sweep import time_of
from onnxperf.records.tune import DEFAULTS, Goal, TuneChoice, TuneOutcome, TuneRow, TuneStage, counts_of

_SEARCH_ALPHA = 0.05
"""Level of the intervals in the search, which only select candidates; claims rest on the confirming race."""


_HUGE_GAIN = 2.5
"""No process is faster than another of the same kind by this factor."""
_LONG_CALL_NS = 50e6
"""Calls of this length or more can be judged from few launches; short calls depend on a process's threads and
memory."""


_ENOUGH_TRIED = 0.5
"""Share of the candidates that must be tested before the defaults can be declared best."""
_EARNED = {False: (0.5, 0.10), True: (1.0, 0.05)}
"""Fraction of the minimum effect that a part of a combination must gain, and its one-sided p-value; a part that changes
results or restricts callers must gain all of it."""
_JUDGED = ("speedup", "speedup_low", "speedup_high", "verdict", "reason", "unit", "units")


class Sample(NamedTuple):
    """Result of one launch of a candidate and the defaults."""

    status: Status
    reason: str = ""
    speedup: float | None = None
    """Defaults / own amount; None if one of them was not measured."""
    amount: float | None = None
    """Nanoseconds per call, or bytes."""


class Confirmation(NamedTuple):
    """Result of the confirming race and its candidate."""

    choice: TuneChoice
    found: Comparison
    """Defaults / candidate."""
    case: Case | None = None


# ---------------------------------------------------------------- one launch


def samples_of(case: Case, goal: Goal) -> dict[str, Sample]:
    """Samples from a race that started every process once; the first subject is the defaults."""
    subjects = [by_goal(each, goal) for each in case.subjects]
    base = subjects[0]
    return {each.name: _sample(each, base, goal) for each in subjects}


def _sample(subject: Subject, base: Subject, goal: Goal) -> Sample:
    both = paired(subject, base, reading_of((base, subject)))
    if not both.values.size or subject.status not in ("ok", "differs"):
        return Sample(subject.status, subject.reason)
    shift = float(np.median(reading_of((base, subject)).by_unit(both)))
    usual = _per_call(subject) if goal == "cpu" else time_of(subject)
    reason = "" if subject.status == "ok" else subject.reason  # not why the verdict of so short a race is weak
    return Sample(subject.status, reason, math.exp(shift), usual)


def _per_call(subject: Measurement) -> float | None:
    times = [block.per_call_ns for block in subject.blocks]
    return median(times) if times else None


def by_goal(subject: Any, goal: Goal) -> Any:
    """A measurement whose blocks contain the quantity of the goal: time, or CPU time instead."""
    if goal != "cpu":
        return subject
    return replace(subject, blocks=tuple(map(_cpu_block, subject.blocks)))


def _cpu_block(block: Block) -> Block:
    return replace(block, duration_ns=max(block.cpu_ns or 0, 1), quickest_ns=None)


# ---------------------------------------------------------------- the search


def row_of(choice: TuneChoice, stage: TuneStage, samples: Sequence[Sample], before: TuneRow | None = None) -> TuneRow:
    """The row of a candidate over all launches, including those of a resumed run."""
    speedups = [*(before.launch_speedups if before else ()), *(each.speedup for each in samples if each.speedup)]
    fine = ("ok", "differs") if choice.approximate else ("ok",)
    faults = [each for each in samples if each.status not in fine]
    amounts = [each.amount for each in samples if each.amount is not None]
    value = low = high = None
    if len(speedups) > 1:
        estimate = st.trimmed_mean(np.log(np.array(speedups, dtype=np.float64)))
        value, (low, high) = math.exp(estimate.value), map(math.exp, estimate.interval(_SEARCH_ALPHA))
    elif speedups:
        value = speedups[0]
    return TuneRow(
        choice=choice,
        stage=stage,
        status=faults[0].status if faults else "ok",
        reason=faults[0].reason if faults else "",
        launch_speedups=tuple(speedups),
        speedup=value,
        speedup_low=low,
        speedup_high=high,
        amount=median(amounts) if amounts else before.amount if before else None,
        error=before.error if before else None,
    )


def largest_error(ours: Sequence[Any], theirs: Sequence[Any]) -> float | None:
    """Largest difference of an output / largest value of that output; None if outputs are not comparable numbers."""
    errors = []
    for one, other in zip(map(np.asarray, ours), map(np.asarray, theirs), strict=True):
        if one.dtype.kind not in "fiub" or one.shape != other.shape:
            return None
        if not one.size:
            continue
        exact = one.astype(np.float64)
        scale = float(np.abs(exact).max())
        errors.append(float(np.abs(exact - other.astype(np.float64)).max()) / (scale or 1.0))
    return max(errors, default=0.0) if all(map(math.isfinite, errors)) else None


def earns_its_place(whole: Sequence[float], rest: Sequence[float], min_effect: float, is_demanding: bool) -> bool:
    """Whether a combination is better than without one part, both measured in the same launches."""
    gain = st.trimmed_mean(np.log(np.array(whole, dtype=np.float64)) - np.log(np.array(rest, dtype=np.float64)))
    least, level = _EARNED[is_demanding]
    return gain.value >= least * math.log1p(min_effect) and gain.p_value / 2 < level


# ---------------------------------------------------------------- the end


def enough_by(goal: Goal, baseline: str, min_effect: float) -> Callable[[Sequence[Measurement]], bool]:
    """Whether the confirming race may stop."""

    def enough(subjects: Sequence[Measurement]) -> bool:
        return settled([by_goal(each, goal) for each in subjects], baseline, min_effect)

    return enough


def in_sequence(
    choices: Sequence[TuneChoice], against: Callable[[str, str], Comparison], min_effect: float
) -> tuple[TuneChoice, Comparison]:
    """The last candidate proven better than the defaults, tested in this order at the full level.

    The sequence ends at the first unproven candidate, so more candidates cause no more false claims than one. A later
    one, which changes less, wins unless it is worse than the first by more than the minimum effect.
    """
    best, found = choices[0], against(DEFAULTS, choices[0].name)
    for choice in choices[1:]:
        own = against(DEFAULTS, choice.name) if found.verdict == "faster" else None
        if own is None or own.verdict != "faster":
            break
        if (against(choices[0].name, choice.name).ratio or 0.0) >= 1 / (1 + min_effect):
            best, found = choice, own
    return best, found


def confirmed(case: Case, goal: Goal, min_effect: float, choices: Sequence[TuneChoice]) -> Confirmation:
    """The result of a race of the defaults and these candidates; the first contains all parts of the others."""
    choice, found = in_sequence(choices, partial(_against, case, goal, min_effect), min_effect)
    return Confirmation(choice, found, _as_tested(case, choices, min_effect) if goal == "latency" else case)


def _as_tested(case: Case, choices: Sequence[TuneChoice], min_effect: float) -> Case:
    """The race with the pairwise verdicts and intervals of the sequence."""
    names = {each.name for each in choices}
    judged = [
        _judged(case, "latency", min_effect, DEFAULTS, each.name) if each.name in names else None
        for each in case.subjects
    ]
    return replace(
        case,
        subjects=tuple(
            each if own is None else replace(each, **{name: getattr(own, name) for name in _JUDGED})
            for each, own in zip(case.subjects, judged, strict=True)
        ),
    )


def _judged(case: Case, goal: Goal, min_effect: float, base: str, own: str) -> Subject:
    """Compare a subject with a single other one."""
    pair = [by_goal(each, goal) for name in (base, own) for each in case.subjects if each.name == name]
    plain = [replace(each, reason="") if each.status == "ok" else each for each in pair]
    return compare(plain, base, min_effect)[1]


def _against(case: Case, goal: Goal, min_effect: float, base_name: str, own_name: str) -> Comparison:
    """Compare one subject of a race with another."""
    subjects = {each.name: each for each in case.subjects}
    base, own = subjects[base_name], subjects[own_name]
    judged = _judged(case, goal, min_effect, base_name, own_name)
    found = Comparison.spelled(judged, "speedup")
    amount_of = _cpu_ns if goal == "cpu" else time_of
    found = replace(found, before=amount_of(base), after=amount_of(own))
    if own.status != "ok" or base.status != "ok" or found.verdict is None:
        return replace(found, verdict="undecided", reason=own.reason or base.reason or found.reason)
    if found.verdict == "faster" and _rests_on_too_few_launches(base, judged):
        return replace(found, verdict="undecided", reason="too few launches for a claim; increase `time`")
    return found


def _cpu_ns(subject: Subject) -> float | None:
    return _per_call(by_goal(subject, "cpu"))


def _rests_on_too_few_launches(base: Subject, own: Subject) -> bool:
    """Whether one process could explain the gain: with short calls, one launch in five may take twice as long."""
    launches = len({block.launch for block in own.blocks})
    is_huge = own.speedup_low is not None and own.speedup_low >= _HUGE_GAIN
    return launches < MIN_LAUNCHES and not is_huge and (time_of(base) or 0.0) < _LONG_CALL_NS


def confirmed_bytes(base: Sequence[int], own: Sequence[int], min_effect: float) -> Comparison:
    """Compare the memory of fresh processes of the defaults and a candidate."""
    return weighed(base, own, min_effect)


def outcome_of(found: Confirmation | None, interrupted: bool, rows: Iterable[TuneRow]) -> TuneOutcome:
    """Outcome: a winner needs the verdict `faster` in the confirming race; the defaults need enough tested
    candidates."""
    if found is not None and found.found.verdict == "faster":
        return "tuned"
    if interrupted:
        return "unconfirmed"
    tried, proposed = counts_of(rows)
    is_raced = found is None or found.found.ratio is not None
    return "defaults" if is_raced and tried >= _ENOUGH_TRIED * proposed else "unanswered"
