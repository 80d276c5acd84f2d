"""Charts as matplotlib's figures: panels below each other, the answer as title, in the width of a paper."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from matplotlib import rc_context, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onnxperf.errors import BadOption
from onnxperf.render.charts.base import Chart, Layer, Width
from onnxperf.render.paint.legend import draw_legend
from onnxperf.render.paint.panels import Panel, Piece, painter_of, panel_rows, stack, text_piece, title_of
from onnxperf.render.paint.shared import NOTHING, as_written, look_of, nothing
from onnxperf.render.paint.surroundings import room_around
from onnxperf.render.paint.words import FONT, SMALL, TITLE, families, height_of, limited, wrapped
from onnxperf.wording.code import without_marks
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import count

WIDTHS: Mapping[Width, float] = {"page": 7.2, "column": 3.5}
"""Inches of a page of a paper, and of a column."""
MOST_PANELS = 12
_DPI, _SCREEN_DPI = 300, 150
"""Dots per inch of a file, and of a figure that a notebook shows."""
_TITLE_LINES, _CAPTION_LINES = 3, 12
_INK, _DIM = "#1f2328", "#59636e"
_OURS = ("axes", "xtick", "ytick", "legend", "lines", "patch", "hatch", "grid", "text", "figure", "path", "scatter")
"""Settings of matplotlib that do not follow the user's."""


def figure_of(charts: Sequence[Chart], answer: str, topic: str, width: Width = "page") -> Figure:
    """A figure with every layer of these charts as a panel; nothing measured is a figure that says so."""
    with _settings(), _without_warnings():
        figure = _new_figure(WIDTHS[width])
        stack(figure, [*_heading(figure, answer, topic), *_body(figure, charts)])
    return figure


def draw_on(ax: Any, charts: Sequence[Chart], topic: str) -> Any:
    """Draw on axes of the user's: one, or as many as there are panels."""
    axes, layers = _axes_of(ax), [(chart, layer) for chart in charts for layer in chart.layers]
    with _settings(), _without_warnings():
        if not layers:
            for each in axes:
                nothing(each)
        elif len(layers) != len(axes):
            several = f"{count(len(layers), 'panel')}, not {len(axes)}"
            raise BadOption(f"ax: there are {several}: pass as many axes, choose another chart, or leave ax out")
        for each, (chart, layer) in zip(axes, layers, strict=False):
            _draw(each, chart, layer, topic)
    return ax


def quiet(axes: Axes) -> Axes:
    """Axes that a notebook does not describe below the picture that it shows."""
    axes._ipython_display_ = _nothing  # type: ignore[attr-defined]
    return axes


def _nothing() -> None:
    """What is displayed of axes."""


def figure_bytes(figure: Figure, form: Literal["png", "svg"]) -> bytes:
    """The figure as PNG or SVG; it is closed by that."""
    picture = io.BytesIO()
    with rc_context({"svg.hashsalt": "onnxperf", "savefig.bbox": None}), _without_warnings():
        figure.savefig(picture, format=form, dpi=_DPI, metadata={"Date": None} if form == "svg" else None)
    if "matplotlib.pyplot" in sys.modules:  # pyplot would keep it for ever
        from matplotlib import pyplot

        pyplot.close(figure)
    return picture.getvalue()


# ---------------------------------------------------------------- matplotlib's settings


def _settings() -> AbstractContextManager[None]:
    """Matplotlib's default style with the user's fonts; names are never parsed as math."""
    ours = {key: value for key, value in rcParamsDefault.items() if key.split(".")[0] in _OURS}
    return rc_context({**ours, "text.parse_math": False, "text.usetex": False, "font.family": families()})


