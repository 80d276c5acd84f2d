"""Shapes and layout, against onnx's reference implementation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference, whole

X = random(2, 3, 4)
IMAGE = random(1, 8, 4, 6)
CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "a size of 0 copies": ("Reshape", [X, whole(0, -1)], {}),
    "a size of 0 stays 0 on demand": ("Reshape", [random(0, 3), whole(3, 0)], {"allowzero": 1}),
    "before opset 14": ("Reshape", [X, whole(6, -1)], {"opset": 13}),
    "flatten": ("Flatten", [X], {}),
    "flatten at 0": ("Flatten", [X], {"axis": 0}),
    "flatten from the end": ("Flatten", [X], {"axis": -1}),
    "transpose": ("Transpose", [X], {}),
    "permute": ("Transpose", [X], {"perm": [1, 0, 2]}),
    "squeeze": ("Squeeze", [random(1, 3, 1), whole(0, -1)], {}),
    "squeeze all": ("Squeeze", [random(1, 3, 1)], {}),
    "squeeze by attribute": ("Squeeze", [random(1, 3, 1)], {"opset": 11, "axes": [2]}),
    "unsqueeze": ("Unsqueeze", [X, whole(0, 2)], {}),
    "unsqueeze from the end": ("Unsqueeze", [X, whole(-1, 0)], {}),
    "unsqueeze by attribute": ("Unsqueeze", [X], {"opset": 11, "axes": [1, 3]}),
    "concat": ("Concat", [X, X, X], {"axis": -1}),
    "split in equal parts": ("Split", [X], {"axis": 2, "outputs": 2, "num_outputs": 2}),
    "split unevenly": ("Split", [random(7)], {"outputs": 3, "num_outputs": 3}),
    "split by sizes": ("Split", [X, whole(1, 3)], {"axis": -1, "outputs": 2}),
    "split by attribute": ("Split", [X], {"opset": 11, "axis": 1, "split": [1, 2], "outputs": 2}),
    "split in one": ("Split", [X, whole(3)], {"axis": 1}),
    "slice": ("Slice", [X, whole(1, 0), whole(1000, -1), whole(-1, 0)], {}),
    "slice backwards": ("Slice", [X, whole(10), whole(-1000), whole(2), whole(-2)], {}),
    "slice first axes": ("Slice", [X, whole(0, 1), whole(1, 3)], {}),
    "shape": ("Shape", [X], {}),
    "part of a shape": ("Shape", [X], {"start": -2, "end": 2}),
    "size": ("Size", [X], {}),
    "expand": ("Expand", [random(3, 1), whole(2, 1, 6)], {}),
    "expand to a smaller rank": ("Expand", [X, whole(4)], {}),
    "expand without ones": ("Expand", [random(3, 1), whole(2, 3, 6)], {}),
    "tile once": ("Tile", [X, whole(1, 1, 1)], {}),
    "tile nothing": ("Tile", [random(0, 2), whole(2, 3)], {}),
    "tile": ("Tile", [X, whole(2, 1, 3)], {}),
    "pad": ("Pad", [X, whole(0, 1, 0, 2, 0, 3), np.float32(1.5)], {}),
    "pad some axes": ("Pad", [X, whole(1, 2), None, whole(-1)], {}),
    "pad by reflection": ("Pad", [X, whole(0, 1, 1, 0, 1, 1)], {"mode": "reflect"}),
    "pad with the edge": ("Pad", [X, whole(0, 1, 1, 0, 5, 1)], {"mode": "edge"}),
    "pad by attribute": ("Pad", [X], {"opset": 10, "pads": [0, 1, 0, 0, 0, 1], "value": 2.0}),
    "cast to int": ("Cast", [X], {"to": onnx.TensorProto.INT32}),
    "cast to the same": ("Cast", [X], {"to": onnx.TensorProto.FLOAT}),
    "cast to bool": ("Cast", [random(4, dtype=np.int64)], {"to": onnx.TensorProto.BOOL}),
    "cast like": ("CastLike", [X, np.zeros(1)], {}),
    "a constant of no axes": ("ConstantOfShape", [np.zeros(0, np.int64)], {}),
    "a range": ("Range", [np.float32(1), np.float32(2), np.float32(0.3)], {}),
    "a range of whole numbers": ("Range", [np.int64(10), np.int64(-3), np.int64(-4)], {}),
    "dropout": ("Dropout", [X], {"outputs": 2}),
    "dropout before opset 12": ("Dropout", [X], {"opset": 10}),
    "depth to space": ("DepthToSpace", [IMAGE], {"blocksize": 2}),
    "depth to space by columns": ("DepthToSpace", [IMAGE], {"blocksize": 2, "mode": "CRD"}),
    "space to depth": ("SpaceToDepth", [IMAGE], {"blocksize": 2}),
    "eye": ("EyeLike", [random(3, 4)], {"k": 1}),
    "eye of a type": ("EyeLike", [random(3, 4)], {"dtype": onnx.TensorProto.INT64}),
    "upper triangle": ("Trilu", [X, np.int64(1)], {}),
    "lower triangle": ("Trilu", [X], {"upper": 0}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_the_reference_computes(case: str) -> None:
    operator, inputs, options = CASES[case]
    same_as_reference(operator, inputs, **options)


def test_a_constant_of_a_shape_has_the_given_value_and_type() -> None:
    value = onnx.numpy_helper.from_array(np.array([7], np.int8))
    same_as_reference("ConstantOfShape", [whole(2, 3)], value=value)


@pytest.mark.parametrize("name", ["value_float", "value_int", "value_floats", "value_ints"])
def test_constants_of_every_kind_are_folded(name: str) -> None:
    value = 3 if "int" in name else 2.5
    attributes: dict[str, Any] = {name: [value] if name.endswith("s") else value}
    same_as_reference("Constant", [], **attributes)


LEFT_TO_THE_FALLBACK: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "dropout that trains": ("Dropout", [X, np.float32(0.5), np.array(True)], {}),
    "a cast to strings": ("Cast", [X], {"to": onnx.TensorProto.STRING}),
    "a cast to 8 bits that bears the kind of floats": ("Cast", [X], {"to": onnx.TensorProto.FLOAT8E5M2}),
}


@pytest.mark.parametrize("case", LEFT_TO_THE_FALLBACK)
def test_rare_cases_are_left_to_the_fallback(case: str) -> None:
    operator, inputs, attributes = LEFT_TO_THE_FALLBACK[case]
    model, _ = one_node(operator, inputs, bound=True, **attributes)
    assert NumpySession(model).fallbacks == (operator,)


def test_flattening_nothing_keeps_its_columns() -> None:
    model, feeds = one_node("Flatten", [random(0, 3, 2)])
    assert run(model, feeds)[0].shape == (0, 6)


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    data=st.data(),
)
def test_any_slice_is_as_defined(shape: list[int], data: st.DataObject) -> None:
    bound = st.integers(-8, 8)
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    axes = [axis - len(shape) if data.draw(st.booleans()) else axis for axis in axes]
    starts, ends = ([data.draw(bound) for _ in axes] for _ in range(2))
    steps = [data.draw(st.sampled_from((-3, -1, 1, 2))) for _ in axes]
    x = random(*shape)
    expected = x
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        expected = expected.take(sliced(start, end, step, shape[axis]), axis)
    for free, static in itertools.product((False, True), (False, True)):
        model, feeds = one_node(
            "Slice", [x, *map(np.array, (starts, ends, axes, steps))], bound=not free, static=static
        )
        same(run(model, feeds)[0], expected)


def sliced(start: int, end: int, step: int, size: int) -> list[int]:
    """ONNX's text: negative bounds count from the end; then both are clamped, differently for either direction."""
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        return list(range(min(max(start, 0), size), min(max(end, 0), size), step))
    return list(range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step))


def test_a_split_whose_last_part_is_not_used_returns_only_the_others() -> None:
    model, feeds = one_node("Split", [random(6), whole(1, 2, 3)], outputs=3, bound=True)
    model.graph.node[0].output[2] = ""
    del model.graph.output[2]
    first, second = run(model, feeds)
    same(first, feeds["x0"][:1])
    same(second, feeds["x0"][1:3])
