"""What all charts share: figures that leave pyplot alone, bars with their words, legends and axes of time."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakSet

from onnxperf.wording.names import shortened, text_width, visible
from onnxperf.wording.numbers import count, duration, duration_unit, percent, significant

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    AxesArray = np.ndarray[Any, np.dtype[np.object_]]

MAX_BARS = 60
"""Rows of a chart; what is beyond is one row more."""
NAME_LENGTH = 64
INK = "#333333"
PALE = 0.35
"""Opacity of a bar that says nothing."""
GREY, BLUE, ORANGE, GREEN, SKY, RED, PINK, YELLOW = (
    # Okabe and Ito's colours, which colour-blind readers can distinguish.
    "#777777",
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#56B4E9",
    "#D55E00",
    "#CC79A7",
    "#F0E442",
)
FONT = 8.5
PANEL = 4.6
"""Width of one axes in inches."""
CHARACTER = 0.6 * FONT / 72
"""Average width of a character in inches."""
GRID = "#DDDDDD"
_OURS: WeakSet[Figure] = WeakSet()
"""Figures that were made here."""
_LINE = 0.16
"""Height of a further line of a name in inches."""
_PANEL_TITLE = 60
"""Characters of a title above one axes."""
_GIANT = 4
"""Times as long as all other bars from which on a sum would dwarf them."""
_LEGEND_NAME, _LEGEND_LINE = 28, 80
"""Characters of a name in a legend, and of a line of it."""


# ---------------------------------------------------------------- figures


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, which is in pyplot only if the user works with it."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    size, layout = (width, height), ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15)
    if "ipykernel" in sys.modules or "matplotlib.pyplot" in sys.modules:
        # Notebooks, which work with pyplot, expect it to show the chart.
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size, layout=layout)
    else:
        figure = Figure(figsize=size, layout=layout)
    _OURS.add(figure)
    return figure


def bar_figure(labels: Sequence[str], panels: int, title: str, subtitle: str, row: float = 0.26) -> Figure:
    """A figure with room for these names, for a number of axes beside them, and for a title above."""
    longest = max((text_width(line) for label in labels for line in label.split("\n")), default=0)
    width = longest * CHARACTER + panels * (PANEL + 0.3) + 0.4
    height = 1.9 + row * max(len(labels), 2) + _LINE * sum(label.count("\n") for label in labels)
    figure = new_figure(max(width, 7.0), height)
    entitle(figure, title, subtitle)
    return figure


def entitle(figure: Figure, title: str, subtitle: str) -> None:
    """A title in our words, and below it a line in words of others."""
    size = 11
    room = int((figure.get_size_inches()[0] - 0.3) * 72 / (0.6 * size))
    lines = f"{title}\n{shortened(visible(subtitle), room)}" if subtitle else title
    as_written(figure.suptitle(lines, x=0.01, ha="left", fontsize=size, color=INK))


def name_panel(ax: Axes, words: str, lines: int = 0, loc: Literal["left", "center"] = "left") -> None:
    """Write above one axes which model it shows; so many lines of a legend stand between both."""
    pad = 8 + 1.6 * FONT * lines
    title = ax.set_title(shortened(visible(words), _PANEL_TITLE), loc=loc, fontsize=FONT + 1, pad=pad, color=INK)
    as_written(title)


def name_given(ax: Axes, words: str, lines: int = 0) -> None:
    """The same for an axes of the user's: where `set_title` of the user replaces it."""
    name_panel(ax, words, lines, "center")


def as_array(panels: Any) -> AxesArray:
    """Axes as numpy holds them, which is what pandas and pyplot return."""
    import numpy as np

    return np.asarray(panels, dtype=np.object_)


def figure_of(drawn: Axes | AxesArray) -> Figure:
    """The figure that a chart was drawn on."""
    first: Any = as_array(drawn).flat[0]
    figure: Figure | None = first.get_figure(root=True)
    if figure is None:
        raise AssertionError("an axes that was just drawn belongs to a figure")
    return figure


