"""Pooling of regions of images."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel


def _cells(first: float, last: float, count: int, size: int) -> list[slice]:
    """A range of pixels, split into cells that may overlap, within the image."""
    start, length = _rounded(first), max(_rounded(last) - _rounded(first) + 1, 1)
    edges = [(floor(i * length / count), ceil((i + 1) * length / count)) for i in range(count)]
    return [slice(min(max(a + start, 0), size), min(max(b + start, 0), size)) for a, b in edges]


def _rounded(x: float) -> int:
    """To the nearest integer, away from zero for ties."""
    return floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


@kernel("MaxRoiPool")
def make_max_roi_pool(node: Node) -> Kernel | None:
    """The largest element of each cell of a region; 0 for empty cells."""
    if node.kind() != "f":
        return None
    (height, width), scale = node.get("pooled_shape"), node.get("spatial_scale", 1.0)

    def pool(x: Array, regions: Array) -> Any:
        result = np.zeros((len(regions), x.shape[1], height, width), x.dtype)
        for i, (image, left, top, right, bottom) in enumerate(regions.tolist()):
            rows = _cells(top * scale, bottom * scale, height, x.shape[2])
            columns = _cells(left * scale, right * scale, width, x.shape[3])
            for r, row in enumerate(rows):
                for c, column in enumerate(columns):
                    cell = x[int(image), :, row, column]
                    if cell.size:
                        result[i, :, r, c] = cell.max((1, 2))
        return result

    return Kernel(pool, "fresh")