def _without_warnings() -> AbstractContextManager[Any]:
    """A name in a script that all fonts lack is drawn as boxes; the user can do nothing about the warning."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def _new_figure(width: float) -> Figure:
    """An empty figure, which is in pyplot only if the user works with it: notebooks expect pyplot to show it."""
    how: dict[str, Any] = {"figsize": (width, 4.0), "dpi": _SCREEN_DPI, "layout": "none"}
    if "ipykernel" in sys.modules or "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        return pyplot.figure(**how)
    return Figure(**how)


# ---------------------------------------------------------------- our figures


def _heading(figure: Figure, answer: str, topic: str) -> list[Piece]:
    """The answer, as many of its sentences as fit on three lines, and what it is about."""
    pieces = []
    width = figure.get_size_inches()[0] - 0.15
    if answer.strip():
        title = figure.suptitle(_beginning(answer, width), fontsize=TITLE, fontweight="bold", color=_INK)
        pieces.append(text_piece(title, 0.03))
    if topic:
        lines = limited(visible(topic), width, FONT, most=2)
        pieces.append(text_piece(figure.text(0, 0, lines, fontsize=FONT, color=_DIM), 0.1))
    return pieces


def _beginning(answer: str, width: float) -> str:
    """The first sentences that have room, at least part of the first one."""
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(map(_plain, answer.split("\n"))).strip())
    texts = [" ".join(sentences[:number]) for number in range(len(sentences), 0, -1)]
    fitting = (text for text in texts if len(wrapped(text, width, TITLE, bold=True)) <= _TITLE_LINES)
    return limited(next(fitting, texts[-1]), width, TITLE, most=_TITLE_LINES, bold=True)


def _body(figure: Figure, charts: Sequence[Chart]) -> Iterable[Piece]:
    """Panels with the captions of their charts, and how many panels are left out."""
    layers = [(chart, layer) for chart in charts for layer in chart.layers]
    if not layers:
        ax = figure.add_axes((0, 0, 1, 1))
        nothing(ax)
        yield Piece(NOTHING, 0.0, lambda top: ax.set_position((0, 0, 1, 1 - top / figure.get_size_inches()[1])))
        return
    shown = layers[:MOST_PANELS]
    panels = [_panel(figure, chart, layer, len(shown) > 1) for chart, layer in shown]
    captions = {id(chart): chart.summary for chart, _ in shown}
    rows = panel_rows(figure, panels, [id(chart) for chart, _ in shown])
    for chart, pieces in rows.items():
        yield from pieces
        yield from _line(figure, captions[chart], 0.2)
    if len(layers) > len(shown):
        yield from _line(figure, f"{count(len(layers) - len(shown), 'more panel')} left out", 0.1)


def _panel(figure: Figure, chart: Chart, layer: Layer, is_titled: bool) -> Panel:
    ax = figure.add_axes((0.1, 0.1, 0.8, 0.8), label=str(len(figure.axes)))
    return Panel(ax, layer.picture, painter_of(layer.picture), title_of(chart, layer) if is_titled else "")


def _line(figure: Figure, text: str, gap: float) -> Iterable[Piece]:
    if text:
        words = limited(_plain(text), figure.get_size_inches()[0] - 0.15, SMALL, most=_CAPTION_LINES)
        yield text_piece(figure.text(0, 0, words, fontsize=SMALL, color=_DIM), gap)


def _plain(text: str) -> str:
    """A sentence without the marks around code."""
    return without_marks(visible(text))


# ---------------------------------------------------------------- axes of the user's


def _axes_of(ax: Any) -> list[Axes]:
    import numpy as np

    axes = list(np.asarray(ax, dtype=object).flat)
    if not all(isinstance(each, Axes) for each in axes):
        raise BadOption("ax: pass axes of matplotlib, such as those that pyplot.subplots() returns, or leave it out")
    return axes


def _draw(ax: Axes, chart: Chart, layer: Layer, topic: str) -> None:
    """A panel with its title in the middle, where the user's own would replace it."""
    room, dpi = room_around(ax), ax.figure.dpi
    width = float(ax.get_window_extent().width) / dpi
    handles = painter_of(layer.picture).paint(ax, layer.picture, room)
    title = ": ".join(filter(None, [title_of(chart, layer), visible(topic)]))
    lines = limited(title, width + 2 * min(room.left, room.right), TITLE, most=2 if room.above > 0.5 else 1)
    above = room.above - height_of(lines.count("\n") + 1, TITLE) - 0.12
    legend = draw_legend(ax, handles, 0.0, width, max(above, 0.0))
    as_written(ax.set_title(lines, fontsize=TITLE, pad=legend + 6, color=look_of(ax).ink))
