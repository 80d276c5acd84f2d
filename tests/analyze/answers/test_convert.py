"""What is said about a conversion."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.answers.convert import conversion_answer, other_model_text, rounded_text, unsteady_text
from onnxperf.records.check import Check, Difference
from onnxperf.records.convert import Conversion
from onnxperf.records.options import Signature

LABEL = Difference(name="label", equal=True, elements=10, max_absolute=0.0)
SCORES = Difference(name="scores", equal=True, elements=20, max_absolute=0.25)
TIED = Difference(name="label", equal=False, elements=1000, differing=43, max_absolute=2.0)
WRONG = Difference(name="scores", equal=False, elements=2000, differing=1, max_absolute=2.0)
LOST = Difference(name="label", equal=False, reason="onnxruntime failed: no")


def conversion(*checks: tuple[Difference, ...], **fields: Any) -> Conversion:
    made = [Check(model="m", first="ort", second="source", rtol=0.1, atol=0.1, outputs=each) for each in checks]
    outputs = (Signature(name="label", dtype="int64"), Signature(name="scores"))
    kept: dict[str, Any] = {"versions": {}, "inputs": (), "opset": 1, "nodes": 1, "size_bytes": 1}
    return Conversion(model="m", framework="sklearn", outputs=outputs, checks=tuple(made), **kept, **fields)


ROWS = {"rows": 10, "made_rows": 1000}
ON_ROWS = "They were compared on 10 rows of the sample and 1,000 generated from it, edge cases included"
CAST = {"casts": {"X": ("float64", "float32"), "Y": ("float64", "float32"), "Z": ("float64", "float16")}}
AGREES = "The model agrees with its source on 2 outputs"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (conversion(), "The model was not compared with its source."),
        (conversion(output="m.onnx"), "The model was not compared with its source. Written to m.onnx."),
        (conversion((LABEL, SCORES)), f"{AGREES} (largest difference 0.25)."),
        (
            conversion((LABEL, SCORES), (LABEL, SCORES), output="m.onnx", **ROWS),
            f"{AGREES} at 2 sizes (largest difference 0.25). {ON_ROWS}. Written to m.onnx.",
        ),
        (
            conversion((LABEL, SCORES), rows=1, **CAST),
            f"{AGREES} (largest difference 0.25). They were compared on 1 row of the sample, after the cast of X and Y "
            "from float64 to float32, after the cast of Z from float64 to float16.",
        ),
        (
            conversion((LABEL, SCORES), (TIED, SCORES), **ROWS),
            f"The model differs from its source in label (43 of 1,010). {ON_ROWS}. The labels differ where classes are "
            "nearly tied: scores agrees. Nothing was written.",
        ),
        (
            conversion((LABEL, SCORES), (TIED, WRONG), output="m.onnx"),
            "The model differs from its source in label (43 of 1,010) and scores (1 of 2,020). Written to m.onnx.",
        ),
        (conversion((LABEL,), (TIED,), **ROWS), f"differs from its source in label (43 of 1,010). {ON_ROWS}. Nothing"),
        (conversion((LABEL, SCORES), (LOST,)), "The model differs from its source in label. Nothing was written."),
    ],
)
def test_the_answer_gives_rows_casts_and_how_many_values_differ(record: Conversion, said: str) -> None:
    assert said in conversion_answer(record)
    assert conversion_answer(record).startswith("The model ")


def test_other_reasons_are_one_line_each() -> None:
    assert unsteady_text([TIED, WRONG]) == (
        "the source returns different values at every call on the same inputs (output label: 43 of 1,000 elements "
        "differ; output scores: 1 of 2,000 elements differs): seed its random numbers or switch them off, or do "
        "not check it"
    )
    assert other_model_text("a/b.py:make", "output y: shapes") == (
        "make makes a different model at every call: seed its random numbers (output y: shapes)"
    )
    assert rounded_text(TIED, 3.5) == (
        "label: 43 of 1,000 values near 0 differ by up to 2, which float32 cannot represent when values reach 3.5"
    )
