"""Onnx's own node tests: what its reference implementation passes, ours passes too, in the memory that it claims."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from onnxperf.analyze.graphs.live_set import APART, OVERWRITING
from onnxperf.model.graph import all_nodes
from onnxperf.runtimes.numpy.compile import Compiler
from onnxperf.runtimes.numpy.lower import Step
from onnxperf.runtimes.numpy.session import NumpySession

Outputs = list[Any]
Run = Callable[[onnx.ModelProto, list[Any]], Outputs]

_READERS: dict[type, Callable[[Any], Any]] = {
    onnx.TensorProto: numpy_helper.to_array,
    onnx.SequenceProto: numpy_helper.to_list,
    onnx.OptionalProto: numpy_helper.to_optional,
}


def value_of(stored: Any) -> Any:
    return _READERS.get(type(stored), lambda value: value)(stored)


def run_reference(model: onnx.ModelProto, inputs: list[Any]) -> Outputs:
    return list(ReferenceEvaluator(model).run(None, _feeds(model, inputs)))


def run_ours(model: onnx.ModelProto, inputs: list[Any]) -> Outputs:
    return list(NumpySession(model).bind("run", _feeds(model, inputs), {})())


def _feeds(model: onnx.ModelProto, inputs: list[Any]) -> dict[str, Any]:
    return dict(zip([i.name for i in model.graph.input], inputs, strict=False))


def assert_same(got: Any, wanted: Any, rtol: float, atol: float) -> None:
    """As onnx's runner compares: element by element in sequences, equal strings, types and shapes."""
    if isinstance(wanted, list):
        assert isinstance(got, list)
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other, rtol, atol)
    elif wanted is None:
        assert got is None
    else:
        got, wanted = np.asarray(got), np.asarray(wanted)
        assert got.shape == wanted.shape
        if wanted.dtype.kind in "OUS":
            np.testing.assert_array_equal(got.astype(str), wanted.astype(str))
            return
        assert got.dtype == wanted.dtype
        if wanted.dtype.isbuiltin != 1:
            got, wanted = got.astype(np.float32), wanted.astype(np.float32)
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def complaint(case: Any, run: Run) -> str:
    """Why a case fails; nothing if it passes."""
    try:
        for inputs, outputs in case.data_sets:
            wanted = [value_of(value) for value in outputs]
            for got, expected in zip(run(case.model, [value_of(v) for v in inputs]), wanted, strict=True):
                assert_same(got, expected, case.rtol, case.atol)
    except Exception as error:
        return f"{case.name}: {type(error).__name__}: {str(error)[:200]}"
    return ""


def draws(model: Any) -> bool:
    """Whether the result is left to chance: the reference passes such a case now and then, and nobody can follow."""
    chance = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
    seedless = (node for node in all_nodes(model) if not any(a.name == "seed" for a in node.attribute))
    return any(node.op_type in chance for node in seedless)


@pytest.fixture(scope="module")
def node_tests() -> list[Any]:
    """All of them; to make them takes ten seconds."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(load_model_tests(kind="node"))


@pytest.mark.slow
def test_every_node_test_that_the_reference_passes_is_passed(node_tests: list[Any]) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = [case for case in node_tests if not draws(case.model)]
        assert len(cases) > 1500
        failures = [found for case in cases if (found := complaint(case, run_ours))]
        by_name = {case.name: case for case in cases}
        ours_only = [f for f in failures if not complaint(by_name[f.split(":")[0]], run_reference)]
    assert ours_only == []


# ---------------------------------------------------------------- what the least memory of a graph relies on


def steps_of(model: onnx.ModelProto) -> list[Step]:
    """The steps with kernels of ours; a model that cannot be compiled has none."""
    compiler = Compiler(model)
    try:
        steps = compiler.lowered.steps
    except Exception:
        return []
    return [step for step in steps if step.node.op not in compiler.fallbacks]


@pytest.mark.slow
def test_what_counts_as_memory_of_its_own_is_never_a_view_and_overwrites_only_what_is_said_to(
    node_tests: list[Any],
) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        models = [case.model for case in node_tests if case.model is not None]
        named = [each for each in models if any(node.op_type in APART | OVERWRITING for node in each.graph.node)]
        steps = [step for model in named for step in steps_of(model)]
    seen = {step.node.op for step in steps}
    assert len(seen & APART) > 5
    assert len(seen & OVERWRITING) > 30
    views = {step.node.op for step in steps if step.kernel.result != "fresh"}
    assert sorted(views & (APART | OVERWRITING)) == []
    assert sorted({step.node.op for step in steps if step.kernel.overwrites} & APART) == []
