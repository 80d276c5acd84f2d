"""Quantised tensors give exactly what onnx's reference gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtimes.numpy.one_node import Array, check_against_reference, run_ours

EXACT = {"rtol": 0, "atol": 0}
SMALL = [np.int8, np.uint8, np.int16, np.uint16]


def floats(*shape: int) -> Array:
    return (100 * np.random.default_rng(3).standard_normal(shape)).astype(np.float32)


def wholes(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(4).integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("bound", [(), (1, 2)], ids=["scale given", "scale bound"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_quantising_and_back_agree_with_the_reference(dtype: Any, bound: tuple[int, ...], axis: int | None) -> None:
    shape = (3, 4, 5)
    sizes = () if axis is None else (shape[axis],)
    scale = np.abs(floats(*sizes) + np.float32(1)).astype(np.float32)
    zero = np.array(wholes(dtype, *sizes) // 3, dtype)
    attributes = {} if axis is None else {"axis": axis}
    check_against_reference("QuantizeLinear", [floats(*shape), scale, zero], bound=bound, **EXACT, **attributes)
    check_against_reference(
        "DequantizeLinear", [wholes(dtype, *shape), scale, zero], bound=bound, **EXACT, **attributes
    )
    check_against_reference("DequantizeLinear", [wholes(dtype, *shape), scale], **EXACT, **attributes)


def test_a_zero_point_may_be_left_out() -> None:
    check_against_reference("QuantizeLinear", [floats(3, 4), np.array(2, np.float32)], **EXACT)
    check_against_reference("DequantizeLinear", [wholes(np.int32, 3, 4), np.array(2, np.float32)], **EXACT)


def test_ties_are_rounded_to_even_and_extremes_saturate() -> None:
    x = np.array([-0.5, 0.5, 1.5, 2.5, 1e9, -1e9, np.inf, -np.inf], np.float32)
    (result,) = run_ours("QuantizeLinear", [x, np.array(1, np.float32), np.array(0, np.int8)])
    assert result.tolist() == [0, 0, 2, 2, 127, -128, 127, -128]


@pytest.mark.parametrize("shape", [(), (1,), (4, 5)])
def test_numbers_are_quantised_at_any_rank(shape: tuple[int, ...]) -> None:
    check_against_reference("QuantizeLinear", [np.array(floats(*shape)), np.array([2], np.float32)], axis=0, **EXACT)
    check_against_reference("QuantizeLinear", [np.array(floats(*shape)), np.array(2, np.float32)], **EXACT)


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_blocks_are_left_to_the_reference(operator: str) -> None:
    x = floats(4, 6) if operator == "QuantizeLinear" else wholes(np.uint8, 4, 6)
    scale, zero = np.abs(floats(4, 3)) + np.float32(1), wholes(np.uint8, 4, 3)
    check_against_reference(operator, [x, scale, zero], axis=1, block_size=2, covered=False, **EXACT)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_dynamic_quantisation_agrees_with_the_reference(values: list[float]) -> None:
    x = np.array(values, np.float32)
    x[np.abs(x) < 1e-30] = 0  # the scale of such values is not a normal number
    check_against_reference("DynamicQuantizeLinear", [x], outputs=3, **EXACT)


@pytest.mark.parametrize("terms", [1, 7, 258, 259, 1000])
@pytest.mark.parametrize(("left", "right"), [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)])
@pytest.mark.parametrize("bound", [(), (1, 3)], ids=["given", "bound"])
def test_products_of_bytes_are_exact(terms: int, left: Any, right: Any, bound: tuple[int, ...]) -> None:
    a, b = wholes(left, 3, terms), wholes(right, terms, 4)
    zeros = [np.array(3, left), wholes(right, 4)]
    check_against_reference("MatMulInteger", [a, b, *zeros], bound=bound, **EXACT)
    check_against_reference("MatMulInteger", [np.stack([a, a]), b], bound=bound[:1], **EXACT)


def test_the_largest_products_of_bytes_are_exact() -> None:
    a, b = np.full((2, 1000), 255, np.uint8), np.full((1000, 2), 255, np.uint8)
    (result,) = run_ours("MatMulInteger", [a, b])
    assert (result == 1000 * 255 * 255).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("bound", [(), (1, 2, 3, 4, 5, 6, 7)], ids=["given", "bound"])
def test_quantised_products_agree_with_the_reference(dtype: Any, bound: tuple[int, ...]) -> None:
    def scale(value: float) -> Array:
        return np.array(value, np.float32)

    zero = np.array(5, dtype)
    a, b = wholes(dtype, 3, 300), wholes(dtype, 300, 4)
    arrays = [a, scale(0.02), zero, b, scale(0.01), zero, scale(1.5), zero]
    check_against_reference("QLinearMatMul", arrays, bound=bound, **EXACT)
