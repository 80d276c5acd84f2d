"""What the optimiser did to a model on a page: operators before and after, and which nodes became which."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.profile import Optimization, SourceGroup
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.profile.groups import inside, members
from onnxperf.render.web.bars import BarSeries, bars
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.wording.numbers import count, grouped

_OPERATORS = 18
_MOST_ROWS = 3_000


def optimize_sections(record: Optimization) -> list[Section]:
    """Numbers of nodes per operator on both sides, and every group of nodes that changed."""
    changed = [group for group in record.groups if group.kind != "kept"]
    nodes = [Section("Nodes", [_groups(changed)])] if changed else []
    return [Section("Operators", [counts_chart(record)]), *nodes]


def counts_chart(record: Optimization) -> Chart:
    """Two bars per operator: nodes before and after; what changed the most first."""
    names = list(dict.fromkeys([*record.before, *record.after]))
    before, after = record.before, record.after
    names.sort(key=lambda name: (-abs(after.get(name, 0) - before.get(name, 0)), -before.get(name, 0)))
    shown = names[:_OPERATORS]
    sides = [[float(side.get(name, 0)) for name in shown] for side in (before, after)]
    series = [
        BarSeries("before", sides[0], [grouped(number) for number in sides[0]], 6),
        BarSeries("after", sides[1], [grouped(number) for number in sides[1]], 0),
    ]
    summary = (
        f"Nodes per operator type: {count(sum(before.values()), 'node')} before, {grouped(sum(after.values()))} after; "
        f"{count(len(shown), 'operator')}, those that changed the most first."
    )
    return bars("Nodes per operator", summary, shown, series, (1.0, "nodes"))


def _groups(groups: Sequence[SourceGroup]) -> Table:
    columns = [Column("original nodes", left=True), Column("what happened", left=True), Column("became", left=True)]
    rows = [
        Row(
            [
                f"{inside(group)}{members(group.source_ops, group.sources)}" if group.sources else "(none)",
                group.kind,
                members(group.executed_ops, group.executed) if group.executed else "",
            ]
        )
        for group in groups[:_MOST_ROWS]
    ]
    return Table(columns, rows, "What became of the nodes")
