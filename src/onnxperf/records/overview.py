"""What a team looks at first: the time of every model now, what needs attention, and the latest gates."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.gate import GateOutcome
from onnxperf.records.history import ChangePoint, HistorySeries
from onnxperf.records.numbers import Amount, Count

Trend = Literal["slower", "faster", "equivalent", "undecided"]


class ModelNow(Struct, frozen=True, kw_only=True):
    """One case of a model: its leading series, which is the one measured last."""

    model: str
    """Label of the model."""
    series: HistorySeries
    """The leading series, with its newest runs and change points."""
    others: Count = 0
    """Number of other series of this case: other subjects, settings and machines."""
    time_ns: Amount | None = None
    """Time of a call now, in ns: the level since the last change point; null if no run has a time."""
    trend: Trend = "undecided"
    """Direction of the last change point; equivalent without one, undecided if there are too few runs."""
    change: ChangePoint | None = None
    """The last change point."""
    run: str = ""
    """Id of the newest run."""
    started: str = ""
    """Its start time: ISO 8601, UTC."""


class Concern(Struct, frozen=True, kw_only=True):
    """Something that needs attention."""

    what: Literal["slower", "failed", "gate failed", "gate undecided"]
    """Kind of concern."""
    model: str
    """Label of the model."""
    text: str
    """The reason, as the end of a sentence."""
    run: str
    """Id of the run since which it holds."""
    started: str
    """Start time of that run: ISO 8601, UTC."""


class GateNow(Struct, frozen=True, kw_only=True):
    """One of the latest gates."""

    run: str
    """Id of the run."""
    started: str
    """Start time: ISO 8601, UTC."""
    model: str
    """Label of the new model."""
    outcome: GateOutcome | None = None
    """Whether it passed; null if its record cannot be read."""
    answer: str = ""
    """The result in one plain sentence."""
    commit: str = ""
    """Git commit; empty if unknown."""


class Overview(Struct, frozen=True, kw_only=True):
    """Models, concerns and gates of a store."""

    models: tuple[ModelNow, ...] = ()
    """One per model and case, by label."""
    concerns: tuple[Concern, ...] = ()
    """What needs attention, newest first."""
    gates: tuple[GateNow, ...] = ()
    """The latest gates, newest first."""
    runs: Count = 0
    """Number of runs that meet the filters."""
    left_out: Count = 0
    """Number of models with older measurements than those listed."""
