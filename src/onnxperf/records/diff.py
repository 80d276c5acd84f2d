"""How two profiles differ, node by node."""

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
    """A node of two profiles, or of one of them."""

    side: Side
    """= in both, - only in the first, + only in the second."""
    label: str
    """Side, provider, operator, types, shapes and number in one word."""
    op_name: str
    """Operator type."""
    after_op_name: str = ""
    """Operator type in the second profile, if it is another one: a FusedConv does the work of a Conv."""
    provider: str
    """Execution provider, in onnxruntime's words."""
    inputs: TensorTypes
    """Types and shapes of the inputs."""
    outputs: TensorTypes
    """Types and shapes of the outputs."""
    idx: Count
    """Number among the nodes of the same operator, types, shapes and provider, from 0."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies it is in."""
    before_name: str = ""
    """Name of the node in the first profile."""
    after_name: str = ""
    """Name of the node in the second profile."""
    before_us: tuple[Delta, ...] = ()
    """Self time in each iteration of the first profile."""
    after_us: tuple[Delta, ...] = ()
    """Self time in each iteration of the second profile."""
    before_usual_us: Signed = 0.0
    """Self time in the usual iteration of the first profile."""
    after_usual_us: Signed = 0.0
    """Self time in the usual iteration of the second profile."""
    before_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the first profile: the mean of its quickest quarter of the iterations. Empty where
    there was one process."""
    after_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the second profile."""
    speedup: Amount | None = None
    """First time / second time, those of the usual iteration (times below 1 us count as 1 us); null where one side
    has no such node, or where there are too few launches to compare."""
    speedup_low: Amount | None = None
    """Lower end of its interval, as wide as launches differ, whose level takes all rows into account (Holm)."""
    speedup_high: Amount | None = None
    """Upper end of its interval."""
    verdict: Verdict | None = None
    """faster or slower where the interval excludes 1 and the change is at least 5 % and more than 1 us, else undecided;
    null where nothing was compared."""
    noise: bool = False
    """In both, and nothing shows that their times differ."""


class DiffSum(Struct, frozen=True, kw_only=True):
    """Rows of a diff together, and whether their sums differ."""

    name: str
    """Their label, or how many they are."""
    others: bool = False
    """Whether these are the small ones that have no row of their own."""
    rows: tuple[DiffRow, ...]
    """The rows, at least one."""
    before_usual_us: Signed
    """Self time in the usual iteration of the first profile."""
    after_usual_us: Signed
    """Self time in the usual iteration of the second profile."""
    verdict: Verdict | None = None
    """Whether the sums differ; null where nothing was compared."""
    noise: bool
    """On both sides, and nothing shows that the sums differ."""

    @property
    def doubt(self) -> Doubt:
        """Why nothing is claimed: launches show no difference, or there were too few of them to show any."""
        if not self.noise:
            return ""
        return "unproven" if self.verdict is None else "noise"

    @property
    def both_us(self) -> float:
        """Time on both sides."""
        return self.before_usual_us + self.after_usual_us


class SourceChange(Struct, frozen=True, kw_only=True):
    """Original nodes that one of the sides of a diff executes together, and whether their time differs."""

    label: str
    """What they are and what became of them, or how many groups they are."""
    names: tuple[str, ...] = ()
    """The original nodes; empty for executed nodes that belong to none."""
    ops: tuple[str, ...] = ()
    """Their operator types."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies they are in."""
    others: Count = 0
    """Of small groups together: how many they are."""
    before_executed: tuple[str, ...] = ()
    """What the first side executes for them."""
    after_executed: tuple[str, ...] = ()
    """What the second side executes for them."""
    link: str = ""
    """What they share on a page."""
    before_us: Signed
    """Self time in the usual iteration of the first profile."""
    after_us: Signed
    """Self time in the usual iteration of the second profile."""
    before_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the first profile."""
    after_launch_us: tuple[Signed, ...] = ()
    """Self time in each launch of the second profile."""
    speedup: Amount | None = None
    """First time / second time; null where one side executes nothing for them, or has too few launches."""
    speedup_low: Amount | None = None
    """Lower end of its interval."""
    speedup_high: Amount | None = None
    """Upper end of its interval."""
    verdict: Verdict | None = None
    """Whether the times differ; null where nothing was compared."""

    @property
    def change_us(self) -> float:
        """Below 0 where time was won."""
        return self.after_us - self.before_us

    @property
    def both_us(self) -> float:
        """Time on both sides."""
        return self.before_us + self.after_us

    @property
    def on_both(self) -> bool:
        """Whether both sides execute something for them."""
        return bool(self.others) or bool(self.before_executed and self.after_executed)

    @property
    def doubt(self) -> Doubt:
        """Why nothing is claimed about a group that both sides execute."""
        if not self.on_both or self.verdict in ("faster", "slower"):
            return ""
        return "unproven" if self.verdict is None else "noise"


class Diff(Findings, frozen=True, kw_only=True):
    """What `onnxperf diff` found."""

    before: Profile
    """The first side."""
    after: Profile
    """The second side."""
    rows: tuple[DiffRow, ...]
    """Their nodes, aligned; in the order of execution."""
    groups: tuple[SourceGroup, ...] = ()
    """Which nodes of the first model became which of the second, if they are two of which most nodes correspond."""
    race: Case | None = None
    """Both sides raced without the profiler, where both can be run: the verdict comes from here."""
    command: str = ""
    """The command line, or the call in Python."""
