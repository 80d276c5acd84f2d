"""A profile on an HTML page: one mark per node, numbers as in its tables, keys that link rows, marks and boxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.view_metrics import links_of, time_metrics
from onnxperf.records.profile import NodeTime, Profile, Timeline, link, module_link, operator_link
from onnxperf.records.profiles import Profiles
from onnxperf.records.view import ViewTotals
from onnxperf.render.charts.base import Chart
from onnxperf.render.graph.section import MOST_BOXES, DrawnGraph, graph_part, view_sections
from onnxperf.render.kit.page import Drawing, Line, Section, sections_of
from onnxperf.render.kit.table import Grid, Table, grid_of
from onnxperf.render.profile.headroom import MOST_ROWS
from onnxperf.render.profile.page import profile_page
from onnxperf.render.web.document import report_html
from onnxperf.results.diff import DiffResult
from onnxperf.results.optimize import OptimizeResult
from onnxperf.results.profile import ProfileResult
from onnxperf.results.profiles import ProfilesResult
from tests import headrooms
from tests.render.examples import NASTY_NAMES
from tests.render.graph import views
from tests.render.profile import examples as made


def timeline(profile: Profile, **changes: Any) -> Timeline:
    """Every node once, one after the other; nodes of bodies within the first microseconds."""
    number = len(profile.nodes)
    fields: dict[str, Any] = {
        "iteration": 2,
        "nodes": tuple(range(number)),
        "start_us": tuple(range(0, 10 * number, 10)),
        "duration_us": tuple(9 if place % 2 else 0 for place in range(number)),
        "threads": tuple(place % 2 for place in range(number)),
    }
    return Timeline(**(fields | changes))


def parts(profile: Profile, kind: type) -> list[Any]:
    """What its page shows of a kind."""
    return [part for section in sections_of(profile_page(profile)) for part in section.parts if isinstance(part, kind)]


def chart(profile: Profile, title: str) -> Any:
    return next(part for part in parts(profile, Chart) if part.title == title)


def picture(profile: Profile, title: str) -> Any:
    (layer,) = chart(profile, title).layers
    return layer.picture


def table(profile: Profile, heading: str) -> Grid:
    """The table on the page whose first column has this heading."""
    grids = [grid_of(part) for part in parts(profile, Table)]
    return next(grid for grid in grids if grid.columns[0].heading == heading)


def links(grid: Grid) -> list[str]:
    return [line.link for line in grid.lines]


def test_every_part_of_a_profile_has_its_section() -> None:
    profile = headrooms.with_limits(made.profile())
    titles = [each.title for each in sections_of(profile_page(replace(profile, timeline=timeline(profile))))]
    expected = ["Operators", "Nodes", "Graph", "Original model", "Timeline", "First and usual inference", "Headroom"]
    assert titles == ["", *expected]  # what stands before all sections has no title


def test_what_a_console_does_not_show_is_not_made_for_it() -> None:
    def fail() -> None:
        raise AssertionError("made for a console")

    page = profile_page(made.profile(), timeline=fail, graph=fail)
    assert "MatMul" in drawn_text(page)
    with pytest.raises(AssertionError):
        sections_of(page)


def drawn_text(page: Sequence[Any]) -> str:
    from onnxperf.render.kit.console import page_text

    return page_text(page)


def test_the_bars_of_operators_have_the_times_of_their_table() -> None:
    profile = made.profile()
    drawn = chart(profile, "Time per operator")
    bars, grid = drawn.layers[0].picture, grid_of(drawn.table)
    names, times = ([line.cells[place].text for line in grid.lines] for place in (0, 3))
    assert names[:14] == list(bars.names[:14])
    assert [words.split(",")[0] for words in bars.series[0].words[:14]] == times[:14]
    assert links(grid)[:2] == list(bars.keys[:2]) == [operator_link("Conv"), operator_link("MatMul")]


def test_a_row_of_a_node_is_linked_with_its_original_nodes() -> None:
    profile = made.profile(made.node("n3"), made.node("n6"))
    assert links(table(profile, "node")) == ["n3", "n6", ""]
    assert set(links(table(profile, "nodes of the original model"))) >= {"n3", "n6", "ReorderInput"}


def test_every_row_has_a_key_or_stands_for_the_others_or_for_all() -> None:
    grid = table(made.profile(*(made.node(f"n{place}") for place in range(MOST_ROWS + 3))), "node")
    assert len(grid.lines) == MOST_ROWS + 2
    assert links(grid)[-2:] == ["", ""]
    assert all(links(grid)[:-2])
    assert [line.cells[0].text for line in grid.lines[-2:]] == ["3 others", "total"]


def test_a_page_also_says_where_a_node_comes_from() -> None:
    profile = made.profile(made.node("n3", sources=("a", "b", "c", "d"), module="enc.layer"))
    headings = [column.heading for column in table(profile, "node").columns]
    cells = dict(zip(headings, table(profile, "node").lines[0].cells, strict=True))
    assert cells["from"].text == "a, b, c and 1 more"
    assert cells["module"].text == "enc.layer"


# ---------------------------------------------------------------- over time


def test_a_timeline_has_one_mark_per_execution_and_a_lane_per_thread_and_depth() -> None:
    profile = made.profile()
    drawn = chart(replace(profile, timeline=timeline(profile)), "What ran when")
    spans, number = drawn.layers[0].picture, len(profile.nodes)
    assert {len(each) for each in (spans.starts, spans.widths, spans.lane, spans.item, spans.said)} == {number}
    assert spans.starts == sorted(spans.starts)
    assert spans.lanes[0] == "thread 0, depth 0"
    assert max(spans.lane) == len(spans.lanes) - 1
    assert [spans.words[said] for said in spans.said[:2]] == ["0 µs", "9 µs"]
    assert spans.items[0].keys == ["/layer.0/Conv", "operator Conv"]
    assert len(drawn.table.rows) == number


def test_a_mark_stands_for_its_node_its_operator_and_its_modules() -> None:
    profile = made.profile(made.node("n3", module="enc.layer"), sources=())
    spans = picture(replace(profile, timeline=timeline(profile)), "What ran when")
    modules = map(module_link, ("", "enc", "enc.layer"))
    assert spans.items[0].keys == ["n3", operator_link("Conv"), *modules]


def test_a_timeline_says_what_it_leaves_out() -> None:
    profile = made.profile()
    drawn = chart(replace(profile, timeline=timeline(profile, left_out=1200)), "What ran when")
    assert "1,200 executions, the shortest, are left out" in drawn.summary


def test_a_profile_without_a_timeline_says_so() -> None:
    (section,) = [each for each in sections_of(profile_page(made.profile())) if each.title == "Timeline"]
    assert "profile the model again" in section.parts[0].text


def test_the_memory_of_a_timeline_is_drawn_with_its_peak() -> None:
    profile = made.profile(made.node("a"), made.node("b"))
    sizes = {"in_use_bytes": (2_000_000, 5_000_000), "held_bytes": (6_000_000, 6_000_000), "base_bytes": 1_000_000}
    drawn = chart(replace(profile, timeline=timeline(profile, **sizes)), "Memory per node")
    series = drawn.layers[0].picture.series
    assert [each.name for each in series] == ["in use", "held by the arena"]
    assert series[0].ys == [2e6, 5e6]
    assert series[0].keys == ["a", "b"]
    assert "5.00 MB, when b ends" in drawn.summary


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": (), "operators": (), "sources": ()},
        {"run_us": (), "executor_us": ()},
        {"sources": ()},
        {"run_us": (5,), "iterations": 1},
    ],
    ids=["no nodes", "no inferences", "a trace alone", "one inference"],
)
def test_what_a_profile_lacks_does_not_break_its_page(changes: dict[str, Any]) -> None:
    assert "<!doctype html>" in ProfileResult(made.profile(**changes)).to_html()


def test_the_tables_of_a_profile_stand_once() -> None:
    page = ProfileResult(headrooms.with_limits(made.profile())).to_html()
    for title in ("Time per operator (mean", "Time per node (mean", "Headroom per operator", "In the original model"):
        assert page.count(f"<h3>{title}") == 1
    assert "The most costly nodes" not in page


# ---------------------------------------------------------------- graphs


def drawn_graph(*names: str) -> tuple[Profile, DrawnGraph]:
    """A chain of nodes, and a profile in which they were kept."""
    view = views.chain_view(*names)
    nodes = tuple(made.node(each.label, op_name=each.op_type) for each in view.graph.nodes)
    profile = made.profile(*nodes, sources=())
    return profile, DrawnGraph(replace(view, metrics=time_metrics(profile, view)), links_of(profile, view))


def drawing(graph: DrawnGraph) -> Drawing:
    part = graph_part(graph)
    assert isinstance(part, Drawing)
    return part


def test_boxes_rows_and_marks_share_their_keys() -> None:
    profile, graph = drawn_graph("Conv", "Relu")
    svg = drawing(graph).svg
    assert set(re.findall(r'data-key="([^"]*)"', svg)) == set(profile.node_links)
    assert f'data-groups="{operator_link("Conv")}"' in svg


def test_a_module_lights_the_nodes_of_the_modules_inside_it() -> None:
    view = views.chain_view("Conv")
    (label,) = (each.label for each in view.graph.nodes)
    profile = made.profile(made.node(label, module="encoder.layer"), sources=())
    (keys,) = links_of(profile, view).values()
    assert keys == (label, operator_link("Conv"), *map(module_link, ("", "encoder", "encoder.layer")))


def test_a_drawing_on_a_page_has_neither_styles_nor_scripts() -> None:
    _, graph = drawn_graph("Conv", "Relu")
    assert not re.search(r"style=|<style|<script|\son\w+=", drawing(graph).svg)


def test_a_graph_with_too_many_nodes_is_left_out_with_a_reason() -> None:
    line = graph_part(DrawnGraph(replace(views.chain_view("Conv"), totals=ViewTotals(nodes=MOST_BOXES + 1)), {}))
    assert isinstance(line, Line)
    assert "3,001 nodes" in line.text


def test_a_page_of_a_model_has_a_row_for_every_node() -> None:
    graph, nodes = view_sections(views.chain_view("Conv", "Relu", "Add"))
    assert links(grid_of(nodes.parts[0])) == re.findall(r'data-key="([^"]*)"', graph.parts[0].svg)


def test_a_page_shows_the_graph_of_a_model_that_was_profiled_just_now() -> None:
    view = views.chain_view("Conv", "Relu")
    nodes = tuple(made.node(each.label, op_name=each.op_type) for each in view.graph.nodes)
    profile = made.profile(*nodes, sources=())
    assert "<svg" in ProfileResult(profile, view=lambda: view).to_html()
    assert "The graph is drawn if the model was profiled just now" in ProfileResult(profile).to_html()


# ---------------------------------------------------------------- several profiles


def test_variants_have_a_bar_and_a_color_each() -> None:
    record = Profiles(model="m", variants=tuple(made.profile(model=name) for name in ("one", "two")))
    (operators,) = ProfilesResult(record).charts()
    first, second = operators.layers[0].picture.series  # type: ignore[attr-defined]
    assert (first.name, second.name) == ("one", "two")
    assert first.color != second.color
    (whole,) = ProfilesResult(record).charts("inferences")
    assert [each.name for each in whole.layers[0].picture.series] == ["inference", "in nodes"]  # type: ignore[attr-defined]
    page = ProfilesResult(record).to_html()
    assert page.index("Usual inference") < page.index("Time per operator in the usual inference")


def test_an_optimization_shows_both_sides_and_what_became_of_the_nodes() -> None:
    result = OptimizeResult(made.optimization())
    (drawn,) = result.charts()
    bars: Any = drawn.layers[0].picture
    assert [each.name for each in bars.series] == ["before", "after"]
    assert list(bars.names) == result.counts()["op_name"].tolist()
    page = result.to_html()
    assert "What became of the nodes" in page
    assert "n3 Conv + n4" not in page  # the lines of the console say the same


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    profile, diff, optimization = made.hostile(name)
    whole = replace(profile, timeline=timeline(profile))
    pages = [ProfileResult(whole).to_html(), DiffResult(diff).to_html(), OptimizeResult(optimization).to_html()]
    for page in pages:
        written, _, _ = page.partition("<script")
        assert not re.search(r"<(b|img|i)[ >]", written)
    assert all(isinstance(section, Section) for section in view_sections(views.named_view(name)))


def test_a_link_is_the_path_and_the_name() -> None:
    node: NodeTime = made.node("Add", path=("Loop",))
    assert link(node.path, node.name) == "Loop > Add"
    assert report_html([]).startswith("<!doctype html>")
