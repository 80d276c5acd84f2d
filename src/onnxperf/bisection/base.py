"""What a search asks for, and how often it may."""

from __future__ import annotations

import math
from typing import NamedTuple

from onnxperf.records.bisect import Purpose


class Question(NamedTuple):
    """Two things to compare: places of candidates in their row, or the ends of a part of the graph."""

    purpose: Purpose
    first: int
    second: int


def most_questions(size: int) -> int:
    """How many comparisons a search among so many may take, the first and the repeated one included."""
    return int(2 * math.log2(max(size, 2)) + 2)


def error_share(purpose: Purpose, size: int) -> float:
    """The part of the error probability that a comparison may use; those of all comparisons add up to 1.

    The ends and the last comparison decide whether a cause is named at all: each of them has a quarter.
    """
    return 0.5 / (most_questions(size) - 2) if purpose == "search" else 0.25
