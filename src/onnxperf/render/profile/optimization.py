"""What onnxruntime's optimizer did to a model: a page, its tables, and the operators before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from onnxperf.records.profile import Optimization, SourceGroup
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, GREY, Chart
from onnxperf.render.kit.column import NAME, TEXT, WHOLE, Column, change_column, for_files
from onnxperf.render.kit.machine import cpu_text, runtime_texts
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Section, answered
from onnxperf.render.kit.table import Footer, Table
from onnxperf.render.profile.groups import TIMELESS, gone, inside, members
from onnxperf.render.profile.page import session_facts
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.nodes import nodes_text
from onnxperf.wording.numbers import count, grouped, signed

SHORT_LIST = 10
"""Lines of a list before the rest becomes a number."""
_OPERATORS = 18
_MOST_ROWS = 3_000


class OperatorCount(NamedTuple):
    """Nodes of one operator type on both sides."""

    op_name: str
    before: int
    after: int

    @property
    def change(self) -> int:
        """How many more there are."""
        return self.after - self.before


def optimization_page(record: Optimization, everything: bool = False) -> Page:
    """Operators before and after, what became of the nodes, answer, notes; long lists are cut unless `everything`."""
    changed = [group for group in record.groups if group.kind != "kept"]
    lines, facts = _groups(record, None if everything else SHORT_LIST), _facts(record)
    return [
        Heading(record.model, facts),
        Section("Operators", counts_charts(record)),
        Section("Nodes", list(lines), on="screen"),
        Section("Nodes", [_groups_table(changed[:_MOST_ROWS])] if changed else [], on="page"),
        *answered(record.answer, record.notes),
    ]


def _facts(record: Optimization) -> list[str]:
    versions = {name: str(version) for name, version in record.conditions.items()}
    machine = [] if record.machine is None else [cpu_text(record.machine)]
    return [*session_facts(record.session), *runtime_texts(versions), *machine]


# ---------------------------------------------------------------- operators


def counts_table(record: Optimization) -> Table[OperatorCount]:
    """Nodes per operator type before and after, the largest change first, and their sums."""
    rows = _counts(record)
    columns: list[Column[OperatorCount]] = [
        Column("op_name", "operator", lambda row: row.op_name, NAME, room=20),
        Column("before", "before", lambda row: row.before, WHOLE),
        Column("after", "after", lambda row: row.after, WHOLE),
        Column("change", "change", lambda row: row.change, WHOLE._replace(text=signed)),
        change_column(lambda row: row.before, lambda row: row.after, rows),
    ]
    before, after = sum(row.before for row in rows), sum(row.after for row in rows)
    total = Footer({"": "total", "before": before, "after": after, "change": after - before})
    return Table(columns, rows, style=lambda row: "" if row.change else "dim", footers=[total])


def counts_charts(record: Optimization) -> list[Chart]:
    """Two bars per operator: nodes before and after; what changed the most first."""
    rows = _counts(record)
    if not rows:
        return []
    shown = rows[:_OPERATORS]
    sides = {"before": ([row.before for row in shown], GREY), "after": ([row.after for row in shown], BLUE)}
    series = [BarSeries(name, side, list(map(grouped, side)), color) for name, (side, color) in sides.items()]
    summary = (
        f"Nodes per operator type: {count(sum(row.before for row in rows), 'node')} before, "
        f"{grouped(sum(row.after for row in rows))} after; {count(len(shown), 'operator')}, those that changed the "
        "most first."
    )
    picture = bars([row.op_name for row in shown], series, "nodes")
    return [bars_chart("Nodes per operator", summary, picture, counts_table(record))]


def _counts(record: Optimization) -> list[OperatorCount]:
    names = dict.fromkeys([*record.before, *record.after])
    rows = [OperatorCount(name, record.before.get(name, 0), record.after.get(name, 0)) for name in names]
    return sorted(rows, key=lambda row: (not row.change, -abs(row.change)))


# ---------------------------------------------------------------- nodes


def groups_table(record: Optimization) -> Table[SourceGroup]:
    """Which nodes became which, a row per group."""
    return _groups_table(record.groups)


def _groups_table(groups: Sequence[SourceGroup]) -> Table[SourceGroup]:
    columns: list[Column[SourceGroup]] = [
        Column("sources", "original nodes", lambda group: group.sources, TEXT, text=_original),
        Column("kind", "what happened", lambda group: group.kind),
        Column("executed", "became", lambda group: group.executed, TEXT, text=_executed),
        for_files("path", lambda group: group.path),
        for_files("source_ops", lambda group: group.source_ops),
        for_files("executed_ops", lambda group: group.executed_ops),
        for_files("same_as", lambda group: group.same_as),
    ]
    return Table(columns, groups, "What became of the nodes")


def _original(group: SourceGroup) -> str:
    return f"{inside(group)}{members(group.source_ops, group.sources)}" if group.sources else "(none)"


def _executed(group: SourceGroup) -> str:
    """The executed nodes; of a duplicate the one kept."""
    kept = f"= {name_of(group.same_as)}" if group.same_as else ""
    return members(group.executed_ops, group.executed) if group.executed else kept


def _groups(record: Optimization, most: int | None) -> Iterator[Line]:
    """What became of the nodes, by kind: a heading and its lines, at most so many, the rest as a number."""
    for kind, heading in _HEADINGS.items():
        groups = [group for group in record.groups if group.kind == kind]
        if kind in TIMELESS:
            names = [name for group in groups for name in gone(group)]
            number, lines = len(names), [first_of(names, most)]
        else:
            number, lines = len(groups), [_became(group) for group in groups[:most]]
            lines += [f"and {grouped(number - len(lines))} more"] if number > len(lines) else []
        if number:
            yield from (GAP, Line(f"{heading} ({grouped(number)})", "bold"), *(Line(line, indent=2) for line in lines))


def _became(group: SourceGroup) -> str:
    before, after = nodes_text(group.sources, group.source_ops), nodes_text(group.executed, group.executed_ops)
    return f"{inside(group)}{f'{before} → {after}' if before else after}"


_HEADINGS = {"fused": "Fused", "inserted": "Inserted", **TIMELESS, "unattributed": "Of unknown origin"}
