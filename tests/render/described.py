"""What pages describe: their charts by title, what is drawn, and the columns of tables as screens show them."""

from __future__ import annotations

from typing import Any

from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.page import Page, sections_of
from onnxperf.render.kit.table import Table, grid_of


def charts_of(page: Page) -> dict[str, Chart]:
    """The charts that an HTML page shows; each has a summary in sentences, and a table."""
    found = [part for section in sections_of(page) for part in section.parts if isinstance(part, Chart)]
    assert all(chart.summary.endswith(".") and chart.table.rows for chart in found)
    return {chart.title: chart for chart in found}


def picture_of(chart: Chart) -> Any:
    """What the only layer of a chart draws."""
    (layer,) = chart.layers
    return layer.picture


def labels_in(chart: Chart) -> list[str]:
    """Ratio and verdict of every mark of a forest."""
    return [mark.label for mark in picture_of(chart).marks]


def column(table: Table[Any], heading: str) -> list[str]:
    """The cells below a heading."""
    grid = grid_of(table)
    place = [each.heading for each in grid.columns].index(heading)
    return [line.cells[place].text for line in grid.lines]
