"""Products of matrices agree with onnx's reference, whatever of them is constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import parser

from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.one_node import check_against_reference


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("bound", [(), (1,), (1, 2), (2,)])
@pytest.mark.parametrize("third", [None, (), (1,), (5,), (1, 5), (3, 1), (3, 5)])
@pytest.mark.parametrize(
    "attributes",
    [{}, {"alpha": 0.3, "beta": 2.0}, {"alpha": -2.0, "transA": 1}, {"transB": 1, "beta": 0.0}, {"alpha": 0.0}],
)
def test_gemm_agrees_with_the_reference(
    dtype: Any, bound: tuple[int, ...], third: tuple[int, ...] | None, attributes: dict[str, Any]
) -> None:
    a, b = random(3, 4, dtype=dtype), random(4, 5, dtype=dtype)
    if attributes.get("transA"):
        a = np.ascontiguousarray(a.T)
    if attributes.get("transB"):
        b = np.ascontiguousarray(b.T)
    arrays = [a, b] if third is None else [a, b, np.asarray(random(*third, dtype=dtype), dtype)]
    given = tuple(index for index in bound if index < len(arrays))
    tolerance = 2e-2 if dtype == np.float16 else 1e-5
    check_against_reference("Gemm", arrays, rtol=tolerance, atol=tolerance, bound=given, **attributes)


def test_a_factor_that_weights_cannot_hold_is_applied_to_the_product() -> None:
    a, b = np.full((1, 2), 1e-20, np.float32), np.full((2, 2), 1e30, np.float32)
    check_against_reference("Gemm", [a, b], atol=0, bound=(1,), alpha=1e10)
    check_against_reference("Gemm", [a * 0, b], atol=0, bound=(1,), alpha=1e10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.uint64])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4, 5)), ((1, 4), (4, 1)), ((2, 3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((3, 0), (0, 2))],
)
def test_products_of_any_rank_agree_with_the_reference(
    left: tuple[int, ...], right: tuple[int, ...], dtype: Any
) -> None:
    tolerance = 2e-2 if dtype == np.float16 else 1e-5
    arrays = [(3 * random(*left)).astype(dtype), (3 * np.abs(random(*right))).astype(dtype)]
    if dtype == np.uint64:
        arrays = [np.abs(3 * random(*shape)).astype(dtype) for shape in (left, right)]
    check_against_reference("MatMul", arrays, rtol=tolerance, atol=tolerance)


# Shapes of a tensor and of a constant that is combined with it.
PAIRS = [((1, 3), (3,)), ((2, 3), (1,)), ((2, 3), ()), ((3,), (2, 3)), ((), (3,)), ((), (1,)), ((2, 1, 3), (2, 3))]


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Less", "Pow"])
@pytest.mark.parametrize(("shape", "constant"), PAIRS)
def test_constants_of_any_shape_are_broadcast(operator: str, shape: tuple[int, ...], constant: tuple[int, ...]) -> None:
    x, c = np.asarray(np.abs(random(*shape)), np.float32), np.asarray(np.abs(random(*constant)), np.float32)
    check_against_reference(operator, [x, c], bound=(1,))
    check_against_reference(operator, [c, x], bound=(0,))


@pytest.mark.parametrize(("constant", "shape"), [("float[3]", (1, 3)), ("float[1]", ()), ("float[1, 1]", ())])
def test_constants_have_as_many_axes_as_the_other_operand_or_none(constant: str, shape: tuple[int, ...]) -> None:
    count = 3 if constant == "float[3]" else 1
    values = ", ".join(["1.0"] * count)
    text = f"g (float[N, 3] X) => (float[N, 3] Y) <{constant} W = {{{values}}}> {{ Y = Add(X, W) }}"
    session = NumpySession(parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + text))
    (step,) = session.lowered.steps
    assert [value.constant.shape for value in step.arguments if value and value.constant is not None] == [shape]


@pytest.mark.parametrize("width", [0, 1, 64, 65])
@pytest.mark.parametrize("keep", [0, 1])
def test_sums_of_squares_of_rows_agree_with_the_reference(width: int, keep: int) -> None:
    x = random(7, width)
    check_against_reference("ReduceSumSquare", [x, np.array([1])], bound=(1,), keepdims=keep)
    check_against_reference("ReduceSumSquare", [x, np.array([-1])], bound=(1,), keepdims=keep)


def test_a_row_with_a_special_number_leaves_the_others_as_they_are() -> None:
    x = random(4, 5)
    x[1, 2], x[2, 0] = np.nan, np.inf
    check_against_reference("ReduceSumSquare", [x, np.array([1])], bound=(1,))
