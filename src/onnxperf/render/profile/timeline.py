"""One inference of a profile: what ran when, and what memory was in use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import NodeTime, Profile, Timeline
from onnxperf.render.charts.base import GREY, Chart, Filter, Layer, axis_of, microsecond_unit, size_unit
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.charts.timeline import Curve
from onnxperf.render.charts.timeline import Timeline as Drawn
from onnxperf.render.kit.column import BYTES, NAME, WHOLE, Column
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.charts import operator_colors, operator_legend
from onnxperf.render.profile.columns import WHOLE_US
from onnxperf.render.profile.node_memory import (
    IN_USE,
    LIVE,
    MemoryCurve,
    memory_charts,
    memory_curves,
    memory_label,
    memory_summary,
    thinned,
)
from onnxperf.render.profile.tables import node_label
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, grouped, microseconds, size

TYPICAL = "typical"
_MOST_ROWS, _FEW_ROWS = 2_000, 20
_LETTERS, _SHORTEST, _MANY = 1_250_000, 16, 10_000
"""Letters of all names together, and those of one name that remain at least: a page stays below 8 MB. From many nodes
on, only the most costly ones are linked with the rest of the page."""
_MOST_POINTS = 2_000
"""Points of a curve of memory."""
_ROOM = 0.18
"""Above the peak, for its name."""


class Execution(NamedTuple):
    """A node that ran once."""

    inference: str
    """What a select box calls its inference."""
    start_us: int
    duration_us: int
    node: NodeTime
    thread: int
    in_use_bytes: int | None


def kept_timelines(profile: Profile) -> dict[str, Timeline]:
    """The inferences of the record: the typical one, the first and the slowest."""
    typical = {} if profile.timeline is None else {TYPICAL: profile.timeline}
    return typical | {("slowest" if each.iteration else "first"): each for each in profile.other_timelines}


def timeline_charts(profile: Profile, timeline: Timeline | None, is_typical: bool = True) -> list[Chart]:
    """One inference: a lane per thread and depth, a mark per execution; of the typical one also its memory."""
    if timeline is None or is_typical:
        return timelines_charts(profile, {} if timeline is None else {TYPICAL: timeline})
    return timelines_charts(profile, {"": replace(timeline, in_use_bytes=())})


def timelines_charts(profile: Profile, timelines: Mapping[str, Timeline]) -> list[Chart]:
    """The same of several inferences, of which a select box chooses one: by default the typical one."""
    drawn = {name: each for name, each in timelines.items() if each.nodes}
    if not drawn:
        return []
    named = {_choice(profile, name, each): each for name, each in drawn.items()}
    several = len(named) > 1
    used = sorted({place for each in drawn.values() for place in each.nodes})
    pictures = [_picture(profile, each, used) for each in drawn.values()]
    layers = [
        Layer(picture if not place else picture.with_items_of_first, {"inference": choice} if several else {})
        for place, (choice, picture) in enumerate(zip(named, pictures, strict=True))
    ]
    filters = [Filter("inference", list(named), column=0)] if several else []
    title, table = "What ran when", _executions_table(profile, named)
    summary = _summary(profile, next(iter(drawn)), next(iter(drawn.values())))
    return [Chart(title, summary, layers, table, filters, "page")]


def _choice(profile: Profile, name: str, timeline: Timeline) -> str:
    """What a select box calls an inference."""
    turn = timeline.iteration
    took = f", {microseconds(profile.run_us[turn])}" if turn < len(profile.run_us) else ""
    return f"{name} (number {grouped(turn)}{took})"


def _summary(profile: Profile, name: str, timeline: Timeline) -> str:
    """What the first view shows: the typical inference, unless another was asked for."""
    number, usual = _number(profile, timeline), "is the one whose node times are closest to those in the tables"
    about = f"The typical inference, number {number}, {usual}" if name == TYPICAL else f"Inference {number}"
    parts = [f"{about}: {count(len(timeline.nodes), 'execution')} in {microseconds(_end(timeline))}."]
    if timeline.left_out:
        parts.append(f"{count(timeline.left_out, 'execution')}, the shortest, are left out.")
    if record := memories_of(profile, timeline):
        parts.append(memory_summary(record))
    return " ".join(parts)


def _end(timeline: Timeline) -> int:
    return max(start + us for start, us in zip(timeline.start_us, timeline.duration_us, strict=True))


def _picture(profile: Profile, timeline: Timeline, used: Sequence[int]) -> Drawn:
    spans, record = _spans(profile, timeline, used), memories_of(profile, timeline)
    if record is None:
        return Drawn(spans)
    curves = [_curve(each, timeline, record) for each in memory_curves(record)]
    sizes = [value for curve in curves for value in curve.ys]
    unit = size_unit(size for size in sizes if size is not None)
    return Drawn(spans, axis_of("memory", sizes, unit, from_zero=True, log_from=float("inf"), margin=_ROOM), curves)


def _curve(curve: MemoryCurve, timeline: Timeline, record: NodeMemories) -> Curve:
    """A size from the end of each node to the end of the next; the live set is that of the node that runs."""
    nodes, kept = record.nodes, thinned(record.nodes, _MOST_POINTS)
    is_used, is_live = curve.name == IN_USE, curve.name == LIVE
    if is_live:
        kept = sorted(kept, key=timeline.start_us.__getitem__)
    values = [curve.of(nodes[at]) for at in kept]
    times = [timeline.start_us[at] + (0 if is_live else timeline.duration_us[at]) for at in kept]
    begin = record.base_bytes if is_used else values[0]
    words = [f"{memory_label(nodes[at])}: {size(curve.of(nodes[at]))} {curve.name}" for at in kept] if is_used else []
    highest = max((value for value in values if value is not None), default=0)
    return Curve(
        name=curve.name,
        xs=[0, *times],
        ys=[begin, *values],
        color=curve.color,
        dash=curve.dash,
        words=["before the first node", *words] if is_used else [],
        peak=f"peak {size(highest)}" if is_used else "",
    )


def _spans(profile: Profile, timeline: Timeline, used: Sequence[int]) -> Spans:
    depths = [len(profile.nodes[place].path) for place in timeline.nodes]
    lanes = sorted(set(zip(timeline.threads, depths, strict=True)))
    lane_of = {lane: number for number, lane in enumerate(lanes)}
    item_of = {place: number for number, place in enumerate(used)}
    said_of = {us: number for number, us in enumerate(sorted(set(timeline.duration_us)))}
    end = _end(timeline)
    order = sorted(range(len(timeline.nodes)), key=lambda at: (timeline.start_us[at], -timeline.duration_us[at]))
    return Spans(
        axis=axis_of("since the first node began", [max(end, 1)], microsecond_unit([end]), from_zero=True, margin=0),
        lanes=_lane_names(lanes),
        starts=[timeline.start_us[at] for at in order],
        widths=[timeline.duration_us[at] for at in order],
        lane=[lane_of[timeline.threads[at], depths[at]] for at in order],
        item=[item_of[timeline.nodes[at]] for at in order],
        items=_items(profile, used),
        words=list(map(microseconds, said_of)),
        said=[said_of[timeline.duration_us[at]] for at in order],
        legend=operator_legend(profile, {profile.nodes[place].op_name for place in timeline.nodes}),
    )


def _number(profile: Profile, timeline: Timeline) -> str:
    number = max(len(profile.run_us), profile.iterations)
    of = f" of {grouped(number)}" if number > 1 else ""
    return f"{grouped(timeline.iteration)}{of}"


def _lane_names(lanes: Sequence[tuple[int, int]]) -> list[str]:
    nested = any(depth for _, depth in lanes)
    return [f"thread {thread}" + (f", depth {depth}" if nested else "") for thread, depth in lanes]


def _items(profile: Profile, used: Sequence[int]) -> list[SpanItem]:
    """The nodes that ran, and what else on the page stands for them."""
    colors, links, groups = operator_colors(profile), profile.node_links, profile.link_groups
    room = max(_LETTERS // len(used), _SHORTEST)
    linked = set(used) if len(used) <= _MANY else _costly(profile)
    found = []
    for place in used:
        node = profile.nodes[place]
        name = name_of(_cut(node.name, room))
        keys = [links[place], *groups[links[place]]]
        found.append(
            SpanItem(
                name=name,
                where=f"{name} ({name_of(node.op_name)})",
                color=colors.get(node.op_name, GREY),
                keys=list(map(name_of, keys)) if place in linked else [],
            )
        )
    return found


def _cut(name: str, room: int) -> str:
    """A name without its middle; there may be a hundred thousand of them, so letters are counted as they come."""
    return name if len(name) <= room else f"{name[: room // 2 - 1]}…{name[-(room // 2) :]}"


def _costly(profile: Profile) -> set[int]:
    """The nodes that have a row in the table of nodes."""
    return set(sorted(range(len(profile.nodes)), key=lambda place: -profile.nodes[place].usual_us)[:_MOST_ROWS])


def _executions_table(profile: Profile, timelines: Mapping[str, Timeline]) -> Table[Execution]:
    """The longest executions in the order in which they began; of the inferences behind the first one only a few."""
    rows = [
        row
        for place, (choice, each) in enumerate(timelines.items())
        for row in _executions(profile, choice, each, _FEW_ROWS if place else _MOST_ROWS)
    ]
    columns: list[Column[Execution]] = [
        Column("inference", "inference", lambda row: row.inference, NAME, 60),
        Column("start_us", "began after", lambda row: row.start_us, WHOLE_US),
        Column("duration_us", "took", lambda row: row.duration_us, WHOLE_US),
        Column("node_name", "node", lambda row: row.node.name, text=lambda row: node_label(row.node)),
        Column("op_name", "operator", lambda row: row.node.op_name),
        Column("thread", "thread", lambda row: row.thread, WHOLE, 60),
        Column("in_use_bytes", "memory at its end", lambda row: row.in_use_bytes, BYTES),
    ]
    return Table(columns if len(timelines) > 1 else columns[1:], rows)


def _executions(profile: Profile, choice: str, timeline: Timeline, most: int) -> Iterator[Execution]:
    longest = sorted(range(len(timeline.nodes)), key=lambda at: -timeline.duration_us[at])[:most]
    sizes = timeline.in_use_bytes or [None] * len(timeline.nodes)
    for at in sorted(longest, key=lambda at: timeline.start_us[at]):
        node = profile.nodes[timeline.nodes[at]]
        yield Execution(choice, timeline.start_us[at], timeline.duration_us[at], node, timeline.threads[at], sizes[at])


# ---------------------------------------------------------------- memory


def timeline_memory_charts(profile: Profile, timeline: Timeline | None) -> list[Chart]:
    """What the arena had in use when each node ended; nothing if the trace does not say."""
    record = None if timeline is None else memories_of(profile, timeline)
    if timeline is None or record is None:
        return []
    links = profile.node_links
    return memory_charts(record, [links[place] for place in timeline.nodes])


def memories_of(profile: Profile, timeline: Timeline) -> NodeMemories | None:
    """The memory of a timeline as a record; None if the trace does not say."""
    if not any(size is not None for size in timeline.in_use_bytes):
        return None
    nodes = [profile.nodes[place] for place in timeline.nodes]
    missing = [None] * len(nodes)
    sizes = zip(timeline.in_use_bytes, timeline.held_bytes or missing, timeline.live_bytes or missing, strict=True)
    return NodeMemories(
        model=profile.model,
        iteration=timeline.iteration,
        loaded_bytes=timeline.loaded_bytes,
        base_bytes=timeline.base_bytes,
        nodes=tuple(
            NodeMemory(
                name=node.name,
                path=node.path,
                op_name=node.op_name,
                in_use_bytes=in_use,
                held_bytes=held,
                live_bytes=live,
            )
            for node, (in_use, held, live) in zip(nodes, sizes, strict=True)
        ),
    )
