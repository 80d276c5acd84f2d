"""Charts of a profile: time and number per operator, per node and per source, and what ran when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.records.profile import LARGE_OVERHEAD, GroupKind, NodeTime, Profile, SourceTime
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.profile.operator_bars import draw_operators, operator_bars
from onnxperf.wording.labels import signature
from onnxperf.wording.names import name_of, shortened, shortened_apart, text_width, visible
from onnxperf.wording.numbers import grouped, microseconds, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOMY = 20
"""Up to so many nodes have their types and shapes written below their names."""
_FEW_NODES = 12
"""Nodes beside the operators, where these are fewer."""
MAX_SPANS = 10_000
MAX_LANES = 40
"""What a timeline holds: the longest executions, and the lanes of the longest of them."""
_OTHERS = "#BBBBBB"
_DARK = (fg.BLUE, fg.GREEN, fg.RED)
"""Colours on which white is easier to read."""
_KINDS: dict[GroupKind, str] = {
    "kept": fg.BLUE,
    "fused": fg.GREEN,
    "inserted": fg.ORANGE,
    "folded": fg.SKY,
    "duplicate": fg.PINK,
    "removed": fg.YELLOW,
    "unattributed": fg.GREY,
}


class Span(NamedTuple):
    """One execution of a node in a timeline."""

    start_us: int
    duration_us: int
    lane: tuple[int, int]
    """Thread and depth."""
    op_name: str
    name: str


def profile_plot(profile: Profile, ax: Sequence[Axes] | None = None) -> fg.AxesArray:
    """Time and executions per operator; beside them the most costly nodes, unless two axes are given."""
    operators = operator_bars(profile)
    nodes = _node_bars(profile, profile.nodes, max(len(operators.labels), _FEW_NODES))
    panels = ax
    if panels is None:
        longest = [max(labels, key=text_width, default="") for labels in (operators.labels, nodes.labels)]
        rows = ["".join(longest)] * max(len(operators.labels), len(nodes.labels))
        figure = fg.bar_figure(rows, 3, "Time and executions per operator, time per node", _whole(profile))
        panels = figure.subplots(1, 3)
    else:
        fg.name_given(panels[0], name_of(profile.model))
    draw_operators(panels, operators)
    if len(panels) > 2:
        _draw_nodes(panels[2], nodes)
    return fg.as_array(panels)


def nodes_plot(profile: Profile, ax: Axes | None = None, op: str | None = None) -> Axes:
    """A bar per node, the longest on top; only of one operator where that is named."""
    chosen = [node for node in profile.nodes if op in (None, node.op_name)]
    # Rows of an axes of the user's may be too low for two lines.
    nodes = _node_bars(profile, chosen, fg.MAX_BARS, with_calls=ax is None and len(chosen) <= ROOMY)
    if ax is None:
        what = f"Time per {visible(shortened(op, 40))} node" if op else "Time per node"
        ax = fg.bar_figure(nodes.labels, 1, what, _whole(profile)).subplots()
    else:
        fg.name_given(ax, name_of(profile.model))
    _draw_nodes(ax, nodes)
    if not chosen:
        ax.set_xlabel("no such node")
    return ax


def sources_plot(profile: Profile, ax: Axes | None = None) -> Axes:
    """A bar per group of nodes of the original model, coloured by what became of them."""
    sources = [source for source in profile.sources if any(source.self_us)]
    sources.sort(key=lambda source: -source.usual_us)
    total = profile.usual_nodes_us
    names = shortened_apart([_source_label(source) for source in sources], fg.NAME_LENGTH)
    labels, values = fg.capped(names, [source.usual_us for source in sources])
    colours = [_KINDS[source.group.kind] for source in sources[: len(values)]]
    if len(sources) > len(values):
        colours[-1] = _OTHERS
    is_given = ax is not None
    if ax is None:
        ax = fg.bar_figure(labels, 1, "Time per node of the original model", _whole(profile)).subplots()
    bars = fg.Bars(values, colours, [fg.cost(us, total) for us in values])
    fg.draw_bars(ax, labels, [bars], summed=len(sources) > fg.MAX_BARS)
    fg.time_axis(ax.xaxis)
    present = {source.group.kind for source in sources}
    lines = fg.legend(ax, fg.patches({kind: colour for kind, colour in _KINDS.items() if kind in present}))
    if is_given:
        fg.name_given(ax, name_of(profile.model), lines)
    return ax


def timeline_plot(spans: Sequence[Span], title: str, ax: Axes | None = None) -> Axes:
    """What ran when in one iteration: a lane per thread and depth, coloured by operator."""
    origin = min((span.start_us for span in spans), default=0)
    spans = [span._replace(start_us=span.start_us - origin) for span in spans]
    end = max((span.start_us + span.duration_us for span in spans), default=0)
    drawn, lanes = _drawable(spans)
    if ax is None:
        figure = fg.new_figure(14, 1.9 + 0.45 * max(len(lanes), 2))
        fg.entitle(figure, "Executions over time", title)
        ax = figure.subplots()
    else:
        fg.name_given(ax, title)
    colours = _operator_colours(drawn)
    _draw_spans(ax, drawn, lanes, colours)
    _write_inside(ax, drawn, lanes, colours, end)
    hidden = len(spans) - len(drawn)
    left_out = f"; {grouped(hidden)} of the shortest executions left out" if hidden else ""
    _dress_lanes(ax, lanes, end, f"since the iteration began{left_out}")
    others = {"others": _OTHERS} if {span.op_name for span in drawn} - set(colours) else {}
    fg.legend(ax, fg.patches(colours | others), beside=True)
    return ax


# ---------------------------------------------------------------- parts


def _whole(profile: Profile) -> str:
    """The model, and the sum of which all shares are parts."""
    overhead = profile.overhead or 0.0
    slow = f", a call {significant(overhead)} times as long with the profiler" if overhead >= LARGE_OVERHEAD else ""
    return f"{name_of(profile.model)}: {microseconds(profile.usual_nodes_us)} in nodes per inference{slow}"


class _NodeBars(NamedTuple):
    """What is drawn of nodes, the most costly first."""

    labels: list[str]
    times_us: list[float]
    summed: bool
    """The last one stands for many."""
    whole_us: float


def _node_bars(profile: Profile, nodes: Sequence[NodeTime], most: int, with_calls: bool = False) -> _NodeBars:
    costly = sorted(nodes, key=lambda node: -node.usual_us)
    names = shortened_apart([name_of("/".join([*node.path, node.name])) for node in costly], fg.NAME_LENGTH)
    labels = [f"{name}\n{_call(node)}" if with_calls else name for name, node in zip(names, costly, strict=True)]
    labels, times = fg.capped(labels, [node.usual_us for node in costly], most=most)
    return _NodeBars(labels, times, len(costly) > most, profile.usual_nodes_us)


def _draw_nodes(ax: Axes, nodes: _NodeBars) -> None:
    words = [fg.cost(us, nodes.whole_us) for us in nodes.times_us]
    bars = fg.Bars(nodes.times_us, [fg.BLUE] * len(words), words)
    fg.draw_bars(ax, nodes.labels, [bars], nodes.summed)
    fg.time_axis(ax.xaxis)


def _call(node: NodeTime) -> str:
    return shortened(signature(node.op_name, node.inputs, node.outputs), fg.NAME_LENGTH)


def _source_label(source: SourceTime) -> str:
    group = source.group
    names = group.sources or group.executed
    path = "".join(f"{parent}/" for parent in group.path)
    return name_of(path + " + ".join(names))


def _drawable(spans: Sequence[Span]) -> tuple[list[Span], dict[tuple[int, int], int]]:
    """As many of the longest as a picture can hold, and the places of their lanes from the top."""
    longest = sorted(spans, key=lambda span: -span.duration_us)[:MAX_SPANS]
    lanes = sorted(list(dict.fromkeys(span.lane for span in longest))[:MAX_LANES])
    places = {lane: place for place, lane in enumerate(lanes)}
    return [span for span in longest if span.lane in places], places


def _operator_colours(spans: Sequence[Span]) -> dict[str, str]:
    """A colour for each of the most costly operators."""
    cost: dict[str, int] = defaultdict(int)
    for span in spans:
        cost[span.op_name] += span.duration_us
    order = [fg.BLUE, fg.ORANGE, fg.GREEN, fg.SKY, fg.RED, fg.PINK, fg.YELLOW]
    return dict(zip(sorted(cost, key=lambda op: -cost[op]), order, strict=False))


def _draw_spans(ax: Axes, spans: Sequence[Span], lanes: dict[tuple[int, int], int], colours: dict[str, str]) -> None:
    groups: dict[tuple[int, str, bool], list[tuple[float, float]]] = defaultdict(list)
    for span in spans:
        colour = colours.get(span.op_name, _OTHERS)
        groups[lanes[span.lane], colour, span.duration_us > 0].append((span.start_us, span.duration_us))
    for (place, colour, wide), group in groups.items():
        # White edges part neighbours; what took no time has an edge of its colour, or it would vanish.
        edge = "white" if wide else colour
        ax.broken_barh(group, (place - 0.4, 0.8), facecolor=colour, edgecolor=edge, linewidth=0.4)


def _write_inside(
    ax: Axes, spans: Sequence[Span], lanes: dict[tuple[int, int], int], colours: dict[str, str], end: int
) -> None:
    """Names of the nodes whose bars are wide enough for them."""
    size = fg.FONT - 1.5
    for span in spans:
        inches = 10 * span.duration_us / end if end else 0
        shown = visible(span.name)
        if shown and (text_width(shown) + 1) * 0.66 * size / 72 <= inches:
            middle = span.start_us + span.duration_us / 2
            ink = "white" if colours.get(span.op_name) in _DARK else "black"
            place = lanes[span.lane]
            ax.text(middle, place, shown, fontsize=size, ha="center", va="center", color=ink, parse_math=False)


def _dress_lanes(ax: Axes, lanes: dict[tuple[int, int], int], end: int, words: str) -> None:
    nested = any(depth for _, depth in lanes)
    labels = [f"thread {thread}" + (f", depth {depth}" if nested else "") for thread, depth in lanes]
    fg.name_rows(ax, labels)
    ax.set_xlim(0, end or 1)
    fg.time_axis(ax.xaxis, words)
