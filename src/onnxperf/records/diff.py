"""How two profiles differ, node by node."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Findings
from onnxperf.records.numbers import Count, Delta, Signed
from onnxperf.records.profile import Profile
from onnxperf.records.race import Case
from onnxperf.records.trace import TensorTypes

Side = Literal["=", "-", "+"]

DIFF_VERSION = 3
"""Version 1 called the sides of a Diff base and opti; version 2 had the usual times of a Profile's version 1."""


class DiffRow(Struct, frozen=True, kw_only=True):
    """A node of two profiles, or of one of them."""

    side: Side
    """= in both, - only in the first, + only in the second."""
    label: str
    """Side, provider, operator, types, shapes and number in one word."""
    op_name: str
    """Operator type."""
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
    noise: bool = False
    """In both, and their times do not differ by more than the iterations among themselves."""


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
    noise: bool
    """On both sides, and the sums do not differ by more than the iterations among themselves."""

    @property
    def both_us(self) -> float:
        """Time on both sides."""
        return self.before_usual_us + self.after_usual_us


class SourceChange(Struct, frozen=True, kw_only=True):
    """Original nodes that one of the sides of a diff executes together."""

    names: tuple[str, ...]
    """The nodes; of what a side added, the executed ones."""
    link: str
    """What they share on a page."""
    before_us: Signed
    """Self time in the usual iteration of the first profile."""
    after_us: Signed
    """Self time in the usual iteration of the second profile."""

    @property
    def change_us(self) -> float:
        """Below 0 where time was won."""
        return self.after_us - self.before_us


class Diff(Findings, frozen=True, kw_only=True):
    """What `onnxperf diff` found."""

    version: Count = DIFF_VERSION
    """Version of this format."""
    before: Profile
    """The first side."""
    after: Profile
    """The second side."""
    rows: tuple[DiffRow, ...]
    """Their nodes, aligned; in the order of execution."""
    race: Case | None = None
    """Both sides raced without the profiler, where both can be run: the verdict comes from here."""
    command: str = ""
    """The command line, or the call in Python."""
