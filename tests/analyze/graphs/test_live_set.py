"""Which tensors are alive while a node runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.graphs.live_set import LiveSets, live_sets
from onnxperf.records.graph import Graph, GraphNode


def node(text: str, subgraphs: tuple[tuple[str, Graph], ...] = ()) -> GraphNode:
    """A node as `name: a b -> c d`."""
    name, _, rest = text.partition(": ")
    inputs, _, outputs = rest.partition("->")
    return GraphNode(
        name=name,
        op_type="Op",
        inputs=tuple(inputs.split()),
        outputs=tuple(outputs.split()),
        subgraphs=subgraphs,
    )


def graph(*nodes: str | GraphNode, inputs: str = "X", outputs: str = "Y", constants: str = "") -> Graph:
    return Graph(
        inputs=tuple(inputs.split()),
        outputs=tuple(outputs.split()),
        constants=frozenset(constants.split()),
        nodes=tuple(each if isinstance(each, GraphNode) else node(each) for each in nodes),
    )


def live_bytes(found: LiveSets) -> dict[str, int]:
    return {"/".join([*each.path, each.name]): each.live_bytes for each in found.sets}


CHAIN = graph("1: X W -> a", "2: a -> b", "3: b -> Y", constants="W")
SKIP = graph("1: X -> a", "2: a -> b", "3: b -> c", "4: a c -> Y")
EARLY = graph("1: X -> Y", "2: Y -> b", "3: b -> Z", outputs="Y Z")
UNUSED = graph("1: X -> a u", "2: a -> Y")
OMITTED = graph(GraphNode(name="1", op_type="Op", inputs=("X", ""), outputs=("", "Y")))
SIZES = {name: 10 ** "abcuYZ".index(name) for name in "abcuYZ"} | {"X": 7, "W": 3}


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (CHAIN, {"1": 1, "2": 11, "3": 10_010}),
        (SKIP, {"1": 1, "2": 11, "3": 111, "4": 10_101}),
        (EARLY, {"1": 10_000, "2": 10_010, "3": 110_010}),
        (UNUSED, {"1": 1_001, "2": 10_001}),
        (OMITTED, {"1": 10_000}),
        (graph(), {}),
    ],
)
def test_a_tensor_lives_from_its_node_to_its_last_reader(drawn: Graph, expected: dict[str, int]) -> None:
    assert live_bytes(live_sets(drawn, SIZES)) == expected


def test_inputs_are_listed_and_not_counted_and_weights_are_neither() -> None:
    first = live_sets(CHAIN, SIZES).sets[0]
    assert [(each.name, each.role) for each in first.alive] == [("X", "input"), ("a", "intermediate")]
    assert first.live_bytes == SIZES["a"]


def test_the_peak_is_the_node_at_which_the_most_is_alive() -> None:
    found = live_sets(SKIP, {"a": 5, "b": 9, "c": 9, "Y": 1})
    assert found.peak is not None
    assert (found.peak.name, found.peak.live_bytes) == ("3", 23)
    assert live_sets(graph(), {}).peak is None


def test_a_tensor_without_a_size_counts_as_nothing_and_is_named() -> None:
    found = live_sets(CHAIN, {"a": 4, "Y": 2})
    assert found.unknown == {"b"}
    assert live_bytes(found) == {"1": 4, "2": 4, "3": 2}


def test_what_a_body_captures_stays_alive_and_its_own_peak_is_part_of_its_node() -> None:
    small = graph("s: a -> p", inputs="", outputs="p")
    large = graph("l: c -> q", "m: q -> r", inputs="", outputs="r")
    whole = graph(
        "1: X -> a", "2: X -> c", node("3: X -> b", (("then_branch", small), ("else_branch", large))), "4: b -> Y"
    )
    sizes = {"a": 1, "c": 10, "b": 100, "p": 1_000, "q": 5_000, "r": 6_000, "Y": 2}
    assert live_bytes(live_sets(whole, sizes)) == {
        "1": 1,
        "2": 11,
        "3/s": 1_011,
        "3/l": 5_011,
        "3/m": 11_011,
        "3": 11_011,
        "4": 102,
    }


def test_what_a_body_returns_becomes_the_output_of_its_node_and_counts_once() -> None:
    body = graph("t: X -> p", inputs="", outputs="p")
    whole = graph(node("if: c -> Y", (("then_branch", body),)), inputs="X c")
    found = live_sets(whole, {"X": 7, "p": 1_000, "Y": 1_000})
    assert live_bytes(found) == {"if/t": 1_000, "if": 1_000}


def test_outputs_that_a_loop_collects_may_need_more_than_its_body() -> None:
    body = graph("t: i -> p", inputs="i", outputs="p")
    whole = graph(node("loop: n -> Y", (("body", body),)), inputs="n")
    found = live_sets(whole, {"p": 10, "Y": 100})
    assert live_bytes(found) == {"loop/t": 10, "loop": 100}
    assert found.peak is not None
    assert [each.name for each in found.peak.alive if each.size_bytes] == ["Y"]


@given(st.lists(st.lists(st.integers(0, 30), max_size=3), min_size=1, max_size=12), st.data())
def test_the_sets_agree_with_a_count_by_definition(reads: list[list[int]], data: st.DataObject) -> None:
    chosen = [[f"t{each % at}" for each in read] if at else [] for at, read in enumerate(reads)]
    nodes = [
        GraphNode(name=str(at), op_type="Op", inputs=tuple(read), outputs=(f"t{at}",)) for at, read in enumerate(chosen)
    ]
    outputs = data.draw(st.sets(st.sampled_from(range(len(nodes)))))
    sizes = {f"t{at}": data.draw(st.integers(0, 100)) for at in range(len(nodes))}
    found = live_sets(Graph(outputs=tuple(f"t{at}" for at in outputs), nodes=tuple(nodes)), sizes)
    for at, each in enumerate(found.sets):
        needed = [
            made
            for made in range(at + 1)
            if made == at or made in outputs or any(f"t{made}" in chosen[later] for later in range(at, len(nodes)))
        ]
        assert each.live_bytes == sum(sizes[f"t{made}"] for made in needed)
