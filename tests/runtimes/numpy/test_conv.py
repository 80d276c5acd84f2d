"""Convolutions agree with onnx's reference, however they are cut into tiles, and stay within their workspace."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.kernels import conv
from onnxperf.runtimes.numpy.kernels.workspace import WORKSPACE_BYTES, Workspace
from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.one_node import Array, check_against_reference, one_node, run_ours


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


# input, weights, attributes
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1-D": ((2, 3, 11), (4, 3, 3), {"pads": [1, 2]}),
    "1-D with steps": ((1, 2, 20), (3, 2, 4), {"strides": [3], "dilations": [2]}),
    "2-D": ((2, 3, 8, 9), (5, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    "2-D, uneven padding": ((1, 3, 8, 9), (5, 3, 3, 2), {"pads": [0, 1, 2, 0], "strides": [2, 1]}),
    "3-D": ((1, 2, 5, 6, 7), (3, 2, 2, 3, 3), {"pads": [1, 0, 1, 0, 1, 1], "strides": [1, 2, 1]}),
    "one element": ((2, 6, 4, 5), (3, 6, 1, 1), {}),
    "one element with steps": ((2, 6, 5, 5), (3, 6, 1, 1), {"strides": [2, 2]}),
    "one element with padding": ((2, 6, 5, 5), (3, 6, 1, 1), {"pads": [1, 1, 1, 1]}),
    "one element in groups": ((2, 6, 4, 5), (4, 3, 1, 1), {"group": 2}),
    "groups": ((2, 6, 7, 7), (4, 3, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "depthwise": ((2, 6, 7, 7), (6, 1, 3, 3), {"group": 6, "strides": [2, 2]}),
    "depthwise with a multiplier": ((1, 3, 7, 7), (6, 1, 3, 3), {"group": 3}),
    "same upper": ((1, 2, 7, 8), (3, 2, 3, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    "same lower": ((1, 2, 7, 8), (3, 2, 2, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 3]}),
    "valid": ((1, 2, 7, 8), (3, 2, 2, 4), {"auto_pad": "VALID"}),
    "dilated same": ((1, 2, 9, 9), (3, 2, 3, 3), {"auto_pad": "SAME_UPPER", "dilations": [2, 2]}),
    "windows of padding only": ((1, 1, 2, 2), (1, 1, 1, 1), {"pads": [2, 2, 2, 2]}),
    "no images": ((0, 2, 5, 5), (3, 2, 3, 3), {}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bound", [(), (1, 2)], ids=["weights given", "weights bound"])
def test_a_convolution_agrees_with_the_reference(name: str, dtype: Any, bound: tuple[int, ...]) -> None:
    shape, weights, attributes = CASES[name]
    arrays = [random(*shape, dtype=dtype), random(*weights, dtype=dtype), random(weights[0], dtype=dtype)]
    check_against_reference("Conv", arrays, bound=bound, rtol=1e-4, atol=1e-4, **attributes)
    check_against_reference("Conv", arrays[:2], bound=bound[:1], rtol=1e-4, atol=1e-4, **attributes)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("workspace", [1, 500, 3000])
def test_small_tiles_give_the_same_result(name: str, workspace: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, weights, attributes = CASES[name]
    monkeypatch.setattr(conv, "WORKSPACE_BYTES", workspace)
    arrays = [random(*shape), random(*weights), random(weights[0])]
    check_against_reference("Conv", arrays, rtol=1e-4, atol=1e-4, **attributes)


@given(
    size=st.tuples(st.integers(5, 12), st.integers(5, 12)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
)
def test_any_placement_of_windows_agrees_with_the_reference(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: tuple[int, ...],
) -> None:
    arrays = [random(2, 2, *size), random(3, 2, *kernel)]
    check_against_reference("Conv", arrays, rtol=1e-4, atol=1e-4, strides=strides, dilations=dilations, pads=pads)


def test_an_input_that_is_a_view_is_read_through_its_strides() -> None:
    x = random(2, 9, 8, 3).transpose(0, 3, 1, 2)
    weights = random(4, 3, 3, 3)
    (result,) = run_ours("Conv", [x, weights], pads=[1, 1, 1, 1])
    (expected,) = run_ours("Conv", [x.copy(), weights], pads=[1, 1, 1, 1])
    np.testing.assert_array_equal(result, expected)


def test_half_precision_is_left_to_the_reference() -> None:
    arrays = [random(1, 2, 5, 5, dtype=np.float16), random(3, 2, 3, 3, dtype=np.float16)]
    check_against_reference("Conv", arrays, covered=False)


@pytest.mark.parametrize(
    ("shape", "weights"),
    [((1, 64, 128, 128), (8, 64, 3, 3)), ((4, 16, 64, 64), (8, 16, 5, 5)), ((1, 8, 24, 48, 48), (4, 8, 3, 3, 3))],
)
def test_a_convolution_needs_its_result_and_the_declared_workspace(
    shape: tuple[int, ...], weights: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, feeds = one_node("Conv", [random(*shape), random(*weights)], pads=[1] * 2 * (len(shape) - 2))
    call = NumpySession(model).bind("run", feeds, {})
    monkeypatch.setattr(conv, "WORKSPACE", Workspace())
    tracemalloc.start()
    try:
        (result,) = call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * result.nbytes + WORKSPACE_BYTES


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [3, 2]},
        {"strides": [2, 2], "pads": [1, 0, 1, 2]},
        {"strides": [3, 2], "output_padding": [1, 1]},
        {"dilations": [2, 1], "pads": [1, 1, 1, 1]},
    ],
)
def test_a_transposed_convolution_agrees_with_the_reference(attributes: dict[str, Any]) -> None:
    arrays = [random(2, 3, 4, 5), random(3, 2, 3, 2), random(2)]
    check_against_reference("ConvTranspose", arrays, rtol=1e-4, atol=1e-4, **attributes)
    check_against_reference("ConvTranspose", arrays[:2], rtol=1e-4, atol=1e-4, **attributes)


def test_groups_of_a_transposed_convolution_are_independent() -> None:
    x, w = random(1, 4, 5, 5), random(4, 3, 3, 3)
    (result,) = run_ours("ConvTranspose", [x, w], group=2, strides=[2, 2])
    halves = [run_ours("ConvTranspose", [x[:, i : i + 2], w[i : i + 2]], strides=[2, 2])[0] for i in (0, 2)]
    np.testing.assert_allclose(result, np.concatenate(halves, axis=1), rtol=1e-5)


def test_a_transposed_convolution_towards_a_given_shape_agrees_with_the_reference() -> None:
    arrays = [random(1, 1, 3, 3), random(1, 2, 3, 3)]
    check_against_reference("ConvTranspose", arrays, rtol=1e-4, strides=[3, 2], output_shape=[10, 8])
