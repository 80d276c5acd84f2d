"""Charts of profiles: what is drawn, in which colors, and what their captions say."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest
from matplotlib.figure import Figure
from msgspec.structs import replace

from onnxperf.records.profile import Profile, Timeline
from onnxperf.records.trace import TensorType
from onnxperf.render.charts.base import BLUE, GREEN, GREY, RED, SUBJECT_COLORS, Chart
from onnxperf.render.profile.charts import (
    first_charts,
    iterations_charts,
    nodes_charts,
    operators_charts,
    sources_charts,
)
from onnxperf.results.profile import ProfileResult
from onnxperf.wording.names import name_of
from tests.headrooms import with_limits
from tests.render.examples import NASTY_NAMES
from tests.render.profile import chart_examples
from tests.render.profile import examples as made

EMPTY = Profile(model="m", events=0, iterations=0)


def picture(charts: Sequence[Chart]) -> Any:
    """What the only chart draws."""
    (chart,) = charts
    return chart.layers[0].picture


def test_operators_have_a_bar_each_and_what_is_left_is_one() -> None:
    profile = made.profile()
    bars = picture(operators_charts(profile))
    (series,) = bars.series
    assert bars.names[:2] == ["Conv", "MatMul"]
    assert bars.names[-1] == "8 other operators"
    assert sum(series.values) == pytest.approx(profile.usual_nodes_us)
    assert series.words[0] == "1.93 ms, 22.0 %, 3 calls"
    assert list(series.values[:-1]) == sorted(series.values[:-1], reverse=True)
    assert bars.axis.title == "time per inference (ms)"


def test_an_operator_has_one_color_in_all_charts() -> None:
    profile = with_limits(made.profile())
    of_operators = dict(zip(picture(operators_charts(profile)).names, SUBJECT_COLORS, strict=False))
    nodes = picture(nodes_charts(profile))
    assert dict(nodes.legend) == of_operators | {"others": GREY}
    assert [of_operators.get(name.rsplit("/")[-1], GREY) for name in nodes.names[:4]] == list(
        nodes.series[0].colors[:4]
    )
    roofline = ProfileResult(profile).charts("roofline")[0].layers[0].picture
    points = {each.name: each.color for each in roofline.series if each.shape == "points"}  # type: ignore[attr-defined]
    assert points.items() <= (of_operators | {"others": GREY}).items()


def test_nodes_say_what_the_others_take() -> None:
    profile = chart_examples.many(200)
    (chart,) = nodes_charts(profile)
    assert len(picture([chart]).names) == 20
    assert "The 20 nodes that take the most time" in chart.summary
    assert "the other 180 take " in chart.summary


def test_sources_are_colored_by_what_became_of_them() -> None:
    bars = picture(sources_charts(chart_examples.after()))
    assert bars.names[:2] == ["block/conv1", "block/conv2 + add"]
    assert bars.series[0].colors[:2] == [BLUE, GREEN]
    assert [name for name, _ in bars.legend] == ["kept", "fused", "inserted", "unattributed"]
    assert sources_charts(chart_examples.before()) == []


def test_every_inference_is_a_point_and_the_usual_time_a_level() -> None:
    (chart,) = iterations_charts(made.profile())
    drawn = picture([chart])
    assert drawn.series[0].ys == [27_000, 9_000, 9_000, 9_450, 9_000, 9_000]
    assert [level.label for level in drawn.levels] == ["usual 9.00 ms"]
    assert "the first took 27.0 ms, the others 9.00 ms to 9.45 ms" in chart.summary


def test_an_inference_far_beyond_all_others_is_an_arrow_with_its_time() -> None:
    drawn = picture(iterations_charts(made.profile(run_us=(900_000, *([9_000, 9_010] * 60)))))
    assert [mark.text for mark in drawn.marks] == ["900 ms"]
    assert drawn.series[0].ys[0] is None
    assert drawn.y.high < 20_000


def test_first_and_usual_inference_stand_side_by_side() -> None:
    first, usual = picture(first_charts(made.profile())).series
    assert (first.name, first.color) == ("first inference", RED)
    assert all(one >= other for one, other in zip(first.values, usual.values, strict=True))
    assert first_charts(made.profile(run_us=(5,))) == []


@pytest.mark.parametrize("name", ProfileResult.show.charts)
def test_a_profile_of_nothing_has_no_charts(name: str) -> None:
    assert not ProfileResult(EMPTY).charts(name)


def test_the_first_chart_is_the_roofline_if_there_are_limits() -> None:
    profile = made.profile()
    assert [chart.title for chart in ProfileResult(profile).charts()] == ["Time per operator", "Time per node"]
    assert [chart.title for chart in ProfileResult(with_limits(profile)).charts()] == [
        "Roofline",
        "Could be won at best",
    ]


def test_a_picture_of_a_timeline_has_the_memory_over_the_same_time() -> None:
    timeline = Timeline(
        iteration=1,
        nodes=(0, 1),
        start_us=(0, 20),
        duration_us=(10, 30),
        threads=(0, 0),
        in_use_bytes=(1_000_000, 3_000_000),
        base_bytes=0,
    )
    result = ProfileResult(made.profile(made.node("a"), made.node("b"), timeline=timeline))
    whole = result.plot(chart="timeline")
    spans, memory = whole.child_axes
    assert spans.get_xlim() == memory.get_xlim()
    assert list(memory.lines[0].get_ydata()) == [0, 1e6, 3e6, 3e6]
    assert list(memory.lines[0].get_xdata()) == [0, 10, 50, 50]


def test_nodes_are_chosen_by_operator() -> None:
    result = ProfileResult(chart_examples.before())
    axes = result.plot_nodes(op="Conv")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["block/conv1", "block/conv2", "stem", "attention"]
    assert not result.plot_nodes(op="Nothing").get_yticklabels()


def test_given_axes_are_drawn_on() -> None:
    result, one, pair = ProfileResult(chart_examples.before()), Figure().add_subplot(), Figure().subplots(1, 2)
    assert result.plot_nodes(ax=one) is one
    assert list(result.plot_operators(pair)) == list(pair)


def nasty() -> Profile:
    """Nodes, operators and groups with names that mean harm."""
    nodes = [
        replace(
            chart_examples.node((name, name, [(1,)], (1,), 50), 1),
            provider=name,
            path=(name,),
            inputs=(TensorType(name, ()),),
        )
        for name in NASTY_NAMES
    ]
    sources = [chart_examples.source("fused", (name, name), 9) for name in NASTY_NAMES]
    return chart_examples.profile(nodes, "$x$ and $\\frac" + "\ud800\n\x1b" * 99, sources)


def test_nasty_names_are_drawn_as_they_are() -> None:
    profile = nasty()
    assert set(picture(operators_charts(profile)).names) >= {name_of(name) for name in NASTY_NAMES[:14]}
    for name in ("operators", "nodes", "sources"):
        result = ProfileResult(profile)
        assert result.encode(".svg", result.named_in(f"x.{name}.svg", ".svg", _wanted())).startswith(b"<?xml")
        words = [text for chart in result.charts(name) for text in chart.layers[0].picture.names]  # type: ignore[attr-defined]
        assert all(text == name_of(text) for text in words)


def _wanted() -> Any:
    from onnxperf.results.formats import Wanted

    return Wanted()


def test_drawing_leaves_pyplot_alone() -> None:
    before = "matplotlib.pyplot" in sys.modules
    ProfileResult(chart_examples.before()).plot()
    assert ("matplotlib.pyplot" in sys.modules) == before
