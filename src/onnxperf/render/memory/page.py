"""What subjects need in memory, as a page: their peaks, what is resident between the steps, and where the bytes are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxperf.records.memory import Memory, MemoryCase
from onnxperf.render.kit.machine import cpu_text, thread_texts, used_versions
from onnxperf.render.kit.page import GAP, Amount, Heading, Line, Page, Panes, Part, Section, Tabs, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.memory.charts import case_curves, case_growth, peaks_chart
from onnxperf.render.memory.tables import SAMPLED, bytes_table, pages_table, peaks_table
from onnxperf.wording.names import name_of, sizes_text, with_reasons
from onnxperf.wording.numbers import duration, in_megabytes

_NEEDS = "needs: peak of a steady call above model and inputs"
_STEPS = "+: added at the peak of a step; stays: kept after it"


def memory_page(record: Memory) -> Page:
    """Every case: the peaks of its subjects, what is resident between them, where the bytes are, answer, notes."""
    parts: list[Part] = []
    for case in record.cases:
        title = f"Memory at {sizes_text(case.dims)}" if case.dims else "Memory"
        reasons = with_reasons((subject.name, subject.reason) for subject in case.subjects)
        parts += [GAP] if parts else []
        parts += [Heading(case.model, _facts(case, record)), Section(title, list(_parts(case, record)))]
        parts += answered(case.answer, [*case.notes, *reasons], case.interrupted, amount=_first_need(case))
    return parts


def _first_need(case: MemoryCase) -> Amount:
    """What a steady call of the first subject needs."""
    first = next((each for each in case.subjects if each.needed_bytes is not None), None)
    return ("", "") if first is None else (in_megabytes(first.needed_bytes), f"needed by {name_of(first.name)}")


def _facts(case: MemoryCase, record: Memory) -> list[str]:
    machine = record.machine
    versions = used_versions(case.subjects, machine)
    return [sizes_text(case.dims), *thread_texts(case.subjects), *versions, cpu_text(machine)]


def _parts(case: MemoryCase, record: Memory) -> Iterator[Part]:
    """Tables and charts of a case; what was not measured has no empty one."""
    if not any(each.steps for each in case.subjects):
        yield peaks_table(case)
        return
    yield peaks_chart(record, case)
    yield from (Line(text, "dim") for text in _legend(case, record))
    yield Panes([*case_curves(record, case), *case_growth(record, case)])
    tables: list[Table[Any]] = [pages_table(case)]
    tables += [bytes_table(case, each) for each in case.subjects if each.breakdown is not None]
    yield from (table._replace(on="screen") for table in tables)
    yield Tabs(tables)


def _legend(case: MemoryCase, record: Memory) -> list[str]:
    """What the columns mean, and the mark of peaks that are only the highest sample."""
    sampled = any(not step.exact for subject in case.subjects for step in subject.steps)
    every = duration(record.interval_ns)
    sampling = f"{SAMPLED} sampled every {every}, as this kernel cannot reset its mark: shorter spikes are missed"
    return [_NEEDS, _STEPS, *([sampling] if sampled else [])]
