"""The sentences of checks and conversions."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.check import (
    about_differences,
    check_answer,
    difference_text,
    draws_random_numbers,
    not_compared,
    not_deterministic,
)
from onnxperf.analyze.answers.convert import conversion_answer
from onnxperf.records.check import Check, Difference, NodeDifference
from onnxperf.records.convert import Conversion

RIGHT, WRONG = Difference(name="Y", equal=True), Difference(name="Z", equal=False, elements=3, differing=2)


def check(*outputs: Difference, **others: Any) -> Check:
    return Check(model="m", first="ort", second="numpy", rtol=0, atol=0, outputs=outputs, **others)


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
        (check(RIGHT), "ort and numpy agree on 1 output exactly."),
        (check(RIGHT, RIGHT), "ort and numpy agree on 2 outputs exactly."),
        (
            check(RIGHT, replace(RIGHT, max_absolute=1.2e-7)),
            "ort and numpy agree on 2 outputs within the tolerances, the largest difference is 1.2e-07.",
        ),
        (check(RIGHT, WRONG), "ort and numpy differ in Z."),
        (
            check(WRONG, node=NODE),
            "ort and numpy differ in Z. Node 3 (Exp 'n') is the first whose output is not within the tolerances "
            "(output Z: 2 of 3 elements differ).",
        ),
        (
            check(RIGHT, node=NODE, walked=True),
            "ort and numpy agree on 1 output exactly. Inside, node 3 (Exp 'n') is the first whose output is "
            "not within the tolerances (output Z: 2 of 3 elements differ); the outputs are.",
        ),
        (check(RIGHT, walked=True), "ort and numpy agree on 1 output exactly."),
        (check(WRONG, walked=True), "ort and numpy differ in Z. Every node agrees once intermediates are outputs."),
        (
            check(WRONG, walked=True, level="extended"),
            "ort and numpy differ in Z. Every node agrees once intermediates are outputs: an optimization of "
            "onnxruntime changes the result, first at level extended. With `opt_level=basic`, ort and numpy agree.",
        ),
        (
            check(WRONG, walked=True, level="disable"),
            "ort and numpy differ in Z. Every node agrees once intermediates are outputs, and the outputs also "
            "differ without onnxruntime's optimizations.",
        ),
        (
            check(undecided=draws_random_numbers("m", ["Bernoulli", "Dropout"])),
            "Undecided: m draws random numbers (Bernoulli and Dropout), so its outputs differ from call to call.",
        ),
        (
            check(WRONG, undecided=not_deterministic("numpy")),
            "Undecided: numpy is not deterministic: two calls on the same inputs give different outputs.",
        ),
        (
            check(WRONG, undecided=not_deterministic("source", made=True)),
            "Undecided: source is not deterministic: the function that makes it returns a different one at every call; "
            "set a seed.",
        ),
    ],
)
def test_a_check_says_whether_both_sides_agree(record: Check, answer: str) -> None:
    assert check_answer(record) == answer


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"elements": 3000, "differing": 2000, "differs_by": 0.12345, "differs_at": "[3, 1]"},
            "2,000 of 3,000 elements differ, by up to 0.123 at [3, 1]",
        ),
        ({"elements": 1, "differing": 1}, "1 of 1 element differs"),
        (
            {"elements": 2, "differing": 1, "differs_by": 2.0, "differs_at": "[1]"},
            "1 of 2 elements differs, by 2 at [1]",
        ),
        ({"elements": 2, "differing": 1, "differs_at": "[1]"}, "1 of 2 elements differs, at [1]"),
        ({"reason": "3 against 4 items"}, "3 against 4 items"),
    ],
)
def test_a_difference_is_a_number_of_elements_or_a_reason(changes: dict[str, Any], text: str) -> None:
    assert difference_text(Difference(name="Y", equal=False, **changes)) == f"output Y: {text}"


def test_a_race_says_which_subjects_differ_and_how() -> None:
    assert about_differences("old", {}) == ""
    assert about_differences("old", {"new": "output Y: 1 of 2 elements differs", "other": "output Z: types"}) == (
        "new does not compute what old does: output Y: 1 of 2 elements differs. "
        "other does not compute what old does: output Z: types."
    )
    assert not_compared("new", "old", "inputs X against Z") == (
        "outputs of new were not compared with those of old: inputs X against Z"
    )


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (conversion(), "The model was not compared with its source."),
        (conversion(output="m.onnx"), "The model was not compared with its source. Written to m.onnx."),
        (
            conversion(check(RIGHT), check(RIGHT), output="m.onnx"),
            "The model agrees with its source on 1 output at 2 sizes (largest difference 0). Written to m.onnx.",
        ),
        (conversion(check(RIGHT, WRONG)), "The model differs from its source in Z (2 of 3). Nothing was written."),
        (
            conversion(check(WRONG), output="m.onnx"),
            "The model differs from its source in Z (2 of 3). Written to m.onnx.",
        ),
    ],
)
def test_a_conversion_says_whether_it_agrees_and_where_it_is(record: Conversion, answer: str) -> None:
    assert conversion_answer(record) == answer
