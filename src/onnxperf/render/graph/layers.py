"""Rows of a layered drawing: which vertex is in which row, in what order, and where long nets bend."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

MOST_BENDS = 30_000
"""Beyond that, the longest nets go straight to their targets, whatever is in between."""
_SWEEPS = 24
_WORK = 200_000
"""Vertices that all sweeps together may visit; a very large graph has a few sweeps less."""
_PATIENCE = 4
"""Sweeps without a gain after which no further one is tried."""


class Net(NamedTuple):
    """A tensor: from the vertex that makes it to all that use it."""

    source: int
    targets: tuple[int, ...]


class Layers(NamedTuple):
    """Vertices in rows; from the number of the given vertices on, they are bends of nets."""

    rows: list[list[int]]
    """From top to bottom, each from left to right."""
    rank: list[int]
    """The row of each vertex."""
    above: list[list[int]]
    """What each vertex is connected to in the row above."""
    below: list[list[int]]
    """What each vertex is connected to in the row below."""
    bends: list[list[int] | None]
    """Of each net: its bends, one for every row that it passes; None if it goes straight."""
    nets: list[Net]
    """The given nets, without targets that would lie above their source."""


def layers_of(count: int, given: Sequence[Net]) -> Layers:
    """All nets go downwards, are short, and cross seldom; nets that are used in many rows share one trunk."""
    order = _topological(count, given)
    place = {vertex: i for i, vertex in enumerate(order)}
    nets = [
        Net(net.source, tuple(t for t in dict.fromkeys(net.targets) if place[t] > place[net.source])) for net in given
    ]
    rank = _ranks(order, nets)
    layers = _with_bends(rank, nets)
    _untangle(layers)
    return layers


# ---------------------------------------------------------------- rows


def _topological(count: int, nets: Sequence[Net]) -> list[int]:
    """Every vertex after those it depends on, otherwise by number; a circle is cut at its first vertex."""
    waiting = [0] * count
    outward: list[list[int]] = [[] for _ in range(count)]
    for net in nets:
        for target in set(net.targets):
            waiting[target] += 1
            outward[net.source].append(target)
    ready = [vertex for vertex in range(count) if not waiting[vertex]]
    heapify(ready)
    order: list[int] = []
    done = [False] * count
    first_left = 0
    while len(order) < count:
        if not ready:
            while done[first_left]:
                first_left += 1
            ready.append(first_left)
        vertex = heappop(ready)
        if done[vertex]:
            continue
        done[vertex] = True
        order.append(vertex)
        for target in outward[vertex]:
            waiting[target] -= 1
            if not waiting[target] and not done[target]:
                heappush(ready, target)
    return order


def _ranks(order: Sequence[int], nets: Sequence[Net]) -> list[int]:
    """As high as possible first; then each vertex sinks towards its users, as long as that makes no net longer."""
    inward: list[list[Net]] = [[] for _ in order]
    outward: list[list[Net]] = [[] for _ in order]
    for net in nets:
        if net.targets:
            outward[net.source].append(net)
        for target in net.targets:
            inward[target].append(net)
    rank = [0] * len(order)
    for vertex in order:
        rank[vertex] = max((rank[net.source] + 1 for net in inward[vertex]), default=0)
    for vertex in reversed(order):
        if not outward[vertex]:
            continue
        lowest = min(rank[target] for net in outward[vertex] for target in net.targets) - 1
        if lowest > rank[vertex]:
            spare = len(outward[vertex])  # nets that get shorter; as many may get longer
            if len(inward[vertex]) > spare:
                lowest = min(lowest, sorted(_end_without(vertex, net, rank) for net in inward[vertex])[spare])
            rank[vertex] = max(rank[vertex], lowest)
    return rank


def _end_without(vertex: int, net: Net, rank: Sequence[int]) -> int:
    """How far down a net goes for its other users."""
    return max((rank[target] for target in net.targets if target != vertex), default=rank[net.source])


# ---------------------------------------------------------------- bends


def _with_bends(rank: list[int], nets: list[Net]) -> Layers:
    straight = _too_long(rank, nets)
    above: list[list[int]] = [[] for _ in rank]
    below: list[list[int]] = [[] for _ in rank]
    bends: list[list[int] | None] = []
    rank = list(rank)
    for number, net in enumerate(nets):
        if number in straight:
            bends.append(None)
            continue
        last = max((rank[target] for target in net.targets), default=0)
        trunk = [net.source]
        for row in range(rank[net.source] + 1, last):
            rank.append(row)
            above.append([trunk[-1]])
            below.append([])
            below[trunk[-1]].append(len(rank) - 1)
            trunk.append(len(rank) - 1)
        for target in net.targets:
            start = trunk[rank[target] - rank[net.source] - 1]
            below[start].append(target)
            above[target].append(start)
        bends.append(trunk[1:])
    rows: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for vertex in _depth_first(below, rank):
        rows[rank[vertex]].append(vertex)
    return Layers(rows, rank, above, below, bends, nets)


def _too_long(rank: Sequence[int], nets: Sequence[Net]) -> set[int]:
    """The longest nets, as many as it takes to stay within the number of bends."""
    lengths = [max((rank[target] for target in net.targets), default=0) - rank[net.source] - 1 for net in nets]
    total = sum(length for length in lengths if length > 0)
    found = set()
    for number in sorted(range(len(nets)), key=lambda number: -lengths[number]):
        if total <= MOST_BENDS:
            break
        total -= lengths[number]
        found.add(number)
    return found


def _depth_first(below: Sequence[Sequence[int]], rank: Sequence[int]) -> list[int]:
    """What belongs together side by side, to begin with."""
    seen = [False] * len(below)
    order = []
    for start in sorted(range(len(below)), key=rank.__getitem__):
        stack = [start]
        while stack:
            vertex = stack.pop()
            if not seen[vertex]:
                seen[vertex] = True
                order.append(vertex)
                stack.extend(reversed(below[vertex]))
    return order


# ---------------------------------------------------------------- order within rows


def _untangle(layers: Layers) -> None:
    """Sort each row by the mean place of its neighbors, down and up in turn; the order with fewest crossings stays."""
    rows, above, below = layers.rows, layers.above, layers.below
    place = [0] * len(layers.rank)
    for row in rows:
        _number(row, place)
    best, fewest, useless = [list(row) for row in rows], _crossings(rows, below, place), 0
    for sweep in range(min(_SWEEPS, _PATIENCE + _WORK // max(len(place), 1))):
        if not fewest or useless == _PATIENCE:
            break
        downwards = sweep % 2 == 0
        for row in rows[1:] if downwards else rows[-2::-1]:
            _sort(row, above if downwards else below, place)
        _exchange_neighbours(layers, place)
        crossings = _crossings(rows, below, place)
        useless = 0 if crossings < fewest else useless + 1
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


def _number(row: Sequence[int], place: list[int]) -> None:
    for i, vertex in enumerate(row):
        place[vertex] = i


def _sort(row: list[int], neighbours: Sequence[Sequence[int]], place: list[int]) -> None:
    keys = {}
    for vertex in row:
        near = neighbours[vertex]
        keys[vertex] = sum(place[each] for each in near) / len(near) if near else float(place[vertex])
    row.sort(key=keys.__getitem__)
    _number(row, place)


def _exchange_neighbours(layers: Layers, place: list[int]) -> None:
    """Swap two that are side by side wherever that saves crossings."""
    for row in layers.rows:
        for i in range(len(row) - 1):
            left, right = row[i], row[i + 1]
            gain = 0
            for neighbours in (layers.above, layers.below):
                first, second = neighbours[left], neighbours[right]
                if first and second and len(first) * len(second) < 1000:
                    gain += _saved([place[each] for each in first], [place[each] for each in second])
            if gain > 0:
                row[i], row[i + 1] = right, left
                place[left], place[right] = i + 1, i


def _saved(left: Sequence[int], right: Sequence[int]) -> int:
    return sum((a > b) - (a < b) for a in left for b in right)


def _crossings(rows: Sequence[Sequence[int]], below: Sequence[Sequence[int]], place: Sequence[int]) -> int:
    total = 0
    for row in rows:
        ends: list[int] = []
        for vertex in row:
            targets = [place[target] for target in below[vertex]]
            total += sum(len(ends) - bisect_right(ends, target) for target in targets)
            for target in targets:
                insort(ends, target)
    return total
