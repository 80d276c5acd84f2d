"""What a gate measured of a new model and of the one before it, and whether the new one may pass."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.numbers import Amount, Count, Finite
from onnxperf.records.race import Case

BASELINE, CONTROL, NEW = "baseline", "control", "new"
"""The subjects of a race: the model before, the same once more, and the new one.

Where the baseline is a record, the new model races itself: it is `new`, and its second copy is the control."""
GateOutcome = Literal["passed", "failed", "undecided"]
Measure = Literal["time", "instructions", "memory", "outputs", "error"]
AsWhat = Literal["undecided", "passed", "failed"]


class GateLimit(Struct, frozen=True, kw_only=True):
    """One limit, and what was measured of it in one case."""

    measure: Measure
    """Time or instructions of a call, memory of a process, whether the outputs are equal, or their largest error."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    limit: Finite | None = None
    """Largest ratio that is accepted, or largest error; null for outputs."""
    ratio: Finite | None = None
    """New / baseline: above 1, the new one takes more."""
    ratio_low: Finite | None = None
    """Lower end of its 95 % interval, which holds for all sizes together (Holm); of memory, of its range."""
    ratio_high: Finite | None = None
    """Upper end of that."""
    baseline: Finite | None = None
    """The baseline's: nanoseconds, instructions or bytes."""
    new: Finite | None = None
    """The same of the new model; of an error, largest difference / largest value of an output."""
    baseline_values: tuple[Count, ...] = ()
    """Of memory, bytes that each process of the baseline needed; `baseline` is their median."""
    new_values: tuple[Count, ...] = ()
    """The same of the new model: a gate with this record as its baseline compares with all of them."""
    outcome: GateOutcome = "undecided"
    """Whether it is kept."""
    reason: str = ""
    """Why it is not kept, or not decided."""


class GateControl(Struct, frozen=True, kw_only=True):
    """The baseline against itself (the new model, where the baseline is a record): whether this machine could tell."""

    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    ratio: Amount | None = None
    """Its second copy / its first."""
    ratio_low: Amount | None = None
    """Lower end of its 95 % interval."""
    ratio_high: Amount | None = None
    """Upper end of that interval."""
    passed: bool = False
    """The two were not called different."""
    reason: str = ""
    """Why it did not pass."""


class Gate(Experiment, frozen=True, kw_only=True):
    """What `onnxperf gate` found."""

    model: str
    """Label of the new model."""
    baseline: str
    """Label of the model that it is compared with, or of the record."""
    recorded: bool = False
    """The baseline is a record of another run: times were divided by those of the yardstick in their own run."""
    limits: tuple[GateLimit, ...] = ()
    """Every limit in every case."""
    controls: tuple[GateControl, ...] = ()
    """The control of every case."""
    races: tuple[Case, ...] = ()
    """What was measured."""
    outcome: GateOutcome = "undecided"
    """Failed where a limit is not kept, undecided where one cannot be told (a control failed), else passed."""
    undecided_as: AsWhat = "undecided"
    """What an undecided gate counts as."""
    status: Status = "ok"
    """Failed where the gate is: then the command ends with exit code 1."""
    interrupted: bool = False
    """Stopped by the user before its end."""
