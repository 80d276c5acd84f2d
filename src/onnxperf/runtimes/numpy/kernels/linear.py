"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel


@kernel("MatMul")
def make_matmul(node: Node) -> Kernel | None:
    """The product of two tensors, as numpy defines it."""
    if node.kind(0) not in {"f", "i", "u"} or node.kind(0) != node.kind(1):
        return None
    return Kernel(np.matmul, "fresh")


@kernel("Gemm", since=7)
def make_gemm(node: Node) -> Kernel | None:
    """alpha A B + beta C, with A and B transposed on demand; transposes and factors of constants are bound."""
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f":
        return None
    alpha, beta = dtype.type(node.get("alpha", 1.0)), dtype.type(node.get("beta", 1.0))
    left, right = bool(node.get("transA", 0)), bool(node.get("transB", 0))
    dot = np.matmul

    def gemm(a: Array, b: Array, c: Array | None = None) -> Any:
        y = dot(a.T if left else a, b.T if right else b)
        if alpha != 1:
            y *= alpha
        if c is not None:
            y += c if beta == 1 else c * beta
        return y

    return Kernel(gemm, "fresh")
