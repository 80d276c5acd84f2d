"""A drawing as PNG."""

from __future__ import annotations

import io
import sys

import pytest
from matplotlib.image import imread

from onnxperf.errors import BadOption, MissingExtra
from onnxperf.render.graph import png
from onnxperf.render.graph.png import graph_png
from onnxperf.render.graph.svg import graph_svg
from tests.render.graph.views import HOSTILE_NAMES, chain_view, named_view

pytest.importorskip("resvg_py")


def size(picture: bytes) -> tuple[int, int]:
    height, width = imread(io.BytesIO(picture), format="png").shape[:2]
    return width, height


def natural(svg: str) -> tuple[float, float]:
    return png._natural_size(svg)


def test_a_picture_is_as_large_as_the_drawing() -> None:
    svg = graph_svg(chain_view("Conv"))
    width, height = natural(svg)
    assert size(graph_png(svg)) == (int(width), int(height))


def test_text_is_drawn_with_the_font_that_comes_along() -> None:
    with_text, without = (graph_svg(chain_view(name), interactive=False) for name in ("Conv", " " * 5))
    dark = [
        (imread(io.BytesIO(graph_png(svg)), format="png")[..., :3].max(axis=2) < 0.3).sum()
        for svg in (with_text, without)
    ]
    assert dark[0] > dark[1]


@pytest.mark.parametrize(("pixels", "area"), [(200, 10**9), (10**6, 20_000)])
def test_a_large_drawing_is_scaled_down(pixels: int, area: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "MOST_PIXELS", pixels)
    monkeypatch.setattr(png, "MOST_AREA", area)
    width, height = size(graph_png(graph_svg(chain_view(*["Relu"] * 20))))
    assert max(width, height) <= pixels
    assert width * height <= area


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_hostile_name_does_not_break_the_picture(name: str) -> None:
    assert graph_png(graph_svg(named_view(name))).startswith(b"\x89PNG")


def test_something_else_than_a_drawing_is_refused() -> None:
    with pytest.raises(BadOption, match="no width and height"):
        graph_png("<svg/>")


def test_a_missing_library_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r"resvg-py .*\[view\]"):
        graph_png(graph_svg(chain_view("Conv")))
