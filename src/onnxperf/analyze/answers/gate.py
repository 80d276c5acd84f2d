"""Whether a new model passes, in plain sentences."""

from __future__ import annotations

import math

from onnxperf.analyze.judges.gate import final_outcome
from onnxperf.records.gate import Gate, GateControl, GateLimit
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import ratio_within, significant
from onnxperf.wording.verdicts import gate_word

_TAKES = {
    "time": "{} takes {} as long as {}",
    "instructions": "{} takes {} the instructions of {}",
    "memory": "{} needs {} the memory of {}",
}


def gate_answer(record: Gate) -> str:
    """The outcome, then the limit that decides it, then the control."""
    if record.interrupted:
        return f"{gate_word('undecided')}: the gate was interrupted."
    final = final_outcome(record)
    counts = "" if final == record.outcome else f", which counts as {gate_word(record.undecided_as)}"
    said = f"{gate_word(record.outcome)}{counts}: "
    deciding = [each for each in record.limits if each.outcome == record.outcome] or record.limits
    worst = max(deciding, key=_closeness)
    failed = next((each for each in record.controls if not each.passed and each.dims == worst.dims), None)
    if failed is not None and worst.measure == "time" and worst.ratio is not None:
        return (
            f"{said}the control failed{_place(record, failed)}: {failed.reason}. The times of this case are discarded."
        )
    several = {"passed": f", the closest of {len(deciding)} limits", "failed": f" (and {len(deciding) - 1} more)"}
    more = several.get(record.outcome, "") if len(deciding) > 1 else ""
    return f"{said}{_about(record, worst)}{more}.{_about_controls(record)}"


def _closeness(limit: GateLimit) -> float:
    """How near the end of an interval is to its limit, or how far beyond it; what is broken is furthest."""
    if limit.measure == "error" and limit.outcome == "passed":
        return -math.inf  # how near an error is says nothing about the other limits
    return math.inf if limit.ratio is None else (limit.ratio_high or limit.ratio) / (limit.limit or 1.0)


def _about(record: Gate, limit: GateLimit) -> str:
    place = _place(record, limit)
    if limit.measure == "error" and limit.new is not None:
        size, most = (significant(each or 0.0) for each in (limit.new, limit.limit))
        return f"the largest error of {name_of(record.model)} is {size}{place}; the limit is {most}"
    if limit.ratio is None or limit.limit is None:
        return f"{limit.reason}{place}"
    found, within = _within(limit)
    if limit.measure == "memory":
        within = within.replace("95 % CI", "all processes")
    base = name_of(record.baseline) if record.baseline != record.model else "the baseline"
    words = _TAKES[limit.measure].format(name_of(record.model), found, base)
    return f"{words}{place}{within}; the limit is {significant(limit.limit, 4)}×"


def _about_controls(record: Gate) -> str:
    passed = [each for each in record.controls if each.passed and each.ratio_low is not None]
    if not passed:
        return ""
    widest = max(passed, key=lambda each: (each.ratio_high or 1.0) / (each.ratio_low or 1.0))
    which = "new model" if record.recorded else "baseline"
    return f"\nControl, the {which} against itself: {''.join(_within(widest))}."


def _within(part: GateLimit | GateControl) -> tuple[str, str]:
    """The ratio, and its interval in brackets."""
    low, high = part.ratio_low, part.ratio_high
    return ratio_within(part.ratio or 0.0, None if low is None or high is None else (low, high))


def _place(record: Gate, part: GateLimit | GateControl) -> str:
    """The sizes, if there are several."""
    several = len({dims_text(each.dims) for each in record.limits}) > 1
    return f" for {dims_text(part.dims)}" if part.dims and several else ""


def notes_on(record: Gate) -> list[str]:
    """What the races have to say besides, and what to do where nothing was decided."""
    notes = list(dict.fromkeys(note for case in record.races for note in case.notes))
    reasons = [each.reason for each in record.limits if each.outcome == "undecided" and each.reason]
    return [*dict.fromkeys(reasons), *notes]
