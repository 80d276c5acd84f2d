"""Support vector machines of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.ml_linear import ML, Function


def _svm_kernel(node: Node, supports: Array, dtype: Any) -> Function | None:
    """The kernel function between rows and support vectors, as a matrix."""
    gamma, coefficient, degree = (dtype(value) for value in node.get("kernel_params") or (0, 0, 0))
    transposed, squares = np.ascontiguousarray(supports.T), np.square(supports).sum(axis=1)

    def rbf(x: Array) -> Any:
        distances = np.square(x).sum(axis=1, keepdims=True) - 2 * x.dot(transposed) + squares
        return np.exp(-gamma * np.maximum(distances, 0))

    kernels: dict[str, Function] = {
        "LINEAR": lambda x: x.dot(transposed),
        "POLY": lambda x: (x.dot(transposed) * gamma + coefficient) ** int(degree),
        "SIGMOID": lambda x: np.tanh(x.dot(transposed) * gamma + coefficient),
        "RBF": rbf,
    }
    return kernels.get(node.get("kernel_type", "LINEAR"))


@kernel("SVMRegressor", domain=ML)
def make_svm_regressor(node: Node) -> Kernel | None:
    """The weighted sum of kernels between rows and support vectors."""
    dtype, count = node.dtype(), node.get("n_supports", 0)
    if dtype != np.float32 or node.get("post_transform", "NONE") != "NONE" or not node.get("rho"):
        return None
    coefficients = np.array(node.get("coefficients"), dtype)
    supports = np.array(node.get("support_vectors", []), dtype).reshape(count, -1) if count else coefficients[None]
    similarity = _svm_kernel(node, supports, np.float32) if count else lambda x: x.dot(supports.T)
    if similarity is None:
        return None
    weights = coefficients.reshape(-1, 1) if count else np.ones((1, 1), np.float32)
    rho, one_class = np.float32(node.get("rho")[0]), node.get("one_class", 0)

    def regress(x: Array) -> Array:
        y = similarity(x).dot(weights)
        y += rho
        return np.where(y > 0, np.float32(1), np.float32(-1)) if one_class else y

    return Kernel(regress, "fresh")
