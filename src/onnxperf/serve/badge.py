"""A badge with the time of a model now and its trend, as a small SVG image."""

from __future__ import annotations

from html import escape

from onnxperf.records.overview import ModelNow
from onnxperf.serve.drawing import tag
from onnxperf.wording.names import shortened, text_width, visible
from onnxperf.wording.numbers import duration
from onnxperf.wording.verdicts import faced

_LABEL = 40
"""Characters of the name of a model."""
_LETTER, _ROOM, _TALL = 6.6, 12, 20
"""Width of a letter, room around a text, and height, in pixels."""
_COLORS = {"slower": "#a83410", "faster": "#00664a", "equivalent": "#44606f", "undecided": "#55606c"}
_WORDS = {"undecided": "too few runs"}


def badge_text(now: ModelNow) -> str:
    """Such as `12.3 ms · ≈ equal`."""
    return f"{duration(now.time_ns)} · {_WORDS.get(now.trend, faced(now.trend))}"


def badge_svg(now: ModelNow) -> str:
    """The label of the model on the left, its time and trend on the right."""
    label, text = shortened(visible(now.model), _LABEL), badge_text(now)
    left, right = (round(text_width(each) * _LETTER) + _ROOM for each in (label, text))
    parts = [
        tag("title", escape(f"{label}: {text}")),
        tag("rect", width=left + right, height=_TALL, rx=3, fill="#2b3138"),
        tag("path", d=f"M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z", fill=_COLORS[now.trend]),
        *(
            tag("text", escape(words), x=x, y=14, text_anchor="middle", textLength=round(text_width(words) * _LETTER))
            for words, x in ((label, left / 2), (text, left + right / 2))
        ),
    ]
    fonts = {"font_family": "Verdana, DejaVu Sans, sans-serif", "font_size": 11, "fill": "#ffffff"}
    size = {"width": left + right, "height": _TALL, "viewBox": f"0 0 {left + right} {_TALL}"}
    return tag("svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", role="img", **size, **fonts)
