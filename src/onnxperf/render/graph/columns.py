"""Columns of a layered drawing: straight lines where possible, boxes of any width side by side (Brandes and Köpf)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

Segments = set[tuple[int, int]]
Middle = Callable[[Iterable[float]], float]
_PULLS: tuple[Middle, ...] = (*[fmean] * 8, *[median] * 4)
"""First everything comes closer together, then what is nearly straight becomes straight."""
_SAME = 0.5
"""Columns that differ by less are one."""
_ROOM = 1.3
"""A drawing may be so much wider than its widest row."""
_WORK = 100_000
"""Vertices that are looked at for places to cut lines."""


class _Space(NamedTuple):
    """What two lines need between them."""

    distance: float
    left: int
    """The vertices that are side by side."""
    right: int


Spaces = dict[int, dict[int, _Space]]
"""By the roots of the left line and the right one."""


def columns_of(
    rows: Sequence[Sequence[int]], above: Sequence[Sequence[int]], bends_from: int, widths: Sequence[float], gap: float
) -> list[float]:
    """The middle of each vertex, the leftmost edge being 0; vertices from `bends_from` on are bends of lines.

    Vertices are aligned with a median neighbor from above or below, leaning left or right; each of the four ways
    keeps all distances, and so does the mean of the middle two. Lines that push each other far to the side are cut,
    and those that were left far away are drawn in.
    """
    below: list[list[int]] = [[] for _ in above]
    for vertex, neighbours in enumerate(above):
        for each in neighbours:
            below[each].append(vertex)
    place = [0] * len(above)
    for row in rows:
        for i, vertex in enumerate(row):
            place[vertex] = i
    crossed = _crossed_trunks(rows, above, bends_from, place)
    ways = []
    for near, ordered in ((above, rows), (below, rows[::-1])):
        for sign in (1, -1):
            turned = [row[::sign] for row in ordered]
            root = _blocks(turned, near, [sign * i for i in place], crossed)
            _cut(turned, root, bends_from, widths, gap)
            ways.append([sign * x for x in _compact(turned, root, widths, gap)])
    x = _balanced(ways, widths)
    for middle in _PULLS:
        _pull(x, rows, (above, below), (widths, gap), middle)
    left, _ = _edges(x, widths)
    return [each - left for each in x]


def _crossed_trunks(
    rows: Sequence[Sequence[int]], above: Sequence[Sequence[int]], bends_from: int, place: Sequence[int]
) -> Segments:
    """Segments that cross a line between two bends: that line is to be straight, so these are not aligned."""
    found: Segments = set()
    for upper, row in pairwise(rows):
        scanned, left = 0, -1
        for i, vertex in enumerate(row):
            inner = next((each for each in above[vertex] if vertex >= bends_from and each >= bends_from), None)
            if inner is None and i < len(row) - 1:
                continue
            right = len(upper) if inner is None else place[inner]
            for other in row[scanned : i + 1]:
                for each in above[other]:
                    is_inner = other >= bends_from and each >= bends_from
                    if not is_inner and not left <= place[each] <= right:
                        found.add((each, other))
            scanned, left = i + 1, right
    return found


def _blocks(
    rows: Sequence[Sequence[int]], neighbours: Sequence[Sequence[int]], place: Sequence[int], crossed: Segments
) -> list[int]:
    """The first vertex of the straight line that each vertex is on."""
    root = list(range(len(place)))
    for row in rows:
        limit: float = -float("inf")
        for vertex in row:
            near = sorted(neighbours[vertex], key=place.__getitem__)
            if not near:
                continue
            for middle in dict.fromkeys(((len(near) - 1) // 2, len(near) // 2)):
                each = near[middle]
                free = place[each] > limit and (each, vertex) not in crossed and (vertex, each) not in crossed
                if free:
                    root[vertex] = root[each]
                    limit = place[each]
                    break
    return root


def _cut(rows: Sequence[Sequence[int]], root: list[int], bends_from: int, widths: Sequence[float], gap: float) -> None:
    """Cut lines that carry a push to the side from one row to another, until the drawing is hardly wider than a row."""
    limit = _ROOM * max((sum(widths[vertex] + gap for vertex in row) for row in rows), default=0.0)
    rank = {vertex: number for number, row in enumerate(rows) for vertex in row}
    members: dict[int, list[int]] = {}
    for vertex in rank:
        members.setdefault(root[vertex], []).append(vertex)
    for _ in range(_WORK // max(len(rank), 1)):
        x, pushes, _order = _leftmost(root, _spaces(rows, root, widths, gap))
        last = max(x, key=x.__getitem__, default=None)
        if last is None or x[last] <= limit:
            return
        ends = [(push.right, after.left) for after, push in pairwise(_chain(last, root, pushes))]
        first, second = max(ends, key=lambda ends: abs(rank[ends[0]] - rank[ends[1]]), default=(last, last))
        if rank[first] == rank[second]:
            return
        line = members[root[first]]
        upper, lower = sorted((line.index(first), line.index(second)))
        seams = range(upper + 1, lower + 1)
        # A bend more is seen less at a box than in the middle of a wire.
        at_boxes = [seam for seam in seams if min(line[seam - 1 : seam + 1]) < bends_from] or seams
        seam = at_boxes[len(at_boxes) // 2]
        members[root[first]], members[line[seam]] = line[:seam], line[seam:]
        for vertex in line[seam:]:
            root[vertex] = line[seam]


def _chain(last: int, root: Sequence[int], pushes: Mapping[int, _Space]) -> Iterator[_Space]:
    """From a line to the left, what keeps each where it is."""
    while last in pushes:
        yield pushes[last]
        last = root[pushes[last].left]


def _spaces(rows: Sequence[Sequence[int]], root: Sequence[int], widths: Sequence[float], gap: float) -> Spaces:
    """Between lines that are side by side in a row, the largest distance that they need."""
    found: Spaces = {}
    for row in rows:
        for left, right in pairwise(row):
            after = found.setdefault(root[left], {})
            needed = _Space((widths[left] + widths[right]) / 2 + gap, left, right)
            if root[right] not in after or after[root[right]].distance < needed.distance:
                after[root[right]] = needed
    return found


def _leftmost(root: Sequence[int], spaces: Spaces) -> tuple[dict[int, float], dict[int, _Space], list[int]]:
    """Lines as far left as they can be, what keeps each from going further, and an order from left to right."""
    waiting = dict.fromkeys(root, 0)
    for after in spaces.values():
        for right in after:
            waiting[right] += 1
    order = [each for each, count in waiting.items() if not count]
    x = dict.fromkeys(waiting, 0.0)
    pushes: dict[int, _Space] = {}
    for each in order:  # grows meanwhile
        for right, space in spaces.get(each, {}).items():
            if x[each] + space.distance > x[right]:
                x[right], pushes[right] = x[each] + space.distance, space
            waiting[right] -= 1
            if not waiting[right]:
                order.append(right)
    return x, pushes, order


def _compact(rows: Sequence[Sequence[int]], root: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """Lines as far left as they can be, then as close to their right neighbors as possible."""
    spaces = _spaces(rows, root, widths, gap)
    x, _, order = _leftmost(root, spaces)
    for each in reversed(order):
        if each in spaces:
            x[each] = max(x[each], min(x[right] - space.distance for right, space in spaces[each].items()))
    return [x[each] for each in root]


def _balanced(ways: Sequence[list[float]], widths: Sequence[float]) -> list[float]:
    """All ways moved to the edges of the narrowest, then for each vertex the mean of the two in the middle."""
    edges = [_edges(way, widths) for way in ways]
    left, right = min(edges, key=lambda edge: edge[1] - edge[0])
    moved = []
    for number, (way, (low, high)) in enumerate(zip(ways, edges, strict=True)):
        shift = left - low if number % 2 == 0 else right - high
        moved.append([x + shift for x in way])
    return [sum(sorted(each)[1:3]) / 2 for each in zip(*moved, strict=True)]


def _pull(
    x: list[float],
    rows: Sequence[Sequence[int]],
    neighbours: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]],
    room: tuple[Sequence[float], float],
    middle: Middle,
) -> None:
    """Move each straight line, as a whole, to the middle of what it is connected to, as far as there is room."""
    above, below = neighbours
    widths, gap = room
    line = list(range(len(x)))
    members: dict[int, list[int]] = {}
    for row in rows:
        for vertex in row:
            same = next((each for each in above[vertex] if abs(x[each] - x[vertex]) < _SAME), vertex)
            line[vertex] = line[same]
            members.setdefault(line[vertex], []).append(vertex)
    beside: dict[int, tuple[int | None, int | None]] = {}
    for row in rows:
        for left, vertex, right in zip([None, *row[:-1]], row, [*row[1:], None], strict=True):
            beside[vertex] = left, right
    for number, vertices in members.items():
        ends = [each for vertex in vertices for each in (*above[vertex], *below[vertex]) if line[each] != number]
        if not ends:
            continue
        wanted = middle([x[each] for each in ends]) - x[number]
        for vertex in vertices:
            left, right = beside[vertex]
            if wanted < 0 and left is not None:
                wanted = min(0.0, max(wanted, x[left] + (widths[left] + widths[vertex]) / 2 + gap - x[vertex]))
            elif wanted > 0 and right is not None:
                wanted = max(0.0, min(wanted, x[right] - (widths[right] + widths[vertex]) / 2 - gap - x[vertex]))
        for vertex in vertices:
            x[vertex] += wanted


def _edges(way: Sequence[float], widths: Sequence[float]) -> tuple[float, float]:
    low = min((x - width / 2 for x, width in zip(way, widths, strict=True)), default=0.0)
    high = max((x + width / 2 for x, width in zip(way, widths, strict=True)), default=0.0)
    return low, high
