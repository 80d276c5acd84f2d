"""Listings."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.text import Text

from onnxperf.errors import BadOption
from onnxperf.records.view import ViewNode, ViewValue
from onnxperf.render.graph.text import Listing, graph_listing, graph_text
from tests.render.graph.examples import NASTY_NAMES, linear_metrics, linear_view, long_view, nasty_view, nested_view

LINEAR = """\
linear   3 nodes · 13 parameters, 60 B · 10 MACs with N=1
opsets: ai.onnx 13
IR version: 7
producer: skl2onnx 1.20.0
author: me

inputs
  X  float32[N, 10]

initializers
  coef          float32[10, 1]       40 B
  intercept     float32[1]            4 B  [0.5]
  shape_tensor  int64[2]             16 B  [-1, 1]

nodes
  MatMul(X, coef) -> multiplied: float32[N, 1]  # mm
    Add(multiplied, intercept) -> resh  # add
      Reshape(resh, shape_tensor) -> variable: float32[N, 1]  # rs

outputs
  variable  float32[N, 1]
"""


def test_a_small_model_is_listed_whole() -> None:
    assert graph_text(linear_view()) == LINEAR


def test_colours_do_not_change_the_words() -> None:
    for view in (linear_view(), nested_view(), nasty_view()):
        listing = graph_listing(view)
        lines = [Text.from_ansi(line).plain.rstrip() for line in listing.ansi.split("\n")]
        assert "\n".join(lines) == listing.text == graph_text(view).rstrip("\n")
        assert "\x1b[1m" in listing.ansi


def test_shares_stand_before_the_nodes() -> None:
    text = graph_text(linear_view(), Listing(metrics=linear_metrics()))
    assert "share of 10 µs\n  90.0 %  MatMul(X, coef)" in text
    assert "\n  8.00 %    Add(" in text


def test_bodies_and_functions_are_nested() -> None:
    text = graph_text(nested_view())
    assert "  If(cond) -> chosen  # If_0\n    then_branch() -> then_branch_out\n" in text
    assert "      Mul(x, then_branch_two) -> then_branch_out  # Mul_in_then_branch\n" in text
    assert "own::Twice(chosen, -, alpha=3.0) -> y" in text
    assert "function own::Twice(a, alpha=1.0, beta) -> b\n  Add(a, a) -> b  # Add_in_Twice\n" in text


def test_depth_zero_leaves_bodies_closed() -> None:
    text = graph_text(nested_view(), Listing(depth=0))
    assert "Mul(" not in text
    assert text.count("… 1 node\n") == 3


def test_one_operator_is_found_in_bodies_too() -> None:
    text = graph_text(nested_view(), Listing(op="Mul"))
    assert "Mul(x, then_branch_two)" in text
    assert "Add(" not in text
    assert "Twice(" not in text


def test_repeated_blocks_are_folded() -> None:
    text = graph_text(long_view())
    assert "  … 99 more times the 3 operators above: 297 nodes (`all` shows them)\n  Softmax(t301)" in text
    assert "… 88 more, 90.1 kB (`all` shows them)" in text
    assert len(text.splitlines()) < 40


def test_long_models_without_repeats_keep_their_ends() -> None:
    view = long_view(blocks=50)
    nodes = tuple(replace(node, op_type=f"Op{node.index}") for node in view.graph.nodes)
    text = graph_text(replace(view, graph=replace(view.graph, nodes=nodes)))
    assert "Op0(" in text
    assert f"Op{len(nodes) - 1}(" in text
    assert f"… {len(nodes) - 55} nodes (`all` shows them)" in text


def test_all_shows_everything() -> None:
    text = graph_text(long_view(), Listing(all=True))
    assert "…" not in text
    assert text.count("Conv(") == 100


@pytest.mark.parametrize("name", ["n5", "5", "t6"])
def test_around_a_node_are_its_neighbours_within_two_steps(name: str) -> None:
    lines = graph_text(long_view(), Listing(around=name)).splitlines()
    assert lines[0] == "around n5   5 of 306 nodes"
    assert [line.strip("> ").split("(")[0] for line in lines[2:]] == ["Add", "Conv", "Relu", "Add", "Conv"]
    assert lines[4].startswith("> ")


def test_every_name_in_a_listing_leads_to_its_node() -> None:
    for view in (linear_view(), nested_view(), long_view()):
        names = [line.partition("  # ")[2] for line in graph_text(view).splitlines() if "  # " in line]
        assert len(names) >= 3
        for name in names:
            (centre,) = (line for line in graph_text(view, Listing(around=name)).splitlines() if line.startswith("> "))
            assert centre.endswith(f"  # {name}")


def test_shares_around_a_node_stand_apart_from_the_operators() -> None:
    metrics = replace(linear_metrics(), notes=("a trace of another model",))
    assert (
        graph_text(linear_view(), Listing(around="mm", metrics=metrics))
        == """\
