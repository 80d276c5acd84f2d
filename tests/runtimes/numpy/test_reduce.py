"""Reductions over axes given by attribute or input, against onnx's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference, whole

FLOAT_ONLY = ["ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"]
ANY_NUMBER = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"]
OPERATORS = FLOAT_ONLY + ANY_NUMBER
POSITIVE = np.abs(random(2, 3, 4)) + np.float32(0.1)


@given(
    operator=st.sampled_from(OPERATORS),
    axes=st.lists(st.integers(0, 2), unique=True, min_size=1),
    from_end=st.booleans(),
    keepdims=st.integers(0, 1),
    opset=st.sampled_from((11, 13, 18, 23)),
)
def test_any_axes_in_any_opset(operator: str, axes: list[int], from_end: bool, keepdims: int, opset: int) -> None:
    chosen = [axis - 3 for axis in axes] if from_end else axes
    if opset >= (13 if operator == "ReduceSum" else 18):
        same_as_reference(operator, [POSITIVE, np.array(chosen)], opset, keepdims=keepdims)
    else:
        same_as_reference(operator, [POSITIVE], opset, axes=chosen, keepdims=keepdims)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_without_axes_everything_is_reduced(operator: str, keepdims: int) -> None:
    same_as_reference(operator, [POSITIVE], keepdims=keepdims)


@pytest.mark.parametrize("operator", ANY_NUMBER)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32])
def test_whole_numbers_keep_their_type(operator: str, dtype: Any) -> None:
    model, feeds = one_node(operator, [random(3, 4, dtype=dtype), whole(1)])
    assert run(model, feeds)[0].dtype == dtype


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"])
def test_no_axes_may_mean_nothing_to_reduce(operator: str) -> None:
    same_as_reference(operator, [POSITIVE, np.zeros(0, np.int64)], noop_with_empty_axes=1)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_a_mean_keeps_its_precision(dtype: Any) -> None:
    same_as_reference("ReduceMean", [random(5, 6, dtype=dtype), whole(1)], rtol=1e-3 if dtype == np.float16 else 1e-12)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ReduceSum", 0),
        ("ReduceProd", 1),
        ("ReduceMax", -np.inf),
        ("ReduceMin", np.inf),
        ("ReduceLogSumExp", -np.inf),
    ],
)
def test_nothing_reduces_to_the_neutral_element(operator: str, expected: float) -> None:
    model, feeds = one_node(operator, [np.zeros((2, 0), np.float32), whole(1)])
    same(run(model, feeds)[0], np.full((2, 1), expected, np.float32))


def test_log_sum_exp_of_large_and_infinite_numbers_neither_overflows_nor_is_lost() -> None:
    x = np.array([[1000, 1000], [-np.inf, 0], [-np.inf, -np.inf], [np.inf, 0]], np.float32)
    model, feeds = one_node("ReduceLogSumExp", [x, whole(1)], keepdims=0)
    same(run(model, feeds)[0], np.array([1000 + np.log(2), 0, -np.inf, np.inf], np.float32))
