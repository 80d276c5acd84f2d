"""JSON that can be read back, and the file for Netron."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace

from onnxperf.records.view import GraphView, Metrics, NodeMetric
from onnxperf.render.graph.netron import graph_netron, nameless
from onnxperf.render.kit.documents import to_json
from onnxperf.results.view import ViewResult
from tests.render.graph.examples import linear_metrics, linear_view, long_view, nasty_view, nested_view

VIEWS = [linear_view(), nested_view(), long_view(), nasty_view()]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.model)
def test_json_is_read_back_as_the_same_view(view: GraphView) -> None:
    assert msgspec.json.decode(to_json(view), type=GraphView) == view


def test_json_holds_what_the_nodes_cost() -> None:
    result = ViewResult(replace(linear_view(), metrics=linear_metrics()))
    assert json.loads(result.to_json())["metrics"]["nodes"]["0"]["share"] == 0.9


def test_netron_finds_the_figures_by_the_name_of_the_node() -> None:
    document = json.loads(graph_netron(linear_view(), linear_metrics()))
    assert document["signature"] == "netron:attachment"
    assert document["metrics"][:2] == [
        {"kind": "node", "target": "mm", "name": "time_us", "value": 9.0},
        {"kind": "node", "target": "mm", "name": "share_percent", "value": 90.0},
    ]


def test_nodes_without_a_name_are_counted_and_left_out() -> None:
    view = linear_view()
    nodes = tuple(replace(node, name="") for node in view.graph.nodes)
    silent = replace(view, graph=replace(view.graph, nodes=nodes))
    assert nameless(silent, linear_metrics()) == 3
    assert json.loads(graph_netron(silent, linear_metrics()))["metrics"] == []


def test_nodes_that_share_a_name_are_counted_and_left_out() -> None:
    view = linear_view()
    first, *others = view.graph.nodes
    nodes = (first, *(replace(node, name="twice") for node in others))
    repeated = replace(view, graph=replace(view.graph, nodes=nodes))
    assert nameless(repeated, linear_metrics()) == 2
    rows = json.loads(graph_netron(repeated, linear_metrics()))["metrics"]
    assert {row["target"] for row in rows} == {"mm"}


def test_netron_gets_only_the_first_line_of_a_name() -> None:
    view = nasty_view()
    cost = {node.key: NodeMetric(key=node.key, share=0.1, value=1, unit="us") for node in view.graph.nodes}
    rows = json.loads(graph_netron(view, Metrics(by="time", title="t", nodes=cost)))["metrics"]
    assert "two" in {row["target"] for row in rows}
    assert not any("\n" in row["target"] for row in rows)
