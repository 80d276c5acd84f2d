"""What a profile found: a view on its record and its trace that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import split_estimate
from onnxperf.analyze.graphs.view_metrics import links_of, time_metrics
from onnxperf.analyze.trace.events import TraceLayout
from onnxperf.analyze.trace.frames import events_frame, ort_frame
from onnxperf.analyze.trace.node_memory import node_memories
from onnxperf.analyze.trace.profile import node_times
from onnxperf.analyze.trace.timeline import DRAWN, timeline_of
from onnxperf.errors import BadOption
from onnxperf.records.graph import Graph
from onnxperf.records.headroom import Limit
from onnxperf.records.profile import ModuleTime, NodeTime, OperatorTime, Profile, SourceTime, Timeline, sum_of
from onnxperf.records.trace import Coded, Trace
from onnxperf.records.view import GraphView
from onnxperf.render.kit.files import write
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.page import TOP, profile_page
from onnxperf.render.profile.perfetto import perfetto_json
from onnxperf.render.profile.profile_chart import Span, nodes_plot, profile_plot, sources_plot, timeline_plot
from onnxperf.render.profile.roofline_chart import roofline_plot
from onnxperf.render.web.old_base import Section, Story, without_tables
from onnxperf.render.web.sections.graph import DrawnGraph
from onnxperf.render.web.sections.profile import profile_sections
from onnxperf.results.node_memory import NodeMemoryResult
from onnxperf.results.old_base import OldResult, frame_of, with_total
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from pandas import DataFrame


Timed = OperatorTime | NodeTime | ModuleTime | SourceTime
T = TypeVar("T", bound=Timed)


TRACE = ".trace.json"


class ProfileResult(OldResult[Profile]):
    """What `onnxperf.profile` returns; `record` holds the sums, `events` every event."""

    tables = {
        "nodes": lambda self: self.by_node(),
        "operators": lambda self: self.by_operator(),
        "sources": lambda self: self.by_source(),
        "modules": lambda self: self.by_module(),
        "iterations": lambda self: self.by_iteration(operators=True),
        "headroom": lambda self: self.by_headroom(),
        "events": lambda self: self.events,
    }
    charts = {"operators": profile_plot, "nodes": nodes_plot, "sources": sources_plot, "roofline": roofline_plot}
    own_formats = {
        ".perfetto.json": Format("the trace, for ui.perfetto.dev", lambda result, _table: result.perfetto()),
        TRACE: Format("the trace as onnxruntime wrote it", lambda result, _table: result.raw_traces()[0]),
    }

    def __init__(
        self,
        record: Profile,
        trace: Trace | None = None,
        layout: TraceLayout | None = None,
        weights: Callable[[], Mapping[str, float]] | None = None,
        executed: Graph | None = None,
        view: Callable[[], GraphView] | None = None,
        raw_traces: Callable[[], Sequence[bytes]] | None = None,
    ) -> None:
        super().__init__(record)
        self._trace = trace
        self._layout = layout
        self._weights = weights or dict
        self._executed = executed
        self._view = view
        self._raw_traces = raw_traces

    @property
    def trace(self) -> Trace:
        """Every event, as columns; a run from the store has only the sums."""
        if self._trace is None:
            raise BadOption(_NO_EVENTS)
        return self._trace

    @property
    def layout(self) -> TraceLayout:
        """Iterations and nesting of the events."""
        if self._layout is None:
            raise BadOption(_NO_EVENTS)
        return self._layout

    def page(self, top: int = TOP) -> Page:
        """Time per operator, the most costly nodes and the groups of the original model."""
        return profile_page(self.record, top)

    def story_sections(self) -> list[Section]:
        """Everything that the record has; with the trace also a long inference, with the model also its graph."""
        return profile_sections(self.record, self._whole_timeline(), self._graph())

    def story(self) -> Story:
        """Its tables stand in sections of their own."""
        return without_tables(super().story())

    def _whole_timeline(self) -> Timeline | None:
        """The one of the record, unless the trace has more."""
        kept = self.record.timeline
        if self._trace is None or self._layout is None or (kept is not None and not kept.left_out):
            return kept
        return timeline_of(self._trace, self._layout, self.record, self._executed, DRAWN)

    def _graph(self) -> DrawnGraph | None:
        """The original model with the time of its nodes, where it is at hand."""
        if self._view is None:
            return None
        view = self._view()
        coloured = replace(view, metrics=time_metrics(self.record, view))
        return DrawnGraph(coloured, links_of(self.record, view))

    def table_names(self) -> list[str]:
        """The tables that this profile has: a trace alone has no sources, a run from the store no events."""
        missing = {
            "sources": not self.record.sources,
            "modules": not self.record.modules,
            "headroom": self.record.headroom is None,
            "events": self._trace is None,
        }
        return [name for name in self.tables if not missing.get(name)]

    def sheet(self, name: str | None = None) -> DataFrame:
        """A table as files hold it; those of times end with their total."""
        name = next(iter(self.tables)) if name is None else name
        frame = self.table(name)
        if name not in _NAME_COLUMNS or frame.empty:
            return frame
        named = _NAME_COLUMNS[name]
        without = [node for node in self.record.nodes if node.module is None]
        if name == "modules" and without:  # modules alone do not add up to the whole
            frame = with_total(frame, {named: "(no module)", **_sums(without, self.record.usual_nodes_us)})
        sums = {named: "total", **_sums(self.record.nodes, self.record.usual_nodes_us)}
        if self.record.headroom is not None:
            whole = self.record.headroom.whole
            sums |= {column: getattr(whole, column) for column in _LIMITS_THAT_ADD_UP}
        return with_total(frame, sums)

    @cached_property
    def events(self) -> DataFrame:
        """One row per event, in the order of the trace."""
        return events_frame(self.trace, self.layout)

    def to_df(self, names: Literal["onnxperf", "ort"] = "onnxperf") -> DataFrame:
        """The events; `names="ort"` gives the columns of onnxruntime's JSON (dur, ts, args_op_name…)."""
        if names not in ("onnxperf", "ort"):
            raise BadOption.unknown("names", names, ("onnxperf", "ort"))
        return self.events if names == "onnxperf" else ort_frame(self.trace, self.layout)

    def by_operator(self, per_iteration: bool = False) -> DataFrame:
        """Time per operator type, the most costly first; summed over all iterations, or their mean."""
        return self._frame(self.record.operators, _OPERATOR_COLUMNS, per_iteration, self._limits("operators"))

    def by_node(self, op: str | None = None, min_us: float = 0, per_iteration: bool = False) -> DataFrame:
        """Time per node, in the order of execution; of one operator type, or of executions of at least `min_us`."""
        nodes, limits = self.record.nodes, self._limits("nodes")
        if min_us > 0:  # of some executions, the work is not counted
            nodes, limits = node_times(self.trace, self.layout, self.trace.duration_us >= min_us), ()
        chosen = [place for place, node in enumerate(nodes) if op in (None, node.op_name)]
        kept = [limits[place] for place in chosen] if limits else ()
        return self._frame([nodes[place] for place in chosen], _NODE_COLUMNS, per_iteration, kept)

    def by_headroom(self) -> DataFrame:
        """Nodes with their operations, bytes and limits; what could win the most first."""
        if self.record.headroom is None:
            raise BadOption(_NO_LIMITS)
        return self.by_node().sort_values("could_win_us", ascending=False, kind="stable", ignore_index=True)

    def by_source(self, split: bool = False, per_iteration: bool = False) -> DataFrame:
        """Time per group of nodes of the original model; `split` adds an estimate for each node of a group."""
        if not self.record.sources:
            raise BadOption("a trace alone has no original model; profile the model itself")
        if split:
            return _split(self.record.sources, self._weights(), per_iteration)
        return self._frame(self.record.sources, _SOURCE_COLUMNS, per_iteration, self._limits("sources"))

    def by_module(self, per_iteration: bool = False) -> DataFrame:
        """Time per module of the source framework, each before those inside it; `total_us` includes these."""
        if not self.record.modules:
            raise BadOption("this model does not say which modules its nodes come from; torch's exporter writes them")
        return self._frame(self.record.modules, _MODULE_COLUMNS, per_iteration, self._limits("modules"))

    def by_iteration(self, operators: bool = False) -> DataFrame:
        """Time per iteration: the inference, its executor, its nodes; with `operators`, a column for each type."""
        from pandas import DataFrame, RangeIndex

        count = max((len(node.self_us) for node in self.record.nodes), default=self.record.iterations)
        nodes = [sum(each.self_us[turn] for each in self.record.nodes) for turn in range(count)]
        columns: dict[str, Sequence[int]] = {"nodes_us": nodes}
        columns |= {"executor_us": self.record.executor_us} if len(self.record.executor_us) == count else {}
        columns |= {"run_us": self.record.run_us} if len(self.record.run_us) == count else {}
        columns |= {each.op_name: each.self_us for each in self.record.operators} if operators else {}
        return DataFrame(columns, index=RangeIndex(count, name="iteration"))

    def plot(self, ax: Any = None) -> Any:
        """The roofline where the profile has limits, else operators and the most costly nodes."""
        return super().plot(ax) if self.record.headroom is None else roofline_plot(self.record, ax)

    def plot_operators(self, ax: Any = None) -> Any:
        """Operators, and the most costly nodes beside them."""
        return profile_plot(self.record, ax)

    def plot_nodes(self, op: str | None = None, min_us: float = 0, ax: Axes | None = None) -> Axes:
        """A bar per node, the longest on top."""
        record = self.record
        if min_us > 0:
            record = replace(record, nodes=node_times(self.trace, self.layout, self.trace.duration_us >= min_us))
        return nodes_plot(record, ax, op)

    def timeline(self, iteration: int | None = None, ax: Axes | None = None) -> Axes:
        """The nodes of one iteration as bars over time; of the last complete one unless another is named."""
        last = max(self.layout.iterations, 1) - 1
        chosen = last if iteration is None else iteration
        rows = np.flatnonzero(self.layout.is_kernel & (self.layout.iteration == chosen))
        if not len(rows):
            raise BadOption.unknown("iteration", iteration, [f"0 to {last}"])
        trace, layout = self.trace, self.layout
        columns = (trace.start_us, trace.duration_us, trace.threads, layout.depth)
        numbers = zip(*(column[rows].tolist() for column in columns), strict=True)
        names = zip(_texts(trace.op_names, rows), _texts(layout.node_names, rows), strict=True)
        spans = [
            Span(start, us, (thread, depth), op, name)
            for (start, us, thread, depth), (op, name) in zip(numbers, names, strict=True)
        ]
        return timeline_plot(spans, self.record.model, ax)

    def memory(self, iteration: int | None = None) -> NodeMemoryResult:
        """Memory in use after each node of one iteration; of the last complete one unless another is named."""
        return NodeMemoryResult(node_memories(self.trace, self.layout, self.record.model, iteration, self._executed))

    def perfetto(self) -> bytes:
        """The trace in a form that Perfetto opens: one track per thread, and counters of the arena's memory."""
        return perfetto_json(self.trace, self.record.model)

    def raw_traces(self) -> Sequence[bytes]:
        """What onnxruntime wrote, one file per process; they are deleted with the result."""
        if self._raw_traces is None:
            raise BadOption("only a model that was profiled just now has traces of onnxruntime to write")
        return self._raw_traces()

    def write(self, path: Path, suffix: str, table: str | None) -> None:
        """Write one file; traces of later processes have a number in their names."""
        super().write(path, suffix, table)
        start = str(path)[: -len(TRACE)]
        for number, trace in enumerate(self.raw_traces()[1:] if suffix == TRACE else (), 2):
            write(Path(f"{start}-{number}{TRACE}"), trace)

    def _limits(self, of: Literal["nodes", "operators", "sources", "modules"]) -> Sequence[Limit]:
        """The limits of rows, in their order; none where they were not requested."""
        headroom = self.record.headroom
        return getattr(headroom, of) if headroom is not None else ()

    def _frame(
        self,
        rows: Sequence[T],
        columns: dict[str, Callable[[T], object]],
        per_iteration: bool,
        limits: Sequence[Limit] = (),
    ) -> DataFrame:
        """One row per record: what it is, its times, its limits; without times that none of them has."""
        everything = self.record.usual_nodes_us
        made = [[*(read(row) for read in columns.values()), *_times(row, everything, per_iteration)] for row in rows]
        names = [*columns, *_Times._fields]
        if limits:
            names += _LIMIT_COLUMNS
            for cells, limit in zip(made, limits, strict=True):
                cells += [read(limit) for read in _LIMIT_COLUMNS.values()]
        frame = frame_of(made, names)
        return frame.drop(columns=[name for name in ("total_us", "kernel_us") if frame[name].isna().all()])


