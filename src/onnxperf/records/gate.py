"""What a gate measured of a new model and of the one before it, and whether the new one may pass."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.race import Case

BASELINE, CONTROL, NEW = "baseline", "control", "new"
"""The subjects of every race: the model before, the same once more, and the new one."""
GateOutcome = Literal["passed", "failed", "undecided"]
Measure = Literal["time", "instructions", "memory", "outputs"]
AsWhat = Literal["undecided", "passed", "failed"]


class GateLimit(Struct, frozen=True, kw_only=True):
    """One limit, and what was measured of it in one case."""

    measure: Measure
    """Time or instructions of a call, memory of a process, or whether the outputs are equal."""
    dims: dict[str, int] = {}
    """Dimensions of the case."""
    limit: float | None = None
    """Largest ratio that is accepted; null for outputs."""
    ratio: float | None = None
    """New / baseline: above 1, the new one takes more."""
    ratio_low: float | None = None
    """Lower end of its 95 % interval; of memory, of its range."""
    ratio_high: float | None = None
    """Upper end of that."""
    baseline: float | None = None
    """The baseline's: nanoseconds, instructions or bytes."""
    new: float | None = None
    """The same of the new model."""
    outcome: GateOutcome = "undecided"
    """Whether it is kept."""
    reason: str = ""
    """Why it is not kept, or not decided."""


class GateControl(Struct, frozen=True, kw_only=True):
    """The baseline against itself in the same race: whether this machine could tell."""

    dims: dict[str, int] = {}
    """Dimensions of the case."""
    ratio: float | None = None
    """Its second copy / its first."""
    ratio_low: float | None = None
    """Lower end of its 95 % interval."""
    ratio_high: float | None = None
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
    """Label of the model that it is compared with."""
    limits: tuple[GateLimit, ...] = ()
    """Every limit in every case."""
    controls: tuple[GateControl, ...] = ()
    """The control of every case."""
    races: tuple[Case, ...] = ()
    """What was measured."""
    outcome: GateOutcome = "undecided"
    """Failed where a limit is not kept, undecided where one cannot be told or a control failed, else passed."""
    undecided_as: AsWhat = "undecided"
    """What an undecided gate counts as."""
    status: Status = "ok"
    """Failed where the gate is: then the command ends with exit code 1."""
    interrupted: bool = False
    """Stopped by the user before its end."""
