"""Where the time of a call goes, in words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.stack import stack_answer
from tests.render.stack import examples as made


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {},
            ["57 % numpy's call machinery, 34 % Python, 9 % kernels (±2 %, 1,560 samples of py-spy)"],
        ),
        (
            {"libraries": {"onnxruntime": 0.6, "numpy": 0.06}},
            ["9 % onnxruntime with its kernels"],
        ),
        ({"unknown": 0.03}, ["9 % kernels, 3 % code without a known name"]),
        ({"kernels": None, "dispatch": None, "how": "pyinstrument"}, ["at most 34 % Python", "operators such as"]),
    ],
)
def test_python_against_kernels_is_one_sentence(changes: dict[str, Any], parts: list[str]) -> None:
    text = stack_answer(replace(made.SHARES, **changes), 8430.0)
    assert text.startswith("A call takes 8.43 µs: ")
    assert all(part in text for part in parts), text
    assert text.endswith(").")


def test_calls_that_were_too_short_to_be_sampled_are_no_answer() -> None:
    assert (
        stack_answer(None, 900.0)
        == "A call takes 900 ns. No samples: the calls were too short; make more of them with `calls`."
    )
