"""Gives constants of small operations the shape that numpy combines fastest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxperf.runtimes.numpy.base import Value, aligned
from onnxperf.runtimes.numpy.lower import Lowered, Step


def align_constants(lowered: Lowered) -> Lowered:
    """Reshape the constant of Add, Mul and similar operators to as many axes as the other operand has.

    Adding a bias of 32 numbers to one row of 32 takes 0.4 µs instead of 1.0, because nothing has to be broadcast; for
    models with few rows this is a large part of a call.
    """
    return replace(lowered, steps=[_aligned(step) for step in lowered.steps])


def _aligned(step: Step) -> Step:
    function = step.kernel.function
    if not isinstance(function, np.ufunc) or function.nin != 2 or function.signature or len(step.arguments) != 2:
        return step  # the matrix product is also a numpy ufunc, but not an elementwise one
    left, right = step.arguments
    return replace(step, arguments=(_beside(left, right), _beside(right, left)))


def _beside(value: Value | None, other: Value | None) -> Value | None:
    if value is None or other is None or other.rank is None or not isinstance(value.constant, np.ndarray):
        return value
    constant = aligned(value.constant, other.rank)
    return replace(value, shape=constant.shape, constant=constant)
