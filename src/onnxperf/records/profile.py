"""Profiles: time per operator, per node and per node of the original model."""

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
"""Processes of a profile: the memory layout of a process shifts the time of each node."""
COMPARED_LAUNCHES = 5
"""Minimum number of processes per side for comparing nodes."""
LARGE_OVERHEAD, DOMINATING_OVERHEAD = 1.5, 3.0
"""Ratios of profiled to unprofiled time from which the overhead leads the answer, and from which the time in nodes is
mostly the profiler's."""
_SHORT_US = 10
"""Times below this are first averaged over consecutive iterations: the fastest of whole microseconds are all equal."""
_FEWEST_CHUNKS = 6


def iterations_for(launches: int) -> int:
    """Sufficient number of inferences for so many processes: two each, plus the very first one."""
    return 1 + 2 * launches


def steady(values: Sequence[int]) -> Sequence[int]:
    """All iterations except the first, which includes cold caches and first allocations, if two or more remain."""
    return values[1:] if len(values) >= 3 else values


def usual(values: Sequence[int], alike: Sequence[int] = ()) -> float:
    """Time of a node or an inference over the steady iterations of all launches."""
    counted = steady(values)
    return undisturbed(counted, alike[len(values) - len(counted) :])


def undisturbed(values: Sequence[int], alike: Sequence[int] = ()) -> float:
    """The mean of the fastest quarter of times, 0 if there are none: other programs only ever add time.

    `alike` contains a number for the kind of each iteration (its shapes, its branches): each kind has its own fastest
    quarter, and is weighted by how often it occurs.
    """
    kinds = kinds_of(values, alike)
    return math.fsum(len(each) * _quickest(each) for each in kinds) / len(values) if values else 0.0


