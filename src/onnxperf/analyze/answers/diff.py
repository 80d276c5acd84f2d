"""How two profiles differ, in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from onnxperf.analyze.answers.profile import overhead_words
from onnxperf.analyze.answers.race import answer
from onnxperf.analyze.trace.diff_sources import by_source, changed_most
from onnxperf.analyze.trace.diff_sums import row_changed_most
from onnxperf.records.diff import Diff, DiffRow
from onnxperf.records.profile import COMPARED_LAUNCHES, Profile, iterations_for
from onnxperf.records.race import Case
from onnxperf.wording.names import capital
from onnxperf.wording.nodes import renamed_text
from onnxperf.wording.numbers import count, microseconds

_MAY_MISS = 1.25
"""Factor by which profiled inferences may miss the interval of the race: the profiler costs each node the same."""


def diff_answer(diff: Diff) -> str:
    """What changed between two sides; whether one is faster only ever comes from the race."""
    before, after, race = diff.before, diff.after, diff.race
    verdict, decided = _verdict(race, before.model, after.model) if race is not None else ("", False)
    if not before.iterations or not after.iterations:
        return f"{verdict or 'No verdict'}; {_unprofiled(before, after)}."
    changes = [_exchange(diff.rows)]
    if decided or not verdict:
        changes.append(_largest_change(diff))
    overhead = overhead_words(_overhead(diff)).rstrip()
    lines = [verdict or _profiled(before, after), capital("; ".join(changes))]
    return "\n".join([*(f"{line}." for line in lines), *([overhead] if overhead else [])])


def _overhead(diff: Diff) -> float | None:
    """What the profiler adds to the calls of the side that it slows down more."""
    return max((each.overhead for each in (diff.before, diff.after) if each.overhead), default=None)


def _unprofiled(before: Profile, after: Profile) -> str:
    names = [each.model for each in (before, after) if not each.iterations]
    return f"no inference of {' and '.join(names)} was profiled completely"


def _verdict(race: Case, before: str, after: str) -> tuple[str, bool]:
    """The result of the race, empty if it has none, and whether that is a difference."""
    baseline = next((subject for subject in race.subjects if subject.name == race.baseline), None)
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if baseline is None or rival is None or rival.verdict is None or rival.speedup is None:
        return "", False
    pair = [replace(baseline, name=before), replace(rival, name=after)]
    return answer(pair, before, race.min_effect).removesuffix("."), rival.verdict in ("faster", "slower")


def _profiled(before: Profile, after: Profile) -> str:
    first, second = microseconds(before.usual_nodes_us), microseconds(after.usual_nodes_us)
    times = f"the nodes of {before.model} take {first} and those of {after.model} {second} per iteration"
    return f"With the profiler on, {times}, no verdict"


def _exchange(rows: Sequence[DiffRow]) -> str:
    gone, new = sum(row.side == "-" for row in rows), sum(row.side == "+" for row in rows)
    if gone and new:
        return f"{_nodes(gone)} removed and {new} added"
    if gone or new:
        return f"{_nodes(gone)} removed" if gone else f"{_nodes(new)} added"
    return "the nodes are the same"


def _nodes(number: int) -> str:
    return f"{count(number, 'node')} {'was' if number == 1 else 'were'}"


def _largest_change(diff: Diff) -> str:
    """A row of the first table: original nodes, or executed ones where no model is known."""
    both = [row for row in diff.rows if row.side == "="]
    sources = by_source(diff)
    if not both and not sources:
        return "no node is on both sides"
    if not _profiles_agree_with_race(diff):
        times = f"{microseconds(diff.before.usual_run_us)} and {microseconds(diff.after.usual_run_us)}"
        return f"with the profiler on they took {times}, which contradicts the race, so no node is named"
    if sources:
        source = changed_most(sources)
        if source is None:
            return _unproven(diff) or "no original node changed by more than the noise"
        return f"of the original nodes, {_changed(source.label, source.before_us, source.after_us)}"
    row = row_changed_most(both)
    if row is None:
        return _unproven(diff) or "no node that both have changed by more than the noise"
    names = renamed_text(row.before_name, row.after_name)
    name = names if names.startswith(row.op_name) else f"{row.op_name} {names}".strip()
    return f"of the nodes that both have, {_changed(name, row.before_usual_us, row.after_usual_us)}"


def _changed(name: str, before_us: float, after_us: float) -> str:
    times = f"from {microseconds(before_us)} to {microseconds(after_us)} per iteration"
    return f"the largest proven change is {name}, {times}"


def _unproven(diff: Diff) -> str:
    """What would prove something about nodes; empty if there were enough launches."""
    launches = min(max(len(each.launches), 1) for each in (diff.before, diff.after))
    if launches >= COMPARED_LAUNCHES:
        return ""
    ran = f"{count(launches, 'process', 'processes')} of each side cannot prove that a node changed"
    if diff.before.interrupted or diff.after.interrupted:
        return ran
    return f"{ran}: compare the models themselves, with `calls={iterations_for(COMPARED_LAUNCHES)}` or more"


def _profiles_agree_with_race(diff: Diff) -> bool:
    """Profiles are of few launches, each of which may be slower in all of its nodes; the race has more."""
    before, after = diff.before.usual_run_us, diff.after.usual_run_us
    rival = next((s for s in diff.race.subjects if s.name != diff.race.baseline), None) if diff.race else None
    if rival is None or not rival.speedup_low or not rival.speedup_high or not before or not after:
        return True
    return rival.speedup_low / _MAY_MISS <= before / after <= rival.speedup_high * _MAY_MISS