_NO_EVENTS = "this profile has only sums, as kept in the store; profile the model again, or read a trace"
_NO_LIMITS = "this profile has no limits; profile the model with `roofline`"
_OPERATOR_COLUMNS: dict[str, Callable[[OperatorTime], object]] = {
    "op_name": lambda row: row.op_name,
    "nodes": lambda row: row.nodes,
}
_NODE_COLUMNS: dict[str, Callable[[NodeTime], object]] = {
    "node_name": lambda row: row.name,
    "op_name": lambda row: row.op_name,
    "path": lambda row: "/".join(row.path),
    "provider": lambda row: row.provider,
    "inputs": lambda row: row.inputs,
    "outputs": lambda row: row.outputs,
    "shapes": lambda row: row.shapes,
    "tensors": lambda row: row.tensors,
    "sources": lambda row: row.sources,
    "module": lambda row: row.module,
}
_MODULE_COLUMNS: dict[str, Callable[[ModuleTime], object]] = {
    "module": lambda row: row.module,
    "nodes": lambda row: row.nodes,
    "usual_total_us": lambda row: row.usual_total_us,
}
_SOURCE_COLUMNS: dict[str, Callable[[SourceTime], object]] = {
    "kind": lambda row: row.group.kind,
    "sources": lambda row: row.group.sources,
    "source_ops": lambda row: row.group.source_ops,
    "executed": lambda row: row.group.executed,
    "executed_ops": lambda row: row.group.executed_ops,
    "path": lambda row: "/".join(row.group.path),
    "same_as": lambda row: row.group.same_as,
}


