"""What subjects need in memory, as tables: peaks, pages between the steps, samples, and where the bytes are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from onnxperf.records.memory import (
    Breakdown,
    Growth,
    InputCopy,
    LiveTensor,
    Memory,
    MemoryCase,
    MemoryStep,
    MemorySubject,
    Resident,
    StepName,
)
from onnxperf.render.kit.column import (
    BYTES,
    FILES_ONLY,
    FLAG,
    MB,
    MOMENT,
    NAME,
    NUMBER,
    TEXT,
    Column,
    Format,
    bar_column,
    field_columns,
    for_files,
)
from onnxperf.render.kit.comparison import STATUS_STYLES
from onnxperf.render.kit.table import Footer, Table
from onnxperf.wording.labels import ARENA_SETTINGS
from onnxperf.wording.names import name_of, sizes_text
from onnxperf.wording.numbers import NOTHING, count, in_megabytes, megabytes
from onnxperf.wording.verdicts import faced

SAMPLED = "~"
MOST_TENSORS = 5
"""Tensors alive at the peak that a screen names; the others are summed up."""
MILLIONS = MB._replace(text=megabytes)
"""Bytes under a title that says they are in MB."""
_PEAKS_TITLE = "Peak memory in MB: loading, the first call, a steady call"
_PAGES_TITLE = "Memory between the steps in MB: written pages + pages of files"
_SIZES = [name for name in Breakdown.__struct_fields__ if name.endswith("_bytes")]
Row = tuple[MemoryCase, MemorySubject]


# ---------------------------------------------------------------- subjects


def subjects_table(record: Memory) -> Table[Row]:
    """A row per case and subject with all its measurements."""
    columns = [each.of(lambda row: row[1]) for each in (_SUBJECT, *_PEAKS, *_PAGES, *_REST)]
    return Table([*_CASE, *columns], _rows(record))


def peaks_table(case: MemoryCase) -> Table[MemorySubject]:
    """What each subject needs, peak and increment of each step, what stays of it, and growth."""
    bars = bar_column(lambda row: row.needed_bytes, case.subjects)
    return Table([_SUBJECT, *_PEAKS, bars], case.subjects, _PEAKS_TITLE)


def pages_table(case: MemoryCase) -> Table[MemorySubject]:
    """Both kinds of pages before the first step and after each."""
    return Table([_SUBJECT, *_PAGES], [each for each in case.subjects if each.steps], _PAGES_TITLE)


def growth_text(growth: Growth | None) -> str:
    """Whether memory grows with the calls, and by how much: a leak with each of them, an arena in all."""
    if growth is None:
        return ""
    total = growth.resident_bytes[-1] - growth.resident_bytes[0]
    words = {
        "none": "none",
        "settling": "settled",
        "step": f"step +{in_megabytes(growth.step_bytes)}",
        "leak": f"leak {in_megabytes(growth.bytes_per_call)}/call",
        "arena": f"arena +{in_megabytes(total)}",
    }
    return words[growth.kind]


def _rows(record: Memory) -> list[Row]:
    return [(case, subject) for case in record.cases for subject in case.subjects]


def _signed(size: int) -> str:
    text = megabytes(size)
    return text if text.startswith("-") else f"+{text}"


def _of(step: StepName, value: Callable[[MemoryStep], Any]) -> Callable[[MemorySubject], Any]:
    """Reads a step of a subject, if it took this step."""
    return lambda row: None if (found := row.step(step)) is None else value(found)


def _step_columns(step: StepName, key: str, width: int, stays: int) -> list[Column[MemorySubject]]:
    """The peak of a step, what it added, and what stayed."""
    said = _of(step, lambda found: f"{'' if found.exact else SAMPLED}{megabytes(found.peak_bytes)}")
    peak, added = _of(step, lambda found: found.peak_bytes), _of(step, lambda found: found.increment_bytes)
    return [
        Column(f"{key}_peak_bytes", key, peak, MILLIONS, max(width, 70), text=lambda row: said(row) or NOTHING),
        Column(f"{key}_increment_bytes", f"+{key}", added, _ADDED, width),
        Column(f"{key}_kept_bytes", "stays", _of(step, lambda found: found.kept_bytes), _ADDED, stays),
        for_files(f"{key}_exact", _of(step, lambda found: found.exact), FLAG),
    ]


def _pages(resident: Resident) -> tuple[int, int]:
    return resident.anonymous_bytes, resident.file_bytes


def _pages_text(pages: tuple[int, int]) -> str:
    return f"{megabytes(pages[0])} + {megabytes(pages[1])}"


def _first_pages(row: MemorySubject) -> tuple[int, int] | None:
    return _pages(row.steps[0].before) if row.steps else None


def _size_of(name: str, row: MemorySubject) -> int | None:
    return None if row.breakdown is None else getattr(row.breakdown, name)


def _status_text(row: MemorySubject) -> str:
    return "" if row.status == "ok" else faced(row.status)


def _status_style(row: MemorySubject) -> str:
    return STATUS_STYLES.get(row.status, "red")


def _needs_style(row: MemorySubject) -> str:
    return "bold" if row.status == "ok" else ""


_ADDED = MB._replace(text=_signed)
_BOTH_PAGES = Format(_pages_text, "whole", MB.excel, ("_anonymous_bytes", "_file_bytes"))
_CASE: list[Column[Any]] = [
    for_files("model", lambda row: row[0].model),
    for_files("dims", lambda row: sizes_text(row[0].dims)),
]
_SUBJECT: Column[MemorySubject] = Column("name", "subject", lambda row: row.name, NAME, room=12, untitled=True)
_PEAKS: list[Column[MemorySubject]] = [
    *field_columns(MemorySubject, ["runtime", "call", "reason"]),
    Column("needed_bytes", "needs", lambda row: row.needed_bytes, MILLIONS, style=_needs_style),
    *_step_columns("load", "load", 80, 100),
    *_step_columns("first call", "first", 0, 60),
    *_step_columns("steady call", "steady", 0, FILES_ONLY),
    Column("growth", "growth", lambda row: row.growth and row.growth.kind, text=lambda row: growth_text(row.growth)),
    Column("status", "", lambda row: row.status, style=_status_style, text=_status_text),
]
_PAGES: list[Column[MemorySubject]] = [
    Column("before", "at first", _first_pages, _BOTH_PAGES, 80),
    Column("load", "after load", _of("load", lambda step: _pages(step.after)), _BOTH_PAGES),
    Column("first", "after first", _of("first call", lambda step: _pages(step.after)), _BOTH_PAGES),
    Column("steady", "after steady", _of("steady call", lambda step: _pages(step.after)), _BOTH_PAGES),
]
_REST: list[Column[MemorySubject]] = [
    for_files("growth_bytes_per_call", lambda row: row.growth and row.growth.bytes_per_call, NUMBER),
    *(for_files(name, partial(_size_of, name), BYTES) for name in _SIZES),
]


# ---------------------------------------------------------------- samples


class _Sample(NamedTuple):
    """What was resident at a moment."""

    case: MemoryCase
    subject: MemorySubject
    after_ns: int
    resident_bytes: int


def samples_table(record: Memory) -> Table[_Sample]:
    """Resident memory over time."""
    rows = [
        _Sample(case, subject, after_ns, resident)
        for case, subject in _rows(record)
        for after_ns, resident in zip(subject.sample_ns, subject.sample_bytes, strict=True)
    ]
    columns: list[Column[_Sample]] = [
        *_CASE,
        Column("subject", "subject", lambda row: row.subject.name, NAME),
        Column("timestamp", "time", _moment, MOMENT),
        Column("elapsed_s", "seconds", lambda row: row.after_ns / 1e9, NUMBER),
        Column("resident_bytes", "resident", lambda row: row.resident_bytes, MB),
    ]
    return Table(columns, rows)


def _moment(row: _Sample) -> datetime:
    return datetime.fromtimestamp(row.subject.started_s + row.after_ns / 1e9, UTC)


# ---------------------------------------------------------------- where the bytes are


class ByteRow(NamedTuple):
    """What a model holds or needs, with its size."""

    case: MemoryCase
    subject: MemorySubject
    what: str
    """Its name in files."""
    label: str
    """Its name on screens."""
    size_bytes: int | None
    remark: str


def breakdown_table(record: Memory) -> Table[ByteRow]:
    """Where the bytes of all models are, with all tensors."""
    return Table(_BYTES, [each for row in _rows(record) for each in _byte_rows(*row)])


def bytes_table(case: MemoryCase, subject: MemorySubject) -> Table[ByteRow]:
    """What a model holds and needs; only the largest tensors are named."""
    rows = list(_byte_rows(case, subject))
    rest = subject.breakdown.alive[MOST_TENSORS:] if subject.breakdown is not None else ()
    total = sum(tensor.size_bytes for tensor in rest if not tensor.within)
    others = Footer({"": f"  {count(len(rest), 'other')}", "bytes": total}, style="", in_files=False)
    shown = rows[: len(rows) - len(rest)]
    return Table(_BYTES, shown, _bytes_title(case, subject), footers=[others] if rest else [])


_BYTES: list[Column[ByteRow]] = [
    *_CASE,
    for_files("subject", lambda row: row.subject.name),
    Column("what", "what", lambda row: row.what, text=lambda row: row.label, room=24),
    Column("bytes", "size", lambda row: row.size_bytes, MB),
    Column("remark", "", lambda row: row.remark, TEXT, 80, room=16),
]


_Bytes = tuple[str, str, int | None, str]
"""Names in files and on screens, a size, and a remark."""


def _byte_rows(case: MemoryCase, subject: MemorySubject) -> Iterator[ByteRow]:
    found = subject.breakdown
    if found is None:
        return
    sizes: list[_Bytes] = [
        ("weights_on_disk", "weights on disk", found.weights_on_disk_bytes, ""),
        ("weights_in_memory", "weights in memory", found.weights_in_memory_bytes, "after constants were folded"),
        ("input", "inputs", found.input_bytes, ""),
        *((f"{copy.reason} of {copy.name}", *_copied(copy)) for copy in found.copies),
        ("output", "outputs", found.output_bytes, ""),
        ("arena_held", "arena held", found.arena_held_bytes, "taken from the system, at its largest"),
        ("arena_used", "  in use", found.arena_used_bytes, "packed weights are in it"),
        ("needed", "needed, measured", subject.needed_bytes, "as in the table of peaks"),
        ("planned", "planned minimum", found.planned_bytes, "intermediate results and outputs"),
        ("unexplained", "unexplained", found.unexplained_bytes, "neither planned nor a copy"),
        *(
            (f"needed, {name}", f"  {name}", each.needed_bytes, "needed instead")
            for each in subject.trials
            for name in [ARENA_SETTINGS[each.setting]]
        ),
    ]
    yield from (ByteRow(case, subject, *each) for each in (*sizes, *_alive(found)) if each[2] is not None)


def _copied(copy: InputCopy) -> tuple[str, int, str]:
    """Name, size, and why an input is copied."""
    why = f"cast {copy.from_type} → {copy.to_type}" if copy.reason == "cast" else "made contiguous"
    return f"  copy of {name_of(copy.name)}", copy.copied_bytes, f"{why} in every call"


def _alive(found: Breakdown) -> Iterator[_Bytes]:
    """The peak node with the sum of its tensors, then each of these."""
    if not found.alive:
        return
    operator = f" ({name_of(found.peak_op)})" if found.peak_op else ""
    total = sum(tensor.size_bytes for tensor in found.alive if not tensor.within)
    yield "alive", f"alive at {name_of(found.peak_node)}{operator}", total, "the peak node"
    sizes = {tensor.name: tensor.size_bytes for tensor in found.alive}
    for each in found.alive:
        what = f"alive {each.role} {each.name}"
        yield what, f"  {name_of(each.name)}", each.size_bytes, _role_text(each, sizes)


def _role_text(tensor: LiveTensor, sizes: Mapping[str, int]) -> str:
    if not tensor.within:
        return tensor.role
    repeats = tensor.size_bytes > sizes.get(tensor.within, tensor.size_bytes)  # what is broadcast is larger
    return f"{tensor.role}, may {'repeat' if repeats else 'lie in'} {name_of(tensor.within)}"


def _bytes_title(case: MemoryCase, subject: MemorySubject) -> str:
    heading = f"Where the bytes of {name_of(subject.name)} are"
    if subject.breakdown is None or not any(len(sizes) > 1 for sizes in case.dims.values()):
        return heading
    # Records of earlier versions have no sizes there: they counted at the first.
    counted = {name: (subject.breakdown.dims.get(name, sizes[0]),) for name, sizes in case.dims.items()}
    return f"{heading}: inputs, outputs and tensors at {sizes_text(counted)}"
