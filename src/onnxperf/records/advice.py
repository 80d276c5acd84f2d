"""Advice on a model: what costs time or memory in it, and what the tested remedies gain."""

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
"""Outcomes of candidates that are faster than the defaults, regardless of the cause."""


class Trial(Struct, frozen=True, kw_only=True):
    """A candidate remedy: settings, a call style, or a rewritten model."""

    name: str
    """Name of its row, such as `threads=1`."""
    settings: dict[str, str] = {}
    """Settings by their public names, as in --variant."""
    call: str = ""
    """Call style; empty for the default."""
    rewrite: str = ""
    """Name of a model rewrite (`model/rewrites`); empty for the model itself."""
    ready_inputs: bool = False
    """Whether inputs are cast and made contiguous before the calls, so that no call copies them."""
    approximate: bool = False
    """Whether small output differences are expected; such a remedy is never recommended without saying so."""

    @property
    def key(self) -> tuple[object, ...]:
        """What it changes: remedies of different hazards with the same key share one subject of the race."""
        return tuple(sorted(self.settings.items())), self.call, self.rewrite, self.ready_inputs


class Hazard(Struct, frozen=True, kw_only=True):
    """Something in a model or its session that is known to cost time or memory."""

    kind: str
    """Kind of hazard, such as `denormals`; also the name of the module that detects it."""
    title: str
    """Short title."""
    evidence: str
    """Evidence found in this model, with numbers."""
    remedy: str
    """Recommended action, as one instruction."""
    nodes: tuple[str, ...] = ()
    """Affected nodes."""
    goal: Goal = "time"
    """Resource it costs: time, CPU time or memory."""
    share: Amount | None = None
    """Share of the inference time spent in these nodes, from 0 to 1; null if unknown."""
    trials: tuple[Trial, ...] = ()
    """Candidate remedies; the best one counts."""


class Tried(Struct, frozen=True, kw_only=True):
    """A candidate remedy and its result in the race."""

    hazard: str
    """Kind of the hazard it addresses."""
    trial: Trial
    """The candidate."""
    status: Status
    """Final status; `differs` if the outputs changed."""
    reason: str = ""
    """Why the status is not ok."""
    speedup: Amount | None = None
    """Time with the defaults / time with the remedy; above 1 is faster."""
    speedup_low: Amount | None = None
    """Lower end of the confidence interval, corrected for the number of candidates."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    cpu_ratio: Amount | None = None
    """CPU time with the remedy / CPU time with the defaults; below 1 is less."""
    cpu_low: Amount | None = None
    """Lower end of the interval of that ratio, corrected for the number of candidates; null if it is not judged."""
    cpu_high: Amount | None = None
    """Upper end of that interval."""
    memory_ratio: Amount | None = None
    """Memory with the remedy / memory with the defaults; below 1 is less, null if not measured."""
    memory_low: Amount | None = None
    """Lowest memory of any process with the remedy / highest with the defaults."""
    memory_high: Amount | None = None
    """Highest memory of any process with the remedy / lowest with the defaults."""
    verdict: Verdict | None = None
    """Verdict derived from the interval of the speedup."""
    outcome: TrialOutcome = "untried"
    """gain: faster, or less CPU time or memory if that is the goal, and not slower. unexplained: faster in two races,
    but by more than the share of the hazard allows, so there is another cause. trade: less CPU time or memory, but
    slower. none: no gain. undecided: too noisy to tell. untried: not measured, or the outputs differ."""


class OperatorShare(Struct, frozen=True, kw_only=True):
    """Time of all nodes of one operator type in the profile."""

    op_name: str
    """Operator type."""
    nodes: Count
    """Number of nodes of this type."""
    time_us: Amount
    """Time in a typical inference; the times of all operators add up to the time in nodes."""
    share: Amount
    """Share of the time in nodes, from 0 to 1."""


class Advice(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf advise`."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model file and its external data."""
    dims: dict[str, Count] = {}
    """Size chosen for every free dimension of the model."""
    session: SessionOptions = SessionOptions()
    """Session that every remedy is compared with."""
    hazards: tuple[Hazard, ...] = ()
    """Hazards found, largest measured gain first."""
    tried: tuple[Tried, ...] = ()
    """All tested remedies, including those that did not help."""
    races: tuple[Case, ...] = ()
    """The races behind the results: one with all remedies, one with the promising ones, and repeated ones that confirm
    gains."""
    operators: tuple[OperatorShare, ...] = ()
    """Where the time goes: all operators of the profile, most expensive first."""
    where: str = ""
    """Where the time goes, in one sentence."""
    overhead: Amount | None = None
    """Profiled / unprofiled time of a call in this profile."""
    next_command: str = ""
    """Next command to run, ready to paste; empty if a remedy helped."""
    output: str = ""
    """File with the rewritten model that gains the most."""
    interrupted: bool = False
    """Whether the user stopped it early."""
