"""Which nodes of a long graph a listing shows: of blocks that repeat the first, and of the rest both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.records.view import ViewNode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int_]

SHORT = 60
"""A graph with at most this many nodes is shown whole."""
_LONGEST_BLOCK = 256
_FEWEST_HIDDEN = 8
"""Fewer lines than this are not worth a fold."""
_FIRST, _LAST = 40, 15
"""Lines that are kept of what is still too long."""


class Fold(NamedTuple):
    """Nodes that are left out."""

    nodes: int
    block: int = 0
    """Length of the block before it, which they repeat; 0 if they repeat nothing."""


Item = ViewNode | Fold


def folded(nodes: Sequence[ViewNode]) -> list[Item]:
    """The nodes of a listing, and what was left out between them."""
    if len(nodes) <= SHORT:
        return list(nodes)
    items = _without_repeats(nodes)
    if len(items) <= SHORT + 1:
        return items
    hidden = items[_FIRST:-_LAST]
    return [*items[:_FIRST], Fold(sum(map(_count, hidden))), *items[-_LAST:]]


def _count(item: Item) -> int:
    return item.nodes if isinstance(item, Fold) else 1


def _without_repeats(nodes: Sequence[ViewNode]) -> list[Item]:
    hidden, block = _repeats([(node.domain, node.op_type) for node in nodes])
    items: list[Item] = []
    place = 0
    while place < len(nodes):
        if hidden[place] < _FEWEST_HIDDEN:
            items.append(nodes[place])
            place += 1
            continue
        length, count = int(block[place]), int(hidden[place])
        items += [*nodes[place : place + length], Fold(count, length)]
        place += length + count
    return items


def _repeats(kinds: Sequence[object]) -> tuple[Numbers, Numbers]:
    """For each place how many nodes after the block that begins there repeat it, and the length of that block."""
    import numpy as np  # short models are shown without it

    numbers: dict[object, int] = {}
    codes = np.array([numbers.setdefault(kind, len(numbers)) for kind in kinds])
    places = np.arange(len(codes))
    most, block = np.zeros(len(codes), dtype=int), np.zeros(len(codes), dtype=int)
    for length in range(1, min(_LONGEST_BLOCK, len(codes) // 2) + 1):
        stops = np.where(codes[:-length] == codes[length:], len(codes) - length, places[:-length])
        same = np.minimum.accumulate(stops[::-1])[::-1] - places[:-length]
        whole = np.append(same // length * length, np.zeros(length, dtype=int))
        better = whole > most
        most[better], block[better] = whole[better], length
    return most, block