_LIMIT_COLUMNS: dict[str, Callable[[Limit], object]] = {
    "flop": lambda limit: limit.flop if limit.counted else None,
    "moved_bytes": lambda limit: limit.moved_bytes,
    "gflop_per_s": lambda limit: limit.gflop_per_s,
    "gb_per_s": lambda limit: limit.gb_per_s,
    "bound": lambda limit: limit.bound,
    "limit_us": lambda limit: limit.limit_us,
    "times_limit": lambda limit: limit.ratio,
    "could_win_us": lambda limit: limit.could_win_us,
}


_LIMITS_THAT_ADD_UP = ("flop", "moved_bytes", "limit_us", "could_win_us")
_NAME_COLUMNS = {
    "nodes": "node_name",
    "operators": "op_name",
    "sources": "kind",
    "modules": "module",
    "headroom": "node_name",
}
"""Tables whose rows add up, and where their last one says that it is the total."""


class _Times(NamedTuple):
    """Sums, or means per iteration; then the share, the first iteration and the spread of the others."""

    calls: float
    self_us: float
    total_us: float | None
    share: float
    first_us: int | None
    usual_us: float
    min_us: int | None
    max_us: int | None
    kernel_us: float | None


def _times(row: Timed, everything: float, per_iteration: bool) -> _Times:
    def summed(time: float) -> float:
        return time / max(len(row.self_us), 1) if per_iteration else time

    kernel_us = row.kernel_us if isinstance(row, NodeTime) else None
    return _Times(
        calls=summed(row.calls),
        self_us=summed(sum(row.self_us)),
        total_us=None if isinstance(row, SourceTime) else summed(sum(row.total_us)),
        share=row.usual_us / everything if everything else 0.0,
        first_us=row.self_us[0] if row.self_us else None,
        usual_us=row.usual_us,
        min_us=min(row.steady_us, default=None),
        max_us=max(row.steady_us, default=None),
        kernel_us=None if kernel_us is None else summed(kernel_us),
    )


