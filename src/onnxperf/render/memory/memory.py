"""What subjects need in memory, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from onnxperf.records import Breakdown, Growth, InputCopy, Memory, MemoryCase, MemoryStep, MemorySubject, Resident
from onnxperf.render.kit.console_parts import print_end, print_heading, print_sheet
from onnxperf.render.kit.table import Column, Row, Sheet, without_empty
from onnxperf.render.profile.timings import count
from onnxperf.render.race.einsum import machine_texts
from onnxperf.wording.names import name_of, sizes_text, visible
from onnxperf.wording.numbers import UNICODE, Marks, decimal_size, duration, marks_for, megabytes

SAMPLED = "~"
MOST_TENSORS = 5
"""Tensors alive at the peak that are named; the others are summed up."""
INTERRUPTED = "Interrupted: this is what was measured until then."
_PEAKS = "Peaks of resident memory in MB: loading, the first call, a steady call"
_PAGES = "Resident between the steps in MB: pages that it wrote + pages of files"
_NEEDS = "needs: peak of a steady call above what was resident before the first call"
_STEPS = "+: added at the peak of a step; stays: kept after it, as by onnxruntime's arena"


class Part(NamedTuple):
    """A table with its heading, and lines that explain it."""

    heading: str
    sheet: Sheet
    below: Sequence[str] = ()


def print_memory(record: Memory, console: Console) -> None:
    """Every case: the peaks of its subjects, what is resident between them, where the bytes are, answer, notes."""
    encoding = console.encoding
    for number, case in enumerate(record.cases):
        if number:
            console.print()
        print_heading(case.model, memory_facts(case, record), console)
        for part in memory_parts(case, record, marks_for(encoding)):
            print_sheet(visible(part.heading, encoding), part.sheet, console)
            for line in part.below:
                console.print(Text(visible(line, encoding), style="dim"))
        if case.interrupted:
            console.print()
            console.print(Text(INTERRUPTED, style="yellow"))
        print_end(case.answer, memory_notes(case), console)


def memory_facts(case: MemoryCase, record: Memory) -> list[str]:
    """Sizes and threads, and where it was measured."""
    threads = {subject.conditions.get("threads") for subject in case.subjects} - {None}
    told = [count(int(each), "thread") for each in threads if each is not None] if len(threads) == 1 else []
    return [sizes_text(case.dims), *told, *machine_texts(record.machine)]


def memory_parts(case: MemoryCase, record: Memory, marks: Marks = UNICODE) -> Iterator[Part]:
    """The tables of a case, those left out that would be empty."""
    measured = [subject for subject in case.subjects if subject.steps]
    yield Part(_PEAKS, peaks_sheet(case, marks), peaks_legend(case, record, marks) if measured else ())
    if measured:
        yield Part(_PAGES, pages_sheet(measured))
    for subject in case.subjects:
        if subject.breakdown is not None:
            yield Part(_bytes_heading(case, subject), bytes_sheet(subject, subject.breakdown, marks))


def memory_notes(case: MemoryCase) -> list[str]:
    """What a reader must know, and why subjects have no result."""
    return [*case.notes, *(f"{name_of(each.name)}: {each.reason}" for each in case.subjects if each.reason)]


# ---------------------------------------------------------------- tables


def peaks_sheet(case: MemoryCase, marks: Marks = UNICODE) -> Sheet:
    """One row per subject: what it needs, peak and increment of each step, what stays of it, and growth."""
    columns = (
        Column("subject", left=True, room=12),
        Column("status", left=True),
        Column("needs"),
        *(Column("load", rank=2), Column("+", rank=2), Column("stays", rank=3)),
        *(Column("first"), Column("+"), Column("stays", rank=1)),
        *(Column("steady"), Column("+")),
        Column("growth", left=True),
    )
    fine = all(subject.status == "ok" for subject in case.subjects)
    rows = [
        Row(
            [
                name_of(subject.name),
                "" if fine else subject.status,
                "" if subject.needed_bytes is None else megabytes(subject.needed_bytes),
                *_step_cells(subject.step("load")),
                *_step_cells(subject.step("first call")),
                *_step_cells(subject.step("steady call"))[:2],
                growth_text(subject.growth, marks),
            ],
            styles={2: "bold"} if subject.status == "ok" else {1: "red"},
        )
        for subject in case.subjects
    ]
    return without_empty(Sheet(columns, rows))


def peaks_legend(case: MemoryCase, record: Memory, marks: Marks = UNICODE) -> list[str]:
    """What the columns mean, and the mark of peaks that are only the highest sample."""
    sampled = any(not step.exact for subject in case.subjects for step in subject.steps)
    every = duration(record.interval_ns, marks)
    told = f"{SAMPLED} sampled every {every}, as this kernel cannot reset its mark: shorter spikes are missed"
    return [_NEEDS, _STEPS, *([told] if sampled else [])]


def pages_sheet(subjects: Sequence[MemorySubject]) -> Sheet:
    """One row per subject: both kinds of pages before the first step and after each."""
    headings = ("at first", "after load", "after first call", "after steady call")
    columns = (Column("subject", left=True, room=12), *(Column(heading) for heading in headings))
    rows = []
    for subject in subjects:
        named = [subject.step("load"), subject.step("first call"), subject.step("steady call")]
        moments = [subject.steps[0].before, *(step.after if step else None for step in named)]
        rows.append(Row([name_of(subject.name), *map(_pages, moments)]))
    return without_empty(Sheet(columns, rows))


def bytes_sheet(subject: MemorySubject, breakdown: Breakdown, marks: Marks = UNICODE) -> Sheet:
    """What a model holds and needs, each with its size."""
    columns = (Column("what", left=True, room=24), Column("size"), Column("", left=True, room=16, rank=1))
    sizes: list[tuple[str, int | None, str]] = [
        ("weights on disk", breakdown.weights_on_disk_bytes, ""),
        ("weights in memory", breakdown.weights_in_memory_bytes, "after constants were folded"),
        ("inputs", breakdown.input_bytes, ""),
        *((f"  copy of {name_of(copy.name)}", copy.copied_bytes, copy_text(copy)) for copy in breakdown.copies),
        ("outputs", breakdown.output_bytes, ""),
        ("arena held", breakdown.arena_held_bytes, "taken from the system, at its largest"),
        ("  in use", breakdown.arena_used_bytes, "packed weights are in it"),
        ("needed, measured", subject.needed_bytes, "as in the table of peaks"),
        ("planned minimum", breakdown.planned_bytes, "intermediate results and outputs"),
        *_alive(breakdown),
    ]
    return Sheet(
        columns, [Row([what, decimal_size(size, marks), why]) for what, size, why in sizes if size is not None]
    )


def copy_text(copy: InputCopy) -> str:
    """Why an input is copied."""
    why = f"cast {copy.from_type} -> {copy.to_type}" if copy.reason == "cast" else "made contiguous"
    return f"{why} in every call"


def growth_text(growth: Growth | None, marks: Marks = UNICODE) -> str:
    """Whether memory grows with the calls, and by how much: a leak with each of them, an arena in all."""
    if growth is None:
        return ""
    total = growth.resident_bytes[-1] - growth.resident_bytes[0]
    words = {
        "none": "none",
        "settling": "settled",
        "leak": f"leak {decimal_size(growth.bytes_per_call, marks)}/call",
        "arena": f"arena +{decimal_size(total, marks)}",
    }
    return words[growth.kind]


def _bytes_heading(case: MemoryCase, subject: MemorySubject) -> str:
    heading = f"Where the bytes of {name_of(subject.name)} are"
    if not any(len(sizes) > 1 for sizes in case.dims.values()):
        return heading
    first = sizes_text({name: sizes[:1] for name, sizes in case.dims.items()})
    return f"{heading}: inputs, outputs and tensors at {first}"


def _alive(breakdown: Breakdown) -> Iterator[tuple[str, int | None, str]]:
    if not breakdown.alive:
        return
    operator = f" ({name_of(breakdown.peak_op)})" if breakdown.peak_op else ""
    total = sum(tensor.size_bytes for tensor in breakdown.alive)
    yield f"alive at {name_of(breakdown.peak_node)}{operator}", total, "the peak node"
    shown, rest = breakdown.alive[:MOST_TENSORS], breakdown.alive[MOST_TENSORS:]
    yield from ((f"  {name_of(tensor.name)}", tensor.size_bytes, tensor.role) for tensor in shown)
    if rest:
        yield f"  {count(len(rest), 'other')}", sum(tensor.size_bytes for tensor in rest), ""


def _step_cells(step: MemoryStep | None) -> list[str]:
    if step is None:
        return ["", "", ""]
    mark = "" if step.exact else SAMPLED
    return [f"{mark}{megabytes(step.peak_bytes)}", _signed(step.increment_bytes), _signed(step.kept_bytes)]


def _signed(size: int) -> str:
    text = megabytes(size)
    return text if text.startswith("-") else f"+{text}"


def _pages(resident: Resident | None) -> str:
    if resident is None:
        return ""
    return f"{megabytes(resident.anonymous_bytes)} + {megabytes(resident.file_bytes)}"
