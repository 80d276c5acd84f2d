"""Pooling agrees with its definition, window by window."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.kernels import pool
from tests.runtimes.numpy.one_node import Array, check_against_reference, run_ours


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return (10 * np.random.default_rng(len(shape)).standard_normal(shape)).astype(dtype)


def by_definition(
    x: Array,
    reduce: Callable[[Array], Any],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    **options: Any,
) -> Array:
    """Reduce what each window sees of the input, or of the input and its declared padding."""
    rank, ceil, padding = len(kernel), options.get("ceil_mode", 0), options.get("count_include_pad", 0)
    dilations = options.get("dilations") or [1] * rank
    starts = []
    for i, size in enumerate(x.shape[2:]):
        room = size + pads[i] + pads[i + rank] - ((kernel[i] - 1) * dilations[i] + 1)
        count = (-(-room // strides[i]) if ceil else room // strides[i]) + 1
        first = range(-pads[i], count * strides[i] - pads[i], strides[i])
        starts.append([start for start in first if not ceil or start < size])
    result = np.empty((*x.shape[:2], *map(len, starts)))
    for n, c in itertools.product(*map(range, x.shape[:2])):
        for corner in itertools.product(*map(enumerate, starts)):
            seen = []
            for offset in itertools.product(*map(range, kernel)):
                at = [s + o * d for (_, s), o, d in zip(corner, offset, dilations, strict=True)]
                inside = all(0 <= a < size for a, size in zip(at, x.shape[2:], strict=True))
                declared = all(a < x.shape[2 + i] + pads[i + rank] for i, a in enumerate(at))
                if inside or (padding and declared):
                    seen.append(float(x[(n, c, *at)]) if inside else 0.0)
            result[(n, c, *(i for i, _ in corner))] = reduce(np.array(seen))
    return result.astype(x.dtype)


@given(
    size=st.tuples(st.integers(4, 9), st.integers(4, 9)),
    kernel=st.tuples(st.integers(1, 3), st.integers(2, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 1)] * 4),
    ceil=st.booleans(),
    include=st.booleans(),
)
def test_any_placement_of_windows_agrees_with_the_definition(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, ...],
    ceil: bool,
    include: bool,
) -> None:
    pads = tuple(min(p, k - 1) for p, k in zip(pads, kernel * 2, strict=True))
    x = random(1, 2, *size)
    attributes: dict[str, Any] = {"strides": strides, "pads": pads, "ceil_mode": int(ceil)}
    (largest,) = run_ours("MaxPool", [x], kernel_shape=kernel, **attributes)
    np.testing.assert_array_equal(largest, by_definition(x, np.max, kernel, **attributes))
    attributes["count_include_pad"] = int(include)
    (mean,) = run_ours("AveragePool", [x], kernel_shape=kernel, **attributes)
    np.testing.assert_allclose(mean, by_definition(x, np.mean, kernel, **attributes), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((2, 3, 12), {"kernel_shape": [3], "strides": [2]}),
        ((2, 3, 12), {"kernel_shape": [3], "strides": [2], "dilations": [2]}),
        ((2, 3, 8, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ((1, 2, 9, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 9, 9), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "VALID"}),
        ((1, 2, 6, 6, 6), {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [0, 1, 0, 0, 1, 0]}),
        ((1, 2, 7, 7), {"kernel_shape": [7, 7], "strides": [2, 2]}),
        ((1, 2, 7, 7), {"kernel_shape": [1, 1]}),
    ],
)
def test_pooling_agrees_with_the_reference(operator: str, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    check_against_reference(operator, [random(*shape)], rtol=1e-5, atol=1e-5, **attributes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float16, np.float64])
def test_the_maximum_of_other_types_never_sees_padding(dtype: Any) -> None:
    x = np.abs(random(1, 2, 5, 5)).astype(dtype) if dtype == np.uint8 else -np.abs(random(1, 2, 5, 5)).astype(dtype)
    (result,) = run_ours("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    expected = by_definition(x, np.max, [3, 3], [2, 2], [1, 1, 1, 1])
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == dtype


def test_chunks_of_channels_give_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x = random(2, 5, 8, 8)
    (whole,) = run_ours("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2])
    monkeypatch.setattr(pool, "CHUNK_BYTES", 2 * 8 * 8 * 4)
    (parts,) = run_ours("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2])
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize(("operator", "reduce"), [("GlobalAveragePool", np.mean), ("GlobalMaxPool", np.max)])
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 5, 4), (1, 2, 3, 4, 5)])
def test_global_pooling_leaves_one_element_per_channel(
    operator: str, reduce: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    x = random(*shape)
    (result,) = run_ours(operator, [x])
    np.testing.assert_allclose(result, reduce(x, axis=tuple(range(2, x.ndim)), keepdims=True), rtol=1e-5)


def test_indices_of_maxima_agree_with_the_reference_where_it_is_right() -> None:
    check_against_reference("MaxPool", [random(1, 1, 6, 6)], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
