"""Boxes of any size and the wires between them, laid out from top to bottom without a system program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from onnxperf.render.graph.columns import columns_of
from onnxperf.render.graph.layers import Layers, Net, layers_of

LABEL_BAND = 15.0
"""Height below a box in which its wires go straight down, with their labels next to them."""
PORT_MARGIN = 9.0
"""No wire ends closer to the corner of a box."""
_BESIDE = 26.0
"""Free space between two boxes, or a box and a wire."""
_BEND_WIDTH = 2.0
_BETWEEN = 26.0
"""Height between two rows; more where wires go far to the side."""
_MORE_BETWEEN = 110.0
_SLOPE = 0.05


class Box(NamedTuple):
    """Something to be placed."""

    width: float
    height: float


class Wire(NamedTuple):
    """A tensor: from one box to all that use it."""

    source: int
    targets: tuple[int, ...]
    label_width: float = 0.0
    """Room for its label, right of where it leaves its box."""


class Spot(NamedTuple):
    """Upper left corner of a box."""

    x: float
    y: float


class Run(NamedTuple):
    """A straight way down; between two of them, a wire swings from one column to the other."""

    x: float
    top: float
    bottom: float


class Route(NamedTuple):
    """A line of a wire; it ends at a box, with an arrow."""

    wire: int
    runs: tuple[Run, ...]


class GraphLayout(NamedTuple):
    """Where everything is; the upper left corner is (0, 0)."""

    width: float
    height: float
    spots: list[Spot]
    """Of each box."""
    ports: list[Spot]
    """Of each wire: where it leaves its box."""
    routes: list[Route]
    """One for each wire and box that it goes to; what they share is drawn once."""


def lay_out(boxes: Sequence[Box], wires: Sequence[Wire]) -> GraphLayout:
    """Places for all boxes, none of which overlap, and ways for the wires around them."""
    if not boxes:
        return GraphLayout(0.0, 0.0, [], [], [])
    layers = layers_of(len(boxes), [Net(wire.source, wire.targets) for wire in wires])
    widths = _reserved(boxes, wires) + [_BEND_WIDTH] * (len(layers.rank) - len(boxes))
    columns = columns_of(layers.rows, layers.above, len(boxes), widths, _BESIDE)
    tops, bottoms = _heights(layers, boxes, columns)
    spots = [
        Spot(columns[i] - box.width / 2, tops[layers.rank[i]] if layers.rank[i] else bottoms[0] - box.height)
        for i, box in enumerate(boxes)
    ]
    ports = _out_ports(boxes, wires, spots, columns)
    routes = _routes(layers, boxes, spots, _trunks(layers, ports, columns, tops, bottoms), tops)
    right = max(column + width / 2 for column, width in zip(columns, widths, strict=True))
    return GraphLayout(right, bottoms[-1], spots, ports, routes)


def _reserved(boxes: Sequence[Box], wires: Sequence[Wire]) -> list[float]:
    """Widths of the boxes together with the label of their wire, which begins in the middle."""
    widths = [box.width for box in boxes]
    for wire in wires:
        widths[wire.source] = max(widths[wire.source], 2 * wire.label_width)
    return widths


def _heights(layers: Layers, boxes: Sequence[Box], columns: Sequence[float]) -> tuple[list[float], list[float]]:
    """Top and bottom of each row."""
    tops, bottoms = [], []
    y = 0.0
    for row in layers.rows:
        height = max((boxes[vertex].height for vertex in row if vertex < len(boxes)), default=0.0)
        tops.append(y)
        bottoms.append(y + height)
        aside = max(
            (abs(columns[each] - columns[vertex]) for vertex in row for each in layers.below[vertex]), default=0
        )
        y += height + LABEL_BAND + _BETWEEN + min(_SLOPE * aside, _MORE_BETWEEN)
    return tops, bottoms


# ---------------------------------------------------------------- wires


def _out_ports(
    boxes: Sequence[Box], wires: Sequence[Wire], spots: Sequence[Spot], columns: Sequence[float]
) -> list[Spot]:
    """A single wire leaves from the middle; several side by side, so that they do not cross right away."""
    leaving: dict[int, list[int]] = defaultdict(list)
    for number, wire in enumerate(wires):
        leaving[wire.source].append(number)
    ports = [Spot(0.0, 0.0)] * len(wires)
    for source, numbers in leaving.items():
        spot, box = spots[source], boxes[source]
        numbers.sort(key=lambda number: _mean([columns[target] for target in wires[number].targets]))
        for place, number in enumerate(numbers):
            x = spot.x + box.width / 2
            if len(numbers) > 1:
                x = spot.x + PORT_MARGIN + place * (box.width - PORT_MARGIN) / len(numbers)
            ports[number] = Spot(x, spot.y + box.height)
    return ports


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _trunks(
    layers: Layers, ports: Sequence[Spot], columns: Sequence[float], tops: Sequence[float], bottoms: Sequence[float]
) -> list[list[Run]]:
    """Each wire on its way down, one straight run for every row."""
    trunks = []
    for net, bends, port in zip(layers.nets, layers.bends, ports, strict=True):
        trunk = [Run(port.x, port.y, bottoms[layers.rank[net.source]] + LABEL_BAND)]
        trunk += [Run(columns[bend], tops[layers.rank[bend]], bottoms[layers.rank[bend]]) for bend in bends or ()]
        trunks.append(trunk)
    return trunks


def _routes(
    layers: Layers, boxes: Sequence[Box], spots: Sequence[Spot], trunks: Sequence[Sequence[Run]], tops: Sequence[float]
) -> list[Route]:
    """From each wire to each of its boxes; the way to the lowest is the whole trunk, the others turn off from it."""
    arriving: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for number, net in enumerate(layers.nets):
        for target in net.targets:
            before = trunks[number][_steps(layers, net, target, trunks[number]) - 1]
            arriving[target].append((before.x, number))
    entries = {}
    for target, come in arriving.items():
        left, right = spots[target].x + PORT_MARGIN, spots[target].x + boxes[target].width - PORT_MARGIN
        come.sort()
        xs = _spread([x for x, _ in come], left, right)
        entries.update({(number, target): x for (_, number), x in zip(come, xs, strict=True)})
    routes = []
    for number, (net, trunk) in enumerate(zip(layers.nets, trunks, strict=True)):
        for turn, target in enumerate(sorted(net.targets, key=lambda target: -layers.rank[target])):
            *way, last = trunk[: _steps(layers, net, target, trunk)]
            end = Run(entries[number, target], tops[layers.rank[target]], spots[target].y)
            routes.append(Route(number, (last._replace(top=last.bottom), end) if turn else (*way, last, end)))
    return routes


def _steps(layers: Layers, net: Net, target: int, trunk: Sequence[Run]) -> int:
    """Runs of a trunk before it turns off to this box."""
    return min(layers.rank[target] - layers.rank[net.source], len(trunk))


def _spread(wanted: Sequence[float], left: float, right: float) -> list[float]:
    """Places on the upper edge of a box: below where each wire comes from, as far as they can keep a distance."""
    apart = min(12.0, (right - left) / max(len(wanted) - 1, 1))
    xs = [min(max(x, left), right) for x in wanted]
    for i in range(1, len(xs)):
        xs[i] = max(xs[i], xs[i - 1] + apart)
    if xs and xs[-1] > right:
        xs[-1] = right
        for i in range(len(xs) - 2, -1, -1):
            xs[i] = min(xs[i], xs[i + 1] - apart)
    return xs
