"""Functions of single elements, against onnx's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference

LATEST = 24
X = np.concatenate([random(20) * 3, np.array([0, -0.0, 1, -1, 30, -30], np.float32)])
ACTIVATIONS: dict[str, dict[str, Any]] = {
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
    "HardSwish": {},
    "Elu": {"alpha": 2.0},
    "Celu": {"alpha": 2.0},
    "Selu": {"alpha": 2.0, "gamma": 3.0},
    "Softplus": {},
    "Softsign": {},
    "ThresholdedRelu": {"alpha": 0.5},
    "Mish": {},
    "Swish": {"alpha": 1.5},
    "Gelu": {"approximate": "tanh"},
}
CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "a slope": ("PRelu", [random(2, 3), random(3, seed=1)], {}),
    "a slope of whole numbers": ("PRelu", [random(2, 3, dtype=np.int32), random(1, dtype=np.int32, seed=1)], {}),
    "remainder": ("Mod", [random(9, dtype=np.int32), np.int32(3)], {}),
    "remainder of the dividend's sign": ("Mod", [X, np.float32(1.5)], {"fmod": 1}),
    "shift left": ("BitShift", [np.array([1, 2, 3], np.uint8), np.array([1, 2, 7], np.uint8)], {"direction": "LEFT"}),
    "shift right": ("BitShift", [np.array([64, 9], np.uint32), np.array([3, 1], np.uint32)], {"direction": "RIGHT"}),
    "infinite": ("IsInf", [np.array([np.inf, -np.inf, 0, np.nan], np.float32)], {}),
    "infinite above": ("IsInf", [np.array([np.inf, -np.inf, 0, np.nan])], {"detect_negative": 0}),
    "infinite below": ("IsInf", [np.array([np.inf, -np.inf, 0, np.nan])], {"detect_positive": 0}),
    "mean of one": ("Mean", [X], {}),
    "mean of three": ("Mean", [X, X * 2, random(1)], {}),
    "power of whole numbers": ("Pow", [np.array([2, -3]), np.array([3, 2])], {}),
    "power of whole numbers by a float": ("Pow", [np.array([2, 3], np.int32), np.array([0.5, 2.5], np.float32)], {}),
    "clip by attributes": ("Clip", [X], {"opset": 6, "min": -1.0, "max": 0.5}),
    "clip by one attribute": ("Clip", [X], {"opset": 6, "max": 0.5}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_the_reference_computes(case: str) -> None:
    operator, inputs, options = CASES[case]
    same_as_reference(operator, inputs, **{"opset": LATEST, **options})


@pytest.mark.parametrize("operator", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("given_attributes", [True, False])
def test_activations_of_every_float(operator: str, dtype: Any, given_attributes: bool) -> None:
    # The reference of Softplus overflows in half precision, which must not decide.
    x = (X if dtype != np.float16 else np.clip(X, -8, 8)).astype(dtype)
    tolerance = 5e-3 if dtype == np.float16 else 1e-5
    attributes = ACTIVATIONS[operator] if given_attributes else {}
    same_as_reference(operator, [x], LATEST, rtol=tolerance, atol=tolerance / 10, **attributes)


@pytest.mark.parametrize("operator", ACTIVATIONS)
def test_a_single_number_is_a_tensor_without_axes(operator: str) -> None:
    model, feeds = one_node(operator, [np.float32(-0.7)], LATEST)
    as_vector, more = one_node(operator, [np.array([-0.7], np.float32)], LATEST)
    same(run(model, feeds)[0], run(as_vector, more)[0].reshape(()))


@pytest.mark.parametrize("operator", ["Softplus", "Mish", "Swish", "Elu", "Selu", "Celu"])
def test_large_numbers_do_not_overflow(operator: str) -> None:
    model, feeds = one_node(operator, [np.array([-1e4, 1e4], np.float32)], LATEST)
    with np.errstate(over="raise"):
        assert np.isfinite(run(model, feeds)[0]).all()


whole_numbers = st.integers(-(2**31) + 1, 2**31 - 1)


@given(x=st.lists(whole_numbers, min_size=1, max_size=5), y=whole_numbers.filter(bool))
def test_signed_whole_numbers_are_divided_towards_zero_exactly(x: list[int], y: int) -> None:
    model, feeds = one_node("Div", [np.array(x, np.int32), np.int32(y)])
    exact = [abs(value) // abs(y) * (1 if (value < 0) == (y < 0) else -1) for value in x]
    same(run(model, feeds)[0], np.array(exact, np.int32))


def test_division_of_large_whole_numbers_does_not_pass_through_floats() -> None:
    model, feeds = one_node("Div", [np.array([2**62 + 1, -(2**62) - 1]), np.int64(1)])
    same(run(model, feeds)[0], feeds["x0"])
