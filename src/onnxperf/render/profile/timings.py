"""What the tables of a profile show; the console and HTML share it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from onnxperf.records import DiffRow, NodeTime, Profile, SourceGroup, SourceTime
from onnxperf.records.iterations import steady
from onnxperf.records.labels import types_text
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import UNICODE, Marks, duration, percent

Times = Sequence[int]

BAR = 12
"""Cells of a bar from 0 to 100 %."""
_TIMELESS = {
    "folded": "Folded, computed once when the model is loaded",
    "duplicate": "Duplicates of another node",
    "removed": "Removed, without effect",
}
_FIRST_NAMES = 5


# ---------------------------------------------------------------- numbers


def micros(us: float | None, marks: Marks = UNICODE) -> str:
    """A time such as `43 µs` or `1.20 ms`; a trace counts whole microseconds, and no digits are made up below them."""
    if us is None or abs(us) >= 999.5:
        return duration(None if us is None else us * 1e3, marks)
    return f"{us:.3g} {marks.micro}s"


def count(number: int, what: str) -> str:
    """A number with its noun: `1 node`, `3 nodes`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def bar(before: float, own: float, blocks: str) -> str:
    """A share as a bar that starts where the shares before it end; `blocks` are the signs for before and own."""
    start, end = (round(BAR * min(max(share, 0.0), 1.0)) for share in (before, before + own))
    return blocks[0] * start + blocks[1] * (end - start)


def _share(time: float, whole: float, marks: Marks) -> str:
    return percent(time / whole if whole else None, marks)


def _spread(times: Times, marks: Marks) -> str:
    """The fastest and the slowest of the usual iterations."""
    if len(times) < 2:
        return marks.nothing
    low, high = (micros(time, marks) for time in (min(steady(times)), max(steady(times))))
    if low == high:
        return low
    unit = f" {low.split()[-1]}"
    return f"{low.removesuffix(unit) if high.endswith(unit) else low}{marks.to}{high}"


def _calls(calls: int, iterations: int) -> str:
    each = calls / max(iterations, 1)
    return f"{each:,.0f}" if each.is_integer() else f"{each:,.1f}"


def outside_share(profile: Profile) -> float | None:
    """The share of the inferences that passed outside of nodes."""
    runs = sum(steady(profile.run_us))
    if not runs or not profile.nodes:
        return None
    inside_nodes = sum(sum(steady(node.self_us)) for node in profile.nodes)
    return max(runs - inside_nodes, 0) / runs


# ---------------------------------------------------------------- a profile


def operator_sheet(profile: Profile, marks: Marks, blocks: str = "", min_share: float = 0.0) -> Table:
    """A row per operator type; without `blocks` there are no bars."""
    columns = (
        Column("operator", left=True, room=22),
        Column("nodes", rank=1),
        Column("calls", rank=2),
        Column("time"),
        Column("share"),
        Column("up to here", left=True, rank=5),
        Column("first", rank=4),
        Column("spread", rank=3),
    )
    whole = math.fsum(operator.usual_us for operator in profile.operators)
    rows, before = [], 0.0
    # By what is shown: the profile's own order counts the first iteration, too.
    costly = sorted(profile.operators, key=lambda operator: -operator.usual_us)
    shown = [operator for operator in costly if _reaches(operator.usual_us, whole, min_share)]
    for operator in shown:
        own = operator.usual_us / whole if whole else 0.0
        cells = (
            name_of(operator.op_name),
            f"{operator.nodes:,}",
            _calls(operator.calls, len(operator.self_us)),
            micros(operator.usual_us, marks),
            _share(operator.usual_us, whole, marks),
            bar(before, own, blocks) if blocks else "",
            micros(operator.self_us[0], marks) if len(operator.self_us) > 1 else "",
            _spread(operator.self_us, marks),
        )
        rows.append(Row(cells, styles={5: "cyan", 6: "dim", 7: "dim"}))
        before += own
    others = [operator.usual_us for operator in costly[len(shown) :]]
    return without_empty(Table(columns, [*rows, *_others(others, "other", whole, (3, 4, len(columns)), marks)]))


