"""Sections of a profile: one mark per node, numbers as in their tables, keys that link rows, marks and boxes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.view_metrics import links_of, time_metrics
from onnxperf.analyze.trace.diff_sums import by_row
from onnxperf.records.profile import NodeTime, Profile, Timeline, link, module_link, operator_link
from onnxperf.records.profiles import Profiles
from onnxperf.records.view import ViewTotals
from onnxperf.render.web.document import report_html
from onnxperf.render.web.old_base import Chart, Drawing, LinkedTable, Part, Section
from onnxperf.render.web.sections.diff import diff_sections
from onnxperf.render.web.sections.graph import MOST_BOXES, DrawnGraph, graph_section, view_sections
from onnxperf.render.web.sections.headroom import headroom_sections
from onnxperf.render.web.sections.optimize import optimize_sections
from onnxperf.render.web.sections.profile import MOST_ROWS, profile_sections
from onnxperf.render.web.sections.profiles import profiles_sections
from onnxperf.results.diff import DiffResult
from onnxperf.results.profile import ProfileResult
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


def parts(sections: list[Section], kind: type) -> list[Any]:
    return [part for section in sections for part in section.parts if isinstance(part, kind)]


def chart(sections: list[Section], title: str) -> Any:
    return next(part for part in parts(sections, Chart) if part.title == title)


def titles(sections: list[Section]) -> list[str]:
    return [section.title for section in sections]


def test_every_part_of_a_profile_has_its_section() -> None:
    profile = headrooms.with_limits(made.profile())
    sections = profile_sections(replace(profile, timeline=timeline(profile)))
    expected = ["Operators", "Nodes", "Graph", "Original model", "Timeline", "First and usual inference", "Headroom"]
    assert titles(sections) == expected


def test_the_bars_of_operators_have_the_times_of_their_table() -> None:
    bars = chart(profile_sections(made.profile()), "Time per operator")
    words = bars.data["series"][0]["words"]
    assert [row.cells[1] for row in bars.table.rows] == words
    assert bars.data["names"] == [row.cells[0] for row in bars.table.rows]
    values = bars.data["series"][0]["values"][:-1]  # the last one stands for the others
    assert values == sorted(values, reverse=True)


def test_a_row_of_a_node_is_linked_with_its_original_nodes() -> None:
    profile = made.profile(made.node("n3"), made.node("n6"))
    tables = {each.table.columns[0].heading: each for each in parts(profile_sections(profile), LinkedTable)}
    assert set(tables["node"].keys) == {"n3", "n6", ""}
    assert set(tables["nodes of the original model"].keys) >= {"n3", "n6", "ReorderInput"}
    assert tables["operator"].keys == [operator_link("Conv"), ""]


def test_every_row_has_a_key_or_stands_for_the_others_or_for_all() -> None:
    profile = made.profile(*(made.node(f"n{place}") for place in range(MOST_ROWS + 3)))
    (nodes,) = [
        each for each in parts(profile_sections(profile), LinkedTable) if each.table.columns[0].heading == "node"
    ]
    assert len(nodes.keys) == len(nodes.table.rows) == MOST_ROWS + 2
    assert nodes.keys[-2:] == ["", ""]
    assert [row.cells[0] for row in nodes.table.rows[-2:]] == ["3 others", "total"]


def test_a_timeline_has_one_mark_per_execution_and_a_lane_per_thread_and_depth() -> None:
    profile = made.profile()
    drawn = chart(profile_sections(profile, timeline(profile)), "What ran when")
    number = len(profile.nodes)
    assert {len(drawn.data[name]) for name in ("starts", "durations", "lane", "node", "names")} == {number}
    assert drawn.data["starts"] == sorted(drawn.data["starts"])
    assert drawn.data["lanes"][0] == "thread 0, depth 0"
    assert max(drawn.data["lane"]) == len(drawn.data["lanes"]) - 1
    assert set(drawn.data["words"]) == {"0", "9"}
    assert len(drawn.table.rows) == number


def test_a_timeline_says_what_it_leaves_out() -> None:
    profile = made.profile()
    drawn = chart(profile_sections(profile, timeline(profile, left_out=1200)), "What ran when")
    assert "1,200 executions, the shortest, are left out" in drawn.summary


def test_a_profile_without_a_timeline_says_so() -> None:
    sections = profile_sections(made.profile())
    (timeline_section,) = [each for each in sections if each.title == "Timeline"]
    assert "profile the model again" in timeline_section.parts[0].text  # type: ignore[union-attr]


def test_the_memory_of_a_timeline_is_drawn_with_its_peak() -> None:
    profile = made.profile(made.node("a"), made.node("b"))
    sizes = {"in_use_bytes": (2_000_000, 5_000_000), "held_bytes": (6_000_000, 6_000_000), "base_bytes": 1_000_000}
    drawn = chart(profile_sections(profile, timeline(profile, **sizes)), "Memory per node")
    assert [each["name"] for each in drawn.data["curves"]] == ["in use", "held by the arena"]
    assert drawn.data["curves"][0]["ys"] == [2.0, 5.0]
    assert "5.00 MB, when b ends" in drawn.summary


def test_first_and_usual_inference_stand_side_by_side() -> None:
    first, usual = chart(profile_sections(made.profile()), "First inference by operator").data["series"]
    assert first["name"] == "first inference"
    assert all(one >= other for one, other in zip(first["values"], usual["values"], strict=True))


def test_a_roofline_has_a_point_per_node_with_counted_operations() -> None:
    profile = headrooms.with_limits(made.profile())
    drawn = chart(headroom_sections(profile), "Roofline")
    assert profile.headroom is not None
    counted = [each for each in profile.headroom.nodes if each.flop and each.moved_bytes and each.gflop_per_s]
    assert len(drawn.data["points"]) == len(counted) == len(drawn.table.rows)


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
    page = ProfileResult(made.profile()).to_html()
    assert page.count("<h3>Time per operator (mean") == 1


# ---------------------------------------------------------------- graphs


def drawn_graph(*names: str) -> tuple[Profile, DrawnGraph]:
    """A chain of nodes, and a profile in which they were kept."""
    view = views.chain_view(*names)
    nodes = tuple(made.node(each.label, op_name=each.op_type) for each in view.graph.nodes)
    profile = made.profile(*nodes, sources=())
    return profile, DrawnGraph(replace(view, metrics=time_metrics(profile, view)), links_of(profile, view))


def test_boxes_rows_and_marks_share_their_keys() -> None:
    profile, graph = drawn_graph("Conv", "Relu")
    (drawing,) = parts([graph_section(graph)], Drawing)
    keys = set(re.findall(r'data-key="([^"]*)"', drawing.svg))
    assert keys == set(profile.node_links)
    assert f'data-groups="{operator_link("Conv")}"' in drawing.svg


def test_a_module_lights_the_nodes_of_the_modules_inside_it() -> None:
    view = views.chain_view("Conv")
    (label,) = (each.label for each in view.graph.nodes)
    profile = made.profile(made.node(label, module="encoder.layer"), sources=())
    (keys,) = links_of(profile, view).values()
    assert keys == (label, operator_link("Conv"), *map(module_link, ("", "encoder", "encoder.layer")))


def test_a_drawing_on_a_page_has_neither_styles_nor_scripts() -> None:
    _, graph = drawn_graph("Conv", "Relu")
    (drawing,) = parts([graph_section(graph)], Drawing)
    assert not re.search(r"style=|<style|<script|\son\w+=", drawing.svg)


def test_a_graph_with_too_many_nodes_is_left_out_with_a_reason() -> None:
    view = replace(views.chain_view("Conv"), totals=ViewTotals(nodes=MOST_BOXES + 1))
    (line,) = graph_section(DrawnGraph(view, {})).parts
    assert "3,001 nodes" in line.text  # type: ignore[union-attr]


def test_a_page_of_a_model_has_a_row_for_every_node() -> None:
    view = views.chain_view("Conv", "Relu", "Add")
    sections = view_sections(view)
    (drawing,), (table,) = parts(sections, Drawing), parts(sections, LinkedTable)
    assert list(table.keys) == re.findall(r'data-key="([^"]*)"', drawing.svg)


# ---------------------------------------------------------------- several profiles


def test_the_changes_of_operators_add_up_to_the_whole() -> None:
    diff = made.diff()
    bars = chart(diff_sections(diff, by_row(diff, 0.0)), "Change per operator")
    *changes, whole = bars.data["series"][0]["values"]
    assert sum(changes) == pytest.approx(whole, abs=1.0)


def test_variants_have_a_bar_each() -> None:
    record = Profiles(model="m", variants=tuple(made.profile(model=name) for name in ("one", "two")))
    assert [each["name"] for each in chart(profiles_sections(record), "Time per operator").data["series"]] == [
        "one",
        "two",
    ]


def test_an_optimisation_shows_both_sides_and_what_became_of_the_nodes() -> None:
    record = made.optimization()
    bars = chart(optimize_sections(record), "Nodes per operator")
    assert [each["name"] for each in bars.data["series"]] == ["before", "after"]


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    profile, diff, optimization = made.hostile(name)
    stories: list[list[Section]] = [
        profile_sections(replace(profile, timeline=timeline(profile))),
        diff_sections(diff, by_row(diff, 0.0)),
        optimize_sections(optimization),
        view_sections(views.named_view(name)),
    ]
    for page in (ProfileResult(replace(profile, timeline=timeline(profile))).to_html(), DiffResult(diff).to_html()):
        written, _, _ = page.partition("<script")
        assert not re.search(r"<(b|img|i)[ >]", written)
    assert all(isinstance(part, Part) for sections in stories for part in parts(sections, object))


def test_a_link_is_the_path_and_the_name() -> None:
    node: NodeTime = made.node("Add", path=("Loop",))
    assert link(node.path, node.name) == "Loop > Add"
    assert report_html([]).startswith("<!doctype html>")
