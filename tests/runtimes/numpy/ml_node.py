"""One node of ai.onnx.ml in our runtime, in onnx's reference and in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnxperf.runtimes.numpy.session import NumpySession


def ml_model(operator: str, x: Any, outputs: Sequence[int] = (1,), version: int = 3, **attributes: Any) -> Any:
    """A model of one node; outputs are types of onnx."""
    names = [f"y{i}" for i in range(len(outputs))]
    kind = onnx.TensorProto.STRING if x.dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], names, domain="ai.onnx.ml", **attributes)],
        "ml",
        [helper.make_tensor_value_info("x", kind, [None, *x.shape[1:]])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(names, outputs, strict=True)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def ours(model: Any, x: Any) -> list[Any]:
    """Outputs of ours; nothing may fall back, the input must stay, and results must not share its memory."""
    session = NumpySession(model)
    assert session.fallbacks == ()
    before = x.copy()
    results = list(session.bind("run", {"x": x}, {})())
    np.testing.assert_array_equal(x, before)
    assert not any(np.shares_memory(x, result) for result in results if isinstance(result, np.ndarray))
    return results


def reference(model: Any, x: Any) -> list[Any]:
    return list(ReferenceEvaluator(model).run(None, {"x": x}))


def ort(model: Any, x: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {"x": x}))


def same(got: list[Any], wanted: list[Any], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """The same shapes, numbers within the tolerance, the same strings and dicts."""
    for mine, theirs in zip(got, wanted, strict=True):
        if isinstance(theirs, list):
            assert [list(row) for row in mine] == [list(row) for row in theirs]
            np.testing.assert_allclose([list(r.values()) for r in mine], [list(r.values()) for r in theirs], rtol, atol)
        elif theirs.dtype.kind in "OUS":
            assert mine.tolist() == theirs.tolist()
        else:
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(mine, theirs, rtol, atol)
