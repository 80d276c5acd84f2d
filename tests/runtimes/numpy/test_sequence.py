"""Sequences are lists that no operator changes; optional values are the value or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import parser

from onnxperf.errors import SubjectError
from onnxperf.runtimes.numpy.session import NumpySession

HEAD = '<ir_version: 8, opset_import: ["": 18]> '
A, B, C = (np.full((2, 2), number, np.float32) for number in (1, 2, 3))
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def run(text: str, **feeds: Any) -> list[Any]:
    session = NumpySession(parser.parse_model(HEAD + text))
    assert session.fallbacks == ()
    return list(session.bind("run", feeds, {})())


def numbers(sequence: list[Any]) -> list[float]:
    return [float(tensor.flat[0]) for tensor in sequence]


SEQUENCE = "g (float[2, 2] a, float[2, 2] b, float[2, 2] c, int64 i) => (seq(float[2, 2]) s, seq(float[2, 2]) r) "


@pytest.mark.parametrize(("position", "wanted"), [(0, [3, 1, 2]), (1, [1, 3, 2]), (2, [1, 2, 3]), (-1, [1, 3, 2])])
def test_inserting_makes_another_sequence(position: int, wanted: list[float]) -> None:
    text = SEQUENCE + "{ s = SequenceConstruct(a, b) r = SequenceInsert(s, c, i) }"
    before, after = run(text, a=A, b=B, c=C, i=np.array(position))
    assert (numbers(before), numbers(after)) == ([1, 2], wanted)


def test_without_a_position_a_tensor_goes_to_the_end_of_even_an_empty_sequence() -> None:
    text = SEQUENCE + "{ s = SequenceEmpty() r = SequenceInsert(s, c) }"
    before, after = run(text, a=A, b=B, c=C, i=np.array(0))
    assert (before, numbers(after)) == ([], [3])


@pytest.mark.parametrize(("arguments", "wanted"), [("s, i", [2]), ("s", [1])])
def test_erasing_makes_another_sequence(arguments: str, wanted: list[float]) -> None:
    text = SEQUENCE + f"{{ s = SequenceConstruct(a, b) r = SequenceErase({arguments}) }}"
    before, after = run(text, a=A, b=B, c=C, i=np.array(0))
    assert (numbers(before), numbers(after)) == ([1, 2], wanted)


@pytest.mark.parametrize(("position", "wanted"), [(0, 1), (1, 2), (-1, 2)])
def test_elements_and_length_are_read(position: int, wanted: float) -> None:
    text = """g (float[2, 2] a, float[2, 2] b, int64 i) => (float[2, 2] y, int64 n) {
        s = SequenceConstruct(a, b) y = SequenceAt(s, i) n = SequenceLength(s) }"""
    element, length = run(text, a=A, b=B, i=np.array(position))
    assert (element.flat[0], length) == (wanted, 2)
    assert (length.dtype, length.shape) == (np.int64, ())


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("new_axis", [0, 1])
def test_sequences_are_joined_or_stacked(axis: int, new_axis: int) -> None:
    text = f"""g (float[2, 2] a, float[2, 2] b) => (float[k, l, m] y) {{ s = SequenceConstruct(a, b)
        y = ConcatFromSequence<axis = {axis}, new_axis = {new_axis}>(s) }}"""
    (joined,) = run(text, a=A, b=B)
    np.testing.assert_array_equal(joined, (np.stack if new_axis else np.concatenate)([A, B], axis))


@pytest.mark.parametrize(
    ("arguments", "attributes", "shapes"),
    [
        ("x", "axis = 0", [(1, 4)] * 3),
        ("x", "axis = 1, keepdims = 0", [(3,)] * 4),
        ("x", "axis = -1", [(3, 1)] * 4),
        ("x, n", "axis = 1", [(3, 3), (3, 1)]),
        ("x, v", "axis = 1", [(3, 1), (3, 3)]),
        ("x, v", "axis = -1, keepdims = 0", [(3, 1), (3, 3)]),
    ],
)
def test_tensors_are_split_into_sequences(arguments: str, attributes: str, shapes: list[tuple[int, ...]]) -> None:
    text = f"""g (float[3, 4] x, int64 n, int64[2] v) => (seq(float[a, b]) s) {{
        s = SplitToSequence<{attributes}>({arguments}) }}"""
    (parts,) = run(text, x=ROWS, n=np.array(3), v=np.array([1, 3]))
    assert [part.shape for part in parts] == shapes
    axis = 0 if "axis = 0" in attributes else 1
    wholes = [part if part.ndim == 2 else np.expand_dims(part, axis) for part in parts]
    np.testing.assert_array_equal(np.concatenate(wholes, axis), ROWS)


def test_an_optional_value_is_the_value() -> None:
    text = """g (float[2, 2] a) => (float[2, 2] y, bool h) {
        o = Optional(a) y = OptionalGetElement(o) h = OptionalHasElement(o) }"""
    value, has = run(text, a=A)
    np.testing.assert_array_equal(value, A)
    assert has
    assert (has.dtype, has.shape) == (np.bool_, ())


def test_a_missing_value_cannot_be_read() -> None:
    feeds: dict[str, Any] = {"a": None}
    session = NumpySession(
        parser.parse_model(HEAD + "g (float[2, 2] a) => (float[2, 2] y) { y = OptionalGetElement(a) }")
    )
    with pytest.raises(SubjectError, match="is empty"):
        session.bind("run", feeds, {})()
