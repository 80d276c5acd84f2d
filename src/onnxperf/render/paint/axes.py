"""Axes with their titles and exactly the ticks of their descriptions, as far as these have room."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from onnxperf.render.charts.base import Axis
from onnxperf.render.paint.shared import Look, Room, along, as_written, dots, inches_of, sound
from onnxperf.render.paint.words import BREAKS, FONT, fitting_names, height_of, limited, width_of, wrapped

_ASKEW = 35
"""Degrees by which names below an axis are turned, if they have no room side by side."""
_GAP = 0.07
"""Inches between words that stand side by side."""
_NUMBER = re.compile(r"[-−]?(0|[1-9][\d,]*)(\.\d+)?(e[-+]\d\d?)? ?[%×kMGT]?")  # noqa: RUF001
Tick = tuple[float, str]


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
    as_written(ax.xaxis.label)
    ax.set_xlabel("\n".join(lines), fontsize=FONT, color=look.ink, labelpad=2.5)


def y_title(ax: Axes, title: str, look: Look) -> None:
    """A title next to the axis, as long as the axis."""
    _, height = inches_of(ax)
    as_written(ax.yaxis.label)
    ax.set_ylabel(limited(title, max(height, 0.4), FONT, most=3), fontsize=FONT, color=look.ink, labelpad=3)


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
    y_title(ax, y.title, look)


def _scale(ax: Axes, which: Literal["x", "y"], axis: Axis, high: float | None = None) -> None:
    low, high = axis.low, axis.high if high is None else high
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        low, high = (0.0, 1.0) if not sound(low) else (low, 2 * low if axis.is_log else low + 1.0)
    (ax.set_xscale if which == "x" else ax.set_yscale)("log" if axis.is_log else "linear")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)


# ---------------------------------------------------------------- ticks


def _has_names(axis: Axis) -> bool:
    """Whether its ticks are names, so that none can be left out."""
    return any(not _is_number(words) for _, words in axis.ticks)


def _is_number(words: str) -> bool:
    """A number as `tick` writes it; a commit may have digits only, but mostly begins or goes on otherwise."""
    return _NUMBER.fullmatch(words) is not None


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
    as_written(*own.get_ticklabels())


def _choices(axis: Axis, ticks: Sequence[Tick]) -> Iterable[list[Tick]]:
    """All ticks, then fewer and fewer of them; 0 and 1 stay, to which others are compared."""
    yield list(ticks)
    if axis.is_log:
        yield [tick for tick in ticks if _is_power(tick[0] / axis.scale)]
    firm = next((place for place, (value, _) in enumerate(ticks) if value / axis.scale in (0.0, 1.0)), 0)
    for step in range(2, len(ticks) + 1):
        yield list(ticks[firm % step :: step])
    yield []


def _is_power(value: float) -> bool:
    power = math.log10(value) if value > 0 else 0.5
    return abs(power - round(power)) < 1e-9


def _has_room(ax: Axes, which: Literal["x", "y"], ticks: Sequence[Tick]) -> bool:
    """Whether words of ticks stand apart."""
    needs = [height_of(1) if which == "y" else width_of(words) + _GAP for _, words in ticks]
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
    pitch = min((there - here for here, there in pairwise(places)), default=inches_of(ax)[0])
    names = [words for _, words in ticks]
    most = 2 if max(map(width_of, names), default=0.0) > pitch - _GAP else 1
    level = fitting_names(names, max(pitch - _GAP, 0.05), FONT, most)
    if all(_is_whole(name, drawn) for name, drawn in zip(names, level, strict=True)):
        ax.set_xticks([value for value, _ in ticks], level)
        as_written(*ax.get_xticklabels())
    else:
        _turn_ticks(ax, ticks, places, pitch, room)


def _turn_ticks(ax: Axes, ticks: Sequence[Tick], places: Sequence[float], pitch: float, room: Room) -> None:
    """Names that run down from their ticks, if need be every few of them."""
    angle = _ASKEW if pitch >= height_of(1) / math.sin(math.radians(_ASKEW)) else 90
    step = max(1, math.ceil(height_of(1) / pitch))
    shown = ticks[::step]
    beside = height_of(1) * (1 + math.cos(math.radians(angle))) + _GAP  # a title, and the height of turned words
    reach = min((room.below - beside) / math.sin(math.radians(angle)), _leftwards(room, places, angle))
    ax.set_xticks([value for value, _ in shown], fitting_names([words for _, words in shown], max(reach, 0.2)))
    as_written(*ax.get_xticklabels())
    turned: dict[str, Any] = {"rotation": angle, "ha": "right", "va": "center" if angle == 90 else "top"}
    for label in ax.get_xticklabels():
        label.set(rotation_mode="anchor", **turned)


def _is_whole(name: str, drawn: str) -> bool:
    """Whether nothing of a name is left out, and no word of it is broken."""
    lines = drawn.split("\n")
    return "".join(lines).replace(" ", "") == name.replace(" ", "") and all(
        line[-1:] in BREAKS or f"{line} " in name for line in lines[:-1]
    )


def _leftwards(room: Room, places: Sequence[float], angle: float) -> float:
    """Inches that the first name may take at an angle before it touches what is on its left."""
    return math.inf if angle == 90 or not places else (min(room.left, 0.6) + 0.3) / math.cos(math.radians(angle))
