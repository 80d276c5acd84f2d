"""Samples of compiled and Python frames as a flame graph (SVG) and for speedscope.app."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import shortened, visible
from onnxperf.wording.numbers import count, percent

Sample = tuple[tuple[str, ...], int]
"""Frames from the outermost to the innermost, and how often they were seen."""

COLOURS = {"python": fg.BLUE, "dispatch": fg.SKY, "kernels": fg.ORANGE, None: "#bbbbbb", "unknown": "#dddddd"}
LEGEND = {
    "python": "Python",
    "dispatch": "numpy's call machinery",
    "kernels": "kernels and other compiled libraries",
    None: "system",
}
_WIDTH = 1200
_ROW = 18
_TOP = 56
_LETTER = 6.6
_NARROWEST = 0.4


@dataclass
class _Node:
    """A frame below its callers."""

    name: str
    count: int = 0
    below: dict[str, _Node] = field(default_factory=dict)


def flame_svg(samples: Sequence[Sample], title: str, kind_of: Callable[[str], str | None]) -> str:
    """A picture of all stacks: as wide as they are frequent, the outermost frame on top, coloured by what they do."""
    root = _tree(samples)
    boxes = list(_boxes(root, kind_of))
    samples_text = count(root.count, "sample")
    height = _TOP + _ROW * (1 + max((depth for depth, _ in boxes), default=0)) + 8
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="monospace" font-size="11">',
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
            f'<text x="8" y="20" font-size="14">{_safe(title)}, {samples_text}</text>',
            *_legend(),
            *(text for _, text in boxes),
            "</svg>\n",
        )
    )


def speedscope(samples: Sequence[Sample], title: str) -> str:
    """The same for speedscope.app; the order of the samples is not known."""
    names = list(dict.fromkeys(frame for stack, _ in samples for frame in stack))
    places = {name: place for place, name in enumerate(names)}
    weights = [count for _, count in samples]
    profile = {
        "type": "sampled",
        "name": title,
        "unit": "none",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[places[frame] for frame in stack] for stack, _ in samples],
        "weights": weights,
    }
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "onnxperf",
            "name": title,
            "activeProfileIndex": 0,
            "shared": {"frames": [{"name": name} for name in names]},
            "profiles": [profile],
        }
    )


def _tree(samples: Sequence[Sample]) -> _Node:
    root = _Node("all")
    for stack, times in samples:
        root.count += times
        node = root
        for frame in stack:
            node = node.below.setdefault(frame, _Node(frame))
            node.count += times
    return root


def _boxes(root: _Node, kind_of: Callable[[str], str | None]) -> Iterator[tuple[int, str]]:
    """Depth and picture of every frame that is wide enough to be seen."""
    scale = _WIDTH / max(root.count, 1)
    waiting = [(root, -1, 0.0)]
    while waiting:
        node, depth, left = waiting.pop()
        if depth >= 0:
            yield depth, _box(node, kind_of(node.name), depth, left, scale, root.count)
        for each in sorted(node.below.values(), key=lambda below: below.name):
            if each.count * scale >= _NARROWEST:
                waiting.append((each, depth + 1, left))
            left += each.count * scale


def _box(node: _Node, kind: str | None, depth: int, left: float, scale: float, total: int) -> str:
    top, width = _TOP + _ROW * depth, node.count * scale
    letters = int((width - 6) / _LETTER)
    name = visible(node.name)
    text = name if len(name) <= letters else shortened(name.partition(" (")[0], letters) if letters >= 3 else ""
    label = f'<text x="{left + 3:.1f}" y="{top + 12}">{_safe(text)}</text>' if text else ""
    share = f"{percent(node.count / total)}, {count(node.count, 'sample')}"
    return (
        f"<g><title>{_safe(node.name)}: {share}</title>"
        f'<rect x="{left:.2f}" y="{top}" width="{max(width - 0.3, 0.1):.2f}" height="{_ROW - 1}" '
        f'fill="{COLOURS[kind]}" fill-opacity="0.75"/>{label}</g>'
    )


def _legend() -> Iterator[str]:
    left = 8.0
    for kind, text in LEGEND.items():
        yield f'<rect x="{left}" y="32" width="11" height="11" fill="{COLOURS[kind]}" fill-opacity="0.75"/>'
        yield f'<text x="{left + 16}" y="42">{text}</text>'
        left += 16 + len(text) * _LETTER + 24


def _safe(text: str) -> str:
    return escape(visible(text))
