"""What subjects need in memory: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records import Breakdown, Memory, MemoryCase, MemorySubject, StepName
from onnxperf.results.showing import as_printed
from onnxperf.wording.names import sizes_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_STEPS: dict[str, StepName] = {"load": "load", "first": "first call", "steady": "steady call"}
_SIZES = tuple(name for name in Breakdown.__struct_fields__ if name.endswith("_bytes"))


class MemoryResult:
    """What `onnxperf.memory` returns; `record` holds everything, down to the samples."""

    def __init__(self, record: Memory) -> None:
        self.record = record

    @property
    def answer(self) -> str:
        """The result in one plain sentence per case."""
        return "\n".join(case.answer for case in self.record.cases if case.answer)

    @property
    def ok(self) -> bool:
        """Whether every subject was measured without a fault, those aside that had to be skipped."""
        statuses = [case.status for case in self.record.cases] + [subject.status for _, subject in self._subjects()]
        return all(status in ("ok", "skipped") for status in statuses)

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it before its end."""
        return any(case.interrupted for case in self.record.cases)

    def to_df(self) -> DataFrame:
        """One row per case and subject: peaks, increments and what stays of each step, growth, sizes."""
        from pandas import DataFrame

        return DataFrame([_place(case, subject) | _row(subject) for case, subject in self._subjects()])

    def samples(self, name: str | None = None) -> DataFrame:
        """Resident memory over time, of all subjects or of those with this name."""
        from pandas import DataFrame, to_datetime

        chosen = [pair for pair in self._subjects() if name in (None, pair[1].name)]
        if name is not None and not chosen:
            raise BadOption.unknown("subject", name, [subject.name for _, subject in self._subjects()])
        rows = [
            (case.model, sizes_text(case.dims), subject.name, int(subject.started_s * 1e9) + ns, ns / 1e9, resident)
            for case, subject in chosen
            for ns, resident in zip(subject.sample_ns, subject.sample_bytes, strict=True)
        ]
        columns = ["model", "dims", "subject", "timestamp", "elapsed_s", "resident_bytes"]
        frame = DataFrame(rows, columns=columns)
        return frame.assign(timestamp=to_datetime(frame["timestamp"], unit="ns", utc=True))

    def breakdown(self) -> DataFrame:
        """Where the bytes of the models are, one row per subject and item."""
        from pandas import DataFrame

        rows = [
            (case.model, sizes_text(case.dims), subject.name, what, size)
            for case, subject in self._subjects()
            if subject.breakdown is not None
            for what, size in _items(subject.breakdown)
        ]
        return DataFrame(rows, columns=["model", "dims", "subject", "what", "bytes"])

    def plot(self, axes: Sequence[Axes] | None = None) -> Any:
        """Resident memory over time, a panel per subject."""
        from onnxperf.render.memory.memory_chart import memory_plot

        return memory_plot(self.record, axes)

    def save(self, path: str | Path, table: str = "subjects") -> None:
        """Write .json, .md, .xlsx (all tables), .csv or .parquet (one of them), or a .png or .svg chart."""
        from onnxperf.render.kit import chart as figures
        from onnxperf.render.kit import frames as tables
        from onnxperf.render.kit.export import write

        path = Path(path)
        match path.suffix.lower():
            case ".json":
                write(path, self.to_json().encode())
            case ".md":
                write(path, self.to_markdown().encode())
            case ".xlsx":
                tables.write_workbook({name: make(self) for name, make in TABLES.items()}, path)
            case ".csv" | ".parquet":
                if table not in TABLES:
                    raise BadOption.unknown("table", table, TABLES)
                tables.write_table(TABLES[table](self), path)
            case ".png" | ".svg":
                figures.save_figure(figures.figure_of(self.plot()), path)
            case suffix:
                known = (".json", ".md", ".xlsx", ".csv", ".parquet", ".png", ".svg")
                raise BadOption.unknown("kind of file", suffix or path.name, known)

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.export import to_json

        return to_json(self.record).decode()

    def to_markdown(self) -> str:
        """The tables with answer and notes, as --markdown writes them."""
        from onnxperf.render.memory.memory_markdown import memory_markdown

        return memory_markdown(self.record)

    def __repr__(self) -> str:
        """The tables as the command line prints them, without colours."""
        from onnxperf.render.memory.memory import print_memory

        return as_printed(print_memory, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.memory.memory_html import memory_html

        return memory_html(self.record)

    def _subjects(self) -> list[tuple[MemoryCase, MemorySubject]]:
        return [(case, subject) for case in self.record.cases for subject in case.subjects]


TABLES: dict[str, Callable[[MemoryResult], DataFrame]] = {
    "subjects": lambda result: result.to_df(),
    "samples": lambda result: result.samples().assign(timestamp=lambda frame: frame["timestamp"].astype(str)),
    "breakdown": lambda result: result.breakdown(),
}


def _place(case: MemoryCase, subject: MemorySubject) -> dict[str, Any]:
    who = {name: getattr(subject, name) for name in ("name", "runtime", "call", "status", "reason")}
    return {"model": case.model, "dims": sizes_text(case.dims), **who}


def _row(subject: MemorySubject) -> dict[str, Any]:
    row: dict[str, Any] = {"needed_bytes": subject.needed_bytes}
    for short, name in _STEPS.items():
        step = subject.step(name)
        row |= {
            f"{short}_peak_bytes": step and step.peak_bytes,
            f"{short}_increment_bytes": step and step.increment_bytes,
            f"{short}_kept_bytes": step and step.kept_bytes,
            f"{short}_anonymous_bytes": step and step.after.anonymous_bytes,
            f"{short}_file_bytes": step and step.after.file_bytes,
            f"{short}_exact": step and step.exact,
        }
    growth, sizes = subject.growth, subject.breakdown
    row |= {"growth": growth and growth.kind, "growth_bytes_per_call": growth and growth.bytes_per_call}
    return row | {name: getattr(sizes, name, None) for name in _SIZES}


def _items(breakdown: Breakdown) -> Iterator[tuple[str, int]]:
    sizes = ((name.removesuffix("_bytes"), getattr(breakdown, name)) for name in _SIZES)
    yield from ((what, size) for what, size in sizes if size is not None)
    yield from ((f"{copy.reason} of {copy.name}", copy.copied_bytes) for copy in breakdown.copies)
    yield from ((f"alive {tensor.role} {tensor.name}", tensor.size_bytes) for tensor in breakdown.alive)
