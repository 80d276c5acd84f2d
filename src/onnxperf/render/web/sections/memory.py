"""Memory of subjects on a page: resident memory over time with the peaks of each step, and what each step needs."""

from __future__ import annotations

from typing import Any

from onnxperf.records.memory import Memory, MemoryCase, MemorySubject, StepName
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.memory.page import peaks_table
from onnxperf.render.web.bars import MEGABYTES, BarSeries, bars
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.wording.names import name_of, sizes_text
from onnxperf.wording.numbers import count, duration, duration_unit, in_megabytes

_COLOURS = (0, 1, 2, 3, 4, 5, 7, 6)
_STEPS: dict[StepName, int] = {"load": 5, "first call": 4, "steady call": 2}
_MOST_POINTS = 2_000
_LONGEST = 3
"""A curve that stays flat is shown for so many times the time of its steps; the rest can be moved to."""


def memory_sections(record: Memory) -> list[Section]:
    """A section per case: peaks by step, curves over time, growth."""
    sections = []
    for case in record.cases:
        measured = [each for each in case.subjects if each.steps]
        if not measured:
            continue
        parts: list[Part] = [peaks_chart(case, measured)]
        parts += [curve(case, each) for each in measured if each.sample_ns]
        parts += [growth_chart(each) for each in measured if each.growth is not None and len(each.growth.calls) > 1]
        sections.append(Section(f"Memory at {sizes_text(case.dims)}" if case.dims else "Memory", parts))
    return sections


def peaks_chart(case: MemoryCase, subjects: list[MemorySubject]) -> Chart:
    """The peak of each step above what was resident before it."""
    names = [each.name for each in subjects]
    series = []
    for step, colour in _STEPS.items():
        found = [each.step(step) for each in subjects]
        sizes = [float(one.increment_bytes) if one is not None else 0.0 for one in found]
        if any(one is not None for one in found):
            words = [in_megabytes(one.increment_bytes) if one is not None else "" for one in found]
            series.append(BarSeries(step, sizes, words, colour))
    needed = [float(each.needed_bytes or 0) for each in subjects]
    series.append(BarSeries("needs", needed, [in_megabytes(each.needed_bytes) for each in subjects], 0))
    summary = (
        f"What each step of {count(len(names), 'subject')} added at its peak, and what a steady call needs above what "
        "was resident before the first call."
    )
    chart = bars("Peaks", summary, names, series, MEGABYTES)
    return chart._replace(table=peaks_table(case))


def curve(case: MemoryCase, subject: MemorySubject) -> Chart:
    """Resident memory over time; spans are the steps, marks their peaks, which samples may miss."""
    start = subject.sample_ns[0]
    scale, unit = duration_unit(subject.sample_ns[-1] - start)
    size_scale, size_name = MEGABYTES
    few = max(-(-len(subject.sample_ns) // _MOST_POINTS), 1)
    samples = list(zip(subject.sample_ns, subject.sample_bytes, strict=True))
    highest = [max(samples[at : at + few], key=lambda each: each[1]) for at in range(0, len(samples), few)]
    steps = list(zip(subject.steps, subject.step_ns, strict=False))
    spans: list[dict[str, Any]] = [
        {
            "from": (begin - start) / scale,
            "to": (begin - start + step.duration_ns) / scale,
            "name": step.name,
            "colour": _STEPS[step.name],
        }
        for step, begin in steps
    ]
    data: dict[str, object] = {
        "x": f"{unit} since the inputs were ready",
        "y": size_name,
        "zero": True,
        "curves": [
            {
                "name": "resident",
                "xs": [(ns - start) / scale for ns, _ in highest],
                "ys": [size / size_scale for _, size in highest],
                "words": [f"{duration(ns - start)}: {in_megabytes(size)}" for ns, size in highest],
                "colour": 0,
            }
        ],
        "spans": spans,
        "shades": [
            {"name": name, "colour": colour}
            for name, colour in _STEPS.items()
            if any(step.name == name for step in subject.steps)
        ],
        "marks": [
            {
                "x": (begin - start + step.duration_ns / 2) / scale,
                "y": step.peak_bytes / size_scale,
                "words": f"{step.name}: peak {in_megabytes(step.peak_bytes)}",
            }
            for step, begin in steps
        ],
    }
    end = max(span["to"] for span in spans) if spans else 0.0
    is_flat = subject.growth is not None and subject.growth.kind == "none"
    if is_flat and (subject.sample_ns[-1] - start) / scale > _LONGEST * end > 0:
        data["until"] = _LONGEST * end  # calls that only show that nothing grows must not push the steps into a corner
    peak = in_megabytes(subject.peak_bytes)
    summary = (
        f"Resident memory of {name_of(subject.name)} over time, with the steps shaded and their peaks marked; the "
        f"highest is {peak}. A peak that lies above the curve fell between two samples."
    )
    title = f"Over time: {name_of(subject.name)}" if len(case.subjects) > 1 else "Over time"
    return Chart("curve", title, summary, data, _steps_table(subject), 320)


def _steps_table(subject: MemorySubject) -> Table:
    columns = [
        *(Column("step", left=True), Column("before"), Column("peak"), Column("added"), Column("after")),
        *(Column("stays"), Column("took"), Column("how", left=True)),
    ]
    rows = [
        Row(
            [
                step.name,
                in_megabytes(step.before.total_bytes),
                in_megabytes(step.peak_bytes),
                in_megabytes(step.increment_bytes),
                in_megabytes(step.after.total_bytes),
                in_megabytes(step.kept_bytes),
                duration(step.duration_ns),
                "from the kernel" if step.exact else "highest sample",
            ]
        )
        for step in subject.steps
    ]
    return Table(columns, rows)


def growth_chart(subject: MemorySubject) -> Chart:
    """Resident memory over many calls."""
    growth = subject.growth
    calls, sizes = (growth.calls, growth.resident_bytes) if growth is not None else ((), ())
    kind = growth.kind if growth is not None else "none"
    scale, unit = MEGABYTES
    words = [f"after {count(number, 'call')}: {in_megabytes(size)}" for number, size in zip(calls, sizes, strict=True)]
    data = {
        "x": "calls",
        "y": unit,
        "curves": [
            {
                "name": "anonymous memory",
                "xs": list(calls),
                "ys": [size / scale for size in sizes],
                "words": words,
                "colour": 2,
                "dots": True,
            }
        ],
    }
    found = "no growth" if kind == "none" else f"growth: {kind}"
    summary = f"Memory of {name_of(subject.name)} over {count(calls[-1] if calls else 0, 'call')}: {found}."
    table = Table(
        [Column("calls"), Column("resident")],
        [Row([str(number), in_megabytes(size)]) for number, size in zip(calls, sizes, strict=True)],
    )
    return Chart("curve", f"Growth: {name_of(subject.name)}", summary, data, table, 240)
