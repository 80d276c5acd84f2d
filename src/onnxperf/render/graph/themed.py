"""The colors of a drawing on a page: variables in place of fixed colors, so that a dark page has a dark drawing."""

from __future__ import annotations

import re

from onnxperf.render.charts.base import LIGHT
from onnxperf.render.graph.colors import EDGE_INK, FAMILIES, OTHERS, UNKNOWN, color_at

STEPS = 10
"""Colors of the scale of shares, heat0 to heat9: words on the lower half are dark on a light page."""
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
_TEXTS = {"#ffffff": "on-heat"}
"""Words on the upper half of the scale; all others are dark on light, or light on dark."""
HEAT = [color_at((step + 0.5) / STEPS) for step in range(STEPS)]
_TINTS = {family.fill: f"tint{LIGHT.index(family.stroke)}" for family in (*FAMILIES, OTHERS)}
_STROKES = {color: f"c{place}" for place, color in enumerate(LIGHT)}
_TAG = re.compile(r"<(\w+)([^<>]*)>")
_COLOR = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')


def themed(svg: str) -> str:
    """The drawing with names of colors that a light and a dark page define; names of nodes are escaped text."""
    return _TAG.sub(lambda tag: f"<{tag[1]}{_COLOR.sub(lambda color: _named(tag[1], *color.groups()), tag[2])}>", svg)


def _named(tag: str, what: str, color: str) -> str:
    # Groups only color the words and the wires inside of them.
    if tag == "text":
        name = _TEXTS.get(color, "text")
    elif tag == "g" and what == "fill":
        name = "dim"
    else:
        known = _SHAPES | _TINTS | (_STROKES if what == "stroke" else {})
        name = known.get(color) or f"heat{HEAT.index(min(HEAT, key=lambda each: _distance(each, color)))}"
    return f'{what}="var(--{name})"'


def _distance(one: str, other: str) -> int:
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return sum((first - second) ** 2 for first, second in pairs)
