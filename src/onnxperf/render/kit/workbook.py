"""Tables as sheets of an Excel file: units in the numbers, filters, a summary first; no text becomes a formula."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadInput, FileNotWritten, required
from onnxperf.render.kit.column import Column
from onnxperf.render.kit.frames import frame_of, is_missing, plain_frame, unique
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import starts_formula, visible
from onnxperf.wording.numbers import count, grouped

if TYPE_CHECKING:
    from pandas import DataFrame
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format as CellFormat
    from xlsxwriter.worksheet import Worksheet

EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
"""What a sheet holds, the heading included."""
_EXCEL_TEXT = 32_767
_EXCEL_DIGITS = 10**15
"""Excel keeps 15 digits of a number, and rounds the rest to zeros."""
_SHEET_NAME = 27
"""Excel takes 31; the rest is for numbers of names that occur twice."""
_RESERVED = frozenset({"", "history"})
_WIDEST, _SUMMARY_WIDTH = 60, 100
_SAFE_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "constant_memory": True,
}
Summary = Sequence[tuple[str, str]]
"""Names and texts: the answer, notes and conditions."""


def workbook_bytes(summary: Summary, sheets: Mapping[str, Table[Any] | DataFrame]) -> bytes:
    """A summary, then a sheet per table; one too long for Excel is replaced by one line about that."""
    library = require_xlsxwriter()
    frames = {name: frame_of(each, with_footers=True) for name, each in sheets.items()}
    refusals = {name: _refusal(name, frame) for name, frame in frames.items()}
    if sheets and all(refusals.values()):
        raise BadInput(next(iter(refusals.values())))
    buffer = io.BytesIO()
    book = library.Workbook(buffer, _SAFE_OPTIONS)
    titles = _sheet_names(["summary", *sheets])
    _summarize(book, book.add_worksheet(titles[0]), summary)
    for name, title in zip(sheets, titles[1:], strict=True):
        sheet = book.add_worksheet(title)
        if refusals[name]:
            sheet.write_string(0, 0, refusals[name])
        else:
            _fill(book, sheet, plain_frame(frames[name]), _number_formats(sheets[name]))
    try:
        book.close()
    except library.exceptions.FileCreateError as error:  # the temporary files, on a full disk
        raise FileNotWritten(f"cannot write a workbook: {visible(str(error))}") from error
    return buffer.getvalue()


def _summarize(book: Workbook, sheet: Worksheet, summary: Summary) -> None:
    name, text = (
        book.add_format({"bold": True, "valign": "top"}),
        book.add_format({"text_wrap": True, "quote_prefix": True}),
    )
    sheet.set_column(0, 0, max((len(each) for each, _ in summary), default=0) + 2)
    sheet.set_column(1, 1, _SUMMARY_WIDTH)
    for line, (what, said) in enumerate(summary):
        sheet.write_string(line, 0, _short(visible(what)), name)
        sheet.write_string(line, 1, _short(visible(said)), text)


def _number_formats(table: Table[Any] | DataFrame) -> dict[str, str]:
    """Formats with units by the names of columns; those of a DataFrame are not known."""
    columns: Sequence[Column[Any]] = table.columns if isinstance(table, Table) else ()
    return {name: column.format.excel for column in columns for name in column.file_keys}


def _fill(book: Workbook, sheet: Worksheet, frame: DataFrame, number_formats: Mapping[str, str]) -> None:
    bold, text = book.add_format({"bold": True}), book.add_format({"quote_prefix": True})
    made = {each: book.add_format({"num_format": each}) for each in set(number_formats.values()) - {"General"}}
    formats = [made.get(number_formats.get(str(name), "")) for name in frame.columns]
    sheet.freeze_panes(1, 0)
    if len(frame.columns):
        sheet.autofilter(0, 0, len(frame), len(frame.columns) - 1)
    for place, name in enumerate(frame.columns):
        widest = max((len(str(value)) for value in frame.iloc[:100, place]), default=0)
        sheet.set_column(place, place, min(max(len(name) + 2, widest) + 2, _WIDEST))
        sheet.write_string(0, place, _short(name), bold)
    for line, row in enumerate(frame.itertuples(index=False, name=None), start=1):
        for place, value in enumerate(row):
            _write_cell(sheet, line, place, value, (text, formats[place]))


def _write_cell(
    sheet: Worksheet, line: int, place: int, value: object, looks: tuple[CellFormat, CellFormat | None]
) -> None:
    """Write by the type of the value; what looks like a formula stays text, also after someone has edited the cell."""
    text, number = looks
    if isinstance(value, str):
        sheet.write_string(line, place, _short(value), *([text] if starts_formula(value) else []))
    elif isinstance(value, bool):
        sheet.write_boolean(line, place, value)
    elif isinstance(value, int | float) and -_EXCEL_DIGITS < value < _EXCEL_DIGITS:
        sheet.write_number(line, place, value, *([number] if number is not None else []))
    elif hasattr(value, "tolist") and not isinstance(value, float):  # a number of numpy's, from a nullable column
        _write_cell(sheet, line, place, value.tolist(), looks)
    elif not is_missing(value):
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
    return unique((name if name.lower() not in _RESERVED else f"{name}_" for name in cut), str.lower)


def require_xlsxwriter() -> Any:
    """The library that writes Excel files."""
    return required("xlsxwriter", "excel")
