"""Results as files: JSON that can be read back, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from onnxperf.errors import BadInput
from onnxperf.records import FORMAT_VERSION, SPLIT_COLUMNS, SUBJECT_COLUMNS, Bench, Case, Subject
from onnxperf.render.kit.table import Table
from onnxperf.render.race.fields import FIELDS
from onnxperf.render.race.split import HEADING, split_notes, split_sheet
from onnxperf.wording.names import csv_cell, dims_text, name_of, visible
from onnxperf.wording.numbers import UNICODE

_MARKDOWN_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]|~$#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "@": "&#64;"}
)


class _Header(msgspec.Struct):
    version: int


def to_json(record: msgspec.Struct) -> bytes:
    """A whole record, indented; numbers that JSON does not know become null."""
    try:
        encoded = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a file name that is not UTF-8
        encoded = msgspec.json.encode(_encodable(msgspec.to_builtins(record)))
    return msgspec.json.format(encoded, indent=2) + b"\n"


def from_json(data: bytes) -> Bench:
    """The record that `to_json` wrote."""
    try:
        version = msgspec.json.decode(data, type=_Header).version
        if version > FORMAT_VERSION:
            raise BadInput(
                f"this result has format version {version}, and this onnxperf reads up to {FORMAT_VERSION}; "
                "read it with a newer onnxperf"
            )
        return msgspec.json.decode(data, type=Bench)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"not a result of onnxperf bench: {error}") from error


def to_csv(bench: Bench) -> str:
    """One row per subject of each case; times in nanoseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = subject_columns(bench.cases)
    writer.writerow(("model", "dims", *columns))
    for case, subject in _rows(bench):
        values = [subject_value(subject, column) for column in columns]
        writer.writerow(map(csv_cell, [case.model, dims_text(case.dims), *values]))
    return text.getvalue()


def subject_columns(cases: Iterable[Case]) -> tuple[str, ...]:
    """The columns of a row per subject; those of parts only where calls were divided."""
    divided = any(subject.split for case in cases for subject in case.subjects)
    return (*SUBJECT_COLUMNS, *(SPLIT_COLUMNS if divided else ()))


def subject_value(subject: Subject, column: str) -> Any:
    """What a subject has in one of these columns."""
    if column in SPLIT_COLUMNS:
        return getattr(subject.split, column, None)
    return getattr(subject, column)


def to_markdown(bench: Bench) -> str:
    """A table for GitHub per case, with its answer and its notes."""
    return "\n".join("\n".join(_markdown_case(case)) + "\n" for case in bench.cases)


def markdown_sheet(sheet: Table) -> Iterator[str]:
    """The lines of a table for GitHub; cells that are indented stay so."""
    yield _markdown_row(column.heading for column in sheet.columns)
    yield _markdown_row("---" if column.left else "---:" for column in sheet.columns)
    for row in sheet.rows:
        yield _markdown_row(
            ("&emsp;" if cell.startswith(" ") else "") + markdown_text(cell.strip()) for cell in row.cells
        )


def markdown_text(text: str) -> str:
    """A text in which Markdown finds nothing to interpret."""
    return visible(text).translate(_MARKDOWN_ESCAPES)


EXPORTERS: dict[str, Callable[[Bench], bytes]] = {
    ".json": to_json,
    ".csv": lambda bench: to_csv(bench).encode(),
    ".md": lambda bench: to_markdown(bench).encode(),
}


def write(path: Path, data: bytes) -> None:
    """Write a file, or say in one line why that is not possible."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise BadInput(f"cannot write {visible(str(path))}: {error.strerror}") from error


def _rows(bench: Bench) -> Iterator[tuple[Case, Subject]]:
    """Every subject with its case; a case that failed as a whole is a row without a name."""
    for case in bench.cases:
        subjects = case.subjects or (Subject(name="", status=case.status, reason=case.answer),)
        yield from ((case, subject) for subject in subjects)


def _markdown_case(case: Case) -> Iterator[str]:
    yield f"**{' · '.join(filter(None, [markdown_text(name_of(case.model)), markdown_text(dims_text(case.dims))]))}**"
    yield ""
    yield _markdown_row(field.heading for field in FIELDS.values())
    yield _markdown_row("---" if key in {"name", "status", "verdict"} else "---:" for key in FIELDS)
    for subject in case.subjects:
        yield _markdown_row(markdown_text(field.text(subject, UNICODE)) for field in FIELDS.values())
    yield from _markdown_split(case)
    for sentence in filter(None, [case.answer, *case.notes]):
        yield f"\n{markdown_text(sentence)}"
    reasons = [f"- {markdown_text(name_of(s.name))}: {markdown_text(s.reason)}" for s in case.subjects if s.reason]
    if reasons:
        yield "\n" + "\n".join(reasons)


def _markdown_split(case: Case) -> Iterator[str]:
    sheet = split_sheet(case)
    if not sheet.rows:
        return
    yield f"\n{HEADING}:\n"
    yield from markdown_sheet(sheet)
    for note in split_notes(case):
        yield f"\n{markdown_text(note)}"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
