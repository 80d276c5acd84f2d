"""What a profile found: a view on its record and its trace that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import split_estimate
from onnxperf.analyze.graphs.view_metrics import folded_keys, links_of, time_metrics
from onnxperf.analyze.trace.events import TraceLayout
from onnxperf.analyze.trace.frames import events_frame, ort_frame
from onnxperf.analyze.trace.node_memory import node_memories
from onnxperf.analyze.trace.profile import node_times
from onnxperf.analyze.trace.timeline import DRAWN, KEPT, timeline_of
from onnxperf.errors import BadOption
from onnxperf.records.graph import Graph
from onnxperf.records.profile import NodeTime, Profile, SourceTime, Timeline
from onnxperf.records.trace import Trace
from onnxperf.records.view import GraphView
from onnxperf.render.graph.section import DrawnGraph
from onnxperf.render.kit.files import write
from onnxperf.render.kit.frames import frame_of
from onnxperf.render.kit.page import Page
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.charts import (
    first_charts,
    iterations_charts,
    nodes_charts,
    operators_charts,
    sources_charts,
)
from onnxperf.render.profile.columns import Timed, rows_of
from onnxperf.render.profile.headroom import headroom_table, roofline_charts
from onnxperf.render.profile.page import TOP, profile_page
from onnxperf.render.profile.perfetto import perfetto_json
from onnxperf.render.profile.tables import (
    iterations_table,
    modules_table,
    nodes_table,
    operators_table,
    sources_table,
)
from onnxperf.render.profile.timeline import TYPICAL, kept_timelines, timeline_charts, timeline_memory_charts
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format, Wanted
from onnxperf.results.node_memory import NodeMemoryResult
from onnxperf.wording.names import visible

if TYPE_CHECKING:
    from pandas import DataFrame

TRACE = ".trace.json"
_MOST_SPANS = 10_000
"""Executions in a picture of one inference."""
_NO_EVENTS = "this profile has only sums, as saved in the store; profile the model again, or read a trace"
_MISSING = {
    "sources": "a trace alone has no original model; profile the model itself",
    "modules": "this model does not say which modules its nodes come from; torch's exporter writes them",
    "headroom": "this profile has no limits; profile the model with `roofline`",
    "events": _NO_EVENTS,
}
"""Tables that not every profile has, and why."""


def _no_events(_record: Profile) -> Table[Any]:
    raise BadOption(_NO_EVENTS)


SHOW = Show(
    Profile,
    "profile",
    profile_page,
    tables={
        "nodes": nodes_table,
        "operators": operators_table,
        "sources": sources_table,
        "modules": modules_table,
        "iterations": iterations_table,
        "headroom": headroom_table,
        "events": _no_events,
    },
    charts={
        "roofline": roofline_charts,
        "operators": lambda record: [*operators_charts(record), *nodes_charts(record)],
        "nodes": nodes_charts,
        "sources": sources_charts,
        "iterations": iterations_charts,
        "first": first_charts,
        "timeline": lambda record: timeline_charts(record, record.timeline),
        "memory": lambda record: timeline_memory_charts(record, record.timeline),
    },
    own={
        ".perfetto.json": Format("the trace, for ui.perfetto.dev", lambda result, _: result.perfetto()),
        TRACE: Format("the trace as onnxruntime wrote it", lambda result, _: result.raw_traces()[0]),
    },
)


class ProfileResult(Result[Profile]):
    """What `onnxperf.profile` returns; `record` holds the sums, `events` every event."""

    show = SHOW

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
        """Time per operator, the most costly nodes and the groups of the original model.

        An HTML page also has all that the trace and the model add: a long inference, and the graph.
        """
        return profile_page(self.record, top, self._timelines, self._graph)

    def _timelines(self) -> dict[str, Timeline]:
        """The inferences of the record, with what it leaves out if the trace has it."""
        kept = kept_timelines(self.record)
        return {name: self._longer(each, DRAWN if name == TYPICAL else KEPT) for name, each in kept.items()}

    def _longer(self, timeline: Timeline, most: int) -> Timeline:
        if self._trace is None or self._layout is None or not timeline.left_out:
            return timeline
        found = timeline_of(self._trace, self._layout, self.record, self._executed, most, timeline.iteration)
        return found or timeline

    def _graph(self) -> DrawnGraph | None:
        """The original model with the time of its nodes, if it is at hand."""
        if self._view is None:
            return None
        view = self._view()
        metrics = time_metrics(self.record, view)
        return DrawnGraph(replace(view, metrics=metrics), links_of(self.record, view), folded_keys(metrics))

    # ---------------------------------------------------------------- tables

    def table_names(self) -> list[str]:
        """The tables that this profile has: a trace alone has no sources, a run from the store no events."""
        known = {
            "sources": bool(self.record.sources),
            "modules": bool(self.record.modules),
            "headroom": self.record.headroom is not None,
            "events": self._trace is not None,
        }
        return [name for name in super().table_names() if known.get(name, True)]

    def columns(self, name: str | None = None) -> Table[Any] | DataFrame:
        """The same as rows and columns, which files are made from; events are a DataFrame, as there may be millions."""
        if name in _MISSING and name not in self.table_names():
            raise BadOption(_MISSING[name])
        return self.events if name == "events" else super().columns(name)

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
        return frame_of(operators_table(self.record, per_iteration))

    def by_node(self, op: str | None = None, min_us: float = 0, per_iteration: bool = False) -> DataFrame:
        """Time per node, in the order of execution; of one operator type, or of executions of at least `min_us`."""
        return frame_of(nodes_table(self.record, per_iteration, self._nodes(op, min_us)))

    def by_headroom(self) -> DataFrame:
        """Nodes with their operations, bytes and limits; what could win the most first."""
        return self.table("headroom")

    def by_source(self, split: bool = False, per_iteration: bool = False) -> DataFrame:
        """Time per group of nodes of the original model; `split` adds an estimate for each node of a group."""
        self.columns("sources")
        if split:
            return _split(self.record.sources, self._weights(), per_iteration)
        return frame_of(sources_table(self.record, per_iteration))

    def by_module(self, per_iteration: bool = False) -> DataFrame:
        """Time per module of the source framework, each before those inside it; `total_us` includes these."""
        self.columns("modules")
        return frame_of(modules_table(self.record, per_iteration))

    def by_iteration(self, operators: bool = False) -> DataFrame:
        """Time per iteration: the inference, its executor, its nodes; with `operators`, a column for each type."""
        return frame_of(iterations_table(self.record, operators)).set_index("iteration")

    def _nodes(self, op: str | None, min_us: float) -> list[Timed[NodeTime]]:
        """Nodes of one operator type; of some executions, the work is not counted."""
        rows = rows_of(self.record, "nodes")
        if min_us > 0:
            some = node_times(self.trace, self.layout, self.trace.duration_us >= min_us)
            rows = [Timed(node, self.record.usual_nodes_us) for node in some]
        return [row for row in rows if op in (None, row.timed.op_name)]

    # ---------------------------------------------------------------- charts

    def plot_operators(self, ax: Any = None) -> Any:
        """Operators and the most costly nodes."""
        return self.drawn(self.charts("operators"), ax)

    def plot_nodes(self, op: str | None = None, min_us: float = 0, ax: Any = None) -> Any:
        """A bar per node, the longest on top."""
        what = f"{visible(op)} node" if op is not None else "node"
        return self.drawn(nodes_charts(self.record, self._nodes(op, min_us), what), ax)

    def timeline(self, iteration: int | None = None, ax: Any = None) -> Any:
        """The nodes of one iteration as bars over time; of the last complete one unless another is named."""
        last = max(self.layout.iterations, 1) - 1
        chosen = last if iteration is None else iteration
        known = range(last + 1)
        trace, layout, executed = self.trace, self.layout, self._executed
        found = timeline_of(trace, layout, self.record, executed, _MOST_SPANS, chosen) if chosen in known else None
        if found is None:
            raise BadOption.unknown("iteration", iteration, [f"0 to {last}"])
        return self.drawn(timeline_charts(self.record, found, is_typical=False), ax)

    def memory(self, iteration: int | None = None) -> NodeMemoryResult:
        """Memory in use after each node of one iteration; of the last complete one unless another is named."""
        return NodeMemoryResult(node_memories(self.trace, self.layout, self.record.model, iteration, self._executed))

    # ---------------------------------------------------------------- traces

    def perfetto(self) -> bytes:
        """The trace in a form that Perfetto opens: one track per thread, and counters of the arena's memory."""
        return perfetto_json(self.trace, self.record.model)

    def raw_traces(self) -> Sequence[bytes]:
        """What onnxruntime wrote, one file per process; they are deleted with the result."""
        if self._raw_traces is None:
            raise BadOption("only a model that was profiled just now has traces of onnxruntime to write")
        return self._raw_traces()

    def write(self, path: Path, suffix: str, wanted: Wanted) -> None:
        """Write one file; traces of later processes have a number in their names."""
        super().write(path, suffix, wanted)
        start = str(path)[: -len(TRACE)]
        for number, trace in enumerate(self.raw_traces()[1:] if suffix == TRACE else (), 2):
            write(Path(f"{start}-{number}{TRACE}"), trace)


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
