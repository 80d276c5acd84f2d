"""What onnxruntime's optimiser did to a model, as a page."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.records.profile import Optimization, SourceGroup
from onnxperf.render.kit.machine import cpu_text, runtime_texts
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.render.profile.groups import TIMELESS, gone, inside
from onnxperf.render.profile.page import session_facts
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.nodes import nodes_text
from onnxperf.wording.numbers import grouped, signed

SHORT_LIST = 10
"""Lines of a list before the rest becomes a number."""


def optimization_page(record: Optimization, everything: bool = False) -> list[Part]:
    """Operators before and after, what became of the nodes, answer, notes; long lists are cut unless `everything`."""
    return [
        Heading(record.model, _facts(record)),
        counts_table(record),
        *_groups(record, None if everything else SHORT_LIST),
        *closing(record.answer, record.notes),
    ]


def _facts(record: Optimization) -> list[str]:
    versions = {name: str(version) for name, version in record.conditions.items()}
    machine = [] if record.machine is None else [cpu_text(record.machine)]
    return [*machine, *session_facts(record.session), *runtime_texts(versions)]


def counts_table(record: Optimization) -> Table:
    """Nodes per operator type before and after, the largest change first, and their sums."""
    columns = (Column("operator", left=True, room=20), Column("before"), Column("after"), Column("change"))
    names = dict.fromkeys([*record.before, *record.after])
    pairs = [(name, record.before.get(name, 0), record.after.get(name, 0)) for name in names]
    pairs.sort(key=lambda pair: (pair[1] == pair[2], -abs(pair[2] - pair[1])))
    rows = [_count_row(name_of(name), before, after) for name, before, after in pairs]
    whole = _count_row("all", sum(record.before.values()), sum(record.after.values()))
    return Table(columns, [*rows, whole._replace(style="bold")])


def _count_row(name: str, before: int, after: int) -> Row:
    cells = (name, grouped(before), grouped(after), signed(after - before))
    return Row(cells, style="" if before != after else "dim")


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
    return f"{inside(group)}{f'{before} -> {after}' if before else after}"


_HEADINGS = {"fused": "Fused", "inserted": "Inserted", **TIMELESS, "unattributed": "Of unknown origin"}
