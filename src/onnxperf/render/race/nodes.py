"""The nodes of a cluster: what each is doing, and how fast the same case runs on each."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.sweep import NodeComparison, NodeStep
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import GAP, Line, Part
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import duration, ratio, whole_percent


def nodes_at_work(steps: Sequence[NodeStep]) -> list[Part]:
    """A row per node that has a case."""
    if not steps:
        return []
    columns = [Column("node", left=True), Column("case", left=True), Column("done"), Column("step", left=True, rank=1)]
    rows = [Row((name_of(each.node), name_of(each.case), whole_percent(each.done), each.text)) for each in steps]
    return [Table(columns, rows, "Nodes at work")]


def nodes_table(found: NodeComparison) -> Table:
    """A row per case and subject: its median on each node, and the ratio to the first."""
    first, *others = found.nodes
    dims = list(dict.fromkeys(dim for row in found.rows for dim in row.dims))
    columns = [Column("model", left=True, rank=2), *map(Column, map(name_of, dims)), Column("subject", left=True)]
    columns += [Column(name_of(first))]
    for node in others:
        columns += [Column(name_of(node)), Column(f"/ {name_of(first)}")]
    rows = []
    for row in found.rows:
        cells = [name_of(row.model), *(str(row.dims.get(dim, "")) for dim in dims), name_of(row.subject)]
        cells += [duration(row.times.get(first))]
        for node in others:
            cells += [duration(row.times.get(node)), ratio(row.ratio(node, first))]
        rows.append(Row(cells))
    return Table(columns, rows, "Time of a call on each node, and its ratio to the first")


def nodes_compared(found: NodeComparison | None) -> list[Part]:
    """The table, and what it says."""
    return [] if found is None else [nodes_table(found), GAP, *map(Line, found.lines)]
