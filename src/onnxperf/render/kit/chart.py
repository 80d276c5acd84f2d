"""What all charts share: figures that leave pyplot alone, bars with their words, and files."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from onnxperf.errors import BadOption
from onnxperf.render.kit.files import write
from onnxperf.wording import names
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import duration, duration_unit, percent

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    AxesArray = np.ndarray[Any, np.dtype[np.object_]]

PLOT_SUFFIXES = (".png", ".svg")
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
_CHARACTER = 0.6 * FONT / 72
"""Average width of a character in inches."""


text_width = names.text_width


# ---------------------------------------------------------------- figures


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, which is in pyplot only if the user works with it."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    size, layout = (width, height), ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15)
    if "ipykernel" in sys.modules or "matplotlib.pyplot" in sys.modules:
        # Notebooks, which work with pyplot, expect it to show the chart.
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout=layout)
    return Figure(figsize=size, layout=layout)


def bar_figure(labels: Sequence[str], panels: int, title: str, subtitle: str, row: float = 0.26) -> Figure:
    """A figure with room for these names, for a number of axes beside them, and for a title above."""
    longest = max((text_width(line) for label in labels for line in label.split("\n")), default=0)
    width = longest * _CHARACTER + panels * (PANEL + 0.3) + 0.4
    figure = new_figure(max(width, 7.0), 1.9 + row * max(len(labels), 2))
    entitle(figure, title, subtitle)
    return figure


def entitle(figure: Figure, title: str, subtitle: str) -> None:
    """A title in our words, and below it a line in words of others."""
    size = 11
    room = int((figure.get_size_inches()[0] - 0.3) * 72 / (0.6 * size))
    lines = f"{title}\n{shorten(visible(subtitle), room)}" if subtitle else title
    as_written(figure.suptitle(lines, x=0.01, ha="left", fontsize=size, color=INK))


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


def check_plot_path(path: Path) -> None:
    """Refuse a kind of picture that we do not draw."""
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise BadOption.unknown("kind of picture", path.suffix or path.name, PLOT_SUFFIXES)


def figure_bytes(drawn: Axes | AxesArray, form: Literal["png", "svg"]) -> bytes:
    """The figure of a chart as PNG or SVG; it is closed by that."""
    return _encoded(figure_of(drawn), form)


def _encoded(figure: Figure, form: Literal["png", "svg"]) -> bytes:
    picture = io.BytesIO()
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the user can do nothing about the warning.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        figure.savefig(picture, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    if "matplotlib.pyplot" in sys.modules:  # pyplot would keep it for ever
        from matplotlib import pyplot

        pyplot.close(figure)
    return picture.getvalue()


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG, whichever the path ends with."""
    check_plot_path(Path(path))
    form: Literal["png", "svg"] = "svg" if Path(path).suffix.lower() == ".svg" else "png"
    write(Path(path), _encoded(figure, form))


# ---------------------------------------------------------------- words


def as_written(*texts: Text) -> None:
    """Keep matplotlib from reading words of others as mathematics."""
    for text in texts:
        text.set_parse_math(False)


def shorten(text: str, length: int) -> str:
    """Beginning and end of a text that is wider than so many average characters."""
    if text_width(text) <= length:
        return text
    length = length if text.isascii() else length // 2  # all of it may be wide
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def legend(ax: Axes, entries: dict[str, str], beside: bool = False) -> None:
    """What the colours mean: above the axes or beside them, where no bar can be."""
    from matplotlib.patches import Patch

    # Matplotlib leaves out what begins with an underscore.
    handles = [Patch(color=colour, label=f" {shorten(visible(name), 28)}") for name, colour in entries.items()]
    if not handles:
        return
    corner: Literal["upper left", "lower left"] = "upper left" if beside else "lower left"
    anchor, columns = ((1.01, 1.0), 1) if beside else ((0.0, 1.0), len(handles))
    drawn = ax.legend(
        handles=handles,
        fontsize=FONT,
        frameon=False,
        loc=corner,
        bbox_to_anchor=anchor,
        ncols=columns,
        borderaxespad=0.2,
    )
    as_written(*drawn.get_texts())


