"""Search for where in a sequence of candidates something changes: good before, bad from there on."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnxperf.bisection.base import Question, most_questions
from onnxperf.records.bisect import BisectSide


@dataclass
class Chain:
    """A binary search that compares the ends first and repeats the last comparison.

    A candidate that cannot run or stays undecided is set aside, and its nearest neighbor is used instead.
    """

    size: int
    good: int = 0
    """The last candidate that behaves like the first."""
    bad: int = field(init=False)
    """The first candidate that does not."""
    asked: int = 0
    ends_differ: BisectSide | None = None
    """`bad` if they differ; None before they are compared."""
    repeated: BisectSide | None = None
    """`bad` if the difference was confirmed."""
    set_aside: set[int] = field(default_factory=set)
    base: int = 0
    """The candidate that all others are compared with."""

    def __post_init__(self) -> None:
        """Start with the whole sequence."""
        self.bad = self.size - 1

    def next(self) -> Question | None:
        """The next comparison; None if there is nothing left."""
        if self.good >= self.bad or self.repeated is not None:
            return None
        if self.ends_differ is None:
            return Question("ends", self.good, self.bad)
        if self.ends_differ != "bad":
            return None
        middle = self._middle()
        if middle is not None and self.asked < most_questions(self.size) - 1:
            return Question("search", self.base, middle)
        return Question("repeat", self.good, self.bad)

    def skip(self, place: int) -> None:
        """Skip a candidate that cannot run; if it is an end, the next one becomes the end."""
        if self.ends_differ is None and place == self.good:
            self.good += 1
            self.base = self.good
        elif self.ends_differ is None and place == self.bad:
            self.bad -= 1
        else:
            self.set_aside.add(place)

    def learn(self, question: Question, side: BisectSide) -> None:
        """Process the answer to a question."""
        self.asked += 1
        if question.purpose == "ends":
            self.ends_differ = side
        elif question.purpose == "repeat":
            self.repeated = side
        elif side == "good":
            self.good = question.second
        elif side == "bad":
            self.bad = question.second
        else:
            self.set_aside.add(question.second)

    def _middle(self) -> int | None:
        """The remaining candidate nearest to the middle."""
        middle = (self.good + self.bad) / 2
        left = [place for place in range(self.good + 1, self.bad) if place not in self.set_aside]
        return min(left, key=lambda place: (abs(place - middle), place), default=None)
