"""How inputs reach workers: one copy in the parent, whatever is raced."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxperf
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.subjects import function_specs, model_specs, open_entries
from onnxperf.measure import memory
from onnxperf.measure.packing import handles_in
from onnxperf.measure.shared import CAN_SHARE
from onnxperf.records.options import InputOptions, SessionOptions

MEAN = """<ir_version: 8, opset_import: ["": 18]> g (float[N, 1000] X) => (float[N, 1] Y) {
    axes = Constant<value_ints = [1]>()
    Y = ReduceMean(X, axes)
}"""
LARGE_ROWS, ROWS = 400, 52_500
"""1.6 MB, which is shared, and 210 MB."""

sharing = pytest.mark.skipif(not CAN_SHARE, reason="there, inputs travel through the pipe")


def model_file(path: Path, text: str = MEAN) -> Path:
    onnx.save(onnx.parser.parse_model(text), path)
    return path


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    """Two models with the same inputs."""
    return [model_file(tmp_path / "a.onnx"), model_file(tmp_path / "b.onnx")]


@sharing
@pytest.mark.parametrize("given", [True, False], ids=["given", "made"])
def test_models_runtimes_and_functions_with_the_same_inputs_share_one_copy(models: list[Path], given: bool) -> None:
    feeds = {"X": np.ones((LARGE_ROWS, 1000), np.float32)} if given else None
    entries = open_entries(list(models), InputOptions(dims={"N": LARGE_ROWS}), feeds)
    specs = model_specs(entries, [Setup(each, ("run",), SessionOptions(threads=1)) for each in ("ort", "numpy")])
    specs += function_specs({"f": len}, entries[0].feeds, 1, packed=entries[0].packed)
    assert len(specs) == 5
    assert entries[0].feeds.arrays["X"] is entries[1].feeds.arrays["X"]
    assert len(handles_in(spec.feeds for spec in specs)) == 1


@sharing
@pytest.mark.parametrize(
    "text",
    [
        MEAN.replace("X", "Z"),
        MEAN.replace("float[N, 1000] X", "float[N, 1001] X"),
        MEAN.replace("float[N, 1000] X", "double[N, 1000] X").replace("=> (float", "=> (double"),
    ],
    ids=["another name", "another shape", "another type"],
)
def test_models_with_other_inputs_have_copies_of_their_own(models: list[Path], tmp_path: Path, text: str) -> None:
    other = model_file(tmp_path / "other.onnx", text)
    entries = open_entries([models[0], other], InputOptions(dims={"N": LARGE_ROWS}), None)
    specs = model_specs(entries, [Setup("ort", ("run",), SessionOptions(threads=1))])
    assert len(handles_in(spec.feeds for spec in specs)) == 2


def mean(x: Any) -> Any:
    return x.mean(axis=1)


RACES: dict[str, Callable[[list[Path], dict[str, Any]], Any]] = {
    "two models": lambda models, rest: onnxperf.bench(list(models), **rest),
    "two call styles": lambda models, rest: onnxperf.bench(models[0], call=["run", "io-binding"], **rest),
    "a model and a function": lambda models, rest: onnxperf.bench(models[0], against={"numpy": mean}, **rest),
}


@pytest.mark.slow
@pytest.mark.skipif(not memory.reset_peak(), reason="the kernel shows no peak")
@pytest.mark.parametrize("kind", RACES)
def test_a_race_on_a_large_input_holds_at_most_1_2_copies_of_it(models: list[Path], kind: str) -> None:
    def copies(rows: int) -> float:
        x = np.full((rows, 1000), 0.5, np.float32)
        gc.collect()
        memory.reset_peak()
        before = memory.peak_bytes() or 0
        case = RACES[kind](models, {"feeds": {"X": x}, "blocks": 2, "time": 0.1, "warmup": 0.0}).record.cases[0]
        assert {subject.status for subject in case.subjects} == {"ok"}
        return 1 + ((memory.peak_bytes() or 0) - before) / x.nbytes

    copies(10)  # what is imported with the first race is no input
    assert copies(ROWS) <= 1.2
