"""Single operators, with random attributes and shapes, compute what onnxruntime computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.operator_cases import OPERATORS, Case, cases
from benchmarks.operator_cases.base import Array
from benchmarks.operator_cases.compare import compare
from benchmarks.operator_cases.known import KNOWN, known_difference

FEW = max(5, settings().max_examples // 12)
"""A profile asks for examples of a test, and this one has as many parts as there are operators."""


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_computes_what_onnxruntime_computes_or_the_difference_is_listed(name: str) -> None:
    @settings(max_examples=FEW, suppress_health_check=list(HealthCheck))
    @given(cases(name))
    def check(case: Case) -> None:
        outcome = compare(case)
        if outcome.kind in ("differs", "refused by numpy"):
            assert known_difference(case) is not None, f"{case}: {outcome.kind}: {outcome.detail}"

    check()


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def whole(*values: int) -> Array:
    return np.array(values, np.int64)


_TRANSPOSED = [floats(1, 4, 3, 3), floats(4, 2, 3, 3), floats(4)]
_RECURRENT = [floats(3, 2, 4), floats(1, 5, 4), floats(1, 5, 5)]
_HALF: list[Array] = [np.array([60000, -60000, 3], np.float16), np.array(0.001, np.float16), np.array(3, np.uint8)]

FOUND_WRONG = {
    "ConvTranspose in groups with a bias": Case("ConvTranspose", _TRANSPOSED, {"group": 2}),
    "ConvTranspose in groups with free sizes": Case("ConvTranspose", _TRANSPOSED, {"group": 2}, static=False),
    "ConvTranspose in groups with auto_pad": Case("ConvTranspose", _TRANSPOSED, {"group": 2, "auto_pad": "SAME_UPPER"}),
    "ConvTranspose in groups with output_shape": Case(
        "ConvTranspose", _TRANSPOSED, {"group": 2, "output_shape": [7, 8], "strides": [2, 2]}
    ),
    "MaxPool of three axes with indices": Case(
        "MaxPool", [floats(1, 1, 4, 5, 6)], {"kernel_shape": [2, 3, 2], "auto_pad": "SAME_UPPER"}, outputs=2
    ),
    "MaxPool of two channels with indices": Case(
        "MaxPool", [floats(2, 2, 4, 4)], {"kernel_shape": [2, 2], "strides": [2, 2]}, outputs=2
    ),
    "LpPool with sizes rounded up": Case(
        "LpPool", [floats(1, 2, 7)], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}, opset=18
    ),
    "QuantizeLinear of half precision": Case("QuantizeLinear", _HALF),
    "Unique in the order of occurrence": Case("Unique", [whole(3, 1, 3, 2, 1)], {"sorted": 0}, outputs=4),
    "Slice that starts before the first element": Case(
        "Slice", [floats(3), whole(-10), whole(-10), whole(0), whole(-1)]
    ),
    "Slice that starts there, bound": Case(
        "Slice", [floats(3), whole(-10), whole(-10), whole(0), whole(-1)], bound=True
    ),
    "Pad with negative pads": Case("Pad", [floats(3, 4), whole(-1, 1, 2, -2)]),
    "Pad of edges with negative pads": Case("Pad", [floats(3, 4), whole(-1, 1, 2, -2)], {"mode": "edge"}, bound=True),
    "RNN with Relu": Case("RNN", _RECURRENT, {"hidden_size": 5, "activations": ["Relu"]}, outputs=2, opset=14),
    "Softmax over an empty axis": Case("Softmax", [floats(2, 0)]),
    "LogSoftmax over an empty axis": Case("LogSoftmax", [floats(2, 0)], opset=11),
    "MatMul with a constant vector": Case("MatMul", [floats(2, 3), floats(3)], bound=True),
    "MatMul with a constant of one element": Case("MatMul", [floats(2, 1), floats(1, 1)], bound=True),
    "Einsum with a constant of one element": Case(
        "Einsum", [floats(2, 1), floats(1, 1)], {"equation": "ij,jk->ik"}, bound=True
    ),
    "ReduceLogSum of whole numbers": Case("ReduceLogSum", [whole(20, 30)], opset=13),
    "ReduceSumSquare over no axis": Case(
        "ReduceSumSquare", [np.array([3, -2], np.int32)], {"noop_with_empty_axes": 1}, opset=18
    ),
    "Resize by a scale whose product is rounded": Case(
        "Resize", [floats(1, 1, 5, 5), None, np.array([1, 1, 2.6, 1], np.float32)], opset=18
    ),
    "Resize to one pixel": Case(
        "Resize",
        [floats(1, 1, 4, 4), None, np.array([1, 1, 0.3, 0.3], np.float32)],
        {"coordinate_transformation_mode": "pytorch_half_pixel"},
        opset=18,
    ),
    "Unique of rows of texts": Case(
        "Unique", [np.array([["b", "a"], ["a", "b"], ["b", "a"]], object)], {"axis": 0}, outputs=4
    ),
    "StringNormalizer of an empty text": Case("StringNormalizer", [np.array(["a", "", "b"], object)], opset=10),
    "MaxRoiPool": Case(
        "MaxRoiPool", [floats(1, 2, 5, 5), np.array([[0, 1, 0, 3, 4]], np.float32)], {"pooled_shape": [2, 3]}
    ),
    "DequantizeLinear of a vector with one scale": Case(
        "DequantizeLinear", [np.array([1, 2, 3], np.int32), np.array([0.5], np.float32), np.zeros(1, np.int32)]
    ),
}


@pytest.mark.parametrize("name", FOUND_WRONG)
def test_what_was_wrong_once_is_the_same(name: str) -> None:
    outcome = compare(FOUND_WRONG[name])
    assert outcome.kind == "same", outcome.detail


def _normalised(scale: int, bias: int = 3, channels: int = 3) -> Case:
    vectors = [np.ones(n, np.float32) for n in (scale, bias, 3, 3)]
    return Case("BatchNormalization", [floats(2, channels, 4), *vectors], opset=15)


REFUSED = {
    "one scale for three channels": _normalised(1),
    "four scales for three channels": _normalised(4),
    "one bias for three channels": _normalised(3, 1),
    "three scales for one channel": _normalised(3, 3, 1),
    "a bias of a convolution that is too short": Case("Conv", [floats(1, 2, 3), floats(2, 2, 1), floats(1)]),
    "a scale of a group that is too short": Case(
        "GroupNormalization", [floats(1, 4, 3), floats(1), floats(4)], {"num_groups": 2}
    ),
}


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str, static: bool, bound: bool) -> None:
    # onnxruntime does not look at all of them
    assert compare(replace(REFUSED[name], static=static, bound=bound)).kind in ("refused by both", "refused by numpy")


def test_most_operators_that_both_runtimes_have_are_compared() -> None:
    assert len(OPERATORS) > 140


def test_every_difference_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "numpy.md").read_text(encoding="utf-8")
    rows = [f"| {known.why.rstrip('.')} | {known.right} |" for known in KNOWN]
    assert [row for row in rows if row not in page] == []


def test_every_difference_names_operators_that_are_compared() -> None:
    named = {name for known in KNOWN for name in known.operators.split()}
    assert sorted(named - OPERATORS.keys()) == []


@settings(max_examples=FEW)
@given(st.data())
def test_a_case_shows_all_that_is_needed_to_understand_it(data: st.DataObject) -> None:
    case = data.draw(cases("ConvTranspose"))
    assert repr(case).startswith("ConvTranspose(float32[")
