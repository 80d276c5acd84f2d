"""A small result of every kind, measured for its page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import helper, numpy_helper

import onnxperf
from onnxperf.results.base import Result, result_classes
from onnxperf.results.report import Report
from tests.render.history_examples import two_machines
from tests.render.race.test_bisect import BISECTION

HOSTILE = '<img src=x onerror="window.broken=1">\'</script><script>window.broken=1</script>\x1b[31m'


def network() -> onnx.ModelProto:
    """Two products with a hostile name each, which become one node each."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((32, 32), dtype=np.float32), f"W{n}") for n in range(2)]
    nodes = [
        helper.make_node("MatMul", ["X", "W0"], ["A"], name=f"first {HOSTILE}"),
        helper.make_node("Softmax", ["A"], ["B"], name="middle"),
        helper.make_node("MatMul", ["B", "W1"], ["Y"], name=f"last {HOSTILE}"),
    ]
    ends = [helper.make_tensor_value_info(name, 1, ["rows", 32]) for name in "XY"]
    graph = helper.make_graph(nodes, f"graph {HOSTILE}", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def allocate() -> int:
    return sum(range(1000))


@cache
def model_in(folder: str) -> Path:
    path = Path(folder) / "m.onnx"
    onnx.save(network(), path)
    return path


KINDS: dict[str, Callable[[Path], Result[Any] | Report]] = {
    "bench": lambda m: onnxperf.bench(m, call="run,run-c,io-binding", dims={"rows": 4}, blocks=8),
    "sweep": lambda m: onnxperf.bench(m, call="run,run-c", dims={"rows": [1, 4, 16]}, blocks=6),
    "profile": lambda m: onnxperf.profile(m, dims={"rows": 4}, calls=5, roofline=True),
    "diff": lambda m: onnxperf.diff(m, opt_level="disable,all", dims={"rows": 4}, calls=5, race=False),
    "memory": lambda m: onnxperf.memory(m, dims={"rows": 4}, calls=5),
    "stack": lambda m: onnxperf.stack(m, dims={"rows": 4}, calls=2000),
    "check": lambda m: onnxperf.check(m, runtime="ort,reference", dims={"rows": 4}),
    "optimize": lambda m: onnxperf.optimize(m, m.with_name("optimised.onnx")),
    "view": lambda m: onnxperf.view(m, profile=True, dims={"rows": 4}),
    "tune": lambda m: onnxperf.tune(m, dims={"rows": 4}, time=2.0, call="run"),
    "advise": lambda m: onnxperf.advise(m, dims={"rows": 4}, time=2.0),
    "quantize": lambda m: onnxperf.quantize(m, dims={"rows": 4}, time=4.0),
    "einsum": lambda _: onnxperf.optimize_einsum("ij,jk->ik", [(8, 8), (8, 8)], time=2.0),
    "profiles": lambda m: onnxperf.profile(m, dims={"rows": 4}, calls=5, threads=[1, 2]),
    "two graphs": onnxperf.diff_view,
    "doctor": lambda _: onnxperf.doctor(time=1.0),
    "lines": lambda _: onnxperf.memory_lines(allocate),
    "convert": lambda _: _converted(),
    "two runs": lambda m: onnxperf.report(_short_bench(m), _short_bench(m)),
    "gate": lambda m: onnxperf.gate(m, m, dims={"rows": [1, 4]}, time=1.0, max_memory=0.5),
    "bisect": lambda _: _result_of(BISECTION),  # a real one takes minutes
    "history": lambda _: _result_of(two_machines()),
}
"""How a small result of each kind is measured."""
SEARCHES = ("advise", "doctor", "einsum", "gate", "quantize", "tune", "two runs")
"""Kinds that take as long to measure as all others together; their tests have a file and so a process of their own."""


def _result_of(record: Struct) -> Result[Any]:
    return result_classes()[type(record)](record)


def _converted() -> Result[Any]:
    from sklearn.linear_model import LinearRegression

    rows = np.random.default_rng(0).random((20, 3))
    return onnxperf.convert(LinearRegression().fit(rows, rows.sum(axis=1)), rows.astype(np.float32))


def _short_bench(model: Path) -> Result[Any]:
    return onnxperf.bench(model, call="run,run-c", dims={"rows": 4}, blocks=6)
