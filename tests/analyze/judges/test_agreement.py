"""Outputs of a model and of its source are matched and compared."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxperf.analyze.judges.accuracy import Form
from onnxperf.analyze.judges.agreement import (
    Outputs,
    disagreement,
    matched,
    same_again,
    unlike_interfaces,
    unlike_values,
)
from onnxperf.errors import BadOption
from onnxperf.records.options import Tolerances

ONE, TWO = np.ones(3), np.full(3, 2.0)
MODEL: Outputs = (["pooled", "sequence"], [ONE, TWO])


@pytest.mark.parametrize(
    ("source", "match", "expected"),
    [
        ((["sequence", "pooled"], [TWO, ONE]), {}, ""),  # by name
        (([], [ONE, TWO]), {}, ""),  # by order
        (([], [ONE]), {}, ""),  # as far as both go
        ((["a", "b"], [TWO, ONE]), {"pooled": "b", "sequence": "a"}, ""),
        (([], [TWO, ONE]), {"pooled": 1}, ""),
        (([], [ONE + 1, TWO]), {}, "output pooled: 3 of 3 elements differ, by up to 1 at [0]"),
        (([], [np.ones(4), TWO]), {}, "output pooled: shapes (3,) and (4,)"),
    ],
)
def test_outputs_are_matched_by_name_else_by_order_or_as_given(
    source: Outputs, match: dict[str, Any], expected: str
) -> None:
    assert disagreement(MODEL, source, Tolerances(match=match), "table") == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ((["pooled", "sequence"], [ONE, TWO]), ""),
        ((["sequence", "pooled"], [TWO, ONE]), ""),
        ((["a", "b"], [ONE, TWO]), ""),  # renamed: by order
        ((["pooled"], [ONE]), "output sequence: only in the first"),
        ((["a"], [ONE]), "output sequence: only in the first"),
        ((["pooled", "sequence", "more"], [ONE, TWO, ONE]), "output more: only in the second"),
        ((["a", "b", "c"], [ONE, TWO, ONE]), "output c: only in the second"),
        (
            (["pooled", "other"], [ONE, TWO]),
            "output sequence: only in the first; output other: only in the second",
        ),
    ],
)
def test_models_and_runtimes_have_the_same_outputs(other: Outputs, expected: str) -> None:
    assert disagreement(MODEL, other, Tolerances()) == expected


F32, F64, I64 = np.float32, np.float64, np.int64


@pytest.mark.parametrize(
    ("ours", "theirs", "agrees"),
    [  # exactly, up to the precision of floats, as a table
        (np.ones((3, 1), F32), np.ones(3, F32), (False, False, True)),
        (np.ones(3, F32), np.ones((3, 1), F32), (False, False, False)),
        (np.ones(3, F32), np.ones(3, F64), (False, True, True)),
        (np.ones(3, F32), np.full(3, 1.5, F64), (False, False, False)),
        (np.ones(3, I64), np.ones(3, F64), (False, False, True)),  # labels
        (np.ones(3, I64), np.full(3, 1.5, F64), (False, False, False)),
        (np.array([2**53]), np.array([2.0**53]), (False, False, True)),
        (np.array([2.0**53]), np.array([2**53 + 1]), (False, False, False)),
        (np.ones(3, I64), np.ones(3, np.int32), (False, False, True)),
        (np.ones(3, I64), np.ones(3, F32), (False, False, False)),  # float32 holds no labels for sure
        (np.ones(3, F32), np.ones(3, I64), (False, False, False)),
        (np.array([30522.0]), np.array([30523]), (False, False, False)),  # within the tolerance of floats
        (np.array([30522]), np.array([30523.0]), (False, False, False)),
        (np.array([2**53 + 1]), np.array([2.0**53]), (False, False, False)),
        (np.array([2**63 - 1]), np.array([2.0**63]), (False, False, False)),
        (np.array([-1]), np.array([2**64 - 1], np.uint64), (False, False, False)),
        (np.array([2**64 - 1], np.uint64), np.array([-1]), (False, False, False)),
        (np.array([44], np.int8), np.array([300]), (False, False, False)),
        (np.ones(3, I64), np.array([1.0, np.nan, 1.0]), (False, False, False)),
        (np.array([1, 0]), np.array([True, False]), (False, False, True)),
        (np.array([True]), np.array([2]), (False, False, False)),
        (np.ones(3, np.complex64), np.ones(3, np.complex128), (False, False, False)),
        (np.ones(3, ml_dtypes.bfloat16), np.ones(3, F32), (False, True, True)),
        (np.array([1, 2]), np.array([1, 2], object), (True, True, True)),
        (np.ones(1, I64), np.array(["1"], object), (False, False, False)),
        ([{0: 0.25, 1: 0.75}], np.array([[0.25, 0.75]], F32), (False, False, True)),
        ([{0: 0.25, 1: 0.75}], np.array([[0.25, 0.7]], F32), (False, False, False)),
        (np.ones(3, F32), None, (False, False, False)),
    ],
)
def test_only_the_source_of_a_model_may_have_another_form(ours: Any, theirs: Any, agrees: tuple[bool, ...]) -> None:
    forms: tuple[Form, ...] = ("exact", "precision", "table")
    found = tuple(not disagreement((["y"], [ours]), (["y"], [theirs]), Tolerances(), form) for form in forms)
    assert found == agrees


@pytest.mark.parametrize("form", ["precision", "table"])
def test_a_source_that_returns_nothing_agrees_with_nothing(form: Form) -> None:
    expected = "output pooled: only in the first; output sequence: only in the first"
    assert disagreement(MODEL, ([], []), Tolerances(), form) == expected


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (([], [np.ones(2, I64)]), ([], [np.ones(2, F32)]), False),
        (([], [ONE, TWO]), ([], [ONE, TWO]), True),
        (([], [ONE, TWO]), ([], [ONE, TWO + 1]), False),
        (([], [ONE]), ([], [ONE, TWO]), False),
        ((["y"], [ONE]), (["y"], [ONE + 1e-7]), True),  # threads add in any order
        ((["y"], [ONE]), (["y"], [ONE + 0.1]), False),
    ],
)
def test_two_calls_of_one_subject_agree_with_names_or_without(first: Outputs, second: Outputs, same: bool) -> None:
    assert same_again(first, second, Tolerances()) is same


X = np.zeros((2, 3), F32)


@pytest.mark.parametrize(
    ("inputs", "outputs", "why"),
    [
        ({"X": X}, ["Y", "Z"], ""),
        ({"X": X.copy()}, ["Z", "Y"], ""),
        ({"A": X}, ["Y", "Z"], "inputs X against A"),
        ({"X": X, "A": X}, ["Y", "Z"], "inputs X against X and A"),
        ({"X": X.astype(F64)}, ["Y", "Z"], "input X float32[2, 3] against float64[2, 3]"),
        ({"X": X.T}, ["Y", "Z"], "input X float32[2, 3] against float32[3, 2]"),
        ({"X": X + 1}, ["Y", "Z"], "input X has different values"),
        ({"X": X}, ["Y"], "outputs Y and Z against Y"),
    ],
)
def test_models_are_compared_only_on_the_same_inputs(inputs: dict[str, Any], outputs: list[str], why: str) -> None:
    assert unlike_interfaces(({"X": X}, ["Y", "Z"]), (inputs, outputs)) == why


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (np.array([np.nan, 0.0]), np.array([np.nan, 0.0]), True),
        (np.array([0.0]), np.array([-0.0]), False),
        (np.zeros((0, 3)), np.zeros((0, 3)), True),
        (np.array(5), np.array(5), True),
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), True),
        (np.ones(4, ml_dtypes.bfloat16), np.ones(4, ml_dtypes.bfloat16), True),
        (np.zeros(3_000_000, np.int8), np.zeros(3_000_000, np.int8), True),
        (np.zeros(3_000_000, np.int8), np.arange(3_000_000) == 2_999_999, False),
        (np.zeros(3_000_000, bool), np.arange(3_000_000) == 2_999_999, False),
    ],
)
def test_inputs_are_the_same_where_all_of_their_bits_are(one: Any, other: Any, same: bool) -> None:
    assert (unlike_values({"X": one}, {"X": other}) == "") is same


def test_texts_are_the_same_inputs_only_where_they_are_equal() -> None:
    one, other = np.array(["a"], object), np.array(["b"], object)
    assert unlike_interfaces(({"X": one}, []), ({"X": one.copy()}, [])) == ""
    assert unlike_interfaces(({"X": one}, []), ({"X": other}, [])) == "input X has different values"


@pytest.mark.parametrize("match", [{"nothing": 0}, {"pooled": 7}, {"pooled": "other"}])
def test_a_match_that_names_nothing_is_refused(match: dict[str, Any]) -> None:
    with pytest.raises(BadOption, match="`match`") as refused:
        matched(MODEL, ([], [ONE, TWO]), match)
    assert refused.value.option == "match"
