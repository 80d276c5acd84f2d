"""The roofline of a profile: speed of nodes over their operations per byte, below what the machine reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxperf.records.headroom import Headroom, Limit
from onnxperf.records.profile import NodeTime, Profile
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.profile.headroom import NOT_DRAWN, could_win_text
from onnxperf.wording.names import name_of, shortened, shortened_apart
from onnxperf.wording.numbers import count, duration, percent, plain, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox

_LABELS = 6
"""Nodes with a name beside their point, where there is room."""
_LABEL_LENGTH = 30
_BARS = 14
_COLOURS = (fg.BLUE, fg.ORANGE, fg.GREEN, fg.PINK, fg.SKY, fg.RED, fg.YELLOW)
_OTHERS = "#BBBBBB"
_SMALLEST, _LARGEST = 14.0, 420.0
"""Areas of points in square points: of no time, and of the longest."""
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_DISTANCES = (4.0, 14.0, 28.0, 46.0, 70.0)
"""Where a name may stand: around its point, near first, in points."""
_GAP = 2.0


class _Point(NamedTuple):
    """A node with arithmetic."""

    intensity: float
    """Operations per byte."""
    gflop_per_s: float
    area: float
    operator: str
    name: str
    could_win_us: float


def roofline_plot(profile: Profile, ax: Axes | None = None) -> fg.AxesArray | Axes:
    """Nodes below the roofs, sized by time; beside them, unless an axes is given, what could be won by node."""
    headroom = profile.headroom
    if headroom is None:
        raise ValueError("a profile without limits has no roofline")
    points = _points(profile, headroom)
    colours = _operator_colours(profile)
    if ax is not None:
        fg.name_given(ax, name_of(profile.model), _draw_roofline(ax, headroom, points, colours))
        _name_points(ax, points)
        return ax
    labels, bars = _bars(profile, headroom, colours)
    beside = {node.op_name for node, _ in _pairs(profile, headroom)[: len(labels)]}
    figure = fg.new_figure(15.5, max(6.4, 2.2 + 0.3 * len(labels)))
    fg.entitle(figure, "Roofline, and what nodes could win at best", name_of(profile.model))
    panels = figure.subplots(1, 2, width_ratios=(1.35, 1))
    _draw_roofline(panels[0], headroom, points, colours, beside)
    fg.draw_bars(panels[1], labels, [bars], summed=len(profile.nodes) > _BARS)
    fg.time_axis(panels[1].xaxis, "could be won per iteration, at best")
    _name_points(panels[0], points)
    return fg.as_array(panels)


# ---------------------------------------------------------------- what is drawn


def _pairs(profile: Profile, headroom: Headroom) -> list[tuple[NodeTime, Limit]]:
    pairs = zip(profile.nodes, headroom.nodes, strict=True)
    return sorted(pairs, key=lambda each: -each[1].could_win_us)


def _points(profile: Profile, headroom: Headroom) -> list[_Point]:
    """Nodes that compute and move something, those that could win the most first."""
    longest = max((limit.time_us for limit in headroom.nodes), default=0.0) or 1.0
    return [
        _Point(
            limit.flop / limit.moved_bytes,
            speed,
            _SMALLEST + (_LARGEST - _SMALLEST) * limit.time_us / longest,
            node.op_name,
            name_of("/".join([*node.path, node.name])),
            limit.could_win_us,
        )
        for node, limit in _pairs(profile, headroom)
        for speed in [limit.gflop_per_s]
        if speed and limit.flop and limit.moved_bytes
    ]


def _operator_colours(profile: Profile) -> dict[str, str]:
    """A colour for each of the most costly operators."""
    costly = sorted(profile.operators, key=lambda operator: -operator.usual_us)
    return dict(zip((operator.op_name for operator in costly), _COLOURS, strict=False))


def _bars(profile: Profile, headroom: Headroom, colours: dict[str, str]) -> tuple[list[str], fg.Bars]:
    pairs = _pairs(profile, headroom)
    names = shortened_apart([name_of("/".join([*node.path, node.name])) for node, _ in pairs], fg.NAME_LENGTH // 2)
    labels, values = fg.capped(names, [limit.could_win_us for _, limit in pairs], most=_BARS)
    shades = [colours.get(node.op_name, _OTHERS) for node, _ in pairs[: len(labels)]]
    words = [could_win_text(us, limit) for us, (_, limit) in zip(values, pairs, strict=False)]
    if len(pairs) > _BARS:
        rest = sum(limit.time_us for _, limit in pairs[_BARS - 1 :])
        shades[-1], words[-1] = _OTHERS, f"{duration(values[-1] * 1e3)} of {duration(rest * 1e3)}"
    return labels, fg.Bars(values, shades, words)


# ---------------------------------------------------------------- the roofline


def _draw_roofline(
    ax: Axes, headroom: Headroom, points: Sequence[_Point], colours: dict[str, str], beside: Iterable[str] = ()
) -> int:
    """Roofs and points; the legend also has the operators of bars `beside`; returns how many lines it takes."""
    peaks = headroom.peaks
    intensities = [each.intensity for each in points] or [1.0]
    ridge = peaks.gflop_per_s / peaks.memory_gb_per_s
    low, high = min(*intensities, ridge) / 3, max(*intensities, ridge) * 4
    top = max(peaks.gflop_per_s, *(each.gflop_per_s for each in points), 0.0)
    bottom = min([each.gflop_per_s for each in points] or [top / 100])
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(bottom / 3, top * 3))
    roofs = list(_draw_roofs(ax, headroom, points, (low, high)))
    for operator in {each.operator for each in points}:
        chosen = [each for each in points if each.operator == operator]
        ax.scatter(
            [each.intensity for each in chosen],
            [each.gflop_per_s for each in chosen],
            s=[each.area for each in chosen],
            color=colours.get(operator, _OTHERS),
            edgecolors="white",
            linewidths=0.6,
            alpha=0.85,
            zorder=3,
        )
    _dress(ax, headroom, points)
    present = {each.operator for each in points}.union(beside)
    shown = {name: colour for name, colour in colours.items() if name in present}
    shown |= {"others": _OTHERS} if present - set(colours) else {}
    return fg.legend(ax, [*roofs, *fg.patches(shown)])


def _draw_roofs(
    ax: Axes, headroom: Headroom, points: Sequence[_Point], limits: tuple[float, float]
) -> Iterator[Line2D]:
    peaks, (low, high) = headroom.peaks, limits
    ceiling = peaks.gflop_per_s
    integers = peaks.int8_gop_per_s
    if integers is not None and any(each.gflop_per_s > 1.001 * ceiling for each in points):
        yield _line(ax, (low, high), (integers, integers), "-.", f"int8 {significant(integers)} GOP/s")
    start = ceiling / peaks.cache_gb_per_s
    yield _line(ax, (start, high), (ceiling, ceiling), "-", f"arithmetic {significant(ceiling)} GFLOP/s")
    for words, rate, style in (
        ("memory", peaks.memory_gb_per_s, "--"),
        ("cache", peaks.cache_gb_per_s, ":"),
    ):
        yield _line(ax, (low, ceiling / rate), (low * rate, ceiling), style, f"{words} {significant(rate)} GB/s")


def _line(ax: Axes, x: tuple[float, float], y: tuple[float, float], style: str, words: str) -> Line2D:
    return ax.plot(x, y, color=fg.INK, linestyle=style, linewidth=1.3, label=fg.legend_name(words), zorder=2)[0]


def _dress(ax: Axes, headroom: Headroom, points: Sequence[_Point]) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
        axis.set_minor_locator(NullLocator())
        axis.set_tick_params(labelsize=fg.FONT)
    hidden = [each for each in headroom.nodes if each.time_us and not (each.flop and each.gflop_per_s)]
    share = sum(each.time_us for each in hidden) / (headroom.whole.time_us or 1.0)
    left_out = f"; {count(len(hidden), 'node')} {NOT_DRAWN} left out ({percent(share)})" if hidden else ""
    ax.set_xlabel(
        f"operations per byte{left_out if points else '; no node has counted operations and an undisturbed time'}",
        fontsize=fg.FONT,
    )
    ax.set_ylabel("GFLOP/s; the area of a point is its time", fontsize=fg.FONT)
    ax.grid(color=fg.GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


# ---------------------------------------------------------------- names of points


def _name_points(ax: Axes, points: Sequence[_Point]) -> None:
    """Write the names of those that could win the most where they cover neither points nor each other."""
    figure = ax.get_figure(root=True)
    if figure is None or not points:
        return
    figure.draw_without_rendering()  # the places of points depend on the layout
    scale = figure.dpi / 72
    taken = [_box(ax, each, scale) for each in points]
    roofs = [line.get_path().transformed(ax.transData) for line in ax.lines]

    def is_free(box: Bbox) -> bool:
        return not any(map(box.overlaps, taken)) and not any(roof.intersects_bbox(box) for roof in roofs)

    for point in points[:_LABELS]:
        box = _write(ax, point, is_free, scale)
        if box is not None:
            taken.append(box)


def _box(ax: Axes, point: _Point, scale: float) -> Bbox:
    from matplotlib.transforms import Bbox

    x, y = ax.transData.transform((point.intensity, point.gflop_per_s))
    reach = (point.area**0.5 / 2 + _GAP) * scale
    return Bbox.from_extents(x - reach, y - reach, x + reach, y + reach)


def _write(ax: Axes, point: _Point, is_free: Callable[[Bbox], bool], scale: float) -> Bbox | None:
    """The first free place around the point, or none."""
    from matplotlib.text import Text

    radius = point.area**0.5 / 2
    inside = ax.get_window_extent()
    words = shortened(point.name, _LABEL_LENGTH)
    for distance in _DISTANCES:
        for right, up in _DIRECTIONS:
            reach = radius + distance
            how: dict[str, Any] = {
                "textcoords": "offset points",
                "ha": ("center", "left", "right")[right],
                "va": ("center", "bottom", "top")[up],
                "arrowprops": {"arrowstyle": "-", "color": fg.GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": radius},
            }
            drawn = ax.annotate(
                words,
                (point.intensity, point.gflop_per_s),
                xytext=(right * reach, up * reach),
                fontsize=fg.FONT - 0.5,
                color=fg.INK,
                parse_math=False,
                zorder=4,
                **how,
            )
            drawn.get_window_extent()  # moves the words to their place
            box = Text.get_window_extent(drawn).padded(_GAP * scale)
            if inside.contains(*box.min) and inside.contains(*box.max) and is_free(box):
                return box
            drawn.remove()
    return None
