"""The colors of a drawing on a page: variables in place of fixed colors, so that a dark page has a dark drawing."""

from __future__ import annotations

import re

from onnxperf.render.charts.base import LIGHT
from onnxperf.render.graph.colors import EDGE_INK, FAMILIES, OTHERS, UNKNOWN, color_at

STEPS = 10
"""Colors of the scale of shares: heat0 to heat9."""
FROM_HIGH = 6
"""From this one on, words are light on a light page and dark on a dark one."""
_SHAPES = {
    "#ffffff": "paper",
    UNKNOWN: "unknown",
    EDGE_INK: "edge",
    "#4b5563": "edge",
    "#9ca3af": "edge",
    "#7c4a3a": "edge",
    "#35193e": "filled",
}
"""What boxes, wires and frames are drawn in."""
_BARS = ("#ffffff", "#35193e")
"""Also of the bar inside of a box."""
_IN_BOXES = ("#222222", "#ffffff")
"""Colors of words in boxes."""
HEAT = [color_at((step + 0.5) / STEPS) for step in range(STEPS)]
_TINTS = {family.fill: f"tint{LIGHT.index(family.stroke)}" for family in (*FAMILIES, OTHERS)}
_STROKES = {color: f"c{place}" for place, color in enumerate(LIGHT)}
_TAG = re.compile(r"<(\w+)([^<>]*)>")
_COLOR = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')


def themed(svg: str) -> str:
    """The drawing with names of colors that a light and a dark page define; names of nodes are escaped text."""
    return _Names().in_drawing(svg)


class _Names:
    """Names of colors, tag by tag: what is written in a box depends on the box."""

    def __init__(self) -> None:
        self._step: int | None = None
        """Of the scale, in the box before."""

    def in_drawing(self, svg: str) -> str:
        return _TAG.sub(lambda tag: f"<{tag[1]}{self._in_tag(tag[1], tag[2])}>", svg)

    def _in_tag(self, tag: str, attributes: str) -> str:
        return _COLOR.sub(lambda found: f'{found[1]}="var(--{self._name(tag, found[1], found[2])})"', attributes)

    def _name(self, tag: str, what: str, color: str) -> str:
        if tag == "text":
            known = self._step is not None and color in _IN_BOXES
            return ("on-high" if (self._step or 0) >= FROM_HIGH else "on-low") if known else "text"
        # Groups only color the words and the wires inside of them.
        if tag == "g" and what == "fill":
            return "dim"
        name = (_SHAPES | _TINTS | (_STROKES if what == "stroke" else {})).get(color)
        step = min(range(STEPS), key=lambda each: _distance(HEAT[each], color))
        if what == "fill" and color not in _BARS:
            self._step = None if name else step
        return name or f"heat{step}"


def _distance(one: str, other: str) -> int:
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return sum((first - second) ** 2 for first, second in pairs)
