"""Which nodes of two profiles are the same, and how their times differ."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.answers.race import answer, time_text
from onnxperf.records import SMALL_CLAIM, Case, DiffRow, NodeTime, Side, Subject
from onnxperf.records.iterations import steady
from onnxperf.records.labels import label, signature

ALPHA = 0.01
"""A node differs when chance alone would part its two samples so far less often than this."""
ENOUGH = 5
"""Iterations of a side that the test needs: of 4 and 4, not even samples that do not overlap are rarer than ALPHA."""
FEW_CLAIM = 0.2
"""With fewer iterations, times must not overlap and differ by more than this."""
CLOCK_US = 1
"""Onnxruntime cuts times to whole microseconds, so that two equal times may appear as one more and one less."""
LARGEST_TABLE = 10**9
"""Bits that the alignment by order may take (31,000 x 31,000 nodes); beyond that, equal nodes are paired in order."""


# ---------------------------------------------------------------- alignment


def align(base: Sequence[NodeTime], opti: Sequence[NodeTime]) -> tuple[DiffRow, ...]:
    """Every node of both sides in exactly one row, in the order of execution."""
    numbers: dict[Hashable, int] = {}
    base_keys = [numbers.setdefault(_key(node), len(numbers)) for node in base]
    opti_keys = [numbers.setdefault(_key(node), len(numbers)) for node in opti]
    pairs = _pairs(base, opti, base_keys, opti_keys)
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    rows = []
    for one, other in _in_order(pairs, len(base), len(opti)):
        row = _row(None if one is None else base[one], None if other is None else opti[other])
        call = signature(row.op_name, row.inputs, row.outputs)
        # Counted by what a reader sees: long providers and nodes in bodies may look alike, and labels must not.
        alike = (row.provider[:3], call)
        rows.append(replace(row, idx=seen[alike], label=label(row.side, row.provider, call, seen[alike])))
        seen[alike] += 1
    return tuple(rows)


def _key(node: NodeTime) -> Hashable:
    """What nodes must have in common to be taken for the same; names of bodies change, how deep they are does not."""
    return len(node.path), node.op_name, node.provider, node.inputs, node.outputs


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
"""What tells a node from all others, the most reliable first, and whether only within the same body."""


def _pairs(
    base: Sequence[NodeTime], opti: Sequence[NodeTime], base_keys: Sequence[int], opti_keys: Sequence[int]
) -> dict[int, int]:
    """Positions in the first profile -> positions in the second."""
    pairs: dict[int, int] = {}
    for identity, same_body in _IDENTITIES:
        ours = _positions(base, base_keys, pairs.keys(), identity, same_body)
        theirs = _positions(opti, opti_keys, set(pairs.values()), identity, same_body)
        for what, found in ours.items():
            if len(found) == 1 == len(theirs.get(what, ())):
                pairs[found[0]] = theirs[what][0]
    # Pairs that are known become symbols of their own, so that what is between them stays between them.
    partner = {other: one for one, other in pairs.items()}
    first = [-1 - i if i in pairs else key for i, key in enumerate(base_keys)]
    second = [-1 - partner[j] if j in partner else key for j, key in enumerate(opti_keys)]
    pairs.update(common_order(first, second))
    left = defaultdict(list)
    for j in sorted(set(range(len(opti))) - set(pairs.values()), reverse=True):
        left[opti_keys[j]].append(j)
    for i, key in enumerate(base_keys):
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


def _in_order(pairs: dict[int, int], base: int, opti: int) -> Iterator[tuple[int | None, int | None]]:
    """Nodes in the order of the first profile; new ones follow their predecessor, and what they replace."""
    partner = {other: one for one, other in pairs.items()}
    added = defaultdict(list)
    before = -1
    for j in range(opti):
        before = partner.get(j, before)
        if j not in partner:
            added[before].append(j)
    waiting = added[-1]
    for i in range(base):
        if i in pairs:
            yield from ((None, j) for j in waiting)
            waiting = added[i]
        yield i, pairs.get(i)
    yield from ((None, j) for j in waiting)


def _row(base: NodeTime | None, opti: NodeTime | None) -> DiffRow:
    node = base or opti
    if node is None:
        raise AssertionError("a row without a node")
    side: Side = "+" if base is None else "-" if opti is None else "="
    return DiffRow(
        side=side,
        label="",
        op_name=node.op_name,
        provider=node.provider,
        inputs=node.inputs,
        outputs=node.outputs,
        idx=0,
        path=node.path,
        base_name=base.name if base else "",
        opti_name=opti.name if opti else "",
        base_us=base.self_us if base else (),
        opti_us=opti.self_us if opti else (),
        base_usual_us=base.usual_us if base else 0.0,
        opti_usual_us=opti.usual_us if opti else 0.0,
        noise=base is not None and opti is not None and _is_noise(base, opti),
    )


# ---------------------------------------------------------------- noise


def _is_noise(base: NodeTime, opti: NodeTime) -> bool:
    """No difference, or one whose direction is not that of the times that are shown."""
    shown = base.usual_us < opti.usual_us
    medians = median(steady(base.self_us) or [0]) < median(steady(opti.self_us) or [0])
    return shown != medians or not differ(base.self_us, opti.self_us)


def differ(base_us: Sequence[int], opti_us: Sequence[int]) -> bool:
    """Do these times of a node, one per iteration, differ by more than the iterations among themselves?

    Below SMALL_CLAIM nothing is said: each side is one process, and where its memory lies moves it as much.
    """
    first, second = steady(base_us), steady(opti_us)
    if min(len(first), len(second)) < 2:
        return False
    low, high = sorted((median(first), median(second)))
    if high - low <= max(CLOCK_US, SMALL_CLAIM * low):
        return False
    apart = max(first) < min(second) or max(second) < min(first)
    if min(len(first), len(second)) < ENOUGH:
        return apart and high - low > FEW_CLAIM * low
    # The chance of no overlap is 2 in n + m over n; the normal approximation is too timid for so few numbers.
    return apart or rank_sum_p(first, second) < ALPHA


def rank_sum_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p-value of Mann and Whitney's test: normal approximation, corrected for ties and continuity."""
    n, m = len(first), len(second)
    values = np.concatenate([np.asarray(first, np.float64), np.asarray(second, np.float64)])
    _, where, ties = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[where]
    excess = abs(float(ranks[:n].sum()) - n * (n + m + 1) / 2)
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / ((n + m) * (n + m - 1))
    variance = n * m / 12 * (n + m + 1 - tied)
    return min(1.0, math.erfc((excess - 0.5) / math.sqrt(2 * variance))) if variance > 0 else 1.0


