"""Charts of every kind: ordinary ones, and those with long names, outliers, failures and many marks."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from onnxperf.records.comparison import Comparison
from onnxperf.render.charts.bars import Bars, BarSeries, bars, bars_chart
from onnxperf.render.charts.base import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    Axis,
    Chart,
    Filter,
    Layer,
    Picture,
    axis_of,
    chart,
    linear_ticks,
    log_ticks,
    named_axis,
    size_unit,
    time_unit,
)
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.charts.plot import Edge, Level, Plot, PlotMark, PlotSpan, Series, clipped
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.kit.column import NAME, NS, Column
from onnxperf.render.kit.comparison import Compared
from onnxperf.render.kit.page import Answer, Section
from onnxperf.render.kit.table import Table, plain_table
from onnxperf.render.web.document import report_html
from onnxperf.render.web.story import Story
from onnxperf.wording.numbers import decimal_size, duration, ratio

LONG = "/encoder/layers.11/attention/self/query_key_value/MatMul_with_a_name_that_goes_on_and_on_and_on"
Row = tuple[str, float, float, float, str]
COMPARED: Compared[Row] = Compared(
    name=lambda row: row[0],
    of=lambda row: Comparison(ratio=row[1], low=row[2], high=row[3], verdict=row[4], reason=""),  # type: ignore[arg-type]
    axis="time of the baseline / own",
    tooltip=lambda row: f"about {row[0]}",
)
NUMBERS = plain_table(("name", "value"), [("a", "1")])


def compared(count: int = 4) -> list[Row]:
    """Subjects against a baseline."""
    rows: list[Row] = [
        ("run", 1.0, 1.0, 1.0, "baseline"),
        ("run-c", 1.21, 1.18, 1.24, "faster"),
        ("io-binding", 0.91, 0.88, 0.94, "slower"),
        (LONG, 1.004, 0.99, 1.02, "equivalent"),
    ]
    rows += [(f"candidate {number}", 1 + number / 40, 0.95, 1.1 + number / 20, "undecided") for number in range(count)]
    return rows[:count]


def nodes_table(keys: Sequence[str]) -> Table[str]:
    """A linked row for every key."""
    columns: list[Column[str]] = [
        Column("node", "node", str, NAME),
        Column("time_ns", "time", lambda key: 1e3 * len(key), NS),
    ]
    return Table(columns, keys, "Nodes", link=lambda key: key)


def few_bars() -> Bars:
    times = [1.8e6, 9e5, 4.2e5, 1.1e5, 2e4]
    names = ["MatMul", "Softmax", LONG, "Add", "Reshape"]
    return bars(
        names, [BarSeries("", times, [duration(ns) for ns in times])], "time per call", time_unit(times), keys=names
    )


def paired_bars() -> Bars:
    before, after = [5e6, 3e6, 1e6, 4e4], [2e6, 3.1e6, 1e6, 0.0]
    series = [
        BarSeries("before", before, [duration(ns) for ns in before], GREY),
        BarSeries("after", after, [duration(ns) for ns in after], BLUE, pale=[False, True, True, False]),
    ]
    return bars(["first", "second", "third", "gone"], series, "time per call", time_unit(before))


def many_bars() -> Bars:
    sizes = [1e9 / (number + 1) ** 2 for number in range(40)]
    series = [BarSeries("", sizes, [decimal_size(size) for size in sizes], GREEN)]
    return bars([f"node number {n}" for n in range(40)], series, "memory", size_unit(sizes), log_from=100.0)


def signed_bars() -> Bars:
    values = [3e5, 1e5, -2e5, -4e5]
    series = [
        BarSeries(
            "", values, [f"{ns / 1e3:+.0f} µs" for ns in values], colors=[RED, RED, GREEN, GREEN], pale=[False] * 4
        )
    ]
    legend = [("slower than before", RED), ("faster than before", GREEN)]
    names = ["Conv", "Gemm", "Relu", "Concat"]
    return bars(names, series, "change of the time per call", time_unit(values), legend=legend)


def stacked_bars() -> Bars:
    series = [
        BarSeries(name, [5e5 / (place + 1), 3e5, 1e5 * place], [f"{name} {n}" for n in range(3)], place)
        for place, name in enumerate(("launching", "running", "copying of outputs", "waiting for threads", "others"))
    ]
    return bars(["run", "run-c", "io-binding"], series, "time per call", time_unit([1e6]), stacked=True)


def outlying_rows() -> list[Row]:
    rows = compared(12)
    return [*rows, ("far away", 480.0, 400.0, 500.0, "faster"), ("wide", 1.3, 0.2, 40.0, "undecided")]


def sizes_plot() -> Plot:
    sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    series = []
    for place, name in enumerate(("run", "run-c", LONG)):
        times = [2e5 * (1 + 0.2 * place) * size**0.8 for size in sizes]
        series.append(
            Series(
                name,
                sizes,
                [None if place == 2 and size == 64 else ns for size, ns in zip(sizes, times, strict=True)],
                place,
                words=[f"batch={size:.0f}: {duration(ns)}" for size, ns in zip(sizes, times, strict=True)],
                lows=[0.9 * ns for ns in times],
                highs=[1.15 * ns for ns in times],
                symbol=place,
            )
        )
    top = 1.2e7
    x = Axis("batch", 0.85, 150.0, True, tuple((size, f"{size:.0f}") for size in sizes))
    y = axis_of("time per call", [1.8e5, top], time_unit([2e6]))
    marks = [PlotMark(64.0, top, f"{LONG}, batch=64\nout of memory", "cross", RED, series=LONG)]
    return Plot(x, y, series, marks, tall=380)


def memory_plot() -> Plot:
    rng = random.Random(1)
    count = 1500
    xs = [2e6 * number for number in range(count)]
    ys = [4e7 + 3e8 * (1 - math.exp(-number / 200)) + 5e6 * rng.random() for number in range(count)]
    spans = [
        PlotSpan(0.0, 4e8, "load", SKY, "load"),
        PlotSpan(5e8, 9e8, "first call", ORANGE, "first call"),
        PlotSpan(1.0e9, 1.6e9, "steady call", GREEN, "steady call"),
        PlotSpan(1.7e9, 2.3e9, "steady call", GREEN),
    ]
    marks = [
        PlotMark(2e8, 2.5e8, "load: peak 250 MB", "peak", text="250 MB"),
        PlotMark(7e8, 3.9e8, "first call: peak 390 MB", "sampled", text="390 MB"),
    ]
    resident = Series("resident", xs, ys, words=[decimal_size(size) for size in ys])
    x = axis_of("time since the inputs were ready", [0.0, xs[-1]], time_unit([xs[-1]]), from_zero=True)
    y = axis_of("memory", [0.0, 4.2e8], (1e6, "MB"), from_zero=True)
    levels = [Level(3.45e8, "limit 345 MB"), Level(3.4e8, "packed weights 340 MB")]
    return Plot(x, y, [resident], marks, spans, levels, zooms=True, until=1.5e9)


def arena_plot(keys: Sequence[str]) -> Plot:
    rng = random.Random(2)
    used = [2e6 + 1e6 * rng.random() * (place % 7) for place in range(len(keys))]
    xs = [float(place) for place in range(len(keys))]
    words = [f"{key}: {decimal_size(size)}" for key, size in zip(keys, used, strict=True)]
    series = [
        Series("in use", xs, used, BLUE, "step", words, keys=keys),
        Series(
            "held by the arena", xs, [9e6] * len(keys), GREY, "step", dash="dotted", words=["9 MB held"] * len(keys)
        ),
    ]
    place = max(range(len(used)), key=lambda at: used[at])
    marks = [
        PlotMark(
            xs[place],
            used[place],
            f"the peak: {keys[place]}",
            "peak",
            text=f"{decimal_size(used[place])}, {keys[place]}",
        )
    ]
    x = axis_of("nodes, in the order in which they ended", xs)
    return Plot(x, axis_of("memory", [0.0, *used, 9e6], size_unit([9e6]), from_zero=True), series, marks, zooms=True)


def samples_plot() -> Plot:
    rng = random.Random(3)
    series, marks = [], []
    y = axis_of("time per call", [9e5, 1.5e6], time_unit([1e6]))
    for place, name in enumerate(("run", "run-c", "io-binding")):
        times = [1e6 * (1 + 0.1 * place + 0.05 * rng.random()) for _ in range(120)]
        times[17 * (place + 1)] = 9e6
        whole = Series(
            name,
            [float(n) for n in range(120)],
            times,
            place,
            "points",
            words=[f"{duration(ns)}\nround {n}" for n, ns in enumerate(times)],
            symbol=place,
        )
        inside, beyond = clipped(whole, y, [duration(ns) for ns in times])
        series.append(inside)
        marks += beyond
    x = Axis("round", -1.0, 121.0, False, linear_ticks(-1.0, 121.0))
    spans = [
        PlotSpan(first - 0.5, first + 29.5, "every second launch", GREY, f"launch {first // 30}") for first in (30, 90)
    ]
    edges = [Edge(45.5), Edge(75.5), Edge(29.5, dash="solid")]
    return Plot(x, y, series, marks, spans, edges=edges, zooms=True, tall=380)


def histogram_plot() -> Plot:
    rng = random.Random(4)
    edges = [1e6 * 1.02**n for n in range(60)]
    series = []
    for place, name in enumerate(("run", "run-c")):
        drawn = [1.2e6 * (1 + 0.15 * place) * math.exp(rng.gauss(0, 0.12)) for _ in range(4000)]
        shares = [sum(low <= ns < high for ns in drawn) / len(drawn) for low, high in pairwise(edges)]
        words = [f"{100 * share:.1f} % of 4,000 calls" for share in shares]
        series.append(Series(name, edges, [*shares, 0.0], place, "area", [*words, ""]))
    x = axis_of("time of a call", edges, time_unit([1e6]), log_from=3.0, margin=0.0)
    return Plot(x, axis_of("share of calls", [0.0, 0.12], (0.01, "%"), from_zero=True), series)


def roofline_plot(keys: Sequence[str]) -> Plot:
    rng = random.Random(5)
    series = []
    for place, name in enumerate(("MatMul", "Conv", "Add", "others")):
        xs = [10 ** rng.uniform(-1, 2.2) for _ in keys]
        ys = [min(80.0, 20 * x) * rng.uniform(0.05, 0.9) for x in xs]
        words = [f"{key} ({name})\n{y:.3g} GFLOP/s" for key, y in zip(keys, ys, strict=True)]
        color = GREY if name == "others" else place
        sizes = [rng.random() ** 3 for _ in keys]
        owned = [f"{key}" for key in keys]
        series.append(Series(name, xs, ys, color, "points", words, sizes=sizes, keys=owned, symbol=0))
    roofs = [
        Series("arithmetic 80 GFLOP/s", [1.0, 400.0], [80.0, 80.0], GREY),
        Series("memory 20 GB/s", [0.05, 4.0], [1.0, 80.0], GREY, dash="dashed"),
        Series("cache 80 GB/s", [0.05, 1.0], [4.0, 80.0], GREY, dash="dotted"),
    ]
    x = Axis("operations per byte", 0.05, 400.0, True, log_ticks(0.05, 400.0))
    y = Axis("GFLOP/s", 0.05, 150.0, True, log_ticks(0.05, 150.0))
    return Plot(x, y, [*series, *roofs], zooms=True, tall=460)


def history_plot() -> Plot:
    names = [f"2024-05-{day:02} a{day}b{day}c" for day in range(1, 29)]
    xs = [float(place) for place in range(len(names))]
    times = [1e6 if place < 12 else 1.3e6 for place in range(len(names))]
    runs = Series("runs", xs, [ns * (1 + 0.02 * math.sin(5 * n)) for n, ns in enumerate(times)], words=names)
    flat = Series(
        "level between change points", [0, 11, 11, 12, 27], [1e6, 1e6, None, 1.3e6, 1.3e6], RED, dash="dashed"
    )
    across = PlotSpan(0.97e6, 1.03e6, "usual range", SKY, across=True)
    return Plot(
        named_axis(names, most=8),
        axis_of("median time per call", [9.5e5, 1.4e6], time_unit([1e6])),
        [runs, flat],
        spans=[across],
    )


def scatter_plot() -> Plot:
    rng = random.Random(6)
    groups = []
    for place, name in enumerate(("exact", "approximate")):
        xs = [rng.uniform(0.0, 0.02) * place for _ in range(8)]
        ys = [1 + rng.random() for _ in xs]
        labels = [f"int8 of {number} nodes" for number in range(8)]
        groups.append(Series(name, xs, ys, (BLUE, 3)[place], "points", labels, labels=labels, symbol=place))
    front = Series("none is better in both", [0.0, 0.005, 0.015], [1.3, 1.6, 1.9], GREY, dash="dashed")
    return Plot(
        axis_of("largest error of outputs", [0.0, 0.02], (0.01, "%")), axis_of("speedup", [1.0, 2.0]), [*groups, front]
    )


def matrix(rows: int = 4, columns: int = 5, name: str = "batch") -> Matrix:
    cells = []
    for row in range(rows):
        for column in range(columns):
            value = 0.6 + 0.25 * column + 0.1 * row
            failed = row == 1 and column == 2
            color = GREY if 0.95 < value < 1.05 else BLUE if value > 1 else RED
            cells.append(
                MatrixCell(
                    row,
                    column,
                    "out of memory" if failed else ratio(value),
                    f"{name}={row}, seq={column}\n{ratio(value)}",
                    color,
                    0.0 if failed else min(abs(value - 1) + 0.25, 0.9),
                    bold=value > 1,
                    failed=failed,
                    small="" if failed else f"{value - 0.04:.2f}–{value + 0.05:.2f}",
                    right=column == 1,
                    below=row == 2 and column > 2,
                    key=f"cell {row} {column}",
                )
            )
    legend = [
        MatrixLegend("run-c is faster", BLUE),
        MatrixLegend("run is faster", RED),
        MatrixLegend("?: undecided", GREY, 0.3),
        MatrixLegend("no time", failed=True),
    ]
    names = [str(2**place) for place in range(max(rows, columns))]
    return Matrix(name, "seq", names[:rows], names[:columns], cells, legend)


def subjects_matrix() -> Matrix:
    found = matrix(3, 24, "")
    return Matrix("", "", ["run", "run-c", LONG], [f"model number {n}" for n in range(24)], found.cells, found.legend)


def timeline(count: int = 60, lanes: int = 3) -> Spans:
    rng = random.Random(7)
    items = [
        SpanItem(
            f"node {n}",
            f"node {n} ({('MatMul', 'Add', 'Relu')[n % 3]})",
            (0, 4, 2)[n % 3],
            [f"node {n}", f"operator {n % 3}"],
        )
        for n in range(40)
    ]
    starts: list[float] = []
    widths: list[float] = []
    lane: list[int] = []
    for row in range(lanes):
        at = 0.0
        while len(starts) < count * (row + 1) / lanes:
            width = 1000 * rng.random() ** 6 + 1
            starts.append(at)
            widths.append(width)
            lane.append(row)
            at += width * (1 + 0.2 * rng.random())
    end = max(start + width for start, width in zip(starts, widths, strict=True))
    scale, unit = 1e3, "ms"
    axis = Axis(f"time since the first node began ({unit})", 0.0, end, False, linear_ticks(0.0, end, scale), scale)
    names = [f"thread {1234 + row}, depth {row}" for row in range(lanes)]
    item = [place % len(items) for place in range(len(starts))]
    words = [f"{width:.0f} µs" for width in widths]
    legend = [("MatMul", 0), ("Add", 4), ("Relu", 2)]
    return Spans(axis, names, starts, widths, lane, item, items, words, list(range(len(starts))), legend)


def flame(depth: int = 30) -> Spans:
    rng = random.Random(8)
    items = [
        SpanItem(f"function_{n}", f"function_{n} (package/module.py:{n})", (0, 4, 2, 3, 5, 6)[n % 6], [f"function {n}"])
        for n in range(50)
    ]
    starts: list[float] = []
    widths: list[float] = []
    lane: list[int] = []
    item: list[int] = []

    def add(start: float, width: float, level: int) -> None:
        starts.append(start)
        widths.append(width)
        lane.append(level)
        item.append(rng.randrange(len(items)))
        at = start
        while level + 1 < depth and at < start + 0.9 * width and width > 2e3:
            part = width * rng.uniform(0.2, 0.95)
            part = min(part, start + width - at)
            add(at, part, level + 1)
            at += part

    add(0.0, 1e6, 0)
    words = [f"{width / 1e3:.1f} µs per call" for width in widths]
    legend = [("onnxruntime", 0), ("numpy", 4), ("transformers", 2), ("torch", 3), ("built-in", 5), ("others", 6)]
    axis = Axis("time per call (µs)", 0.0, 1e6, False, linear_ticks(0.0, 1e6, 1e3), 1e3)
    return Spans(axis, [""] * depth, starts, widths, lane, item, items, words, list(range(len(starts))), legend, True)


def alone(title: str, picture: Picture) -> Chart:
    return chart(title, f"What {title} shows.", picture, NUMBERS)


def layered_matrix() -> Chart:
    layers = [
        Layer(matrix(2, 3), {"model": "small.onnx", "rival": "run-c"}),
        Layer(matrix(3, 3), {"model": "small.onnx", "rival": ""}),
        Layer(matrix(8, 5), {"model": "large.onnx", "rival": "run-c"}),
    ]
    filters = [Filter("model", ["small.onnx", "large.onnx"], 0), Filter("rival", ["run-c", "io"], 1, "all: who wins")]
    table = plain_table(("model", "rival"), [("small.onnx", "run-c"), ("large.onnx", "run-c")])
    return Chart("matrices", "By model.", layers, table, filters)


NODES = [f"node {number}" for number in range(40)]
CHARTS: dict[str, Callable[[], Sequence[Chart]]] = {
    "bars": lambda: [bars_chart("bars", "Times.", few_bars())],
    "paired bars": lambda: [bars_chart("paired bars", "Times.", paired_bars())],
    "many bars": lambda: [bars_chart("many bars", "Times.", many_bars())],
    "signed bars": lambda: [bars_chart("signed bars", "Times.", signed_bars())],
    "stacked bars": lambda: [bars_chart("stacked bars", "Times.", stacked_bars())],
    "sizes": lambda: [alone("sizes", sizes_plot())],
    "memory": lambda: [alone("memory", memory_plot())],
    "arena": lambda: [alone("arena", arena_plot(NODES))],
    "samples": lambda: [alone("samples", samples_plot())],
    "histogram": lambda: [alone("histogram", histogram_plot())],
    "roofline": lambda: [alone("roofline", roofline_plot(NODES))],
    "history": lambda: [alone("history", history_plot())],
    "scatter": lambda: [alone("scatter", scatter_plot())],
    "matrix": lambda: [alone("matrix", matrix())],
    "matrix of models": lambda: [alone("matrix of models", subjects_matrix())],
    "matrices": lambda: [layered_matrix()],
    "timeline": lambda: [alone("timeline", timeline())],
    "20,000 spans": lambda: [alone("20,000 spans", timeline(20_000, 4))],
    "flame": lambda: [alone("flame", flame())],
}
"""Charts by name: what each painter must draw."""


def write_page(path: Path, *names: str, table: bool = True) -> Path:
    """A page of these charts, or of all, behind a table of nodes that some of them show, too."""
    charts = [chart for name in names or CHARTS for chart in CHARTS[name]()]
    sections = [Section("Charts", charts), *([Section("", [nodes_table(NODES)])] if table else [])]
    story = Story("test", "charts", [Answer("It is drawn.")], ["A limit."], ["A note."], sections)
    path.write_text(report_html([story]), encoding="utf-8")
    return path
