"""Activation functions are computed in the tile that the node before them has just written."""

from __future__ import annotations

from onnxperf.runtimes.numpy.base import Kernel
from onnxperf.runtimes.numpy.lower import Step

_ACTIVATIONS = frozenset(("Relu", "Clip", "Sigmoid", "Tanh"))
"""One result per element, whatever its place; their kernels can write over what they read."""


def fuse_activation(first: Step, second: Step) -> Kernel | None:
    """An activation after a kernel that computes its result in parts.

    The part is in the cache then, and the function overwrites it there: a pass over the whole result, which is in
    memory by then, is saved. It is the function of the activation's own kernel, so that NaN stays NaN.
    """
    finished, activation = first.kernel.finished, second.kernel
    if finished is None or second.node.domain or second.node.op not in _ACTIVATIONS:
        return None
    in_place = activation.overwrites == (0,) and len(second.arguments) == 1
    return finished(activation.function) if in_place else None
