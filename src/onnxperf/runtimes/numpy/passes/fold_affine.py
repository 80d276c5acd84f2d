"""Moves constant scales and shifts of channels into the weights of the preceding node."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Affine, Channels, Kernel, Value
from onnxperf.runtimes.numpy.kernels.normalization import affine_of_statistics
from onnxperf.runtimes.numpy.lower import Step


def fold_affine(first: Step, second: Step) -> Kernel | None:
    """BatchNormalization, Mul or Add with constants, after a node that has weights per channel.

    (W x + c) a + b is (a W) x + (a c + b): the new weights are computed once, in double precision, which saves a pass
    over the result in every call. A kernel declines if the new weights would overflow or lose digits.
    """
    channels = first.kernel.channels
    if channels is None or second.node.domain or second.node.version < 7:
        return None
    affine = _affine(first.outputs[0], second, channels)
    return None if affine is None else channels.scaled(affine)


def _affine(result: Value | None, step: Step, channels: Channels) -> Affine | None:
    """Factor and shift of every channel, if the step does nothing else."""
    if step.node.op == "BatchNormalization":
        affine = affine_of_statistics(step.node)
        return affine if affine is not None and affine.factor.shape == (channels.size,) else None
    if step.node.op not in ("Mul", "Add") or len(step.node.inputs) != 2:
        return None
    (operand,) = [value for value in step.node.inputs if value is not result]
    vector = None if operand is None else _per_channel(operand.constant, channels)
    if vector is None:
        return None
    if step.node.op == "Mul":
        return Affine(vector, np.zeros(channels.size))
    return Affine(np.ones(channels.size), vector)


def _per_channel(constant: Any, channels: Channels) -> Any:
    """A constant as one number per channel; None if it has more, or if it would enlarge the result."""
    if not isinstance(constant, np.ndarray) or constant.ndim > channels.rank:
        return None
    sizes = (1,) * (channels.rank - constant.ndim) + constant.shape
    if sizes[1] not in (1, channels.size) or any(size != 1 for axis, size in enumerate(sizes) if axis != 1):
        return None
    return np.broadcast_to(constant.reshape(-1).astype(np.float64), channels.size)
