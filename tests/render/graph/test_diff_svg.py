"""Two models side by side."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from onnxperf.records.profile import SourceGroup
from onnxperf.records.view import GraphView, ViewFunction, ViewGraph
from onnxperf.render.graph.diff_svg import diff_svg
from tests.render.graph.views import HOSTILE_NAMES, chain_view, float_value, named_view, node

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg.encode()).iter(f"{SVG}text")]


def boxes(svg: str) -> dict[str, list[tuple[str, bool]]]:
    """Fill of the boxes by what is written in them, and whether their border is dashed."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for group in ET.fromstring(svg.encode()).iter(f"{SVG}g"):
        rect, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        if group.find(f"{SVG}title") is not None and rect is not None and text is not None:
            look = rect.attrib["fill"], "stroke-dasharray" in rect.attrib
            found.setdefault(text.text or "", []).append(look)
    return found


def test_both_graphs_are_drawn_with_their_names() -> None:
    shown = texts(diff_svg(chain_view("Conv", model="a"), chain_view("Conv", "Relu", model="b")))
    assert {"before: a, 1 node", "after: b, 2 nodes", "a and b"} <= set(shown)


def test_nodes_of_a_fused_group_have_its_number_and_one_colour_on_both_sides() -> None:
    before, after = chain_view("Conv", "Relu"), chain_view("FusedConv")
    group = SourceGroup(kind="fused", sources=("Conv_0", "Relu_1"), executed=("FusedConv_0",))
    svg = diff_svg(before, after, [group])
    found = boxes(svg)
    assert found["Conv  #1"] == found["Relu  #1"] == found["FusedConv  #1"]
    assert "2 fused into 1, 1 group by number and color" in texts(svg)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("removed", "1 removed"),
        ("folded", "1 folded: computed once, when the model is loaded"),
        ("duplicate", "1 the same as another node, which was kept"),
    ],
)
def test_what_is_gone_is_dashed_and_counted(kind: str, words: str) -> None:
    group = SourceGroup(kind=kind, sources=("Neg_1",), same_as="Relu_0")  # type: ignore[arg-type]
    svg = diff_svg(chain_view("Relu", "Neg"), chain_view("Relu"), [group])
    assert boxes(svg)["Neg"][0][1]
    assert words in texts(svg)


def test_without_groups_nodes_of_equal_name_and_operator_are_the_same() -> None:
    svg = diff_svg(chain_view("Relu", "Neg", "Abs"), chain_view("Relu", "Sin", "Abs"))
    found = boxes(svg)
    assert found["Relu"][0] == found["Relu"][1] == found["Abs"][0]
    assert {"2 kept", "1 removed", "1 added"} <= set(texts(svg))
    assert found["Neg"] != found["Sin"]


def test_nodes_in_bodies_are_found_by_the_node_around_them() -> None:
    def view(op: str) -> GraphView:
        body = ViewGraph(nodes=(node(0, op, ["x"], ["z"], key="0/then/0"),), outputs=(float_value("z"),))
        return GraphView(model="m", graph=ViewGraph(nodes=(node(0, "If", [], ["y"], subgraphs={"then": body}),)))

    group = SourceGroup(kind="fused", path=("If_0",), sources=("Neg_0",), executed=("Sin_0",))
    assert {"Neg  #1", "Sin  #1"} <= set(boxes(diff_svg(view("Neg"), view("Sin"), [group])))


def test_functions_are_the_same_by_name_wherever_they_stand() -> None:
    def view(*names: str) -> GraphView:
        functions = (
            ViewFunction(
                key=f"f{place}", name=name, graph=ViewGraph(nodes=(node(0, name, [], ["y"], key=f"f{place}/0"),))
            )
            for place, name in enumerate(names)
        )
        return GraphView(model="m", graph=ViewGraph(), functions=tuple(functions))

    assert "2 kept" in texts(diff_svg(view("Relu", "Neg"), view("Neg", "Relu")))


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_hostile_name_is_only_a_name(name: str) -> None:
    group = SourceGroup(kind="fused", sources=(name,), executed=(name,), same_as=name)
    svg = diff_svg(named_view(name), named_view(name), [group])
    assert len(list(ET.fromstring(svg.encode()).iter(f"{SVG}script"))) == 1
