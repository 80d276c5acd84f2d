"""Texts: removes words, and changes case."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel

_CHANGES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@kernel("StringNormalizer", since=10)
def make_string_normalizer(node: Node) -> Kernel:
    """A vector, or a matrix of one row, without stop words; an empty text if nothing is left."""
    change, sensitive = _CHANGES[node.get("case_change_action", "NONE")], bool(node.get("is_case_sensitive", 0))
    key: Callable[[str], str] = str if sensitive else str.lower
    removed = {key(word) for word in node.get("stopwords") or ()}

    def normalise(x: Array) -> Array:
        if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
            raise ValueError(f"a tensor of shape {x.shape} is neither [C] nor [1, C]")
        kept = [change(text) for text in map(str, x.reshape(-1)) if key(text) not in removed]
        return np.array(kept or [""], dtype=object).reshape((-1,) if x.ndim == 1 else (1, -1))

    return Kernel(normalise, "fresh")
