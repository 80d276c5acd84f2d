"""Tables as DataFrames, Markdown, CSV and Parquet files; text in them is neither formula nor markup."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from onnxperf.errors import required
from onnxperf.records.trace import TensorType
from onnxperf.render.kit.column import NUMBER, TEXT, Column, Kind
from onnxperf.render.kit.markdown import table_markdown
from onnxperf.render.kit.table import Table
from onnxperf.wording.labels import type_text, types_text
from onnxperf.wording.names import csv_cell, storable, visible
from onnxperf.wording.numbers import NOTHING, significant

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_DIGITS = 4
"""Of a number in Markdown, which people read."""

# ---------------------------------------------------------------- DataFrames


def frame_of(table: Table[Any] | DataFrame, with_footers: bool = False) -> DataFrame:
    """The columns of a table that files have, typed by their formats; with its totals as last rows if wanted.

    What is a DataFrame stays as it is.
    """
    from pandas import DataFrame

    if isinstance(table, DataFrame):
        return table
    kept = [column for column in table.columns if column.key]
    footers = [footer for footer in table.footers if footer.in_files] if with_footers and table.rows else []
    names: list[str] = []
    columns: list[Series[Any]] = []
    for column in kept:
        values = [column.value(row) for row in table.rows]
        values += [footer.value_of(column, column is kept[0]) for footer in footers]
        for place, name in enumerate(column.file_keys):
            names.append(storable(name))
            parts = [None if each is None else each[place] for each in values] if column.format.parts else values
            columns.append(_typed(parts, column.format.kind))
    frame = DataFrame(dict(enumerate(columns)), columns=range(len(columns)))
    frame.columns = names
    return frame


def _typed(values: Sequence[Any], kind: Kind) -> Series[Any]:
    """A column whose type hangs on its format, not on its values."""
    from pandas import Series, to_datetime

    if any(isinstance(value, str) for value in values) and kind != "moment":
        kind = "text"  # the word in the last row of a column of numbers
    if kind == "number":
        return Series([math.nan if value is None else value for value in values], dtype="float64")
    if kind == "whole":
        return Series(values, dtype="Int64")
    if kind == "flag":
        return Series(values, dtype="boolean" if any(value is None for value in values) else "bool")
    if kind == "moment":
        return Series(to_datetime(Series(values, dtype="object"), utc=True, format="ISO8601"))
    return Series([storable(value) if isinstance(value, str) else value for value in values], dtype="object")


# ---------------------------------------------------------------- the formats


def csv_bytes(frame: DataFrame) -> bytes:
    """A table as CSV."""
    shown = plain_frame(frame, csv_cell)
    shown.columns = [str(csv_cell(name)) for name in shown.columns]
    return shown.to_csv(index=False, lineterminator="\n").encode()


def parquet_bytes(frame: DataFrame) -> bytes:
    """A table as Parquet."""
    pyarrow, parquet = require_pyarrow()
    shown = plain_frame(frame)
    for column in _worded(shown):
        if any(not isinstance(value, str) and not is_missing(value) for value in shown[column]):
            shown[column] = _of_one_kind(shown[column])
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pandas(shown, preserve_index=False), buffer)
    return buffer.getvalue()


def unique(names: Iterable[str], same: Callable[[str], str] = str) -> list[str]:
    """The names, numbered if they repeat."""
    seen: set[str] = set()
    found = []
    for name in names:
        candidate, number = name, 1
        while same(candidate) in seen:
            number += 1
            candidate = f"{name}_{number}"
        seen.add(same(candidate))
        found.append(candidate)
    return found


def markdown_bytes(frame: DataFrame) -> bytes:
    """A table as Markdown, with numbers of four digits."""
    shown = plain_frame(frame)
    worded = set(_worded(shown))
    columns: list[Column[Any]] = [
        Column(str(name), str(name), itemgetter(place), (TEXT if name in worded else NUMBER)._replace(text=_shown))
        for place, name in enumerate(shown.columns)
    ]
    return table_markdown(Table(columns, list(shown.itertuples(index=False, name=None)))).encode()


def _shown(value: object) -> str:
    if is_missing(value):
        return NOTHING
    return significant(value, _DIGITS) if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- cells


def _visible_text(value: object) -> object:
    return visible(value) if isinstance(value, str) else value


def plain_frame(frame: DataFrame, text: Callable[[object], object] = _visible_text) -> DataFrame:
    """A copy with a column for each named level of the index, and with text where cells hold objects."""
    unnamed = all(name is None for name in frame.index.names)
    shown = frame.reset_index(drop=unnamed, allow_duplicates=True)
    names = unique(visible(_heading(name)) for name in shown.columns)
    shown.columns = list(names)
    for column in _worded(shown):
        shown[column] = _mapped(shown[column], lambda value: text(_cell(value)))
    return shown


def _heading(name: Hashable) -> str:
    return "_".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)


def _worded(frame: DataFrame) -> list[Any]:
    """Columns that may hold text or objects."""
    from pandas import CategoricalDtype
    from pandas.api.types import is_object_dtype, is_string_dtype

    def worded(dtype: Any) -> bool:
        return isinstance(dtype, CategoricalDtype) or is_object_dtype(dtype) or is_string_dtype(dtype)

    return [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if worded(dtype)]


def _mapped(column: Series[Any], change: Callable[[Any], object]) -> Series[Any]:
    """The column with every distinct value changed once: a trace repeats its few names very often."""
    from pandas import Series

    known: dict[tuple[type, Hashable], object] = {}
    cells = []
    for value in column.astype(object):
        try:
            key = (type(value), value)
            if key not in known:
                known[key] = change(value)
            cells.append(known[key])
        except TypeError:  # a list cannot be looked up
            cells.append(change(value))
    return Series(cells, index=column.index, dtype=object)


def _cell(value: Any) -> object:
    """Text for what is neither a number nor missing."""
    if (isinstance(value, str | bool | int | float) and not hasattr(value, "tolist")) or is_missing(value):
        return value
    if isinstance(value, TensorType):
        return type_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return _cell(value.tolist())
    if isinstance(value, tuple) and value and all(isinstance(item, TensorType) for item in value):
        return types_text(value)
    if isinstance(value, list | tuple):
        return ", ".join("" if is_missing(item) else str(_cell(item)) for item in value)
    return str(value)


def is_missing(value: object) -> bool:
    """Whether a cell holds nothing: by name, as this runs for millions of cells, and pandas is not imported here."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _of_one_kind(column: Series[Any]) -> Series[Any]:
    """A column that Parquet can type: whole numbers and truth values stay so, and any mixture becomes text."""
    values = [value for value in column if not is_missing(value)]
    if all(isinstance(value, bool) for value in values):
        return column.astype("boolean")
    if any(isinstance(value, str | bool) for value in values):
        return _mapped(column, lambda value: None if is_missing(value) else str(value))
    if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        return column.astype("Int64")
    if all(isinstance(value, float) for value in values):
        return column.astype("float64")
    return _mapped(column, lambda value: None if is_missing(value) else str(value))


# ---------------------------------------------------------------- libraries


def require_pyarrow() -> tuple[Any, Any]:
    """The library that writes Parquet files."""
    return required("pyarrow", "parquet"), required("pyarrow.parquet", "parquet")
