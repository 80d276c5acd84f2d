"""The operators of a model as a page, a table and a chart."""

from __future__ import annotations

from onnxperf.records.toy import Toy  # type: ignore[import-not-found]

from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.column import NAME, WHOLE, Column
from onnxperf.render.kit.page import Heading, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.wording.numbers import count, grouped


def toy_page(record: Toy) -> Page:
    """A row per operator, and the answer."""
    return [Heading(record.model), Section("Operators", operators_charts(record)), *answered(record.answer)]


def operators_table(record: Toy) -> Table[str]:
    """How many nodes each operator has."""
    nodes: Column[str] = Column("nodes", "nodes", lambda name: record.operators[name], WHOLE)
    return Table([Column("operator", "operator", str, NAME), nodes], list(record.operators))


def operators_charts(record: Toy) -> list[Chart]:
    """A bar per operator."""
    names, nodes = list(record.operators), list(record.operators.values())
    picture = bars(names, [BarSeries("nodes", nodes, [grouped(number) for number in nodes])], "nodes")
    return [bars_chart("Nodes", f"{count(len(names), 'operator')}.", picture, operators_table(record))]