def node_sheet(profile: Profile, marks: Marks, top: int, min_share: float = 0.0) -> Table:
    """A row for each of the most costly nodes; nodes of bodies stand under the node that has the body."""
    nodes = profile.nodes
    whole = math.fsum(node.usual_us for node in nodes)
    costly = sorted(range(len(nodes)), key=lambda i: (-nodes[i].usual_us, i))
    chosen = [i for i in costly[: max(top, 0)] if _reaches(nodes[i].usual_us, whole, min_share)]
    tree = _tree(nodes, chosen)
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
        Column("share"),
        Column("spread", rank=7),
    )
    rows = []
    for i, depth in tree:
        node = nodes[i]
        cells = (
            "  " * depth + name_of(node.name if depth or not node.path else " > ".join((*node.path, node.name))),
            name_of(node.op_name),
            node.provider.removesuffix("ExecutionProvider") if providers else "",
            shapes_text(node),
            _calls(node.calls, len(node.self_us)),
            micros(node.usual_us, marks),
            micros(node.usual_total_us, marks) if totals else "",
            "" if node.kernel_us is None else micros(node.kernel_us / max(len(node.self_us), 1), marks),
            _share(node.usual_us, whole, marks),
            _spread(node.self_us, marks),
        )
        rows.append(Row(cells, styles={3: "dim", 9: "dim"}))
    shown = {i for i, _ in tree}
    others = [node.usual_us for i, node in enumerate(nodes) if i not in shown]
    return without_empty(Table(columns, [*rows, *_others(others, "other", whole, (5, 8, len(columns)), marks)]))


def _reaches(time: float, whole: float, min_share: float) -> bool:
    return time >= min_share * whole


def _others(
    times: Sequence[float], what: str, whole: float, places: tuple[int, int, int], marks: Marks
) -> Iterable[Row]:
    """What a table leaves out, as its last row: how many, their time and their share."""
    if not times:
        return
    time, share, width = places
    cells = [""] * width
    cells[0] = count(len(times), what)
    both = math.fsum(times)
    cells[time], cells[share] = micros(both, marks), percent(both / whole if whole else None, marks)
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


def source_sheet(profile: Profile, marks: Marks, top: int, min_share: float = 0.0) -> Table | None:
    """A row for each of the most costly groups of original nodes; None where the optimiser changed nothing."""
    timed = [source for source in profile.sources if source.group.kind not in _TIMELESS]
    if all(source.group.kind == "kept" for source in timed):
        return None
    columns = (
        Column("kind", left=True),
        Column("nodes of the original model", left=True, room=18),
        Column("executed as", left=True, room=12),
        Column("time"),
        Column("share"),
    )
    whole = math.fsum(source.usual_us for source in timed)
    costly = sorted(timed, key=lambda source: -source.usual_us)
    shown = [source for source in costly[: max(top, 0)] if _reaches(source.usual_us, whole, min_share)]
    rows = [Row(_source_cells(source, whole, marks), styles={2: "dim"}) for source in shown]
    others = [source.usual_us for source in costly if source not in shown]
    for row in _others(others, "other", whole, (3, 4, len(columns)), marks):
        rows.append(row._replace(cells=["", row.cells[0], *row.cells[2:]]))
    return Table(columns, rows)


def _source_cells(source: SourceTime, whole: float, marks: Marks) -> tuple[str, ...]:
    group = source.group
    same = group.kind == "kept" and group.sources == group.executed
    return (
        group.kind,
        f"{inside(group)}{_members(group.source_ops, group.sources)}" if group.sources else "",
        "" if same else _members(group.executed_ops, group.executed),
        micros(source.usual_us, marks),
        _share(source.usual_us, whole, marks),
    )


def _members(ops: Sequence[str], names: Sequence[str]) -> str:
    """Operators, equal ones counted, and names: `Conv + 2 Relu: n3, n4, n5`."""
    counted = Counter(map(name_of, ops)).items()
    listed = " + ".join(op if times == 1 else f"{times} {op}" for op, times in counted)
    return f"{listed}: {', '.join(map(name_of, names))}"


def timeless(groups: Iterable[SourceGroup]) -> list[str]:
    """A line for each way in which original nodes cost nothing, with their number and the first names."""
    lines = []
    by_kind: dict[str, list[SourceGroup]] = {}
    for group in groups:
        by_kind.setdefault(group.kind, []).append(group)
    for kind, words in _TIMELESS.items():
        names = [name for group in by_kind.get(kind, ()) for name in gone(group)]
        if names:
            lines.append(f"{words}: {count(len(names), 'node')} ({listing(names)})")
    return lines


def gone(group: SourceGroup) -> list[str]:
    """Original nodes that are not executed; a duplicate with the node that was kept."""
    same = f" = {name_of(group.same_as)}" if group.same_as else ""
    return [f"{inside(group)}{name_of(name)}{same}" for name in group.sources]


def inside(group: SourceGroup | DiffRow) -> str:
    """The nodes whose bodies it is in, as the start of its name."""
    return "".join(f"{name_of(name)} > " for name in group.path)


def listing(names: Sequence[str], most: int | None = _FIRST_NAMES) -> str:
    """The first names, and how many there are besides; all of them if `most` is None."""
    kept = names[:most]
    rest = len(names) - len(kept)
    return ", ".join(kept) + (f" and {rest:,} more" if rest else "")
