"""The kinds of files that results can be written to: one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from onnxperf.render.kit import chart, frames

if TYPE_CHECKING:
    from onnxperf.results.base import Result


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


def _json(result: Result[Any], _table: str | None) -> bytes:
    return result.to_json().encode()


def _markdown(result: Result[Any], _table: str | None) -> bytes:
    return result.to_markdown().encode()


def _csv(result: Result[Any], table: str | None) -> bytes:
    return frames.csv_bytes(result.table(table))


def _parquet(result: Result[Any], table: str | None) -> bytes:
    return frames.parquet_bytes(result.table(table))


def _excel(result: Result[Any], _table: str | None) -> bytes:
    return frames.workbook_bytes({name: result.table(name) for name in result.table_names()})


def _png(result: Result[Any], _table: str | None) -> bytes:
    return chart.figure_bytes(result.plot(), "png")


def _svg(result: Result[Any], _table: str | None) -> bytes:
    return chart.figure_bytes(result.plot(), "svg")


FORMATS: dict[str, Format] = {
    ".json": Format("the whole record", _json, "record"),
    ".md": Format("the page", _markdown, "page"),
    ".csv": Format("a table", _csv, "table"),
    ".parquet": Format("a table", _parquet, "table", frames.require_pyarrow),
    ".xlsx": Format("all tables", _excel, "table", frames.require_xlsxwriter),
    ".png": Format("the chart", _png, "chart"),
    ".svg": Format("the chart", _svg, "chart"),
}
"""What a suffix means for every result; `Result.own_formats` adds to it."""
