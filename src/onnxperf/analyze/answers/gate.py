"""Whether a new model may pass, in plain sentences."""

from __future__ import annotations

import math

from onnxperf.analyze.judges.gate import final_outcome
from onnxperf.records.gate import Gate, GateControl, GateLimit
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import factor, significant

_VERBS = {"passed": "passes", "failed": "fails", "undecided": "is undecided"}
_TAKES = {
    "time": "takes {} times as long as {}",
    "instructions": "takes {} times the instructions of {}",
    "memory": "needs {} times the memory of {}",
}


def gate_answer(record: Gate) -> str:
    """The outcome, then the limit that decides it, then the control."""
    if record.interrupted:
        return "Nothing is decided: the gate was interrupted."
    final = final_outcome(record)
    counts = "" if final == record.outcome else f", which counts as {record.undecided_as}"
    said = f"{name_of(record.model)} {_VERBS[record.outcome]}{counts}: "
    deciding = [each for each in record.limits if each.outcome == record.outcome] or record.limits
    worst = max(deciding, key=_closeness)
    failed = next((each for each in record.controls if not each.passed and each.dims == worst.dims), None)
    if failed is not None and worst.measure == "time" and worst.ratio is not None:
        return f"{said}the control failed{_place(failed)}: {failed.reason}. The times of this case are discarded."
    several = {"passed": f", the closest of {len(deciding)} limits", "failed": f" (and {len(deciding) - 1} more)"}
    more = several.get(record.outcome, "") if len(deciding) > 1 else ""
    return f"{said}{_about(record, worst)}{more}. {_about_controls(record)}".strip()


def _closeness(limit: GateLimit) -> float:
    """How near the end of an interval is to its limit, or how far beyond it; what is broken is furthest."""
    if limit.measure == "error" and limit.outcome == "passed":
        return -math.inf  # how near an error is says nothing about the other limits
    return math.inf if limit.ratio is None else (limit.ratio_high or limit.ratio) / (limit.limit or 1.0)


def _about(record: Gate, limit: GateLimit) -> str:
    place = _place(limit)
    if limit.measure == "error" and limit.new is not None:
        size, most = (significant(each or 0.0) for each in (limit.new, limit.limit))
        return f"the largest error of its outputs is {size}{place}, and the limit is {most}"
    if limit.ratio is None or limit.limit is None:
        return f"{limit.reason}{place}"
    ends = f" ({_ends(limit)})" if limit.ratio_low is not None else ""
    words = _TAKES[limit.measure].format(factor(limit.ratio), name_of(record.baseline))
    return f"it {words}{ends}{place}, and the limit is {significant(limit.limit, 4)}"


def _about_controls(record: Gate) -> str:
    passed = [each for each in record.controls if each.passed and each.ratio_low is not None]
    if not passed:
        return ""
    widest = max(passed, key=lambda each: (each.ratio_high or 1.0) / (each.ratio_low or 1.0))
    which = "new model" if record.recorded else "baseline"
    return f"The control, the {which} against itself, gave {factor(widest.ratio)} ({_ends(widest)})."


def _ends(part: GateLimit | GateControl) -> str:
    return f"{factor(part.ratio_low)} to {factor(part.ratio_high)}"


def _place(part: GateLimit | GateControl) -> str:
    return f" for {dims_text(part.dims)}" if part.dims else ""


def notes_on(record: Gate) -> list[str]:
    """What the races have to say besides, and what to do where nothing was decided."""
    notes = list(dict.fromkeys(note for case in record.races for note in case.notes))
    reasons = [each.reason for each in record.limits if each.outcome == "undecided" and each.reason]
    return [*dict.fromkeys(reasons), *notes]