# ---------------------------------------------------------------- what rows add up to


class Totals(NamedTuple):
    """Sums over the rows of a diff; times are those of a usual iteration."""

    base_us: float
    """All nodes of the first side."""
    opti_us: float
    """All nodes of the second side."""
    kept_base_us: float
    """Nodes in both, in the first."""
    kept_opti_us: float
    """Nodes in both, in the second."""
    removed_us: float
    """Nodes only in the first."""
    added_us: float
    """Nodes only in the second."""
    kept: int
    """How many nodes are in both."""
    removed: int
    """How many are only in the first."""
    added: int
    """How many are only in the second."""
    noise: int
    """How many in both do not differ beyond the noise."""


def totals(rows: Sequence[DiffRow]) -> Totals:
    """Times and numbers of nodes per side, and of those in both, gone and new."""
    times: dict[tuple[Side, str], float] = defaultdict(float)
    counts: dict[Side, int] = defaultdict(int)
    for row in rows:
        counts[row.side] += 1
        times[row.side, "base"] += row.base_usual_us
        times[row.side, "opti"] += row.opti_usual_us
    kept_base, kept_opti = times["=", "base"], times["=", "opti"]
    removed, added = times["-", "base"], times["+", "opti"]
    return Totals(
        base_us=kept_base + removed,
        opti_us=kept_opti + added,
        kept_base_us=kept_base,
        kept_opti_us=kept_opti,
        removed_us=removed,
        added_us=added,
        kept=counts["="],
        removed=counts["-"],
        added=counts["+"],
        noise=sum(row.noise for row in rows),
    )


def fold(rows: Sequence[DiffRow], min_share: float) -> tuple[list[DiffRow], list[DiffRow]]:
    """Rows that make up at least this share of the time of both sides together, and the others."""
    times = [row.base_usual_us + row.opti_usual_us for row in rows]
    floor = min_share * sum(times)
    shown = [row for row, time in zip(rows, times, strict=True) if time >= floor]
    return shown, [row for row, time in zip(rows, times, strict=True) if time < floor]


# ---------------------------------------------------------------- the answer


def sentence(rows: Sequence[DiffRow], race: Case | None, base: str, opti: str) -> str:
    """The result in one plain sentence; whether a side is faster only ever comes from the race."""
    verdict, decided = _verdict(race, base, opti) if race is not None else ("", False)
    parts = [verdict or _profiled(rows, base, opti), _exchange(totals(rows))]
    if decided or not verdict:
        parts.append(_largest_change(rows))
    return "; ".join(parts) + "."


def _verdict(race: Case, base: str, opti: str) -> tuple[str, bool]:
    """What the race says, empty if nothing, and whether that is a difference."""
    yardstick = next((subject for subject in race.subjects if subject.name == race.baseline), None)
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if yardstick is None or rival is None or rival.verdict is None or rival.speedup is None:
        return "", False
    if rival.verdict == "undecided":
        return _undecided(rival, base, opti), False
    pair = [replace(yardstick, name=base), replace(rival, name=opti)]
    return answer(pair, base, race.min_effect, 0.0).removesuffix("."), rival.verdict in ("faster", "slower")


def _undecided(rival: Subject, base: str, opti: str) -> str:
    if rival.speedup_low is None or rival.speedup_high is None:
        return f"Undecided whether {opti} is faster than {base}"
    low, high = rival.speedup_low, rival.speedup_high
    return f"Undecided: the speedup of {opti} over {base} lies between {low:.3f} and {high:.3f}"


def _profiled(rows: Sequence[DiffRow], base: str, opti: str) -> str:
    sums = totals(rows)
    first, second = _us(sums.base_us), _us(sums.opti_us)
    return (
        f"With the profiler on, the nodes of {base} take {first} and those of {opti} {second} per iteration, no verdict"
    )


def _exchange(sums: Totals) -> str:
    gone, new = sums.removed, sums.added
    if gone and new:
        return f"{_nodes(gone)} replaced by {new}"
    if gone or new:
        return f"{_nodes(gone)} removed" if gone else f"{_nodes(new)} added"
    return "the nodes are the same"


def _nodes(count: int) -> str:
    return "1 node was" if count == 1 else f"{count} nodes were"


def _largest_change(rows: Sequence[DiffRow]) -> str:
    changed = [(row, row.base_usual_us, row.opti_usual_us) for row in rows if row.side == "=" and not row.noise]
    if not changed:
        return "no node that both have changed by more than the noise"
    row, first, second = max(changed, key=lambda change: abs(change[1] - change[2]))
    name = row.base_name if row.base_name.startswith(row.op_name) else f"{row.op_name} {row.base_name}".strip()
    return f"of the nodes that both have, {name} changed most, from {_us(first)} to {_us(second)} per iteration"


def _us(us: float) -> str:
    return time_text(us * 1e3)
