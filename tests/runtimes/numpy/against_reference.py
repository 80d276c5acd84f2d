"""One node against onnx's reference implementation, with its inputs known at compile time or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnxperf.runtimes.numpy.session import NumpySession

LATEST = 23


def one_node(
    operator: str,
    inputs: Sequence[Any],
    opset: int = LATEST,
    outputs: int = 1,
    bound: bool = False,
    static: bool = True,
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model with one node and its feeds; `bound` makes all inputs but the first initialisers."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    given = {name: np.asarray(value) for name, value in zip(names, inputs, strict=True) if name}
    constants = {name: value for name, value in given.items() if bound and name != "x0"}
    feeds = {name: value for name, value in given.items() if name not in constants}
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, **attributes)],
        "one_node",
        [_declare(name, value, static) for name, value in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in results],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), feeds


def _declare(name: str, value: Any, static: bool) -> onnx.ValueInfoProto:
    shape = value.shape if static else [f"{name}_{i}" for i in range(value.ndim)]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape)


def run(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """Outputs of ours; proves that no fallback ran, that inputs are intact and that fresh results are fresh."""
    session = NumpySession(model)
    assert session.fallbacks == ()
    before = {name: value.copy() for name, value in feeds.items()}
    with np.errstate(all="ignore"):
        outputs = session.bind("run", feeds, {})()
    for name, value in feeds.items():
        np.testing.assert_array_equal(value, before[name], err_msg=f"input {name} was changed")
    assert not _shared(session, feeds), "a result that is declared fresh shares memory with an input"
    return list(outputs)


def _shared(session: NumpySession, feeds: dict[str, Any]) -> bool:
    steps = session._compiler.program().steps
    if not steps or steps[0].kernel.result != "fresh":
        return False
    step = steps[0]
    arguments = [
        None if value is None else feeds[value.name] if value.constant is None else value.constant
        for value in step.arguments
    ]
    with np.errstate(all="ignore"):
        results = step.kernel.function(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    return any(np.shares_memory(result, a) for result in results for a in arguments if a is not None)


def same_as_reference(
    operator: str,
    inputs: Sequence[Any],
    opset: int = LATEST,
    outputs: int = 1,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    **attributes: Any,
) -> None:
    """Compare types, shapes and values for every combination of bound and free inputs, known and unknown sizes."""
    for bound, static in ((False, True), (True, True), (True, False)):
        model, feeds = one_node(operator, inputs, opset, outputs, bound, static, **attributes)
        with np.errstate(all="ignore"):
            expected: Any = ReferenceEvaluator(model).run(None, feeds)
        for got, wanted in zip(run(model, feeds), expected, strict=True):
            same(got, np.asarray(wanted), rtol, atol)


def same(got: Any, wanted: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """The same type, shape and values."""
    assert isinstance(got, np.ndarray)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(got, wanted)


def random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    """Numbers of either sign, always the same ones."""
    values = np.random.default_rng(seed).normal(size=shape) * (1 if np.dtype(dtype).kind == "f" else 5)
    return np.abs(values).astype(dtype) if np.dtype(dtype).kind == "u" else values.astype(dtype)


def whole(*values: int) -> Any:
    """A vector of int64."""
    return np.array(values, np.int64)
