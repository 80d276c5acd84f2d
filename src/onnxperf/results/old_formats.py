"""The kinds of files that results can be written to: one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from onnxperf.render.kit import frames, workbook
from onnxperf.render.kit import old_chart as chart


class Format(NamedTuple):
    """A kind of file."""

    holds: str
    """What a file of this kind holds, for the documentation."""
    make: Callable[[Any, str | None], bytes]
    """Its bytes, from a result and the name of the table that was chosen."""
    of: Literal["record", "page", "table", "chart", "own"] = "own"
    """What a result needs to have for it."""
    requires: Callable[[], object] | None = None
    """Raises MissingExtra where the library for it is not installed."""
    binary: bool = False
    """Whether it is no text, and not for a terminal."""


def _markdown(result: Any, table: str | None) -> bytes:
    return result.to_markdown().encode() if table is None else frames.markdown_bytes(result.sheet(table))


FORMATS: dict[str, Format] = {
    ".json": Format("the whole record", lambda result, _: result.to_json().encode(), "record"),
    ".md": Format("the page, or the table that is chosen", _markdown, "page"),
    ".html": Format(
        "the whole story as a page with charts, for a browser", lambda result, _: result.to_html().encode(), "page"
    ),
    ".csv": Format("a table", lambda result, table: frames.csv_bytes(result.sheet(table)), "table"),
    ".parquet": Format(
        "a table",
        lambda result, table: frames.parquet_bytes(result.sheet(table)),
        "table",
        frames.require_pyarrow,
        True,
    ),
    ".xlsx": Format(
        "all tables",
        lambda result, _: workbook.workbook_bytes([], {name: result.sheet(name) for name in result.table_names()}),
        "table",
        workbook.require_xlsxwriter,
        True,
    ),
    ".png": Format("the chart", lambda result, _: chart.figure_bytes(result.plot(), "png"), "chart", None, True),
    ".svg": Format("the chart", lambda result, _: chart.figure_bytes(result.plot(), "svg"), "chart"),
}
"""What a suffix means for every result; `Result.own_formats` adds to it."""
