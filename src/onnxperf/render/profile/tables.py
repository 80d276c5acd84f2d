"""The tables of a profile: operators, nodes, and the nodes of the original model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnxperf.records.diff import DiffRow
from onnxperf.records.profile import (
    DOMINATING_OVERHEAD,
    NodeTime,
    OperatorTime,
    Profile,
    SourceTime,
    Times,
    quickest_of,
    steady,
    sum_of,
)
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.profile.groups import TIMELESS, inside, members
from onnxperf.wording.labels import types_text
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, grouped, mean_count, microseconds, percent

BAR = 12
"""Cells of a bar from 0 to 100 %."""


def bar(before: float, own: float) -> str:
    """A share as a bar that starts where the shares before it end."""
    start, end = (round(BAR * min(max(share, 0.0), 1.0)) for share in (before, before + own))
    return "░" * start + "█" * (end - start)


def _share(time: float, whole: float) -> str:
    return percent(time / whole if whole else None)


def _spread(timed: OperatorTime | NodeTime) -> str:
    """The fastest and the slowest iteration, the first left out."""
    if len(timed.self_us) < 2:
        return microseconds(None)
    low, high = microseconds(min(timed.steady_us)), microseconds(max(timed.steady_us))
    if low == high:
        return low
    unit = f" {low.split()[-1]}"
    return f"{low.removesuffix(unit) if high.endswith(unit) else low}…{high}"


def _calls(timed: OperatorTime | NodeTime) -> str:
    return mean_count(timed.calls / max(len(timed.self_us), 1))


# ---------------------------------------------------------------- a profile


def estimator(profile: Profile) -> str:
    """Which of its iterations the times of a profile come from."""
    number = len(steady(profile.run_us or next((node.self_us for node in profile.nodes), ())))
    if number <= 2:
        return "mean of 2 iterations" if number == 2 else "one iteration"
    quickest = quickest_of(number)
    part = "the quickest quarter" if quickest > 2 else f"the {quickest} quickest"
    return f"mean of {part} of {grouped(number)} iterations"


def share_heading(overhead: float | None) -> str:
    """Shares of a time that is mostly the profiler's are not called shares of the model."""
    return "profiled share" if (overhead or 0.0) >= DOMINATING_OVERHEAD else "share"


def _total(cells: dict[int, str], width: int) -> Row:
    """The last row of a table: the sum of those above."""
    return Row([cells.get(place, "") for place in range(width)], "bold")


def operators_table(profile: Profile) -> Table:
    """A row per operator type."""
    columns = (
        Column("operator", left=True, room=22),
        Column("nodes", rank=1),
        Column("calls", rank=2),
        Column("time"),
        Column(share_heading(profile.overhead)),
        Column("up to here", left=True, rank=5),
        Column("first", rank=4),
        Column("spread", rank=3),
    )
    whole = profile.usual_nodes_us
    rows, before = [], 0.0
    # By what is shown: the profile's own order counts the first iteration, too.
    for operator in sorted(profile.operators, key=lambda operator: -operator.usual_us):
        own = operator.usual_us / whole if whole else 0.0
        cells = (
            name_of(operator.op_name),
            grouped(operator.nodes),
            _calls(operator),
            microseconds(operator.usual_us),
            _share(operator.usual_us, whole),
            bar(before, own),
            microseconds(operator.self_us[0]) if len(operator.self_us) > 1 else "",
            _spread(operator),
        )
        rows.append(Row(cells, styles={5: "cyan", 6: "dim", 7: "dim"}))
        before += own
    nodes = grouped(sum(operator.nodes for operator in profile.operators))
    rows.append(_total({0: "total", 1: nodes, 3: microseconds(whole), 4: _share(whole, whole)}, len(columns)))
    return without_empty(Table(columns, rows, f"Time per operator ({estimator(profile)})"))


def nodes_table(profile: Profile, top: int) -> Table:
    """A row for each of the most costly nodes; nodes of bodies stand under the node that has the body."""
    nodes = profile.nodes
    whole = profile.usual_nodes_us
    tree = costly_tree(profile, top)
    providers = len({node.provider for node in nodes}) > 1
    totals = any(nodes[i].self_us != nodes[i].total_us for i, _ in tree)
    columns = (
        Column("node", left=True, room=18),
        Column("operator", left=True, room=12),
        Column("provider", left=True, rank=3, room=4),
        Column("shapes", left=True, rank=6, room=18),
        Column("calls", rank=5),
        Column("self" if totals else "time"),
        Column("total", rank=4),
        Column("device", rank=2),
        Column(share_heading(profile.overhead)),
        Column("spread", rank=7),
    )
    rows = []
    for i, depth in tree:
        cells = _node_cells(nodes[i], depth, whole)
        cells[2], cells[6] = cells[2] if providers else "", cells[6] if totals else ""
        rows.append(Row(cells, styles={3: "dim", 9: "dim"}))
    shown = {i for i, _ in tree}
    others = [node for i, node in enumerate(nodes) if i not in shown]
    rows += _others(others, whole, (5, 8, len(columns)))
    rows.append(_total({0: "total", 5: microseconds(whole), 8: _share(whole, whole)}, len(columns)))
    return without_empty(Table(columns, rows, f"The most costly nodes ({estimator(profile)})"))


def costly_tree(profile: Profile, top: int) -> list[tuple[int, int]]:
    """Places and depths of the most costly nodes, as a table lists them."""
    nodes = profile.nodes
    costly = sorted(range(len(nodes)), key=lambda i: (-nodes[i].usual_us, i))
    return _tree(nodes, costly[:top])


