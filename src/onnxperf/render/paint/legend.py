"""Legends above an axes, away from the data: in columns, on as many lines as needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from onnxperf.render.paint.shared import Handles, Look, dots, look_of
from onnxperf.render.paint.words import FONT, fitting_names, height_of, width_of, wrapped
from onnxperf.wording.numbers import grouped

_SIGN, _PAD, _SPACE = 1.5, 0.5, 1.4
"""Length of a sign, from it to its words, and from column to column, in parts of the size of words."""
_NAME = 2.6
"""Inches of a name, if there are others next to it."""
_LEAST = 0.6
"""Inches to which names are shortened at most to have more columns."""
_MOST_LINES = 25
_BETWEEN = 0.3
"""Between lines, in parts of the size of words."""
_ABOVE = 5.0
"""Points from an axes to its legend."""


def draw_legend(ax: Axes, handles: Handles, left: float, width: float, height: float = 99.0) -> float:
    """Draw a legend above an axes, from so many inches left of it on; returns its height in points."""
    if not handles:
        return 0.0
    figure = ax.get_figure()
    if figure is None:
        raise AssertionError("an axes that is drawn on belongs to a figure")
    shift = ScaledTranslation(-left, _ABOVE / 72, figure.dpi_scale_trans)
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "bbox_transform": ax.transAxes + shift}
    drawn = _drawn(ax, handles, width, height, look_of(ax), place)
    return float(drawn.get_window_extent().height) / dots(ax) * 72 + _ABOVE


def shared_legend(figure: Figure, handles: Handles, width: float, look: Look) -> Legend:
    """A legend for several axes of a figure."""
    return _drawn(figure, handles, width, 99.0, look, {"loc": "upper left"})


def alike(several: Sequence[Handles]) -> bool:
    """Whether some legends explain the same."""
    return len({tuple(map(_appearance, handles)) for handles in several}) == 1


def _appearance(handle: Artist) -> tuple[object, ...]:
    if isinstance(handle, Line2D):
        return str(handle.get_label()), handle.get_color(), str(handle.get_marker()), handle.get_linestyle()
    return str(handle.get_label()), *(handle.get_facecolor() if isinstance(handle, Patch) else ())


def _drawn(
    owner: Axes | Figure, handles: Handles, width: float, height: float, look: Look, place: dict[str, Any]
) -> Legend:
    """A legend in as many columns as have room, in the order of lines."""
    lines = max(1, min(_MOST_LINES, int(height / (height_of(1) + _BETWEEN * FONT / 72))))
    texts, columns = _laid_out([str(handle.get_label()) for handle in handles], width, lines)
    handles, texts = _fewer(handles, texts, lines * columns)
    order = [number for column in range(columns) for number in range(column, len(texts), columns)]
    how: dict[str, Any] = {"handlelength": _SIGN, "handletextpad": _PAD, "columnspacing": _SPACE, **place}
    drawn = owner.legend(
        handles=[handles[number] for number in order],
        # What begins with an underscore would be left out.
        labels=["x" for _ in order],
        ncols=columns,
        fontsize=FONT,
        labelcolor=look.ink,
        frameon=False,
        borderpad=0.0,
        borderaxespad=0.0,
        labelspacing=_BETWEEN,
        **how,
    )
    for text, number in zip(drawn.get_texts(), order, strict=True):
        text.set_text(texts[number])
        text.set_parse_math(False)
    return drawn


def _laid_out(labels: Sequence[str], width: float, lines: int) -> tuple[list[str], int]:
    """Labels as written, and the number of columns; shortened if there is no room for all lines."""
    texts = _texts(labels, width)
    columns = _columns(texts, width)
    beside = (_SIGN + _PAD + _SPACE) * FONT / 72
    while sum(text.count("\n") + 1 for text in texts) > lines * columns:
        room = width / (columns + 1) - beside
        if room < _LEAST:
            break
        texts, columns = fitting_names(labels, room), columns + 1
    return texts, columns


def _texts(labels: Sequence[str], width: float) -> list[str]:
    """Labels that fit; sentences may take two lines."""
    room = width - (_SIGN + _PAD + 0.2) * FONT / 72
    if any(" " in label and width_of(label) > _NAME for label in labels):
        return [_on_two_lines(label, room) for label in labels]
    return fitting_names(labels, min(room, _NAME) if len(labels) > 1 else room)


def _on_two_lines(label: str, room: float) -> str:
    lines = wrapped(label, room)
    if len(lines) > 2:
        (short,) = fitting_names([" ".join(lines)], room, FONT, 2)
        return short
    return "\n".join(lines)


def _columns(texts: Sequence[str], width: float) -> int:
    """As many columns as fit side by side."""
    beside = (_SIGN + _PAD) * FONT / 72
    for columns in range(len(texts), 1, -1):
        widest = (max(width_of(text) for text in texts[column::columns]) for column in range(columns))
        if sum(each + beside for each in widest) + (columns - 1) * _SPACE * FONT / 72 <= width:
            return columns
    return 1


def _fewer(handles: Handles, texts: list[str], most: int) -> tuple[Handles, list[str]]:
    """At most this many; the last one gives the number of omitted ones."""
    if len(texts) <= most or most < 2:
        return handles[:most], texts[:most]
    rest = Line2D([], [], linestyle="")
    return [*handles[: most - 1], rest], [*texts[: most - 1], f"… {grouped(len(texts) - most + 1)} more"]
