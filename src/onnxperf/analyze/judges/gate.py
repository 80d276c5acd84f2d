"""Whether a model keeps to its limits, and whether the race of a gate could tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.comparison import (
    Read,
    Readings,
    alpha_of,
    baseline_of,
    compare,
    readings_of,
    settled,
)
from onnxperf.analyze.judges.pairing import reading_of
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES
from onnxperf.analyze.judges.weighing import weighed
from onnxperf.records.comparison import Comparison
from onnxperf.records.gate import BASELINE, CONTROL, NEW, Gate, GateControl, GateLimit, GateOutcome, Measure
from onnxperf.records.race import SMALL_CLAIM, Case, Measurement, Subject
from onnxperf.records.sweep import time_of

_SHARED = 1.2
"""By how much the error of a long race is larger than its launches show where quickest pieces decide: all launches are
matched beside the quickest of the whole race. A verdict has its minimum effect on top; at a limit nothing else makes up
for it (`benchmarks/gate_rates.py`: 8 % of gates were wrong at the limit without it)."""
_INCLUDED = "the interval includes the limit: a longer `time` narrows it"
_IN_RANGE = "the range of all processes includes the limit"
_CONTRADICTED = (
    "its quickest calls do not say the same as all of its calls: a longer `time` shows whether its calls vary"
)
_FEW = "too few rounds or launches to tell on which side of the limit it is: use a longer `time`"


def side_of(low: float | None, high: float | None, limit: float) -> GateOutcome:
    """Passed where all of the interval is at most the limit, failed where all of it is above."""
    if low is None or high is None:
        return "undecided"
    if high <= limit:
        return "passed"
    return "failed" if low > limit else "undecided"


# ---------------------------------------------------------------- the one judgement of a limit


class Rival(NamedTuple):
    """A subject with its verdict, the baseline of its race, and the minimum effect of that verdict."""

    subject: Subject
    base: Subject
    min_effect: float


class Standing(NamedTuple):
    """On which side of a limit a subject is."""

    outcome: GateOutcome
    found: Comparison
    """Its time / that of the baseline, with the interval that the limit was compared with, and why it is undecided."""


class _Test(NamedTuple):
    """How likely data as clear as these are at the limit."""

    p_value: float
    estimate: st.Estimate
    """Log-speedup beside the limit: above 0 keeps it."""
    other: st.Estimate | None
    """The same by the other reading."""
    readings: Readings


def standings(rivals: Sequence[Rival], max_slowdown: float, alpha_share: float = 1.0) -> list[Standing]:
    """On which side of a limit each is: gates, the limit of a bench and the pytest plug-in all ask this.

    It is the judgement of verdicts with the limit in place of no difference: the same estimate, the same claims that
    few launches or rounds do not carry, and nothing decided where readings contradict each other or the race is biased.
    All rivals are tested at once, so that a wrong side of any of them has the error probability of one (Holm).
    """
    tests = [_test_at(each, math.log1p(max_slowdown)) for each in rivals]
    alphas = [alpha_share * alpha_of(each.subject) for each in rivals]
    levels = st.holm_levels([1.0 if test is None else test.p_value for test in tests], alphas)
    return [
        _standing(rival.subject, test, level, max_slowdown)
        for rival, test, level in zip(rivals, tests, levels, strict=True)
    ]


def standings_in(cases: Sequence[Case], max_slowdown: float) -> list[dict[str, Standing]]:
    """Those of all compared subjects by name, a table for each case; tested at once over all cases."""
    rivals = [_rivals_in(case) for case in cases]
    found = iter(standings([each for of_case in rivals for each in of_case], max_slowdown))
    return [{each.subject.name: next(found) for each in of_case} for of_case in rivals]


def all_told(
    subjects: Sequence[Measurement],
    baseline: str | None,
    min_effect: float,
    alpha_share: float = 1.0,
    *,
    max_slowdown: float,
) -> bool:
    """Whether a race knows on which side of the limit each subject is; without rivals, whether it is settled."""
    name = baseline_of(subjects, baseline)
    judged = compare(subjects, name, min_effect, alpha_share)
    rivals = _rivals_of(judged, name, min_effect)
    if not rivals:
        return settled(subjects, baseline, min_effect, alpha_share)
    alone = [standings([each], max_slowdown, alpha_share)[0] for each in rivals]  # a control is no further claim
    return all(each.outcome != "undecided" for each in alone)


def _rivals_in(case: Case) -> list[Rival]:
    return _rivals_of(case.subjects, case.baseline, case.min_effect)


def _rivals_of(subjects: Sequence[Subject], baseline: str | None, min_effect: float) -> list[Rival]:
    base = next((each for each in subjects if each.name == baseline), None)
    if base is None:
        return []
    return [Rival(each, base, min_effect) for each in subjects if each is not base and each.status == "ok"]


def _test_at(rival: Rival, log_limit: float) -> _Test | None:
    """The test of one; None where nothing decides it, however clear."""
    subject, base, min_effect = rival
    readings = readings_of(subject, base, reading_of((subject, base)), min_effect)
    read, other = readings.deciding, readings.other
    if read is None or not read.rounds.evidence.carries_interval:
        return None
    estimate = _beside(log_limit, read, 1.0 if readings.by_means else _SHARED)
    if abs(estimate.value) < math.log1p(SMALL_CLAIM) and read.rounds.evidence.launches < MIN_LAUNCHES:
        return None
    return _Test(estimate.beyond(read.least), estimate, other and _beside(log_limit, other), readings)


def _beside(log_limit: float, read: Read, shared: float = 1.0) -> st.Estimate:
    estimate = read.estimate
    return estimate._replace(value=estimate.value + log_limit, error=shared * estimate.error)


def _standing(subject: Subject, test: _Test | None, level: float, max_slowdown: float) -> Standing:
    found = Comparison.spelled(subject, "speedup").inverse()
    if test is None:
        return Standing("undecided", replace(found, reason=subject.reason or _FEW))
    low, high = (math.exp(math.log1p(max_slowdown) - each) for each in test.estimate.interval(level)[::-1])
    found = replace(found, low=low, high=high, reason="")
    if test.p_value > level:
        few = _FEW if subject.unit == "round" else _INCLUDED
        return Standing("undecided", replace(found, reason=few))
    outcome, other = _side(test.estimate, level), _side(test.other, level)
    if test.readings.contradict(outcome, other):
        return Standing("undecided", replace(found, reason=_CONTRADICTED))
    return Standing(outcome, found)


def _side(estimate: st.Estimate | None, level: float) -> GateOutcome:
    if estimate is None:
        return "undecided"
    low, high = estimate.interval(level)
    return "passed" if low >= 0 else "failed" if high < 0 else "undecided"


# ---------------------------------------------------------------- the limits of a gate


def limits_in(cases: Sequence[Case], max_slowdown: float) -> list[GateLimit]:
    """What the races of all sizes say of outputs, time and instructions."""
    rivals = [_new_in(case) for case in cases]
    found = iter(standings([each for each in rivals if each is not None], max_slowdown))
    limits: list[GateLimit] = []
    for case, rival in zip(cases, rivals, strict=True):
        if rival is None:
            limits.append(_not_compared(case, max_slowdown))
        else:
            limits += _compared(case, rival, next(found), max_slowdown)
    return limits


def _new_in(case: Case) -> Rival | None:
    """The new model with its baseline, where both can be compared."""
    rivals = {each.subject.name: each for each in _rivals_of(case.subjects, BASELINE, case.min_effect)}
    new = rivals.get(NEW)
    return new if new is not None and new.base.status == "ok" else None


def _not_compared(case: Case, max_slowdown: float) -> GateLimit:
    """Why there is no ratio: what is broken fails, unless it is the baseline."""
    subjects = {subject.name: subject for subject in case.subjects}
    base, new = subjects.get(BASELINE), subjects.get(NEW)
    if base is not None and base.status == "ok" and new is not None:
        return broken(case, new)
    failed = f"the baseline failed: {base.reason or base.status}" if base is not None and new is not None else ""
    reason = failed or case.answer or "nothing was measured"
    return GateLimit(measure="time", dims=case.dims, limit=1 + max_slowdown, reason=reason)


def _compared(case: Case, rival: Rival, standing: Standing, max_slowdown: float) -> list[GateLimit]:
    time = GateLimit(
        measure="time",
        dims=case.dims,
        limit=1 + max_slowdown,
        **standing.found.named("ratio"),
        baseline=time_of(rival.base),
        new=time_of(rival.subject),
        outcome=standing.outcome,
        reason=standing.found.reason,
    )
    return [time, *instructions_limit(case, rival.base, rival.subject, max_slowdown)]


def broken(case: Case, new: Subject) -> GateLimit:
    """A new model that does not run, or whose outputs differ."""
    measure: Measure = "outputs" if new.status == "differs" else "time"
    return GateLimit(measure=measure, dims=case.dims, outcome="failed", reason=new.reason or new.status)


def instructions_limit(case: Case, base: Subject, new: Subject, max_slowdown: float) -> list[GateLimit]:
    """They are counted, not sampled: what repeats within a tenth of a percent needs no interval."""
    if new.instructions is None or not base.instructions:
        return []
    limit, ratio = 1 + max_slowdown, new.instructions / base.instructions
    return [
        GateLimit(
            measure="instructions",
            dims=case.dims,
            limit=limit,
            ratio=ratio,
            baseline=base.instructions,
            new=new.instructions,
            outcome=side_of(ratio, ratio, limit),
        )
    ]


def error_limit(case: Case, error: float | None, max_error: float, reason: str = "") -> GateLimit:
    """How far the outputs of the new model are from those of the baseline, or why that is not a number."""
    is_kept = error is not None and error <= max_error
    return GateLimit(
        measure="error",
        dims=case.dims,
        limit=max_error,
        new=error,
        outcome="passed" if is_kept else "failed",
        reason=reason if error is None else "",
    )


def memory_limit(
    case: Case, needs: Mapping[str, Sequence[int]], max_memory: float, reason: str = "it could not be measured"
) -> GateLimit:
    """What several processes of each side needed, all of one side against all of the other; or why that is unknown."""
    limit, base, new = 1 + max_memory, needs.get(BASELINE, ()), needs.get(NEW, ())
    if not base or not new or not min(base):
        return GateLimit(measure="memory", dims=case.dims, limit=limit, reason=f"memory: {reason}")
    found = weighed(base, new, max_memory).inverse()
    outcome = side_of(found.low, found.high, limit)
    return GateLimit(
        measure="memory",
        dims=case.dims,
        limit=limit,
        **found.named("ratio"),
        baseline=found.after,
        new=found.before,
        baseline_values=tuple(base),
        new_values=tuple(new),
        outcome=outcome,
        reason=f"memory: {_IN_RANGE}" if outcome == "undecided" else "",
    )


def control_in(case: Case) -> GateControl:
    """Whether equal models were called equal."""
    subject = next((each for each in case.subjects if each.name == CONTROL), None)
    if subject is None or subject.status != "ok" or subject.speedup is None:
        reason = "it was not measured" if subject is None else subject.reason or subject.status
        return GateControl(dims=case.dims, reason=reason)
    found = Comparison.spelled(subject, "speedup").inverse()
    differs = subject.verdict in ("faster", "slower")
    reason = f"equal models were called different ({subject.verdict})" if differs else ""
    return GateControl(dims=case.dims, **found.named("ratio"), passed=not differs, reason=reason)


def after_controls(limits: Sequence[GateLimit], controls: Sequence[GateControl]) -> list[GateLimit]:
    """The limits, of which times are undecided in each case whose control failed.

    What is counted or weighed does not depend on the clock; what is broken stays broken.
    """
    failed = {_place(each.dims): each for each in controls if not each.passed}
    return [_after_control(each, failed.get(_place(each.dims))) for each in limits]


def _after_control(limit: GateLimit, failed: GateControl | None) -> GateLimit:
    if failed is None or limit.measure != "time" or limit.ratio is None:
        return limit
    return replace(limit, outcome="undecided", reason=f"the control failed: {failed.reason}")


def _place(dims: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(dims.items())


def outcome_of(limits: Sequence[GateLimit]) -> GateOutcome:
    """Failed where one limit is not kept, undecided where one cannot be told, else passed."""
    outcomes = {each.outcome for each in limits}
    order: tuple[GateOutcome, ...] = ("failed", "undecided")
    return next((each for each in order if each in outcomes), "passed" if limits else "undecided")


def final_outcome(record: Gate) -> GateOutcome:
    """The outcome after it was said what an undecided one counts as."""
    return record.undecided_as if record.outcome == "undecided" else record.outcome
