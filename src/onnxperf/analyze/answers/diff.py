"""How two profiles differ, in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from onnxperf.analyze.answers.race import answer
from onnxperf.records.profile import DiffRow
from onnxperf.records.race import Case, Subject
from onnxperf.wording.numbers import count, factor, microseconds


def diff_answer(rows: Sequence[DiffRow], race: Case | None, before: str, after: str) -> str:
    """What changed between two sides; whether one is faster only ever comes from the race."""
    verdict, decided = _verdict(race, before, after) if race is not None else ("", False)
    parts = [verdict or _profiled(rows, before, after), _exchange(rows)]
    if decided or not verdict:
        parts.append(_largest_change(rows))
    return "; ".join(parts) + "."


def _verdict(race: Case, before: str, after: str) -> tuple[str, bool]:
    """The result of the race, empty if it has none, and whether that is a difference."""
    baseline = next((subject for subject in race.subjects if subject.name == race.baseline), None)
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if baseline is None or rival is None or rival.verdict is None or rival.speedup is None:
        return "", False
    if rival.verdict == "undecided":
        return _undecided(rival, before, after), False
    pair = [replace(baseline, name=before), replace(rival, name=after)]
    return answer(pair, before, race.min_effect).removesuffix("."), rival.verdict in ("faster", "slower")


def _undecided(rival: Subject, before: str, after: str) -> str:
    if rival.speedup_low is None or rival.speedup_high is None:
        return f"Undecided whether {after} is faster than {before}"
    low, high = factor(rival.speedup_low), factor(rival.speedup_high)
    return f"Undecided: the speedup of {after} over {before} lies between {low} and {high}"


def _profiled(rows: Sequence[DiffRow], before: str, after: str) -> str:
    first = microseconds(math.fsum(row.before_usual_us for row in rows))
    second = microseconds(math.fsum(row.after_usual_us for row in rows))
    times = f"the nodes of {before} take {first} and those of {after} {second} per iteration"
    return f"With the profiler on, {times}, no verdict"


def _exchange(rows: Sequence[DiffRow]) -> str:
    gone, new = sum(row.side == "-" for row in rows), sum(row.side == "+" for row in rows)
    if gone and new:
        return f"{_nodes(gone)} replaced by {new}"
    if gone or new:
        return f"{_nodes(gone)} removed" if gone else f"{_nodes(new)} added"
    return "the nodes are the same"


def _nodes(number: int) -> str:
    return f"{count(number, 'node')} {'was' if number == 1 else 'were'}"


def _largest_change(rows: Sequence[DiffRow]) -> str:
    changed = [(row, row.before_usual_us, row.after_usual_us) for row in rows if row.side == "=" and not row.noise]
    if not changed:
        return "no node that both have changed by more than the noise"
    row, first, second = max(changed, key=lambda change: abs(change[1] - change[2]))
    name = row.before_name if row.before_name.startswith(row.op_name) else f"{row.op_name} {row.before_name}".strip()
    times = f"from {microseconds(first)} to {microseconds(second)} per iteration"
    return f"of the nodes that both have, {name} changed most, {times}"
