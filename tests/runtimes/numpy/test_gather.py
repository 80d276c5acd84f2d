"""Elements chosen, placed and ordered by index, against onnx's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference, whole

X = random(3, 4)
SQUARE = np.array([[0, 1], [-1, 1]])
CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "gather rows": ("Gather", [X, whole(2, -1, 0)], {}),
    "gather columns by a matrix": ("Gather", [X, SQUARE], {"axis": -1}),
    "gather one": ("Gather", [X, np.int64(-1)], {"axis": 1}),
    "gather one of a vector": ("Gather", [random(5), np.int64(2)], {}),
    "gather elements": ("GatherElements", [X, np.array([[1, 0, -1, 2], [0, 0, 0, 0], [1, 1, 1, 1]])], {}),
    "gather fewer elements": ("GatherElements", [random(2, 2), SQUARE], {"axis": 1}),
    "gather vectors of indices": ("GatherND", [X, SQUARE], {}),
    "gather slices": ("GatherND", [X, whole(2, 0).reshape(2, 1)], {}),
    "gather one position": ("GatherND", [X, whole(2, 0)], {}),
    "gather per batch": ("GatherND", [random(2, 3, 4), np.array([[1], [0]])], {"batch_dims": 1}),
    "scatter elements": ("ScatterElements", [X, SQUARE, random(2, 2, seed=1)], {"axis": 1}),
    "scatter and add": ("ScatterElements", [X, np.zeros((2, 2), np.int64), random(2, 2)], {"reduction": "add"}),
    "scatter the largest": ("ScatterElements", [X, np.zeros((2, 2), np.int64), random(2, 2)], {"reduction": "max"}),
    "scatter slices": ("ScatterND", [X, np.array([[0], [2]]), random(2, 4, seed=1)], {}),
    "scatter slices that meet": ("ScatterND", [X, np.array([[1], [1]]), random(2, 4)], {"reduction": "mul"}),
    "one hot": ("OneHot", [np.array([[1, 9], [-2, 4]]), np.int64(10), np.array([1, 3], np.float32)], {"axis": 1}),
    "one hot out of range": ("OneHot", [whole(0, 5, -7), np.int64(3), np.array([1, 3])], {}),
    "not zero": ("NonZero", [np.array([[1, 0], [0, 2]])], {}),
    "compress": ("Compress", [X, np.array([False, True, True])], {"axis": 0}),
    "compress all": ("Compress", [X, np.array([False, True, True])], {}),
    "largest": ("TopK", [X, whole(2)], {"outputs": 2}),
    "smallest": ("TopK", [X, whole(2)], {"outputs": 2, "largest": 0, "axis": 0}),
    "largest of equals": ("TopK", [np.array([[1, 1, 3, 3, 1, 3]], np.uint8), whole(5)], {"outputs": 2}),
    "arg max": ("ArgMax", [X], {"axis": 1}),
    "last arg max": ("ArgMax", [np.array([[2, 2, 1]])], {"axis": 1, "select_last_index": 1}),
    "arg min without axis": ("ArgMin", [X], {"axis": -1, "keepdims": 0}),
    "last arg min": ("ArgMin", [np.array([[2, 1, 1]])], {"axis": 1, "select_last_index": 1, "keepdims": 0}),
    "cumulative sum": ("CumSum", [random(3, 4, dtype=np.int32), np.int64(1)], {}),
    "cumulative sum of those before": ("CumSum", [X, np.int64(-2)], {"exclusive": 1}),
    "cumulative sum from the end": ("CumSum", [X, np.int64(0)], {"reverse": 1}),
    "cumulative sum of those after": ("CumSum", [X, np.int64(1)], {"exclusive": 1, "reverse": 1}),
    "reverse sequences": ("ReverseSequence", [X, whole(1, 2, 3, 1)], {}),
    "reverse rows": ("ReverseSequence", [X, whole(1, 2, 4)], {"batch_axis": 0, "time_axis": 1}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_the_reference_computes(case: str) -> None:
    operator, inputs, options = CASES[case]
    same_as_reference(operator, inputs, **options)


def test_scatter_keeps_the_type_of_the_data() -> None:
    same_as_reference("ScatterElements", [random(4, dtype=np.int32), whole(3, 0), random(2, dtype=np.int32, seed=1)])


def test_indices_may_be_shorter_than_the_data_on_other_axes() -> None:
    model, feeds = one_node("GatherElements", [X, np.array([[3, 0]])], axis=1)
    same(run(model, feeds)[0], X[:1, [3, 0]])


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    largest=st.integers(0, 1),
    data=st.data(),
)
def test_the_first_of_equal_elements_comes_first(shape: list[int], largest: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = data.draw(st.integers(1, shape[axis]))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 3, shape)
    same_as_reference("TopK", [x, whole(k)], outputs=2, axis=axis, largest=largest)
