"""The nodes of a cluster: what each is doing, and how fast the same case runs on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnxperf.records.sweep import NodeComparison, NodeStep, NodeTimes
from onnxperf.render.kit.column import NAME, NS, RATIO, TEXT, Column, Format, for_screens
from onnxperf.render.kit.page import Line, Part, Section
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import whole_percent

_SIZE = Format(str, "whole")


def nodes_at_work(steps: Sequence[NodeStep]) -> list[Part]:
    """A row per node that has a case."""
    columns: list[Column[NodeStep]] = [
        for_screens("node", lambda row: row.node, NAME),
        for_screens("case", lambda row: row.case, NAME),
        for_screens("done", lambda row: row.done, Format(whole_percent)),
        for_screens("step", lambda row: row.text, TEXT, width=60),
    ]
    return [Table(columns, steps, "Nodes at work")] if steps else []


def nodes_compared(found: NodeComparison | None) -> list[Part]:
    """The same cases on each node, and what that says."""
    if found is None:
        return []
    return [Section("Nodes", [nodes_table(found), Line("", on="screen"), *map(Line, found.lines)])]


def nodes_table(found: NodeComparison) -> Table[NodeTimes]:
    """A row per case and subject: its time on each node, and the ratio to the first."""
    first, *others = found.nodes
    dims = dict.fromkeys(dim for row in found.rows for dim in row.dims)
    columns: list[Column[NodeTimes]] = [
        for_screens("model", lambda row: row.model, NAME, width=80),
        *(for_screens(name_of(dim), _size(dim), _SIZE) for dim in dims),
        for_screens("subject", lambda row: row.subject, NAME),
        for_screens(name_of(first), _time(first), NS),
    ]
    for node in others:
        columns += [
            for_screens(name_of(node), _time(node), NS),
            for_screens(f"/ {name_of(first)}", _ratio(node, first), RATIO),
        ]
    return Table(columns, found.rows, "Time of a call on each node, and its ratio to the first")


def _size(dim: str) -> Callable[[NodeTimes], int | None]:
    return lambda row: row.dims.get(dim)


def _time(node: str) -> Callable[[NodeTimes], float | None]:
    return lambda row: row.times.get(node)


def _ratio(node: str, first: str) -> Callable[[NodeTimes], float | None]:
    return lambda row: row.ratio(node, first)
