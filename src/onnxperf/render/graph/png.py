"""A drawing as PNG, through a library that ships in a wheel, with a font that ships in one too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from onnxperf.errors import BadOption, required

MOST_PIXELS = 16_000
"""Longest side of a picture; a larger drawing is scaled down to it."""
MOST_AREA = 120_000_000
"""Pixels of a picture: half a gigabyte while it is drawn."""
_FONT = "DejaVu Sans"
_SIZE = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


def graph_png(svg: str) -> bytes:
    """The picture of an SVG of ours, scaled down where it would be too large."""
    library = require_resvg()
    width, height = _natural_size(svg)
    scale = min(1.0, MOST_PIXELS / max(width, height), (MOST_AREA / (width * height)) ** 0.5)
    picture: bytes = library.svg_to_bytes(
        svg_string=svg,
        background="#ffffff",
        width=max(1, int(width * scale)),
        font_files=[str(path) for path in _fonts()],
        font_family=_FONT,
        sans_serif_family=_FONT,
    )
    return bytes(picture)


def require_resvg() -> Any:
    """The library that draws PNG files."""
    return required("resvg_py", "view", "resvg-py")


def _natural_size(svg: str) -> tuple[float, float]:
    found = _SIZE.search(svg)
    if found is None:
        raise BadOption("this SVG has no width and height; draw it with graph_svg")
    return float(found[1]), float(found[2])


def _fonts() -> list[Path]:
    """Matplotlib brings a font, so that a machine without any draws text too."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return [folder / "DejaVuSans.ttf", folder / "DejaVuSans-Bold.ttf", folder / "DejaVuSans-Oblique.ttf"]