around mm   3 of 3 nodes
share of 10 µs

>   90.0 %  MatMul(X, coef) -> multiplied: float32[N, 1]  # mm
    8.00 %    Add(multiplied, intercept) -> resh  # add
    2.00 %      Reshape(resh, shape_tensor) -> variable: float32[N, 1]  # rs

note: a trace of another model
"""
    )


def test_a_line_that_is_too_long_goes_on_behind_its_operator() -> None:
    listing = graph_listing(linear_view(), Listing(around="mm", metrics=linear_metrics()))
    assert [listing.text.split("\n")[line].index(name) for line, name in ((3, "MatMul"), (4, "Add"))] == [12, 14]
    assert listing.hangs[3:5] == [16, 18]


def test_around_an_unknown_node_names_similar_ones() -> None:
    with pytest.raises(BadOption, match="no node or tensor is named 'n555'; similar: n55"):
        graph_text(long_view(), Listing(around="n555"))


def test_defaults_are_left_out() -> None:
    view = nested_view()
    node = replace(view.graph.nodes[1], defaults=("alpha",))
    shown = graph_text(replace(view, graph=replace(view.graph, nodes=(node,))))
    assert "own::Twice(chosen, -) -> y" in shown


def test_nasty_names_stay_on_their_line_and_steer_no_terminal() -> None:
    view = nasty_view()
    text = graph_text(view)
    assert all(character == "\n" or character.isprintable() for character in text)
    nodes = text.split("\nnodes\n")[1].split("\n\n")[0].splitlines()
    assert len(nodes) == len(NASTY_NAMES)
    for shown in (
        'say "hi"',
        "two\\nlines",
        "</script>",
        "größe→∞ 模型 🐍",
        "\\x1b[31mred",
        "\\u202eright",
        "[bold]markup",
    ):
        assert shown in text


def test_around_a_node_are_those_that_its_bodies_read_from() -> None:
    view = nested_view()
    first = ViewNode(index=0, key="0", label="maker", op_type="Abs", inputs=("rows",), outputs=("x",))
    rest = [replace(node, index=node.index + 1) for node in view.graph.nodes]
    view = replace(view, graph=replace(view.graph, nodes=(first, *rest)))
    assert "Abs(rows) -> x" in graph_text(view, Listing(around="chosen"))
    assert "If(cond) -> chosen" in graph_text(view, Listing(around="maker"))


def test_types_and_suggestions_steer_no_terminal() -> None:
    view = nested_view()
    rows = ViewValue(name="rows", type="sequence(float32[\x1b[31mN])")
    node = replace(view.graph.nodes[0], label="choice\x1b[31m")
    view = replace(view, graph=replace(view.graph, inputs=(rows,), nodes=(node,)))
    assert "sequence(float32[\\x1b[31mN])" in graph_text(view)
    with pytest.raises(BadOption) as refused:
        graph_text(view, Listing(around="choice[31m"))
    assert str(refused.value).endswith("similar: choice\\x1b[31m")
