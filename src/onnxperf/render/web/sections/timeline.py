"""One inference of a profile on a page: what ran when, and what memory was in use."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import Profile, Timeline, modules_around, operator_link
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Line
from onnxperf.render.web.bars import time_unit
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.render.web.sections.arena import arena_chart
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, grouped, microseconds

_MOST_ROWS = 2_000
_LETTERS, _SHORTEST, _MANY = 2_500_000, 16, 10_000
"""Letters of all names together, and those of one name that remain at least: a page stays below 8 MB. From many nodes
on, only those in the table of nodes are linked by another name than their own."""
GREY = 6
"""The place of grey among the colours of a page; operators before it have one of their own."""
_NO_TIMELINE = "This run was kept without its trace, and no inference of it is stored: profile the model again."


def timeline_sections(profile: Profile, timeline: Timeline | None) -> list[Section]:
    """The usual inference: its nodes over time, and its memory; a sentence where it is not known."""
    if timeline is None:
        return [Section("Timeline", [Line(_NO_TIMELINE, "dim")])] if profile.nodes else []
    return [Section("Timeline", [timeline_chart(profile, timeline)]), *_memory(profile, timeline)]


def _which(profile: Profile, timeline: Timeline) -> str:
    number = max(len(profile.run_us), profile.iterations)
    of = f" of {grouped(number)}" if number > 1 else ""
    return f"inference {grouped(timeline.iteration)}{of}"


# ---------------------------------------------------------------- over time


def timeline_chart(profile: Profile, timeline: Timeline) -> Chart:
    """A lane per thread and depth, a mark per execution of a node, coloured by operator."""
    order = sorted(range(len(timeline.nodes)), key=lambda at: (timeline.start_us[at], -timeline.duration_us[at]))
    depths = [len(profile.nodes[place].path) for place in timeline.nodes]
    lanes = sorted(set(zip(timeline.threads, depths, strict=True)))
    lane_of = {lane: number for number, lane in enumerate(lanes)}
    used = sorted(set(timeline.nodes))
    number_of = {place: number for number, place in enumerate(used)}
    end = max((start + us for start, us in zip(timeline.start_us, timeline.duration_us, strict=True)), default=0)
    scale, unit = time_unit([end], "since the first node began")
    data = {
        "axis": unit,
        "scale": scale,
        "end": end,
        "lanes": _lane_names(lanes),
        "starts": [timeline.start_us[at] for at in order],
        "durations": [timeline.duration_us[at] for at in order],
        "lane": [lane_of[timeline.threads[at], depths[at]] for at in order],
        "node": [number_of[timeline.nodes[at]] for at in order],
        "words": {str(us): microseconds(us) for us in set(timeline.duration_us)},
        **_timeline_nodes(profile, timeline, used),
    }
    summary = (
        f"When each node ran in {_which(profile, timeline)}, the one nearest to the usual time: "
        f"{count(len(order), 'execution')} in {microseconds(end)}."
    )
    if timeline.left_out:
        summary += f" {count(timeline.left_out, 'execution')}, the shortest, are left out."
    height = 150 + 34 * len(lanes)
    return Chart("timeline", "What ran when", summary, data, _timeline_table(profile, timeline), height)


def _timeline_nodes(profile: Profile, timeline: Timeline, used: Sequence[int]) -> dict[str, object]:
    """Names of the nodes that ran, what else on the page stands for them, and the colours of their operators."""
    links, nodes = profile.node_links, [profile.nodes[place] for place in used]
    types = _types(profile, timeline)
    places = {name: number for number, name in enumerate(types)}
    modules = list(dict.fromkeys(node.module for node in nodes if node.module is not None))
    costly = _costly(profile) if len(used) > _MANY else None
    room = max(_LETTERS // max(len(used), 1), _SHORTEST)
    names = [name_of(_cut(node.name, room)) for node in nodes]
    return {
        "names": names,
        "keys": {
            number: name_of(links[place])
            for number, place in enumerate(used)
            if links[place] != names[number] and (costly is None or place in costly)
        },
        "type": [places[node.op_name] for node in nodes],
        "types": [
            {"name": name_of(name), "key": name_of(operator_link(name)), "colour": min(number, GREY)}
            for number, name in enumerate(types)
        ],
        "module": [modules.index(node.module) if node.module is not None else -1 for node in nodes] if modules else [],
        "modules": [[name_of(key) for key in modules_around(module)] for module in modules],
    }


def _cut(name: str, room: int) -> str:
    """A name without its middle; there may be a hundred thousand of them, so letters are counted as they come."""
    return name if len(name) <= room else f"{name[: room // 2 - 1]}…{name[-(room // 2) :]}"


def _costly(profile: Profile) -> set[int]:
    """The nodes that have a row in the table of nodes."""
    return set(sorted(range(len(profile.nodes)), key=lambda place: -profile.nodes[place].usual_us)[:_MOST_ROWS])


def _types(profile: Profile, timeline: Timeline) -> list[str]:
    """Operators, those that take the most of this inference first: these have colours of their own."""
    times: dict[str, int] = {}
    for place, us in zip(timeline.nodes, timeline.duration_us, strict=True):
        name = profile.nodes[place].op_name
        times[name] = times.get(name, 0) + us
    return sorted(times, key=lambda name: -times[name])


def _lane_names(lanes: Sequence[tuple[int, int]]) -> list[str]:
    nested = any(depth for _, depth in lanes)
    return [f"thread {thread}" + (f", depth {depth}" if nested else "") for thread, depth in lanes]


def _timeline_table(profile: Profile, timeline: Timeline) -> Table:
    """The longest executions in the order in which they began."""
    longest = sorted(range(len(timeline.nodes)), key=lambda at: -timeline.duration_us[at])[:_MOST_ROWS]
    columns = [Column("began after"), Column("took"), Column("node", left=True), Column("operator", left=True)]
    rows = []
    for at in sorted(longest, key=lambda at: timeline.start_us[at]):
        node = profile.nodes[timeline.nodes[at]]
        times = microseconds(timeline.start_us[at]), microseconds(timeline.duration_us[at])
        name = name_of(" > ".join((*node.path, node.name)))
        rows.append(Row([*times, name, name_of(node.op_name), str(timeline.threads[at])]))
    return Table([*columns, Column("thread")], rows)


# ---------------------------------------------------------------- memory


def _memory(profile: Profile, timeline: Timeline) -> list[Section]:
    """What the arena had in use; nothing where the trace does not say."""
    if not any(size is not None for size in timeline.in_use_bytes):
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
    return [Section("Memory", [arena_chart(record, [links[place] for place in timeline.nodes])])]