def _sums(nodes: Sequence[NodeTime], everything: float) -> dict[str, object]:
    """What the columns of these nodes add up to; in totals, each node is counted once."""
    whole, own = sum_of(nodes), sum(sum(node.self_us) for node in nodes)
    kernels = [node.kernel_us for node in nodes if node.kernel_us is not None]
    return {
        "nodes": len(nodes),
        "calls": sum(node.calls for node in nodes),
        "self_us": own,
        "total_us": own,
        "share": whole / everything if everything else 0.0,
        "first_us": sum(node.self_us[0] for node in nodes if node.self_us),
        "usual_us": whole,
        "usual_total_us": whole,
        "kernel_us": sum(kernels) if kernels else None,
    }


def _texts(column: Coded[str], rows: NDArray[np.intp]) -> list[str]:
    return [column.values[code] if code >= 0 else "" for code in column.codes[rows].tolist()]


def _split(sources: Sequence[SourceTime], weights: Mapping[str, float], per_iteration: bool) -> DataFrame:
    """One row per original node; inside a fused group, its part is an estimate from a rough count of work."""
    from pandas import DataFrame

    rows = []
    for source in sources:
        group = source.group
        time = sum(source.self_us) / ((len(source.self_us) or 1) if per_iteration else 1)
        parts = split_estimate(group, weights) or {"": 1.0}
        operators = dict(zip(group.sources, group.source_ops, strict=True))
        rows += [
            {
                "source": name,
                "source_op": operators.get(name, ""),
                "estimated_us": time * part,
                "is_estimate": len(parts) > 1,
                "kind": group.kind,
                "group_us": time,
                "executed": group.executed,
                "executed_ops": group.executed_ops,
                "path": "/".join(group.path),
            }
            for name, part in parts.items()
        ]
    return DataFrame(rows)
