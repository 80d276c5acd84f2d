"""Memory that is used again never shows: not in earlier results, not in other threads, and it stays small."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from onnxperf.errors import SubjectError
from onnxperf.runtimes.numpy.kernels import conv
from onnxperf.runtimes.numpy.kernels.workspace import WORKSPACE_BYTES, Workspace
from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.one_node import one_node

Array = np.ndarray[Any, Any]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def network() -> NumpySession:
    """Every kernel that uses the workspace, for images of any size."""
    nodes = [
        helper.make_node("Conv", ["X", "W1", "b1"], ["A"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["A"], ["B"]),
        helper.make_node("LRN", ["B"], ["C"], size=3),
        helper.make_node("Conv", ["C", "W2"], ["D"], strides=[2, 2]),
        helper.make_node("LRN", ["D"], ["E"], size=2, beta=0.5),
        helper.make_node("Conv", ["E", "W3"], ["Y"]),
    ]
    arrays = {"W1": random(6, 3, 3, 3), "b1": random(6), "W2": random(4, 6, 2, 2), "W3": random(2, 4, 1, 1)}
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("X", 1, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info(name, 1, ["n", "c", "y", "x"]) for name in "CDY"],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return NumpySession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def run(session: NumpySession, x: Array) -> list[Array]:
    return list(session.bind("run", {"X": x}, {})())


SHAPES = st.tuples(st.integers(1, 3), st.just(3), st.integers(3, 20), st.integers(3, 20))


@settings(max_examples=25, deadline=None)
@given(st.lists(SHAPES, min_size=2, max_size=6))
def test_results_of_earlier_calls_never_change_and_share_no_memory(shapes: list[tuple[int, ...]]) -> None:
    session = network()
    inputs = [random(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    alone = [[array.copy() for array in run(network(), x)] for x in inputs]
    results = [run(session, x) for x in inputs]
    for got, expected in zip(results, alone, strict=True):
        for mine, theirs in zip(got, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    everything = [*inputs, *(array for each in results for array in each)]
    for index, array in enumerate(everything):
        assert not any(np.shares_memory(array, other) for other in everything[:index])


def test_two_threads_that_share_a_session_agree_with_one() -> None:
    session = network()
    inputs = [random(1 + i % 2, 3, 40 + 3 * i, 50 - 2 * i, seed=i) for i in range(12)]
    expected = [[array.copy() for array in run(session, x)] for x in inputs]
    ready = threading.Barrier(2)

    def work(order: list[int]) -> dict[int, list[Array]]:
        ready.wait(timeout=60)
        return {i: run(session, inputs[i]) for _ in range(5) for i in order}

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(work, [list(range(12)), list(reversed(range(12)))]))
    for results in found:
        for i, got in results.items():
            for mine, theirs in zip(got, expected[i], strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_memory_is_used_again_once_it_was_returned() -> None:
    workspace = Workspace()
    first = workspace.lend(1000)
    assert first.size == WORKSPACE_BYTES
    workspace.take_back(first)
    assert workspace.lend(WORKSPACE_BYTES) is first


def test_a_call_within_a_call_gets_memory_of_its_own() -> None:
    workspace = Workspace()
    workspace.take_back(workspace.lend(1000))
    outer, inner = workspace.lend(1000), workspace.lend(1000)
    assert not np.shares_memory(outer, inner)


def test_every_thread_has_memory_of_its_own() -> None:
    workspace = Workspace()
    workspace.take_back(workspace.lend(1000))
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: workspace.kept_bytes).result() == 0
    assert workspace.kept_bytes == WORKSPACE_BYTES


@pytest.mark.parametrize(("channels", "kept"), [(2, WORKSPACE_BYTES), (40000, 0)])
def test_what_a_huge_window_needs_is_released_after_its_call(
    channels: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace()
    monkeypatch.setattr(conv, "WORKSPACE", workspace)
    model, feeds = one_node("Conv", [random(1, channels, 6, 6), random(1, channels, 6, 6)])
    call = NumpySession(model).bind("run", feeds, {})
    call()
    assert workspace.kept_bytes == kept
    call()
    assert workspace.kept_bytes == kept


def test_a_kernel_that_fails_leaves_a_usable_workspace() -> None:
    session = network()
    expected = [array.copy() for array in run(session, random(1, 3, 8, 8))]
    with pytest.raises(SubjectError, match="reshape"):
        run(session, random(1, 5, 8, 8))
    for mine, theirs in zip(run(session, random(1, 3, 8, 8)), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
