"""What a trace says: time per operator, per node and per node of the original model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Scalar
from onnxperf.records.headroom import Headroom
from onnxperf.records.numbers import Amount, Count, Delta, Signed
from onnxperf.records.options import SessionOptions
from onnxperf.records.trace import TensorTypes

GroupKind = Literal["kept", "fused", "inserted", "folded", "duplicate", "removed", "unattributed"]

PROFILED_LAUNCHES = 3
"""Processes of a profile: where its memory lies moves each node of a process."""
COMPARED_LAUNCHES = 5
"""Processes of each side that it takes to compare nodes."""
LARGE_OVERHEAD, DOMINATING_OVERHEAD = 1.5, 3.0
"""Profiled / unprofiled time of a call from which on this leads the answer, and from which on the time in nodes is
mostly the profiler's."""
_SHORT_US = 10
"""Times below this are averaged over consecutive iterations first: the quickest of whole microseconds are all alike."""
_FEWEST_CHUNKS = 6


def iterations_for(launches: int) -> int:
    """Inferences that are enough for so many processes: two in each, and the very first one."""
    return 1 + 2 * launches


def steady(values: Sequence[int]) -> Sequence[int]:
    """All iterations but the first, which pays for caches and first allocations, where two or more remain."""
    return values[1:] if len(values) >= 3 else values


def usual(values: Sequence[int], alike: Sequence[int] = ()) -> float:
    """The time of a node, or of an inference: that of its steady iterations, of all launches together."""
    counted = steady(values)
    return undisturbed(counted, alike[len(values) - len(counted) :])


def undisturbed(values: Sequence[int], alike: Sequence[int] = ()) -> float:
    """The mean of the quickest quarter of times, 0 where there is none: other programs only ever add time.

    `alike` has a number for the kind of each iteration (its shapes, its branches): each kind has its own quickest
    quarter, and counts as often as it occurs.
    """
    kinds = kinds_of(values, alike)
    return math.fsum(len(each) * _quickest(each) for each in kinds) / len(values) if values else 0.0


def _quickest(values: Sequence[int]) -> float:
    size = math.ceil(_SHORT_US / max(median(values), 1))
    size = max(1, min(size, len(values) // _FEWEST_CHUNKS))
    means = [fmean(values[start : start + size]) for start in range(0, len(values) - size + 1, size)]
    return fmean(sorted(means)[: quickest_of(len(means))])


def quickest_of(number: int) -> int:
    """How many of so many times are the quickest quarter, two at least."""
    return max(2, math.ceil(number / 4))


def kinds_of(values: Sequence[int], alike: Sequence[int]) -> list[list[int]]:
    """The values of each kind of iteration; all together where there is one kind."""
    kinds: dict[int, list[int]] = {}
    for number, value in zip(alike or [0] * len(values), values, strict=False):
        kinds.setdefault(number, []).append(value)
    return list(kinds.values())


def sum_of(rows: Iterable[Times]) -> float:
    """The time of several rows together: nothing but the sum of their times."""
    return math.fsum(row.usual_us for row in rows)


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
    """Self time in the usual iteration. Of a node: the mean of the quickest quarter of its iterations, the first left
    out, where those of less than 10 us are averaged in short rows first. Of all else: the sum of its nodes."""

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
    """Time in the usual iteration with the nodes in its bodies: the sum of their times and of its own."""
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
    """Time in the usual iteration with the modules inside: the sum of all nodes in them."""


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
    Empty for one process."""
    loading_us: Delta | None = None
    """Reading the model."""
    initialization_us: Delta | None = None
    """Building the session; with a model, this includes writing the optimised graph."""
    run_us: tuple[Delta, ...] = ()
    """Each inference in the trace, the first one first."""
    alike: tuple[Count, ...] = ()
    """For each inference a number that those share which executed the same nodes with the same shapes; empty where all
    did."""
    waited_us: tuple[Delta | None, ...] = ()
    """How long threads together waited for a processor in each inference; null for the first, empty where the kernel
    does not tell."""
    executor_us: tuple[Delta, ...] = ()
    """The part of each inference inside the executor."""
    nodes_us: Signed = 0.0
    """Time in nodes per inference: the sum of the times of all nodes, and of all operators."""
    inference_us: Signed | None = None
    """Measured inference, the mean of the quickest quarter. It is longer than the sum of nodes by the time outside
    nodes, and by interference: each node has its own quickest iterations."""
    profiled_ns: Amount | None = None
    """Time of a call with the profiler on, seen from outside: the mean of the quickest quarter."""
    unprofiled_ns: Amount | None = None
    """Time of a call without the profiler: the same of calls in turn with it, or the time in the race of a diff."""
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

    @property
    def usual_nodes_us(self) -> float:
        """Time in nodes in the usual iteration: the sum of which operators, nodes and groups are parts."""
        return sum_of(self.nodes)

    @property
    def usual_run_us(self) -> float | None:
        """The measured inference."""
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
