"""What can be seen of every chart in a file: words that are whole, apart and readable, and nothing that is covered."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from onnxperf.render.charts.base import Width
from onnxperf.render.charts.plot import Plot
from onnxperf.render.paint.figure import figure_of
from onnxperf.render.paint.shared import contrast
from tests import depth
from tests.render.paint import gallery
from tests.render.paint.looking import (
    behind,
    box_of,
    covered,
    drawn,
    is_askew,
    meeting,
    outside,
    rendered,
    words_of,
    words_on,
)

WIDTHS: tuple[Width, ...] = ("page", "column")
BOTH = pytest.mark.parametrize("width", WIDTHS)
EVERY = pytest.mark.parametrize("name", depth.some(gallery.CHARTS, 3))
LEAST_CONTRAST = 4.5


@BOTH
@EVERY
def test_no_words_are_cut_by_the_edge(name: str, width: Width) -> None:
    assert outside(drawn(name, width)) == []


@BOTH
@EVERY
def test_no_words_meet_others(name: str, width: Width) -> None:
    assert meeting(drawn(name, width)) == []


@BOTH
@EVERY
def test_words_askew_stand_apart(name: str, width: Width) -> None:
    for ax in drawn(name, width).axes:
        turned = [label for label in ax.get_xticklabels() if is_askew(label)]
        ends = sorted(box_of(label).x1 for label in turned)
        for label in turned:
            height = 7.5 / 72 * drawn(name, width).dpi
            least = height / math.sin(math.radians(label.get_rotation()))
            assert all(there - here >= least for here, there in pairwise(ends))


@BOTH
@EVERY
def test_words_can_be_read_on_what_is_behind_them(name: str, width: Width) -> None:
    figure = drawn(name, width)
    for ax in figure.axes:
        for text in ax.texts:
            if text.get_text():
                assert contrast(text.get_color(), behind(ax, text)) >= LEAST_CONTRAST, text.get_text()
    outer = [text for text in words_of(figure) if all(text not in ax.texts for ax in figure.axes)]
    assert all(contrast(text.get_color(), "white") >= LEAST_CONTRAST for text in outer)


PLOTS = [
    name
    for name, make in gallery.CHARTS.items()
    if any(isinstance(layer.picture, Plot) for chart in make() for layer in chart.layers)
]


@BOTH
@pytest.mark.parametrize("name", PLOTS)
def test_words_cover_neither_lines_nor_signs(name: str, width: Width) -> None:
    assert [found for ax in drawn(name, width).axes for found in covered(ax)] == []


@BOTH
@pytest.mark.parametrize("name", [name for name in gallery.CHARTS if name.startswith("bars") and "stacked" not in name])
def test_words_cover_no_bar(name: str, width: Width) -> None:
    for ax in drawn(name, width).axes:
        bars = [bar.get_window_extent() for bar in ax.patches if isinstance(bar, Rectangle) and bar.get_width()]
        boxes = [(text.get_text(), box_of(text).padded(-2)) for text in ax.texts if text.get_text()]
        assert [words for words, box in boxes if any(map(box.overlaps, bars))] == []


@BOTH
@EVERY
def test_sizes_of_words_suit_print(name: str, width: Width) -> None:
    assert {text.get_fontsize() for text in words_of(drawn(name, width))} <= {7.0, 7.5, 8.5}


@BOTH
@EVERY
def test_a_legend_stands_above_the_data(name: str, width: Width) -> None:
    for ax in drawn(name, width).axes:
        legend = ax.get_legend()
        lows = [box_of(text).y0 for text in legend.get_texts()] if legend is not None else []
        assert all(low >= ax.get_window_extent().y1 for low in lows)


@BOTH
@pytest.mark.parametrize("name", [name for name in gallery.CHARTS if "of 150" in name])
def test_rows_beyond_a_page_are_in_the_table(name: str, width: Width) -> None:
    (ax,) = drawn(name, width).axes
    rows = len(ax.get_yticklabels())
    assert rows == 120
    assert f"{int(name.split()[2]) - rows} more rows in the table" in ax.get_xlabel()


def test_axes_of_one_kind_begin_at_the_same_place() -> None:
    lefts = {round(ax.get_window_extent().x0, 3) for ax in drawn("forests", "page").axes}
    assert len(lefts) == 1


def test_small_matrices_stand_side_by_side() -> None:
    tops = [round(ax.get_window_extent().y1) for ax in drawn("matrices", "page").axes]
    assert tops[0] == tops[1] > tops[-1]


NAMES = st.text("abcXYZ_ /.-0189äß→µ$^{}\\漢", max_size=90).map(lambda name: name or "(no name)")
FEW = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@FEW
@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.sampled_from(WIDTHS), st.floats(1e-4, 1.0))
def test_any_names_and_values_leave_words_apart(names: list[str], width: Width, spread: float) -> None:
    charts = [*gallery.one(gallery.costs(names, spread)), *gallery.one(gallery.forest(names))]
    figure = rendered(figure_of(charts, gallery.ANSWER, gallery.TOPIC, width))
    assert outside(figure) == []
    assert meeting(figure) == []
    assert all(len(list(words_on(ax))) > len(names) for ax in figure.axes)


@FEW
@given(st.lists(NAMES, min_size=1, max_size=9, unique=True), st.sampled_from(WIDTHS))
def test_any_names_of_subjects_leave_a_plot_readable(names: list[str], width: Width) -> None:
    charts = gallery.one(gallery.sweep(len(names), names=lambda place: names[place]))
    figure = rendered(figure_of(charts, "", "", width))
    assert outside(figure) == []
    assert meeting(figure) == []
    assert covered(figure.axes[0]) == []
