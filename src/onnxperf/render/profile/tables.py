"""The tables of a profile: operators, nodes, modules, original nodes, iterations; one list of columns each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from onnxperf.records.diff import DiffRow
from onnxperf.records.profile import ModuleTime, NodeTime, OperatorTime, Profile, SourceTime, quickest_of, steady
from onnxperf.render.kit.column import NAME, SHARE, TEXT, WHOLE, Column, for_files, for_screens
from onnxperf.render.kit.table import Footer, Table
from onnxperf.render.profile.columns import (
    WHOLE_US,
    Timed,
    bar_column,
    calls_column,
    files_only,
    first_column,
    limit_columns,
    others_footer,
    rows_of,
    share_column,
    share_heading,
    spread_column,
    sum_columns,
    time_column,
    total_column,
    total_footer,
)
from onnxperf.render.profile.groups import TIMELESS, inside, members
from onnxperf.wording.labels import sizes_texts
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import grouped

ON_PAGES = 200
"""Width of columns that pages show and few consoles."""
_NAMES = 3
"""Original nodes that a row names; the others are a number."""


def estimator(profile: Profile) -> str:
    """Which of its iterations the times of a profile come from."""
    number = len(steady(profile.run_us or next((node.self_us for node in profile.nodes), ())))
    if number <= 2:
        return "mean of 2 iterations" if number == 2 else "one iteration"
    quickest = quickest_of(number)
    part = "the quickest quarter" if quickest > 2 else f"the {quickest} quickest"
    return f"mean of {part} of {grouped(number)} iterations"


# ---------------------------------------------------------------- operators


def operators_table(profile: Profile, per_iteration: bool = False) -> Table[Timed[OperatorTime]]:
    """A row per operator type, the most costly first."""
    rows = operator_rows(profile)
    columns: list[Column[Timed[OperatorTime]]] = [
        *operator_columns(),
        calls_column(),
        time_column(),
        share_column(profile),
        bar_column(),
        first_column(80),
        spread_column(80),
        *sum_columns(per_iteration),
        *files_only(limit_columns(rows)),
    ]
    footers = [total_footer(rows_of(profile, "nodes"), per_iteration)]
    return Table(columns, rows, "Time per operator", link=_key, footers=footers)


def operator_columns() -> list[Column[Timed[OperatorTime]]]:
    """What an operator is."""
    return [
        Column("op_name", "operator", lambda row: row.timed.op_name, NAME, room=18),
        Column("nodes", "nodes", lambda row: row.timed.nodes, WHOLE, 60),
    ]


def operator_rows(profile: Profile) -> list[Timed[OperatorTime]]:
    """By what is shown: the order of the record counts the first iteration, too."""
    found, before = [], 0.0
    for row in sorted(rows_of(profile, "operators"), key=lambda row: -row.timed.usual_us):
        found.append(row._replace(before=before))
        before += row.share or 0.0
    return found


# ---------------------------------------------------------------- nodes


def nodes_table(
    profile: Profile, per_iteration: bool = False, rows: Sequence[Timed[NodeTime]] | None = None
) -> Table[Timed[NodeTime]]:
    """A row per executed node, in the order of execution; `rows` are other ones, or fewer."""
    kept = rows_of(profile, "nodes") if rows is None else rows
    columns = [*_node_columns(profile, kept, per_iteration), *files_only(limit_columns(kept))]
    footers = [total_footer(kept, per_iteration)]
    return Table(columns, kept, "Time per node", link=_key, footers=footers)


def costly_nodes_table(profile: Profile, top: int, title: str) -> Table[Timed[NodeTime]]:
    """The most costly nodes; nodes of bodies stand under the node that has the body."""
    rows = rows_of(profile, "nodes")
    tree = costly_tree(profile.nodes, top)
    shown = [rows[place]._replace(name=_indented(profile.nodes[place], depth)) for place, depth in tree]
    known = {place for place, _ in tree}
    others = [row for place, row in enumerate(rows) if place not in known]
    return nodes_table(profile, rows=shown)._replace(title=title, footers=[*others_footer(others), total_footer(rows)])


def node_columns() -> list[Column[Timed[NodeTime]]]:
    """What a node is."""
    return [
        Column("node_name", "node", lambda row: row.timed.name, NAME, text=_node_name, room=18),
        Column("op_name", "operator", lambda row: row.timed.op_name, NAME, room=12),
    ]


def _node_columns(
    profile: Profile, rows: Sequence[Timed[NodeTime]], per_iteration: bool
) -> list[Column[Timed[NodeTime]]]:
    has_bodies = any(row.timed.self_us != row.timed.total_us for row in rows)
    several = len({node.provider for node in profile.nodes}) > 1
    return [
        *node_columns(),
        Column("provider", "provider", lambda row: row.timed.provider, TEXT, 80, text=_provider(several), room=4),
        for_screens("inputs", lambda row: sizes_texts(row.timed.inputs), TEXT, width=140, style="dim", room=18),
        for_screens("output", lambda row: output_text(row.timed), TEXT, width=80, style="dim", room=12),
        calls_column(),
        time_column("self" if has_bodies else "time"),
        total_column("total", None if has_bodies else lambda _: ""),
        for_screens("device", _on_device, WHOLE_US, width=60),
        share_column(profile),
        spread_column(100),
        Column("sources", "from", lambda row: row.timed.sources, TEXT, ON_PAGES, text=_sources),
        Column("module", "module", lambda row: row.timed.module, NAME, ON_PAGES, text=_module),
        for_files("path", lambda row: "/".join(row.timed.path)),
        for_files("inputs", lambda row: row.timed.inputs),
        for_files("outputs", lambda row: row.timed.outputs),
        for_files("shapes", lambda row: row.timed.shapes, WHOLE),
        for_files("tensors", lambda row: row.timed.tensors),
        first_column(),
        *sum_columns(per_iteration, on_devices=True),
    ]


def _node_name(row: Timed[NodeTime]) -> str:
    return row.name or node_label(row.timed)


def node_label(node: NodeTime) -> str:
    """Its name, after those of the nodes whose bodies it is in."""
    return name_of(" > ".join((*node.path, node.name)))


def _indented(node: NodeTime, depth: int) -> str:
    return "  " * depth + (name_of(node.name) if depth else node_label(node))


def _provider(several: bool) -> Callable[[Timed[NodeTime]], str]:
    """Nothing where all nodes have the same."""
    return lambda row: name_of(row.timed.provider.removesuffix("ExecutionProvider")) if several else ""


def _on_device(row: Timed[NodeTime]) -> float | None:
    return None if row.timed.kernel_us is None else row.mean(row.timed.kernel_us)


def _sources(row: Timed[NodeTime]) -> str:
    return first_of(list(map(name_of, row.timed.sources)), _NAMES)


def _module(row: Timed[NodeTime]) -> str:
    return name_of(row.timed.module) if row.timed.module else ""


def output_text(node: NodeTime) -> str:
    """What a node computes, as `1×64×8×8`; whether this is one of several combinations of shapes."""
    text = sizes_texts(node.outputs)
    return f"{text} (1 of {node.shapes})" if text and node.shapes > 1 else text


def shapes_text(node: NodeTime | DiffRow) -> str:
    """Shapes as `1×3×8×8, 64 → 1×64×8×8`."""
    return " → ".join(filter(None, map(sizes_texts, (node.inputs, node.outputs))))


def costly_tree(nodes: Sequence[NodeTime], top: int) -> list[tuple[int, int]]:
    """Places and depths of the most costly nodes and those around them; the most costly first, bodies included."""
    place: dict[tuple[str, ...], int] = {}
    for i, node in enumerate(nodes):
        place.setdefault((*node.path, node.name), i)
    children: dict[int, list[int]] = {}
    known: set[int] = set()
    for i in sorted(range(len(nodes)), key=lambda i: (-nodes[i].usual_us, i))[:top]:
        inner: int | None = i
        while inner is not None and inner not in known:
            known.add(inner)
            outer = place.get(nodes[inner].path)
            children.setdefault(-1 if outer is None else outer, []).append(inner)
            inner = outer
    found = []
    waiting = [(i, 0) for i in _cheapest_first(nodes, children.get(-1, []))]
    while waiting:
        i, depth = waiting.pop()
        found.append((i, depth))
        waiting += [(inner, depth + 1) for inner in _cheapest_first(nodes, children.get(i, []))]
    return found


def _cheapest_first(nodes: Sequence[NodeTime], places: Iterable[int]) -> list[int]:
    return sorted(places, key=lambda i: (nodes[i].usual_total_us, -i))


# ---------------------------------------------------------------- the original model


def modules_table(profile: Profile, per_iteration: bool = False, top: int | None = None) -> Table[Timed[ModuleTime]]:
    """A row per module, each before those inside it; only the most costly ones if `top` is given."""
    rows, nodes = rows_of(profile, "modules"), rows_of(profile, "nodes")
    shown, left = _top(rows, top, lambda row: row.timed.usual_total_us)
    columns: list[Column[Timed[ModuleTime]]] = [
        *module_columns(),
        time_column("self", 60),
        total_column("total")._replace(width=0),
        Column("total_share", share_heading(profile.overhead), _total_share, SHARE),
        for_files("share", lambda row: row.share, SHARE),
        first_column(),
        *sum_columns(per_iteration),
        *files_only(limit_columns(rows)),
    ]
    # What is inside of the others is in the totals above.
    others = [footer._replace(values={**footer.values, "share": None}) for footer in others_footer(left)]
    footers = [*others, *_without_module(nodes, per_iteration), total_footer(nodes, per_iteration)]
    return Table(columns, _below_each_other(shown), "Time per module", link=_key, footers=footers)


def module_columns() -> list[Column[Timed[ModuleTime]]]:
    """What a module is."""
    return [
        Column("module", "module", lambda row: row.timed.module, NAME, text=_module_name, room=24),
        Column("nodes", "nodes", lambda row: row.timed.nodes, WHOLE, 60),
    ]


def _module_name(row: Timed[ModuleTime]) -> str:
    return row.name or module_label(row.timed.module)


def module_label(module: str) -> str:
    """Its path; the outermost one has none."""
    return name_of(module) if module else "(outermost module)"


def _total_share(row: Timed[ModuleTime]) -> float | None:
    return row.timed.usual_total_us / row.whole_us if row.whole_us else None


def _below_each_other(rows: Sequence[Timed[ModuleTime]]) -> list[Timed[ModuleTime]]:
    """The rows, each named within the ones around it, and indented."""
    shown, found = {row.timed.module for row in rows}, []
    for row in rows:
        outer = [each for each in shown if each and row.timed.module.startswith(f"{each}.")]
        depth = len(outer) + ("" in shown) if row.timed.module else 0
        name = row.timed.module.removeprefix(f"{max(outer, key=len)}." if outer else "")
        found.append(row._replace(name="  " * depth + module_label(name)))
    return found


def _without_module(nodes: Sequence[Timed[NodeTime]], per_iteration: bool) -> list[Footer]:
    """Nodes of no module: without them, modules would not add up to the whole."""
    without = [row for row in nodes if row.timed.module is None]
    return [total_footer(without, per_iteration, "(no module)")._replace(style="dim")] if without else []


def sources_table(profile: Profile, per_iteration: bool = False) -> Table[Timed[SourceTime]]:
    """A row per group of nodes of the original model, those that cost nothing included."""
    return _sources_table(profile, rows_of(profile, "sources"), per_iteration)


def costly_sources_table(profile: Profile, top: int) -> Table[Timed[SourceTime]]:
    """The most costly groups of original nodes that the optimizer changed, and all others together."""
    timed = timed_sources(profile)
    kept = [row for row in timed if row.timed.group.kind == "kept"]
    changed = [row for row in timed if row.timed.group.kind != "kept"]
    shown, left = changed[:top], changed[top:]
    footers = [*others_footer(left), *others_footer(kept, "as written"), total_footer(timed)]
    return _sources_table(profile, shown)._replace(footers=footers if changed else [])


def all_sources_table(profile: Profile, top: int) -> Table[Timed[SourceTime]]:
    """The most costly groups of original nodes, changed or not; without rows if the optimizer changed nothing."""
    timed = timed_sources(profile)
    if all(row.timed.group.kind == "kept" for row in timed):
        timed = []
    table = _sources_table(profile, timed[:top])
    first, *others = table.columns
    table = table._replace(columns=[first._replace(text=original_or_inserted), *others])
    return table._replace(footers=[*others_footer(timed[top:]), total_footer(timed)])


def timed_sources(profile: Profile) -> list[Timed[SourceTime]]:
    """Groups that are executed, the most costly first."""
    rows = [row for row in rows_of(profile, "sources") if row.timed.group.kind not in TIMELESS]
    return sorted(rows, key=lambda row: -row.timed.usual_us)


def _sources_table(
    profile: Profile, rows: Sequence[Timed[SourceTime]], per_iteration: bool = False
) -> Table[Timed[SourceTime]]:
    columns: list[Column[Timed[SourceTime]]] = [
        *source_columns(),
        Column("executed", "executed as", _executed_names, TEXT, 80, text=_executed, style="dim", room=12),
        time_column(),
        share_column(profile),
        for_files("source_ops", lambda row: row.timed.group.source_ops),
        for_files("executed_ops", lambda row: row.timed.group.executed_ops),
        for_files("path", lambda row: "/".join(row.timed.group.path)),
        for_files("same_as", lambda row: row.timed.group.same_as),
        first_column(),
        *sum_columns(per_iteration, with_bodies=False),
        *files_only(limit_columns(rows)),
    ]
    return Table(columns, rows, "In the original model", link=_key, footers=[total_footer(rows, per_iteration)])


def source_columns() -> list[Column[Timed[SourceTime]]]:
    """What a group of original nodes is, and what became of it."""
    return [
        Column("sources", "original nodes", lambda row: row.timed.group.sources, TEXT, text=_original, room=18),
        Column("kind", "kind", lambda row: row.timed.group.kind),
    ]


def _original(row: Timed[SourceTime]) -> str:
    group = row.timed.group
    return f"{inside(group)}{members(group.source_ops, group.sources)}" if group.sources else "(none)"


def original_or_inserted(row: Timed[SourceTime]) -> str:
    """The original nodes; without any, those that onnxruntime added."""
    group = row.timed.group
    return f"{inside(group)}{members(group.source_ops or group.executed_ops, group.sources or group.executed)}"


def _executed_names(row: Timed[SourceTime]) -> tuple[str, ...]:
    return row.timed.group.executed


def _executed(row: Timed[SourceTime]) -> str:
    """Nothing where a node is executed as it is written."""
    group = row.timed.group
    same = group.kind == "kept" and group.sources == group.executed
    return "" if same else members(group.executed_ops, group.executed)


# ---------------------------------------------------------------- iterations


class Iteration(NamedTuple):
    """One inference of a trace; what the trace does not have is None."""

    number: int
    nodes_us: int
    executor_us: int | None
    run_us: int | None


def iteration_rows(profile: Profile) -> list[Iteration]:
    """Every inference, the first one first."""
    number = max((len(node.self_us) for node in profile.nodes), default=profile.iterations)

    def column(values: Sequence[int]) -> Sequence[int | None]:
        return values if len(values) == number else [None] * number

    nodes = [sum(each.self_us[turn] for each in profile.nodes) for turn in range(number)]
    return list(map(Iteration, range(number), nodes, column(profile.executor_us), column(profile.run_us)))


def iterations_table(profile: Profile, operators: bool = True) -> Table[Iteration]:
    """The inference, its executor and its nodes; with `operators`, files have a column for each type."""
    columns: list[Column[Iteration]] = [
        Column("iteration", "inference", lambda row: row.number, WHOLE),
        Column("run_us", "time", lambda row: row.run_us, WHOLE_US),
        Column("executor_us", "in the executor", lambda row: row.executor_us, WHOLE_US),
        Column("nodes_us", "in nodes", lambda row: row.nodes_us, WHOLE_US),
        *(for_files(each.op_name, _turn_of(each), WHOLE_US) for each in (profile.operators if operators else ())),
    ]
    return Table(columns, iteration_rows(profile), "Time per inference")


def _turn_of(operator: OperatorTime) -> Callable[[Iteration], int]:
    return lambda row: operator.self_us[row.number]


# ---------------------------------------------------------------- parts


def _key(row: Timed[Any]) -> str:
    return row.key


def _top(
    rows: Sequence[Timed[Any]], top: int | None, cost: Callable[[Timed[Any]], float]
) -> tuple[list[Timed[Any]], list[Timed[Any]]]:
    """The most costly rows, and the others, both in their order."""
    kept = set(sorted(range(len(rows)), key=lambda place: -cost(rows[place]))[:top])
    return [rows[i] for i in range(len(rows)) if i in kept], [rows[i] for i in range(len(rows)) if i not in kept]