def _node_cells(node: NodeTime, depth: int, whole: float) -> list[str]:
    return [
        "  " * depth + name_of(node.name if depth or not node.path else " > ".join((*node.path, node.name))),
        name_of(node.op_name),
        node.provider.removesuffix("ExecutionProvider"),
        shapes_text(node),
        _calls(node),
        microseconds(node.usual_us),
        microseconds(node.usual_total_us),
        "" if node.kernel_us is None else microseconds(node.kernel_us / max(len(node.self_us), 1)),
        _share(node.usual_us, whole),
        _spread(node),
    ]


def _others(others: Sequence[Times], whole: float, places: tuple[int, int, int]) -> Iterable[Row]:
    """What a table leaves out, as its last row: how many, their time and their share."""
    if not others:
        return
    time, share, width = places
    cells = [""] * width
    cells[0] = count(len(others), "other")
    together = sum_of(others)
    cells[time], cells[share] = microseconds(together), _share(together, whole)
    yield Row(cells, style="dim")


def _tree(nodes: Sequence[NodeTime], chosen: Sequence[int]) -> list[tuple[int, int]]:
    """The chosen nodes and those around them, each with its depth; the most costly first, bodies included."""
    place: dict[tuple[str, ...], int] = {}
    for i, node in enumerate(nodes):
        place.setdefault((*node.path, node.name), i)
    children: dict[int, list[int]] = {}
    known: set[int] = set()
    for i in chosen:
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


def shapes_text(node: NodeTime | DiffRow) -> str:
    """Types and shapes as `f-1x3x8x8,f-64 -> f-1x64x8x8`; whether these are one combination of several."""
    if not node.inputs and not node.outputs:
        return ""
    text = f"{types_text(node.inputs)} -> {types_text(node.outputs)}".strip()
    return f"{text} (1 of {node.shapes})" if isinstance(node, NodeTime) and node.shapes > 1 else text


# ---------------------------------------------------------------- the original model


def modules_table(profile: Profile, top: int) -> Table | None:
    """A row for each of the most costly modules, under the module that it is in; None where no module is known."""
    if not profile.modules:
        return None
    columns = (
        Column("module", left=True, room=24),
        Column("nodes", rank=1),
        Column("self", rank=2),
        Column("total"),
        Column(share_heading(profile.overhead)),
    )
    costly = sorted(profile.modules, key=lambda module: -module.usual_total_us)[:top]
    shown = {module.module for module in costly}
    whole = profile.usual_nodes_us
    rows = []
    for module in profile.modules:
        if module.module not in shown:
            continue
        outer = [each for each in shown if each and module.module.startswith(f"{each}.")]
        depth = len(outer) + ("" in shown) if module.module else 0
        name = module.module.removeprefix(f"{max(outer, key=len)}." if outer else "")
        cells = (
            "  " * depth + (name_of(name) if module.module else "(outermost module)"),
            grouped(module.nodes),
            microseconds(module.usual_us),
            microseconds(module.usual_total_us),
            _share(module.usual_total_us, whole),
        )
        rows.append(Row(cells))
    left = [module for module in profile.modules if module.module not in shown]
    if left:  # what is inside them is in the totals above
        rows.append(Row((count(len(left), "other"), "", microseconds(sum_of(left)), "", ""), style="dim"))
    without = [node for node in profile.nodes if node.module is None]
    if without:
        time = sum_of(without)
        cells = ("(no module)", grouped(len(without)), microseconds(time), microseconds(time), _share(time, whole))
        rows.append(Row(cells, style="dim"))
    all_nodes = {0: "total", 1: grouped(len(profile.nodes)), 2: microseconds(whole), 3: microseconds(whole)}
    rows.append(_total({**all_nodes, 4: _share(whole, whole)}, len(columns)))
    return Table(columns, rows, f"Time per module ({estimator(profile)})")


def sources_table(profile: Profile, top: int) -> Table | None:
    """A row for each of the most costly groups of original nodes; None where the optimiser changed nothing."""
    timed = [source for source in profile.sources if source.group.kind not in TIMELESS]
    if all(source.group.kind == "kept" for source in timed):
        return None
    columns = (
        Column("kind", left=True),
        Column("nodes of the original model", left=True, room=18),
        Column("executed as", left=True, room=12),
        Column("time"),
        Column(share_heading(profile.overhead)),
    )
    whole = profile.usual_nodes_us
    costly = sorted(timed, key=lambda source: -source.usual_us)
    rows = [Row(_source_cells(source, whole), styles={2: "dim"}) for source in costly[:top]]
    for row in _others(costly[top:], whole, (3, 4, len(columns))):
        rows.append(row._replace(cells=["", row.cells[0], *row.cells[2:]]))
    together = sum_of(timed)
    rows.append(_total({1: "total", 3: microseconds(together), 4: _share(together, whole)}, len(columns)))
    return Table(columns, rows, f"In the original model ({estimator(profile)})")


def _source_cells(source: SourceTime, whole: float) -> tuple[str, ...]:
    group = source.group
    same = group.kind == "kept" and group.sources == group.executed
    return (
        group.kind,
        f"{inside(group)}{members(group.source_ops, group.sources)}" if group.sources else "",
        "" if same else members(group.executed_ops, group.executed),
        microseconds(source.usual_us),
        _share(source.usual_us, whole),
    )
