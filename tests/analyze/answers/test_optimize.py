"""The sentence of an optimisation."""

from __future__ import annotations

from onnxperf.analyze.answers.optimize import optimization_answer
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Optimization, SourceGroup


def test_an_optimisation_counts_nodes_and_fused_groups_and_names_the_file() -> None:
    record = Optimization(
        model="m",
        output="o.onnx",
        session=SessionOptions(),
        before={"Add": 1_200, "Relu": 1},
        after={"Add": 3},
        groups=tuple(SourceGroup(kind=kind) for kind in ("fused", "kept", "folded")),
    )
    assert optimization_answer(record) == "1,201 nodes became 3; 1 group fused; written to o.onnx."
