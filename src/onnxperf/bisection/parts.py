"""Search for the smallest part of a graph, in execution order, that still shows a difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from onnxperf.bisection.base import Question, most_questions
from onnxperf.records.bisect import BisectSide

_FIRST_SHARE = 0.618
"""Share of the nodes that is tested first. If it shows nothing, the rest costs a second comparison and must be smaller
to compensate, in the ratio at which both cases take equally long (golden section)."""


@dataclass
class GraphParts:
    """Delta debugging over consecutive nodes: test both parts of a cut, then remove smaller pieces at both ends."""

    size: int
    start: int = 0
    stop: int = field(init=False)
    """The smallest part so far: its first node, and the one after its last."""
    asked: int = 0
    ends_differ: BisectSide | None = None
    """`bad` if the whole graph shows a difference."""
    repeated: BisectSide | None = None
    """`bad` if the smallest part confirmed the difference."""
    _tries: Iterator[tuple[int, int]] = field(init=False)
    _shown: bool = False

    def __post_init__(self) -> None:
        """Start with the whole graph."""
        self.stop = self.size
        self._tries = self._proposed()

    def next(self) -> Question | None:
        """The next part to test; None if there is nothing left."""
        if self.repeated is not None or not self.size:
            return None
        if self.ends_differ is None:
            return Question("ends", 0, self.size)
        if self.ends_differ != "bad":
            return None
        if self.asked < most_questions(self.size) - 1 and (part := next(self._tries, None)):
            return Question("search", *part)
        return Question("repeat", self.start, self.stop)

    def learn(self, question: Question, side: BisectSide) -> None:
        """Process whether a part shows the difference."""
        self.asked += 1
        if question.purpose == "ends":
            self.ends_differ = side
        elif question.purpose == "repeat":
            self.repeated = side
        else:
            self._shown = side == "bad"
            if self._shown:
                self.start, self.stop = question.first, question.second

    def _proposed(self) -> Iterator[tuple[int, int]]:
        """Parts to test; after each, `_shown` tells whether it shows the difference."""
        while self.stop - self.start > 1:
            start, stop = self.start, self.stop
            cut = start + max(1, min(stop - start - 1, round(_FIRST_SHARE * (stop - start))))
            for part in ((start, cut), (cut, stop)):
                yield part
                if self._shown:
                    break
            else:
                break  # the difference needs nodes of both
        piece = (self.stop - self.start) // 4
        while piece:
            for at_start in (True, False):
                while self.stop - self.start > piece:
                    yield (self.start + piece, self.stop) if at_start else (self.start, self.stop - piece)
                    if not self._shown:
                        break
            piece //= 2
