"""The way of a search: its questions answered one after the other, until it ends or the user ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from onnxperf.analyze.judges.bisection import side_of
from onnxperf.bisection.base import Question
from onnxperf.bisection.chain import Chain
from onnxperf.bisection.parts import GraphParts
from onnxperf.measure.race import Progress
from onnxperf.records.bisect import BisectSide, BisectStep, Change, Purpose

Compare = Callable[[Question, BisectStep | None, Progress], BisectStep]
"""Compares what a question names; receives the comparison of the ends if there was one."""
Problem = Callable[[int, Progress], str]
"""Why a candidate cannot run; empty if it can."""
Report = Callable[[int, float, str], None]
"""Receives the number of comparisons before, the part of this one that is done, and the current step."""
HasTime = Callable[[Purpose, int], bool]
"""Whether there is time for a comparison, where a change is among so many, and for the last one after it."""


class Search(Protocol):
    """What proposes comparisons."""

    def next(self) -> Question | None:
        """What to compare now; None if there is nothing left."""

    def learn(self, question: Question, side: BisectSide) -> None:
        """Take in the answer to a question."""


@dataclass
class Way:
    """What a search has found so far."""

    steps: list[BisectStep] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    """Places of candidates that cannot run, and why."""
    ran: set[int] = field(default_factory=set)
    interrupted: bool = False


def _always(_purpose: Purpose, _width: int) -> bool:
    return True


def search_parts(
    parts: GraphParts, compare: Compare, change: Change, report: Report, has_time: HasTime = _always
) -> Way:
    """Answer all questions of a search; where time is short, the last one comes at once."""
    way = Way()
    try:
        while (question := parts.next()) is not None:
            if not has_time(question.purpose, parts.stop - parts.start):
                question = Question("repeat", parts.start, parts.stop)
            _take(parts, question, compare, change, way, partial(report, len(way.steps)))
    except KeyboardInterrupt:
        way.interrupted = True
    return way


def search_row(
    chain: Chain, problem: Problem, compare: Compare, change: Change, report: Report, has_time: HasTime = _always
) -> Way:
    """The same for a row of candidates; those that cannot run are skipped."""
    way = Way()
    try:
        while (question := chain.next()) is not None:
            if not has_time(question.purpose, chain.bad - chain.good):
                question = Question("repeat", chain.good, chain.bad)
            progress = partial(report, len(way.steps))
            unusable = _unusable(question, problem, way, progress)
            if unusable is None:
                _take(chain, question, compare, change, way, progress)
            else:
                chain.skip(unusable)
    except KeyboardInterrupt:
        way.interrupted = True
    return way


def _take(search: Search, question: Question, compare: Compare, change: Change, way: Way, progress: Progress) -> None:
    ends = way.steps[0] if way.steps else None
    step = compare(question, ends, progress)
    step = replace(step, side=side_of(step, change, ends))
    way.steps.append(step)
    search.learn(question, step.side)


def _unusable(question: Question, problem: Problem, way: Way, progress: Progress) -> int | None:
    """The first of both candidates that cannot run."""
    for place in (question.first, question.second):
        if place not in way.ran and (reason := problem(place, progress)):
            way.problems[place] = reason
            return place
        way.ran.add(place)
    return None
