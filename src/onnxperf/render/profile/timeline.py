"""One inference of a profile: what ran when, and what memory was in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import NodeTime, Profile, Timeline, modules_around, operator_link
from onnxperf.render.charts.base import GREY, Chart, axis_of, chart, microsecond_unit
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.kit.column import WHOLE, Column
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.charts import operator_colors, operator_legend
from onnxperf.render.profile.columns import WHOLE_US
from onnxperf.render.profile.node_memory import memory_charts
from onnxperf.render.profile.tables import node_label
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, grouped, microseconds

_MOST_ROWS = 2_000
_LETTERS, _SHORTEST, _MANY = 1_250_000, 16, 10_000
"""Letters of all names together, and those of one name that remain at least: a page stays below 8 MB. From many nodes
on, only the most costly ones are linked with the rest of the page."""
_USUAL = ", the one nearest to the usual time"


class Execution(NamedTuple):
    """A node that ran once."""

    start_us: int
    duration_us: int
    node: NodeTime
    thread: int


def timeline_charts(profile: Profile, timeline: Timeline | None, is_usual: bool = True) -> list[Chart]:
    """A lane per thread and depth, a mark per execution of a node, colored by operator."""
    if timeline is None or not timeline.nodes:
        return []
    depths = [len(profile.nodes[place].path) for place in timeline.nodes]
    lanes = sorted(set(zip(timeline.threads, depths, strict=True)))
    lane_of = {lane: number for number, lane in enumerate(lanes)}
    used = sorted(set(timeline.nodes))
    item_of = {place: number for number, place in enumerate(used)}
    said_of = {us: number for number, us in enumerate(sorted(set(timeline.duration_us)))}
    end = max(start + us for start, us in zip(timeline.start_us, timeline.duration_us, strict=True))
    order = sorted(range(len(timeline.nodes)), key=lambda at: (timeline.start_us[at], -timeline.duration_us[at]))
    picture = Spans(
        axis=axis_of("since the first node began", [max(end, 1)], microsecond_unit([end]), from_zero=True, margin=0),
        lanes=_lane_names(lanes),
        starts=[timeline.start_us[at] for at in order],
        widths=[timeline.duration_us[at] for at in order],
        lane=[lane_of[timeline.threads[at], depths[at]] for at in order],
        item=[item_of[timeline.nodes[at]] for at in order],
        items=_items(profile, used),
        words=list(map(microseconds, said_of)),
        said=[said_of[timeline.duration_us[at]] for at in order],
        legend=operator_legend(profile, {profile.nodes[place].op_name for place in used}),
    )
    summary = (
        f"When each node ran in {_number(profile, timeline)}{_USUAL if is_usual else ''}: "
        f"{count(len(order), 'execution')} in {microseconds(end)}."
    )
    if timeline.left_out:
        summary += f" {count(timeline.left_out, 'execution')}, the shortest, are left out."
    return [chart("What ran when", summary, picture, _executions_table(profile, timeline), on="page")]


def _number(profile: Profile, timeline: Timeline) -> str:
    number = max(len(profile.run_us), profile.iterations)
    of = f" of {grouped(number)}" if number > 1 else ""
    return f"inference {grouped(timeline.iteration)}{of}"


def _lane_names(lanes: Sequence[tuple[int, int]]) -> list[str]:
    nested = any(depth for _, depth in lanes)
    return [f"thread {thread}" + (f", depth {depth}" if nested else "") for thread, depth in lanes]


def _items(profile: Profile, used: Sequence[int]) -> list[SpanItem]:
    """The nodes that ran, and what else on the page stands for them."""
    colors, links = operator_colors(profile), profile.node_links
    room = max(_LETTERS // len(used), _SHORTEST)
    linked = set(used) if len(used) <= _MANY else _costly(profile)
    found = []
    for place in used:
        node = profile.nodes[place]
        name = name_of(_cut(node.name, room))
        keys = [
            links[place],
            operator_link(node.op_name),
            *([] if node.module is None else modules_around(node.module)),
        ]
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


def _executions_table(profile: Profile, timeline: Timeline) -> Table[Execution]:
    """The longest executions in the order in which they began."""
    longest = sorted(range(len(timeline.nodes)), key=lambda at: -timeline.duration_us[at])[:_MOST_ROWS]
    rows = [
        Execution(
            timeline.start_us[at], timeline.duration_us[at], profile.nodes[timeline.nodes[at]], timeline.threads[at]
        )
        for at in sorted(longest, key=lambda at: timeline.start_us[at])
    ]
    columns: list[Column[Execution]] = [
        Column("start_us", "began after", lambda row: row.start_us, WHOLE_US),
        Column("duration_us", "took", lambda row: row.duration_us, WHOLE_US),
        Column("node_name", "node", lambda row: row.node.name, text=lambda row: node_label(row.node)),
        Column("op_name", "operator", lambda row: row.node.op_name),
        Column("thread", "thread", lambda row: row.thread, WHOLE),
    ]
    return Table(columns, rows)


# ---------------------------------------------------------------- memory


def timeline_memory_charts(profile: Profile, timeline: Timeline | None) -> list[Chart]:
    """What the arena had in use when each node ended; nothing if the trace does not say."""
    if timeline is None or not any(size is not None for size in timeline.in_use_bytes):
        return []
    nodes = [profile.nodes[place] for place in timeline.nodes]
    missing = [None] * len(nodes)
    sizes = zip(timeline.in_use_bytes, timeline.held_bytes or missing, timeline.live_bytes or missing, strict=True)
    record = NodeMemories(
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
    links = profile.node_links
    return memory_charts(record, [links[place] for place in timeline.nodes])
