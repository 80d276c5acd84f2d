"""Advice on a model: what costs time or memory in it, and what was gained by trying a remedy."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count
from onnxperf.records.options import SessionOptions
from onnxperf.records.race import Case

Goal = Literal["time", "cpu", "memory"]
TrialOutcome = Literal["gain", "unexplained", "trade", "none", "undecided", "untried"]
FASTER: tuple[TrialOutcome, ...] = ("gain", "unexplained")
"""Outcomes of trials that are better than the defaults, whatever the cause."""


class Trial(Struct, frozen=True, kw_only=True):
    """A remedy that can be tried: settings, a call style, or a rewritten model."""

    name: str
    """What its row is called, such as `threads=1`."""
    settings: dict[str, str] = {}
    """Settings by the names that users give them, as in --variant."""
    call: str = ""
    """Call style; empty for the usual one."""
    rewrite: str = ""
    """Name of a rewrite of the model (`model/rewrites`); empty for the model itself."""
    ready_inputs: bool = False
    """Inputs are cast and made contiguous before the calls, so that no call copies them."""
    approximate: bool = False
    """Its outputs are expected to differ a little, so that it is only shown, never recommended without a word."""

    @property
    def key(self) -> tuple[object, ...]:
        """What it changes: trials of different hazards with the same key are one subject of the race."""
        return tuple(sorted(self.settings.items())), self.call, self.rewrite, self.ready_inputs


class Hazard(Struct, frozen=True, kw_only=True):
    """Something in a model or in its session that is known to cost time or memory."""

    kind: str
    """Its name, such as `denormals`; the file that finds it bears it."""
    title: str
    """What it is, in a few words."""
    evidence: str
    """What was seen in this model, with numbers."""
    remedy: str
    """What to do about it, as one instruction."""
    nodes: tuple[str, ...] = ()
    """Nodes that it is about."""
    goal: Goal = "time"
    """What it costs: time, CPU time or memory."""
    share: Amount | None = None
    """Part of the time of an inference in these nodes, from 0 to 1, where known."""
    trials: tuple[Trial, ...] = ()
    """What can be tried against it; the best of them counts."""


class Tried(Struct, frozen=True, kw_only=True):
    """A trial, and what it gave in the race."""

    hazard: str
    """The kind of hazard that it is meant to remedy."""
    trial: Trial
    """What was tried."""
    status: Status
    """How it ended; `differs` where the outputs changed."""
    reason: str = ""
    """Why it is not ok."""
    speedup: Amount | None = None
    """Time of the defaults / its time, above 1 is faster."""
    speedup_low: Amount | None = None
    """Lower end of the interval, widened for all trials together."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    cpu_ratio: Amount | None = None
    """Its CPU time / that of the defaults, below 1 is less."""
    cpu_low: Amount | None = None
    """Lower end of the interval of that ratio, widened for all trials together; null where it is not judged."""
    cpu_high: Amount | None = None
    """Upper end of that interval."""
    memory_ratio: Amount | None = None
    """Its memory / that of the defaults, below 1 is less, where it was measured."""
    memory_low: Amount | None = None
    """Least of its memory in any process / most of the defaults."""
    memory_high: Amount | None = None
    """Most of its memory in any process / least of the defaults."""
    verdict: Verdict | None = None
    """What the interval of the speedup says."""
    outcome: TrialOutcome = "untried"
    """gain: faster, or less CPU time or memory where that is the goal, and not slower; unexplained: faster in two
    races, by more than the share of the hazard allows, so that it is not its effect; trade: less CPU time or memory,
    but slower; none: no gain; undecided: too noisy to tell; untried: it was not measured, or its outputs differ."""


class OperatorShare(Struct, frozen=True, kw_only=True):
    """The time of all nodes of one operator type in the profile."""

    op_name: str
    """Operator type."""
    nodes: Count
    """Nodes of this type."""
    time_us: Amount
    """Time in the usual inference; those of all operators add up to the time in nodes."""
    share: Amount
    """Part of the time in nodes, from 0 to 1."""


class Advice(Experiment, frozen=True, kw_only=True):
    """What `onnxperf advise` found."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of its file and its external data."""
    dims: dict[str, Count] = {}
    """Every dimension that was free in the model, with the size it got."""
    session: SessionOptions = SessionOptions()
    """The session that everything was compared with."""
    hazards: tuple[Hazard, ...] = ()
    """What was found, the largest measured gain first."""
    tried: tuple[Tried, ...] = ()
    """Every remedy that was tried, those that did not help included."""
    races: tuple[Case, ...] = ()
    """The races behind them: of all trials, of those that may help, and of gains that were measured again."""
    operators: tuple[OperatorShare, ...] = ()
    """Where the time goes: all operators of the profile, the most costly first."""
    where: str = ""
    """The same in a sentence."""
    overhead: Amount | None = None
    """Profiled time of a call / unprofiled time, in this profile."""
    next_command: str = ""
    """What to run next, ready to paste; empty where a remedy helped."""
    output: str = ""
    """File that the rewritten model with the largest gain was written to."""
    interrupted: bool = False
    """Stopped by the user before its end."""
