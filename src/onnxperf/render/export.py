"""Results as files: JSON that can be read back, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from onnxperf.errors import BadInput
from onnxperf.records import FORMAT_VERSION, SUBJECT_COLUMNS, Bench, Case, Subject
from onnxperf.render.fields import FIELDS
from onnxperf.render.text import csv_cell, dims_text, name_of, visible
from onnxperf.render.units import UNICODE

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
    writer.writerow(("model", "dims", *SUBJECT_COLUMNS))
    for case, subject in _rows(bench):
        values = [getattr(subject, column) for column in SUBJECT_COLUMNS]
        writer.writerow(map(csv_cell, [case.model, dims_text(case.dims), *values]))
    return text.getvalue()


def to_markdown(bench: Bench) -> str:
    """A table for GitHub per case, with its answer and its notes."""
    return "\n".join("\n".join(_markdown_case(case)) + "\n" for case in bench.cases)


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
    yield f"**{' · '.join(filter(None, [_markdown(name_of(case.model)), _markdown(dims_text(case.dims))]))}**"
    yield ""
    yield _markdown_row(field.heading for field in FIELDS.values())
    yield _markdown_row("---" if key in {"name", "status", "verdict"} else "---:" for key in FIELDS)
    for subject in case.subjects:
        yield _markdown_row(_markdown(field.text(subject, UNICODE)) for field in FIELDS.values())
    for sentence in filter(None, [case.answer, *case.notes]):
        yield f"\n{_markdown(sentence)}"
    reasons = [f"- {_markdown(name_of(s.name))}: {_markdown(s.reason)}" for s in case.subjects if s.reason]
    if reasons:
        yield "\n" + "\n".join(reasons)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return visible(text).translate(_MARKDOWN_ESCAPES)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
