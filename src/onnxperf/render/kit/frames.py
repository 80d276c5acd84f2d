"""Tables as Markdown, and as CSV, Excel and Parquet files that no spreadsheet runs as formulas."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadInput, FileNotWritten, required
from onnxperf.records.trace import TensorType
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.wording.labels import type_text, types_text
from onnxperf.wording.names import csv_cell, starts_formula, visible
from onnxperf.wording.numbers import NOTHING, count, grouped, significant

if TYPE_CHECKING:
    from pandas import DataFrame, Series
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
"""What a sheet holds, the heading included."""
_EXCEL_TEXT = 32_767
_EXCEL_DIGITS = 10**15
"""Excel keeps 15 digits of a number, and rounds the rest to zeros."""
_SHEET_NAME = 27
"""Excel takes 31; the rest is for numbers of names that occur twice."""
_DIGITS = 4
"""Of a number in Markdown, which people read."""
_RESERVED = frozenset({"", "history"})
_WIDEST = 60
_SAFE_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "constant_memory": True,
}


# ---------------------------------------------------------------- the formats


def csv_bytes(frame: DataFrame) -> bytes:
    """A table as CSV."""
    shown = _plain(frame, csv_cell)
    shown.columns = [str(csv_cell(name)) for name in shown.columns]
    return shown.to_csv(index=False, lineterminator="\n").encode()


def parquet_bytes(frame: DataFrame) -> bytes:
    """A table as Parquet."""
    pyarrow, parquet = require_pyarrow()
    shown = _plain(frame)
    for column in _worded(shown):
        if any(not isinstance(value, str) and not _missing(value) for value in shown[column]):
            shown[column] = _of_one_kind(shown[column])
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pandas(shown, preserve_index=False), buffer)
    return buffer.getvalue()


def workbook_bytes(sheets: Mapping[str, DataFrame]) -> bytes:
    """Tables as sheets of an Excel file; one too long for Excel is replaced by one line about that."""
    library = require_xlsxwriter()
    refusals = {name: _refusal(name, frame) for name, frame in sheets.items()}
    if sheets and all(refusals.values()):
        raise BadInput(next(iter(refusals.values())))
    buffer = io.BytesIO()
    book = library.Workbook(buffer, _SAFE_OPTIONS)
    for (name, frame), title in zip(sheets.items(), _sheet_names(sheets), strict=True):
        sheet = book.add_worksheet(title)
        if refusals[name]:
            sheet.write_string(0, 0, refusals[name])
        else:
            _fill(book, sheet, _plain(frame))
    try:
        book.close()
    except library.exceptions.FileCreateError as error:  # the temporary files, on a full disk
        raise FileNotWritten(f"cannot write a workbook: {visible(str(error))}") from error
    return buffer.getvalue()


def _fill(book: Workbook, sheet: Worksheet, frame: DataFrame) -> None:
    bold, text = book.add_format({"bold": True}), book.add_format({"quote_prefix": True})
    sheet.freeze_panes(1, 0)
    for place, name in enumerate(frame.columns):
        widest = max((len(str(value)) for value in frame.iloc[:100, place]), default=0)
        sheet.set_column(place, place, min(max(len(name), widest) + 2, _WIDEST))
        sheet.write_string(0, place, _short(name), bold)
    for line, row in enumerate(frame.itertuples(index=False, name=None), start=1):
        for place, value in enumerate(row):
            _write_cell(sheet, line, place, value, text)


def _write_cell(sheet: Worksheet, line: int, place: int, value: object, text: Format) -> None:
    """Write by the type of the value; what looks like a formula stays text, also after someone has edited the cell."""
    if isinstance(value, str):
        sheet.write_string(line, place, _short(value), *([text] if starts_formula(value) else []))
    elif isinstance(value, bool):
        sheet.write_boolean(line, place, value)
    elif isinstance(value, int | float) and -_EXCEL_DIGITS < value < _EXCEL_DIGITS:
        sheet.write_number(line, place, value)
    elif hasattr(value, "tolist") and not isinstance(value, float):  # a number of numpy's, from a nullable column
        _write_cell(sheet, line, place, value.tolist(), text)
    elif not _missing(value):
        sheet.write_string(line, place, str(value))


def _refusal(name: str, frame: DataFrame) -> str:
    rows, columns = len(frame), len(frame.columns)
    if rows < EXCEL_ROWS and columns <= EXCEL_COLUMNS:
        return ""
    return (
        f"the table {visible(name)} has {count(rows, 'row')} and {count(columns, 'column')}, and a sheet of Excel "
        f"holds {grouped(EXCEL_ROWS - 1)} and {grouped(EXCEL_COLUMNS)}; write it as .parquet or .csv"
    )


def _short(text: str) -> str:
    """Text that fits into a cell; Excel counts in units of UTF-16."""
    if len(text) * 2 <= _EXCEL_TEXT or len(text.encode("utf-16-le")) <= _EXCEL_TEXT * 2:
        return text
    return text.encode("utf-16-le")[: (_EXCEL_TEXT - 1) * 2].decode("utf-16-le", "ignore") + "…"


def _sheet_names(names: Iterable[str]) -> list[str]:
    """Names that Excel takes: short, none of []:*?/\\, no quotes at the ends, all different."""
    safe = (re.sub(r"[\[\]:*?/\\\ufffe\uffff]", "_", visible(name)) for name in names)
    cut = (name.encode("utf-16-le")[: _SHEET_NAME * 2].decode("utf-16-le", "ignore").strip("' ") for name in safe)
    return _unique((name if name.lower() not in _RESERVED else f"{name}_" for name in cut), str.lower)


def _unique(names: Iterable[str], same: Callable[[str], str] = str) -> list[str]:
    """The names, numbered where one has been there before."""
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
    shown = _plain(frame)
    worded = set(_worded(shown))
    columns = [Column(str(name), left=name in worded) for name in shown.columns]
    rows = [Row([_shown(value) for value in row]) for row in shown.itertuples(index=False, name=None)]
    return page_markdown([Table(columns, rows)]).encode()


def _shown(value: object) -> str:
    if _missing(value):
        return NOTHING
    return significant(value, _DIGITS) if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- cells


def _visible_text(value: object) -> object:
    return visible(value) if isinstance(value, str) else value


def _plain(frame: DataFrame, text: Callable[[object], object] = _visible_text) -> DataFrame:
    """A copy with a column for each named level of the index, and with text where cells hold objects."""
    unnamed = all(name is None for name in frame.index.names)
    shown = frame.reset_index(drop=unnamed, allow_duplicates=True)
    names = _unique(visible(_heading(name)) for name in shown.columns)
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
    if (isinstance(value, str | bool | int | float) and not hasattr(value, "tolist")) or _missing(value):
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
        return ", ".join("" if _missing(item) else str(_cell(item)) for item in value)
    return str(value)


def _missing(value: object) -> bool:
    # By name, because this runs for millions of cells, and pandas is not imported up here.
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _of_one_kind(column: Series[Any]) -> Series[Any]:
    """A column that Parquet can type: whole numbers and truth values stay so, and any mixture becomes text."""
    values = [value for value in column if not _missing(value)]
    if all(isinstance(value, bool) for value in values):
        return column.astype("boolean")
    if any(isinstance(value, str | bool) for value in values):
        return _mapped(column, lambda value: None if _missing(value) else str(value))
    if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        return column.astype("Int64")
    if all(isinstance(value, float) for value in values):
        return column.astype("float64")
    return _mapped(column, lambda value: None if _missing(value) else str(value))


# ---------------------------------------------------------------- libraries


def require_xlsxwriter() -> Any:
    """The library that writes Excel files."""
    return required("xlsxwriter", "excel")


def require_pyarrow() -> tuple[Any, Any]:
    """The library that writes Parquet files."""
    return required("pyarrow", "parquet"), required("pyarrow.parquet", "parquet")
