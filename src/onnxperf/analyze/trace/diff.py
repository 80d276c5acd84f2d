"""Which nodes of two profiles are the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterator, Sequence

from msgspec.structs import replace

from onnxperf.records.diff import DiffRow, Side
from onnxperf.records.profile import NodeTime
from onnxperf.wording.labels import label, signature

LARGEST_TABLE = 10**9
"""Bits that the alignment by order may take (31,000 x 31,000 nodes); beyond that, equal nodes are paired in order."""


# ---------------------------------------------------------------- alignment


def align(before: Sequence[NodeTime], after: Sequence[NodeTime]) -> tuple[DiffRow, ...]:
    """Every node of both sides in exactly one row, in the order of execution; whether they differ is not judged."""
    numbers: dict[Hashable, int] = {}
    # A trace alone has no attributes; then nodes are compared by the rest.
    known = all(node.attributes is not None for node in (*before, *after))
    before_keys = [numbers.setdefault(_key(node, known), len(numbers)) for node in before]
    after_keys = [numbers.setdefault(_key(node, known), len(numbers)) for node in after]
    pairs = _pairs(before, after, before_keys, after_keys)
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    rows = []
    for one, other in _in_order(pairs, len(before), len(after)):
        row = _row(None if one is None else before[one], None if other is None else after[other])
        call = signature(row.op_name, row.inputs, row.outputs)
        # Counted by what a reader sees: long providers and nodes in bodies may look alike, and labels must not.
        alike = (row.provider[:3], call)
        rows.append(replace(row, idx=seen[alike], label=label(row.side, row.provider, call, seen[alike])))
        seen[alike] += 1
    return tuple(rows)


def _key(node: NodeTime, with_attributes: bool) -> Hashable:
    """What nodes must have in common to be taken for the same; names of bodies change, how deep they are does not."""
    attributes = node.attributes if with_attributes else None
    return len(node.path), node.op_name, node.provider, node.inputs, node.outputs, attributes


def _tensors(node: NodeTime) -> tuple[str, ...] | None:
    return tuple(filter(None, node.tensors)) or None


def _name(node: NodeTime) -> str | None:
    """The name that its author gave it: onnxruntime's own numbers shift with every node that comes or goes."""
    if not node.name or re.fullmatch(rf"{re.escape(node.op_name)}_\d+", node.name):
        return None
    return node.name.removesuffix("_nchwc")  # the blocked layout renames a node, which stays the same one


_IDENTITIES: tuple[tuple[Callable[[NodeTime], Hashable | None], bool], ...] = (
    (_tensors, True),
    (_tensors, False),
    (_name, True),
    (_name, False),
)
"""What sets a node apart from all others, the most reliable first, and whether only within the same body."""


def _pairs(
    before: Sequence[NodeTime], after: Sequence[NodeTime], before_keys: Sequence[int], after_keys: Sequence[int]
) -> dict[int, int]:
    """Positions in the first profile -> positions in the second."""
    pairs: dict[int, int] = {}
    for identity, same_body in _IDENTITIES:
        ours = _positions(before, before_keys, pairs.keys(), identity, same_body)
        theirs = _positions(after, after_keys, set(pairs.values()), identity, same_body)
        for what, found in ours.items():
            if len(found) == 1 == len(theirs.get(what, ())):
                pairs[found[0]] = theirs[what][0]
    # Pairs that are known become symbols of their own, so that what is between them stays between them.
    partner = {other: one for one, other in pairs.items()}
    first = [-1 - i if i in pairs else key for i, key in enumerate(before_keys)]
    second = [-1 - partner[j] if j in partner else key for j, key in enumerate(after_keys)]
    pairs.update(common_order(first, second))
    left = defaultdict(list)
    for j in sorted(set(range(len(after))) - set(pairs.values()), reverse=True):
        left[after_keys[j]].append(j)
    for i, key in enumerate(before_keys):
        if i not in pairs and left.get(key):
            pairs[i] = left[key].pop()
    return pairs


def _positions(
    nodes: Sequence[NodeTime],
    keys: Sequence[int],
    paired: Container[int],
    identity: Callable[[NodeTime], Hashable | None],
    same_body: bool,
) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for position, (node, key) in enumerate(zip(nodes, keys, strict=True)):
        what = None if position in paired else identity(node)
        if what is not None:
            found[what, key, node.path if same_body else None].append(position)
    return found


def common_order(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Positions of a longest common subsequence, found with one long integer per row (Hyyrö's bit vectors).

    Unlike difflib, it stays fast and exact when most symbols are equal, as the nodes of a transformer are.
    """
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    pairs = [(i, i) for i in range(start)]
    first, second = first[start:], second[start:]
    if not first or not second or len(first) * len(second) > LARGEST_TABLE:
        return pairs
    places: defaultdict[int, int] = defaultdict(int)
    for i, symbol in enumerate(first):
        places[symbol] |= 1 << i
    full = (1 << len(first)) - 1
    table = [full]  # a 0 at bit i: the subsequence of this row grows with symbol i of the first sequence
    for symbol in second:
        row = table[-1]
        hits = row & places.get(symbol, 0)
        table.append((row + hits | row - hits) & full)
    i, j = len(first), len(second)
    found = []
    while i and j:
        bit = i - 1
        if table[j] >> bit & 1:
            i -= 1
        elif not table[j - 1] >> bit & 1:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((start + i, start + j))
    return pairs + found[::-1]


def _in_order(pairs: dict[int, int], first: int, second: int) -> Iterator[tuple[int | None, int | None]]:
    """Nodes in the order of the first profile; new ones follow their predecessor, and what they replace."""
    partner = {other: one for one, other in pairs.items()}
    added = defaultdict(list)
    before = -1
    for j in range(second):
        before = partner.get(j, before)
        if j not in partner:
            added[before].append(j)
    waiting = added[-1]
    for i in range(first):
        if i in pairs:
            yield from ((None, j) for j in waiting)
            waiting = added[i]
        yield i, pairs.get(i)
    yield from ((None, j) for j in waiting)


def _row(before: NodeTime | None, after: NodeTime | None) -> DiffRow:
    node = before or after
    if node is None:
        raise AssertionError("a row without a node")
    side: Side = "+" if before is None else "-" if after is None else "="
    return DiffRow(
        side=side,
        label="",
        op_name=node.op_name,
        provider=node.provider,
        inputs=node.inputs,
        outputs=node.outputs,
        idx=0,
        path=node.path,
        before_name=before.name if before else "",
        after_name=after.name if after else "",
        before_us=before.self_us if before else (),
        after_us=after.self_us if after else (),
        before_usual_us=before.usual_us if before else 0.0,
        after_usual_us=after.usual_us if after else 0.0,
    )
