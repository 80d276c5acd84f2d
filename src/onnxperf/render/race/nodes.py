"""The nodes of a cluster: what each is doing, and how fast the same case runs on each."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.sweep import NodeStep
from onnxperf.render.kit.page import Part
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import whole_percent


def nodes_at_work(steps: Sequence[NodeStep]) -> list[Part]:
    """A row per node that has a case."""
    if not steps:
        return []
    columns = [Column("node", left=True), Column("case", left=True), Column("done"), Column("step", left=True, rank=1)]
    rows = [Row((name_of(each.node), name_of(each.case), whole_percent(each.done), each.text)) for each in steps]
    return [Table(columns, rows, "Nodes at work")]
