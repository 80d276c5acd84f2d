"""What is known about a machine, as a page: facts, what they mean, and how fast it moves bytes and multiplies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnxperf.records.doctor import MachineReport
from onnxperf.records.headroom import Bandwidth, Peaks
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, ORANGE, Chart, axis_of, chart, colors_of, size_unit
from onnxperf.render.charts.plot import Plot, Series, with_rounded
from onnxperf.render.kit.column import BYTES, RATE, WHOLE, Column, bar_column
from onnxperf.render.kit.machine import FROZEN, machine_facts, noise_text
from onnxperf.render.kit.page import Page, Section, Warn, answered
from onnxperf.render.kit.table import On, Table
from onnxperf.wording.numbers import count, per_second, size

Fact = tuple[str, str]
_THREADS_OF = "threads of "
"""How rows about libraries begin."""
Rate = tuple[Peaks, Bandwidth]
"""What a number of threads reached with arrays of one size."""


def doctor_page(report: MachineReport) -> Page:
    """All facts in two columns, and what they mean; a page has those of the machine below, as that of any result."""
    answer, *warnings = report.answer.splitlines() or [""]
    charts = [each._replace(on="page") for each in (*bandwidth_charts(report), *arithmetic_charts(report))]
    return [
        Section("Facts", [_table(_in_short(facts_table(report).rows), "screen"), _table(_own_facts(report), "page")]),
        Section("Peaks", charts),
        *answered(answer, interrupted=report.interrupted),
        *map(Warn, warnings),
    ]


def facts_table(report: MachineReport, on: On = "all") -> Table[Fact]:
    """The facts of the machine, what else was found, and the noise if it was measured."""
    return _table([*machine_facts(report.machine), *_own_facts(report)], on)


def bandwidth_table(report: MachineReport) -> Table[Rate]:
    """How fast arrays of each size are read and written."""
    columns: list[Column[Rate]] = [
        Column("threads", "threads", lambda row: row[0].threads, WHOLE),
        Column("size_bytes", "size of all arrays", lambda row: row[1].size_bytes, BYTES),
        Column("gb_per_s", "GB/s", lambda row: row[1].gb_per_s, RATE),
    ]
    return Table(columns, [(peaks, each) for peaks in report.peaks for each in peaks.bandwidths])


def arithmetic_table(report: MachineReport) -> Table[Peaks]:
    """How many operations a second a matrix product reached."""
    columns: list[Column[Peaks]] = [
        Column("threads", "threads", lambda row: row.threads, WHOLE),
        Column("gflop_per_s", "float32 GFLOP/s", lambda row: row.gflop_per_s, RATE),
        Column("int8_gop_per_s", "int8 GOP/s", lambda row: row.int8_gop_per_s, RATE),
        bar_column(lambda row: row.gflop_per_s, report.peaks),
    ]
    return Table(columns, report.peaks)


def bandwidth_charts(report: MachineReport) -> list[Chart]:
    """A line over sizes for each number of threads."""
    table = bandwidth_table(report)
    if not table.rows:
        return []
    sizes = [row[1].size_bytes for row in table.rows]
    colors = colors_of(map(_threads, report.peaks))
    peaks, best = max(table.rows, key=lambda row: row[1].gb_per_s)
    summary = (
        f"Bytes read and written a second with arrays of {size(min(sizes))} to {size(max(sizes))}: small ones stay in "
        f"caches, the largest ones only fit into memory. The most is {per_second(best.gb_per_s)} GB/s, with "
        f"{_threads(peaks)} and {size(best.size_bytes)}."
    )
    picture = Plot(
        x=axis_of("size of all arrays", sizes, size_unit(sizes)),
        y=axis_of("bandwidth", [row[1].gb_per_s for row in table.rows], (1.0, "GB/s"), True, math.inf),
        series=[_line(peaks, colors[_threads(peaks)]) for peaks in report.peaks],
    )
    return [chart("Bandwidth over sizes", summary, picture, table)]


def arithmetic_charts(report: MachineReport) -> list[Chart]:
    """A bar for each number of threads and type."""
    peaks = report.peaks
    kinds = (
        ("32-bit floating point", [each.gflop_per_s for each in peaks], BLUE),
        ("8-bit integers", [each.int8_gop_per_s for each in peaks], ORANGE),
    )
    series = [
        BarSeries(name, [rate or 0.0 for rate in rates], [per_second(rate) for rate in rates], color)
        for name, rates, color in kinds
        if any(rates)
    ]
    if not series:
        return []
    summary = "Billions of operations a second that onnxruntime's matrix product reached, by number of threads."
    picture = bars([_threads(each) for each in peaks], series, "operations a second", (1.0, "billions"))
    return [bars_chart("Arithmetic", summary, picture, arithmetic_table(report))]


def _own_facts(report: MachineReport) -> list[Fact]:
    noise = [] if report.noise_band is None else [("noise", f"{noise_text(report.noise_band)} (A/A race)")]
    return [*report.rows.items(), *noise]


def _in_short(facts: Sequence[Fact]) -> list[Fact]:
    """All threads in one row, and nothing that is as usual."""
    found = dict(facts)
    if found.get("idle workers") == FROZEN:
        del found["idle workers"]
    python = found.pop("Python", "")
    found["system"] = ", ".join(filter(None, [found.get("system", ""), python and f"Python {python}"]))
    threads = {name: text for name, text in found.items() if name.startswith(_THREADS_OF)}
    shown: dict[str, str] = {}
    for name, text in found.items():
        if name in threads:
            several = (f"{each.removeprefix(_THREADS_OF)} {number}" for each, number in threads.items())
            shown.setdefault("threads", "; ".join(several))
        else:
            shown[name] = text
    return list(shown.items())


def _table(facts: Sequence[Fact], on: On) -> Table[Fact]:
    columns: list[Column[Fact]] = [
        Column("fact", "fact", lambda row: row[0], style="bold", untitled=True),
        Column("value", "value", lambda row: row[1], room=24, folds=True, untitled=True),
    ]
    return Table(columns, facts, on=on)


def _threads(peaks: Peaks) -> str:
    return count(peaks.threads, "thread")


def _line(peaks: Peaks, color: int) -> Series:
    words = [f"{size(each.size_bytes)}: {per_second(each.gb_per_s)} GB/s" for each in peaks.bandwidths]
    sizes = [each.size_bytes for each in peaks.bandwidths]
    rates = [each.gb_per_s for each in peaks.bandwidths]
    return with_rounded(Series(_threads(peaks), sizes, rates, color, words=words))
