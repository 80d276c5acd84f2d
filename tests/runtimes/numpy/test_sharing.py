"""What the least memory of a graph relies on: which kernels of the numpy runtime share memory with their inputs."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest

from onnxperf.analyze.graphs.live_set import APART, OVERWRITING
from onnxperf.runtimes.numpy.compile import Compiler
from onnxperf.runtimes.numpy.lower import Step


def steps_of(model: onnx.ModelProto) -> list[Step]:
    """The steps with kernels of ours; a model that cannot be compiled has none."""
    compiler = Compiler(model)
    try:
        steps = compiler.lowered.steps
    except Exception:
        return []
    return [step for step in steps if step.node.op not in compiler.fallbacks]


@pytest.mark.slow
def test_what_counts_as_memory_of_its_own_is_never_a_view_and_overwrites_only_what_is_said_to() -> None:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        models = [case.model for case in load_model_tests(kind="node") if case.model is not None]
        named = [each for each in models if any(node.op_type in APART | OVERWRITING for node in each.graph.node)]
        steps = [step for model in named for step in steps_of(model)]
    seen = {step.node.op for step in steps}
    assert len(seen & APART) > 5
    assert len(seen & OVERWRITING) > 30
    views = {step.node.op for step in steps if step.kernel.result != "fresh"}
    assert sorted(views & (APART | OVERWRITING)) == []
    assert sorted({step.node.op for step in steps if step.kernel.overwrites} & APART) == []
