"""Folds the scaling and shifting of a result's channels into weights."""

from __future__ import annotations

import numpy as np

from onnxperf.runtimes.numpy.base import Affine, Array


def absorb(weights: Array, bias: Array | None, affine: Affine) -> tuple[Array, Array] | None:
    """Weights, channels first, and a bias such that results come out scaled and shifted.

    None if they cannot represent that: a value is not finite, so that 0 times it would no longer be 0, or a weight has
    become so small that it has lost digits.
    """
    dtype, per_channel = weights.dtype, (-1,) + (1,) * (weights.ndim - 1)
    with np.errstate(all="ignore"):
        factor = affine.factor.reshape(per_channel)
        scaled = (weights * factor).astype(dtype)
        shift = affine.shift if bias is None else bias * affine.factor + affine.shift
        shifted = shift.astype(dtype)
    exact = (np.abs(scaled) >= np.finfo(dtype).tiny) | (weights == 0) | (factor == 0)
    if not (exact.all() and np.isfinite(scaled).all() and np.isfinite(shifted).all()):
        return None
    return scaled, shifted
