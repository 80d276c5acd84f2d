"""Equality before speed: what races is compared first."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

import onnxperf
from onnxperf.results.bench import BenchResult

TINY: dict[str, Any] = {"blocks": 2, "calls_per_block": 3, "warmup": 0.0, "threads": 1, "time": 0.1}


def bench(model: Any, **keywords: Any) -> BenchResult:
    return onnxperf.bench(model, **(TINY | keywords))


TINY_INT = """<ir_version: 8, opset_import: ["" : 17]>
m (int64[batch, 3] X) => (int64[batch, 3] Y) { Y = Neg(X) }"""


def linear(weight: float = 1.0, text: str = "Y = Mul(X, W)", outputs: str = "float[batch, 3] Y") -> onnx.ModelProto:
    """A small model with one weight."""
    proto = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        m (float[batch, 3] X) => ({outputs}) {{ {text} }}""")
    weights = np.array([1.0, 2.0, weight], np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "W"))
    return proto


def test_a_model_with_one_changed_weight_differs_and_the_answer_begins_with_it() -> None:
    models = {"old": linear(), "same": linear(), "new": linear(1.5)}
    result = bench(models, feeds={"X": np.ones((2, 3), np.float32)})
    assert {subject.name: subject.status for subject in result.subjects} == {
        "old": "ok",
        "same": "ok",
        "new": "differs",
    }
    reason = "output Y: 2 of 6 elements differ, by up to 0.5 at [0, 2]"
    assert result["new"].reason == reason
    assert result["new"].mean_ns is not None
    assert result.cases[0].answer.startswith(f"new does not compute what old does: {reason}.\n")
    assert result.status == "differs"


def test_models_that_are_meant_to_differ_are_raced_without_a_check() -> None:
    result = bench({"old": linear(), "new": linear(1.5)}, check=False)
    assert result.ok
    assert "does not compute" not in result.answer


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (
            linear(text="Y = Mul(X, W)  Z = Neg(X)", outputs="float[batch, 3] Y, float[batch, 3] Z"),
            "outputs Y against Y",
        ),
        (onnx.parser.parse_model(TINY_INT), "input X float32[1, 3] against int64[1, 3]"),
        (onnx.parser.parse_model(TINY_INT.replace("X", "ids")), "inputs X against ids"),
    ],
)
def test_models_of_other_signatures_are_raced_with_a_note(other: onnx.ModelProto, why: str) -> None:
    result = bench({"old": linear(), "new": other})
    assert result.ok
    notes = [note for note in result.cases[0].notes if "not compared" in note]
    assert len(notes) == 1
    assert notes[0].startswith(f"outputs of new were not compared with those of old: {why}")


def test_an_output_of_another_type_differs() -> None:
    text, outputs = "A = Mul(X, W)  Y = Cast<to=11>(A)", "double[batch, 3] Y"
    result = bench({"old": linear(), "new": linear(text=text, outputs=outputs)})
    assert result["new"].status == "differs"
    assert result["new"].reason == "output Y: types float32 and float64"


def test_runtimes_and_call_styles_of_one_model_are_compared() -> None:
    result = bench(linear(), runtime="ort,numpy", call="run,io-binding-inplace,ort-values")
    assert {subject.status for subject in result.subjects} == {"ok"}


class Noisy:
    """An estimator that draws its predictions."""

    def predict(self, x: Any) -> Any:
        return x + np.random.default_rng().standard_normal(x.shape).astype(np.float32)


def test_what_differs_from_itself_is_not_deterministic_and_does_not_differ() -> None:
    random = linear(text="R = RandomNormalLike(X)  Y = Mul(R, W)")
    result = bench(random, call="run,io-binding")
    assert result.ok
    drawn = [note for note in result.cases[0].notes if "draws random numbers (RandomNormalLike)" in note]
    assert len(drawn) == 1
    result = bench(linear(), against={"noisy": Noisy()})
    assert result.ok
    assert any(note.startswith("noisy is not deterministic: two calls") for note in result.cases[0].notes)
