"""The rounds that two subjects share, and the ways to read their blocks."""

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
"""Usual / undisturbed time of a call with several threads, where the kernel does not tell who waited: beyond, all its
processors were seldom free together, and equal runs on a busy machine differed by 20 %."""


class Rounds(NamedTuple):
    """The rounds that a subject shares with the baseline."""

    ours: st.Floats
    """Time of a call of the subject in each round."""
    theirs: st.Floats
    """That of the baseline."""
    units: st.Ints
    """Which launch or set-up each round belongs to, from 0."""
    launches: st.Ints
    """Which launch each round belongs to, from 0."""
    evidence: Evidence

    @property
    def values(self) -> st.Floats:
        """Log-ratio of each round; above 0 is faster."""
        return np.asarray(np.log(self.theirs / self.ours), dtype=np.float64)


class Reading(NamedTuple):
    """How blocks are read: the time of each, the log-ratio that all blocks of a unit give together, and that of all."""

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
"""The quickest piece of every block; those of a unit are matched with each other.

Other programs, and other guests of the host, only ever slow down: while they make blocks differ by 10 %, and rounds by
as much, matched pieces of a launch differ by half a percent.
"""
MEANS = Reading(lambda block: block.per_call_ns, _of_means, st.mean_of)
"""The mean of all calls: what a caller pays in the long run, disturbances and the slowest launch included."""
ALL_CALLS = Reading(lambda block: block.per_call_ns, lambda rounds: st.by_unit(np.median, rounds.values, rounds.units))
"""Whole blocks, paired by round, where no pieces were timed."""


def reading_of(subjects: Iterable[Measurement]) -> Reading:
    """By quickest pieces, unless a subject was measured before these were timed."""
    has_pieces = all(block.quickest_ns is not None for subject in subjects for block in subject.blocks)
    return QUICKEST if has_pieces else ALL_CALLS


def paired(subject: Measurement, base: Measurement, reading: Reading = ALL_CALLS) -> Rounds:
    """The rounds that both have: launches are their units, or set-ups where launches are few."""
    return _rounds_of(_shared(subject, base), reading)


def undisturbed(subject: Measurement, base: Measurement, reading: Reading) -> Rounds | None:
    """The same without units in which other programs took processors from threads that wait for each other.

    Several threads that meet at barriers are slowed down many times as much as one thread is: that is no noise, which
    more rounds would even out, but a bias. None where too little is left.
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
    """Whether its threads may have to wait for each other."""
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
    starts = [block.start_ns for _, block in both]  # of the baseline, so that all of its rivals have the same pace
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
    """The log of the speedup, with the error that launches show.

    Set-ups of one process share where it lies in memory: where launches are few, their own spread counts, with as few
    degrees of freedom, if it is the larger one. Where there are not even set-ups, rounds have to do.
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
