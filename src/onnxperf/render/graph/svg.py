"""A model as SVG: nodes in rows from top to bottom, colored by family or by what they cost; it pans and zooms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from math import ceil
from textwrap import wrap

from onnxperf.records.view import GraphView, Metrics
from onnxperf.render.graph.boxes import (
    FRAME_PAD,
    FRAME_TITLE,
    FRAME_TITLE_SIZE,
    LONGEST_TITLE,
    PAD,
    SMALL_LINE,
    SMALL_SIZE,
    TITLE_LINE,
    TITLE_SIZE,
    Canvas,
    Paint,
    Painter,
    Plate,
    frame_size,
    sheets_of,
    text_width,
)
from onnxperf.render.graph.colors import (
    EDGE_INK,
    UNKNOWN,
    by_family,
    by_share,
    color_at,
    family_of,
    largest_share,
)
from onnxperf.render.graph.layout import Run
from onnxperf.render.graph.script import SCRIPT, SMALLEST_SCALE
from onnxperf.render.graph.shared import all_graphs
from onnxperf.render.graph.themed import themed
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import percent

MARGIN = 24.0
_BETWEEN_SHEETS = 60.0
_LEGEND_LINE = 18.0
_BELOW_LEGEND = 22.0
_FONTS = "Helvetica Neue,Helvetica,Arial,DejaVu Sans,sans-serif"
_ARROW = "l-3.5-7h7z"
_VALUE = Paint("#ffffff", "#4b5563")
_OUTER = Paint("#ffffff", "#9ca3af", text="#6b7280", dashed=True)
_CURVE = 0.5
_BAR = 4.0
_WIDEST_LINE, _LONGEST_NOTE = 120, 480
"""Characters of a line of the legend, and of a note with all its lines."""
_STEPS = 24
"""Patches of the scale in a legend."""


def graph_svg(
    view: GraphView,
    metrics: Metrics | None = None,
    *,
    interactive: bool = True,
    keys: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """The model as one SVG without references to anything outside; with metrics, colored and sized by share.

    `keys` has, by the key of a node, what its box stands for on a page, which also has the colors and a caption.
    """
    painter = by_family if metrics is None else by_share(metrics)
    sheets = sheets_of(view, painter if keys is None else _with_keys(painter, keys))
    if keys is not None:  # a page says all else next to the drawing
        legend = [] if metrics is not None else _family_legend(view)
        return themed(document("", legend, sheets, start=_first_column(sheets[0]), interactive=False))
    legend = _family_legend(view) if metrics is None else _share_legend(metrics)
    legend += _lines(view.notes)
    return document(name_of(view.model), legend, sheets, start=_first_column(sheets[0]), interactive=interactive)


def _with_keys(painter: Painter, keys: Mapping[str, tuple[str, ...]]) -> Painter:
    return lambda node: painter(node)._replace(keys=keys.get(node.key, ()))


def _first_column(sheet: Canvas) -> float:
    """Where a graph begins: the middle of its uppermost boxes."""
    spots = sorted(zip(sheet.layout.spots, sheet.plates, strict=True), key=lambda each: each[0].x)
    first_row = min((spot.y + plate.height for spot, plate in spots), default=0.0)
    middles = [spot.x + plate.width / 2 for spot, plate in spots if spot.y + plate.height == first_row]
    return middles[len(middles) // 2] if middles else 0.0


# ---------------------------------------------------------------- document


def document(
    title: str,
    legend: Sequence[tuple[float, str]],
    sheets: Sequence[Canvas],
    *,
    start: float = 0.0,
    interactive: bool = True,
) -> str:
    """A title, lines of a legend with their widths, and graphs below; a narrow page starts in the column `start`."""
    heading = shortened(title, LONGEST_TITLE)
    drawn_width, drawn_height, parts = _side_by_side(sheets)
    above = (26.0 if title else 0.0) + _LEGEND_LINE * len(legend) + (_BELOW_LEGEND if title or legend else 0.0)
    top = MARGIN + above
    texts = [text_width(heading, 16.0) * 1.1, *(width for width, _ in legend)]
    width, height = ceil(max([drawn_width, *texts]) + 2 * MARGIN), ceil(top + drawn_height + MARGIN)
    left = (width - drawn_width) / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" data-onnxperf="graph" data-start="{_n(left + start)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}" '
        f'preserveAspectRatio="xMidYMin meet" font-family="{_FONTS}" font-size="{_n(SMALL_SIZE)}"'
        f"{_fitting(width) if interactive else ''}>",
        *([f"<title>{_text(title)}</title>"] if title else []),
        f'<rect x="-100000" y="-100000" width="{_n(width + 2e5)}" height="{_n(height + 2e5)}" fill="#ffffff"/>',
        f'<g data-header="1"><text x="{_n(MARGIN)}" y="{_n(MARGIN + 14)}" font-size="16" font-weight="bold" '
        f'fill="#222222">{_text(heading)}</text>',
    ]
    for number, (_, line) in enumerate(legend):
        y = MARGIN + (30 if title else 0) + number * _LEGEND_LINE
        lines.append(f'<g transform="translate({_n(MARGIN)} {_n(y)})">{line}</g>')
    lines += ["</g>", f'<g transform="translate({_n(left)} {_n(top)})">', *parts, "</g>"]
    if interactive:
        lines.append(f'<script type="text/javascript">{SCRIPT}</script>')
    return "\n".join([*lines, "</svg>\n"])


def _fitting(width: float) -> str:
    """Without its script, a drawing is as wide as the page around it, down to what can be read."""
    narrowest = _n(width * SMALLEST_SCALE)
    return f' style="background:#ffffff;max-width:100%;min-width:{narrowest}px;height:auto"'


def _side_by_side(sheets: Sequence[Canvas]) -> tuple[float, float, list[str]]:
    """Width and height of several sheets in one row, all but the first in frames, and their parts."""
    parts: list[str] = []
    x = 0.0
    bottom = 0.0
    for sheet in sheets:
        if sheet.title:
            width, height = frame_size(sheet)
            parts += [f'<g transform="translate({_n(x)} 0)">', *frame(sheet), "</g>"]
        else:
            width, height = sheet.width, sheet.height
            parts += [f'<g transform="translate({_n(x)} 0)">', *_sheet(sheet), "</g>"]
        x += width + _BETWEEN_SHEETS
        bottom = max(bottom, height)
    return x - _BETWEEN_SHEETS, bottom, parts


# ---------------------------------------------------------------- legends


def _family_legend(view: GraphView) -> list[tuple[float, str]]:
    """What the colors mean when they stand for operators, the most frequent family first."""
    families = Counter(family_of(node) for graph in all_graphs(view) for node in graph.nodes)
    return swatches((family.fill, family.stroke, False, family.name) for family, _ in families.most_common())


def swatches(entries: Iterable[tuple[str, str, bool, str]]) -> list[tuple[float, str]]:
    """One line of patches with words: fill, border, whether it is dashed, and what it means."""
    x, parts = 0.0, []
    for fill, stroke, dashed, words in entries:
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        parts.append(
            f'<rect x="{_n(x)}" y="0" width="16" height="11" rx="3" fill="{fill}" stroke="{stroke}"{dash}/>'
            f'<text x="{_n(x + 21)}" y="9.5" fill="#444444">{_text(words)}</text>'
        )
        x += 21 + text_width(words, SMALL_SIZE) + 16
    return [(x, "".join(parts))] if parts else []


def _share_legend(metrics: Metrics) -> list[tuple[float, str]]:
    largest = largest_share(metrics)
    step = 180 / _STEPS
    patches = "".join(
        f'<rect x="{_n(i * step)}" y="0" width="{_n(step + 0.5)}" height="11" fill="{color_at(i / (_STEPS - 1))}"/>'
        for i in range(_STEPS)
    )
    ends = (
        f'{patches}<text x="0" y="22" fill="#444444">0 %</text>'
        f'<text x="90" y="22" text-anchor="middle" fill="#444444">{_text(percent(largest / 2))}</text>'
        f'<text x="180" y="22" text-anchor="end" fill="#444444">{_text(percent(largest))}</text>'
        f'<rect x="204" y="0" width="16" height="11" rx="3" fill="{UNKNOWN}" stroke="#9ca3af"/>'
        f'<text x="225" y="9.5" fill="#444444">not measured, or no cost of its own</text>'
    )
    return [*_lines([metrics.title, *metrics.notes]), (430.0, ends), (0.0, "")]


def _lines(notes: Iterable[str]) -> list[tuple[float, str]]:
    """Sentences as lines of a legend; a name in one of them must not make the drawing wide or the legend high."""
    lines = chain.from_iterable(wrap(shortened(visible(note), _LONGEST_NOTE), _WIDEST_LINE) for note in notes)
    return [(text_width(line, SMALL_SIZE), f'<text y="9" fill="#444444">{_text(line)}</text>') for line in lines]


# ---------------------------------------------------------------- graphs


def _sheet(sheet: Canvas) -> Iterator[str]:
    """Wires first, so that boxes and labels lie above them."""
    yield f'<g fill="none" stroke="{EDGE_INK}" stroke-width="1.2">'
    heads: dict[int, str] = {}
    lines: dict[int, str] = {}
    for route in sheet.layout.routes:
        lines[route.wire] = lines.get(route.wire, "") + _path(route.runs)
        end = route.runs[-1]
        heads[route.wire] = heads.get(route.wire, "") + f"M{_n(end.x)} {_n(end.bottom)}{_ARROW}"
    for wire, line in lines.items():
        title = f"<title>{_text(sheet.names[wire])}</title>"
        yield f'<path d="{line}">{title}</path><path d="{heads[wire]}" fill="{EDGE_INK}" stroke="none"/>'
    yield "</g>"
    for plate, spot in zip(sheet.plates, sheet.layout.spots, strict=True):
        yield f'<g transform="translate({_n(spot.x)} {_n(spot.y)})"{_keys(plate)}>'
        yield from _plate(plate)
        yield "</g>"
    yield '<g fill="#4b5563">'
    for label, port in zip(sheet.labels, sheet.layout.ports, strict=True):
        if label:
            yield f'<text x="{_n(port.x + 5)}" y="{_n(port.y + 12)}">{_text(label)}</text>'
    yield "</g>"


def _keys(plate: Plate) -> str:
    """What a box stands for, and below each other what it belongs to."""
    if plate.paint is None or not plate.paint.keys:
        return ""
    own, *groups = (_text(visible(key)) for key in plate.paint.keys)
    return f' data-key="{own}"' + (f' data-groups="{"&#10;".join(groups)}"' if groups else "")


def _path(runs: Sequence[Run]) -> str:
    """Down, and in an even curve to the next column; a wire in one column is one line."""
    first = runs[0]
    parts = [f"M{_n(first.x)} {_n(first.top)}"]
    y = first.bottom
    x = first.x
    for run in runs[1:]:
        if abs(run.x - x) > 0.05:
            middle = (run.top - y) * _CURVE
            parts.append(
                f"V{_n(y)}C{_n(x)} {_n(y + middle)} {_n(run.x)} {_n(run.top - middle)} {_n(run.x)} {_n(run.top)}"
            )
        x, y = run.x, run.bottom
    parts.append(f"V{_n(y)}")
    return "".join(parts)


def _plate(plate: Plate) -> Iterator[str]:
    paint = plate.paint or (_OUTER if plate.kind == "outer" else _VALUE)
    dash = ' stroke-dasharray="5 3"' if paint.dashed else ""
    corner = 4 if plate.kind == "node" else min(plate.height / 2, 14)
    yield (
        f"<title>{_tips(plate.tips)}</title>"
        f'<rect width="{_n(plate.width)}" height="{_n(plate.height)}" rx="{_n(corner)}" fill="{paint.fill}" '
        f'stroke="{paint.stroke}" stroke-width="1.2"{dash}/>'
    )
    middle = _n(plate.width / 2)
    y = (PAD / 2 + 13) * paint.scale
    weight = "bold" if plate.kind == "node" else "normal"
    size = (TITLE_SIZE if plate.kind == "node" else TITLE_SIZE - 1) * paint.scale
    yield (
        f'<text x="{middle}" y="{_n(y)}" text-anchor="middle" font-size="{_n(size)}" font-weight="{weight}" '
        f'fill="{paint.text}">{_text(plate.title)}</text>'
    )
    for number, line in enumerate(plate.lines):
        below = y + (TITLE_LINE - 4 + number * SMALL_LINE) * paint.scale
        yield (
            f'<text x="{middle}" y="{_n(below)}" text-anchor="middle" font-size="{_n(SMALL_SIZE * paint.scale)}" '
            f'fill="{paint.text}" fill-opacity="0.85">{_text(line)}</text>'
        )
    if paint.bar is not None:
        yield from _bar(plate, paint.bar)
    x = FRAME_PAD
    for body in plate.bodies:
        yield f'<g transform="translate({_n(x)} {_n(plate.head)})">'
        yield from frame(body)
        yield "</g>"
        x += frame_size(body)[0] + FRAME_PAD


def _bar(plate: Plate, part: float) -> Iterator[str]:
    top, width = plate.head - _BAR - 1.5, plate.width - 8
    yield f'<rect x="4" y="{_n(top)}" width="{_n(width)}" height="{_n(_BAR)}" rx="1.5" fill="#ffffff" opacity="0.75"/>'
    yield f'<rect x="4" y="{_n(top)}" width="{_n(width * part)}" height="{_n(_BAR)}" rx="1.5" fill="#35193e"/>'


def frame(sheet: Canvas) -> Iterator[str]:
    """A graph with a frame and a title around it."""
    width, height = frame_size(sheet)
    yield (
        f'<rect width="{_n(width)}" height="{_n(height)}" rx="4" fill="#ffffff" fill-opacity="0.92" stroke="#9ca3af"/>'
        f'<text x="8" y="14" font-size="{_n(FRAME_TITLE_SIZE)}" font-style="italic" fill="#374151">'
        f"{_text(sheet.title)}</text>"
        f'<g transform="translate({_n((width - sheet.width) / 2)} {_n(FRAME_TITLE + FRAME_PAD)})">'
    )
    yield from _sheet(sheet)
    yield "</g>"


# ---------------------------------------------------------------- text


def _text(words: str) -> str:
    # visible() has replaced control characters; these two are characters that XML does not have either.
    return escape(words.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))


def _tips(lines: Iterable[str]) -> str:
    return "\n".join(_text(line) for line in lines if line)


def _n(number: float) -> str:
    """A coordinate with a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")
