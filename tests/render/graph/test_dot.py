"""Graphviz' language, read back by a small parser of its grammar."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.records.view import GraphView, ViewGraph
from onnxperf.render.graph.dot import graph_dot
from tests.render.graph.examples import linear_metrics, linear_view, long_view, nasty_view, nested_view

TOKEN = re.compile(r'\s+|"(?:[^"\\\n]|\\.)*"|->|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[{}\[\]=;,]')
WORDS = {"digraph", "graph", "subgraph", "node", "edge", "rankdir", "label"}


def tokens(text: str) -> list[str]:
    """The words of a dot file; anything that is none is an error."""
    found, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match, f"no dot: {text[place : place + 40]!r}"
        place = match.end()
        if not match[0].isspace():
            found.append(match[0])
    return found


def check(text: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Places and edges of a dot file, once its brackets match and every edge leads somewhere."""
    words = tokens(text)
    for opening, closing in ("{}", "[]"):
        assert words.count(opening) == words.count(closing)
    pairs = pairwise(words)
    places = {word for word, after in pairs if after == "[" and word not in WORDS and word.startswith(("g_", "f"))}
    edges = {(words[at - 1], words[at + 1]) for at, word in enumerate(words) if word == "->"}
    assert {place for edge in edges for place in edge} <= places
    return places, edges


@pytest.mark.parametrize("view", [linear_view(), nested_view(), long_view(), nasty_view()], ids=lambda view: view.model)
def test_every_view_is_valid_dot(view: GraphView) -> None:
    check(graph_dot(view))


def test_nodes_inputs_outputs_and_initialisers_are_connected() -> None:
    places, edges = check(graph_dot(linear_view()))
    assert len(places) == 3 + 1 + 1 + 3
    assert {("g_i0", "g_n0"), ("g_w0", "g_n0"), ("g_n0", "g_n1"), ("g_n2", "g_o0")} <= edges


def test_shapes_are_on_the_edges() -> None:
    assert 'g_n0 -> g_n1 [label="float32[N, 1]"];' in graph_dot(linear_view())


def test_bodies_and_functions_are_clusters_and_see_what_is_outside() -> None:
    text = graph_dot(nested_view())
    _, edges = check(text)
    assert text.count("subgraph cluster_") == 3
    assert ("g_i1", "g_n0_b0_n0") in edges


def test_what_a_body_takes_from_outside_stays_outside_of_its_cluster() -> None:
    text = graph_dot(nested_view())
    cluster = text[text.index("subgraph cluster_g_n0_b0") : text.index("subgraph cluster_g_n0_b1")]
    assert "g_n0_b0_n0 [" in cluster
    assert "->" not in cluster


def test_notes_are_below_the_title() -> None:
    view, metrics = replace(linear_view(), notes=("of the view",)), replace(linear_metrics(), notes=("of the costs",))
    assert '  label="share of 10 µs\\nof the costs\\nof the view";' in graph_dot(view, metrics)
    assert '  label="of the view";' in graph_dot(view)


def test_the_hottest_node_is_the_reddest_and_says_its_share() -> None:
    text = graph_dot(linear_view(), linear_metrics())
    assert 'label="MatMul\\n90.0 %", fillcolor="#e4' in text
    assert 'label="share of 10 µs"' in text


def test_names_are_only_labels() -> None:
    text = graph_dot(nasty_view())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert 'label="say \\"hi\\"' in text


def read(literal: str) -> str:
    """What Graphviz makes of a quoted string and of the escapes in a label."""
    return unescape(re.sub(r"\\(.)", r"\1", literal[1:-1]))


@given(st.text())
def test_any_name_is_one_string_and_only_printable(name: str) -> None:
    literal = tokens(graph_dot(GraphView(model=name, graph=ViewGraph())))[1]
    assert "\n" not in literal
    if name and name.isprintable():
        assert read(literal) == name


@given(st.text(max_size=8), st.text(max_size=8))
def test_any_names_make_valid_dot(op_type: str, tensor: str) -> None:
    view = linear_view()
    first = replace(view.graph.nodes[0], op_type=op_type, outputs=(tensor,), attributes=((op_type, tensor),))
    graph = replace(view.graph, nodes=(first, *view.graph.nodes[1:]), name=tensor)
    check(graph_dot(replace(view, model=op_type, graph=graph)))
