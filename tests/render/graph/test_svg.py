"""A model as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from onnxperf.records.view import GraphView, ViewFunction, ViewGraph, ViewTensor, ViewValue
from onnxperf.render.graph.svg import graph_svg
from tests.render.graph.views import HOSTILE_NAMES, chain_view, float_value, named_view, node, shares

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ET.Element:
    # A lone surrogate or a control character would fail here, as it would in a browser.
    return ET.fromstring(svg.encode("utf-8"))


def texts(svg: str, tag: str = "text") -> list[str]:
    return ["".join(each.itertext()) for each in parsed(svg).iter(f"{SVG}{tag}")]


def fills(svg: str) -> list[str]:
    return [each.attrib["fill"] for each in parsed(svg).iter(f"{SVG}rect") if "stroke" in each.attrib]


def test_nodes_inputs_outputs_and_shapes_are_drawn() -> None:
    shown = texts(graph_svg(chain_view("Conv", "Relu")))
    assert {"Conv", "Relu", "t0", "t2", "float32 batch×4"} <= set(shown)
    assert shown.count("batch×4") == 2


def test_initialisers_are_listed_in_their_node_and_have_no_box() -> None:
    weights = ViewTensor(name="w", dtype="float32", shape=(64, 3, 7, 7), size_bytes=1)
    small = ViewTensor(name="b", dtype="int64", shape=(2,), size_bytes=16, preview="[1, -1]")
    graph = ViewGraph(initializers=(weights, small), nodes=(node(0, "Conv", ["w", "b"], ["y"]),))
    svg = graph_svg(GraphView(model="m", graph=graph))
    assert {"w 64×3×7×7", "b = [1, -1]"} <= set(texts(svg))
    assert not list(parsed(svg).iter(f"{SVG}path"))


def test_a_constant_node_is_shown_where_it_is_used() -> None:
    nodes = (node(0, "Constant", [], ["c"], attributes=(("value", "[8]"),)), node(1, "Add", ["x", "c"], ["y"]))
    shown = texts(graph_svg(GraphView(model="m", graph=ViewGraph(inputs=(float_value("x"),), nodes=nodes))))
    assert "Constant" not in shown
    assert "[8]" in shown


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_constant_with_a_hostile_value_is_only_a_text(name: str) -> None:
    nodes = (node(0, "Constant", [], ["c"], attributes=(("value_string", name),)), node(1, "Add", ["c"], ["y"]))
    assert "Add" in texts(graph_svg(GraphView(model="m", graph=ViewGraph(nodes=nodes))))


def test_a_constant_that_is_returned_keeps_its_box() -> None:
    graph = ViewGraph(nodes=(node(0, "Constant", [], ["c"]),), outputs=(float_value("c"),))
    assert "Constant" in texts(graph_svg(GraphView(model="m", graph=graph)))


def test_attributes_that_are_defaults_are_left_out() -> None:
    given = node(0, "Conv", [], ["y"], attributes=(("group", "1"), ("pads", "[1, 1]")), defaults=("group",))
    shown = texts(graph_svg(GraphView(model="m", graph=ViewGraph(nodes=(given,)))))
    assert "pads [1, 1]" in shown
    assert "group 1" not in shown


def test_many_attributes_are_cut_and_counted() -> None:
    attributes = tuple((f"a{i}", str(i)) for i in range(20))
    graph = ViewGraph(nodes=(node(0, "TreeEnsemble", [], ["y"], attributes=attributes),))
    assert "and 14 more" in texts(graph_svg(GraphView(model="m", graph=graph)))


def test_bodies_are_drawn_inside_their_node_with_what_they_take_from_outside() -> None:
    body = ViewGraph(nodes=(node(0, "Neg", ["x"], ["z"], key="0/then_branch/0"),), outputs=(ViewValue(name="z"),))
    graph = ViewGraph(inputs=(float_value("x"),), nodes=(node(0, "If", ["c"], ["y"], subgraphs={"then_branch": body}),))
    svg = graph_svg(GraphView(model="m", graph=graph))
    shown = texts(svg)
    assert {"If", "then_branch", "Neg", "from outside"} <= set(shown)
    assert shown.count("x") == 2  # outside, and again in the body


def test_local_functions_stand_beside_the_graph() -> None:
    function = ViewFunction(key="f0", name="Swish", domain="my", graph=ViewGraph(nodes=(node(0, "Mul", [], ["y"]),)))
    svg = graph_svg(GraphView(model="m", graph=ViewGraph(), functions=(function,)))
    assert {"function my:Swish", "Mul"} <= set(texts(svg))


def test_a_frame_is_as_wide_as_its_title() -> None:
    body = ViewGraph(nodes=(node(0, "Neg", [], ["z"], key="0/a/0"),))
    graph = ViewGraph(nodes=(node(0, "If", [], ["y"], subgraphs={"a_branch_with_quite_a_long_name_of_its_own": body}),))
    rects = [each.attrib for each in parsed(graph_svg(GraphView(model="m", graph=graph))).iter(f"{SVG}rect")]
    frame = next(each for each in rects if each.get("fill-opacity") == "0.92")
    around = next(each for each in rects if each.get("stroke-width") == "1.2")
    assert 42 * 5 < float(frame["width"]) < float(around["width"])


def test_a_very_long_name_does_not_make_the_drawing_wide() -> None:
    name = "very_long_" * 200
    body = ViewGraph(nodes=(node(0, "Neg", [], ["z"], key="0/a/0"),))
    graph = ViewGraph(nodes=(node(0, "If", [], ["y"], subgraphs={name: body}),))
    view = GraphView(model=name, graph=graph, notes=(name,))
    costs = shares(0.5)
    for svg in (graph_svg(view), graph_svg(view, replace(costs, title=name, notes=(name,)))):
        assert max(map(len, texts(svg))) <= 120
        assert float(parsed(svg).attrib["width"]) < 1200


def test_notes_are_lines_of_the_legend() -> None:
    view = replace(chain_view("Conv"), notes=("of <the> view",))
    assert "of <the> view" in texts(graph_svg(view))
    assert {"of <the> view", "a note"} <= set(texts(graph_svg(view, shares(0.5))))


def test_a_graph_without_anything_is_a_drawing_too() -> None:
    assert texts(graph_svg(GraphView(model="empty", graph=ViewGraph()))) == ["empty"]


@pytest.mark.parametrize("interactive", [True, False])
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_hostile_name_is_only_a_name(name: str, interactive: bool) -> None:
    svg = graph_svg(named_view(name), shares(0.7, line=name), interactive=interactive)
    root = parsed(svg)
    assert len(list(root.iter(f"{SVG}script"))) == int(interactive)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        "svg",
        "title",
        "rect",
        "text",
        "g",
        "path",
        "script",
    }


def test_repeated_names_are_all_drawn() -> None:
    nodes = (node(0, "Relu", ["x"], ["y"]), node(1, "Relu", ["y"], ["y"]), node(2, "Neg", ["y"], ["z"]))
    svg = graph_svg(GraphView(model="m", graph=ViewGraph(inputs=(float_value("x"),), nodes=nodes)))
    assert texts(svg).count("Relu") == 2


def test_nodes_without_outputs_and_inputs_left_out_are_drawn() -> None:
    svg = graph_svg(GraphView(model="m", graph=ViewGraph(nodes=(node(0, "Print", ["", ""], [""]),))))
    assert "Print" in texts(svg)


def test_shares_are_written_in_the_boxes_and_colour_them() -> None:
    svg = graph_svg(chain_view("Conv", "Relu", "Neg"), shares(0.75, 0.05))
    assert {"Conv  75.0 %", "Relu  5.00 %", "Neg", "time on a machine", "a note", "37.5 %"} <= set(texts(svg))
    conv, relu, neg = (fills(svg)[i] for i in (2, 3, 4))
    assert len({conv, relu, neg}) == 3


def test_a_costly_node_is_larger_than_a_cheap_one() -> None:
    sizes = [
        float(each.attrib["height"])
        for each in parsed(graph_svg(chain_view("Relu", "Relu"), shares(0.9, 0.1))).iter(f"{SVG}rect")
        if each.attrib.get("stroke") == "#7c4a3a"
    ]
    assert sizes[0] > sizes[1]


def test_tooltips_tell_shapes_and_costs() -> None:
    tips = texts(graph_svg(chain_view("Conv"), shares(0.9, line="12 µs")), "title")
    assert any("in: t0 float32 batch×4" in tip and "12 µs" in tip for tip in tips)


def test_tooltips_tell_the_types_of_stored_tensors() -> None:
    weights = ViewTensor(name="w", dtype="float16", shape=(64, 3), size_bytes=1)
    graph = ViewGraph(initializers=(weights,), nodes=(node(0, "Conv", ["w"], ["y"]),))
    tips = texts(graph_svg(GraphView(model="m", graph=graph)), "title")
    assert any("in: w float16 64×3\nout: y" in tip for tip in tips)


def test_a_measure_that_found_nothing_draws_everything() -> None:
    assert "Conv  0.00 %" in texts(graph_svg(chain_view("Conv"), shares(0.0)))


def test_nothing_is_fetched_and_nothing_is_shared_with_the_page() -> None:
    svg = graph_svg(chain_view("Conv", "Relu"), shares(0.5, 0.5))
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\s(id|class|href|xlink:href|src)=|<style|url\(", svg)


def test_a_drawing_is_an_image_without_its_script() -> None:
    root = parsed(graph_svg(chain_view("Conv"), interactive=False))
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert (width, height) == (float(root.attrib["width"]), float(root.attrib["height"]))


def test_a_page_that_is_too_narrow_starts_where_the_model_is_fed() -> None:
    nodes = tuple(node(i, "Exp", ["x"] if i == 2 else [], [f"y{i}"]) for i in range(3))
    root = parsed(graph_svg(GraphView(model="m", graph=ViewGraph(inputs=(float_value("x"),), nodes=nodes))))
    assert 0 < float(root.attrib["data-start"]) < float(root.attrib["width"])
    assert [each for each in root.iter(f"{SVG}g") if "data-header" in each.attrib]


def test_the_same_model_gives_the_same_drawing() -> None:
    assert graph_svg(chain_view("Conv", "Relu")) == graph_svg(chain_view("Conv", "Relu"))
