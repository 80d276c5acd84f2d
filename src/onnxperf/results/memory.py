"""What subjects need in memory: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxperf.errors import BadOption
from onnxperf.records.memory import Breakdown, Memory, MemoryCase, MemorySubject, StepName
from onnxperf.render.kit.page import Page
from onnxperf.render.memory.chart import memory_plot
from onnxperf.render.memory.page import memory_page
from onnxperf.render.web.sections.memory import memory_sections
from onnxperf.results.old_base import OldResult, frame_of
from onnxperf.wording.names import sizes_text

if TYPE_CHECKING:
    from pandas import DataFrame

_STEPS: dict[str, StepName] = {"load": "load", "first": "first call", "steady": "steady call"}
_SIZES = tuple(name for name in Breakdown.__struct_fields__ if name.endswith("_bytes"))


class MemoryResult(OldResult[Memory]):
    """What `onnxperf.memory` returns; `record` holds everything, down to the samples."""

    tables = {
        "subjects": lambda self: self.to_df(),
        "samples": lambda self: self.samples().assign(timestamp=lambda frame: frame["timestamp"].astype(str)),
        "breakdown": lambda self: self.breakdown(),
    }
    charts = {"curve": memory_plot}
    sections = (memory_sections,)

    def page(self) -> Page:
        """The peaks of all subjects, what is resident between them, and where the bytes are."""
        return memory_page(self.record)

    def to_df(self) -> DataFrame:
        """One row per case and subject: peaks, increments and what stays of each step, growth, sizes."""
        from pandas import DataFrame

        return DataFrame([_place(case, subject) | _row(subject) for case, subject in self._subjects()])

    def samples(self, name: str | None = None) -> DataFrame:
        """Resident memory over time, of all subjects or of those with this name."""
        from pandas import to_datetime

        chosen = [pair for pair in self._subjects() if name in (None, pair[1].name)]
        if name is not None and not chosen:
            raise BadOption.unknown("subject", name, [subject.name for _, subject in self._subjects()])
        rows = [
            (case.model, sizes_text(case.dims), subject.name, int(subject.started_s * 1e9) + ns, ns / 1e9, resident)
            for case, subject in chosen
            for ns, resident in zip(subject.sample_ns, subject.sample_bytes, strict=True)
        ]
        columns = ["model", "dims", "subject", "timestamp", "elapsed_s", "resident_bytes"]
        frame = frame_of(rows, columns)
        return frame.assign(timestamp=to_datetime(frame["timestamp"], unit="ns", utc=True))

    def breakdown(self) -> DataFrame:
        """Where the bytes of the models are, one row per subject and item."""
        rows = [
            (case.model, sizes_text(case.dims), subject.name, what, size)
            for case, subject in self._subjects()
            if subject.breakdown is not None
            for what, size in _items(subject.breakdown)
        ]
        return frame_of(rows, ["model", "dims", "subject", "what", "bytes"])

    def _subjects(self) -> list[tuple[MemoryCase, MemorySubject]]:
        return [(case, subject) for case in self.record.cases for subject in case.subjects]


def _place(case: MemoryCase, subject: MemorySubject) -> dict[str, object]:
    names = {name: getattr(subject, name) for name in ("name", "runtime", "call", "status", "reason")}
    return {"model": case.model, "dims": sizes_text(case.dims), **names}


def _row(subject: MemorySubject) -> dict[str, object]:
    row: dict[str, object] = {"needed_bytes": subject.needed_bytes}
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
