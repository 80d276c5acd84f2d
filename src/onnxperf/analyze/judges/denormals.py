"""Denormal numbers: so close to zero that processors handle them slowly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_LEAST_PART = 0.001
"""Share of a tensor's elements below which denormals cost nothing measurable."""
_SLOW_TYPES = {"float32": np.finfo(np.float32).tiny, "float64": np.finfo(np.float64).tiny}
"""Types computed directly, with their smallest normal number; smaller types are widened first, so their denormals
become normal."""


def denormals_in(tensors: Mapping[str, object]) -> dict[str, float]:
    """Tensors with denormal numbers, and their share of the elements."""
    found = {name: _part(value) for name, value in tensors.items() if isinstance(value, np.ndarray)}
    return {name: part for name, part in found.items() if part >= _LEAST_PART}


def _part(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> float:
    if array.dtype.name not in _SLOW_TYPES or not array.size:
        return 0.0
    sizes = np.abs(array)
    return float(np.count_nonzero((sizes > 0) & (sizes < _SLOW_TYPES[array.dtype.name])) / array.size)
