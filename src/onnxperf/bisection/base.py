"""Questions of a search, and their maximum number."""

from __future__ import annotations

import math
from typing import NamedTuple

from onnxperf.records.bisect import Purpose


class Question(NamedTuple):
    """Two things to compare: indices of candidates, or the ends of a part of the graph."""

    purpose: Purpose
    first: int
    second: int


def most_questions(size: int) -> int:
    """Maximum number of comparisons of a search among so many candidates, including the first and the repeated one."""
    return int(2 * math.log2(max(size, 2)) + 2)


def error_share(purpose: Purpose, size: int) -> float:
    """Share of the error probability available to a comparison; all shares add up to 1.

    The ends and the last comparison decide whether a cause is reported at all: each of them gets a quarter.
    """
    return 0.5 / (most_questions(size) - 2) if purpose == "search" else 0.25
