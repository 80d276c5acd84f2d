"""Runs a single node in our runtime and in onnx's reference, and checks what every kernel promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnxperf.runtimes.numpy.session import NumpySession

Array = np.ndarray[Any, Any]


def one_node(
    operator: str,
    arrays: Sequence[Array | None],
    bound: Sequence[int] = (),
    opset: int = 21,
    outputs: int = 1,
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of one node, and its feeds; inputs in `bound` are initialisers."""
    names = ["" if array is None else f"i{n}" for n, array in enumerate(arrays)]
    given = [(n, name, array) for n, (name, array) in enumerate(zip(names, arrays, strict=True)) if array is not None]
    results = [f"o{n}" for n in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, **attributes)],
        "one",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for n, name, array in given
            if n not in bound
        ],
        [onnx.ValueInfoProto(name=name) for name in results],
        [numpy_helper.from_array(array, name) for n, name, array in given if n in bound],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return model, {name: array for n, name, array in given if n not in bound}


def run_ours(operator: str, arrays: Sequence[Array | None], covered: bool = True, **options: Any) -> list[Array]:
    """Outputs of our runtime; the inputs stay as they were, and share no memory with results declared fresh."""
    model, feeds = one_node(operator, arrays, **options)
    session = NumpySession(model)
    assert (session.fallbacks == ()) == covered
    before = {name: array.copy() for name, array in feeds.items()}
    results = list(session.bind("run", feeds, {})())
    for name, array in feeds.items():
        np.testing.assert_array_equal(array, before[name])
    for step in session._compiler.program().steps:
        if step.kernel.result == "fresh":
            assert not any(np.shares_memory(array, result) for array in feeds.values() for result in results)
    return results


def check_against_reference(
    operator: str, arrays: Sequence[Array | None], rtol: float = 1e-5, atol: float = 1e-6, **options: Any
) -> None:
    """Both runtimes must agree in type, shape and values."""
    ours = run_ours(operator, arrays, **options)
    options.pop("covered", None)
    model, feeds = one_node(operator, arrays, **options)
    for mine, expected in zip(ours, ReferenceEvaluator(model).run(None, feeds), strict=True):
        assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(mine, expected, rtol=rtol, atol=atol)
