"""Steps of a bisection, and where the change is."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count, Signed
from onnxperf.records.race import Case

Over = Literal["releases", "optimizers", "settings", "nodes"]
By = Literal["time", "accuracy", "memory"]
Change = Literal["any", "worse", "better"]
Purpose = Literal["ends", "search", "repeat"]
BisectSide = Literal["good", "bad", "undecided"]
Outcome = Literal["found", "range", "same", "other way", "undecided", "unconfirmed", "too few"]


class BisectCandidate(Struct, frozen=True, kw_only=True):
    """One of the points between which a change is searched."""

    name: str
    """Name used in the steps."""
    cause: str = ""
    """Difference from the previous candidate; empty for the first."""
    status: Status = "pending"
    """Whether it ran: ok, failed… or pending if it was not needed."""
    reason: str = ""
    """Why it did not run."""


class BisectStep(Struct, frozen=True, kw_only=True):
    """One comparison: a candidate against an earlier, good candidate."""

    purpose: Purpose
    """ends: compare both ends; search: search between them; repeat: repeat the last comparison."""
    base: str
    """Candidate used as the baseline."""
    candidate: str
    """Candidate under test."""
    side: BisectSide
    """Whether the candidate behaves like the good or the bad end."""
    verdict: Verdict | None = None
    """Verdict of the race or the memory probes; null if outputs were compared."""
    ratio: Amount | None = None
    """Time or memory of the candidate / that of the base; above 1 is worse."""
    ratio_low: Amount | None = None
    """Lower end of the confidence interval."""
    ratio_high: Amount | None = None
    """Upper end of the confidence interval."""
    base_amount: Amount | None = None
    """Amount of the base: nanoseconds per call, or bytes."""
    amount: Amount | None = None
    """Amount of the candidate."""
    differs: str = ""
    """How the outputs differ; empty if they agree."""
    reason: str = ""
    """Why it is undecided."""
    race: Case | None = None
    """The race with its raw timings; null if there was none."""


class OperatorChange(Struct, frozen=True, kw_only=True):
    """An operator whose time changed between the last good and the first bad candidate, according to profiles of
    both."""

    op_name: str
    """Operator type."""
    before_us: Signed
    """Time of all its nodes per inference in the last good candidate, in µs."""
    after_us: Signed
    """Time of all its nodes per inference in the first bad candidate, in µs."""


class Bisection(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf bisect`: where in a sequence of candidates something changes."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model."""
    over: Over
    """Kind of candidates."""
    by: By = "time"
    """Quantity that is compared."""
    change: Change = "any"
    """Which direction of change to search for."""
    outcome: Outcome = "undecided"
    """Outcome of the search."""
    interrupted: bool = False
    """Whether the user stopped it early."""
    candidates: tuple[BisectCandidate, ...] = ()
    """Candidates in order; with `over` = nodes, the tested parts of the model."""
    steps: tuple[BisectStep, ...] = ()
    """All comparisons, in the order they were made."""
    most_steps: Count = 0
    """Maximum number of comparisons."""
    good: str = ""
    """Last candidate that behaves like the first end."""
    bad: str = ""
    """First candidate that behaves like the other end."""
    causes: tuple[str, ...] = ()
    """Causes of the change: one cause, or all within a range; with `over` = nodes, the node names."""
    operators: tuple[OperatorChange, ...] = ()
    """Operators responsible for a change in time, largest change first."""
    output: str = ""
    """File with the smallest part of the model that still shows the difference."""
