"""Match the nodes of two profiles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.records.diff import DiffRow, Side
from onnxperf.records.profile import NodeTime
from onnxperf.wording.labels import label, signature

LARGEST_TABLE = 10**9
"""Maximum bits for the alignment by order (31,000 x 31,000 nodes); beyond that, equal nodes are paired in order."""


# ---------------------------------------------------------------- alignment


def align(before: Sequence[NodeTime], after: Sequence[NodeTime], one_model: bool = False) -> tuple[DiffRow, ...]:
    """Align all nodes of both sides in rows, in execution order; whether they differ is not judged.

    With `one_model`, both sides execute the same model, so nodes named after the same original node match.
    """
    pairs = _pairs(before, after, one_model)
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    rows = []
    for one, other in _in_order(pairs, len(before), len(after)):
        row = _row(None if one is None else before[one], None if other is None else after[other])
        call = call_of(row)
        # Counted by what a reader sees: long providers and nodes in bodies may look alike, but labels must be unique.
        alike = (row.provider[:3], call)
        rows.append(replace(row, idx=seen[alike], label=label(row.side, row.provider, call, seen[alike])))
        seen[alike] += 1
    return tuple(rows)


def call_of(row: DiffRow) -> str:
    """Operator, inputs and outputs of a row; both operators if the sides differ."""
    return signature("->".join(filter(None, (row.op_name, row.after_op_name))), row.inputs, row.outputs)


def _call(node: NodeTime) -> Hashable:
    """Key that matching nodes share; names of bodies may change, but not their depth."""
    return len(node.path), node.op_name, node.provider, node.inputs, node.outputs


def _call_with_attributes(node: NodeTime) -> Hashable:
    """Key with attributes, if the executed graphs are known; a trace alone has none."""
    return _call(node), node.attributes


def _data(node: NodeTime) -> Hashable | None:
    """Key of work on the same data: fusion and layout change attributes, and packed weights are missing in traces."""
    work = _work(node)
    inputs = node.inputs if work == "Conv" else node.inputs[:1]
    return None if work is None else (len(node.path), work, node.provider, inputs, node.outputs)


def _original(node: NodeTime) -> Hashable | None:
    """Key of work for the same original node: a blocked layout changes even the shapes."""
    work = _work(node)
    return None if work is None or not node.sources else (len(node.path), work, node.provider, node.sources[0])


_WORK = re.compile(r"(?:Nhwc)?(?:Fused)?(Conv|ConvTranspose|Gemm|MatMul|(?:Global)?(?:Average|Max)Pool)")
"""Operators that onnxruntime extends with activations, scales and layouts, as attributes or under other names."""


def _work(node: NodeTime) -> str | None:
    """Base operator, such as `Conv` for a FusedConv; None for operators without variants."""
    found = _WORK.fullmatch(node.op_name)
    return None if found is None else found[1].replace("Gemm", "MatMul")


def _tensors(node: NodeTime) -> tuple[str, ...] | None:
    return tuple(filter(None, node.tensors)) or None


def _name(node: NodeTime) -> str | None:
    """The name given by the author; names numbered by onnxruntime shift with every added or removed node."""
    if not node.name or re.fullmatch(rf"{re.escape(node.op_name)}_\d+", node.name):
        return None
    return node.name.removesuffix("_nchwc")  # the blocked layout renames a node, but it stays the same node


_Facts = Callable[[NodeTime], Hashable | None]
_IDENTITIES: tuple[tuple[_Facts, bool], ...] = (
    (_tensors, True),
    (_tensors, False),
    (_name, True),
    (_name, False),
)
"""Facts that identify a node, most reliable first, and whether to match only within the same body."""


def _pairs(before: Sequence[NodeTime], after: Sequence[NodeTime], one_model: bool) -> dict[int, int]:
    """Positions in the first profile -> positions in the second."""
    pairs: dict[int, int] = {}
    sides = _Sides(before, after)
    if one_model:
        for same_body in (True, False):
            _pair_unique(pairs, sides, sides.numbers(_original), lambda _: "", same_body)
    known = all(node.attributes is not None for node in (*before, *after))
    several = [sides.numbers(facts) for facts in (_call_with_attributes if known else _call, _data)]
    for keys, (identity, same_body) in product(several, _IDENTITIES):
        _pair_unique(pairs, sides, keys, identity, same_body)
    for keys in several:
        if len(pairs) < min(len(before), len(after)):
            _pair_in_order(pairs, keys)
    return pairs


_Keys = tuple[Sequence[int], Sequence[int]]
"""For each node of both sides, a number shared by equal nodes."""


class _Sides(NamedTuple):
    """The nodes of both profiles."""

    before: Sequence[NodeTime]
    after: Sequence[NodeTime]

    def numbers(self, facts: _Facts) -> _Keys:
        """Number the nodes by these facts; nodes without them get unique numbers."""
        seen: dict[Hashable, int] = {}

        def number(node: NodeTime) -> int:
            found = facts(node)
            return seen.setdefault(object() if found is None else found, len(seen))

        return [number(node) for node in self.before], [number(node) for node in self.after]


def _pair_unique(pairs: dict[int, int], sides: _Sides, keys: _Keys, identity: _Facts, same_body: bool) -> None:
    """Pair nodes whose identity is unique on their side."""
    ours = _positions(sides.before, keys[0], pairs.keys(), identity, same_body)
    theirs = _positions(sides.after, keys[1], set(pairs.values()), identity, same_body)
    for what, found in ours.items():
        if len(found) == 1 == len(theirs.get(what, ())):
            pairs[found[0]] = theirs[what][0]


def _pair_in_order(pairs: dict[int, int], keys: _Keys) -> None:
    """Pair equal nodes, as many as possible in execution order."""
    # Known pairs become unique symbols, so that the nodes between them stay between them.
    partner = {other: one for one, other in pairs.items()}
    first = [-1 - i if i in pairs else key for i, key in enumerate(keys[0])]
    second = [-1 - partner[j] if j in partner else key for j, key in enumerate(keys[1])]
    pairs.update(common_order(first, second))
    left = defaultdict(list)
    for j in sorted(set(range(len(second))) - set(pairs.values()), reverse=True):
        left[keys[1][j]].append(j)
    for i, key in enumerate(keys[0]):
        if i not in pairs and left.get(key):
            pairs[i] = left[key].pop()


def _positions(
    nodes: Sequence[NodeTime], keys: Sequence[int], paired: Container[int], identity: _Facts, same_body: bool
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
    """Nodes in the order of the first profile; new nodes follow their predecessor and the nodes they replace."""
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
        after_op_name=after.op_name if before and after and after.op_name != before.op_name else "",
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
