"""What a trace says: time per operator, per node and per node of the original model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean as mean
from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Scalar
from onnxperf.records.headroom import Headroom
from onnxperf.records.numbers import Amount, Count, Delta, Signed
from onnxperf.records.options import SessionOptions
from onnxperf.records.trace import TensorTypes

GroupKind = Literal["kept", "fused", "inserted", "folded", "duplicate", "removed", "unattributed"]

COMPARED_LAUNCHES = 5
"""Processes of each side that it takes to compare nodes: where its memory lies moves each node of a process."""
COMPARED_ITERATIONS = 3 + 2 * (COMPARED_LAUNCHES - 1)
"""Inferences of each side that are enough for that: two in each process, and the very first one."""
PROFILE_VERSION = 2
"""Version 1 took the usual time of a node from iterations whose sum was in the middle half."""


def steady(values: Sequence[int]) -> Sequence[int]:
    """All iterations but the first, which pays for caches and first allocations, where two or more remain."""
    return values[1:] if len(values) >= 3 else values


def usual(values: Sequence[int], alike: Sequence[int] = ()) -> float:
    """The mean of the faster half of the steady iterations; 0 where there is none.

    Other programs only ever make an iteration slower, so the faster half is the undisturbed one. Parts that are
    estimated each by itself never add up to more than their whole: a part is at most its mean over the iterations
    that are the faster half of the whole. `alike` has a number for the kind of each iteration (its shapes, its
    branches): each kind has its own faster half, and counts as often as it occurs.
    """
    counted = steady(values)
    first = len(values) - len(counted)
    kinds = kinds_of(counted, alike[first:])
    whole = math.fsum(len(each) * mean(sorted(each)[: (len(each) + 1) // 2]) for each in kinds)
    return whole / len(counted) if counted else 0.0


def kinds_of(values: Sequence[int], alike: Sequence[int]) -> list[list[int]]:
    """The values of each kind of iteration; all together where there is one kind."""
    kinds: dict[int, list[int]] = {}
    for number, value in zip(alike or [0] * len(values), values, strict=False):
        kinds.setdefault(number, []).append(value)
    return list(kinds.values())


def added(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Times added iteration by iteration."""
    return tuple(map(sum, zip(*rows, strict=True)))


def link(path: Sequence[str], name: str) -> str:
    """What rows, marks and boxes of a page share that stand for one node, or for nodes that are executed as one."""
    return " > ".join((*path, name))


def operator_link(op_name: str) -> str:
    """The same for all nodes of an operator type."""
    return f"operator {op_name}"


def module_link(module: str) -> str:
    """The same for all nodes of a module and of those inside it."""
    return f"module {module}"


def modules_around(module: str) -> Iterator[str]:
    """What a node of a module shares with the rows of this one and of those around it."""
    parts = module.split(".") if module else []
    yield from (module_link(".".join(parts[:depth])) for depth in range(len(parts) + 1))


class Times(Struct, frozen=True, kw_only=True):
    """The time of nodes in the iterations of a profile."""

    calls: Count
    """Executions over all iterations."""
    self_us: tuple[Delta, ...]
    """Time in each iteration, without what ran inside (bodies of If, Loop and Scan)."""
    usual_us: Signed
    """Self time in the usual iteration: the mean of its faster half of the iterations, the first left out."""

    @property
    def steady_us(self) -> Sequence[int]:
        """Self time in the iterations that count: all but the first, where two or more remain."""
        return steady(self.self_us)


class OperatorTime(Times, frozen=True, kw_only=True):
    """All nodes of one operator type."""

    op_name: str
    """Operator type."""
    nodes: Count
    """Distinct nodes, bodies of control flow included."""
    total_us: tuple[Delta, ...]
    """Time in each iteration, bodies included; an operator inside another of its type counts twice here."""