def _quickest(values: Sequence[int]) -> float:
    size = math.ceil(_SHORT_US / max(median(values), 1))
    size = max(1, min(size, len(values) // _FEWEST_CHUNKS))
    means = [fmean(values[start : start + size]) for start in range(0, len(values) - size + 1, size)]
    return fmean(sorted(means)[: quickest_of(len(means))])


def quickest_of(number: int) -> int:
    """Size of the fastest quarter of so many times, at least two."""
    return max(2, math.ceil(number / 4))


def kinds_of(values: Sequence[int], alike: Sequence[int]) -> list[list[int]]:
    """The values of each kind of iteration."""
    kinds: dict[int, list[int]] = {}
    for number, value in zip(alike or [0] * len(values), values, strict=False):
        kinds.setdefault(number, []).append(value)
    return list(kinds.values())


def sum_of(rows: Iterable[Times]) -> float:
    """Time of several rows together: the sum of their times."""
    return math.fsum(row.usual_us for row in rows)


def added(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Times added iteration by iteration."""
    return tuple(map(sum, zip(*rows, strict=True)))


def link(path: Sequence[str], name: str) -> str:
    """Key that links the rows, marks and boxes of a page for one node, or for nodes executed as one."""
    return " > ".join((*path, name))


def operator_link(op_name: str) -> str:
    """Key for all nodes of an operator type."""
    return f"operator {op_name}"


def module_link(module: str) -> str:
    """Key for all nodes of a module and its nested modules."""
    return f"module {module}"


def modules_around(module: str) -> Iterator[str]:
    """Keys of a node's module and of all modules around it."""
    parts = module.split(".") if module else []
    yield from (module_link(".".join(parts[:depth])) for depth in range(len(parts) + 1))


class Times(Struct, frozen=True, kw_only=True):
    """Times of nodes in the iterations of a profile."""

    calls: Count
    """Number of executions over all iterations."""
    self_us: tuple[Delta, ...]
    """Self time in each iteration, excluding the bodies of If, Loop and Scan."""
    usual_us: Signed
    """Self time in a typical iteration. For a node: the mean of the fastest quarter of its iterations without the
    first; times below 10 µs are first averaged over a few consecutive iterations. For everything else: the sum of its
    nodes."""

    @property
    def steady_us(self) -> Sequence[int]:
        """Self time in the iterations that count: all except the first, if two or more remain."""
        return steady(self.self_us)


class OperatorTime(Times, frozen=True, kw_only=True):
    """All nodes of one operator type."""

    op_name: str
    """Operator type."""
    nodes: Count
    """Number of distinct nodes, including those in control-flow bodies."""
    total_us: tuple[Delta, ...]
    """Time in each iteration, including bodies; an operator inside another of the same type counts twice here."""


class NodeTime(Times, frozen=True, kw_only=True):
    """One node of the executed graph."""

    name: str
    """Node name; operator type and a number for unnamed nodes."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies contain it, outermost first."""
    op_name: str
    """Operator type."""
    provider: str = ""
    """Execution provider by its onnxruntime name."""
    inputs: TensorTypes = ()
    """Types and shapes of its inputs in its first execution."""
    outputs: TensorTypes = ()
    """Types and shapes of its outputs in its first execution."""
    shapes: Count = 1
    """Number of distinct combinations of input shapes."""
    tensors: tuple[str, ...] = ()
    """Names of its outputs, if the executed graph is known."""
    attributes: str | None = None
    """Hash of its attributes, including defaults; null if the executed graph is unknown."""
    sources: tuple[str, ...] = ()
    """Names of the original nodes whose work it does, those with its operator first, if the model is known."""
    module: str | None = None
    """Module of the source framework it belongs to, such as encoder.layer.0; empty for the outermost module, null if
    unknown."""
    total_us: tuple[Delta, ...]
    """Time in each iteration, including bodies."""
    usual_total_us: Signed
    """Time in a typical iteration including the nodes in its bodies."""
    kernel_us: Delta | None = None
    """Time of the kernels it launched on another device, over all iterations; null if the trace lacks it."""


class SourceGroup(Struct, frozen=True, kw_only=True):
    """Nodes of the original model, and the executed nodes that do their work."""

    kind: GroupKind
    """kept: the same node. fused: several nodes, or another operator. inserted: executed, but not in the original model
    (reorders, casts, copies). folded: computed once, when the model was loaded. duplicate: identical to another node,
    which is kept. removed: without effect. unattributed: of unknown origin."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies contain it, outermost first."""
    sources: tuple[str, ...] = ()
    """Names of the original nodes (operator type and position for unnamed ones), in file order."""
    source_ops: tuple[str, ...] = ()
    """Operator types of the original nodes."""
    executed: tuple[str, ...] = ()
    """Names of the executed nodes."""
    executed_ops: tuple[str, ...] = ()
    """Operator types of the executed nodes."""
    same_as: str = ""
    """For a duplicate: the node that is kept."""

    @property
    def link(self) -> str:
        """Key that links its nodes on a page: that of the first executed node."""
        return link(self.path, next(iter((*self.executed, *self.sources)), ""))


class ModuleTime(Times, frozen=True, kw_only=True):
    """A module of the source framework: its own nodes and those of nested modules."""

    module: str
    """Module path, such as encoder.layer.0; empty for the outermost module."""
    nodes: Count
    """Number of executed nodes, including those of nested modules."""
    total_us: tuple[Delta, ...]
    """Time in each iteration, including nested modules."""
    usual_total_us: Signed
    """Time in a typical iteration, including nested modules: the sum of all their nodes."""


class SourceTime(Times, frozen=True, kw_only=True):
    """Time of a group of original nodes."""

    group: SourceGroup
    """The group of nodes."""


class Timeline(Struct, frozen=True, kw_only=True):
    """When the nodes of one inference ran: one column per quantity, in the order the nodes ended."""

    iteration: Count
    """Index of the inference, from 0: the one whose node times are closest to the typical ones."""
    nodes: tuple[Count, ...]
    """Indices of the executed nodes in the list of nodes."""
    start_us: tuple[Delta, ...]
    """Start of each execution, since the start of the first."""
    duration_us: tuple[Delta, ...]
    """Duration of each execution, including bodies."""
    threads: tuple[Count, ...]
    """Index of the thread that ran it, from 0."""
    left_out: Count = 0
    """Number of executions omitted because there are too many: the shortest ones."""
    in_use_bytes: tuple[Delta | None, ...] = ()
    """Memory in use in onnxruntime's arena when each ended; empty if the trace lacks it."""
    held_bytes: tuple[Delta | None, ...] = ()
    """Memory that the arena had taken from the system."""
    live_bytes: tuple[Delta | None, ...] = ()
    """Intermediate results and outputs that were live while it ran; empty if the graph is unknown."""
    loaded_bytes: Delta | None = None
    """Memory in use before the first node of the first inference: weights packed by kernels."""
    base_bytes: Delta | None = None
    """Memory in use before the first node of this inference."""


class Profile(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf profile`."""

    model: str
    """Label of the model or of the trace."""
    fingerprint: str = ""
    """Hash of the model file and its external data; empty without a model."""
    session: SessionOptions | None = None
    """Settings of the session; null if it was not opened by onnxperf."""
    events: Count
    """Number of events in the trace."""
    iterations: Count
    """Number of complete inferences in the trace."""
    launches: tuple[Count, ...] = ()
    """Number of inferences in each process, without the first inference of each process after the first. Empty for a
    single process."""
    loading_us: Delta | None = None
    """Time for reading the model."""
    initialization_us: Delta | None = None
    """Time for building the session; with a model, this includes writing the optimized graph."""
    run_us: tuple[Delta, ...] = ()
    """Time of each inference in the trace, in order."""
    alike: tuple[Count, ...] = ()
    """For each inference, a number shared by inferences that executed the same nodes with the same shapes; empty if all
    did."""
    waited_us: tuple[Delta | None, ...] = ()
    """Total time that threads waited for a processor in each inference; null for the first, empty if the kernel does
    not report it."""
    executor_us: tuple[Delta, ...] = ()
    """Time of each inference inside the executor."""
    nodes_us: Signed = 0.0
    """Time in nodes per inference: the sum over all nodes, which equals the sum over all operators."""
    inference_us: Signed | None = None
    """Measured time of an inference: the mean of the fastest quarter. It exceeds the sum of nodes by the time outside
    nodes and by interference, since each node has its own fastest iterations."""
    profiled_ns: Amount | None = None
    """Time of a call with the profiler on, measured by the caller: the mean of the fastest quarter."""
    unprofiled_ns: Amount | None = None
    """Time of a call without the profiler, from alternating calls or from the race of a diff."""
    operators: tuple[OperatorTime, ...] = ()
    """Time per operator type, most expensive first."""
    nodes: tuple[NodeTime, ...] = ()
    """Time per node, in execution order."""
    sources: tuple[SourceTime, ...] = ()
    """Time per group of original nodes, if the model is known, most expensive first."""
    modules: tuple[ModuleTime, ...] = ()
    """Time per module of the source framework, if the exporter recorded them: each before its nested modules, most
    expensive first."""
    headroom: Headroom | None = None
    """How close the nodes come to the peaks of this machine, if requested."""
    timeline: Timeline | None = None
    """When the nodes of a typical inference ran; if there are too many, the longest ones."""
    other_timelines: tuple[Timeline, ...] = ()
    """The same of the first and the slowest inference, with fewer nodes at most."""
    interrupted: bool = False
    """Whether the user stopped it early."""

    @property
    def overhead(self) -> float | None:
        """Profiled / unprofiled time of a call."""
        return self.profiled_ns / self.unprofiled_ns if self.profiled_ns and self.unprofiled_ns else None

    @property
    def node_links(self) -> tuple[str, ...]:
        """For each node, the key that links it on a page with the original nodes whose work it does."""
        groups = [source.group for source in self.sources]
        known = {(group.path, name): group.link for group in groups for name in group.executed}
        return tuple(known.get((node.path, node.name)) or link(node.path, node.name) for node in self.nodes)

    @property
    def link_groups(self) -> dict[str, tuple[str, ...]]:
        """For each key of nodes, the keys of the operators and modules they belong to."""
        found: dict[str, dict[str, None]] = {}
        for node, shared in zip(self.nodes, self.node_links, strict=True):
            around = [] if node.module is None else modules_around(node.module)
            found[shared] = found.get(shared, {}) | dict.fromkeys([operator_link(node.op_name), *around])
        return {key: tuple(groups) for key, groups in found.items()}

    def by_launch(self, values: Sequence[int]) -> list[Sequence[int]]:
        """The steady values of a per-inference column, launch by launch; empty if there was one process."""
        ends = list(itertools.accumulate(self.launches))
        parts = [values[end - size : end] for end, size in zip(ends, self.launches, strict=True)]
        return [steady(parts[0]), *parts[1:]] if parts else []

    @property
    def usual_nodes_us(self) -> float:
        """Time in nodes in a typical iteration: the total that operators, nodes and groups add up to."""
        return sum_of(self.nodes)

    @property
    def usual_run_us(self) -> float | None:
        """Measured time of an inference."""
        return usual(self.run_us, self.alike) if self.run_us else None

    @property
    def outside_us(self) -> tuple[int, ...]:
        """Time of each inference outside nodes; negative if nodes ran in parallel."""
        inside = added(node.self_us for node in self.nodes)
        return tuple(run - nodes for run, nodes in zip(self.run_us, inside, strict=False))

    @property
    def nodes_overlap(self) -> bool:
        """Whether nodes ran in parallel, so that their times add up to more than an inference."""
        return any(each < 0 for each in self.outside_us)


class Optimization(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf optimize`."""

    model: str
    """Label of the model."""
    output: str
    """File with the optimized model."""
    session: SessionOptions
    """Level, provider and options of the session that optimized it."""
    conditions: dict[str, Scalar] = {}
    """Version and providers of onnxruntime."""
    before: dict[str, Count]
    """Number of nodes per operator type in the original model, including bodies, most frequent first."""
    after: dict[str, Count]
    """Number of nodes per operator type in the optimized model."""
    groups: tuple[SourceGroup, ...]
    """Original nodes and the nodes they became."""
