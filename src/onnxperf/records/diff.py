"""Differences of two profiles, node by node."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Findings
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count, Delta, Signed
from onnxperf.records.profile import Profile, SourceGroup
from onnxperf.records.race import Case
from onnxperf.records.trace import TensorTypes

Side = Literal["=", "-", "+"]
Doubt = Literal["", "noise", "unproven"]


class DiffRow(Struct, frozen=True, kw_only=True):
    """A node present in both profiles or in one of them."""

    side: Side
    """`=` in both, `-` only in the first, `+` only in the second."""
    label: str
    """Side, provider, operator, types, shapes and number as one word."""
    op_name: str
    """Operator type."""
    after_op_name: str = ""
    """Operator type in the second profile, if different: a FusedConv does the work of a Conv."""
    provider: str
    """Execution provider by its onnxruntime name."""
    inputs: TensorTypes
    """Types and shapes of the inputs."""
    outputs: TensorTypes
    """Types and shapes of the outputs."""
    idx: Count
    """Index among the nodes with the same operator, types, shapes and provider, from 0."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies contain it."""
    before_name: str = ""
    """Name of the node in the first profile."""
    after_name: str = ""
    """Name of the node in the second profile."""
    before_us: tuple[Delta, ...] = ()
    """Self time in each iteration of the first profile."""
    after_us: tuple[Delta, ...] = ()
    """Self time in each iteration of the second profile."""
    before_usual_us: Signed = 0.0
    """Self time in a typical iteration of the first profile."""
    after_usual_us: Signed = 0.0
    """Self time in a typical iteration of the second profile."""
    before_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the first profile: the mean of its fastest quarter of the iterations. Empty if there
    was one process."""
    after_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the second profile."""
    speedup: Amount | None = None
    """First time / second time, both of a typical iteration (times below 1 µs count as 1 µs); null if one side lacks
    the node or there are too few launches to compare."""
    speedup_low: Amount | None = None
    """Lower end of the confidence interval, based on the variation between launches and corrected for the number of
    rows (Holm)."""
    speedup_high: Amount | None = None
    """Upper end of the confidence interval."""
    verdict: Verdict | None = None
    """faster or slower if the interval excludes 1 and the change is at least 5 % and more than 1 µs, else undecided;
    null if nothing was compared."""
    noise: bool = False
    """Whether the node is in both profiles and its times cannot be shown to differ."""


class DiffSum(Struct, frozen=True, kw_only=True):
    """Sum of several rows of a diff, and whether the sums differ."""

    name: str
    """Common label, or the number of rows."""
    others: bool = False
    """Whether this sums up the small nodes that are not listed separately."""
    rows: tuple[DiffRow, ...]
    """The rows (at least one)."""
    before_usual_us: Signed
    """Self time in a typical iteration of the first profile."""
    after_usual_us: Signed
    """Self time in a typical iteration of the second profile."""
    verdict: Verdict | None = None
    """Whether the sums differ; null if nothing was compared."""
    noise: bool
    """Whether the nodes are on both sides and their sums cannot be shown to differ."""

    @property
    def doubt(self) -> Doubt:
        """Why no difference is claimed: launches show none, or there were too few of them."""
        if not self.noise:
            return ""
        return "unproven" if self.verdict is None else "noise"

    @property
    def both_us(self) -> float:
        """Sum of the times of both sides."""
        return self.before_usual_us + self.after_usual_us


class SourceChange(Struct, frozen=True, kw_only=True):
    """Original nodes that one side of a diff executes together, and whether their time differs."""

    label: str
    """Label with the nodes and what they became, or the number of groups."""
    names: tuple[str, ...] = ()
    """Original nodes; empty for executed nodes without an original."""
    ops: tuple[str, ...] = ()
    """Operator types of the original nodes."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies contain them."""
    others: Count = 0
    """Number of small groups summed up here; 0 for a single group."""
    before_executed: tuple[str, ...] = ()
    """Nodes that the first side executes for them."""
    after_executed: tuple[str, ...] = ()
    """Nodes that the second side executes for them."""
    link: str = ""
    """Key that links them on a page."""
    before_us: Signed
    """Self time in a typical iteration of the first profile."""
    after_us: Signed
    """Self time in a typical iteration of the second profile."""
    before_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the first profile."""
    after_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the second profile."""
    speedup: Amount | None = None
    """First time / second time; null if one side executes nothing for them or has too few launches."""
    speedup_low: Amount | None = None
    """Lower end of the confidence interval."""
    speedup_high: Amount | None = None
    """Upper end of the confidence interval."""
    verdict: Verdict | None = None
    """Whether the times differ; null if nothing was compared."""

    @property
    def change_us(self) -> float:
        """Second time - first time; negative if time was saved."""
        return self.after_us - self.before_us

    @property
    def both_us(self) -> float:
        """Sum of the times of both sides."""
        return self.before_us + self.after_us

    @property
    def on_both(self) -> bool:
        """Whether both sides execute something for them."""
        return bool(self.others) or bool(self.before_executed and self.after_executed)

    @property
    def doubt(self) -> Doubt:
        """Why no difference is claimed for a group that both sides execute."""
        if not self.on_both or self.verdict in ("faster", "slower"):
            return ""
        return "unproven" if self.verdict is None else "noise"


class Diff(Findings, frozen=True, kw_only=True):
    """Result of `onnxperf diff`."""

    before: Profile
    """First profile."""
    after: Profile
    """Second profile."""
    rows: tuple[DiffRow, ...]
    """Aligned nodes of both profiles, in execution order."""
    groups: tuple[SourceGroup, ...] = ()
    """Which nodes of the first model became which of the second, if they are two models whose nodes mostly
    correspond."""
    race: Case | None = None
    """Race of both sides without the profiler, if both can be run; it decides the verdict."""
    command: str = ""
    """Command line or Python call."""
