"""Painters draw what the descriptions say: the same places, ticks, colors and words as a browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP
from matplotlib.patches import Rectangle

from onnxperf.render.charts.bars import Bars, BarSeries
from onnxperf.render.charts.base import GREEN, LIGHT, ORANGE, RED, Axis, Picture, axis_of, named_axis
from onnxperf.render.charts.forest import Forest
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.charts.plot import Edge, Level, Plot, PlotMark, PlotSpan, Series
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.paint.figure import figure_of
from onnxperf.render.paint.shared import mixed
from tests.render.paint import gallery


def painted(picture: Picture) -> Axes:
    """The axes of a picture in a figure of ours."""
    (ax,) = figure_of(gallery.one(picture), gallery.ANSWER, gallery.TOPIC).axes
    return ax


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def markers(ax: Axes, marker: Any) -> list[tuple[float, float]]:
    """Where signs of a kind stand."""
    lines: list[Any] = [line for line in ax.lines if line.get_marker() == marker]
    return [(float(x), float(y)) for line in lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


@pytest.mark.parametrize(
    ("picture", "axes"),
    [
        (gallery.costs(gallery.OPERATORS), ("x",)),
        (gallery.far_forest(), ("x",)),
        (gallery.timeline(), ("x",)),
        (gallery.sweep(2), ("x", "y")),
        (gallery.histogram(), ("x", "y")),
    ],
)
def test_ticks_are_those_of_the_description_and_no_others(picture: Any, axes: tuple[str, ...]) -> None:
    ax = painted(picture)
    for which in axes:
        described = getattr(picture, which, None) or picture.axis
        drawn = ax.xaxis if which == "x" else ax.yaxis
        assert list(drawn.get_majorticklocs()) == [value for value, _ in described.ticks]
        assert [label.get_text() for label in drawn.get_ticklabels()] == [text for _, text in described.ticks]
        assert list(drawn.get_minorticklocs()) == []
        assert drawn.get_label_text() == described.title


def test_ticks_without_room_lose_their_words_but_one_stays() -> None:
    ticks = tuple((float(value), f"{value + 1},000,000") for value in range(30))
    ax = painted(Plot(Axis("x", 0, 29, ticks=ticks), axis_of("y", [0, 1]), [Series("a", [0, 29], [0, 1])]))
    texts = [label.get_text() for label in ax.get_xticklabels()]
    assert len(texts) == 30
    assert texts[0] == "1,000,000"
    assert 1 < len(list(filter(None, texts))) < 30


class TestBars:
    def test_each_row_has_its_bars_on_their_side_in_their_colors(self) -> None:
        ax = painted(gallery.sides(["a", "b", "c"]))
        found = [(round(bar.get_y() + bar.get_height() / 2), to_hex(bar.get_facecolor())) for bar in bars_of(ax)]
        grey, blue = LIGHT[6], LIGHT[0]
        pale = [mixed(color, "#ffffff", 0.4) for color in (grey, blue)]
        assert found == [(0, grey), (1, grey), (2, pale[0]), (0, blue), (1, blue), (2, pale[1])]
        assert legend(ax) == ["fp32.onnx", "int8.onnx"]
        assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
        assert ax.get_ylim()[0] > ax.get_ylim()[1]

    def test_stacked_bars_stand_behind_each_other(self) -> None:
        ax = painted(gallery.stages())
        assert [(bar.get_x(), bar.get_width()) for bar in bars_of(ax)[:2]] == [(0.0, 12e6), (12e6, 7.5e6)]
        assert words(ax)[0] == "12.0 ms"

    def test_a_bar_beyond_the_axis_ends_there_with_an_arrow(self) -> None:
        ax = painted(gallery.giant())
        end = axis_of("time", [0, 2e6], (1e6, "ms"), from_zero=True).high
        assert markers(ax, CARETRIGHT) == [(end, 2.0)]
        assert "90.0 ms, too long to draw" in words(ax)

    def test_bars_to_the_left_of_zero(self) -> None:
        ax = painted(gallery.changes())
        assert bars_of(ax)[0].get_width() == -12e6
        assert legend(ax) == ["less", "more"]
        assert to_hex(bars_of(ax)[0].get_facecolor()) == LIGHT[GREEN]

    def test_values_without_a_place_on_a_logarithmic_axis_have_no_bar(self) -> None:
        series = BarSeries("", [0.0, float("nan"), 100.0], ["none", "lost", "100"])
        ax = painted(Bars(names=["a", "b", "c"], series=[series], axis=Axis("t", 1, 1000, True, ((10, "10"),))))
        assert [bar.get_width() for bar in bars_of(ax)] == [0, 0, 99]
        assert words(ax) == ["none", "lost", "100"]


def bars_of(ax: Axes) -> list[Rectangle]:
    return [bar for bar in ax.patches if isinstance(bar, Rectangle)]


class TestForest:
    def test_what_lies_beyond_the_axis_is_an_arrow_with_its_value(self) -> None:
        picture = gallery.far_forest()
        ax = painted(picture)
        low, high = picture.axis.low, picture.axis.high
        assert markers(ax, CARETLEFT) == [(low, 1.0), (low, 3.0)]
        assert markers(ax, CARETRIGHT) == [(high, 1.0), (high, 2.0)]
        assert {"0.37", "3.30", "15.2", "0.021"} <= set(words(ax))
        assert [place for place, _ in markers(ax, "o")] == [1.0, 1.1, 1.3]

    def test_each_mark_has_its_color_its_interval_and_its_words(self) -> None:
        picture = gallery.forest(["ort", "torch"])
        ax = painted(picture)
        assert words(ax) == [mark.label for mark in picture.marks]
        lines: Any = ax.lines
        drawn = [(list(line.get_xdata()), line.get_color()) for line in lines if len(line.get_xdata()) == 2]
        assert ([picture.marks[1].low, picture.marks[1].high], LIGHT[GREEN]) in drawn

    def test_the_band_of_what_does_not_matter_stays_on_the_axis(self) -> None:
        picture = Forest(gallery.forest(["ort"]).marks, Axis("speedup", 0.9, 1.1), 0.5)
        (band,) = bars_of(painted(picture))
        assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.9, 1.1))


class TestPlot:
    def test_gaps_stay_gaps_and_values_beyond_the_axis_are_arrows_with_their_values(self) -> None:
        picture = gallery.gaps()
        ax = painted(picture)
        assert markers(ax, CARETUP) == [(3.0, picture.y.high)]
        assert markers(ax, CARETDOWN) == [(5.0, picture.y.low)]
        assert {"90", "-40"} <= set(words(ax))
        ys = np.asarray(ax.lines[0].get_ydata(), dtype=float)
        assert list(np.isnan(ys)) == [False, True, True, False, False]

    def test_series_of_one_color_differ_by_symbol(self) -> None:
        ax = painted(gallery.sweep(9))
        signs: list[Any] = [(line.get_color(), line.get_marker()) for line in ax.lines[:9]]
        assert len(set(signs)) == 9
        assert signs[0][0] == signs[7][0] == LIGHT[0]

    def test_a_step_is_a_level_around_each_point_and_a_histogram_one_to_the_next(self) -> None:
        y = axis_of("y", [0, 3], from_zero=True)
        step = Series("step", [0, 1, 2], [1, 3, 2], shape="step", dash="dotted")
        area = Series("area", [0, 1, 2], [1, 3, 0], shape="area")
        lines: Any = painted(Plot(axis_of("x", [0, 2]), y, [step, area])).lines
        one, other = lines[:2]
        assert list(one.get_xdata()) == [-0.5, 0.5, 0.5, 1.5, 1.5, 2.5]
        assert list(one.get_ydata()) == [1, 1, 3, 3, 2, 2]
        assert list(other.get_xdata()) == [0, 1, 1, 2, 2, 2]

    def test_areas_of_points_follow_their_sizes_and_names_stand_beside_them(self) -> None:
        series = Series("a", [1, 2], [1, 2], shape="points", sizes=[0.0, 1.0], labels=["small", "large"])
        ax = painted(Plot(axis_of("x", [0, 3]), axis_of("y", [0, 3]), [series]))
        sizes: Any = ax.collections[0].get_sizes()  # type: ignore[attr-defined]
        assert max(sizes) / min(sizes) > 20
        assert sorted(words(ax)) == ["large", "small"]

    def test_bands_spans_levels_edges_and_marks_are_there(self) -> None:
        series = Series("a", [0, 1], [1, 2], lows=[0.5, 1.5], highs=[1.5, None])
        picture = Plot(
            axis_of("x", [0, 10]),
            axis_of("y", [0, 3]),
            [series],
            marks=[PlotMark(5, 2, "", "peak", RED, "peak 2")],
            spans=[PlotSpan(4, 8, "load", ORANGE, "loading"), PlotSpan(0, 0.5, "base", GREEN, across=True)],
            levels=[Level(2.5, "limit")],
            edges=[Edge(3)],
        )
        ax = painted(picture)
        assert {"peak 2", "loading", "limit"} <= set(words(ax))
        assert legend(ax) == ["a", "load", "base", "peak"]
        assert len(bars_of(ax)) == 2

    def test_the_first_view_of_what_zooms_is_drawn(self) -> None:
        picture = gallery.memory()
        ax = painted(picture)
        assert ax.get_xlim()[1] == picture.until
        assert len(ax.get_xticks()) >= 4

    def test_names_below_an_axis_that_have_no_room_are_turned_not_broken(self) -> None:
        names = [f"{place:08x}" for place in range(14)]
        ax = painted(Plot(named_axis(names), axis_of("y", [0, 1]), [Series("a", range(14), [1] * 14)]))
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {35.0}
        assert [label.get_text() for label in ax.get_xticklabels()] == names


class TestMatrix:
    def test_cells_have_their_colors_and_words_and_failed_ones_a_hatch(self) -> None:
        cells = [
            MatrixCell(0, 0, "1.5", "", RED, 0.9, bold=True, small="1.4…1.6", right=True),
            MatrixCell(0, 1, "oom", "", failed=True),
        ]
        ax = painted(Matrix("rows", "columns", ["1"], ["2", "4"], cells, [MatrixLegend("not compared", failed=True)]))
        plain, failed, *lines = ax.collections
        assert faces(plain) == [mixed(LIGHT[RED], "#ffffff", 0.9)]
        assert failed.get_hatch()
        assert words(ax) == ["1.5", "1.4…1.6", "oom"]
        assert len(lines) == 1
        assert legend(ax) == ["not compared"]

    def test_half_a_number_is_not_written(self) -> None:
        cells = [MatrixCell(0, place, f"-{10**place}.123456789", "") for place in range(40)]
        ax = painted(Matrix("a", "b", ["1"], [str(place) for place in range(40)], cells))
        assert words(ax) == []


class TestSpans:
    def test_a_span_is_a_box_in_its_lane_with_the_color_of_its_item(self) -> None:
        items = [SpanItem("MatMul", "", RED), SpanItem("Add", "", GREEN)]
        picture = Spans(
            axis_of("t", [0, 10], from_zero=True), ["a", "b"], [0, 5], [4, 5], [0, 1], [0, 1], items, [], []
        )
        ax = painted(picture)
        boxes = [
            (path, color) for each in ax.collections for path, color in zip(each.get_paths(), faces(each), strict=True)
        ]
        assert [color for _, color in boxes] == [LIGHT[RED], LIGHT[GREEN]]
        assert [path.get_extents().x0 for path, _ in boxes] == [0, 5]
        assert words(ax) == ["MatMul", "Add"]

    def test_spans_narrower_than_a_dot_are_drawn_together(self) -> None:
        picture = gallery.timeline(20_000)
        ax = painted(picture)
        drawn = sum(len(each.get_paths()) for each in ax.collections)
        assert len(picture.starts) > 3 * drawn
        assert drawn > 1000


def faces(collection: Any) -> list[str]:
    return [to_hex(color) for color in collection.get_facecolor()]


def test_what_has_nothing_to_draw_says_so() -> None:
    empty = ["bars of nothing", "forest of nothing", "plot of nothing", "matrix of nothing", "spans of nothing"]
    for name in empty:
        figure: Figure = figure_of(gallery.CHARTS[name](), "", "")
        assert words(figure.axes[0]) == ["nothing was measured"]
