"""The sentences of checks and conversions."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.answers.check import check_answer, difference_text
from onnxperf.analyze.answers.convert import conversion_answer
from onnxperf.records.check import Check, Difference, NodeDifference
from onnxperf.records.convert import Conversion

RIGHT, WRONG = Difference(name="Y", equal=True), Difference(name="Z", equal=False, elements=3, differing=2)


def check(*outputs: Difference, node: NodeDifference | None = None) -> Check:
    return Check(model="m", first="ort", second="numpy", rtol=0, atol=0, outputs=outputs, node=node)


def conversion(*checks: Check, output: str = "") -> Conversion:
    return Conversion(
        model="m",
        framework="torch",
        versions={},
        opset=20,
        inputs=(),
        outputs=(),
        nodes=1,
        size_bytes=4,
        checks=checks,
        output=output,
    )


NODE = NodeDifference(index=3, name="n", operator="Exp", inputs=(), difference=WRONG)


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (check(RIGHT), "ort and numpy agree on 1 output."),
        (check(RIGHT, RIGHT), "ort and numpy agree on 2 outputs."),
        (check(RIGHT, WRONG), "ort and numpy differ in Z."),
        (
            check(WRONG, node=NODE),
            "ort and numpy differ in Z. The first node that differs is node 3 (Exp 'n'), in its output 'Z'.",
        ),
    ],
)
def test_a_check_says_whether_both_sides_agree(record: Check, answer: str) -> None:
    assert check_answer(record) == answer


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"elements": 3000, "differing": 2000, "max_absolute": 0.12345},
            "2,000 of 3,000 elements differ, by up to 0.123",
        ),
        ({"elements": 1, "differing": 1}, "1 of 1 element differs"),
        ({"reason": "3 against 4 items"}, "3 against 4 items"),
    ],
)
def test_a_difference_is_a_number_of_elements_or_a_reason(changes: dict[str, Any], text: str) -> None:
    assert difference_text(Difference(name="Y", equal=False, **changes)) == f"output Y: {text}"


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (conversion(), "The model was not compared with its source."),
        (conversion(output="m.onnx"), "The model was not compared with its source. Written to m.onnx."),
        (
            conversion(check(RIGHT), check(RIGHT), output="m.onnx"),
            "The model agrees with its source on 1 output, with 2 sizes (largest difference 0). Written to m.onnx.",
        ),
        (conversion(check(RIGHT, WRONG)), "The model differs from its source in Z. Nothing was written."),
        (conversion(check(WRONG), output="m.onnx"), "The model differs from its source in Z. Written to m.onnx."),
    ],
)
def test_a_conversion_says_whether_it_agrees_and_where_it_is(record: Conversion, answer: str) -> None:
    assert conversion_answer(record) == answer
