"""A comparison of outputs on a page: the largest difference of each."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.check import Check, Difference
from onnxperf.render.race.check import differences_table
from onnxperf.render.web.bars import BarSeries, bars_data
from onnxperf.render.web.forest import BLUE, RED
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.render.web.plots import finite, value_axis
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, grouped, significant

MOST_OUTPUTS = 40
"""Outputs that the chart shows, those that differ most; the table has all."""


def check_sections(check: Check) -> list[Section]:
    """The largest difference of each output, where there is one."""
    parts = difference_parts([check])
    return [Section("Differences by output", parts)] if parts else []


def difference_parts(checks: Sequence[Check]) -> list[Part]:
    """A chart for each comparison whose outputs are not the same to the last bit."""
    found = [(check, [each for each in check.outputs if finite(each.max_absolute)]) for check in checks]
    return [_chart(check, outputs) for check, outputs in found if outputs]


def _chart(check: Check, outputs: Sequence[Difference]) -> Chart:
    shown = sorted(outputs, key=lambda each: -(each.max_absolute or 0.0))[:MOST_OUTPUTS]
    values = [each.max_absolute or 0.0 for each in shown]
    colours = [BLUE if each.equal else RED for each in shown]
    series = BarSeries("largest absolute difference", values, [_words(each) for each in shown], colours=colours)
    axis = value_axis("largest absolute difference", values, from_zero=True)
    differing = sum(not each.equal for each in check.outputs)
    same = len(check.outputs) - len(outputs)
    summary = (
        f"{count(len(check.outputs), 'output')} of {name_of(check.first)} against {name_of(check.second)}: "
        f"{differing} differ beyond the tolerances (rtol {significant(check.rtol)}, atol {significant(check.atol)}), "
        f"{same} are the same to the last bit or have no numbers to compare."
    )
    data = bars_data([each.name for each in shown], [series], axis)
    title = f"Largest differences, {name_of(check.model)}"
    return Chart("bars", title, summary, data, differences_table(check), 90 + 34 * len(shown))


def _words(output: Difference) -> str:
    relative = finite(output.max_relative)
    texts = [
        significant(output.max_absolute or 0.0),
        "" if relative is None else f"relative {significant(relative)}",
        f"{grouped(output.differing)} of {count(output.elements, 'element')} beyond the tolerances",
    ]
    return ", ".join(filter(None, texts))
