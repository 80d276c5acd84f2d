"""Runs candidates through onnxruntime and compares their values with numpy's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from onnxperf.contraction.candidates import Candidate, candidates
from onnxperf.contraction.equation import Shape, parse

Array = npt.NDArray[Any]


def arrays_for(shapes: Sequence[Shape], dtype: str, seed: int = 0) -> list[Array]:
    """Small whole numbers: their sums are exact in every type, so that nothing hides in a tolerance."""
    random = np.random.default_rng(seed)
    return [random.integers(-2, 3, shape).astype(dtype) for shape in shapes]


def run(model: onnx.ModelProto, arrays: Sequence[Array]) -> Array:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {f"X{i}": array for i, array in enumerate(arrays)})[0])


def operators_after_optimisation(model: onnx.ModelProto, folder: Path) -> list[str]:
    """What onnxruntime really runs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]


def assert_equal_values(found: Iterable[Candidate], text: str, arrays: Sequence[Array]) -> None:
    exact = np.einsum(text, *(array.astype(np.float64) for array in arrays), optimize=len(arrays) > 2)
    for candidate in found:
        # the shapes that onnx infers for Einsum are wrong where a dimension of 1 broadcasts
        onnx.checker.check_model(candidate.model, full_check="Einsum" not in candidate.name)
        result = run(candidate.model, arrays)
        assert (result.shape, result.dtype) == (exact.shape, arrays[0].dtype), candidate.name
        np.testing.assert_array_equal(result, exact.astype(result.dtype), err_msg=f"{text}: {candidate.name}")


def check(text: str, shapes: Sequence[Shape], dtype: str = "float32", portable: bool = False, most: int = 8) -> None:
    """The first candidates, and a few from all over the list."""
    equation = parse(text, shapes)
    found = candidates(equation, dtype, portable=portable)
    chosen = found if len(found) <= most else [*found[: most // 2], *found[most // 2 :: len(found) // (most // 2)]]
    assert_equal_values(chosen, text, arrays_for(shapes, dtype))
