"""What subjects need in memory, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
)
from onnxperf.render.kit.machine import cpu_text, thread_texts, used_versions
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.wording.labels import ARENA_SETTINGS, KEEPERS
from onnxperf.wording.names import listed, name_of, sizes_text, with_reasons
from onnxperf.wording.numbers import count, duration, in_megabytes, megabytes

SAMPLED = "~"
MOST_TENSORS = 5
"""Tensors alive at the peak that are named; the others are summed up."""
_PEAKS = "Peaks of resident memory in MB: loading, the first call, a steady call"
_PAGES = "Resident between the steps in MB: pages that it wrote + pages of files"
_NEEDS = "needs: peak of a steady call above what was resident before the first call"
_STEPS = "+: added at the peak of a step; stays: kept after it"


def memory_page(record: Memory) -> list[Part]:
    """Every case: the peaks of its subjects, what is resident between them, where the bytes are, answer, notes."""
    parts: list[Part] = []
    for case in record.cases:
        parts += [GAP] if parts else []
        parts += [Heading(case.model, _facts(case, record)), *_tables(case, record)]
        reasons = with_reasons((subject.name, subject.reason) for subject in case.subjects)
        parts += closing(case.answer, [*case.notes, *reasons], case.interrupted)
    return parts


def _facts(case: MemoryCase, record: Memory) -> list[str]:
    machine = record.machine
    versions = used_versions(case.subjects, machine)
    return [sizes_text(case.dims), *thread_texts(case.subjects), cpu_text(machine), *versions]


def _tables(case: MemoryCase, record: Memory) -> Iterator[Part]:
    """The tables of a case, those left out that would be empty."""
    measured = [subject for subject in case.subjects if subject.steps]
    yield peaks_table(case)
    if measured:
        yield from (Line(text, "dim") for text in _legend(case, record))
        yield pages_table(measured)
    for subject in case.subjects:
        if subject.breakdown is not None:
            yield bytes_table(case, subject, subject.breakdown)


# ---------------------------------------------------------------- tables


def peaks_table(case: MemoryCase) -> Table:
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
                growth_text(subject.growth),
            ],
            styles={2: "bold"} if subject.status == "ok" else {1: "red"},
        )
        for subject in case.subjects
    ]
    return without_empty(Table(columns, rows, _PEAKS))


def _legend(case: MemoryCase, record: Memory) -> list[str]:
    """What the columns mean, and the mark of peaks that are only the highest sample."""
    sampled = any(not step.exact for subject in case.subjects for step in subject.steps)
    every = duration(record.interval_ns)
    sampling = f"{SAMPLED} sampled every {every}, as this kernel cannot reset its mark: shorter spikes are missed"
    keepers = [KEEPERS[name] for name in dict.fromkeys(each.runtime for each in case.subjects) if name in KEEPERS]
    steps = f"{_STEPS}, as by {listed(keepers)}" if keepers else _STEPS
    return [_NEEDS, steps, *([sampling] if sampled else [])]


def pages_table(subjects: Sequence[MemorySubject]) -> Table:
    """One row per subject: both kinds of pages before the first step and after each."""
    headings = ("at first", "after load", "after first call", "after steady call")
    columns = (Column("subject", left=True, room=12), *(Column(heading) for heading in headings))
    rows = []
    for subject in subjects:
        named = [subject.step("load"), subject.step("first call"), subject.step("steady call")]
        moments = [subject.steps[0].before, *(step.after if step else None for step in named)]
        rows.append(Row([name_of(subject.name), *map(_pages, moments)]))
    return without_empty(Table(columns, rows, _PAGES))


def bytes_table(case: MemoryCase, subject: MemorySubject, breakdown: Breakdown) -> Table:
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
        ("unexplained", breakdown.unexplained_bytes, "neither planned nor a copy"),
        *((f"  {ARENA_SETTINGS[each.setting]}", each.needed_bytes, "needed instead") for each in subject.trials),
        *_alive(breakdown),
    ]
    rows = [Row([what, in_megabytes(size), why]) for what, size, why in sizes if size is not None]
    return Table(columns, rows, _bytes_title(case, subject, breakdown))


def copy_text(copy: InputCopy) -> str:
    """Why an input is copied."""
    why = f"cast {copy.from_type} -> {copy.to_type}" if copy.reason == "cast" else "made contiguous"
    return f"{why} in every call"


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


def _bytes_title(case: MemoryCase, subject: MemorySubject, breakdown: Breakdown) -> str:
    heading = f"Where the bytes of {name_of(subject.name)} are"
    if not any(len(sizes) > 1 for sizes in case.dims.values()):
        return heading
    # Records of earlier versions have no sizes there: they counted at the first.
    counted = {name: (breakdown.dims.get(name, sizes[0]),) for name, sizes in case.dims.items()}
    return f"{heading}: inputs, outputs and tensors at {sizes_text(counted)}"


def _alive(breakdown: Breakdown) -> Iterator[tuple[str, int | None, str]]:
    if not breakdown.alive:
        return
    operator = f" ({name_of(breakdown.peak_op)})" if breakdown.peak_op else ""
    total = sum(tensor.size_bytes for tensor in breakdown.alive if not tensor.within)
    yield f"alive at {name_of(breakdown.peak_node)}{operator}", total, "the peak node"
    shown, rest = breakdown.alive[:MOST_TENSORS], breakdown.alive[MOST_TENSORS:]
    sizes = {tensor.name: tensor.size_bytes for tensor in breakdown.alive}
    yield from ((f"  {name_of(tensor.name)}", tensor.size_bytes, _role_text(tensor, sizes)) for tensor in shown)
    if rest:
        yield f"  {count(len(rest), 'other')}", sum(each.size_bytes for each in rest if not each.within), ""


def _role_text(tensor: LiveTensor, sizes: Mapping[str, int]) -> str:
    if not tensor.within:
        return tensor.role
    repeats = tensor.size_bytes > sizes.get(tensor.within, tensor.size_bytes)  # what is broadcast is larger
    return f"{tensor.role}, may {'repeat' if repeats else 'lie in'} {name_of(tensor.within)}"


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
