"""A machine on a page: how fast it moves bytes and multiplies."""

from __future__ import annotations

from onnxperf.records.doctor import MachineReport
from onnxperf.records.headroom import Peaks
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.web.bars import BarSeries, bars_data
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.render.web.plots import ChartAxis, ChartLine, Point, lines_data, value_axis
from onnxperf.wording.numbers import count, decimal_size, per_second


def doctor_sections(report: MachineReport) -> list[Section]:
    """The peaks, where they were measured."""
    peaks = [each for each in report.peaks if each.bandwidths]
    parts: list[Part] = [_bandwidth(peaks), _arithmetic(peaks)] if peaks else []
    return [Section("Peaks", parts)] if parts else []


def _threads(peaks: Peaks) -> str:
    return count(peaks.threads, "thread")


def _bandwidth(several: list[Peaks]) -> Chart:
    """How fast arrays of each size are read and written."""
    lines = [
        ChartLine(
            _threads(peaks),
            [
                Point(
                    each.size_bytes / 1e6,
                    each.gb_per_s,
                    f"{decimal_size(each.size_bytes)}: {per_second(each.gb_per_s)} GB/s",
                )
                for each in peaks.bandwidths
            ],
            place,
        )
        for place, peaks in enumerate(several)
    ]
    sizes = sorted({each.size_bytes for peaks in several for each in peaks.bandwidths})
    columns = [Column("threads"), Column("size of all arrays"), Column("GB/s")]
    rows = [
        Row([str(peaks.threads), decimal_size(each.size_bytes), per_second(each.gb_per_s)])
        for peaks in several
        for each in peaks.bandwidths
    ]
    summary = (
        f"Bytes read and written a second with arrays of {decimal_size(sizes[0])} to {decimal_size(sizes[-1])}: small "
        "ones stay in caches, the largest ones only fit into memory."
    )
    x = value_axis("size of all arrays (MB)", [each / 1e6 for each in sizes])
    data = lines_data(x, ChartAxis("GB/s", from_zero=True), lines)
    return Chart("lines", "Bandwidth over sizes", summary, data, Table(columns, rows), 340)


def _arithmetic(several: list[Peaks]) -> Chart:
    """Operations a second in matrix products."""
    kinds = (
        ("32-bit floating point", [each.gflop_per_s for each in several], 0),
        ("8-bit integers", [each.int8_gop_per_s for each in several], 4),
    )
    parts = [
        BarSeries(name, [value or 0.0 for value in values], [per_second(value) for value in values], colour)
        for name, values, colour in kinds
        if any(values)
    ]
    columns = [Column("threads"), Column("float32 GFLOP/s"), Column("int8 GOP/s")]
    rows = [Row([str(each.threads), per_second(each.gflop_per_s), per_second(each.int8_gop_per_s)]) for each in several]
    summary = "Billions of operations a second that onnxruntime's matrix product reached, by number of threads."
    axis = ChartAxis("billion operations a second", from_zero=True)
    data = bars_data([_threads(each) for each in several], parts, axis)
    return Chart("bars", "Arithmetic", summary, data, Table(columns, rows), 110 + 50 * len(several))
