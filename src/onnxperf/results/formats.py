"""The kinds of files that results can be written to: one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from onnxperf.errors import FileNotWritten
from onnxperf.render.charts.base import Width
from onnxperf.render.kit import frames, workbook


class Wanted(NamedTuple):
    """What a file is to hold, if there are several tables or charts."""

    table: str | None = None
    chart: str | None = None
    width: Width = "page"


class Format(NamedTuple):
    """A kind of file."""

    holds: str
    """What a file of this kind holds, for the documentation."""
    make: Callable[[Any, Wanted], bytes]
    """Its bytes, from a result and the chosen table or chart."""
    of: Literal["record", "page", "table", "chart", "own"] = "own"
    """What a result needs to have for it."""
    requires: Callable[[], object] | None = None
    """Raises MissingExtra where the library for it is not installed."""
    binary: bool = False
    """Whether it is binary, so not for a terminal."""


def _sheet(result: Any, wanted: Wanted) -> Any:
    return frames.frame_of(result.columns(wanted.table), with_footers=True)


def _markdown(result: Any, wanted: Wanted) -> bytes:
    return result.to_markdown().encode() if wanted.table is None else frames.markdown_bytes(_sheet(result, wanted))


def _workbook(result: Any, _wanted: Wanted) -> bytes:
    return workbook.workbook_bytes(
        result.story().summary, {name: result.columns(name) for name in result.table_names()}
    )


def _picture(form: Literal["png", "svg"]) -> Callable[[Any, Wanted], bytes]:
    def make(result: Any, wanted: Wanted) -> bytes:
        from onnxperf.render.paint.figure import figure_bytes  # matplotlib takes its time to load

        panels = result.charts(wanted.chart)
        if wanted.chart is not None and not panels:
            raise FileNotWritten(f"the chart {wanted.chart} has nothing to draw here; leave it out, or choose another")
        return figure_bytes(result.figure(panels, wanted.width), form)

    return make


COMMON: dict[str, Format] = {
    ".json": Format("the whole record", lambda result, _: result.to_json().encode(), "record"),
    ".md": Format("the page, or the table that is chosen", _markdown, "page"),
    ".html": Format("the report with charts, for a browser", lambda result, _: result.to_html().encode(), "page"),
    ".csv": Format("a table", lambda result, wanted: frames.csv_bytes(_sheet(result, wanted)), "table"),
    ".parquet": Format(
        "a table",
        lambda result, wanted: frames.parquet_bytes(_sheet(result, wanted)),
        "table",
        frames.require_pyarrow,
        True,
    ),
    ".xlsx": Format(
        "a summary and all tables, with units and filters", _workbook, "table", workbook.require_xlsxwriter, True
    ),
    ".png": Format("a chart, 300 dots per inch", _picture("png"), "chart", None, True),
    ".svg": Format("a chart", _picture("svg"), "chart"),
}
"""What a suffix means for every result; `Show.own` adds to it."""
