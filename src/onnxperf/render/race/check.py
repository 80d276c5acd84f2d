"""A check as a page: a row per output, and where the difference begins."""

from __future__ import annotations

from onnxperf.records.check import Check, Difference
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.wording.names import name_of, with_reasons
from onnxperf.wording.numbers import grouped, significant

_NUMBERS = (
    ("differing", 0),
    ("max abs", 0),
    ("max rel", 1),
    ("max ULP", 2),
    ("NaN", 3),
    ("inf", 3),
)
"""Headings, and which of them a narrow console leaves out first."""


def check_page(check: Check, answer: str) -> list[Part]:
    """The table, what differs besides numbers, the answer, and what else there is to know."""
    return [*differences_parts(check), *closing(answer, check.notes)]


def differences_parts(check: Check) -> list[Part]:
    """What was compared, a row per output, and what differs besides numbers."""
    facts = [
        f"{check.first} against {check.second}",
        f"rtol {significant(check.rtol)}",
        f"atol {significant(check.atol)}",
    ]
    reasons = [Line(text) for text in with_reasons((output.name, _reason(output)) for output in check.outputs)]
    table = [differences_table(check)] if check.outputs else []  # nothing ran where a model draws random numbers
    return [Heading(check.model, facts), *table, *([GAP, *reasons] if reasons else [])]


def differences_table(check: Check) -> Table:
    """A row per output; those that differ are red."""
    columns = (
        Column("output", left=True, room=16),
        Column("equal", left=True),
        *(Column(heading, rank=rank) for heading, rank in _NUMBERS),
    )
    return Table(columns, [Row(_cells(output), "" if output.equal else "red") for output in check.outputs])


def _reason(difference: Difference) -> str:
    """What a row cannot show: what differs besides numbers, else where these differ most."""
    if difference.reason or not difference.differs_at:
        return difference.reason
    which = "largest" if difference.differs_by is not None else "first"
    return f"the {which} difference is at {difference.differs_at}"


def _cells(difference: Difference) -> tuple[str, ...]:
    return (
        name_of(difference.name),
        "yes" if difference.equal else "no",
        f"{grouped(difference.differing)} of {grouped(difference.elements)}",
        _number(difference.max_absolute),
        _number(difference.max_relative),
        _number(difference.max_ulp),
        _pair(difference.nans),
        _pair(difference.infinities),
    )


def _number(value: float | None) -> str:
    return "" if value is None else significant(value)


def _pair(counts: tuple[int, int]) -> str:
    return "0" if counts == (0, 0) else f"{grouped(counts[0])} / {grouped(counts[1])}"
