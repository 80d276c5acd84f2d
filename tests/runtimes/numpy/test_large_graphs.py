"""The work of compiling a graph grows with its nodes, and no limit of Python is met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxperf.runtimes.numpy.session import NumpySession


def model_of(nodes: list[onnx.NodeProto], output: str, shape: tuple[int, ...] = (2,)) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("t0", 1, shape)],
        [helper.make_tensor_value_info(output, 1, None)],
        [numpy_helper.from_array(np.ones((1, 1, 1, 1), np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(operator: str, count: int) -> onnx.ModelProto:
    nodes = [helper.make_node(operator, [f"t{i}"], [f"t{i + 1}"]) for i in range(count)]
    return model_of(nodes, f"t{count}")


def unsorted_chain(count: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Neg", [f"t{i}"], [f"t{i + 1}"]) for i in reversed(range(count))]
    return model_of(nodes, f"t{count}")


def sums(count: int) -> onnx.ModelProto:
    """Results that may share memory with all before them."""
    nodes = []
    for i in range(count // 2):
        nodes.append(helper.make_node("Exp", [f"t{i}"], [f"e{i}"]))
        nodes.append(helper.make_node("Sum", [f"t{i}", f"e{i}", f"e{i}"], [f"t{i + 1}"]))
    return model_of(nodes, f"t{count // 2}")


def fused(count: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Conv", ["t0", "w"], ["t1"])]
    nodes += [helper.make_node("Mul", [f"t{i}", "w"], [f"t{i + 1}"]) for i in range(1, count)]
    return model_of(nodes, f"t{count}", (1, 1, 2, 2))


def branches(count: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True)))]
    for i in range(count):
        sides = [
            helper.make_graph(
                [helper.make_node("Neg", [f"t{i}"], [f"{s}{i}"])], s, [], [onnx.ValueInfoProto(name=f"{s}{i}")]
            )
            for s in ("a", "b")
        ]
        nodes.append(helper.make_node("If", ["c"], [f"t{i + 1}"], then_branch=sides[0], else_branch=sides[1]))
    return model_of(nodes, f"t{count}")


def calls_of(work: Callable[[], object]) -> int:
    """Python functions that are entered, generators at every step: more than the clock, it is always the same."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "make",
    [lambda n: chain("Neg", n), lambda n: chain("Identity", n), unsorted_chain, sums, fused, branches],
    ids=["results that are overwritten", "views", "unsorted", "shared memory", "fused", "branches"],
)
def test_four_times_as_many_nodes_need_four_times_the_work(make: Callable[[int], onnx.ModelProto]) -> None:
    NumpySession(make(10))  # what is imported and remembered once
    small, large = make(100), make(400)
    assert calls_of(lambda: NumpySession(large)) < 4.6 * calls_of(lambda: NumpySession(small))


@pytest.mark.thorough
@pytest.mark.slow
def test_fifty_thousand_nodes_are_compiled_and_run_in_all_modes() -> None:
    session = NumpySession(chain("Neg", 50_000))
    feeds: dict[str, Any] = {"t0": np.ones(2, np.float32)}
    assert session.bind("run", feeds, {})()[0].tolist() == [1, 1]
    assert len(session.intermediates(feeds)) == 50_001
    assert len(session.node_times(feeds, 1)) == 50_000