def cost(us: float, total: float) -> str:
    """A time, and its share of all."""
    return f"{duration(us * 1e3)} · {percent(us / total)}" if total else duration(us * 1e3)


# ---------------------------------------------------------------- bars


def capped(labels: Sequence[str], *columns: Sequence[float], most: int = MAX_BARS) -> tuple[list[Any], ...]:
    """The first rows, and the sums of all others in a row that says how many they are."""
    if len(labels) <= most:
        return (list(labels), *map(list, columns))
    kept = most - 1
    names = [*labels[:kept], f"{len(labels) - kept} others"]
    return (names, *([*column[:kept], sum(column[kept:])] for column in columns))


class Bars(NamedTuple):
    """One bar per row."""

    values: Sequence[float]
    colours: Sequence[str]
    words: Sequence[str]
    """Written at the end of each bar."""
    pale: Sequence[bool] = ()


def draw_bars(ax: Axes, labels: Sequence[str], series: Sequence[Bars], summed: bool = False) -> None:
    """Horizontal bars, the first row on top, several series side by side within a row.

    With `summed`, the last row stands for many: it is only written where its bar would dwarf all others.
    """
    from matplotlib.colors import to_rgba

    series = _without_giants(series) if summed else series
    height = 0.72 / len(series)
    for number, bars in enumerate(series):
        offset = (number - (len(series) - 1) / 2) * height
        places = [row + offset for row in range(len(labels))]
        pale = bars.pale or [False] * len(labels)
        colours = [to_rgba(colour, PALE if dim else 1) for colour, dim in zip(bars.colours, pale, strict=True)]
        ax.barh(places, bars.values, height * 0.94, color=colours, zorder=2)
        for place, value, words in zip(places, bars.values, bars.words, strict=True):
            _write_beside(ax, words, value, place, FONT - (2 if len(series) > 1 else 0.5))
    _name_rows(ax, labels)
    largest = max((value for bars in series for value in bars.values), default=0.0)
    longest = max((text_width(word) for bars in series for word in bars.words), default=0)
    if not labels:
        ax.set_xticks([])
    room = min(0.6, (longest + 2) * _CHARACTER / _inches(ax))
    ax.set_xlim(0, (largest or 1) * 1.02 / (1 - room))


def _without_giants(series: Sequence[Bars]) -> list[Bars]:
    longest = 2 * max((value for bars in series for value in bars.values[:-1]), default=math.inf)
    return [
        bars
        if bars.values[-1] <= longest
        else bars._replace(values=[*bars.values[:-1], 0.0], words=[*bars.words[:-1], f"{bars.words[-1]}, bar left out"])
        for bars in series
    ]


def _write_beside(ax: Axes, words: str, value: float, place: float, size: float) -> None:
    if not words:
        return
    ax.annotate(
        words,
        (value, place),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        fontsize=size,
        color=INK,
        parse_math=False,
        zorder=3,
        # Lines of the grid would go through the words.
        bbox={"boxstyle": "square,pad=0.05", "facecolor": ax.get_facecolor(), "edgecolor": "none"},
    )


def _name_rows(ax: Axes, labels: Sequence[str]) -> None:
    ax.set_yticks(range(len(labels)), labels, fontsize=FONT)
    as_written(*ax.get_yticklabels())
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)


def _inches(ax: Axes) -> float:
    """Width of the axes: our own figures are made for PANEL, others are as wide as they are."""
    figure = ax.get_figure(root=True)
    if figure is None or figure.get_layout_engine() is not None:
        return PANEL
    return float(ax.get_position().width * figure.get_size_inches()[0])


def time_axis(ax: Axes, words: str = "per iteration") -> None:
    """Name an axis of microseconds, whose limits are set, in the unit that suits it."""
    from matplotlib.ticker import FuncFormatter

    scale, unit = duration_unit(max(ax.get_xlim()[1], 1) * 1e3)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda us, _: f"{us * 1e3 / scale:g}"))
    ax.xaxis.set_tick_params(labelsize=FONT)
    ax.set_xlabel(f"{unit} {words}", fontsize=FONT)


def count_axis(ax: Axes, words: str) -> None:
    """Name an axis of whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.xaxis.set_tick_params(labelsize=FONT)
    ax.set_xlabel(words, fontsize=FONT)
