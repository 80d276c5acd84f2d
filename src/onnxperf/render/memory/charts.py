"""What subjects need in memory, as charts: peaks per step, resident memory over time, and growth over many calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onnxperf.records.memory import Growth, Memory, MemoryCase, MemoryStep, MemorySubject, StepName
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, GREEN, GREY, MEGABYTES, ORANGE, SKY, Chart, axis_of, chart, time_unit
from onnxperf.render.charts.plot import Plot, PlotMark, PlotSpan, Series, with_rounded
from onnxperf.render.kit.column import MB, NS, WHOLE, Column
from onnxperf.render.kit.table import Table
from onnxperf.render.memory.tables import growth_text, peaks_table
from onnxperf.wording.names import name_of, sizes_text
from onnxperf.wording.numbers import count, duration, in_megabytes

STEP_COLORS: Mapping[StepName, int] = {"load": SKY, "first call": ORANGE, "steady call": GREEN}
"""The same in all charts; what a subject needs and what is resident is blue, calls that show growth are gray."""
_MOST_POINTS = 2_000
_MISSED = 1.01
"""Times the curve from which on a peak is seen to be above it."""
_LEAST_GROWTH = 1e6
"""Bytes: about what `growth` calls none."""
_LONGEST = 3
"""A curve that stays flat is shown for so many times the time of its steps; the rest can be moved to."""


def peaks_charts(record: Memory) -> list[Chart]:
    """What each step added at its peak, a chart per case."""
    return [peaks_chart(record, case) for case in record.cases if _measured(case)]


def curve_charts(record: Memory) -> list[Chart]:
    """Resident memory over time, a chart per subject."""
    return [each for case in record.cases for each in case_curves(record, case)]


def growth_charts(record: Memory) -> list[Chart]:
    """Memory over many calls, a chart per subject."""
    return [each for case in record.cases for each in case_growth(record, case)]


def peaks_chart(record: Memory, case: MemoryCase) -> Chart:
    """What each step added at its peak, and what a steady call needs."""
    subjects = _measured(case)
    series = [_step_bars(subjects, step) for step in STEP_COLORS if any(each.step(step) for each in subjects)]
    series.append(_bars("needs", [each.needed_bytes for each in subjects], BLUE))
    names = [each.name for each in subjects]
    most = max(subjects, key=lambda each: each.needed_bytes or 0)
    the_most = ", the most" if len(names) > 1 else ""
    needed = (
        f" {name_of(most.name)} needs {in_megabytes(most.needed_bytes)}{the_most}."
        if most.needed_bytes is not None
        else ""
    )
    summary = (
        f"What each step of {count(len(names), 'subject')} added at its peak, and what a steady call needs above what "
        f"was resident before the first call.{needed}"
    )
    title = _title("Peaks", record, case)
    return bars_chart(title, summary, bars(names, series, "added", MEGABYTES), peaks_table(case))


def case_curves(record: Memory, case: MemoryCase) -> list[Chart]:
    """Resident memory of each subject over time."""
    found = [each for each in _measured(case) if each.sample_ns]
    highest = max((size for each in found for size in (each.peak_bytes or 0, *each.sample_bytes)), default=0)
    return [_curve_chart(record, case, each, highest) for each in found]


def case_growth(record: Memory, case: MemoryCase) -> list[Chart]:
    """Memory of each subject over many calls."""
    found = ((each, each.growth) for each in _measured(case))
    return [
        _growth_chart(record, case, each, growth)
        for each, growth in found
        if growth is not None and len(growth.calls) > 1
    ]


def _measured(case: MemoryCase) -> list[MemorySubject]:
    return [each for each in case.subjects if each.steps]


def _title(what: str, record: Memory, case: MemoryCase, subject: MemorySubject | None = None) -> str:
    """A title with the subject and how it ended; with the sizes if there are several cases."""
    status = subject.status if subject is not None and subject.status != "ok" else ""
    name = name_of(subject.name) if subject is not None else ""
    sizes = sizes_text(case.dims) if len(record.cases) > 1 else ""
    said = ", ".join(filter(None, [name, sizes, status]))
    return f"{what}: {said}" if said else what


def _step_bars(subjects: Sequence[MemorySubject], step: StepName) -> BarSeries:
    found = [each.step(step) for each in subjects]
    return _bars(step, [None if each is None else each.increment_bytes for each in found], STEP_COLORS[step])


def _bars(name: str, sizes: Sequence[int | None], color: int) -> BarSeries:
    words = ["" if size is None else in_megabytes(size) for size in sizes]
    return BarSeries(name, [float(size or 0) for size in sizes], words, color)


# ---------------------------------------------------------------- over time


class _Step(NamedTuple):
    """A step on the clock of the curve."""

    step: MemoryStep
    begin: int
    end: int
    samples: Sequence[tuple[int, int]]
    """Times and sizes meanwhile."""

    @property
    def highest(self) -> tuple[float, float]:
        """Time and size of its highest sample: no clock knows when the kernel saw a peak."""
        unseen = ((self.begin + self.end) / 2, math.inf)
        return max(self.samples, key=lambda each: each[1], default=unseen)


def _steps(subject: MemorySubject, times: Sequence[int]) -> list[_Step]:
    samples = list(zip(times, subject.sample_bytes, strict=True))
    timed = ((step, ns - subject.sample_ns[0]) for step, ns in zip(subject.steps, subject.step_ns, strict=False))
    spans = ((step, begin, begin + step.duration_ns) for step, begin in timed)
    return [_Step(*each, [sample for sample in samples if each[1] <= sample[0] <= each[2]]) for each in spans]


def _curve_chart(record: Memory, case: MemoryCase, subject: MemorySubject, highest: int) -> Chart:
    """Resident memory over time, with the steps shaded and their peaks, which samples may miss."""
    times = [ns - subject.sample_ns[0] for ns in subject.sample_ns]
    steps = _steps(subject, times)
    end = max((each.end for each in steps), default=0)
    is_flat = subject.growth is not None and subject.growth.kind == "none"
    until = _LONGEST * end if is_flat and times[-1] > _LONGEST * end > 0 else None
    unit = time_unit([until or max(times[-1], end)])
    spans = [PlotSpan(each.begin, each.end, each.step.name, STEP_COLORS[each.step.name]) for each in steps]
    picture = Plot(
        x=axis_of("since the inputs were ready", [0, times[-1], end], unit, from_zero=True, margin=0),
        # The same for all subjects of a case, so that they can be compared.
        y=axis_of("resident", [0, highest], MEGABYTES, from_zero=True, margin=0.15),
        series=[_samples(subject, times)],
        marks=[_peak_mark(each, is_shown=each.step is subject.step(each.step.name)) for each in steps],
        spans=[*spans, *_growth_span(subject.growth, end, times[-1])],
        zooms=True,
        until=until,
    )
    summary = _curve_summary(subject, steps)
    return chart(_title("Resident memory", record, case, subject), summary, picture, _steps_table(subject))


def _samples(subject: MemorySubject, times: Sequence[int]) -> Series:
    """The samples; of very many the highest of every few."""
    few = -(-len(times) // _MOST_POINTS)
    samples = list(zip(times, subject.sample_bytes, strict=True))
    kept = [max(samples[at : at + few], key=lambda each: each[1]) for at in range(0, len(samples), few)]
    words = [f"{duration(ns)}: {in_megabytes(size)}" for ns, size in kept]
    return with_rounded(Series("resident", [ns for ns, _ in kept], [size for _, size in kept], BLUE, words=words))


def _growth_span(growth: Growth | None, begin: int, end: int) -> list[PlotSpan]:
    """The calls that show whether memory grows."""
    if growth is None:
        return []
    return [PlotSpan(begin, end, "growth", GREY, _growth_words(growth))]


def _peak_mark(found: _Step, is_shown: bool) -> PlotMark:
    """The peak of a step, at its highest sample; of the steady calls only that of the table has its size written."""
    step, peak = found.step, in_megabytes(found.step.peak_bytes)
    return PlotMark(
        x=found.highest[0],
        y=step.peak_bytes,
        words=f"{step.name}: peak {peak}{'' if step.exact else ', the highest sample'}",
        symbol="peak" if step.exact else "sampled",
        text=peak if is_shown else "",
        series="resident",
    )


def _curve_summary(subject: MemorySubject, steps: Sequence[_Step]) -> str:
    how = "the kernel" if any(each.step.exact for each in steps) else "samples"
    missed = sum(each.step.peak_bytes > _MISSED * each.highest[1] for each in steps)
    above = f" {count(missed, 'peak')} above the curve fell between two samples." if missed else ""
    return (
        f"Resident memory of {name_of(subject.name)} over time. The steps are shaded, marks are their peaks as {how} "
        f"saw them: the highest is {in_megabytes(subject.peak_bytes)}.{above}"
    )


def _steps_table(subject: MemorySubject) -> Table[MemoryStep]:
    columns: list[Column[MemoryStep]] = [
        Column("step", "step", lambda step: step.name),
        Column("before_bytes", "before", lambda step: step.before.total_bytes, MB),
        Column("peak_bytes", "peak", lambda step: step.peak_bytes, MB),
        Column("increment_bytes", "added", lambda step: step.increment_bytes, MB),
        Column("after_bytes", "after", lambda step: step.after.total_bytes, MB),
        Column("kept_bytes", "stays", lambda step: step.kept_bytes, MB),
        Column("duration_ns", "took", lambda step: step.duration_ns, NS),
        Column("how", "how", lambda step: "from the kernel" if step.exact else "highest sample"),
    ]
    return Table(columns, subject.steps)


# ---------------------------------------------------------------- growth


def _least_range(growth: Growth) -> tuple[float, float]:
    """Both ends of a range in which less than the least growth looks like none."""
    middle = (min(growth.resident_bytes) + max(growth.resident_bytes)) / 2
    return max(middle - _LEAST_GROWTH, 0.0), middle + _LEAST_GROWTH


def _growth_words(growth: Growth) -> str:
    found = "no growth" if growth.kind == "none" else growth_text(growth)
    return f"{count(growth.calls[-1], 'call')}: {found}"


def _growth_chart(record: Memory, case: MemoryCase, subject: MemorySubject, growth: Growth) -> Chart:
    points = list(zip(growth.calls, growth.resident_bytes, strict=True))
    words = [f"after {count(calls, 'call')}: {in_megabytes(size)}" for calls, size in points]
    curve = Series("anonymous memory", growth.calls, growth.resident_bytes, BLUE, words=words)
    summary = f"Memory of {name_of(subject.name)} over {_growth_words(growth)}."
    picture = Plot(
        x=axis_of("calls", growth.calls, log_from=math.inf),
        y=axis_of("anonymous memory", [*growth.resident_bytes, *_least_range(growth)], MEGABYTES, log_from=math.inf),
        series=[with_rounded(curve)],
        tall=240,
    )
    columns: list[Column[tuple[int, int]]] = [
        Column("calls", "calls", lambda point: point[0], WHOLE),
        Column("anonymous_bytes", "anonymous memory", lambda point: point[1], MB),
    ]
    return chart(_title("Growth", record, case, subject), summary, picture, Table(columns, points))