def figure_bytes(drawn: Axes | AxesArray, form: Literal["png", "svg"]) -> bytes:
    """The figure of a chart as PNG or SVG; it is closed by that."""
    figure, picture = figure_of(drawn), io.BytesIO()
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the user can do nothing about the warning.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        figure.savefig(picture, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    if "matplotlib.pyplot" in sys.modules:  # pyplot would keep it for ever
        from matplotlib import pyplot

        pyplot.close(figure)
    return picture.getvalue()


# ---------------------------------------------------------------- words


def as_written(*texts: Text) -> None:
    """Keep matplotlib from reading words of others as mathematics."""
    for text in texts:
        text.set_parse_math(False)


def patches(colours: Mapping[str, str]) -> list[Patch]:
    """What colours mean, for a legend."""
    from matplotlib.patches import Patch

    return [Patch(color=colour, label=legend_name(name)) for name, colour in colours.items()]


def legend_name(name: str) -> str:
    """A name for a legend; matplotlib leaves out what begins with an underscore."""
    return f" {shortened(visible(name), _LEGEND_NAME)}"


def legend(ax: Axes, handles: Sequence[Patch | Line2D], beside: bool = False) -> int:
    """What the signs mean, where no bar can be: above the axes or beside them; returns how many lines that takes."""
    if not handles:
        return 0
    columns = _legend_columns([str(handle.get_label()) for handle in handles])
    how: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns}
    if beside:
        how = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    drawn = ax.legend(handles=list(handles), fontsize=FONT, frameon=False, borderaxespad=0.2, **how)
    as_written(*drawn.get_texts())
    return -(-len(handles) // columns)


def legend_lines(labels: Sequence[str]) -> int:
    """How many lines such labels take above an axes."""
    return -(-len(labels) // _legend_columns(labels)) if labels else 0


def _legend_columns(labels: Sequence[str]) -> int:
    widths = [text_width(label) + 6 for label in labels]
    return len(labels) if sum(widths) <= _LEGEND_LINE else max(_LEGEND_LINE // max(widths), 1)


def cost(us: float, total: float) -> str:
    """A time, and its share of all."""
    return f"{duration(us * 1e3)} · {percent(us / total)}" if total else duration(us * 1e3)


# ---------------------------------------------------------------- bars


def capped(labels: Sequence[str], *columns: Sequence[float], most: int = MAX_BARS) -> tuple[list[Any], ...]:
    """The first rows, and the sums of all others in a row that says how many they are."""
    if len(labels) <= most:
        return (list(labels), *map(list, columns))
    kept = most - 1
    names = [*labels[:kept], count(len(labels) - kept, "other")]
    return (names, *([*column[:kept], sum(column[kept:])] for column in columns))


class Bars(NamedTuple):
    """One bar per row."""

    values: Sequence[float]
    colours: Sequence[str]
    words: Sequence[str]
    """Written at the end of each bar."""
    pale: Sequence[bool] = ()
    whiskers: Sequence[tuple[float, float]] = ()
    """Where the interval of each value begins and ends."""

    def ends(self) -> list[float]:
        """Where each bar ends, its whisker included."""
        return [high for _, high in self.whiskers] if self.whiskers else list(self.values)


def draw_bars(
    ax: Axes, labels: Sequence[str], series: Sequence[Bars], summed: bool = False, log_span: float = math.inf
) -> None:
    """Horizontal bars, the first row on top, several series side by side within a row.

    With `summed`, the last row stands for many: it is only written where a bar of it would dwarf all others. From a
    ratio of `log_span` between the largest and the smallest on, the axis is logarithmic.
    """
    from matplotlib.colors import to_rgba

    series = _without_giants(series) if summed else series
    left = _set_limits(ax, series, log_span)
    height = 0.72 / len(series)
    for number, bars in enumerate(series):
        offset = (number - (len(series) - 1) / 2) * height
        places = [row + offset for row in range(len(labels))]
        pale = bars.pale or [False] * len(labels)
        colours = [to_rgba(colour, PALE if dim else 1) for colour, dim in zip(bars.colours, pale, strict=True)]
        ax.barh(places, bars.values, height * 0.94, color=colours, zorder=2)
        _draw_whiskers(ax, bars, places)
        for place, end, words in zip(places, bars.ends(), bars.words, strict=True):
            _write_beside(ax, words, max(end, left), place, FONT - (2 if len(series) > 1 else 0.5))
    name_rows(ax, labels)
    if not labels:
        ax.set_xticks([])


def _set_limits(ax: Axes, series: Sequence[Bars], log_span: float) -> float:
    """Leave each bar room for the words at its right; returns where the axis begins."""
    character = CHARACTER / size_of(ax)[0]
    written = [
        (end, 1 - min(0.6, (text_width(words) + 2) * character))
        for bars in series
        for end, words in zip(bars.ends(), bars.words, strict=True)
        if end > 0
    ]
    starts = [low for bars in series for low, _ in bars.whiskers if low > 0]
    smallest = min([*starts, *(end for end, _ in written)], default=1.0)
    if max((end for end, _ in written), default=1.0) / smallest <= log_span:
        ax.set_xlim(0, 1.02 * max((end / part for end, part in written), default=1.0))
        return 0.0
    left = smallest / 3
    ax.set_xscale("log")
    ax.set_xlim(left, left * max((1.05 * end / left) ** (1 / part) for end, part in written))
    return left


def _draw_whiskers(ax: Axes, bars: Bars, places: Sequence[float]) -> None:
    for value, (low, high), place in zip(bars.values, bars.whiskers, places, strict=False):
        if low < high:
            reach = [[value - low], [high - value]]
            ax.errorbar(value, place, xerr=reach, color=INK, capsize=3.5, elinewidth=1.2, zorder=3)


def _without_giants(series: Sequence[Bars]) -> list[Bars]:
    """Without the last row's bars where one of them is a giant: half a row would be compared with nothing."""
    longest = max((value for bars in series for value in bars.values[:-1]), default=math.inf)
    if max((bars.values[-1] for bars in series), default=0.0) <= _GIANT * longest:
        return list(series)
    return [
        bars._replace(values=[*bars.values[:-1], 0.0], words=[*bars.words[:-1], _unscaled(bars.words[-1])])
        for bars in series
    ]


def _unscaled(words: str) -> str:
    return f"{words}, too long to draw" if words else words


def _write_beside(ax: Axes, words: str, end: float, place: float, size: float) -> None:
    if not words:
        return
    ax.annotate(
        words,
        (end, place),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=size,
        color=INK,
        parse_math=False,
        zorder=4,
        # Lines of the grid would go through the words.
        bbox={"boxstyle": "square,pad=0.15", "facecolor": ax.get_facecolor(), "edgecolor": "none"},
    )


def name_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Write a name left of each row, the first on top, and lines of a grid behind all."""
    ax.set_yticks(range(len(labels)), labels, fontsize=FONT)
    as_written(*ax.get_yticklabels())
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)


def mark_peak(ax: Axes, place: tuple[float, float], exact: bool = True) -> None:
    """A red triangle whose tip touches the curve at its highest."""
    ax.plot([place[0]], [place[1]], **peak_sign(exact))


def peak_sign(exact: bool = True) -> dict[str, Any]:
    """How a peak is marked, in a chart and in its legend: empty where it is only the highest sample."""
    # Matplotlib's seventh marker points down, and its tip is its place.
    face = RED if exact else "none"
    return {"marker": 7, "markersize": 7, "color": RED, "markerfacecolor": face, "linestyle": "", "zorder": 5}


def write_above(ax: Axes, words: str, place: tuple[float, float], left: float) -> None:
    """Words about a place, in the free room at the top of an axes, with a line that leads down to it."""
    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 7, "relpos": (0.5, 0)}
    how: dict[str, Any] = {"textcoords": "axes fraction", "va": "top", "fontsize": FONT, "color": INK}
    ax.annotate(words, place, xytext=(left, 0.98), arrowprops=line, parse_math=False, **how)


def side_by_side(centres: Sequence[float], widths: Sequence[float], gap: float = 0.015) -> list[float]:
    """Where texts of these widths begin, in parts of an axes: near their centres, in order, none upon another."""
    lefts: list[float] = []
    for centre, width in zip(centres, widths, strict=True):
        lefts.append(max(centre - width / 2, lefts[-1] + widths[len(lefts) - 1] + gap if lefts else gap))
    end = 1.0
    for place in reversed(range(len(lefts))):
        lefts[place] = min(lefts[place], end - widths[place])
        end = lefts[place] - gap
    return lefts


def text_part(words: str, inches: float) -> float:
    """The part that a text takes of so many inches."""
    return text_width(words) * CHARACTER / inches


def size_of(ax: Axes, width: float = PANEL, height: float = PANEL) -> tuple[float, float]:
    """Inches of an axes: in our own figures as they were made for it, in others as they are."""
    figure = ax.get_figure(root=True)
    if figure is None or figure in _OURS:
        return width, height
    place = ax.get_position()
    return float(place.width * figure.get_size_inches()[0]), float(place.height * figure.get_size_inches()[1])


def time_axis(axis: Axis, words: str = "per iteration") -> None:
    """Name an axis of microseconds, whose limits and scale are set, in the unit that suits it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    scale, unit = duration_unit(high * 1e3)
    text, formatter = f"{unit} {words}", FuncFormatter(lambda us, _: f"{us * 1e3 / scale:g}")
    if axis.get_scale() == "log":
        text, formatter = f"time {words}, logarithmic axis", FuncFormatter(lambda us, _: _tick(us * 1e3))
        axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(formatter)
    axis.set_tick_params(labelsize=FONT)
    axis.set_label_text(text, fontsize=FONT)


def _tick(ns: float) -> str:
    scale, unit = duration_unit(ns * 1.0001)  # 1e6 may arrive as 999999.99
    return f"{significant(ns / scale)} {unit}"


def count_axis(ax: Axes, words: str) -> None:
    """Name an axis of whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.xaxis.set_tick_params(labelsize=FONT)
    ax.set_xlabel(words, fontsize=FONT)
