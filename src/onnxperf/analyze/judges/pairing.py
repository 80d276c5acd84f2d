"""The common rounds of two subjects, and readings of their blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.reasons import Evidence
from onnxperf.analyze.judges.times import numbered
from onnxperf.records.race import MIN_UNITS, Block, Measurement

_MOST_DISTURBED = 1.5
"""Maximum ratio of typical to undisturbed time of a call with several threads, if the kernel does not report waiting.
Beyond it, the processors were rarely all free, and equal runs on a busy machine differed by 20 %."""


class Rounds(NamedTuple):
    """The common rounds of a subject and the baseline."""

    ours: st.Floats
    """Time of a call of the subject in each round."""
    theirs: st.Floats
    """Time of a call of the baseline in each round."""
    units: st.Ints
    """Index of the launch or set-up of each round, from 0."""
    launches: st.Ints
    """Index of the launch of each round, from 0."""
    evidence: Evidence

    @property
    def values(self) -> st.Floats:
        """Log-ratio of each round; above 0 is faster."""
        return np.asarray(np.log(self.theirs / self.ours), dtype=np.float64)


class Reading(NamedTuple):
    """How blocks are read: the time of each block, the log-ratio of each unit, and the estimate over all units."""

    time_of: Callable[[Block], float]
    by_unit: Callable[[Rounds], st.Floats]
    over_units: Callable[[st.Floats], st.Estimate] = st.trimmed_mean


def _matched(rounds: Rounds) -> st.Floats:
    ours, theirs, quickest = rounds.ours, rounds.theirs, (float(rounds.ours.min()), float(rounds.theirs.min()))
    of_units = [rounds.units == unit for unit in range(int(rounds.units.max()) + 1)]
    return np.array([st.matching_shift(ours[own], theirs[own], quickest) for own in of_units], dtype=np.float64)


def _of_means(rounds: Rounds) -> st.Floats:
    ours, theirs = (np.log(st.by_unit(np.mean, times, rounds.units)) for times in (rounds.ours, rounds.theirs))
    return np.asarray(theirs - ours, dtype=np.float64)


QUICKEST = Reading(lambda block: max(block.quickest_ns or 0.0, 1e-3), _matched)
"""The fastest piece of every block; those of a unit are matched with each other.

Other programs and guests of the host only ever add time: while blocks and rounds then differ by 10 %, matched pieces of
a launch differ by half a percent.
"""
MEANS = Reading(lambda block: block.per_call_ns, _of_means, st.mean_of)
"""The mean of all calls: the long-run cost for a caller, including disturbances and the slowest launch."""
ALL_CALLS = Reading(lambda block: block.per_call_ns, lambda rounds: st.by_unit(np.median, rounds.values, rounds.units))
"""Whole blocks, paired by round, if no pieces were timed."""


def reading_of(subjects: Iterable[Measurement]) -> Reading:
    """The fastest pieces if all subjects have them, else whole blocks."""
    has_pieces = all(block.quickest_ns is not None for subject in subjects for block in subject.blocks)
    return QUICKEST if has_pieces else ALL_CALLS


def paired(subject: Measurement, base: Measurement, reading: Reading = ALL_CALLS) -> Rounds:
    """The common rounds; their units are launches, or set-ups if there are few launches."""
    return _rounds_of(_shared(subject, base), reading)


def undisturbed(subject: Measurement, base: Measurement, reading: Reading) -> Rounds | None:
    """The common rounds without units in which other programs took processors from threads that wait for each other.

    Threads that synchronize at barriers are slowed down much more than a single thread. This is a bias, not noise that
    more rounds would average out. None if too little is left.
    """
    both = _shared(subject, base)
    whole = _rounds_of(both, reading)
    if not both:
        return whole
    free = np.ones(int(whole.units.max()) + 1, dtype=bool)
    for side, each in enumerate((subject, base)):
        if has_several_threads(each):
            free &= _free_units(whole.units, [pair[side] for pair in both], each)
    if free.all():
        return whole
    left = [pair for pair, unit in zip(both, whole.units, strict=True) if free[unit]]
    is_enough = int(free.sum()) >= MIN_UNITS if whole.evidence.carries_estimate else bool(left)
    return _rounds_of(left, reading) if is_enough else None


def has_several_threads(subject: Measurement) -> bool:
    """Whether a subject has several threads, which may wait for each other."""
    threads = subject.conditions.get("threads")
    return isinstance(threads, int) and threads > 1


def was_never_free(subject: Measurement) -> bool:
    """Whether other programs took processors from the threads of a subject in all of its blocks."""
    return has_several_threads(subject) and not any(_are_free(subject.blocks, subject))


def _free_units(units: st.Ints, blocks: Sequence[Block], subject: Measurement) -> st.Ints:
    free = np.array(_are_free(blocks, subject), dtype=bool)
    return np.array([free[units == unit].any() for unit in range(int(units.max()) + 1)])


def _are_free(blocks: Sequence[Block], subject: Measurement) -> list[bool]:
    if all(block.free_pieces is not None for block in blocks):
        return [block.free_pieces != 0 for block in blocks]
    usual = float(np.median([block.per_call_ns for block in subject.blocks]))
    quickest = min(block.quickest_ns or block.per_call_ns for block in subject.blocks)
    return [usual <= _MOST_DISTURBED * quickest] * len(blocks)


def _shared(subject: Measurement, base: Measurement) -> list[tuple[Block, Block]]:
    theirs = {block.round: block for block in base.blocks}
    return [(block, theirs[block.round]) for block in subject.blocks if block.round in theirs]


def _rounds_of(both: Sequence[tuple[Block, Block]], reading: Reading) -> Rounds:
    launches = numbered([(a.launch, b.launch) for a, b in both])
    set_ups = numbered([(a.launch, a.set_up, b.launch, b.set_up) for a, b in both])
    starts = [block.start_ns for _, block in both]  # of the baseline, so that all of its rivals have the same time span
    span_s = (max(starts) - min(starts)) / 1e9 if starts else 0.0
    evidence = Evidence(len(both), len(np.unique(launches)), len(np.unique(set_ups)), span_s)
    return Rounds(
        np.array([reading.time_of(block) for block, _ in both], dtype=np.float64),
        np.array([reading.time_of(block) for _, block in both], dtype=np.float64),
        launches if evidence.unit == "launch" else set_ups,
        launches,
        evidence,
    )


def estimate_of(rounds: Rounds, reading: Reading) -> st.Estimate:
    """The log of the speedup, with its error over launches.

    Set-ups of one process share parts of its memory layout: with few launches, their own spread and degrees of freedom
    are used if that gives a wider interval. Without enough set-ups, rounds are used.
    """
    if rounds.evidence.rounds < 2:
        return st.Estimate(float(np.mean(rounds.values)), math.inf, 1)
    if not rounds.evidence.carries_estimate:
        return st.trimmed_mean(rounds.values)
    of_units = reading.by_unit(rounds)
    estimate = reading.over_units(of_units)
    launch_of = np.array([rounds.launches[rounds.units == unit][0] for unit in range(len(of_units))])
    if rounds.evidence.unit == "launch" or rounds.evidence.launches < 2:
        return estimate
    between = st.mean_of(st.by_unit(np.mean, of_units, launch_of))
    return estimate.wider(between._replace(value=estimate.value))
