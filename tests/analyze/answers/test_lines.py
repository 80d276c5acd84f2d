"""Which line needs the most memory, in words."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.answers.lines import lines_answer, lost_answer
from onnxperf.records.lines import LineMemory, MemoryLines
from tests.render import examples

MB = 1_000_000


def lines(*each: LineMemory, **fields: Any) -> MemoryLines:
    return MemoryLines(machine=examples.machine(), function="predict", lines=each, **fields)


def line(number: int, peak: int | None, increment: int, occurrences: int = 1) -> LineMemory:
    return LineMemory(
        number=number,
        occurrences=occurrences,
        increment_bytes=increment * MB,
        peak_bytes=None if peak is None else peak * MB,
    )


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (
            lines(line(3, 10, 5), line(4, 240, 20)),
            "Line 4 needs the most: 240 MB above what was resident before it; 20 MB of it stay.",
        ),
        (
            lines(line(3, 240, -5)),
            "Line 3 needs the most: 240 MB above what was resident before it; none of it stays.",
        ),
        (
            lines(line(3, 10, 30, occurrences=1200)),
            "Line 3 needs the most: 10 MB above what was resident before it; 30 MB over 1,200 occurrences stay.",
        ),
        (
            lines(line(3, None, 24, occurrences=3), exact=False),
            "Line 3 adds the most: 24 MB over 3 occurrences stay after it has run.",
        ),
        (
            lines(line(3, None, 5), line(4, None, 20), exact=False),
            "Line 4 adds the most: 20 MB stay after it has run.",
        ),
        (lines(LineMemory(number=3)), "No line of predict ran."),
        (
            lines(line(3, 1, 1), status="failed", reason="ValueError: no", error_line=3),
            "predict failed at line 3: ValueError: no",
        ),
        (lines(status="failed", reason="ValueError: no"), "predict failed: ValueError: no"),
    ],
)
def test_the_line_that_needs_the_most_is_one_sentence(record: MemoryLines, answer: str) -> None:
    assert lines_answer(record) == answer


def test_a_function_whose_process_was_lost_has_the_reason() -> None:
    lost = lines(status="timeout", reason="no answer within 1 s")
    assert lost_answer(lost) == "predict could not be measured: no answer within 1 s."
