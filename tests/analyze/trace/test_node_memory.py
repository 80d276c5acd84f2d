"""Memory of one inference from the columns of a trace."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.trace.events import lay_out
from onnxperf.analyze.trace.node_memory import node_memories, tensor_sizes
from onnxperf.errors import BadOption
from onnxperf.measure.trace.read import trace_of_events
from onnxperf.records.graph import Graph, GraphNode
from onnxperf.records.node_memory import NodeMemories
from tests.analyze.made_traces import Ran, events_of

NODES = [Ran("mm", "MatMul"), Ran("relu", "Relu"), Ran("sig", "Sigmoid")]
WEIGHTS, BLOCK = 50, 800
GRAPH = Graph(
    inputs=("X",),
    outputs=("Y",),
    nodes=(
        GraphNode(name="mm", op_type="MatMul", inputs=("X",), outputs=("a",)),
        GraphNode(name="relu", op_type="Relu", inputs=("a",), outputs=("b",)),
        GraphNode(name="sig", op_type="Sigmoid", inputs=("b",), outputs=("Y",)),
    ),
)


def memory_figures(in_use: int, delta: int, held: int) -> dict[str, Any]:
    return {
        "mem_bytes_in_use": str(in_use),
        "mem_in_use_delta": str(delta),
        "mem_bytes_requested_in_use": str(in_use - 8),
        "mem_arena_held": str(held),
        "mem_in_use_peak": str(in_use + 1),
        "output_size": "800",
        "output_type_shape": [{"float": [200]}],
    }


FIRST = [memory_figures(850, 800, 850), memory_figures(850, 0, 850), memory_figures(1_650, 800, 1_650)]
SECOND = [memory_figures(850, 0, 1_650), memory_figures(850, 0, 1_650), memory_figures(1_650, 800, 1_650)]


def events(*iterations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events of the three nodes, with memory in those of each iteration."""
    made = events_of([NODES] * len(iterations))
    kernels = [event for event in made if event["name"].endswith("_kernel_time")]
    for event, args in zip(kernels, (each for iteration in iterations for each in iteration), strict=True):
        event["args"] |= args
    return made


def memories(made: list[dict[str, Any]], iteration: int | None = None, executed: Graph | None = None) -> NodeMemories:
    trace = trace_of_events(made)
    return node_memories(trace, lay_out(trace), "model", iteration, executed)


def test_the_last_iteration_shows_the_block_taken_in_advance() -> None:
    record = memories(events(FIRST, SECOND))
    assert (record.iteration, record.loaded_bytes, record.base_bytes) == (1, WEIGHTS, WEIGHTS + BLOCK)
    assert record.session_peak_bytes == 1_651
    assert any("at once" in note for note in record.notes)


def test_each_node_has_what_was_in_use_and_the_highest_is_the_peak() -> None:
    nodes = memories(events(FIRST, SECOND), 0).nodes
    assert [node.in_use_bytes for node in nodes] == [850, 850, 1_650]
    assert [node.held_bytes for node in nodes] == [850, 850, 1_650]
    assert [node.requested_bytes for node in nodes] == [842, 842, 1_642]
    assert [node.output_bytes for node in nodes] == [800, 800, 800]
    assert [node.name for node in nodes if node.is_peak] == ["sig"]
    assert {node.live_bytes for node in nodes} == {None}


def test_the_graph_adds_live_sets() -> None:
    nodes = memories(events(FIRST), executed=GRAPH).nodes
    assert [node.live_bytes for node in nodes] == [800, 800, 800]  # each may be written over the last


def test_a_node_that_tells_no_memory_is_no_peak() -> None:
    made = events([memory_figures(850, 800, 850), {}, memory_figures(900, 50, 900)])
    assert [node.in_use_bytes for node in memories(made).nodes] == [850, None, 900]


def test_texts_have_no_size_and_a_note_says_so() -> None:
    made = events([{**each, "output_type_shape": [{"string": [200]}]} for each in FIRST])
    record = memories(made, executed=GRAPH)
    assert [node.live_bytes for node in record.nodes] == [0, 0, 0]
    assert any("not in the trace" in note for note in record.notes)


def test_nodes_of_bodies_come_before_their_owner_with_its_name_as_path() -> None:
    made = events_of([[Ran("if", "If", bodies=[[Ran("inner")]])]])
    for event in made:
        if event["name"].endswith("_kernel_time"):
            event["args"] |= memory_figures(10, 10, 10)
    assert [(node.path, node.name) for node in memories(made).nodes] == [(("if",), "inner"), ((), "if")]


def test_a_trace_without_memory_columns_is_refused_in_one_line() -> None:
    with pytest.raises(BadOption, match="contains no memory statistics"):
        memories(events_of([NODES]))


def test_a_trace_in_which_no_node_ran_is_refused_in_one_line() -> None:
    with pytest.raises(BadOption, match="contains no nodes"):
        memories(events_of([]))


def test_types_belong_to_the_outputs_that_have_a_name() -> None:
    made = events_of([[Ran("drop", "Dropout")]])
    for event in made:
        if event["name"].endswith("_kernel_time"):
            event["args"] |= {"output_type_shape": [{"bool": [200]}]}
    graph = Graph(nodes=(GraphNode(name="drop", op_type="Dropout", inputs=("X",), outputs=("", "mask")),))
    trace = trace_of_events(made)
    assert tensor_sizes(trace, lay_out(trace), graph, 0) == {"mask": 200}


@pytest.mark.parametrize(
    ("outputs", "sizes"), [(("m",), {"m": 200}), (("m", "n"), {}), ((), {})], ids=["as many", "more names", "no names"]
)
def test_types_that_do_not_match_the_names_say_nothing(outputs: tuple[str, ...], sizes: dict[str, int]) -> None:
    made = events_of([[Ran("if", "If", bodies=[[Ran("inner")]])]])
    for event in made:
        if event["name"] == "inner_kernel_time":
            event["args"] |= {"output_type_shape": [{"bool": [200]}]}
    inner = Graph(nodes=(GraphNode(name="inner", op_type="Add", inputs=("X",), outputs=outputs),))
    owner = GraphNode(name="if", op_type="If", inputs=("X",), outputs=(), subgraphs=(("then_branch", inner),))
    trace = trace_of_events(made)
    assert tensor_sizes(trace, lay_out(trace), Graph(nodes=(owner,)), 0) == sizes


def test_without_what_a_node_added_nothing_is_known_of_the_time_before() -> None:
    iteration = [{key: value for key, value in each.items() if key != "mem_in_use_delta"} for each in FIRST]
    record = memories(events(iteration))
    assert (record.loaded_bytes, record.base_bytes) == (None, None)
    assert [node.in_use_bytes for node in record.nodes] == [850, 850, 1_650]


@pytest.mark.parametrize("iteration", [-1, 2, 100])
def test_an_iteration_that_is_not_there_is_refused(iteration: int) -> None:
    with pytest.raises(BadOption, match="choose from: 0 to 1"):
        memories(events(FIRST, SECOND), iteration)
