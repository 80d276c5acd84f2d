"""Sums of diff rows, each tested like a single row."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from onnxperf.analyze.judges.node_times import compare_times, is_different, pair_of
from onnxperf.analyze.trace.diff import call_of
from onnxperf.records.diff import Diff, DiffRow, DiffSum, Side
from onnxperf.wording.labels import label
from onnxperf.wording.numbers import count


def by_row(diff: Diff, min_share: float, named: DiffRow | None = None) -> list[DiffSum]:
    """All rows in execution order; those below a share of the total time are summed up per sign.

    The row `named` in the answer is kept separate.
    """
    small = _small([row for row in diff.rows if row is not named], min_share * _time_of(diff.rows))
    folded = {id(row) for members in small.values() for row in members}
    rows = [_sum(row.label, [row]) for row in diff.rows if id(row) not in folded]
    return _judged(diff, rows + [_others(members) for members in small.values()])


def by_call(diff: Diff, min_share: float, most: int) -> list[DiffSum]:
    """Rows grouped by side, operator, types, shapes and provider, most expensive first.

    Groups below the share of the total time, and those beyond `most`, are summed up at the end.
    """
    groups: dict[str, list[DiffRow]] = defaultdict(list)
    for row in diff.rows:
        groups[label(row.side, row.provider, call_of(row))].append(row)
    sums = [_sum(name, members) for name, members in groups.items()]
    sums.sort(key=lambda each: -each.both_us)
    floor = min_share * sum(each.both_us for each in sums)
    kept = [each for each in sums if each.both_us >= floor][: most - 1]
    rest = sums[len(kept) :]
    others = [_others([row for each in rest for row in each.rows], len(rest))] if rest else []
    return _judged(diff, [*kept, *others])


def row_changed_most(rows: Sequence[DiffRow]) -> DiffRow | None:
    """The node on both sides with the largest proven change."""
    proven = [row for row in rows if row.side == "=" and not row.noise]
    return max(proven, key=lambda row: abs(row.before_usual_us - row.after_usual_us), default=None)


def _small(rows: Sequence[DiffRow], floor: float) -> dict[Side, list[DiffRow]]:
    """Rows below a time, by sign, if there are at least two; a single row is not worth folding."""
    small: dict[Side, list[DiffRow]] = {"=": [], "-": [], "+": []}
    for row in rows:
        if _time_of([row]) < floor:
            small[row.side].append(row)
    return {side: members for side, members in small.items() if len(members) > 1}


def _time_of(rows: Sequence[DiffRow]) -> float:
    return sum(row.before_usual_us + row.after_usual_us for row in rows)


def _others(rows: Sequence[DiffRow], number: int | None = None) -> DiffSum:
    return replace(_sum(count(number or len(rows), "other"), rows), others=True)


def _sum(name: str, rows: Sequence[DiffRow]) -> DiffSum:
    """Sum of the times of rows; a single row is already judged."""
    return DiffSum(
        name=name,
        rows=tuple(rows),
        before_usual_us=math.fsum(row.before_usual_us for row in rows),
        after_usual_us=math.fsum(row.after_usual_us for row in rows),
        verdict=rows[0].verdict,
        noise=rows[0].noise,
    )


def _judged(diff: Diff, sums: Sequence[DiffSum]) -> list[DiffSum]:
    """Judge the sums that have several rows and both sides; single rows count as tests too."""
    several = {id(each): each for each in sums if len(each.rows) > 1 and _on_both(each)}
    pairs = [pair_of(each.rows, (each.before_usual_us, each.after_usual_us)) for each in several.values()]
    found = dict(zip(several, compare_times(pairs, sum(row.side == "=" for row in diff.rows)), strict=True))
    return [
        replace(each, verdict=found[id(each)].verdict, noise=not is_different(found[id(each)]))
        if id(each) in found
        else each
        for each in sums
    ]


def _on_both(each: DiffSum) -> bool:
    return {row.side for row in each.rows} not in ({"-"}, {"+"})
