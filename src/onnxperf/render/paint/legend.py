"""Legends above an axes, where no data can be: in columns, on as many lines as they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from onnxperf.render.paint.shared import Handles, dots, look_of
from onnxperf.render.paint.words import FONT, fitting_names, height_of, width_of, wrapped
from onnxperf.wording.numbers import grouped

_SIGN, _PAD, _SPACE = 1.5, 0.5, 1.4
"""Length of a sign, from it to its words, and from column to column, in parts of the size of words."""
_NAME = 2.6
"""Inches of a name, if there are others beside it."""
_MOST_LINES = 25
_BETWEEN = 0.3
"""Between lines, in parts of the size of words."""
_ABOVE = 5.0
"""Points from an axes to its legend."""


def draw_legend(ax: Axes, handles: Handles, left: float, width: float, height: float = 99.0) -> float:
    """Draw a legend above an axes, from so many inches left of it on; returns its height in points."""
    if not handles:
        return 0.0
    texts = _texts(handles, width)
    columns = _columns(texts, width)
    lines = max(1, min(_MOST_LINES, int(height / (height_of(1) + _BETWEEN * FONT / 72))))
    handles, texts = _fewer(handles, texts, lines * columns)
    places = [place for column in range(columns) for place in range(column, len(texts), columns)]
    look = look_of(ax)
    figure = ax.get_figure()
    if figure is None:
        raise AssertionError("an axes that is drawn on belongs to a figure")
    shift = ScaledTranslation(-left, _ABOVE / 72, figure.dpi_scale_trans)
    how: dict[str, Any] = {"handlelength": _SIGN, "handletextpad": _PAD, "columnspacing": _SPACE}
    drawn = ax.legend(
        handles=[handles[place] for place in places],
        # What begins with an underscore would be left out.
        labels=["x" for _ in places],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=ax.transAxes + shift,
        ncols=columns,
        fontsize=FONT,
        labelcolor=look.ink,
        frameon=False,
        borderpad=0.0,
        borderaxespad=0.0,
        labelspacing=_BETWEEN,
        **how,
    )
    for text, place in zip(drawn.get_texts(), places, strict=True):
        text.set_text(texts[place])
        text.set_parse_math(False)
    return float(drawn.get_window_extent().height) / dots(ax) * 72 + _ABOVE


def _texts(handles: Sequence[Artist], width: float) -> list[str]:
    """Labels that fit; sentences may take two lines."""
    labels = [str(handle.get_label()) for handle in handles]
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
    """At most so many; the last one says how many are left out."""
    if len(texts) <= most or most < 2:
        return handles[:most], texts[:most]
    rest = Line2D([], [], linestyle="")
    return [*handles[: most - 1], rest], [*texts[: most - 1], f"… {grouped(len(texts) - most + 1)} more"]
