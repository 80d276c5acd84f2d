"""Dots: rows of names with a dot each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from onnxperf.render.charts.base import Axis, Picture, axis_of
from onnxperf.wording.names import name_of


class Dots(Picture, frozen=True):
    """What a painter of dots draws, the first row on top."""

    kind: ClassVar[str] = "dots"
    names: Sequence[str]
    values: Sequence[float]
    axis: Axis


def dots(names: Sequence[str], values: Sequence[float], title: str) -> Dots:
    """A dot for each name, on an axis from zero."""
    return Dots([name_of(name) for name in names], values, axis_of(title, values, from_zero=True))
