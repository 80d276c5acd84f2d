"""What all painters share: colors on light and dark axes, the room around axes, ticks, and rows of names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.ticker import NullLocator

from onnxperf.render.charts.base import DARK, LIGHT, Axis
from onnxperf.render.paint.words import FONT, LINE, SMALL, fitting_names, height_of, limited, width_of, wrapped
from onnxperf.wording.numbers import count

SCALE = 0.75 / 96
"""Inches for each pixel of a browser."""
MOST_ROWS = 120
"""Rows of a picture, if there is room for so many; the others are in the table."""
NAME_SHARE = 0.34
"""Part of the width of a panel that names may take at its left."""
_PAGE = 9.0
"""Height in inches from which on rows come closer to each other."""
_LEAST_PITCH = 1.25 * FONT / 72
"""Inches from row to row, at least."""
_ASKEW = 35
"""Degrees by which names below an axis are turned, if they have no room side by side."""
_GAP = 0.07
"""Inches between words that stand side by side."""

Handles = list[Artist]
"""What a legend explains; each has a label."""


class Room(NamedTuple):
    """Inches around an axes that its names, ticks and legend may take."""

    left: float
    below: float
    above: float
    right: float


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
    return to_hex([share * part + (1 - share) * behind for part, behind in pairs])


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
    """Where an axis must end so that words fit behind each end of a bar, given as parts of the whole width."""
    low = along(axis, axis.low)
    reach = max([along(axis, axis.high), *(low + (along(axis, end) - low) / (1 - part) for end, part in ends)])
    return math.exp(reach) if axis.is_log else reach


def sound(value: float | None) -> bool:
    """Whether there is a number."""
    return value is not None and math.isfinite(value)


# ---------------------------------------------------------------- axes


def bare(ax: Axes, look: Look) -> None:
    """An axes without a frame at its top and right."""
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set(color=look.dim, linewidth=0.6)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.tick_params(which="both", labelsize=FONT, labelcolor=look.ink, color=look.dim, length=2.5, width=0.6, pad=2.5)
    ax.grid(False)


def nothing(ax: Axes, words: str = "nothing was measured") -> Handles:
    """An axes for which there is nothing to draw."""
    look = look_of(ax)
    bare(ax, look)
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, words, ha="center", va="center", fontsize=FONT, color=look.dim, transform=ax.transAxes)
    return []


def value_axis(ax: Axes, axis: Axis, look: Look, high: float | None = None, note: str = "") -> None:
    """The x axis of values, with room for words up to `high`; its grid, ticks and title."""
    _scale(ax, "x", axis, high)
    ax.grid(axis="x", color=look.grid, linewidth=0.6)
    _number_ticks(ax, "x", axis)
    ax.spines["bottom"].set_bounds(axis.low, axis.high)
    x_title(ax, "\n".join(filter(None, [axis.title, note])), look)
    if high is not None:
        part = (along(axis, axis.high) - along(axis, axis.low)) / (along(axis, high) - along(axis, axis.low))
        ax.xaxis.label.set_x(part / 2)


def x_title(ax: Axes, title: str, look: Look) -> None:
    """A title below the axis, on as many lines as it needs."""
    width, _ = inches_of(ax)
    lines = [part for line in title.split("\n") for part in wrapped(line, max(width, 1.0), FONT)]
    ax.set_xlabel("\n".join(lines), fontsize=FONT, color=look.ink, labelpad=2.5)


def plot_axes(ax: Axes, x: Axis, y: Axis, look: Look, room: Room) -> None:
    """Both axes of a plot."""
    for which, axis in (("x", x), ("y", y)):
        _scale(ax, which, axis)  # type: ignore[arg-type]
    ax.grid(axis="y", color=look.grid, linewidth=0.6)
    _number_ticks(ax, "y", y)
    if _has_names(x):
        _name_ticks(ax, _inside(x), room)
    else:
        _number_ticks(ax, "x", x)
    x_title(ax, x.title, look)
    _, height = inches_of(ax)
    ax.set_ylabel(limited(y.title, max(height, 0.8), FONT, most=3), fontsize=FONT, color=look.ink, labelpad=3)


def _scale(ax: Axes, which: Literal["x", "y"], axis: Axis, high: float | None = None) -> None:
    low, high = axis.low, axis.high if high is None else high
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        low, high = (0.0, 1.0) if not sound(low) else (low, 2 * low if axis.is_log else low + 1.0)
    (ax.set_xscale if which == "x" else ax.set_yscale)("log" if axis.is_log else "linear")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)


# ---------------------------------------------------------------- ticks

Tick = tuple[float, str]


def _has_names(axis: Axis) -> bool:
    """Whether its ticks are names, of which none can be guessed from the others."""
    return any(not _is_number(words) for _, words in axis.ticks)


def _is_number(words: str) -> bool:
    digits = words.replace(",", "").replace("−", "-").rstrip("%×kMGTs ")  # noqa: RUF001
    try:
        float(digits)
    except ValueError:
        return False
    return True


def _inside(axis: Axis) -> list[Tick]:
    room = 1e-9 * (axis.high - axis.low)
    return [(value, words) for value, words in axis.ticks if axis.low - room <= value <= axis.high + room]


def _number_ticks(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    """All ticks, and as many of their words as have room."""
    ticks = _inside(axis)
    own = ax.xaxis if which == "x" else ax.yaxis
    written = next(chosen for chosen in _choices(axis, ticks) if _has_room(ax, which, chosen))
    words = [text if (value, text) in written else "" for value, text in ticks]
    own.set_ticks([value for value, _ in ticks], words)
    own.set_minor_locator(NullLocator())


def _choices(axis: Axis, ticks: Sequence[Tick]) -> Iterable[list[Tick]]:
    """All ticks, then fewer and fewer of them; 0 and 1 stay, to which others are compared."""
    yield list(ticks)
    if axis.is_log:
        yield [tick for tick in ticks if _is_power(tick[0] / axis.scale)]
    firm = next((place for place, (value, _) in enumerate(ticks) if value in (0.0, 1.0)), 0)
    for step in range(2, len(ticks) + 1):
        yield list(ticks[firm % step :: step])
    yield []


def _is_power(value: float) -> bool:
    power = math.log10(value) if value > 0 else 0.5
    return abs(power - round(power)) < 1e-9


def _has_room(ax: Axes, which: Literal["x", "y"], ticks: Sequence[Tick]) -> bool:
    """Whether words of ticks stand apart."""
    if which == "y":
        needs = [height_of(1) for _ in ticks]
    else:
        needs = [width_of(words) + _GAP for _, words in ticks]
    places = _tick_inches(ax, which, ticks)
    pairs = zip(places, places[1:], needs, needs[1:], strict=False)
    return all(there - here >= (one + other) / 2 for here, there, one, other in pairs)


def _tick_inches(ax: Axes, which: Literal["x", "y"], ticks: Sequence[Tick]) -> list[float]:
    if not ticks:
        return []
    if which == "y":
        found = ax.get_yaxis_transform().transform([(0.0, value) for value, _ in ticks])[:, 1]
    else:
        found = ax.get_xaxis_transform().transform([(value, 0.0) for value, _ in ticks])[:, 0]
    return sorted(float(place) / dots(ax) for place in found)


def name_columns(ax: Axes, names: Sequence[str], room: Room) -> None:
    """Names below columns at 0, 1, 2…"""
    _name_ticks(ax, list(enumerate(names)), room)


def _name_ticks(ax: Axes, ticks: Sequence[Tick], room: Room) -> None:
    """Names below an axis: side by side, on two lines, askew, or upright."""
    places = _tick_inches(ax, "x", ticks)
    pitch = min((there - here for here, there in zip(places, places[1:], strict=False)), default=inches_of(ax)[0])
    names = [words for _, words in ticks]
    most = 2 if max(map(width_of, names), default=0.0) > pitch - _GAP else 1
    level = fitting_names(names, max(pitch - _GAP, 0.05), FONT, most)
    if not any("…" in name for name in level):
        ax.set_xticks([value for value, _ in ticks], level)
        return
    angle = _ASKEW if pitch >= height_of(1) / math.sin(math.radians(_ASKEW)) else 90
    step = max(1, math.ceil(height_of(1) / pitch))
    shown = ticks[::step]
    reach = min(room.below / math.sin(math.radians(angle)), _leftwards(room, places, angle))
    ax.set_xticks([value for value, _ in ticks])
    ax.set_xticks([value for value, _ in shown], fitting_names([words for _, words in shown], reach))
    turned: dict[str, Any] = {"rotation": angle, "ha": "right", "va": "center" if angle == 90 else "top"}
    for label in ax.get_xticklabels():
        label.set(rotation_mode="anchor", **turned)


def _leftwards(room: Room, places: Sequence[float], angle: float) -> float:
    """Inches that the first name may have, turned by an angle, until it meets what is at the left."""
    return math.inf if angle == 90 or not places else (min(room.left, 0.6) + 0.3) / math.cos(math.radians(angle))


# ---------------------------------------------------------------- rows


def row_height(rows: int, pitch: float, names: Sequence[str], room: Room) -> float:
    """Inches of so many rows; names that need two lines have them, and many rows stand closer to each other."""
    shown = min(rows, MOST_ROWS)
    longest = max(map(width_of, names), default=0.0)
    if longest > room.left and shown <= MOST_ROWS // 3:
        pitch = max(pitch, height_of(2) + 0.03)
    return shown * max(min(pitch, _PAGE / max(shown, 1)), _LEAST_PITCH, min(pitch, 0.15))


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
    for label in ax.get_yticklabels():
        label.set(color=look.ink, linespacing=1.0)


def write(ax: Axes, words: str, place: tuple[float, float], shift: tuple[float, float] = (0, 0), **how: Any) -> Any:
    """Words at a place of the data, moved by points."""
    how = {"fontsize": SMALL, "va": "center_baseline", "zorder": 6, "annotation_clip": False, **how}
    return ax.annotate(words, place, shift, textcoords="offset points", parse_math=False, **how)


def draw_tip(ax: Axes, place: tuple[float, float], side: Literal["left", "right"], color: str) -> None:
    """An arrow to the left or right whose tip is its place: what lies beyond the axis."""
    marker = CARETLEFT if side == "left" else CARETRIGHT
    ax.plot(*([each] for each in place), marker=marker, color=color, markersize=5, markeredgewidth=0, clip_on=False, zorder=4)
