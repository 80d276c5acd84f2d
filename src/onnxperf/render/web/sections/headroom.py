"""The headroom of a profile on a page: nodes below the roofs of the machine, and what each could win at best."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.headroom import Headroom, Limit
from onnxperf.records.profile import NodeTime, Profile
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.profile.headroom import NOT_DRAWN, could_win_text, headroom_tables
from onnxperf.render.web.bars import BarSeries, bars, time_unit
from onnxperf.render.web.old_base import Chart, LinkedTable, Part, Section
from onnxperf.render.web.sections.timeline import GREY
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, microseconds, per_second, percent, ratio, significant

_BARS = 16
_MOST_ROWS = 2_000
_SMALLEST, _LARGEST = 6.0, 34.0
"""Diameters of points in pixels: of no time, and of the longest."""
_Pair = tuple[NodeTime, Limit, str]


def headroom_sections(profile: Profile) -> list[Section]:
    """The roofline and its tables, where the profile has limits."""
    headroom = profile.headroom
    if headroom is None or not headroom.nodes:
        return []
    pairs = sorted(
        zip(profile.nodes, headroom.nodes, profile.node_links, strict=True), key=lambda each: -each[1].could_win_us
    )
    parts: list[Part] = [roofline(profile, headroom, pairs), could_win(headroom, pairs)]
    parts += [*_tables(profile, pairs)]
    return [Section("Headroom", parts)]


def _tables(profile: Profile, pairs: Sequence[_Pair]) -> list[Part]:
    """The tables of the command line with all rows; that of nodes is linked."""
    found: list[Part] = []
    for table in headroom_tables(profile, _MOST_ROWS):
        if table.columns[0].heading != "node":
            found.append(table)
            continue
        ranked = sorted(pairs, key=lambda each: (-each[1].could_win_us, -each[1].time_us))[:_MOST_ROWS]
        keys = [key for _, _, key in ranked]
        found.append(LinkedTable(table, [*keys, *([""] * (len(table.rows) - len(keys)))]))
    return found


def roofline(profile: Profile, headroom: Headroom, pairs: Sequence[_Pair]) -> Chart:
    """A point for each node with counted operations: its speed over its operations per byte."""
    shown = [each for each in pairs if each[1].flop and each[1].moved_bytes and each[1].gflop_per_s]
    longest = max((limit.time_us for _, limit, _ in shown), default=0.0) or 1.0
    types = [each.op_name for each in sorted(profile.operators, key=lambda each: -each.usual_us)]
    present = {node.op_name for node, _, _ in shown}
    costly = [name for name in types if name in present]
    points = [
        {
            "x": limit.flop / limit.moved_bytes,
            "y": limit.gflop_per_s,
            "size": _SMALLEST + (_LARGEST - _SMALLEST) * (limit.time_us / longest) ** 0.5,
            "type": costly.index(node.op_name),
            "key": name_of(key),
            "words": _words(node, limit),
        }
        for node, limit, key in shown
    ]
    data = {
        "x": "operations per byte",
        "y": "GFLOP/s",
        "points": points,
        "types": [{"name": name_of(name), "colour": min(number, GREY)} for number, name in enumerate(costly)],
        "roofs": _roofs(headroom, shown),
    }
    hidden = len(pairs) - len(shown)
    peaks = headroom.peaks
    summary = (
        f"Speed of {count(len(shown), 'node')} over their operations per byte, below what this machine reaches with "
        f"{count(peaks.threads, 'thread')}: {significant(peaks.gflop_per_s)} GFLOP/s of arithmetic, "
        f"{significant(peaks.memory_gb_per_s)} GB/s from memory. The area of a point is its time; "
        f"{percent(headroom.near_share)} of the time is within 1.5x of its limit."
    )
    if hidden:
        summary += f" {count(hidden, 'node')} {NOT_DRAWN} are left out."
    return Chart("roofline", "Roofline", summary, data, _points_table(shown), 440)


def _words(node: NodeTime, limit: Limit) -> str:
    intensity = significant(limit.flop / limit.moved_bytes)
    far = "at its limit" if limit.ratio is not None and limit.ratio <= 1 else f"{ratio(limit.ratio)} its limit"
    return "\n".join(
        [
            f"{name_of(node.name)} ({name_of(node.op_name)})",
            f"{microseconds(limit.time_us)}, {far}, could win {microseconds(limit.could_win_us)}",
            f"{per_second(limit.gflop_per_s)} GFLOP/s, {intensity} operations per byte",
        ]
    )


def _roofs(headroom: Headroom, shown: Sequence[_Pair]) -> list[dict[str, object]]:
    """Lines of arithmetic, memory and cache, from the least to the most operations per byte of the nodes."""
    peaks = headroom.peaks
    ceiling = peaks.gflop_per_s
    at = [limit.flop / limit.moved_bytes for _, limit, _ in shown] or [1.0]
    ridge = ceiling / peaks.memory_gb_per_s
    low, high = min(*at, ridge) / 2, max(*at, ridge) * 3
    start = ceiling / peaks.cache_gb_per_s
    roofs: list[dict[str, object]] = [
        {"name": f"arithmetic {significant(ceiling)} GFLOP/s", "points": [[start, ceiling], [high, ceiling]]},
    ]
    for words, rate in (("memory", peaks.memory_gb_per_s), ("cache", peaks.cache_gb_per_s)):
        line = [[low, low * rate], [ceiling / rate, ceiling]]
        roofs.append({"name": f"{words} {significant(rate)} GB/s", "points": line})
    integers = peaks.int8_gop_per_s
    if integers is not None and any((limit.gflop_per_s or 0.0) > 1.001 * ceiling for _, limit, _ in shown):
        roofs.append({"name": f"int8 {significant(integers)} GOP/s", "points": [[low, integers], [high, integers]]})
    return roofs


def _points_table(shown: Sequence[_Pair]) -> Table:
    columns = [
        *(Column("node", left=True), Column("operator", left=True), Column("time")),
        *(Column("operations per byte"), Column("GFLOP/s"), Column("could win")),
    ]
    rows = [
        Row(
            [
                name_of(" > ".join((*node.path, node.name))),
                name_of(node.op_name),
                microseconds(limit.time_us),
                significant(limit.flop / limit.moved_bytes),
                per_second(limit.gflop_per_s),
                microseconds(limit.could_win_us),
            ]
        )
        for node, limit, _ in shown[:_MOST_ROWS]
    ]
    return Table(columns, rows)


def could_win(headroom: Headroom, pairs: Sequence[_Pair]) -> Chart:
    """A bar for each of the nodes that could win the most."""
    kept = pairs[:_BARS]
    names = [" > ".join((*node.path, node.name)) for node, _, _ in kept]
    won = [limit.could_win_us for _, limit, _ in kept]
    keys = [key for _, _, key in kept]
    words = [could_win_text(limit.could_win_us, limit) for _, limit, _ in kept]
    summary = (
        f"What the {count(len(kept), 'node')} at the top could win at best, against the peaks of this machine; "
        f"all together {microseconds(headroom.whole.could_win_us)} of {microseconds(headroom.whole.time_us)}."
    )
    return bars("Could be won at best", summary, names, [BarSeries("", won, words, 2)], time_unit(won), keys)
