"""A gate on a page: ratios beside their limits and their control, then the races."""

from __future__ import annotations

from onnxperf.records.gate import Gate, GateControl, GateLimit, GateOutcome
from onnxperf.render.race.gate import gate_table
from onnxperf.render.web.forest import BLUE, GREEN, RED, YELLOW, Forest, ForestMark, forest_chart, has_marks
from onnxperf.render.web.old_base import Part, Section
from onnxperf.render.web.sections.race import cases_sections, labels_of
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import count, significant

_COLOURS: dict[GateOutcome, int] = {"passed": GREEN, "failed": RED, "undecided": YELLOW}


def gate_sections(record: Gate) -> list[Section]:
    """Limits first, then what a page shows of the races."""
    limits = _limits(record)
    races = cases_sections(labels_of(record.races), "Races") if record.races else []
    return [*([Section("Limits", limits)] if limits else []), *races]


def _limits(record: Gate) -> list[Part]:
    ratios = [each for each in record.limits if each.measure != "error"]  # it is no ratio
    marks = [*map(_limit, ratios), *map(_control, record.controls)]
    accepted = {each.limit for each in ratios if each.limit is not None}
    forest = Forest(marks, max(accepted) - 1 if len(accepted) == 1 else None)
    if not has_marks(forest):
        return []
    summary = (
        f"New / baseline of {count(len(record.limits), 'limit')} with 95 % intervals, those of memory with the range "
        "of all processes; above 1 the new model takes more. A limit is kept where all of its interval is below it. "
        f"{_controls(record)}"
    )
    return [forest_chart("Ratios and limits", summary.strip(), "new / baseline", [forest], gate_table(record))]


def _controls(record: Gate) -> str:
    failed = sum(not each.passed for each in record.controls)
    if failed:
        return f"{count(failed, 'control')} failed: equal models were called different."
    return f"The control is the {'new model' if record.recorded else 'baseline'} against itself."


def _limit(limit: GateLimit) -> ForestMark:
    name = f"{limit.measure} {dims_text(limit.dims)}".strip()
    more = f"limit {significant(limit.limit, 4)}" if limit.limit is not None else ""
    colour = _COLOURS[limit.outcome]
    return ForestMark(name, limit.ratio, limit.ratio_low, limit.ratio_high, colour, limit.outcome, more)


def _control(control: GateControl) -> ForestMark:
    name = f"control {dims_text(control.dims)}".strip()
    colour, word = (BLUE, "passed") if control.passed else (RED, "failed")
    return ForestMark(name, control.ratio, control.ratio_low, control.ratio_high, colour, word)