class NodeTime(Times, frozen=True, kw_only=True):
    """One node of the graph that onnxruntime executed."""

    name: str
    """Its name; where it had none, the operator type and a number."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies it is in, the outermost first."""
    op_name: str
    """Operator type."""
    provider: str = ""
    """Execution provider, in onnxruntime's words."""
    inputs: TensorTypes = ()
    """Types and shapes of its inputs in its first execution."""
    outputs: TensorTypes = ()
    """Types and shapes of its outputs in its first execution."""
    shapes: Count = 1
    """Different combinations of shapes that it met."""
    tensors: tuple[str, ...] = ()
    """Names of its outputs, where the executed graph is known."""
    attributes: str | None = None
    """Digest of its attributes, defaults included; null where the executed graph is not known."""
    sources: tuple[str, ...] = ()
    """Names of the original nodes whose work it does, those of its operator first, where the model is known."""
    module: str | None = None
    """Module of the source framework that it belongs to, such as encoder.layer.0; empty for the outermost one, null
    where the model does not say."""
    total_us: tuple[Delta, ...]
    """Time in each iteration, bodies included."""
    usual_total_us: Signed
    """Time in the usual iteration, bodies included."""
    kernel_us: Delta | None = None
    """Time of the kernels that it launched on another device, over all iterations, where the trace has it."""


class SourceGroup(Struct, frozen=True, kw_only=True):
    """Nodes of the original model, and the nodes of the executed one that do their work."""

    kind: GroupKind
    """kept: the same node; fused: several nodes, or another operator; inserted: executed, but in no original
    (reorders, casts, copies); folded: computed once, when the model was loaded; duplicate: the same as another
    node, which was kept; removed: had no effect; unattributed: its origin is unknown."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies it is in, the outermost first."""
    sources: tuple[str, ...] = ()
    """Names of the original nodes (operator type and position where they have none), in the order of the file."""
    source_ops: tuple[str, ...] = ()
    """Their operator types."""
    executed: tuple[str, ...] = ()
    """Names of the executed nodes."""
    executed_ops: tuple[str, ...] = ()
    """Their operator types."""
    same_as: str = ""
    """Of a duplicate: the node that was kept."""

    @property
    def link(self) -> str:
        """What its nodes share on a page; that of the first one that is executed."""
        return link(self.path, next(iter((*self.executed, *self.sources)), ""))


class ModuleTime(Times, frozen=True, kw_only=True):
    """A module of the source framework: the nodes of its own, and those of the modules inside."""

    module: str
    """Its path, such as encoder.layer.0; empty for the outermost one."""
    nodes: Count
    """Executed nodes, those of the modules inside included."""
    total_us: tuple[Delta, ...]
    """Time in each iteration, modules inside included."""
    usual_total_us: Signed
    """Time in the usual iteration, modules inside included."""


class SourceTime(Times, frozen=True, kw_only=True):
    """The time that a group of original nodes costs."""

    group: SourceGroup
    """The nodes."""


class Timeline(Struct, frozen=True, kw_only=True):
    """When the nodes of one inference ran: a column per figure, in the order in which they ended."""

    iteration: Count
    """Which inference, from 0: the one that took most nearly the usual time."""
    nodes: tuple[Count, ...]
    """Places of the executed nodes in the list of nodes."""
    start_us: tuple[Delta, ...]
    """When each began, since the first one began."""
    duration_us: tuple[Delta, ...]
    """How long each took, bodies included."""
    threads: tuple[Count, ...]
    """Number of the thread that ran it, from 0."""
    left_out: Count = 0
    """Executions that are not here, because there are too many: the shortest ones."""
    in_use_bytes: tuple[Delta | None, ...] = ()
    """What of onnxruntime's arena was in use when each ended; empty where the trace does not say."""
    held_bytes: tuple[Delta | None, ...] = ()
    """What the arena had taken from the system."""
    live_bytes: tuple[Delta | None, ...] = ()
    """Intermediate results and outputs that were needed while it ran; empty where the graph is not known."""
    loaded_bytes: Delta | None = None
    """In use before the first node of the first inference: weights that kernels have packed."""
    base_bytes: Delta | None = None
    """In use before the first node of this inference."""


