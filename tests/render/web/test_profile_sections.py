"""A profile on an HTML page: one mark per node, numbers as in its tables, keys that link rows, marks and boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.modules import module_times
from onnxperf.analyze.graphs.view_metrics import folded_keys, links_of, time_metrics
from onnxperf.records.profile import NodeTime, Profile, Timeline, link, module_link, operator_link
from onnxperf.records.profiles import Profiles
from onnxperf.records.view import ViewTotals
from onnxperf.render.charts.base import Chart
from onnxperf.render.graph.colors import EDGE_INK, UNKNOWN
from onnxperf.render.graph.section import MOST_BOXES, DrawnGraph, graph_part, view_sections
from onnxperf.render.graph.svg import graph_svg
from onnxperf.render.graph.themed import HEAT, STEPS
from onnxperf.render.kit.page import Drawing, Line, Panes, Section, Shares, Tabs, sections_of
from onnxperf.render.kit.table import Grid, Table, grid_of
from onnxperf.render.profile.headroom import MOST_ROWS
from onnxperf.render.profile.page import profile_page
from onnxperf.render.profile.timeline import timelines_charts
from onnxperf.render.profile.where import operator_shares
from onnxperf.render.web.document import report_html, report_style
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
    sections = sections_of(profile_page(profile))
    return [part for section in sections for part in flat(section.parts) if isinstance(part, kind)]


def flat(parts: Iterable[Any]) -> Iterator[Any]:
    """Also what stands in panes and behind tabs."""
    for part in parts:
        yield from flat(part.parts) if isinstance(part, Panes | Tabs) else [part]


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
    assert titles == ["Where the time goes", "Timeline", "Headroom", "First and usual inference"]


def test_what_a_console_does_not_show_is_not_made_for_it() -> None:
    def fail() -> Any:
        raise AssertionError("made for a console")

    page = profile_page(made.profile(), timelines=fail, graph=fail)
    assert "MatMul" in drawn_text(page)
    with pytest.raises(AssertionError):
        sections_of(page)


def drawn_text(page: Sequence[Any]) -> str:
    from onnxperf.render.kit.console import page_text

    return page_text(page)


@pytest.mark.parametrize("number", [1, 3, 7, 8, 9, 40])
def test_the_parts_of_the_bar_add_up_to_the_whole(number: int) -> None:
    nodes = (made.node(f"n{place}", 7 + place, op_name=f"Op{place}") for place in range(number))
    shares = operator_shares(made.profile(*nodes, sources=())).parts
    assert sum(each.share for each in shares) == pytest.approx(1.0, abs=1e-12)
    assert [bool(each.link) for each in shares] == [True] * min(number, 8) if number < 9 else [*[True] * 7, False]
    assert (shares[-1].name == f"{number - 7} other operators") is (number > 8)


def test_the_bar_has_the_times_and_colors_of_the_tables() -> None:
    profile = made.profile()
    (shares,) = parts(profile, Shares)
    grid = table(profile, "operator")
    names, times = ([line.cells[place].text for line in grid.lines] for place in (0, 1))
    assert [each.name for each in shares.parts[:7]] == names[:7]
    assert [each.amount for each in shares.parts[:7]] == times[:7]
    assert (
        [each.link for each in shares.parts[:2]] == links(grid)[:2] == [operator_link("Conv"), operator_link("MatMul")]
    )
    assert [f"c{each.color}" for each in shares.parts[:7]] == [line.cells[3].style for line in grid.lines[:7]]


def test_a_bar_of_no_time_has_equal_parts() -> None:
    node = made.node("a", self_us=(0, 0, 0), total_us=(0, 0, 0), calls=3)
    assert [each.share for each in operator_shares(made.profile(node, sources=())).parts] == [1.0]


@pytest.mark.parametrize("heading", ["operator", "node", "module", "original nodes"])
def test_a_table_shows_at_most_six_columns_at_once(heading: str) -> None:
    nodes = (made.node("n3", 900, op_name="FusedConv", module="enc.layer"), made.node("n6", 400, module="enc"))
    profile = made.profile(*nodes, sources=made.sources()[:2])
    grid = table(headrooms.with_limits(replace(profile, modules=module_times(profile.nodes))), heading)
    shown = [grid.columns[place].heading for place in grid.brief(6)]
    assert shown[0] == heading
    assert {"share", "", "could win"} <= set(shown)
    assert len(shown) <= 6
    assert set(shown) & {"time", "total"}


def test_a_node_belongs_to_its_operator_and_its_modules() -> None:
    grid = table(made.profile(made.node("n3", module="enc.layer"), sources=()), "node")
    assert grid.lines[0].groups == (operator_link("Conv"), *map(module_link, ("", "enc", "enc.layer")))
    assert grid.lines[-1].groups == ()


def test_a_row_of_a_node_is_linked_with_its_original_nodes() -> None:
    profile = made.profile(made.node("n3"), made.node("n6"))
    assert links(table(profile, "node")) == ["n3", "n6", ""]
    assert set(links(table(profile, "original nodes"))) >= {"n3", "n6", "ReorderInput"}


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
    spans, number = drawn.layers[0].picture.spans, len(profile.nodes)
    assert {len(each) for each in (spans.starts, spans.widths, spans.lane, spans.item, spans.said)} == {number}
    assert spans.starts == sorted(spans.starts)
    assert spans.lanes[0] == "thread 0, depth 0"
    assert max(spans.lane) == len(spans.lanes) - 1
    assert [spans.words[said] for said in spans.said[:2]] == ["0 µs", "9 µs"]
    assert spans.items[0].keys == ["/layer.0/Conv", "operator Conv"]
    assert len(drawn.table.rows) == number


def test_a_mark_stands_for_its_node_its_operator_and_its_modules() -> None:
    profile = made.profile(made.node("n3", module="enc.layer"), sources=())
    spans = picture(replace(profile, timeline=timeline(profile)), "What ran when").spans
    modules = map(module_link, ("", "enc", "enc.layer"))
    assert spans.items[0].keys == ["n3", operator_link("Conv"), *modules]


def test_a_timeline_says_what_it_leaves_out() -> None:
    profile = made.profile()
    drawn = chart(replace(profile, timeline=timeline(profile, left_out=1200)), "What ran when")
    assert "1,200 executions, the shortest, are left out" in drawn.summary


def test_a_profile_without_a_timeline_says_so() -> None:
    (section,) = [each for each in sections_of(profile_page(made.profile())) if each.title == "Timeline"]
    assert "profile the model again" in section.parts[0].text


SIZES = {"in_use_bytes": (2_000_000, 5_000_000), "held_bytes": (6_000_000, 6_000_000), "base_bytes": 1_000_000}


def test_memory_shares_the_axis_of_time() -> None:
    profile = made.profile(made.node("a"), made.node("b"))
    drawn = chart(replace(profile, timeline=timeline(profile, **SIZES)), "What ran when")
    both = drawn.layers[0].picture
    in_use, held = both.curves
    ends = [start + width for start, width in zip(both.spans.starts, both.spans.widths, strict=True)]
    assert (in_use.name, held.name) == ("in use", "held by the arena")
    assert in_use.xs == [0, *ends]
    assert in_use.ys == [1e6, 2e6, 5e6]
    assert in_use.peak == "peak 5.00 MB"
    assert both.spans.axis.high >= max(in_use.xs)
    assert "5.00 MB, when b ends" in drawn.summary
    assert both.height > both.spans.height


def test_the_live_set_is_that_of_the_node_that_runs() -> None:
    profile = made.profile(made.node("a"), made.node("b"))
    live = timeline(profile, **SIZES, live_bytes=(7_000, 9_000))
    curve = next(
        each for each in picture(replace(profile, timeline=live), "What ran when").curves if "live" in each.name
    )
    assert curve.xs == [0, 0, 10]
    assert curve.ys == [7_000, 7_000, 9_000]


def test_a_page_of_a_trace_chooses_between_three_inferences() -> None:
    profile = made.profile()
    several = {name: timeline(profile, iteration=turn) for name, turn in (("typical", 2), ("first", 0), ("slowest", 3))}
    (drawn,) = timelines_charts(profile, several)
    (choice,) = drawn.filters
    assert [each.split()[0] for each in choice.values] == ["typical", "first", "slowest"]
    assert choice.values[1] == "first (number 0, 27.0 ms)"
    assert [layer.only["inference"] for layer in drawn.layers] == choice.values
    assert {row.inference for row in drawn.table.rows} == set(choice.values)
    assert [bool(layer.picture.spans.items) for layer in drawn.layers] == [True, False, False]  # type: ignore[attr-defined]


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
    for title in ("Operators", "Nodes", "Original nodes", "Roofline", "Every inference"):
        assert page.count(f"<h3>{title}") == 1
    for title in ("The most costly nodes", "Time per node", "Time per original node", "Could be won"):
        assert title not in page


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


def test_a_drawing_on_a_page_names_its_colors() -> None:
    _, graph = drawn_graph("Conv", "Relu")
    known = ["paper", "text", "edge", "filled", "dim", "on-low", "on-high", "unknown"]
    known += [f"heat{step}" for step in range(STEPS)]
    found = set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawing(graph).svg))
    assert found <= {"none", *(f"var(--{name})" for name in known)}
    exported = graph_svg(graph.view, graph.view.metrics)
    assert "var(" not in exported


def test_a_light_page_has_the_colors_of_the_exported_drawing() -> None:
    style = report_style()
    light = re.search(r"\.window {\n(.*?)\n}", style, re.DOTALL)
    assert light
    found = dict(re.findall(r"--(\w[\w-]*): ([^;]+);", light[1]))
    assert [found[f"heat{step}"] for step in range(STEPS)] == HEAT
    assert (found["edge"], found["unknown"], found["paper"]) == (EDGE_INK, UNKNOWN, "#ffffff")


def test_folded_constants_are_not_drawn_and_counted() -> None:
    view = views.chain_view("Conv", "Relu", "Add")
    first, *_ = view.graph.nodes
    part = graph_part(DrawnGraph(view, {each.key: (each.label,) for each in view.graph.nodes}, {first.key}))
    assert isinstance(part, Drawing)
    assert "1 folded constant not drawn" in part.summary
    assert part.svg.count("data-key") == 2
    assert first.outputs[0] in part.svg  # the next box shows it as it shows stored tensors


def test_a_node_is_folded_if_its_group_is_and_it_took_no_time() -> None:
    view = views.chain_view("Shape", "Relu")
    labels = [each.label for each in view.graph.nodes]
    groups = [("folded", (labels[0],), 0), ("kept", (labels[1],), 9)]
    sources = tuple(
        made.source(made.group(kind=kind, sources=names, source_ops=("Relu",), executed=names), (us,) * 3)
        for kind, names, us in groups
    )
    profile = made.profile(made.node(labels[1], op_name="Relu"), sources=sources)
    assert folded_keys(time_metrics(profile, view)) == {view.graph.nodes[0].key}
    assert folded_keys(None) == set()


def test_a_graph_with_too_many_nodes_is_left_out_with_a_reason() -> None:
    line = graph_part(DrawnGraph(replace(views.chain_view("Conv"), totals=ViewTotals(nodes=MOST_BOXES + 1)), {}))
    assert isinstance(line, Line)
    assert "3,001 nodes" in line.text


def test_a_page_of_a_model_has_a_row_for_every_node() -> None:
    (section,) = view_sections(views.chain_view("Conv", "Relu", "Add"))
    nodes, graph = flat(section.parts)
    assert links(grid_of(nodes)) == re.findall(r'data-key="([^"]*)"', graph.svg)


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
    assert "Usual inference" not in page  # two variants stand next to each other, with the change in each row
    assert page.count("<h3>Time per operator") == 1
    three = ProfilesResult(Profiles(model="m", variants=tuple(made.profile(model=name) for name in "abc"))).to_html()
    assert three.index("Usual inference") < three.index("Time per operator in the usual inference")


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
