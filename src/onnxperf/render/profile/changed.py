"""What a diff changed, on a page: tables of original nodes, operators and executed nodes with each change as a bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from onnxperf.records.diff import Diff, DiffSum, SourceChange
from onnxperf.records.profile import operator_link
from onnxperf.render.kit.column import FILES_ONLY, NAME, WHOLE, Column, change_column, for_screens
from onnxperf.render.kit.comparison import VERDICT_STYLES
from onnxperf.render.kit.page import Tabs
from onnxperf.render.kit.table import EVERYTHING, Footer, Table
from onnxperf.render.profile.diff_tables import (
    COMPARED,
    Times,
    node_names,
    nodes_table,
    operators_table,
    sources_table,
    times_of,
)

_MAIN = ("before_us", "after_us", "speedup", "verdict")


def changed_tables(
    diff: Diff, sources: Sequence[SourceChange], nodes: Sequence[DiffSum], kinds: Sequence[DiffSum]
) -> Tabs:
    """Original nodes first, if any are known; then operators, and nodes one by one and of equal kinds."""
    tables = [
        _on_page("Original nodes", sources_table(diff, sources), times_of, _styled)._replace(
            groups=lambda row: list(map(operator_link, row.ops))
        ),
        _on_page("Operators", operators_table(diff), lambda row: row.times, lambda _: "cyan"),
        _on_page("Executed nodes", nodes_table(diff, nodes), times_of, _styled, _NODE)._replace(
            groups=lambda row: [operator_link(row.rows[0].op_name)]
        ),
    ]
    if len(kinds) < len(nodes):
        tables.append(_kinds_table(diff, kinds))
    return Tabs([table for table in tables if table.rows])


_NODE: Column[DiffSum] = for_screens("node", lambda row: row.name, NAME, text=node_names)


def _on_page(
    title: str,
    table: Table[Any],
    times: Callable[[Any], Times],
    style: Callable[[Any], str],
    name: Column[Any] | None = None,
) -> Table[Any]:
    """Name, both times, the change, speedup and verdict; all else is a click away."""
    plain = [each for each in table.columns if each.figure is None and each.width < FILES_ONLY]
    first = name or plain[0]
    main = {each.key: each for each in reversed(plain) if each.key in _MAIN}
    rest = [each for each in plain if each not in main.values() and each.heading not in ("", first.heading)]
    drawn = change_column(lambda row: times(row)[0], lambda row: times(row)[1], table.rows)
    columns = [
        first,
        *(main[key] for key in _MAIN[:2]),
        drawn._replace(width=EVERYTHING, style=style),
        *(main[key] for key in _MAIN[2:] if key in main),
        *(each._replace(width=EVERYTHING) for each in rest),
    ]
    footers = [_named(each) if name is not None else each for each in table.footers]
    return table._replace(title=title, columns=columns, footers=footers, on="page")


def _named(footer: Footer) -> Footer:
    """Its words stand in the first column, whatever that is."""
    values = {key: value for key, value in footer.values.items() if not isinstance(value, str)}
    words = next((value for value in footer.values.values() if isinstance(value, str)), "")
    return footer._replace(values={"": words, **values})


def _styled(row: Any) -> str:
    return VERDICT_STYLES.get(COMPARED.said(row), "dim")


def _kinds_table(diff: Diff, kinds: Sequence[DiffSum]) -> Table[DiffSum]:
    """Nodes of the same operator, types and shapes together, with their numbers on both sides."""
    name: Column[DiffSum] = for_screens("operator and shapes", lambda row: row.name, NAME)
    table = _on_page("Kinds of nodes", nodes_table(diff, kinds), times_of, _styled, name)
    numbers: list[Column[DiffSum]] = [
        for_screens("nodes before", lambda row: _number(row, "+"), WHOLE, width=60),
        for_screens("after", lambda row: _number(row, "-"), WHOLE, width=60),
    ]
    # Several nodes together have neither one name nor one shape.
    kept = [column for column in table.columns if column.key in ("", "change_us", *_MAIN) and column.heading != "node"]
    return table._replace(columns=[*(each for each in kept if each.heading != "shapes"), *numbers], footers=[])


def _number(kind: DiffSum, without: str) -> int:
    return sum(row.side != without for row in kind.rows)
