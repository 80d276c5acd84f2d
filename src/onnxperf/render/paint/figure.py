"""Charts as matplotlib's figures: panels below each other, the answer as title, in the width of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from onnxperf.render.charts.base import Chart, Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_of(charts: Sequence[Chart], answer: str, topic: str, width: Width = "page") -> Figure:
    """A figure with every layer of these charts as a panel; nothing measured is a figure that says so."""
    raise NotImplementedError


def draw_on(ax: Any, charts: Sequence[Chart], topic: str) -> Any:
    """Draw on axes of the user's: one, or as many as there are panels."""
    raise NotImplementedError


def figure_bytes(figure: Figure, form: Literal["png", "svg"]) -> bytes:
    """The figure as PNG or SVG; it is closed by that."""
    raise NotImplementedError
