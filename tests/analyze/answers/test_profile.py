"""Sentences about where the time of an inference goes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.diff import diff_answer
from onnxperf.analyze.answers.profile import node_memory_answer, profile_answer
from onnxperf.analyze.trace.profile import operator_times
from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import NodeTime, Profile
from tests.render.profile import examples


def node(name: str, op_name: str, us: int, **more: Any) -> NodeTime:
    times: dict[str, Any] = {"self_us": (us,), "total_us": (us,), "usual_us": float(us), "usual_total_us": float(us)}
    return NodeTime(name=name, op_name=op_name, calls=1, **times, **more)


def profile(*nodes: NodeTime) -> Profile:
    return Profile(model="m", events=9, iterations=1, nodes=nodes, operators=operator_times(nodes))


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([node("a", "Add", 0)], "No node took any time that the trace could show."),
        ([], "No node took any time that the trace could show."),
        ([node("Add_3", "Add", 5)], "Add_3 takes 100 % of the time in 1 node."),
        (
            [node(f"n{number}", f"Op{number}", 10) for number in range(30)],
            "Every operator takes less than 5 % of the time in 30 nodes.",
        ),
        ([node("conv_1", "Conv", 997), node("b", "Add", 3)], "conv_1 takes 99.7 % of the time in 2 nodes."),
        ([node("conv_1", "Conv", 99_999), node("b", "Add", 1)], "conv_1 takes 99.9 % of the time in 2 nodes."),
    ],
)
def test_the_smallest_and_the_largest_shares(nodes: list[NodeTime], sentence: str) -> None:
    assert profile_answer(profile(*nodes)) == sentence


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({}, "node_conv2d_2"),
        ({"sources": ("node_conv2d_2",), "module": "c3"}, "node_conv2d_2"),
        ({"sources": ("node_conv2d_2", "relu"), "module": ""}, "node_conv2d_2"),
        ({"name": "n7", "sources": ("n7",)}, "n7 (Conv)"),
        ({"name": "n7_nchwc", "sources": ("n7",)}, "n7 (Conv)"),
        (
            {"name": "relu_1_nchwc", "sources": ("node_conv2d_2", "node_relu"), "module": "c3"},
            "node_conv2d_2",
        ),
        ({"name": "conv" + "x" * 90}, "conv" + "x" * 20 + "…" + "x" * 23),
        ({"name": "conv\x1b[2J"}, "conv\\x1b[2J"),
    ],
)
def test_a_node_that_takes_nearly_all_of_its_operator_is_named_with_its_origin(
    more: dict[str, Any], named: str
) -> None:
    costly = replace(node("node_conv2d_2", "Conv", 96), **more)
    small = [node("conv_b", "Conv", 1), node("r", "Relu", 3)]
    assert profile_answer(profile(costly, *small)) == f"{named} takes 96 % of the time in 3 nodes."


def test_an_operator_of_many_nodes_is_named_with_the_most_costly_of_them() -> None:
    nodes = [
        node(f"mm_{number}", "MatMul", 10 + number, module=f"layer.{number}.ffn", sources=("a",)) for number in range(4)
    ]
    found = profile_answer(profile(*nodes, node("softmax_9", "Softmax", 20), node("a", "Add", 1)))
    assert found == "MatMul takes 69 % (19 % in a) of the time in 6 nodes, softmax_9 30 %."


@pytest.mark.parametrize(
    ("live", "sentence"),
    [
        ((None, None), "The most is in use at loop/mm (Gemm): 2.00 MB."),
        (
            (1_000_000, 3_000_000),
            "The most is in use at loop/mm (Gemm): 2.00 MB; without reuse in place, results need 3.00 MB, at relu.",
        ),
        (
            (1_000_000, None),
            "The most is in use at loop/mm (Gemm): 2.00 MB; without reuse in place, results need 1.00 MB, at loop/mm.",
        ),
    ],
)
def test_the_peak_of_memory_and_the_planned_minimum(live: tuple[int | None, int | None], sentence: str) -> None:
    nodes = (
        NodeMemory(name="mm", op_name="Gemm", path=("loop",), in_use_bytes=2_000_000, live_bytes=live[0], is_peak=True),
        NodeMemory(name="relu", op_name="Relu", in_use_bytes=1_500_000, live_bytes=live[1]),
    )
    assert node_memory_answer(NodeMemories(model="m", iteration=0, nodes=nodes)) == sentence


@pytest.mark.parametrize(
    ("overhead", "start", "end"),
    [
        (None, "", "of the time in 1 node."),
        (1.4, "", "of the time in 1 node."),
        (2.3, "With the profiler, a call takes 2.30× as long: short nodes look longer", "the time in 1 node."),
        (
            36.0,
            "With the profiler, a call takes 36.0× as long: times of nodes are mostly",
            "the profiled time in 1 node.",
        ),
    ],
)
def test_a_large_overhead_of_the_profiler_leads_the_answer(overhead: float | None, start: str, end: str) -> None:
    calls = {} if overhead is None else {"profiled_ns": overhead * 1e6, "unprofiled_ns": 1e6}
    made = examples.profile(examples.node("n3"), **{"profiled_ns": None, **calls})
    found = profile_answer(made)
    assert found.startswith(start or "n3")
    assert found.endswith(end)
    *_, last = diff_answer(examples.diff(before=made)).splitlines()
    assert bool(start) == last.startswith("With the profiler")
    assert last.startswith(start)
