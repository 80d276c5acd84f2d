"""Measurements of a new model and its predecessor, and whether the new model passes the gate."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.numbers import Amount, Count, Finite
from onnxperf.records.race import Case

BASELINE, CONTROL, NEW = "baseline", "control", "new"
"""The subjects of a race: the previous model, a second copy of it, and the new model.

If the baseline is a record, the new model races itself: it is `new`, and its second copy is the control.
"""
GateOutcome = Literal["passed", "failed", "undecided"]
Measure = Literal["time", "instructions", "memory", "outputs", "error"]
AsWhat = Literal["undecided", "passed", "failed"]


class GateLimit(Struct, frozen=True, kw_only=True):
    """One limit, and its measured value in one case."""

    measure: Measure
    """Measured quantity: time or instructions per call, memory of a process, equality of the outputs, or their largest
    error."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    limit: Finite | None = None
    """Largest accepted ratio or error; null for outputs."""
    ratio: Finite | None = None
    """New / baseline; above 1, the new model takes more."""
    ratio_low: Finite | None = None
    """Lower end of its 95 % interval, corrected for the number of sizes (Holm); for memory, lower end of its range."""
    ratio_high: Finite | None = None
    """Upper end of that interval or range."""
    baseline: Finite | None = None
    """Value of the baseline: nanoseconds, instructions or bytes."""
    new: Finite | None = None
    """Value of the new model; for an error, largest difference / largest value of an output."""
    baseline_values: tuple[Count, ...] = ()
    """For memory, bytes needed by each process of the baseline; `baseline` is their median."""
    new_values: tuple[Count, ...] = ()
    """The same for the new model; a gate that uses this record as its baseline compares with all of them."""
    outcome: GateOutcome = "undecided"
    """Whether the limit is met."""
    reason: str = ""
    """Why the limit is not met or undecided."""


class GateControl(Struct, frozen=True, kw_only=True):
    """The baseline against itself, to check that the machine can measure (the new model if the baseline is a
    record)."""

    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    ratio: Amount | None = None
    """Second copy / first copy."""
    ratio_low: Amount | None = None
    """Lower end of the 95 % confidence interval."""
    ratio_high: Amount | None = None
    """Upper end of that interval."""
    passed: bool = False
    """Whether no difference was claimed between the two copies."""
    reason: str = ""
    """Why the control did not pass."""


class Gate(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf gate`."""

    model: str
    """Label of the new model."""
    baseline: str
    """Label of the baseline model or record."""
    recorded: bool = False
    """Whether the baseline is a record of another run; times are then divided by the yardstick's time in the same
    run."""
    limits: tuple[GateLimit, ...] = ()
    """All limits of all cases."""
    controls: tuple[GateControl, ...] = ()
    """Controls of all cases."""
    races: tuple[Case, ...] = ()
    """Races with the measurements."""
    outcome: GateOutcome = "undecided"
    """Failed if a limit is not met, undecided if one cannot be decided (or a control failed), else passed."""
    undecided_as: AsWhat = "undecided"
    """How an undecided gate is counted."""
    status: Status = "ok"
    """Failed if the gate failed; the command then exits with code 1."""
    interrupted: bool = False
    """Whether the user stopped it early."""
