"""Figures of ours, axes of the user's, and files."""

from __future__ import annotations

import io
import subprocess
import sys
import types
from typing import Any

import pytest
from matplotlib import rc_context
from matplotlib import style as styles
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from onnxperf.errors import BadOption
from onnxperf.render.charts.base import Picture, Width
from onnxperf.render.paint.figure import draw_on, figure_bytes, figure_of
from onnxperf.render.paint.shared import Handles, Room, Size, contrast
from tests.render.paint import gallery
from tests.render.paint.looking import box_of, meeting, outside, rendered, words_of, words_on

BARS = gallery.CHARTS["bars"]
SEVERAL = gallery.CHARTS["several charts"]


def texts(figure: Figure) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in words_of(figure)]


# ---------------------------------------------------------------- figures of ours


@pytest.mark.parametrize(("width", "inches"), [("page", 7.2), ("column", 3.5)])
def test_a_figure_has_the_width_of_a_paper_and_a_file_300_dots_per_inch(width: Width, inches: float) -> None:
    figure = figure_of(BARS(), gallery.ANSWER, gallery.TOPIC, width)
    assert figure.get_size_inches()[0] == inches
    assert imread(io.BytesIO(figure_bytes(figure, "png"))).shape[1] == round(300 * inches)


def test_the_answer_is_the_title_the_topic_stands_below_and_the_caption_last() -> None:
    figure = figure_of(BARS(), gallery.ANSWER, gallery.TOPIC)
    assert figure.get_suptitle().replace("\n", " ") == gallery.ANSWER
    assert texts(figure)[:3] == [gallery.ANSWER, gallery.TOPIC, BARS()[0].summary]
    heights = [box_of(text).y0 for text in figure.texts]
    assert heights == sorted(heights, reverse=True)
    assert figure.axes[0].get_title(loc="left") == ""


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("It is fast.\nIt is small.", "It is fast. It is small."),
        ("Short. " + "long " * 80 + "end.", "Short."),
        ("", ""),
    ],
)
def test_whole_sentences_are_the_title_as_far_as_three_lines_go(answer: str, shown: str) -> None:
    assert figure_of(BARS(), answer, "").get_suptitle() == shown


def test_a_first_sentence_that_is_too_long_is_cut() -> None:
    title = figure_of(BARS(), "very " * 200 + "long.", "", "column").get_suptitle()
    assert title.count("\n") == 2
    assert title.endswith("…")


def test_each_of_several_panels_has_its_title_and_its_caption() -> None:
    figure = figure_of(SEVERAL(), gallery.ANSWER, gallery.TOPIC)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [chart.title for chart in SEVERAL()]
    layered = figure_of(gallery.CHARTS["forests"](), "", "")
    assert layered.axes[1].get_title(loc="left") == "Time per call: batch=2"
    assert texts(layered).count("The same for each case.") == 1


def test_panels_beyond_twelve_are_counted() -> None:
    figure = figure_of(gallery.CHARTS["15 panels"](), "", "")
    assert len(figure.axes) == 12
    assert "3 more panels left out" in texts(figure)


def test_nothing_measured_is_a_figure_that_says_so() -> None:
    figure = rendered(figure_of([], "Nothing was measured: the model failed.", gallery.TOPIC))
    assert "nothing was measured" in texts(figure)
    assert not outside(figure)
    assert not meeting(figure)


def test_panels_that_explain_the_same_share_a_legend() -> None:
    figure = figure_of(gallery.layers([gallery.sweep(3), gallery.sweep(3)]), "", "")
    (shared,) = figure.legends
    assert [text.get_text() for text in shared.get_texts()] == ["subject 0", "subject 1", "subject 2", "not measured"]
    assert [ax.get_legend() for ax in figure.axes] == [None, None]


def test_the_style_of_the_user_leaves_our_figures_alone_but_for_the_font() -> None:
    plain = figure_bytes(figure_of(BARS(), "", ""), "svg")
    with styles.context("dark_background"), rc_context({"axes.grid": True, "xtick.minor.visible": True}):
        assert figure_bytes(figure_of(BARS(), "", ""), "svg") == plain
    with rc_context({"font.family": ["DejaVu Serif"]}):
        assert figure_bytes(figure_of(BARS(), "", ""), "svg") != plain


