"""What is done to a lowered graph before it becomes source: neighbours that one kernel can compute become one step."""

from __future__ import annotations

from onnxperf.runtimes.numpy.lower import Lowered
from onnxperf.runtimes.numpy.passes.base import join
from onnxperf.runtimes.numpy.passes.fold_affine import fold_affine
from onnxperf.runtimes.numpy.passes.fuse_activation import fuse_activation

_PASSES = (fold_affine, fuse_activation)
"""In this order: an activation is fused with the node whose result it changes, once that has absorbed all others."""


def fused(lowered: Lowered) -> Lowered:
    """The same graph in fewer steps; the given one stays as it is."""
    for each in _PASSES:
        lowered = join(lowered, each)
    return lowered
