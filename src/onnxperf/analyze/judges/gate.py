"""Whether a model keeps to its limits, and whether the race of a gate could tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from onnxperf.records.gate import BASELINE, CONTROL, NEW, Gate, GateControl, GateLimit, GateOutcome, Measure
from onnxperf.records.race import Case, Subject

_INCLUDED = "the interval includes the limit: a longer `time` narrows it"


def side_of(low: float | None, high: float | None, limit: float) -> GateOutcome:
    """Passed where all of the interval is at most the limit, failed where all of it is above."""
    if low is None or high is None:
        return "undecided"
    if high <= limit:
        return "passed"
    return "failed" if low > limit else "undecided"


def is_told(subject: Subject, max_slowdown: float) -> bool:
    """Whether a race knows on which side of the limit a subject is."""
    return side_of(*_ratio_of(subject)[1:], 1 + max_slowdown) != "undecided"


def is_beyond(subject: Subject, max_slowdown: float) -> bool:
    """Whether a subject is slower than the limit, beyond the noise."""
    return side_of(*_ratio_of(subject)[1:], 1 + max_slowdown) == "failed"


def limits_in(case: Case, max_slowdown: float) -> list[GateLimit]:
    """What a race says of outputs, time and instructions."""
    subjects = {subject.name: subject for subject in case.subjects}
    base, new = subjects.get(BASELINE), subjects.get(NEW)
    if base is None or new is None or base.status != "ok":
        failed = f"the baseline failed: {base.reason or base.status}" if base is not None else ""
        reason = failed or case.answer or "nothing was measured"
        return [GateLimit(measure="time", dims=case.dims, limit=1 + max_slowdown, reason=reason)]
    if new.status != "ok":
        return [broken(case, new)]
    return [_time(case, base, new, max_slowdown), *instructions_limit(case, base, new, max_slowdown)]


def broken(case: Case, new: Subject) -> GateLimit:
    """A new model that does not run, or whose outputs differ."""
    measure: Measure = "outputs" if new.status == "differs" else "time"
    return GateLimit(measure=measure, dims=case.dims, outcome="failed", reason=new.reason or new.status)


def _time(case: Case, base: Subject, new: Subject, max_slowdown: float) -> GateLimit:
    ratio, low, high = _ratio_of(new)
    limit = 1 + max_slowdown
    outcome = side_of(low, high, limit)
    why = new.reason if low is None else _INCLUDED  # that of the verdict is about another question
    return GateLimit(
        measure="time",
        dims=case.dims,
        limit=limit,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        baseline=base.median_ns,
        new=new.median_ns,
        outcome=outcome,
        reason=why if outcome == "undecided" else "",
    )


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
    low, high = min(new) / max(base), max(new) / min(base)
    return GateLimit(
        measure="memory",
        dims=case.dims,
        limit=limit,
        ratio=median(new) / median(base),
        ratio_low=low,
        ratio_high=high,
        baseline=median(base),
        new=median(new),
        outcome=side_of(low, high, limit),
    )


def control_in(case: Case) -> GateControl:
    """Whether equal models were called equal."""
    subject = next((each for each in case.subjects if each.name == CONTROL), None)
    if subject is None or subject.status != "ok" or subject.speedup is None:
        reason = "it was not measured" if subject is None else subject.reason or subject.status
        return GateControl(dims=case.dims, reason=reason)
    ratio, low, high = _ratio_of(subject)
    differs = subject.verdict in ("faster", "slower")
    reason = f"equal models were called different ({subject.verdict})" if differs else ""
    return GateControl(dims=case.dims, ratio=ratio, ratio_low=low, ratio_high=high, passed=not differs, reason=reason)


def outcome_of(limits: Sequence[GateLimit], controls: Sequence[GateControl]) -> GateOutcome:
    """Failed where the new model is broken or a limit is not kept; a failed control leaves no limit decided."""
    if any(each.outcome == "failed" and each.ratio is None for each in limits):
        return "failed"
    if not limits or not all(each.passed for each in controls):
        return "undecided"
    outcomes = {each.outcome for each in limits}
    order: tuple[GateOutcome, ...] = ("failed", "undecided")
    return next((each for each in order if each in outcomes), "passed")


def final_outcome(record: Gate) -> GateOutcome:
    """The outcome after it was said what an undecided one counts as."""
    return record.undecided_as if record.outcome == "undecided" else record.outcome


def _ratio_of(subject: Subject) -> tuple[float | None, float | None, float | None]:
    """Time of the subject / that of the baseline, with the ends of its interval."""
    return _inverse(subject.speedup), _inverse(subject.speedup_high), _inverse(subject.speedup_low)


def _inverse(value: float | None) -> float | None:
    return 1 / value if value else None
