"""Which tensors are alive while a node runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.graphs.live_set import LiveSets, live_sets
from onnxperf.records.graph import Graph, GraphNode


def node(text: str, subgraphs: tuple[tuple[str, Graph], ...] = ()) -> GraphNode:
    """A node as `name: a b -> c d`, or `name Operator: a b -> c d`; a MatMul needs its inputs beside its result."""
    head, _, rest = text.partition(": ")
    name, _, operator = head.partition(" ")
    inputs, _, outputs = rest.partition("->")
    return GraphNode(
        name=name,
        op_type=operator or "MatMul",
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
OMITTED = graph(GraphNode(name="1", op_type="MatMul", inputs=("X", ""), outputs=("", "Y")))
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
    found = live_sets(drawn, SIZES)
    assert live_bytes(found) == expected
    assert [each.op_type for each in found.sets] == [each.op_type for each in drawn.nodes]


EQUAL = dict.fromkeys("abcdXY", 10)
CONV = "3 Conv: b W B a -> Y"


@pytest.mark.parametrize(
    ("drawn", "sizes", "expected"),
    [
        (graph("1: X -> a", "2 Relu: a -> Y"), EQUAL, [10, 10]),
        (graph("1: X -> a", "2 Relu: a -> b", "3: a b -> Y"), EQUAL, [10, 20, 30]),
        (graph("1: X -> a", "2: X -> b", "3 Add: a b -> Y"), EQUAL, [10, 20, 20]),
        (graph("1: X -> a", "2 Add: a X -> Y"), EQUAL | {"a": 1}, [1, 11]),
        (graph("1 Relu: X -> Y"), EQUAL, [10]),
        (graph("1: X -> a", "2 Relu: a -> Y", outputs="a Y"), EQUAL, [10, 20]),
        (graph("1: X -> a", "2: X -> b", CONV, constants="W B"), EQUAL, [10, 20, 20]),
        (graph("1: X -> a", "2: X -> b", "3: b W B a -> Y", constants="W B"), EQUAL, [10, 20, 30]),
        (graph("1: X -> a", "2 Reshape: a S -> b", "3: b -> Y", constants="S"), EQUAL, [10, 10, 20]),
        (graph("1: X -> a", "2 Transpose: a -> b", "3: a b -> Y"), EQUAL, [10, 10, 20]),
        (graph("1: X -> a", "2 Split: a -> b c", "3: b c -> Y"), EQUAL | {"b": 4, "c": 6}, [10, 10, 20]),
        (graph("1: X -> a", "2 Slice: a -> b", "3: b -> Y"), EQUAL | {"b": 4}, [10, 10, 14]),
        (graph("1: X -> a", "2 Expand: a S -> b", "3: b -> Y", constants="S"), EQUAL | {"b": 90}, [10, 10, 10]),
        (graph("1: X -> a", "2 Reshape: a -> b", "3 Relu: b -> Y", outputs="a Y"), EQUAL, [10, 10, 20]),
        (graph("1 Flatten: X -> a", "2: a -> Y"), EQUAL, [0, 10]),
        (graph("1 Shape: X -> a", "2: a -> Y"), EQUAL | {"a": 0}, [0, 10]),
        (graph("1 Tokenize: X -> a", "2: a -> Y"), EQUAL, [0, 10]),
        (graph("1 Constant: -> a", "2 Mul: a W -> b", "3: X b -> Y", constants="W"), EQUAL, [0, 0, 10]),
        (graph("1 RandomNormal: -> a", "2: a -> Y"), EQUAL, [10, 20]),
        (graph("1 TreeEnsemble: X -> a", "2: a -> Y"), EQUAL | {"a": 90}, [90, 100]),
        (graph("1: X -> a", "2 Slice: a -> b", "3 Pad: b -> Y"), EQUAL | {"b": 4, "Y": 6}, [10, 10, 10]),
    ],
    ids=[
        "written over an input that ends",
        "not over one that is read again",
        "over one of two",
        "not over a smaller one",
        "not over what the caller gave",
        "not over an output",
        "a convolution over what it adds",
        "another operator not",
        "a view takes nothing and keeps what it shows",
        "beside what it shows",
        "parts of a tensor in its memory",
        "a part is less than the whole",
        "a view that repeats its tensor",
        "not over what a view shares with an output",
        "a view of an input",
        "an empty view of an input",
        "an unknown operator may return a view",
        "constants are made when the model is loaded",
        "random numbers are made in every call",
        "what is larger than its input is no view of it",
        "nor what is larger than a part of it",
    ],
)
def test_memory_that_a_runtime_can_share_counts_once(drawn: Graph, sizes: dict[str, int], expected: list[int]) -> None:
    assert [each.live_bytes for each in live_sets(drawn, sizes).sets] == expected


def test_a_tensor_names_the_one_in_whose_memory_it_may_lie() -> None:
    found = live_sets(graph("1: X -> a", "2 Relu: a -> b", "3 Reshape: b -> Y"), EQUAL).sets
    within = [{tensor.name: tensor.within for tensor in each.alive} for each in found]
    assert within == [{"X": "", "a": ""}, {"X": "", "a": "b", "b": ""}, {"X": "", "b": "", "Y": "b"}]


def test_a_body_that_returns_what_it_reads_makes_nothing() -> None:
    body = graph("t Identity: a -> p", inputs="", outputs="p")
    whole = graph("1: X -> a", node("if: c -> b", (("then_branch", body),)), "2: a b -> Y", inputs="X c")
    assert live_bytes(live_sets(whole, EQUAL | {"p": 10})) == {"1": 10, "if/t": 10, "if": 10, "2": 20}


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
    chosen = [["X", *(f"t{each % at}" for each in read if at)] for at, read in enumerate(reads)]
    nodes = [
        GraphNode(name=str(at), op_type="MatMul", inputs=tuple(read), outputs=(f"t{at}",))
        for at, read in enumerate(chosen)
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
