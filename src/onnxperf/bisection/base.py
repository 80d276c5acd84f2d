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
