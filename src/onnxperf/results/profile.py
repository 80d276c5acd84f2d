"""What a profile found: a view on its record and its trace that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from onnxperf.analyze.attribution import split_estimate
from onnxperf.analyze.events import TraceLayout
from onnxperf.analyze.frames import events_frame, ort_frame
from onnxperf.analyze.node_memory import node_memories
from onnxperf.analyze.profile import node_times
from onnxperf.errors import BadOption
from onnxperf.records import Graph, NodeTime, OperatorTime, Profile, SourceTime, Trace
from onnxperf.records.iterations import steady
from onnxperf.results.node_memory import NodeMemoryResult
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class ProfileResult:
    """What `onnxperf.profile` returns; `record` holds the sums, `events` every event."""

    def __init__(
        self,
        record: Profile,
        trace: Trace,
        layout: TraceLayout,
        weights: Callable[[], Mapping[str, float]] | None = None,
        executed: Graph | None = None,
    ) -> None:
        self.record = record
        self.trace = trace
        self.layout = layout
        self._weights = weights or dict
        self._executed = executed

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        return self.record.answer

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
        return self._frame(self.record.operators, _OPERATOR_COLUMNS, per_iteration)

    def by_node(self, op: str | None = None, min_us: float = 0, per_iteration: bool = False) -> DataFrame:
        """Time per node, in the order of execution; of one operator type, or of executions of at least `min_us`."""
        nodes: Sequence[NodeTime] = self.record.nodes
        if min_us > 0:
            nodes = node_times(self.trace, self.layout, self.trace.duration_us >= min_us)
        return self._frame([node for node in nodes if op in (None, node.op_name)], _NODE_COLUMNS, per_iteration)

    def by_source(self, split: bool = False, per_iteration: bool = False) -> DataFrame:
        """Time per group of nodes of the original model; `split` adds an estimate for each node of a group."""
        if not self.record.sources:
            raise BadOption("a trace alone does not know the original model; profile the model itself")
        if split:
            return _split(self.record.sources, self._weights(), per_iteration)
        return self._frame(self.record.sources, _SOURCE_COLUMNS, per_iteration)

    def by_iteration(self, operators: bool = False) -> DataFrame:
        """Time per iteration: the inference, its executor, its nodes; with `operators`, a column for each type."""
        from pandas import DataFrame, RangeIndex

        count = max((len(node.self_us) for node in self.record.nodes), default=self.record.iterations)
        nodes = [sum(each.self_us[turn] for each in self.record.nodes) for turn in range(count)]
        columns: dict[str, Any] = {"nodes_us": nodes}
        columns |= {"executor_us": self.record.executor_us} if len(self.record.executor_us) == count else {}
        columns |= {"run_us": self.record.run_us} if len(self.record.run_us) == count else {}
        columns |= {each.op_name: each.self_us for each in self.record.operators} if operators else {}
        return DataFrame(columns, index=RangeIndex(count, name="iteration"))

    def plot(self, ax: Sequence[Axes] | None = None) -> Any:
        """Duration and number of occurrences per operator type, side by side."""
        from onnxperf.render.profile.profile_chart import profile_plot

        return profile_plot(self.record, ax)

    def plot_nodes(self, op: str | None = None, min_us: float = 0, ax: Axes | None = None) -> Axes:
        """A bar per node, the longest on top."""
        from msgspec.structs import replace

        from onnxperf.render.profile.profile_chart import nodes_plot

        record = self.record
        if min_us > 0:
            record = replace(record, nodes=node_times(self.trace, self.layout, self.trace.duration_us >= min_us))
        return nodes_plot(record, op, ax=ax)

    def timeline(self, iteration: int | None = None, ax: Axes | None = None) -> Axes:
        """The nodes of one iteration as bars over time; of the last complete one unless another is named."""
        from onnxperf.render.profile.profile_chart import timeline_plot

        last = max(self.layout.iterations, 1) - 1
        chosen = last if iteration is None else iteration
        rows = np.flatnonzero(self.layout.is_kernel & (self.layout.iteration == chosen))
        if not len(rows):
            raise BadOption.unknown("iteration", iteration, f"0 to {last}".split(","))
        names, operators = self.layout.node_names, self.trace.op_names
        return timeline_plot(
            starts_us=self.trace.start_us[rows].tolist(),
            durations_us=self.trace.duration_us[rows].tolist(),
            depths=self.layout.depth[rows].tolist(),
            op_names=[operators.values[code] if code >= 0 else "" for code in operators.codes[rows].tolist()],
            names=[names.values[code] if code >= 0 else "" for code in names.codes[rows].tolist()],
            threads=self.trace.threads[rows].tolist(),
            ax=ax,
        )

    def memory(self, iteration: int | None = None) -> NodeMemoryResult:
        """Memory in use after each node of one iteration; of the last complete one unless another is named."""
        return NodeMemoryResult(node_memories(self.trace, self.layout, self.record.model, iteration, self._executed))

    def table(self, name: str) -> DataFrame:
        """One of the tables by its name: events, operators, nodes, sources, iterations."""
        if name not in TABLES:
            raise BadOption.unknown("table", name, TABLES)
        return TABLES[name](self)

    def save(self, path: str | Path, table: str = "nodes") -> None:
        """Write .json, .xlsx (all tables), .csv or .parquet (one of them), or a .png or .svg chart."""
        from onnxperf.render.kit import frames as tables
        from onnxperf.render.kit.old_export import write
        from onnxperf.render.profile import profile_chart as profile_plots

        path = Path(path)
        match path.suffix.lower():
            case ".json":
                write(path, self.to_json().encode())
            case ".xlsx":
                names = [name for name in TABLES if name != "sources" or self.record.sources]
                tables.write_workbook({name: self.table(name) for name in names}, path)
            case ".csv" | ".parquet":
                tables.write_table(self.table(table), path)
            case ".png" | ".svg":
                profile_plots.save_figure(profile_plots.figure_of(self.plot()), path)
            case suffix:
                known = (".json", ".xlsx", ".csv", ".parquet", ".png", ".svg")
                raise BadOption.unknown("kind of file", suffix or path.name, known)

    def save_trace(self, path: str | Path) -> None:
        """Write the trace in a form that Perfetto opens, one track per thread."""
        from onnxperf.render.kit.old_export import write
        from onnxperf.render.profile.perfetto import perfetto_json

        write(Path(path), perfetto_json(self.trace, self.record.model))

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The tables as the command line prints them, without colours."""
        from onnxperf.render.profile.profile import print_profile

        return as_printed(print_profile, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import profile_html

        return profile_html(self.record)

    def _frame(self, rows: Sequence[Any], columns: dict[str, Callable[[Any], Any]], per_iteration: bool) -> DataFrame:
        """One row per record: what it is, then its times."""
        from pandas import DataFrame

        everything = sum(node.usual_us for node in self.record.nodes)
        made = [
            {name: read(row) for name, read in columns.items()} | _times(row, everything, per_iteration) for row in rows
        ]
        return DataFrame(made, columns=[*columns, *_time_columns(rows)])


_OPERATOR_COLUMNS: dict[str, Callable[[OperatorTime], Any]] = {
    "op_name": lambda row: row.op_name,
    "nodes": lambda row: row.nodes,
}
_NODE_COLUMNS: dict[str, Callable[[NodeTime], Any]] = {
    "node_name": lambda row: row.name,
    "op_name": lambda row: row.op_name,
    "path": lambda row: "/".join(row.path),
    "provider": lambda row: row.provider,
    "inputs": lambda row: row.inputs,
    "outputs": lambda row: row.outputs,
    "shapes": lambda row: row.shapes,
    "tensors": lambda row: row.tensors,
}
_SOURCE_COLUMNS: dict[str, Callable[[SourceTime], Any]] = {
    "kind": lambda row: row.group.kind,
    "sources": lambda row: row.group.sources,
    "source_ops": lambda row: row.group.source_ops,
    "executed": lambda row: row.group.executed,
    "executed_ops": lambda row: row.group.executed_ops,
    "path": lambda row: "/".join(row.group.path),
    "same_as": lambda row: row.group.same_as,
}
TABLES: dict[str, Callable[[ProfileResult], DataFrame]] = {
    "operators": lambda result: result.by_operator(),
    "nodes": lambda result: result.by_node(),
    "sources": lambda result: result.by_source(),
    "iterations": lambda result: result.by_iteration(operators=True),
    "events": lambda result: result.events,
}


def _times(row: Any, everything: float, per_iteration: bool) -> dict[str, Any]:
    """Sums, or means per iteration; then the share, the first iteration and the spread of the others."""
    count = (len(row.self_us) or 1) if per_iteration else 1
    others = steady(row.self_us)
    times = {
        "calls": row.calls / count if per_iteration else row.calls,
        "self_us": sum(row.self_us) / count if per_iteration else sum(row.self_us),
        "share": row.usual_us / everything if everything else 0.0,
        "first_us": row.self_us[0] if row.self_us else None,
        "usual_us": row.usual_us,
        "min_us": min(others, default=None),
        "max_us": max(others, default=None),
    }
    if hasattr(row, "total_us"):
        total = sum(row.total_us)
        times["total_us"] = total / count if per_iteration else total
    if getattr(row, "kernel_us", None) is not None:
        times["kernel_us"] = row.kernel_us / count if per_iteration else row.kernel_us
    return times


def _time_columns(rows: Sequence[Any]) -> list[str]:
    columns = ["calls", "self_us", "total_us", "share", "first_us", "usual_us", "min_us", "max_us", "kernel_us"]
    without = set() if rows and hasattr(rows[0], "total_us") else {"total_us"}
    without |= set() if any(getattr(row, "kernel_us", None) is not None for row in rows) else {"kernel_us"}
    return [column for column in columns if column not in without]


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
