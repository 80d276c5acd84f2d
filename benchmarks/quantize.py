"""int8 against float32: every way to quantise an MLP, BERT and ResNet-50, and in bold what the confirming race says.

usage: python -m benchmarks.quantize [model ...] [time=SECONDS]
models: mlp-256, mlp-1024, bert-base, resnet50, tiny-bert, tiny-resnet; without one, the first four
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

import onnxperf
from benchmarks.kept import keep
from onnxperf.records.quantize import TriedWay
from onnxperf.wording.numbers import NOTHING, interval, percent_at_most, ratio

LAYERS = 6
USUAL = ("mlp-256", "mlp-1024", "bert-base", "resnet50")
SECONDS = 120.0


class Task(NamedTuple):
    """A model at one size."""

    model: str
    dims: dict[str, int]


TASKS = (
    Task("mlp-256", {"rows": 64}),
    *(Task("mlp-1024", {"rows": rows}) for rows in (1, 16, 128)),
    Task("bert-base", {"batch": 1, "seq": 32}),
    Task("resnet50", {"batch": 1}),
    Task("tiny-bert", {"batch": 1, "seq": 32}),
    Task("tiny-resnet", {"batch": 1}),
)


def mlp(width: int) -> onnx.ModelProto:
    """MatMul, Add and Relu, six times, with weights that keep the size of what goes through."""
    random = np.random.default_rng(0)
    nodes, weights = [], []
    for i in range(LAYERS):
        values = random.standard_normal((width, width)) * np.sqrt(2 / width)
        weights.append(numpy_helper.from_array(values.astype(np.float32), f"W{i}"))
        weights.append(numpy_helper.from_array(np.zeros(width, np.float32), f"B{i}"))
        output = "logits" if i == LAYERS - 1 else f"a{i}"
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"W{i}"], [f"m{i}"], name=f"matmul{i}"))
        nodes.append(helper.make_node("Add", [f"m{i}", f"B{i}"], [output], name=f"add{i}"))
        if i < LAYERS - 1:
            nodes.append(helper.make_node("Relu", [output], [f"x{i + 1}"], name=f"relu{i}"))
    sides = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["rows", width]) for name in ("x0", "logits")]
    graph = helper.make_graph(nodes, "mlp", sides[:1], sides[1:], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def source_of(name: str, folder: Path) -> Any:
    """The file of an MLP, or the name of a zoo model."""
    if not name.startswith("mlp-"):
        return f"zoo:{name}"
    path = folder / f"{name}.onnx"
    onnx.save(mlp(int(name.removeprefix("mlp-"))), path)
    return path


def rows_of(task: Task, folder: Path, seconds: float) -> list[str]:
    """A row for every way of the search, and one for the confirming race."""
    found = onnxperf.quantize(source_of(task.model, folder), dims=task.dims, time=seconds, max_error=1.0)
    label = " ".join([task.model, *(f"{name}={size}" for name, size in task.dims.items())])
    rows = [_way(label, each) for each in found.record.ways]
    race = found.record.race
    result = next((each for each in race.subjects if each.name == "int8"), None) if race is not None else None
    if result is not None:
        within = interval(result.speedup_low, result.speedup_high)
        verdict = result.verdict or result.status
        rows.append(f"| {label} | **{found.record.best}** | {ratio(result.speedup)} | {within} | | {verdict} |")
    return rows


def _way(label: str, tried: TriedWay) -> str:
    error = NOTHING if tried.error is None else percent_at_most(tried.error)
    name = tried.way.name if tried.against == "float32" else f"{tried.way.name} (against {tried.against})"
    within = interval(tried.speedup_low, tried.speedup_high)
    verdict = tried.verdict or (f"{tried.status}: {tried.reason}" if tried.reason else "not raced: the only one")
    return f"| {label} | {name} | {ratio(tried.speedup)} | {within} | {error} | {verdict} |"


def main() -> None:
    """Quantise the models that are named."""
    named = [word for word in sys.argv[1:] if not word.startswith("time=")]
    seconds = next((float(word.removeprefix("time=")) for word in sys.argv[1:] if word.startswith("time=")), SECONDS)
    head = ["| model | way | speedup | 95 % interval | error | verdict |", "|---|---|---|---|---|---|"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for task in TASKS:
            if task.model in (named or USUAL):
                rows += rows_of(task, Path(folder), seconds)
    keep("int8 against float32", [*head, *rows])


if __name__ == "__main__":
    main()
