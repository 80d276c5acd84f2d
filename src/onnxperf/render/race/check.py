"""A check as a page: a row per output, as a table and as a chart, and where the difference begins."""

from __future__ import annotations

import math
from typing import Any

from onnxperf.records.check import Check, Difference
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, LOG_FROM, RED, Chart
from onnxperf.render.kit.column import FLAG, NAME, NUMBER, WHOLE, Column, Format, bar_column, for_files
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import name_of, with_reasons
from onnxperf.wording.numbers import NOTHING, count, grouped, significant
from onnxperf.wording.verdicts import faced, sign_of

MOST_OUTPUTS = 40
"""Outputs that the chart shows, those that differ most; the table has all."""
_BOTH = Format(
    lambda pair: "0" if pair == (0, 0) else f"{grouped(pair[0])} / {grouped(pair[1])}",
    "whole",
    "#,##0",
    ("_first", "_second"),
)
_COLORS = {True: BLUE, False: RED}
_LEGEND = (("within the tolerances", BLUE), ("differs", RED))


def check_page(check: Check, answer: str) -> Page:
    """The table, what differs besides numbers, the answer, and what else there is to know."""
    return [
        Heading(check.model, check_facts(check)),
        Section("Differences by output", differences_parts(check)),
        *answered(answer, check.notes, verdict=verdict_of(check)),
    ]


def verdict_of(check: Check) -> str:
    """What the answer rests on."""
    return "undecided" if check.undecided else "passed" if check.equal else "differs"


def check_facts(check: Check) -> list[str]:
    """What was compared, and how."""
    return [
        f"{check.first} against {check.second}",
        f"rtol {significant(check.rtol)}",
        f"atol {significant(check.atol)}",
    ]


def differences_parts(check: Check) -> list[Any]:
    """A row per output, and what differs besides numbers."""
    # Nothing ran if a model draws random numbers.
    shown: list[Any] = [*differences_charts(check)] or [differences_table(check)]
    reasons = [Line(text) for text in with_reasons((output.name, _reason(output)) for output in check.outputs)]
    return [*shown, *([GAP, *reasons] if reasons else [])]


def differences_table(check: Check) -> Table[Difference]:
    """A row per output; those that differ are yellow, as everywhere."""
    return Table(
        [*DIFFERENCE, bar_column(lambda row: row.max_absolute, check.outputs)],
        check.outputs,
        style=lambda row: "" if row.equal else "yellow",
    )


def _verdict(difference: Difference) -> str:
    return faced("differs") if not difference.equal else f"{sign_of('passed')} agrees"


def _how_many(difference: Difference) -> str:
    """Of elements that could be compared."""
    if not difference.equal and not difference.differing:
        return NOTHING
    return f"{grouped(difference.differing)} of {grouped(difference.elements)}"


DIFFERENCE: list[Column[Difference]] = [
    Column("name", "output", lambda row: row.name, NAME, room=16),
    Column("equal", "", lambda row: row.equal, FLAG, text=_verdict, untitled=True),
    for_files("elements", lambda row: row.elements, WHOLE),
    Column(
        "differing",
        "differing",
        lambda row: row.differing,
        WHOLE,
        text=_how_many,
    ),
    for_files("differs_by", lambda row: row.differs_by, NUMBER),
    for_files("differs_at", lambda row: row.differs_at),
    Column("max_absolute", "max abs", lambda row: row.max_absolute, NUMBER),
    Column("max_relative", "max rel", lambda row: row.max_relative, NUMBER, 60),
    Column("max_ulp", "max ULP", lambda row: row.max_ulp, NUMBER, 80),
    Column("nans", "NaN", lambda row: row.nans, _BOTH, 100),
    Column("infinities", "inf", lambda row: row.infinities, _BOTH, 100),
    for_files("reason", lambda row: row.reason),
]
"""What is known of each output."""


def differences_charts(check: Check) -> list[Chart]:
    """A bar for each output that is not the same to the last bit, the largest difference first."""
    found = [(each.max_absolute, each) for each in check.outputs]
    differing = [(size, each) for size, each in found if size is not None and math.isfinite(size) and size > 0]
    if not differing:
        return []
    shown = sorted(differing, key=lambda pair: -pair[0])[:MOST_OUTPUTS]
    colors = [_COLORS[each.equal] for _, each in shown]
    sizes, words = [size for size, _ in shown], [_words(each) for _, each in shown]
    series = BarSeries("largest absolute difference", sizes, words, colors=colors)
    beyond = sum(not each.equal for each in check.outputs)
    same = len(check.outputs) - len(differing)
    largest, most = shown[0]
    summary = (
        f"{count(len(check.outputs), 'output')} of {name_of(check.first)} against {name_of(check.second)}: {beyond} "
        f"beyond the tolerances (rtol {significant(check.rtol)}, atol {significant(check.atol)}), {same} the same to "
        f"the last bit or without numbers to compare. {name_of(most.name)} differs the most, by {significant(largest)}."
    )
    legend = [each for each in _LEGEND if each[1] in colors]
    picture = bars([each.name for _, each in shown], [series], series.name, legend=legend, log_from=LOG_FROM)
    return [bars_chart(f"Largest differences, {name_of(check.model)}", summary, picture, differences_table(check))]


def _reason(difference: Difference) -> str:
    """What a row cannot show: what differs besides numbers, else where these differ most."""
    if difference.reason or not difference.differs_at:
        return difference.reason
    which = "largest" if difference.differs_by is not None else "first"
    return f"the {which} difference is at {difference.differs_at}"


def _words(output: Difference) -> str:
    relative = output.max_relative
    texts = [
        significant(output.max_absolute or 0.0),
        f"relative {significant(relative)}" if relative is not None and math.isfinite(relative) else "",
    ]
    beyond = f"{grouped(output.differing)} of {count(output.elements, 'element')} beyond the tolerances"
    return f"{', '.join(filter(None, texts))}{', ' if output.differing else chr(10)}{beyond}"
