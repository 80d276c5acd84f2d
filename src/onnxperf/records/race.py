"""Measurements of a race and the conclusions."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import AnyCase, AnySubject, Document, Machine
from onnxperf.records.comparison import Unit, Verdict
from onnxperf.records.numbers import Amount, Calls, Count, Signed

ALPHA = 0.05
"""Significance level: probability of claiming a difference that does not exist."""
MIN_ROUNDS = 20
"""Minimum number of rounds for deciding small differences."""
MIN_UNITS = 5
"""Minimum number of launches (or set-ups, if launches are too expensive) for deciding small differences."""
FEWEST_ROUNDS = 3
"""Minimum number of rounds for deciding anything: two rounds say nothing about their variation."""
LARGE_CLAIM = 0.25
"""Differences that a few rounds can decide: no memory layout shifts a process that far."""
SMALL_CLAIM = 0.05
"""Smaller differences need several launches: the memory layout shifts a process by 1 %, sometimes 4 %."""

YARDSTICK = "zoo:yardstick"
"""The fixed model used to compare runs; a model with other computations would need another name."""

P90_CALLS = 64
P99_CALLS = 662
"""Minimum number of single calls for a percentile (as in MLPerf's LoadGen)."""

SAME_COUNT = 0.005
"""Counts that differ by less are equal: counts of equal subjects differ by at most 0.3 %."""

CountVerdict = Literal["baseline", "fewer", "more", "equal"]


class Block(Struct, frozen=True, kw_only=True):
    """A timed block of consecutive calls of one subject."""

    round: Count
    """Index of the round, from 0; blocks of one round are compared with each other."""
    position: Count
    """Position within the round, from 0."""
    launch: Count
    """Index of the launch (start of the subject's process), from 0."""
    set_up: Count = 0
    """Index of the set-up (opening of the session within that process), from 0."""
    calls: Calls
    """Number of calls in the block."""
    start_ns: Count
    """Start time on the monotonic clock shared by all processes of a machine."""
    duration_ns: Count
    """Total time of all calls, without pauses between them."""
    quickest_ns: Amount | None = None
    """Time of a call in the fastest piece of the block; all blocks of a race have the same number of pieces."""
    cpu_ns: Count | None = None
    """CPU time (user and system) of all threads of the process, from the first call to the end of the last pause,
    without child processes."""
    span_ns: Count | None = None
    """Time from the start of the first call to the end of the last pause; null if there were no pauses."""
    free_pieces: Count | None = None
    """Number of pieces in which no thread of the process waited for a processor (all of them if other programs used
    none); null with one thread, or if the kernel does not report it."""

    @property
    def per_call_ns(self) -> float:
        """Time of a call; a block shorter than the clock resolution counts as 1 ns."""
        return max(self.duration_ns, 1) / self.calls


class Split(Struct, frozen=True, kw_only=True):
    """Parts of a call, timed separately (medians)."""

    prepare_ns: Signed
    """Time for casting, copying, binding and freeing the inputs."""
    compute_ns: Signed
    """Time for computing."""
    fetch_ns: Signed
    """Time for converting the outputs to arrays and freeing them."""
    calls: Count
    """Number of calls timed this way."""

    @property
    def total_ns(self) -> float:
        """Sum of all parts."""
        return self.prepare_ns + self.compute_ns + self.fetch_ns


class Measurement(AnySubject, frozen=True, kw_only=True):
    """Raw measurements of one subject of a race."""

    load_ns: Count | None = None
    """Time for loading the model and building the session (median over launches)."""
    first_call_ns: Count | None = None
    """Time of the very first call (median over launches); subjects that share a session share its first allocations."""
    input_bytes: Count = 0
    """Total size of the arrays that one call reads."""
    looks: Count = 0
    """Number of interim analyses done before the race ended."""
    looks_planned: Count = 0
    """Number of interim analyses planned before the race."""
    blocks: tuple[Block, ...] = ()
    """Raw timings, in race order."""
    call_ns: tuple[Count, ...] = ()
    """Times of single calls: of all calls in blocks if they take 100 µs or more, else of calls between blocks."""
    call_launches: tuple[tuple[Count, Count], ...] = ()
    """Launches of those calls, in order: index of the launch and number of calls."""
    split: Split | None = None
    """Parts of a call; null if not requested, or for a plain callable, which cannot be divided."""
    instructions: Amount | None = None
    """Instructions per call with one thread, from one count over a few calls; null if not counted."""


class Subject(Measurement, frozen=True, kw_only=True):
    """One row of a race: a measurement and the conclusions from comparing it with the others."""

    time_ns: Amount | None = None
    """Undisturbed time of a call, from the same fit as the speedups: the ratio of two such times is the speedup."""
    time_low_ns: Amount | None = None
    """Lower end of its 95 % confidence interval; null if there are too few launches."""
    time_high_ns: Amount | None = None
    """Upper end of that interval."""
    own_time_ns: Amount | None = None
    """Undisturbed time of a call from its own blocks alone."""
    unsteady: bool = False
    """Whether its own time deviates from the fitted time beyond the intervals, because it has two speeds."""
    varies: bool = False
    """Whether its calls or the baseline's vary on their own, so that means of launches are compared."""
    slow_launches: Count | None = None
    """Number of launches that were slower overall by more than 8 %, relative to the baseline; null if not compared."""
    mean_ns: Amount | None = None
    """Mean time of a call: total time of all blocks / number of calls."""
    mean_low_ns: Amount | None = None
    """Lower end of the 95 % confidence interval of the mean; null below 3 set-ups."""
    mean_high_ns: Amount | None = None
    """Upper end of that interval."""
    deviation_ns: Amount | None = None
    """Standard deviation of the time of a call across blocks."""
    min_ns: Amount | None = None
    """Time of the fastest single call."""
    median_ns: Amount | None = None
    """Median time of single calls; if none were timed, this and all other times of single calls are from blocks."""
    median_low_ns: Amount | None = None
    """Lower end of its 95 % confidence interval over launches; null below 3 launches."""
    median_high_ns: Amount | None = None
    """Upper end of that interval."""
    p90_ns: Amount | None = None
    """90th percentile of single calls; null below 64 calls."""
    p90_low_ns: Amount | None = None
    """Lower end of its confidence interval."""
    p90_high_ns: Amount | None = None
    """Upper end of its confidence interval."""
    p99_ns: Amount | None = None
    """99th percentile of single calls; null below 662 calls."""
    p99_low_ns: Amount | None = None
    """Lower end of its confidence interval."""
    p99_high_ns: Amount | None = None
    """Upper end of its confidence interval."""
    max_ns: Amount | None = None
    """Time of the slowest single call."""
    cpu_ns: Amount | None = None
    """CPU time (user and system) per call over all blocks, of all threads of the process without child processes.
    Pauses between calls are included, because threads may spin in them."""
    items_per_s: Amount | None = None
    """Items per second: size of the batch dimension / undisturbed time; calls per second without a batch dimension."""
    speedup: Amount | None = None
    """Baseline time / own time; above 1 is faster. It is the trimmed mean over all units, based on the fastest pieces
    of blocks, or on means of launches if calls vary."""
    speedup_low: Amount | None = None
    """Lower end of its 95 % confidence interval, corrected for interim analyses and the number of subjects; null below
    3 rounds or with one set-up."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    verdict: Verdict | None = None
    """Verdict derived from the interval."""
    unit: Unit | None = None
    """Sampling unit of the interval: launches, or set-ups if launches are too expensive, or rounds below 5 of
    either."""
    units: Count | None = None
    """Number of these units."""
    instruction_ratio: Amount | None = None
    """Own instructions / baseline instructions; below 1 is fewer. There is no interval, as each is counted once."""
    instruction_verdict: CountVerdict | None = None
    """Verdict derived from that ratio; `equal` within 0.5 %."""


class Case(AnyCase, frozen=True, kw_only=True):
    """A race: one or several models, their dimensions and the subjects."""

    fingerprint: dict[str, str] = {}
    """Label of each model -> hash of the model file and its external data."""
    dims: dict[str, Count] = {}
    """Size chosen for every free dimension of the model."""
    baseline: str | None = None
    """Name of the subject that the others are compared with."""
    min_effect: Amount = 0.01
    """Minimum effect used: the requested one, or the noise of this machine if larger."""
    subjects: tuple[Subject, ...] = ()
    """Subjects of the race."""
    yardstick: Measurement | None = None
    """A fixed model measured before and after the race in separate processes, used to compare runs without common
    subjects. Null if not measured."""
    yardstick_ns: Amount | None = None
    """Undisturbed time of a call of the yardstick; null if not measured."""
    node: str = ""
    """Name of the cluster node it ran on; empty if it ran on the local machine."""


class Bench(Document, frozen=True, kw_only=True):
    """Result of `onnxperf bench` or `onnxperf sweep`."""

    machine: Machine
    """Machine of the measurement."""
    command: str
    """Command line or Python call."""
    cases: tuple[Case, ...]
    """One case per race; a plain bench has one."""
