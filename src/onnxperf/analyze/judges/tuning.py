"""What launches say about the choices of a tuning, and what its confirming race decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Block, Case, Measurement, Subject
from onnxperf.records.tune import Goal, TuneChoice, TuneOutcome, TuneRow, TuneStage

_SEARCH_ALPHA = 0.05
"""Of intervals in the search, which choose who races on; only the confirming race claims anything."""


_HUGE_GAIN = 2.5
"""No process is faster than another of the same kind by that."""
_LONG_CALL_NS = 50e6
"""Calls from this length on may be judged by few launches: threads and memory of a process decide about short ones."""


_OPPOSITE = "the mean times say the opposite of the launches; repeat it when the machine is less busy"


class Sample(NamedTuple):
    """What one launch of a choice and of the defaults says."""

    status: Status
    reason: str = ""
    speedup: float | None = None
    """Defaults / own; None where one of them was not measured."""
    amount: float | None = None
    """Nanoseconds of a call, or bytes."""


class Confirmed(NamedTuple):
    """What the confirming race says about the winner."""

    verdict: Verdict
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    before: float | None = None
    after: float | None = None
    reason: str = ""
    case: Case | None = None


# ---------------------------------------------------------------- one launch


def samples_of(case: Case, goal: Goal) -> dict[str, Sample]:
    """The launches of a race that started every process once; the first subject is the defaults."""
    subjects = [by_goal(each, goal) for each in case.subjects]
    base = subjects[0]
    return {each.name: _sample(each, base, goal) for each in subjects}


def _sample(subject: Subject, base: Subject, goal: Goal) -> Sample:
    both = paired(subject, base, reading_of((base, subject)))
    if not both.values.size or subject.status not in ("ok", "differs"):
        return Sample(subject.status, subject.reason)
    shift = float(np.median(reading_of((base, subject)).by_unit(both)))
    usual = _per_call(subject) if goal == "cpu" else subject.mean_ns
    reason = "" if subject.status == "ok" else subject.reason  # what weakens the verdict of so short a race
    return Sample(subject.status, reason, math.exp(shift), usual)


def _per_call(subject: Measurement) -> float | None:
    times = [block.per_call_ns for block in subject.blocks]
    return median(times) if times else None


def by_goal(subject: Any, goal: Goal) -> Any:
    """A measurement whose blocks hold what the goal counts: their time, or CPU time in its place."""
    if goal != "cpu":
        return subject
    return replace(subject, blocks=tuple(map(_cpu_block, subject.blocks)))


def _cpu_block(block: Block) -> Block:
    return replace(block, duration_ns=max(block.cpu_ns or 0, 1), quickest_ns=None)


# ---------------------------------------------------------------- the search


def row_of(choice: TuneChoice, stage: TuneStage, samples: Sequence[Sample], before: TuneRow | None = None) -> TuneRow:
    """All launches of a choice together, with those of a run that is resumed."""
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
    """Largest difference of an output / largest value of that output; None where they cannot be subtracted."""
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


# ---------------------------------------------------------------- the end


def enough_by(goal: Goal, baseline: str, min_effect: float) -> Callable[[Sequence[Measurement]], bool]:
    """Whether the confirming race may stop."""

    def enough(subjects: Sequence[Measurement]) -> bool:
        return settled([by_goal(each, goal) for each in subjects], baseline, min_effect)

    return enough


def confirmed(case: Case, goal: Goal, min_effect: float) -> Confirmed:
    """What a race of the defaults and one choice says."""
    base, rival = case.subjects
    if goal == "cpu":
        measured = [by_goal(each, goal) for each in case.subjects]
        judged = compare(measured, case.baseline, min_effect)
        own, other = judged[1], judged[0]
        amounts = _per_call(other), _per_call(own)
    else:
        own, amounts = rival, (base.mean_ns, rival.mean_ns)  # of blocks, from which the gain comes, too
    fine = rival.status == "ok" and base.status == "ok" and case.baseline == base.name
    verdict: Verdict = own.verdict if fine and own.verdict is not None else "undecided"
    reason = rival.reason or base.reason or own.reason
    if fine and verdict == "faster" and _rests_on_too_few_launches(base, own):
        verdict, reason = "undecided", "too few launches for a claim; increase `time`"
    if verdict == "faster" and _say_the_opposite(*amounts):
        verdict, reason = "undecided", _OPPOSITE
    return Confirmed(verdict, own.speedup, own.speedup_low, own.speedup_high, *amounts, reason, case)


def _say_the_opposite(before: float | None, after: float | None) -> bool:
    """Whether nobody would believe a gain who sees both times, however well the launches agree on it."""
    return before is not None and after is not None and after >= before


def _rests_on_too_few_launches(base: Subject, own: Subject) -> bool:
    """Whether one process could account for it: of short calls, a launch in five may take twice as long."""
    launches = len({block.launch for block in own.blocks})
    is_huge = own.speedup_low is not None and own.speedup_low >= _HUGE_GAIN
    return launches < MIN_LAUNCHES and not is_huge and (base.median_ns or 0.0) < _LONG_CALL_NS


def confirmed_bytes(base: Sequence[int], own: Sequence[int], min_effect: float) -> Confirmed:
    """What fresh processes of the defaults and of one choice say."""
    found = weighed(base, own, min_effect)
    ends = found.ratio, found.low, found.high
    return Confirmed(found.verdict or "undecided", *ends, found.before, found.after, found.reason)


def outcome_of(found: Confirmed | None, interrupted: bool) -> TuneOutcome:
    """Only a confirming race that says `faster` makes a winner."""
    if found is None:
        return "unconfirmed" if interrupted else "defaults"
    if found.case is not None and found.case.interrupted and found.verdict != "faster":
        return "unconfirmed"
    return "tuned" if found.verdict == "faster" else "defaults"
