"""Charts of every kind as descriptions: ordinary ones, long names, many rows, far values, failures, and nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import accumulate

from onnxperf.render.charts.bars import BarSeries, bars
from onnxperf.render.charts.base import (
    BLUE,
    GREEN,
    GREY,
    MEGABYTES,
    ORANGE,
    PERCENT,
    PINK,
    RED,
    SKY,
    SUBJECT_COLORS,
    VERDICT_COLORS,
    Axis,
    Chart,
    Layer,
    Picture,
    axis_of,
    chart,
    named_axis,
    time_unit,
)
from onnxperf.render.charts.forest import Forest, Mark, cut
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.charts.plot import Edge, Level, Plot, PlotMark, PlotSpan, Series, clipped, robust
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.kit.table import plain_table
from onnxperf.wording.numbers import duration, interval, percent, ratio

LONG = "encoder/layer_11/attention/self/query_key_value/projection/MatMul_fused_with_bias_and_gelu"
HUGE = "x_" + "very_long_name_" * 13
ASIAN = "変換器/第十一層/注意機構/問い合わせ行列の積"
TRICKY = ["$\\alpha_1$ and $50", "_hidden", ASIAN, LONG, "a\\b{c}^2", HUGE, "(no name)"]
OPERATORS = ("MatMul", "Conv", "LayerNormalization", "Softmax", "Gelu", "Add", "Transpose", "Gather")
ANSWER = (
    "ort-threads=4 is 1.52× as fast as the baseline (95 % CI 1.47–1.58). torch is slower, and numpy is not decided. "
    "All outputs agree within 1e-05."
)
TOPIC = "bert-base-uncased.onnx · batch=8, sequence=128 · AMD EPYC 7763"
NS = 1e6


def one(picture: Picture, title: str = "Ratios and limits", summary: str = "") -> list[Chart]:
    """A chart of one picture."""
    words = summary or (
        "Each row is one comparison with its 95 % interval. Intervals that contain 1 decide nothing; those beyond the "
        "axis end in arrows."
    )
    return [chart(title, words, picture, plain_table(["name"], []))]


def layers(pictures: Sequence[Picture], title: str = "Time per call") -> list[Chart]:
    """A chart of several pictures."""
    drawn = [Layer(each, {"case": f"batch={2**place}"}) for place, each in enumerate(pictures)]
    return [Chart(title, "The same for each case.", drawn, plain_table(["name"], []))]


# ---------------------------------------------------------------- bars


def costs(names: Sequence[str], spread: float = 0.75, pale: bool = False) -> Picture:
    """A bar per name, the longest first."""
    values = [8.43 * NS * spread**place for place in range(len(names))]
    words = [f"{duration(value)} · {percent(value / sum(values))}" for value in values]
    series = BarSeries("time", values, words, pale=[pale and place % 3 == 1 for place in range(len(names))])
    return bars(names, [series], "time per inference", time_unit(values))


def sides(names: Sequence[str]) -> Picture:
    """Two bars per name."""
    before = [8.43 * NS * 0.7**place for place in range(len(names))]
    after = [value * (0.6 + 0.1 * place) for place, value in enumerate(before)]
    series = [
        BarSeries(
            name, values, [duration(value) for value in values], color, [place == 2 for place in range(len(names))]
        )
        for name, values, color in (("fp32.onnx", before, GREY), ("int8.onnx", after, BLUE))
    ]
    return bars(names, series, "time per inference", time_unit(before))


def stages() -> Picture:
    """All series behind each other."""
    series = [
        BarSeries(
            name,
            [value * NS * (1 + row) for row in range(3)],
            [duration(value * NS * (1 + row)) for row in range(3)],
            color,
        )
        for name, value, color in (("load", 12.0, SKY), ("optimize", 7.5, ORANGE), ("first call", 0.6, GREEN))
    ]
    return bars(["ort", "ort-disable-all", "torch"], series, "time to first result", time_unit([6e7]), stacked=True)


def changes() -> Picture:
    """Bars to both sides of zero, colored one by one."""
    values = [-12e6, -3e6, 0.0, 4e6, 30e6]
    words = [f"{value / 1e6:+.0f} MB" for value in values]
    series = BarSeries("change", values, words, colors=[GREEN, GREEN, GREY, RED, RED])
    names = ["weights", "arena", "inputs", "outputs", "scratch"]
    return bars(names, [series], "change of peak memory", MEGABYTES, legend=[("less", GREEN), ("more", RED)])


def giant() -> Picture:
    """A value beyond the axis."""
    drawn = BarSeries("time", [2e6, 1e6, 90e6], ["2.00 ms", "1.00 ms", "90.0 ms, too long to draw"])
    return bars(["MatMul", "Add", "5 others"], [drawn], "time", (1e6, "ms")).__class__(
        names=["MatMul", "Add", "5 others"], series=[drawn], axis=axis_of("time", [0, 2e6], (1e6, "ms"), from_zero=True)
    )


# ---------------------------------------------------------------- forests


def mark(name: str, value: float, spread: float, verdict: str) -> Mark:
    low, high = value / (1 + spread), value * (1 + spread)
    said = verdict if verdict == "baseline" else f"{ratio(value)} {verdict}"
    ends = (1.0, 1.0) if verdict == "baseline" else (low, high)
    return Mark(name, 1.0 if verdict == "baseline" else value, *ends, VERDICT_COLORS[verdict], said, interval(*ends))


VERDICTS = ("undecided", "faster", "slower", "equivalent", "undecided")


def forest(names: Sequence[str], effect: float | None = 0.02) -> Forest:
    """A mark per name."""
    values = (1.0, 1.52, 0.83, 1.004, 1.08)
    marks = [
        mark(
            name,
            values[place % 5] * (1 + 0.003 * place),
            (0.03, 0.06, 0.04, 0.008, 0.11)[place % 5],
            VERDICTS[place % 5] if place else "baseline",
        )
        for place, name in enumerate(names)
    ]
    return Forest(marks, axis_of("speedup", [end for each in marks for end in (each.low, each.high)]), effect)


def far_forest() -> Forest:
    """Marks and intervals beyond both ends of the axis."""
    marks = [
        mark("baseline", 1.0, 0.0, "baseline"),
        mark("wide interval", 1.1, 2.0, "undecided"),
        mark("far above", 15.2, 0.1, "faster"),
        mark("far below", 0.021, 0.3, "slower"),
        mark("ordinary", 1.3, 0.05, "faster"),
    ]
    axis = axis_of("new / baseline", [0.7, 1.6])
    return Forest(cut(marks, axis.low, axis.high), axis, 0.05)


# ---------------------------------------------------------------- plots


def sweep(
    subjects: int, sizes: Sequence[int] = (1, 2, 4, 8, 16, 32), names: Callable[[int], str] = "subject {}".format
) -> Plot:
    """A line with a band for each subject over sizes, some without a value."""
    series, marks = [], []
    for number in range(subjects):
        ys = [NS * size**0.9 * (1 + number / 3) for size in sizes]
        known: list[float | None] = [
            None if number == 1 and size == sizes[2] else y for size, y in zip(sizes, ys, strict=True)
        ]
        color = SUBJECT_COLORS[number % 7]
        lows = [None if y is None else 0.93 * y for y in known]
        highs = [None if y is None else 1.08 * y for y in known]
        words = ["" if y is None else duration(y) for y in known]
        series.append(
            Series(names(number), sizes, known, color, words=words, lows=lows, highs=highs, symbol=number // 7)
        )
        marks += [
            PlotMark(size, ys[place], "oom", "cross", color, "oom")
            for place, size in enumerate(sizes)
            if known[place] is None
        ]
    times = [y for each in series for y in (*each.lows, *each.highs) if y is not None]
    ticks = tuple((float(size), str(size)) for size in sizes)
    x = Axis("batch", sizes[0] / 1.2, sizes[-1] * 1.2, True, ticks)
    return Plot(x, axis_of("time per call", times, time_unit(times)), series, marks)


def arena(number: int, names: str = "node_{}") -> Plot:
    """Memory per node as steps, with its peak."""
    held = [(21 if place < number // 2 else 24) * 1e6 for place in range(number)]
    used = [(20 - abs(place - number // 2) % 15) * 1e6 for place in range(number)]
    named = number <= 24
    x = (
        named_axis([names.format(place) for place in range(number)])
        if named
        else Axis("node, in order", -0.5, number - 0.5, ticks=((0.0, "0"), (50.0, "50"), (100.0, "100")))
    )
    series = [
        Series("held by the arena", range(number), held, GREY, "step", dash="dashed"),
        Series("in use", range(number), used, BLUE, "step"),
    ]
    peak = max(range(number), key=used.__getitem__)
    mark = PlotMark(peak, used[peak], "", "peak", RED, f"peak: {names.format(peak)[:40]}, 20 MB")
    spans = [PlotSpan(0.0, 4e6, "packed weights", ORANGE, across=True)]
    return Plot(
        x, axis_of("memory", [*held, *used], MEGABYTES, from_zero=True, log_from=math.inf), series, [mark], spans
    )


def memory() -> Plot:
    """Samples over time, shaded steps with names, peaks, and a first view that ends early."""
    xs = [place * 1e6 for place in range(400)]
    ys = [1e8 + 6e7 * min(place / 60, 1) + 2e7 * (place % 20 > 10) for place in range(400)]
    steps = (
        ("load", 0, 60, SKY),
        ("first call", 62, 90, ORANGE),
        ("steady call", 92, 110, GREEN),
        ("growth", 112, 399, GREY),
    )
    spans = [PlotSpan(low * 1e6, high * 1e6, name, color, name) for name, low, high, color in steps]
    marks = [
        PlotMark(30e6, 2.1e8, "", "peak", RED, "load 210 MB"),
        PlotMark(75e6, 2.0e8, "", "sampled", RED, "first call 200 MB"),
        PlotMark(100e6, 1.9e8, "", "peak", RED, "steady call 190 MB"),
    ]
    y = axis_of("resident memory", [*ys, 2.4e8], MEGABYTES, from_zero=True, log_from=math.inf)
    levels = [Level(2.25e8, "limit of the machine: 225 MB")]
    return Plot(
        axis_of("time since the start", xs, (1e6, "ms"), from_zero=True),
        y,
        [Series("samples", xs, ys, BLUE, "line")],
        marks,
        spans,
        levels,
        until=160e6,
        zooms=True,
    )


def samples(subjects: int = 3) -> Plot:
    """Blocks by round with outliers, launches and set-ups."""
    draw = random.Random(7)
    made = []
    for number in range(subjects):
        ys = [NS * (1 + number / 4) * draw.gauss(1, 0.02) * (9 if draw.random() < 0.01 else 1) for _ in range(120)]
        made.append(Series(f"subject {number}", range(120), ys, SUBJECT_COLORS[number], "points", symbol=number))
    y = axis_of("time per call", robust([value for each in made for value in each.ys]), (1e6, "ms"))
    drawn = [clipped(each, y, [duration(value) for value in each.ys]) for each in made]
    edges = [Edge(39.5, dash="solid"), Edge(79.5, dash="solid"), Edge(19.5), Edge(59.5)]
    spans = [PlotSpan(39.5, 79.5, label="launch 1")]
    x = axis_of("round", range(120))
    return Plot(
        x, y, [series for series, _ in drawn], [each for _, marks in drawn for each in marks], spans, edges=edges
    )


def histogram() -> Plot:
    """The shares of calls in ranges of time."""
    edges = [NS * 1.02**place for place in range(60)]
    shares = [math.exp(-(((place - 20) / 8) ** 2)) / 14 for place in range(59)]
    other = [math.exp(-(((place - 35) / 5) ** 2)) / 9 for place in range(59)]
    series = [Series("ort", edges, [*shares, 0.0], BLUE, "area"), Series("torch", edges, [*other, 0.0], RED, "area")]
    return Plot(
        axis_of("time of a call", edges, (1e6, "ms"), log_from=3),
        axis_of("share of calls", [*shares, *other], PERCENT, from_zero=True, log_from=math.inf),
        series,
        levels=[Level(0.05, "5 %")],
    )


def roofline(number: int = 40, names: str = "node_{}") -> Plot:
    """Points of different sizes with names, below roofs."""
    draw = random.Random(3)
    groups = []
    for place, operator in enumerate(OPERATORS[:5]):
        xs = [10 ** draw.uniform(-1, 2) for _ in range(number // 5)]
        ys = [min(x * 20, 500) * draw.uniform(0.05, 0.9) for x in xs]
        sizes = [draw.random() ** 3 for _ in xs]
        labels = [names.format(f"{operator}_{at}") if at < 2 else "" for at in range(len(xs))]
        groups.append(
            Series(operator, xs, ys, SUBJECT_COLORS[place], "points", sizes=sizes, labels=labels, symbol=place)
        )
    roofs = [
        Series("memory 20 GB/s", [0.05, 25], [1, 500], GREY, "line", dash="dashed"),
        Series("arithmetic 500 GFLOP/s", [25, 300], [500, 500], GREY, "line"),
    ]
    every = [y for each in groups for y in each.ys if y is not None]
    return Plot(
        axis_of("operations per byte", [0.05, 300]),
        axis_of("speed", [*every, 500], (1.0, "GFLOP/s")),
        [*groups, *roofs],
        tall=420,
    )


def commits(number: int = 30) -> Plot:
    """A history: points with levels between changes, commits below."""
    ys = [NS * (1.0 if place < 18 else 1.3) * (1 + 0.01 * (place % 5)) for place in range(number)]
    level = [1.02 * NS if place < 18 else 1.32 * NS for place in range(number)]
    names = [f"{(place * 7919) % 16**6:06x}" for place in range(number)]
    series = [
        Series("time per call", range(number), ys, BLUE, "points"),
        Series("level", range(number), level, GREY, "step"),
    ]
    marks = [PlotMark(18, 1.3 * NS, "", "diamond", RED, ratio(1.29))]
    return Plot(
        named_axis(names, "commit", 12),
        axis_of("time per call", ys, (1e6, "ms")),
        series,
        marks,
        edges=[Edge(17.5, RED)],
        tall=260,
    )


def gaps() -> Plot:
    """Not a number, none, and infinite values."""
    series = [
        Series("gaps", [1, 2, 3, 4, 5], [1.0, None, math.nan, 2.0, 3.0], BLUE, words=[""] * 5),
        Series("nothing", [1, 2, 3, 4, 5], [None] * 5, RED),
        Series("far", [1, 2, 3, 4, 5], [2.0, 2.2, 90.0, 2.1, -40.0], GREEN, "points"),
    ]
    return Plot(axis_of("size", [1, 5]), axis_of("ratio", [0.8, 3.4]), series)


# ---------------------------------------------------------------- matrices


def square(rows: int = 5, columns: int = 6, failed: bool = False) -> Matrix:
    """A map of speedups, with changes of the winner."""
    cells = []
    for row in range(rows):
        for column in range(columns):
            value = 0.55 * 1.3 ** (row + column / 2)
            decided = abs(value - 1) > 0.06
            lost = failed and (row * 7 + column) % 11 == 3
            cells.append(
                MatrixCell(
                    row,
                    column,
                    "timeout" if lost else ratio(value),
                    "",
                    (BLUE if value > 1 else RED) if decided else GREY,
                    min(0.25 + abs(math.log2(value)) * 0.4, 0.9) if decided else 0.25,
                    bold=decided and not lost,
                    failed=lost,
                    small="" if lost else interval(0.96 * value, 1.05 * value),
                    right=column < columns - 1 and (value < 1) != (0.55 * 1.3 ** (row + (column + 1) / 2) < 1),
                    below=row < rows - 1 and (value < 1) != (0.55 * 1.3 ** (row + 1 + column / 2) < 1),
                )
            )
    legend = [
        MatrixLegend("torch is faster", BLUE),
        MatrixLegend("ort-threads=4 is faster", RED),
        MatrixLegend(
            "undecided in 3 cells: the interval of the speedup contains 1 and is wider than any effect that matters",
            GREY,
            0.25,
        ),
    ]
    if failed:
        legend.append(MatrixLegend("not compared", GREY, failed=True))
    sizes = [str(2**place) for place in range(max(rows, columns))]
    return Matrix("sequence", "batch", sizes[:rows], sizes[:columns], cells, legend)


def pairs(names: Sequence[str]) -> Matrix:
    """Names on both sides."""
    cells = [
        MatrixCell(row, column, f"{0.1 * (row - column):.1e}", "", PINK, min(abs(row - column) / len(names), 1.0))
        for row in range(len(names))
        for column in range(len(names))
    ]
    return Matrix("subject", "compared with", names, names, cells)


# ---------------------------------------------------------------- spans


def timeline(number: int = 60, lanes: int = 3, name: str = "{}_{}") -> Spans:
    """Executions in threads."""
    draw = random.Random(5)
    starts, widths, lane, item = [], [], [], []
    for place in range(lanes):
        now = draw.random() * 1e5
        while now < 1e7:
            width = draw.expovariate(1) * 1e7 / number
            if now + width > 1e7:
                break
            starts.append(now)
            widths.append(width)
            lane.append(place)
            item.append(draw.randrange(len(OPERATORS)))
            now += width * 1.05
    items = [SpanItem(name.format(operator, 3), operator, place % 7) for place, operator in enumerate(OPERATORS)]
    legend = [(operator, place) for place, operator in enumerate(OPERATORS[:6])]
    names = [f"thread {place}" for place in range(lanes)]
    axis = axis_of("time since the iteration began", [0, 1e7], (1e6, "ms"), from_zero=True)
    return Spans(axis, names, starts, widths, lane, item, items, ["executed"], [0] * len(starts), legend)


def flame(depth: int = 12) -> Spans:
    """Functions and what they call."""
    starts, widths, lane, item = [0.0], [1e9], [0], [0]
    for level in range(1, depth):
        parts = [0.5 / level, 0.3, 0.12]
        left = 0.0
        for place, part in enumerate(parts):
            starts.append(left * 1e9)
            widths.append(part * 1e9 * 0.9**level)
            lane.append(level)
            item.append((level * 3 + place) % 9)
            left += part
    functions = ("<module>", "run", "forward", "matmul", "softmax", "_call_impl", "<built-in> dot", "decode", LONG)
    items = [SpanItem(name, name, SKY if "built" in name else BLUE) for name in functions]
    axis = axis_of("time per call", [0, 1e9], (1e6, "ms"), from_zero=True)
    return Spans(
        axis,
        [""] * depth,
        starts,
        widths,
        lane,
        item,
        items,
        ["self"],
        [0] * len(starts),
        [("Python", BLUE), ("built-in", SKY)],
        enlarges=True,
    )


def sixty() -> list[str]:
    return [f"{LONG[: 10 + place]}_{place}" for place in range(60)]


EMPTY_AXIS = axis_of("nothing", [])

CHARTS: dict[str, Callable[[], list[Chart]]] = {
    "bars": lambda: one(costs(OPERATORS, pale=True), "Time per operator"),
    "bars of long names": lambda: one(costs(TRICKY)),
    "bars of 60 rows": lambda: one(costs(sixty(), 0.95)),
    "bars of 150 rows": lambda: one(costs([f"node_{place}" for place in range(150)], 0.99)),
    "bars of one row": lambda: one(costs(["MatMul"])),
    "bars of two sides": lambda: one(sides(OPERATORS[:6])),
    "bars of two sides, 24 rows": lambda: one(sides(sixty()[::-1][:24])),
    "bars, stacked": lambda: one(stages()),
    "bars of changes": lambda: one(changes()),
    "bars, logarithmic": lambda: one(
        bars(
            OPERATORS,
            [BarSeries("", list(accumulate([900.0] + [7.0] * 7, lambda a, b: a * b)), [f"word {n}" for n in range(8)])],
            "time",
            (1e6, "ms"),
            log_from=50,
        )
    ),
    "bars with a giant": lambda: one(giant()),
    "bars of nothing": lambda: one(bars([], [], "time")),
    "bars of zeros": lambda: one(bars(["a", "b"], [BarSeries("", [0.0, math.nan], ["nothing", "failed"])], "time")),
    "forest": lambda: one(forest(["ort", "ort-threads=4", "torch", "numpy", "ort-fp16"])),
    "forest of one": lambda: one(forest(["ort"])),
    "forest of long names": lambda: one(forest(TRICKY)),
    "forest of 60": lambda: one(forest(sixty())),
    "forest beyond the axis": lambda: one(far_forest()),
    "forest, logarithmic": lambda: one(
        Forest(
            [mark(name, 0.05 * 5**place, 0.3, "faster") for place, name in enumerate(OPERATORS[:5])],
            axis_of("speedup", [0.04, 40]),
        )
    ),
    "forest of nothing": lambda: one(Forest([], EMPTY_AXIS)),
    "forests": lambda: layers([forest(["ort", "torch", "numpy"]), forest(["ort", "torch", "numpy"]), far_forest()]),
    "sweep": lambda: one(sweep(3), "Time over batch"),
    "sweep of 50 subjects": lambda: one(sweep(50)),
    "sweep of long names": lambda: one(sweep(7, names=lambda place: TRICKY[place])),
    "sweep of one subject": lambda: one(sweep(1)),
    "arena": lambda: one(arena(12)),
    "arena of long names": lambda: one(arena(20, f"{LONG}_{{}}")),
    "arena of many nodes": lambda: one(arena(140)),
    "memory": lambda: one(memory()),
    "samples": lambda: one(samples()),
    "histogram": lambda: one(histogram()),
    "roofline": lambda: one(roofline()),
    "roofline of long names": lambda: one(roofline(200, f"{LONG}/{{}}")),
    "history": lambda: one(commits()),
    "gaps": lambda: one(gaps()),
    "plot of nothing": lambda: one(Plot(EMPTY_AXIS, EMPTY_AXIS, [])),
    "matrix": lambda: one(square()),
    "matrix with failures": lambda: one(square(4, 4, failed=True)),
    "matrix of 30 columns": lambda: one(square(30, 30)),
    "matrix of names": lambda: one(pairs(TRICKY)),
    "matrix of one cell": lambda: one(square(1, 1)),
    "matrix of nothing": lambda: one(Matrix("a", "b", [], [], [])),
    "matrices": lambda: layers([square(3, 2), square(2, 2), square(3, 2), square(2, 2)]),
    "timeline": lambda: one(timeline()),
    "timeline of 12000": lambda: one(timeline(4000)),
    "timeline of 60 lanes": lambda: one(timeline(8, 60, f"{LONG}_{{}}_{{}}")),
    "flame": lambda: one(flame()),
    "flame of 100 levels": lambda: one(flame(100)),
    "spans of nothing": lambda: one(Spans(EMPTY_AXIS, [], [], [], [], [], [], [], [])),
    "several charts": lambda: [
        *one(forest(["ort", "torch", "numpy"])),
        *one(costs(OPERATORS), "Time per operator"),
        *one(sweep(2), "Time over batch"),
    ],
    "15 panels": lambda: layers([costs(["MatMul"]) for _ in range(15)]),
    "no chart": list,
}
