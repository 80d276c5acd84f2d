"""Charts of profiles and diffs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from msgspec.structs import replace

from onnxperf.records.diff import Diff
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile
from onnxperf.records.race import Case
from onnxperf.records.trace import TensorType
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.kit.old_chart import figure_bytes, figure_of
from onnxperf.render.profile.diff_chart import operators_plot
from onnxperf.render.profile.profile_chart import (
    MAX_LANES,
    MAX_SPANS,
    Span,
    nodes_plot,
    profile_plot,
    sources_plot,
    timeline_plot,
)
from onnxperf.results.diff import DiffResult
from onnxperf.wording.names import name_of, shortened
from tests.render.examples import NASTY_NAMES
from tests.render.profile import chart_examples as examples


def diff_plot(diff: Diff, ax: Any = None, **how: float) -> Any:
    return DiffResult(diff).plot(ax, **how)


EMPTY = Profile(model="m", events=0, iterations=0)
NO_DIFF = Diff(before=EMPTY, after=EMPTY, rows=())


def timeline(profile: Profile, body: int = 3) -> Axes:
    """The nodes one after the other, the last few inside the first."""
    lengths = [node.self_us[1] for node in profile.nodes]
    starts = [int(start) for start in np.cumsum([0, *lengths])[:-1]]
    spans = [
        Span(start, us, (7 + number % 2, int(number >= len(lengths) - body)), node.op_name, node.name)
        for number, (start, us, node) in enumerate(zip(starts, lengths, profile.nodes, strict=True))
    ]
    return timeline_plot(spans, profile.model)


CHARTS: dict[str, Callable[[], Any]] = {
    "profile": lambda: profile_plot(examples.before()),
    "profile with many operators": lambda: profile_plot(examples.many(200)),
    "profile of nothing": lambda: profile_plot(EMPTY),
    "nodes": lambda: nodes_plot(examples.before()),
    "nodes of one operator": lambda: nodes_plot(examples.before(), op="Conv"),
    "many nodes": lambda: nodes_plot(examples.many(90)),
    "no nodes": lambda: nodes_plot(examples.before(), op="Nothing"),
    "sources": lambda: sources_plot(examples.after()),
    "no sources": lambda: sources_plot(EMPTY),
    "timeline": lambda: timeline(examples.before()),
    "timeline of nothing": lambda: timeline(EMPTY),
    "diff": lambda: diff_plot(examples.diff()),
    "diff of many": lambda: diff_plot(examples.diff(examples.many(80), examples.many(90)), min_share=0),
    "diff of nothing": lambda: diff_plot(NO_DIFF),
    "operators": lambda: operators_plot(examples.diff()),
    "operators of nothing": lambda: operators_plot(NO_DIFF),
}


def panels(drawn: Any) -> list[Axes]:
    return list(np.atleast_1d(drawn).flat)


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax: Axes) -> list[float]:
    return [patch.get_width() for patch in ax.patches]  # type: ignore[attr-defined]


def boxes(ax: Axes) -> list[Bbox]:
    legend = ax.get_legend()
    shown = [*ax.texts, ax.title, ax.xaxis.label, *(legend.get_texts() if legend else [])]
    shown += [label for label in [*ax.get_yticklabels(), *ax.get_xticklabels()] if label.get_visible()]
    low, high = sorted(ax.get_xlim())
    ticks = [t for t in ax.get_xticklabels() if not low <= t.get_position()[0] <= high]
    return [text.get_window_extent() for text in shown if text.get_text() and text not in ticks]


@pytest.mark.parametrize("chart", CHARTS)
def test_no_words_are_cut_or_meet_others(chart: str) -> None:
    drawn = CHARTS[chart]()
    figure = figure_of(drawn)
    figure.draw_without_rendering()
    found = [box for ax in panels(drawn) for box in boxes(ax)]
    title = figure._suptitle.get_window_extent()  # type: ignore[attr-defined]
    for box in [*found, title]:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
    inner = [box.padded(-1.5) for box in [*found, title]]  # the two bars of a row stand close, as they should
    assert not any(a.overlaps(b) for i, a in enumerate(inner) for b in inner[i + 1 :])


@pytest.mark.parametrize(("chart", "form", "start"), [("timeline", "png", b"\x89PNG"), ("operators", "svg", b"<?xml")])
def test_every_chart_can_be_saved(chart: str, form: Literal["png", "svg"], start: bytes) -> None:
    assert figure_bytes(CHARTS[chart](), form).startswith(start)


NASTY_TITLE = "$x$ and $\\frac" + "\ud800\n\x1b" * 99


def nasty_profile() -> Profile:
    nodes = [
        replace(
            examples.node((name, name, [(1,)], (1,), 50), 1),
            provider=name,
            path=(name,),
            inputs=(TensorType(name, ()),),
        )
        for name in NASTY_NAMES
    ]
    sources = [examples.source("fused", (name, name), 9) for name in NASTY_NAMES]
    return examples.profile(nodes, NASTY_TITLE, sources)


def short(text: str) -> str:
    """A name as a chart writes it; what is longer is cut in its middle."""
    return shortened(name_of(text), fg.NAME_LENGTH)


NASTY_CHARTS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "operators": (lambda: profile_plot(nasty_profile()), [short(name) for name in NASTY_NAMES]),
    "nodes": (lambda: nodes_plot(nasty_profile()), [short(f"{name}/{name}") for name in NASTY_NAMES]),
    "nodes of nothing": (lambda: nodes_plot(nasty_profile(), op=NASTY_TITLE), []),
    "sources": (lambda: sources_plot(nasty_profile()), [short(f"{name} + {name}") for name in NASTY_NAMES]),
    "timeline": (lambda: timeline(nasty_profile()), []),
    "diff": (lambda: diff_plot(examples.diff(EMPTY, nasty_profile())), []),
    "both sides": (lambda: operators_plot(examples.diff(nasty_profile())), [short(name) for name in NASTY_NAMES]),
}


@pytest.mark.parametrize("chart", NASTY_CHARTS)
def test_nasty_names_are_drawn_as_they_are(chart: str) -> None:
    draw, labels = NASTY_CHARTS[chart]
    drawn = draw()
    figure_bytes(drawn, "svg")
    shown = {label.split("\n")[0] for label in names(panels(drawn)[0])}
    assert shown >= set(labels)
    written = [text for text in figure_of(drawn).findobj(Text) if isinstance(text, Text) and text.get_visible()]
    assert not any("\x1b" in text.get_text() or "\ud800" in text.get_text() for text in written)
    assert not any(text.get_parse_math() for text in written if "$" in text.get_text())


def test_a_profile_shows_time_and_executions_of_each_operator() -> None:
    time, count, nodes = profile_plot(examples.before())
    assert names(nodes)[0] == "block/conv1"
    assert len(names(nodes)) == 12
    assert names(nodes)[-1].endswith(" others")
    assert bars(nodes)[0] < bars(time)[0]
    assert names(time)[:2] == ["Conv", "PRelu"]
    assert len(bars(time)) == len(bars(count)) == 9
    assert words(count)[:2] == ["4", "2"]
    assert re.fullmatch(r"\d\d\.\d ms · 9\d\.\d %", words(time)[0])
    assert time.get_xlabel() == "ms per iteration"


def test_nodes_are_chosen_by_operator_and_the_longest_is_on_top() -> None:
    ax = nodes_plot(examples.before(), op="Conv")
    assert [name.split("\n")[0] for name in names(ax)] == ["block/conv1", "block/conv2", "stem", "attention"]
    assert names(ax)[2].endswith("\nConv(f-1x3x112x112,f-64x3x3x3,f-64)->f-1x64x112x112")
    assert nodes_plot(examples.before(), op="Nothing").get_xlabel() == "no such node"


def test_what_a_picture_cannot_hold_is_one_row_that_says_so() -> None:
    ax = nodes_plot(examples.many(200))
    assert len(names(ax)) == fg.MAX_BARS
    assert names(ax)[-1] == "141 others"
    assert bars(ax)[-1] == 0  # it would dwarf all others
    assert words(ax)[-1].endswith("too long to draw")
    short = fg.Bars([4.0, 3.0, 6.0], [fg.BLUE] * 3, ["a", "b", "c"])
    fg.draw_bars(given := Figure().add_subplot(), ["x", "y", "9 others"], [short], summed=True)
    assert bars(given) == [4, 3, 6]


def test_sources_are_coloured_by_what_became_of_them() -> None:
    ax = sources_plot(examples.after())
    assert names(ax)[1] == "block/conv2 + add"
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text().strip() for text in legend.get_texts()] == ["kept", "fused", "inserted", "unattributed"]


def test_a_timeline_has_a_lane_per_thread_and_depth() -> None:
    ax = timeline(examples.before())
    assert names(ax) == ["thread 7, depth 0", "thread 7, depth 1", "thread 8, depth 0", "thread 8, depth 1"]
    assert "block/conv1" in words(ax)
    assert "cat" not in words(ax)  # too short for its name


def test_a_timeline_of_very_much_shows_the_longest() -> None:
    count = MAX_SPANS + 50
    ax = timeline_plot([Span(number, 2, (number % 100, 0), "Add", "a") for number in range(count)], "m")
    assert len(names(ax)) == MAX_LANES
    assert re.search(r"[\d,]+ of the shortest executions left out", ax.get_xlabel())


def test_a_diff_shows_both_sides_and_folds_what_is_small() -> None:
    time, count = diff_plot(examples.diff())
    assert names(time)[0] == "[=CPU]Conv(f-1x64x112x112,f-64x64x3x3,f-64)->f-1x64x112x112"
    assert names(time)[1].startswith("[-CPU]Conv")
    assert names(time)[-1] == "9 others"
    assert len(bars(time)) == 2 * len(names(time)) == len(bars(count))
    all_times, all_counts = diff_plot(examples.diff(), min_share=0)
    assert sum(bars(all_counts)) == len(examples.before().nodes) + len(examples.after().nodes)
    both = examples.before().usual_nodes_us + examples.after().usual_nodes_us
    assert sum(bars(all_times)) == pytest.approx(both, abs=0)
    assert sum(bars(time)) == pytest.approx(both, abs=0)


def test_noise_is_pale() -> None:
    same = examples.diff(examples.before(), examples.before())
    assert {patch.get_alpha() or patch.get_facecolor()[3] for patch in diff_plot(same)[0].patches} == {fg.PALE}
    changed = diff_plot(examples.diff())[0].patches[0]
    assert changed.get_facecolor()[3] == 1


def test_operators_of_both_sides_share_their_axes() -> None:
    (time, count), (other_time, other_count) = operators_plot(examples.diff())
    assert time.get_xlim() == other_time.get_xlim()
    assert count.get_xlim() == other_count.get_xlim()
    assert "ReorderInput" in names(other_time)
    assert "ReorderInput" not in names(time)


def test_optimisation_levels_of_one_model_are_in_the_title() -> None:
    before, after = (
        replace(examples.before(), session=SessionOptions(opt_level=level)) for level in ("disable", "all")
    )
    figure = figure_of(diff_plot(examples.diff(before, after)))
    assert "cnn.onnx, disable → cnn.onnx, all" in figure._suptitle.get_text()  # type: ignore[attr-defined]


def test_levels_without_the_name_of_their_model_get_it_from_the_race() -> None:
    levels = [replace(examples.before(), model=level) for level in ("disable", "all")]
    for race, title in ((Case(model="cnn.onnx"), "cnn.onnx: disable → all"), (None, "disable → all")):
        figure = figure_of(diff_plot(replace(examples.diff(*levels), race=race)))
        assert figure.get_suptitle().partition("\n")[2] == title


def test_given_axes_are_drawn_on() -> None:
    pair = Figure().subplots(1, 2)
    four = Figure().subplots(2, 2)
    one = Figure().add_subplot()
    assert list(profile_plot(examples.before(), pair)) == list(pair)
    assert list(diff_plot(examples.diff(), Figure().subplots(1, 2)))
    assert (operators_plot(examples.diff(), four) == four).all()
    assert nodes_plot(examples.before(), ax=one) is one


def test_drawing_leaves_pyplot_alone() -> None:
    before = "matplotlib.pyplot" in sys.modules
    profile_plot(examples.before())
    assert ("matplotlib.pyplot" in sys.modules) == before
