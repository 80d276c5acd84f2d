"""Whether a model meets its limits, and whether the race of a gate was able to decide."""

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
"""Factor by which the error of a long race exceeds what its launches show if the fastest pieces decide, because all
launches are matched against the fastest of the whole race. Verdicts also have a minimum effect, but limits have no such
reserve (`benchmarks/gate_rates.py`: without it, 8 % of gates were wrong at the limit)."""
_INCLUDED = "the interval includes the limit: a longer `time` narrows it"
_IN_RANGE = "the range of all processes includes the limit"
_CONTRADICTED = "its fastest calls and all of its calls disagree: a longer `time` shows whether its calls vary"
_FEW = "too few rounds or launches to decide on which side of the limit it is: use a longer `time`"


def side_of(low: float | None, high: float | None, limit: float) -> GateOutcome:
    """Passed if the whole interval is at most the limit, failed if all of it is above."""
    if low is None or high is None:
        return "undecided"
    if high <= limit:
        return "passed"
    return "failed" if low > limit else "undecided"


# ---------------------------------------------------------------- the judgment of a limit


class Rival(NamedTuple):
    """A subject with its verdict, the baseline of its race, and the minimum effect of that verdict."""

    subject: Subject
    base: Subject
    min_effect: float


class Standing(NamedTuple):
    """The side of a limit on which a subject is."""

    outcome: GateOutcome
    found: Comparison
    """Time / time of the baseline, with the interval compared with the limit, and the reason if undecided."""


class _Test(NamedTuple):
    """Test of the data against the limit."""

    p_value: float
    estimate: st.Estimate
    """Log-speedup relative to the limit; above 0 meets it."""
    other: st.Estimate | None
    """The same with the other reading."""
    readings: Readings


def standings(rivals: Sequence[Rival], max_slowdown: float, alpha_share: float = 1.0) -> list[Standing]:
    """The side of the limit for each rival, as used by gates, the limit of a bench and the pytest plug-in.

    Limits are judged like verdicts, with the limit instead of no difference: with the same estimate and the same
    minimum evidence, and nothing is decided if readings contradict each other or the race is biased. All rivals are
    tested together, with the error probability of a single test (Holm).
    """
    tests = [_test_at(each, math.log1p(max_slowdown)) for each in rivals]
    alphas = [alpha_share * alpha_of(each.subject) for each in rivals]
    levels = st.holm_levels([1.0 if test is None else test.p_value for test in tests], alphas)
    return [
        _standing(rival.subject, test, level, max_slowdown)
        for rival, test, level in zip(rivals, tests, levels, strict=True)
    ]


def standings_in(cases: Sequence[Case], max_slowdown: float) -> list[dict[str, Standing]]:
    """Standings of all compared subjects by name, for each case; tested together over all cases."""
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
    """Whether the side of the limit is decided for each subject; without rivals, whether the race is settled."""
    name = baseline_of(subjects, baseline)
    judged = compare(subjects, name, min_effect, alpha_share)
    rivals = _rivals_of(judged, name, min_effect)
    if not rivals:
        return settled(subjects, baseline, min_effect, alpha_share)
    alone = [standings([each], max_slowdown, alpha_share)[0] for each in rivals]  # a control is not an additional claim
    return all(each.outcome != "undecided" for each in alone)


def _rivals_in(case: Case) -> list[Rival]:
    return _rivals_of(case.subjects, case.baseline, case.min_effect)


def _rivals_of(subjects: Sequence[Subject], baseline: str | None, min_effect: float) -> list[Rival]:
    base = next((each for each in subjects if each.name == baseline), None)
    if base is None:
        return []
    return [Rival(each, base, min_effect) for each in subjects if each is not base and each.status == "ok"]


def _test_at(rival: Rival, log_limit: float) -> _Test | None:
    """The test of a rival; None if the evidence is insufficient for any decision."""
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
    """Limits of outputs, time and instructions from the races of all sizes."""
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
    """The new model with its baseline, if both can be compared."""
    rivals = {each.subject.name: each for each in _rivals_of(case.subjects, BASELINE, case.min_effect)}
    new = rivals.get(NEW)
    return new if new is not None and new.base.status == "ok" else None


def _not_compared(case: Case, max_slowdown: float) -> GateLimit:
    """A limit without a ratio: a broken new model fails, a broken baseline does not."""
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
    """Instructions are counted, not sampled: counts that repeat within 0.1 % need no interval."""
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
    """The limit of the output error of the new model, or why the error is not a number."""
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
    """The limit of the memory of several processes of each side, all against all; or why it is unknown."""
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
    """Whether no difference was claimed between equal models."""
    subject = next((each for each in case.subjects if each.name == CONTROL), None)
    if subject is None or subject.status != "ok" or subject.speedup is None:
        reason = "it was not measured" if subject is None else subject.reason or subject.status
        return GateControl(dims=case.dims, reason=reason)
    found = Comparison.spelled(subject, "speedup").inverse()
    differs = subject.verdict in ("faster", "slower")
    reason = f"a difference was claimed between equal models ({subject.verdict})" if differs else ""
    return GateControl(dims=case.dims, **found.named("ratio"), passed=not differs, reason=reason)


def after_controls(limits: Sequence[GateLimit], controls: Sequence[GateControl]) -> list[GateLimit]:
    """The limits, with times undecided in each case whose control failed.

    Instructions and memory do not depend on the clock, and broken models stay broken.
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
    """Failed if a limit is not met, undecided if one is undecided, else passed."""
    outcomes = {each.outcome for each in limits}
    order: tuple[GateOutcome, ...] = ("failed", "undecided")
    return next((each for each in order if each in outcomes), "passed" if limits else "undecided")


def final_outcome(record: Gate) -> GateOutcome:
    """The outcome after applying how undecided gates are counted."""
    return record.undecided_as if record.outcome == "undecided" else record.outcome
