"""Computes activation functions in the tile that the preceding node has just written."""

from __future__ import annotations

from onnxperf.runtimes.numpy.base import Kernel
from onnxperf.runtimes.numpy.lower import Step

_ACTIVATIONS = frozenset(("Relu", "Clip", "Sigmoid", "Tanh"))
"""Elementwise functions that are independent of position; their kernels can overwrite their input."""


def fuse_activation(first: Step, second: Step) -> Kernel | None:
    """An activation after a kernel that computes its result in parts.

    Each part is still in the cache, and the function overwrites it there; this saves a pass over the whole result in
    memory. The function is that of the activation's own kernel, so NaN stays NaN.
    """
    finished, activation = first.kernel.finished, second.kernel
    if finished is None or second.node.domain or second.node.op not in _ACTIVATIONS:
        return None
    in_place = activation.overwrites == (0,) and len(second.arguments) == 1
    return finished(activation.function) if in_place else None
