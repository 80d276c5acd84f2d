"""One inference of a profile on a page: what ran when, and what memory was in use."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.profile import Profile, Timeline, modules_around, operator_link
from onnxperf.render.kit.page import Line
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.render.web.base import Chart, Section
from onnxperf.render.web.sections.bars import size_unit, time_unit
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, decimal_size, grouped, microseconds

_MOST_ROWS = 2_000
_MOST_POINTS = 4_000
"""Points of a curve: of more, the highest of each few is kept."""
_FAR = 3
"""How many times what is used the arena may hold where both are drawn."""
GREY = 6
"""The place of grey among the colours of a page; operators before it have one of their own."""
_NO_TIMELINE = "This run was kept without its trace, and no inference of it is stored: profile the model again."


def timeline_sections(profile: Profile, timeline: Timeline | None) -> list[Section]:
    """The usual inference: its nodes over time, and its memory; a sentence where it is not known."""
    if timeline is None:
        return [Section("Timeline", [Line(_NO_TIMELINE, "dim")])] if profile.nodes else []
    memory = [memory_curve(profile, timeline)] if _knows_memory(timeline) else []
    return [
        Section("Timeline", [timeline_chart(profile, timeline)]),
        *([Section("Memory", memory)] if memory else []),
    ]


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
    height = 110 + 34 * len(lanes)
    return Chart("timeline", "What ran when", summary, data, _timeline_table(profile, timeline), height)


def _timeline_nodes(profile: Profile, timeline: Timeline, used: Sequence[int]) -> dict[str, object]:
    """Names of the nodes that ran, what else on the page stands for them, and the colours of their operators."""
    links, nodes = profile.node_links, [profile.nodes[place] for place in used]
    types = _types(profile, timeline)
    places = {name: number for number, name in enumerate(types)}
    modules = list(dict.fromkeys(node.module for node in nodes if node.module is not None))
    return {
        "names": [name_of(node.name) for node in nodes],
        "keys": [name_of(links[place]) for place in used],
        "type": [places[node.op_name] for node in nodes],
        "types": [
            {"name": name_of(name), "key": name_of(operator_link(name)), "colour": min(number, GREY)}
            for number, name in enumerate(types)
        ],
        "module": [modules.index(node.module) if node.module is not None else -1 for node in nodes] if modules else [],
        "modules": [[name_of(key) for key in modules_around(module)] for module in modules],
    }


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


def _knows_memory(timeline: Timeline) -> bool:
    return any(size is not None for size in timeline.in_use_bytes)


def memory_curve(profile: Profile, timeline: Timeline) -> Chart:
    """Bytes in use when each node ended, what the arena held, and the live set, over the nodes."""
    loaded = timeline.loaded_bytes or 0
    columns: dict[str, tuple[Sequence[int | None], int]] = {
        "held by the arena": (timeline.held_bytes, 6),
        "in use": (timeline.in_use_bytes, 0),
        "packed weights + live set": ([None if each is None else loaded + each for each in timeline.live_bytes], 2),
    }
    known = {name: each for name, each in columns.items() if any(size is not None for size in each[0])}
    held, used = (max((size or 0 for size in each), default=0) for each in (timeline.held_bytes, timeline.in_use_bytes))
    if held > _FAR * used:  # the curve of what is used would be a line along the axis
        known.pop("held by the arena", None)
    scale, unit = size_unit([size or 0 for values, _ in known.values() for size in values])
    kept = _thinned(timeline.in_use_bytes)
    names = [name_of(profile.nodes[place].name) for place in timeline.nodes]
    links = profile.node_links
    peak = max(range(len(timeline.in_use_bytes)), key=lambda at: timeline.in_use_bytes[at] or 0)
    data = {
        "x": "nodes, in the order in which they ended",
        "y": unit,
        "step": True,
        "zero": True,
        "keys": [name_of(links[timeline.nodes[at]]) for at in kept],
        "curves": [
            {
                "name": name,
                "xs": list(kept),
                "ys": [None if values[at] is None else (values[at] or 0) / scale for at in kept],
                "words": [f"{names[at]}: {decimal_size(values[at])} {name}" for at in kept],
                "colour": colour,
            }
            for name, (values, colour) in known.items()
        ],
        "levels": [{"y": size / scale} for size in (timeline.loaded_bytes, timeline.base_bytes) if size],
        "marks": [
            {
                "x": peak,
                "y": (timeline.in_use_bytes[peak] or 0) / scale,
                "words": f"{names[peak]}: {decimal_size(timeline.in_use_bytes[peak])}",
            }
        ],
    }
    summary = (
        f"Memory of onnxruntime's arena over the nodes of {_which(profile, timeline)}: the most in use is "
        f"{decimal_size(timeline.in_use_bytes[peak])}, when {names[peak]} ends; "
        f"{_levels_text(timeline)}the arena held {decimal_size(held)}."
    )
    return Chart("curve", "Memory per node", summary, data, _memory_table(profile, timeline), 340)


def _levels_text(timeline: Timeline) -> str:
    sizes = {"packed weights": timeline.loaded_bytes, "in use before the first node": timeline.base_bytes}
    return "".join(f"{name} {decimal_size(size)}, " for name, size in sizes.items() if size is not None)


def _thinned(sizes: Sequence[int | None]) -> list[int]:
    """Places of the points that are drawn: all of them, or the highest of each few neighbours."""
    few = max(-(-len(sizes) // _MOST_POINTS), 1)
    groups = (range(at, min(at + few, len(sizes))) for at in range(0, len(sizes), few))
    return [max(several, key=lambda at: sizes[at] or 0) for several in groups]


def _memory_table(profile: Profile, timeline: Timeline) -> Table:
    columns = [Column("node", left=True), Column("operator", left=True), Column("in use"), Column("arena held")]
    most = sorted(range(len(timeline.nodes)), key=lambda at: -(timeline.in_use_bytes[at] or 0))[:_MOST_ROWS]
    rows = []
    for at in sorted(most):
        node = profile.nodes[timeline.nodes[at]]
        sizes = [
            each[at] if each else None for each in (timeline.in_use_bytes, timeline.held_bytes, timeline.live_bytes)
        ]
        texts = [decimal_size(size) if size is not None else "" for size in sizes]
        rows.append(Row([name_of(" > ".join((*node.path, node.name))), name_of(node.op_name), *texts]))
    return without_empty(Table([*columns, Column("live set")], rows))