class Profile(Experiment, frozen=True, kw_only=True):
    """What `onnxperf profile` found."""

    version: Count = PROFILE_VERSION
    """Version of this format."""
    model: str
    """Label of the model or of the trace."""
    fingerprint: str = ""
    """Hash of the model's file and its external data, if there was a model."""
    session: SessionOptions | None = None
    """How the session was set up, if we did that."""
    events: Count
    """Events in the trace."""
    iterations: Count
    """Complete inferences in it."""
    launches: tuple[Count, ...] = ()
    """How many of them ran in each process, where several took part; of later ones the first inference is left out.
    Empty for one process, which shows nothing about how much processes differ."""
    loading_us: Delta | None = None
    """Reading the model."""
    initialization_us: Delta | None = None
    """Building the session; with a model, this includes writing the optimised graph."""
    run_us: tuple[Delta, ...] = ()
    """Each inference in the trace, the first one first."""
    alike: tuple[Count, ...] = ()
    """For each inference a number that those share which executed the same nodes with the same shapes; empty where all
    did."""
    executor_us: tuple[Delta, ...] = ()
    """The part of each inference inside the executor."""
    profiled_ns: Amount | None = None
    """Median time of a call with the profiler on, seen from outside, the first one left out."""
    unprofiled_ns: Amount | None = None
    """Median time of a call without the profiler, measured in turn with it."""
    operators: tuple[OperatorTime, ...] = ()
    """Time per operator type, the most costly first."""
    nodes: tuple[NodeTime, ...] = ()
    """Time per node, in the order of execution."""
    sources: tuple[SourceTime, ...] = ()
    """Time per group of nodes of the original model, where that is known, the most costly first."""
    modules: tuple[ModuleTime, ...] = ()
    """Time per module of the source framework, where the exporter wrote them: each before those inside, the most costly
    first."""
    headroom: Headroom | None = None
    """How far from what this machine can do its nodes are, if that was requested."""
    timeline: Timeline | None = None
    """When the nodes of the usual inference ran; of many, the longest."""
    interrupted: bool = False
    """Stopped by the user before its end."""

    @property
    def overhead(self) -> float | None:
        """Profiled time / unprofiled time."""
        return self.profiled_ns / self.unprofiled_ns if self.profiled_ns and self.unprofiled_ns else None

    @property
    def node_links(self) -> tuple[str, ...]:
        """For each node what it shares on a page with the original nodes whose work it does."""
        groups = [source.group for source in self.sources]
        known = {(group.path, name): group.link for group in groups for name in group.executed}
        return tuple(known.get((node.path, node.name)) or link(node.path, node.name) for node in self.nodes)

    def by_launch(self, values: Sequence[int]) -> list[Sequence[int]]:
        """The steady ones of values that belong to inferences, launch by launch; none where there was one process."""
        ends = list(itertools.accumulate(self.launches))
        parts = [values[end - size : end] for end, size in zip(ends, self.launches, strict=True)]
        return [steady(parts[0]), *parts[1:]] if parts else []

    def usual_of(self, rows: Iterable[Times]) -> float:
        """Self time of several rows together in the usual iteration."""
        return usual(added(row.self_us for row in rows), self.alike)

    @property
    def usual_nodes_us(self) -> float:
        """Time in nodes in the usual iteration: the whole of which operators, nodes and groups are parts."""
        return self.usual_of(self.nodes)

    @property
    def usual_run_us(self) -> float | None:
        """The usual inference: never less than its time in nodes, unless these overlap."""
        return usual(self.run_us, self.alike) if self.run_us else None

    @property
    def outside_us(self) -> tuple[int, ...]:
        """The part of each inference outside of nodes; below 0 where nodes ran side by side."""
        inside = added(node.self_us for node in self.nodes)
        return tuple(run - nodes for run, nodes in zip(self.run_us, inside, strict=False))

    @property
    def nodes_overlap(self) -> bool:
        """Whether nodes ran side by side, so that their times add up to more than an inference."""
        return any(each < 0 for each in self.outside_us)

    @property
    def outside_share(self) -> float | None:
        """The share of the usual inference outside of nodes."""
        if not self.usual_run_us or not self.nodes or self.nodes_overlap:
            return None
        return usual(self.outside_us, self.alike) / self.usual_run_us


class Optimization(Experiment, frozen=True, kw_only=True):
    """What `onnxperf optimize` found."""

    model: str
    """Label of the model."""
    output: str
    """File that the optimised model was written to."""
    session: SessionOptions
    """Level, provider and options of the session that optimised it."""
    conditions: dict[str, Scalar] = {}
    """Version and providers of onnxruntime."""
    before: dict[str, Count]
    """Nodes per operator type of the original model, bodies included, the most frequent first."""
    after: dict[str, Count]
    """The same of the optimised model."""
    groups: tuple[SourceGroup, ...]
    """Which nodes became which."""
