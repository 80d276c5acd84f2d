"""What a bisection tried, and where something changes."""

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
    """One of the places between which a change is searched."""

    name: str
    """What it is called in the steps."""
    cause: str = ""
    """What sets it apart from the one before it; empty for the first."""
    status: Status = "pending"
    """Whether it ran: ok, failed… or pending where it was not needed."""
    reason: str = ""
    """Why it did not run."""


class BisectStep(Struct, frozen=True, kw_only=True):
    """One comparison: a candidate against a candidate that was good before it."""

    purpose: Purpose
    """The ends of the row, the search between them, or the last comparison once more."""
    base: str
    """What it was compared with."""
    candidate: str
    """What was compared."""
    side: BisectSide
    """Whether the candidate is like the good end or like the bad one."""
    verdict: Verdict | None = None
    """Of the race, or of the probes of memory; null where outputs were compared."""
    ratio: Amount | None = None
    """Time or memory of the candidate divided by that of the base; above 1 is worse."""
    ratio_low: Amount | None = None
    """Lower end of its interval."""
    ratio_high: Amount | None = None
    """Upper end of its interval."""
    base_amount: Amount | None = None
    """The base: nanoseconds of a call, or bytes."""
    amount: Amount | None = None
    """The same of the candidate."""
    differs: str = ""
    """How the outputs differ; empty where they agree."""
    reason: str = ""
    """Why it is undecided."""
    race: Case | None = None
    """The race with its raw timings; null where none took place."""


class OperatorChange(Struct, frozen=True, kw_only=True):
    """An operator whose time changed between the last good and the first bad candidate, from profiles of both."""

    op_name: str
    """Operator."""
    before_us: Signed
    """Time of all its nodes per inference in the last good candidate, in microseconds."""
    after_us: Signed
    """The same in the first bad one."""


class Bisection(Experiment, frozen=True, kw_only=True):
    """What `onnxperf bisect` found: where along a row of candidates something changes."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Digest of the model."""
    over: Over
    """What the candidates are."""
    by: By = "time"
    """What is compared."""
    change: Change = "any"
    """Which changes were searched."""
    outcome: Outcome = "undecided"
    """How the search ended."""
    interrupted: bool = False
    """Stopped by the user before its end."""
    candidates: tuple[BisectCandidate, ...] = ()
    """In their order; for nodes, the parts that were tried."""
    steps: tuple[BisectStep, ...] = ()
    """All comparisons, in the order in which they were made."""
    most_steps: Count = 0
    """How many comparisons there could have been."""
    good: str = ""
    """The last candidate that is like the first end."""
    bad: str = ""
    """The first candidate that is like the other end."""
    causes: tuple[str, ...] = ()
    """What accounts for the change: one cause, or all that a range holds; for nodes, their names."""
    operators: tuple[OperatorChange, ...] = ()
    """Operators behind a change of time, the largest change first."""
    output: str = ""
    """File with the part of the model that still shows the difference."""
