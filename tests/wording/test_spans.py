"""Texts that differ only in their numbers."""

from __future__ import annotations

import pytest

from onnxperf.wording.spans import in_one, kind_of


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (
            ["2 rounds are too few: use `time=45`", "13 rounds are too few: use `time=7`"],
            "2 to 13 rounds are too few: use `time=45`",
        ),
        (["loading took 34.1 s", "loading took 25 s", "loading took 30 s"], "loading took 25 to 34.1 s"),
        (["1,200 calls", "900 calls"], "900 to 1,200 calls"),
        (["others used 91 %.", "others used 9 %."], "others used 9 to 91 %."),
        (["the same 3"] * 2, "the same 3"),
        (["no number"], "no number"),
    ],
)
def test_texts_of_one_kind_become_one(texts: list[str], one: str) -> None:
    assert len(set(map(kind_of, texts))) == 1
    assert in_one(texts) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("X1 is cast", "X2 is cast"),
        ("onnx 1.2.3 is old", "onnx 1.2.4 is old"),
        ("from 0.9 to 1.3", "from 0.8 to 1.3"),
        ("batch=1", "batch=2"),
        ("conv-1", "conv-2"),
        ("1 round is too few", "2 rounds are too few"),
        ("took # s", "took 3 s"),
    ],
)
def test_names_versions_and_spans_are_no_numbers_of_their_own(one: str, other: str) -> None:
    assert kind_of(one) != kind_of(other)
    assert in_one([one]) == one
