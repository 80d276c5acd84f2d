"""Charts with select boxes: which of several layers is shown, and which rows of the table behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onnxperf.render.kit.old_table import Table
from onnxperf.render.web.old_base import Chart


class Filter(NamedTuple):
    """A select box above a chart."""

    name: str
    values: Sequence[str]
    column: int | None = None
    """Place of these values in the table behind the chart, whose rows it chooses, too."""
    everything: str = ""
    """What the choice of all is called; empty where exactly one is shown."""


class Layer(NamedTuple):
    """What a chart draws, and for which choices."""

    only: Mapping[str, str]
    """Name of a filter -> its value."""
    data: Mapping[str, object]


def layered(
    kind: str,
    title: str,
    summary: str,
    shared: Mapping[str, object],
    layers: Sequence[Layer],
    filters: Sequence[Filter],
    table: Table,
    height: int = 320,
) -> Chart:
    """A chart of which select boxes choose a layer; those with nothing to choose from are left out."""
    offered = [each for each in filters if len(each.values) > 1]
    if not offered:
        return Chart(kind, title, summary, {**shared, **(layers[0].data if layers else {})}, table, height)
    names = {each.name for each in offered}
    drawn = [{"only": {n: v for n, v in each.only.items() if n in names}, **each.data} for each in layers]
    boxes = [each._asdict() for each in offered]
    return Chart(kind, title, summary, {**shared, "filters": boxes, "layers": drawn}, table, height)
