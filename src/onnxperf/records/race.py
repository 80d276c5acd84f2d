"""What a race measured, and what is concluded from it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import AnyCase, AnySubject, Document, Machine
from onnxperf.records.comparison import Unit, Verdict
from onnxperf.records.numbers import Amount, Calls, Count, Signed

ALPHA = 0.05
"""How often a difference may be claimed where there is none."""
MIN_ROUNDS = 20
"""Rounds below which only a large difference is decided."""
MIN_UNITS = 5
"""Launches, or set-ups where those are too costly, below which only a large difference is decided."""
FEWEST_ROUNDS = 3
"""Rounds below which nothing is decided: two differ by chance so much or so little that they show nothing."""
LARGE_CLAIM = 0.25
"""Differences from which on few rounds decide: no layout of memory moves a process that far."""
SMALL_CLAIM = 0.05
"""A claim about less than this needs several launches: where its memory lies moves a process by 1 %, at times 4 %."""

YARDSTICK = "zoo:yardstick"
"""The fixed model that runs are compared by; one that computes something else would need another name."""

P90_CALLS = 64
P99_CALLS = 662
"""Single calls that a percentile needs at least (the arithmetic of MLPerf's LoadGen)."""

SAME_COUNT = 0.005
"""Counts that differ by less are equal: those of equal subjects differ by 0.3 % at most."""

CountVerdict = Literal["baseline", "fewer", "more", "equal"]


class Block(Struct, frozen=True, kw_only=True):
    """One timed block of consecutive calls of one subject."""

    round: Count
    """Round of the race; blocks of one round are compared with each other."""
    position: Count
    """Place within the round, from 0."""
    launch: Count
    """Which start of the subject's process, from 0."""
    set_up: Count = 0
    """Which opening of its session within that process, from 0."""
    calls: Calls
    """Calls in the block."""
    start_ns: Count
    """Start on the monotonic clock that all processes of a machine share."""
    duration_ns: Count
    """Time of all calls together, without pauses between them."""
    quickest_ns: Amount | None = None
    """Time of a call in the quickest of the block's pieces, of which all blocks of a race have the same number."""
    cpu_ns: Count | None = None
    """CPU time (user and system) of all threads of the process from the first call to the end of the last pause; that
    of its children is not counted."""
    span_ns: Count | None = None
    """Time from the start of the first call to the end of the last pause; None where calls had no pauses."""
    free_pieces: Count | None = None
    """Pieces in which no thread of the process had to wait for a processor, or all of them if other programs used none;
    None with one thread, or where the kernel does not tell."""

    @property
    def per_call_ns(self) -> float:
        """The time of a call; a block that is shorter than the clock can tell lasted a nanosecond."""
        return max(self.duration_ns, 1) / self.calls


class Split(Struct, frozen=True, kw_only=True):
    """What a call is made of, from calls that were timed part by part (medians)."""

    prepare_ns: Signed
    """Casting, copying and binding the inputs, and freeing them."""
    compute_ns: Signed
    """Computing."""
    fetch_ns: Signed
    """Turning the outputs into arrays, and freeing them."""
    calls: Count
    """Calls that were divided."""

    @property
    def total_ns(self) -> float:
        """All parts together."""
        return self.prepare_ns + self.compute_ns + self.fetch_ns


class Measurement(AnySubject, frozen=True, kw_only=True):
    """One subject of a race as it was measured, before anything is concluded from it."""

    load_ns: Count | None = None
    """Loading the model and building the session (median over launches)."""
    first_call_ns: Count | None = None
    """The very first call (median over launches); subjects that share a session share its first allocations."""
    input_bytes: Count = 0
    """Size of the arrays that one call reads."""
    looks: Count = 0
    """Planned looks at its data that were taken before its race ended."""
    looks_planned: Count = 0
    """Looks that were planned before the race."""
    blocks: tuple[Block, ...] = ()
    """Raw timings, in the order of the race."""
    call_ns: tuple[Count, ...] = ()
    """Times of single calls: of all calls in blocks where they last 100 us and more, else of calls between blocks."""
    call_launches: tuple[tuple[Count, Count], ...] = ()
    """Which launch those calls belong to, in their order: number of the launch, and how many calls."""
    split: Split | None = None
    """What a call is made of; None where that was not requested, or a plain callable cannot be divided."""
    instructions: Amount | None = None
    """Instructions of a call with one thread, from one count of a few calls; None where they were not counted."""


class Subject(Measurement, frozen=True, kw_only=True):
    """One row of a race: a measurement, and what is concluded from it in comparison with the others."""

    time_ns: Amount | None = None
    """Undisturbed time of a call, by the same fit as the speedups: the ratio of two of them is the speedup."""
    time_low_ns: Amount | None = None
    """Lower end of its 95 % interval; None where launches are too few."""
    time_high_ns: Amount | None = None
    """Upper end of that interval."""
    own_time_ns: Amount | None = None
    """Undisturbed time of a call by its own blocks alone."""
    unsteady: bool = False
    """Its own time departs from the fitted one beyond the intervals: it has two speeds."""
    varies: bool = False
    """Its calls, or those of the baseline, vary by themselves: it was compared by means of launches."""
    slow_launches: Count | None = None
    """Launches that were slower by more than 8 % as a whole, beside the baseline; None where it was not compared."""
    mean_ns: Amount | None = None
    """Time of a call in blocks: that of all blocks together over all of their calls."""
    mean_low_ns: Amount | None = None
    """Lower end of the 95 % interval of that mean; None below 3 set-ups."""
    mean_high_ns: Amount | None = None
    """Upper end of that interval."""
    deviation_ns: Amount | None = None
    """Standard deviation of the time of a call between blocks."""
    min_ns: Amount | None = None
    """Fastest single call."""
    median_ns: Amount | None = None
    """Median of single calls (of blocks, where no single call was timed, as all times of single calls then)."""
    median_low_ns: Amount | None = None
    """Lower end of its 95 % interval by launch; None below 3 launches."""
    median_high_ns: Amount | None = None
    """Upper end of that interval."""
    p90_ns: Amount | None = None
    """90th percentile of single calls; None until there are 64."""
    p90_low_ns: Amount | None = None
    """Lower end of its interval."""
    p90_high_ns: Amount | None = None
    """Upper end of its interval."""
    p99_ns: Amount | None = None
    """99th percentile of single calls; None until there are 662."""
    p99_low_ns: Amount | None = None
    """Lower end of its interval."""
    p99_high_ns: Amount | None = None
    """Upper end of its interval."""
    max_ns: Amount | None = None
    """Slowest single call."""
    cpu_ns: Amount | None = None
    """CPU time (user and system) of a call over all blocks: of all threads of the process, not of its children. Pauses
    between calls count, as threads may spin in them."""
    items_per_s: Amount | None = None
    """Items per second by the undisturbed time: size of the batch dimension / time; calls per second without one."""
    speedup: Amount | None = None
    """Baseline time / own time, above 1 is faster: the trimmed mean over all units, by quickest pieces of blocks, or by
    means of launches where calls vary."""
    speedup_low: Amount | None = None
    """Lower end of the 95 % interval, widened for looks and subjects; None below 3 rounds or with one set-up."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    verdict: Verdict | None = None
    """What the interval says."""
    unit: Unit | None = None
    """What the interval rests on: launches, or where those are too costly set-ups; below 5 of them, rounds."""
    units: Count | None = None
    """How many of them."""
    instruction_ratio: Amount | None = None
    """Own instructions / those of the baseline, below 1 is fewer; one count each, so that there is no interval."""
    instruction_verdict: CountVerdict | None = None
    """What that ratio says; `equal` within 0.5 %."""


class Case(AnyCase, frozen=True, kw_only=True):
    """One race: a model (or several), its dimensions, and its subjects."""

    fingerprint: dict[str, str] = {}
    """Label of each model -> hash of its file and its external data."""
    dims: dict[str, Count] = {}
    """Every dimension that was free in the model, with the size it got."""
    baseline: str | None = None
    """Name of the subject that the others are compared with."""
    min_effect: Amount = 0.01
    """The minimum effect that was used: what was requested, or the noise of this machine if that is larger."""
    subjects: tuple[Subject, ...] = ()
    """What was raced."""
    yardstick: Measurement | None = None
    """A fixed model that was measured before and after the race, in processes of its own: by its time, runs that share
    no subject are compared. Null if it was not measured."""
    yardstick_ns: Amount | None = None
    """Undisturbed time of a call of the yardstick; null if it was not measured."""
    node: str = ""
    """Name of the node of a cluster that it ran on; empty where it ran on the machine of the command."""


class Bench(Document, frozen=True, kw_only=True):
    """What `onnxperf bench` or `onnxperf sweep` found."""

    machine: Machine
    """Where it was measured."""
    command: str
    """The command line, or the call in Python."""
    cases: tuple[Case, ...]
    """One per race; a plain bench has one."""