def test_an_svg_is_the_same_every_time_and_has_no_date() -> None:
    first, second = (figure_bytes(figure_of(SEVERAL(), gallery.ANSWER, ""), "svg") for _ in range(2))
    assert first == second
    assert b"<dc:date>" not in first


def test_pyplot_is_left_alone_unless_the_user_works_with_it() -> None:
    code = (
        "import sys; from tests.render.paint import gallery; from onnxperf.render.paint.figure import *;"
        "figure_bytes(figure_of(gallery.CHARTS['bars'](), 'a', 'b'), 'png');"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot;"
        "made = figure_of(gallery.CHARTS['bars'](), 'a', 'b'); assert pyplot.gcf() is made;"
        "figure_bytes(made, 'png'); assert pyplot.get_fignums() == []"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_descriptions_need_no_matplotlib() -> None:
    code = "import sys, tests.render.paint.gallery as g; g.CHARTS['sweep'](); assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class Toy(Picture, frozen=True):
    kind = "toy"


def test_a_new_kind_costs_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("onnxperf.render.paint.toy")

    def paint(ax: Axes, _picture: Toy, _room: Room) -> Handles:
        ax.set_xlabel("toys")
        return []

    module.size, module.paint = (lambda _picture, _room: Size(1.0)), paint
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (ax,) = figure_of(gallery.one(Toy()), "", "").axes
    assert ax.get_xlabel() == "toys"


# ---------------------------------------------------------------- axes of the user's


LARGE = ("bars of 60 rows", "matrix of names", "roofline", "flame", "sweep of 50 subjects")
LONG = [f"{kind} of long names" for kind in ("bars", "forest", "sweep", "arena")]


@pytest.mark.parametrize("name", [*LONG, *LARGE])
def test_an_axes_of_the_user_keeps_its_size_and_words_stay_in_its_figure(name: str) -> None:
    figure = Figure()
    ax = figure.subplots()
    before = ax.get_position().bounds
    assert draw_on(ax, gallery.CHARTS[name](), "cnn.onnx") is ax
    rendered(figure)
    assert ax.get_position().bounds == before
    assert not outside(figure)
    assert not meeting(figure)
    assert "cnn.onnx" in ax.get_title()


def test_the_title_is_where_that_of_the_user_replaces_it() -> None:
    ax = Figure().subplots()
    draw_on(ax, BARS(), "cnn.onnx")
    assert ax.get_title() == "Time per operator: cnn.onnx"
    ax.set_title("mine")
    assert [text.get_text() for text in words_on(ax) if "cnn" in text.get_text()] == []


def test_several_panels_take_as_many_axes_in_their_order() -> None:
    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplots(3, 1)
    assert draw_on(panels, SEVERAL(), "cnn.onnx") is panels
    rendered(figure)
    assert not outside(figure)
    assert not meeting(figure)
    assert [ax.get_title().split(":")[0] for ax in panels] == [chart.title for chart in SEVERAL()]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Figure().subplots(), "3 panels, not 1: pass as many axes"),
        (lambda: Figure().subplots(2, 2), "3 panels, not 4: pass as many axes"),
        (lambda: "axes", "pass axes of matplotlib"),
        (lambda: [1, 2, 3], "pass axes of matplotlib"),
    ],
)
def test_axes_that_do_not_fit_are_refused_with_what_to_do(make: Any, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        draw_on(make(), SEVERAL(), "cnn.onnx")


def test_nothing_measured_is_said_on_an_axes_of_the_user() -> None:
    ax = Figure().subplots()
    draw_on(ax, [], "cnn.onnx")
    assert [text.get_text() for text in ax.texts] == ["nothing was measured"]


def test_names_are_no_mathematics_on_axes_with_any_settings() -> None:
    ax = Figure().subplots()
    draw_on(ax, gallery.one(gallery.costs(gallery.TRICKY)), "$x$")
    assert not any(text.get_parse_math() for text in words_on(ax) if text.get_text())


def test_a_dark_axes_has_light_words() -> None:
    with styles.context("dark_background"):
        ax = Figure().subplots()
    draw_on(ax, gallery.CHARTS["bars of two sides"](), "cnn.onnx")
    assert all(contrast(text.get_color(), "black") >= 4.5 for text in words_on(ax) if text.get_text())
