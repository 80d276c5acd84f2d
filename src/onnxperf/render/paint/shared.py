"""What all painters share: colors on light and dark axes, the room around axes, and rows of names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.text import Text
from matplotlib.ticker import NullLocator

from onnxperf.render.charts.base import DARK, LIGHT, Axis
from onnxperf.render.paint.words import FONT, LINE, SMALL, fitting_names, height_of, width_of
from onnxperf.wording.numbers import count

SCALE = 0.75 / 96
"""Inches for each pixel of a browser."""
MOST_ROWS = 120
"""Rows of a picture, if there is room for so many; the others are in the table."""
NAME_SHARE = 0.34
"""Part of the width of a panel that names may take at its left."""
NOTHING = 0.5
"""Height in inches of an axes on which there is nothing to draw."""
_PAGE, _DENSE = 9.0, 0.15
"""Height in inches from which on rows come closer to each other, and inches from row to row then."""
_LEAST_PITCH = 1.25 * FONT / 72
"""Inches from row to row, at least, on axes of the user's, too."""

Handles = list[Artist]
"""What a legend explains; each has a label."""


class Room(NamedTuple):
    """Inches around an axes that its names, ticks and legend may take."""

    left: float
    below: float
    above: float
    right: float
    width: float = 0.0
    """Of all, in figures of ours."""


class Size(NamedTuple):
    """Inches that a picture needs for its axes; without a width, it takes what there is."""

    height: float
    width: float | None = None


# ---------------------------------------------------------------- colors


class Look(NamedTuple):
    """Colors that suit the background of an axes."""

    back: str
    ink: str
    dim: str
    grid: str
    colors: Sequence[str]


_ON_WHITE = Look("#ffffff", "#1f2328", "#59636e", "#e2e5e9", LIGHT)
_ON_BLACK = Look("#000000", "#f0f3f6", "#a9b1ba", "#3d444d", DARK)


def look_of(ax: Axes) -> Look:
    """Light or dark colors; an axes of the user's may have any background."""
    figure = ax.get_figure()
    faces = [ax.get_facecolor(), figure.get_facecolor() if figure is not None else "white", "white"]
    back = next(face for face in faces if to_rgba(face)[3] > 0.5)
    look = _ON_BLACK if luminance(back) < 0.18 else _ON_WHITE
    return look._replace(back=to_hex(back))


def luminance(color: Any) -> float:
    """Of a color as WCAG defines it, from 0 to 1."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: Any, other: Any) -> float:
    """Of two colors as WCAG defines it, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(color: Any) -> str:
    """Black or white, whichever is easier to read."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, color))


def mixed(color: str, back: str, share: float) -> str:
    """So much of a color on a background."""
    pairs = zip(to_rgb(color), to_rgb(back), strict=True)
    red, green, blue = (share * part + (1 - share) * behind for part, behind in pairs)
    return to_hex((red, green, blue))


# ---------------------------------------------------------------- places


def inches_of(ax: Axes) -> tuple[float, float]:
    """Width and height of an axes."""
    box, dpi = ax.get_window_extent(), dots(ax)
    return float(box.width) / dpi, float(box.height) / dpi


def dots(ax: Axes) -> float:
    """Dots per inch of its figure."""
    figure = ax.get_figure()
    return float(figure.dpi) if figure is not None else 100.0


def along(axis: Axis, value: float) -> float:
    """A value as its axis counts it."""
    return math.log(value) if axis.is_log else value


def widened(axis: Axis, ends: Iterable[tuple[float, float]]) -> float:
    """End of an axis that leaves room for words behind each bar, given as shares of the whole width."""
    low = along(axis, axis.low)
    reach = max([along(axis, axis.high), *(low + (along(axis, end) - low) / (1 - part) for end, part in ends)])
    return math.exp(reach) if axis.is_log else reach


def sound(value: float | None) -> bool:
    """Whether there is a number."""
    return value is not None and math.isfinite(value)


# ---------------------------------------------------------------- any axes


def bare(ax: Axes, look: Look) -> None:
    """An axes without a frame at its top and right."""
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
    for spine in ax.spines.values():
        spine.set(color=look.dim, linewidth=0.6)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    colors: dict[str, Any] = {"labelcolor": look.ink, "color": look.dim}
    ax.tick_params(which="both", top=False, right=False, labelsize=FONT, length=2.5, width=0.6, pad=2.5, **colors)
    ax.grid(False)


def as_written(*texts: Text) -> None:
    """Keep matplotlib from reading words of others as mathematics; the user's axes bring texts that may."""
    for text in texts:
        text.set(parse_math=False, usetex=False)


def nothing(ax: Axes, words: str = "nothing was measured") -> Handles:
    """An axes for which there is nothing to draw."""
    look = look_of(ax)
    bare(ax, look)
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, words, ha="center", va="center", fontsize=FONT, color=look.dim, transform=ax.transAxes)
    return []


# ---------------------------------------------------------------- rows


def row_height(rows: int, pitch: float, names: Sequence[str], room: Room) -> float:
    """Inches of so many rows; names that need two lines have them, and many rows stand closer to each other."""
    shown = min(rows, MOST_ROWS)
    longest = max(map(width_of, names), default=0.0)
    if longest > room.left and shown <= MOST_ROWS // 3:
        pitch = max(pitch, height_of(2) + 0.03)
    return shown * max(min(pitch, _PAGE / max(shown, 1)), _DENSE)


def rows_in(ax: Axes, rows: int, pitch: float = _LEAST_PITCH) -> int:
    """How many rows have room in an axes, at least one."""
    _, height = inches_of(ax)
    return min(rows, MOST_ROWS, max(int(height / pitch + 1e-6), 1))


def more_rows(rows: int, shown: int) -> str:
    """What is written below rows that are not all."""
    return f"{count(rows - shown, 'more row')} in the table" if rows > shown else ""


def name_rows(ax: Axes, names: Sequence[str], room: Room, look: Look) -> None:
    """A name left of each row, the first on top."""
    _, height = inches_of(ax)
    lines = int(72 * height / max(len(names), 1) / (LINE * FONT))
    texts = fitting_names(names, room.left, FONT, max(1, min(lines, 3)))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), texts)
    ax.tick_params(axis="y", length=0, pad=4)
    ax.spines["left"].set_visible(False)
    as_written(*ax.get_yticklabels())
    for label in ax.get_yticklabels():
        label.set(color=look.ink, linespacing=1.15)


def write(ax: Axes, words: str, place: tuple[float, float], shift: tuple[float, float] = (0, 0), **how: Any) -> None:
    """Words at a place of the data, moved by points."""
    how = {"fontsize": SMALL, "va": "center_baseline", "zorder": 6, "parse_math": False, **how}
    if shift == (0, 0):
        ax.text(*place, words, **how)
    else:
        ax.annotate(words, place, shift, textcoords="offset points", annotation_clip=False, **how)


def draw_tip(ax: Axes, place: tuple[float, float], side: Literal["left", "right"], color: str) -> None:
    """An arrow to the left or right whose tip is its place: what lies beyond the axis."""
    marker = CARETLEFT if side == "left" else CARETRIGHT
    ax.plot(
        *([each] for each in place),
        marker=marker,
        color=color,
        markersize=5,
        markeredgewidth=0,
        clip_on=False,
        zorder=4,
    )
