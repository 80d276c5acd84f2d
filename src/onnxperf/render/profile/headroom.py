"""The tables of a profile's headroom: work, speed, and what could be won per operator, node, module and source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from onnxperf.records.headroom import Bound, Headroom, Limit
from onnxperf.records.profile import ModuleTime, NodeTime, Profile, SourceTime
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.profile.groups import TIMELESS, inside, members
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import (
    NOTHING,
    count,
    decimal_size,
    duration,
    grouped,
    magnitude,
    microseconds,
    per_second,
    ratio,
)

T = TypeVar("T")
BOUNDS: dict[Bound, str] = {
    "compute": "arithmetic",
    "memory": "memory",
    "nothing": "",
    "unknown": "not known",
    "disturbed": "not judged",
}
"""What limits a node, in words."""
NOT_DRAWN = "without counted operations, or with disturbed times,"
"""Nodes that a roofline leaves out."""
_FAR = 100
"""Times its limit from which on a node only pays for being called."""
_FIGURES = (
    Column("time"),
    Column("FLOP", rank=4),
    Column("bytes", rank=4),
    Column("GFLOP/s", rank=2),
    Column("GB/s", rank=2),
    Column("limit", left=True, rank=3),
    Column("x limit"),
    Column("could win"),
)


def headroom_tables(profile: Profile, top: int) -> list[Table]:
    """All of them, where the profile has limits."""
    headroom = profile.headroom
    if headroom is None:
        return []
    shown = [_operators(profile, headroom)] if headroom.operators else []
    if top > 0:
        shown += [_nodes(profile, headroom, top)] if headroom.nodes else []
        shown += [_modules(profile, headroom, top)] if headroom.modules else []
        shown += [_sources(profile, headroom, top)] if _is_changed(profile) else []
    return shown


def _operators(profile: Profile, headroom: Headroom) -> Table:
    columns = (Column("operator", left=True, room=18), Column("nodes", rank=1))
    rows = [
        ((name_of(row.op_name), grouped(row.nodes)), limit)
        for row, limit in _ranked(profile.operators, headroom.operators)
    ]
    return _table(columns, rows, [], "Headroom per operator (at best, against the peaks of this machine)")


def _nodes(profile: Profile, headroom: Headroom, top: int) -> Table:
    def cells(node: NodeTime) -> tuple[str, ...]:
        return name_of(" > ".join((*node.path, node.name))), name_of(node.op_name)

    columns = (Column("node", left=True, room=18), Column("operator", left=True, room=12, rank=1))
    ranked = _ranked(profile.nodes, headroom.nodes)
    return _top(columns, cells, ranked, top, "The nodes that could win the most")


def _modules(profile: Profile, headroom: Headroom, top: int) -> Table:
    def cells(module: ModuleTime) -> tuple[str, ...]:
        return name_of(module.module) if module.module else "(outermost module)", grouped(module.nodes)

    columns = (Column("module", left=True, room=24), Column("nodes", rank=1))
    ranked = _ranked(profile.modules, headroom.modules)[:top]
    return _table(
        columns,
        [(cells(module), limit) for module, limit in ranked],
        [],
        "Headroom per module, modules inside included",
    )


def _sources(profile: Profile, headroom: Headroom, top: int) -> Table:
    def cells(source: SourceTime) -> tuple[str, ...]:
        group = source.group
        return (
            f"{inside(group)}{members(group.source_ops or group.executed_ops, group.sources or group.executed)}",
            group.kind,
        )

    columns = (Column("nodes of the original model", left=True, room=18), Column("kind", left=True, rank=1))
    ranked = [each for each in _ranked(profile.sources, headroom.sources) if each[0].group.kind not in TIMELESS]
    return _top(columns, cells, ranked, top, "Headroom in the original model")


def _is_changed(profile: Profile) -> bool:
    """Whether the executed nodes are other ones than those of the model."""
    return any(source.group.kind not in ("kept", *TIMELESS) for source in profile.sources)


# ---------------------------------------------------------------- parts


def _ranked(rows: Sequence[T], limits: Sequence[Limit]) -> list[tuple[T, Limit]]:
    """Rows with their limits, what could win the most first."""
    return sorted(zip(rows, limits, strict=True), key=lambda each: (-each[1].could_win_us, -each[1].time_us))


def _top(
    columns: Sequence[Column],
    cells: Callable[[T], tuple[str, ...]],
    ranked: Sequence[tuple[T, Limit]],
    top: int,
    title: str,
) -> Table:
    rows = [(cells(row), limit) for row, limit in ranked[:top]]
    return _table(columns, rows, [limit for _, limit in ranked[top:]], title)


def _table(
    columns: Sequence[Column], rows: Sequence[tuple[tuple[str, ...], Limit]], others: Sequence[Limit], title: str
) -> Table:
    drawn = [Row((*names, *_figures(limit)), styles={len(names) + 5: "dim"}) for names, limit in rows]
    if others:
        time = sum(each.time_us for each in others)
        won = sum(each.could_win_us for each in others) if any(each.is_judged for each in others) else None
        blank = [""] * (len(columns) + len(_FIGURES))
        blank[0], blank[len(columns)], blank[-1] = count(len(others), "other"), microseconds(time), microseconds(won)
        drawn.append(Row(blank, style="dim"))
    return without_empty(Table((*columns, *_FIGURES), drawn, title))


def could_win_text(us: float, limit: Limit) -> str:
    """What a node could win of its time, or why that is not said."""
    of = duration(limit.time_us * 1e3)
    return f"{duration(us * 1e3)} of {of}" if limit.is_judged else f"{of}, {BOUNDS[limit.bound]}"


def _figures(limit: Limit) -> tuple[str, ...]:
    has_work = limit.flop > 0 or limit.moved_bytes > 0
    return (
        microseconds(limit.time_us),
        magnitude(limit.flop) if limit.counted and has_work else NOTHING,
        decimal_size(limit.moved_bytes) if has_work else NOTHING,
        per_second(limit.gflop_per_s if limit.flop else None),
        per_second(limit.gb_per_s if limit.moved_bytes else None),
        BOUNDS[limit.bound],
        _of_limit(limit),
        microseconds(limit.could_win_us if limit.is_judged else None),
    )


def _of_limit(limit: Limit) -> str:
    if limit.ratio is None or not limit.is_judged:
        return NOTHING
    if limit.ratio > _FAR:
        return f"> {grouped(_FAR)}×"  # noqa: RUF001
    return "at limit" if limit.ratio <= 1 else ratio(limit.ratio)
