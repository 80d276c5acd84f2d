"""Judge the comparisons of a bisection: like the good end, like the bad end, or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.judges import weighing
from onnxperf.analyze.judges.comparison import compare, settled
from onnxperf.analyze.judges.node_times import compare_times, is_different, pair_of
from onnxperf.records.bisect import BisectSide, BisectStep, Change, OperatorChange, Outcome, Purpose
from onnxperf.records.comparison import Comparison, Verdict
from onnxperf.records.diff import Diff, DiffRow
from onnxperf.records.race import Case, Measurement, Subject
from onnxperf.records.sweep import time_of

_OF_CHANGE: dict[Change, tuple[Verdict, ...]] = {
    "any": ("slower", "faster"),
    "worse": ("slower",),
    "better": ("faster",),
}
_SHARP = 1 / 3
"""The race of the ends stops when its interval reaches no further than this fraction of their log difference."""
_LEAST_SHARE = 0.1
"""Share of the total change from which an operator is listed."""
_MOST_OPERATORS = 3


# ---------------------------------------------------------------- one comparison


def raced(purpose: Purpose, case: Case, base: str, candidate: str) -> BisectStep:
    """A race as a step, with its side not yet judged."""
    subjects = {subject.name: subject for subject in case.subjects}
    ours, theirs = subjects[candidate], subjects[base]
    found = _slowdown(ours) if case.baseline == base else Comparison()
    step = BisectStep(
        purpose=purpose,
        base=base,
        candidate=candidate,
        side="undecided",
        verdict=found.verdict or "undecided",  # one of them was not measured
        base_amount=time_of(theirs),
        amount=time_of(ours),
        reason=ours.reason or theirs.reason,
        race=case,
    )
    return replace(step, **found.named("ratio"))


def weighed(
    purpose: Purpose, names: tuple[str, str], base: Sequence[int], candidate: Sequence[int], min_effect: float
) -> BisectStep:
    """Memory needed by several processes of both, as a step."""
    found = weighing.weighed(base, candidate, min_effect)
    return BisectStep(
        purpose=purpose,
        base=names[0],
        candidate=names[1],
        side="undecided",
        verdict=found.verdict,
        **found.inverse().named("ratio"),
        base_amount=found.before,
        amount=found.after,
        reason=found.reason,
    )


def side_of(step: BisectStep, change: Change, ends: BisectStep | None) -> BisectSide:
    """The side shown by a comparison; `ends` is the first comparison, or None while judging that one."""
    if step.verdict is None:
        return "bad" if step.differs else "good"
    if ends is None:
        if step.verdict in _OF_CHANGE[change]:
            return "bad"
        return "undecided" if step.verdict == "undecided" else "good"
    if step.purpose == "repeat":
        if step.verdict == ends.verdict:
            return "bad"
        return "undecided" if step.verdict == "undecided" else "good"
    return _nearer_end(Comparison.spelled(step, "ratio"), Comparison.spelled(ends, "ratio"))


def _nearer_end(step: Comparison, ends: Comparison) -> BisectSide:
    """Whether more than half of the log difference of the ends is present.

    This way a candidate need not be proven equal to the good end, and a small change elsewhere does not hide the
    relevant one. The midpoint is as uncertain as the ends: a side is known if the distance from it exceeds both errors
    combined (root of the sum of squares, each on the relevant side).
    """
    ours, theirs = _logs(step), _logs(ends)
    if ours is None or theirs is None:
        return "undecided"
    if theirs.value < 0:
        ours, theirs = ours.mirrored(), theirs.mirrored()
    beyond = ours.value - theirs.value / 2
    if beyond >= math.hypot(ours.below, theirs.above / 2):
        return "bad"
    return "good" if -beyond > math.hypot(ours.above, theirs.below / 2) else "undecided"


class _Logs(NamedTuple):
    """The logarithm of a ratio, and how far its interval reaches below and above."""

    value: float
    below: float
    above: float

    def mirrored(self) -> _Logs:
        return _Logs(-self.value, self.above, self.below)


def _logs(found: Comparison) -> _Logs | None:
    if found.ratio is None or found.low is None or found.high is None:
        return None
    value, low, high = (math.log(each) for each in (found.ratio, found.low, found.high))
    return _Logs(value, value - low, high - value)


def enough_for(
    names: tuple[str, str], ends: BisectStep | None, min_effect: float, alpha_share: float
) -> Callable[[Sequence[Measurement]], bool]:
    """Criterion for stopping a race: for the ends, their difference is known precisely; else, the nearer end is
    known."""

    def enough(subjects: Sequence[Measurement]) -> bool:
        if ends is None and not settled(subjects, names[0], min_effect, alpha_share):
            return False
        judged = {each.name: each for each in compare(subjects, names[0], min_effect, alpha_share)}
        found = _slowdown(judged[names[1]])
        if ends is None:
            return found.verdict == "equivalent" or _is_sharp(found)
        return _nearer_end(found, Comparison.spelled(ends, "ratio")) != "undecided"

    return enough


def _is_sharp(ends: Comparison) -> bool:
    """Whether equally precise later comparisons could be assigned to one of the ends."""
    logs = _logs(ends)
    return logs is not None and max(logs.below, logs.above) <= _SHARP * abs(logs.value)


def _slowdown(subject: Subject) -> Comparison:
    """Time of a subject / time of the baseline, with the verdict of the race (faster means less time)."""
    return replace(Comparison.spelled(subject, "speedup").inverse(), verdict=subject.verdict)


# ---------------------------------------------------------------- the whole search


def outcome_of(steps: Sequence[BisectStep], left: int) -> Outcome:
    """Outcome of a search; `left` is the number of unknown candidates between the last good and the first bad one."""
    if not steps:
        return "too few"
    ends, last = steps[0], steps[-1]
    if ends.side != "bad":
        if ends.side == "undecided":
            return "undecided"
        return "other way" if ends.verdict in ("slower", "faster") else "same"
    if last.purpose != "repeat":
        return "undecided"
    if last.side != "bad":
        return "unconfirmed"
    return "range" if left else "found"


def operators_behind(diff: Diff) -> tuple[OperatorChange, ...]:
    """Operators with proven changes that account for most of a difference, in its direction."""
    rows: dict[str, list[DiffRow]] = {}
    for row in diff.rows:
        rows.setdefault(row.op_name, []).append(row)
    times = {name: _times(several) for name, several in rows.items()}
    total = sum(after - before for before, after in times.values())
    found = compare_times([pair_of(rows[name], shown) for name, shown in times.items()])
    proven = {name: each for (name, each), judged in zip(times.items(), found, strict=True) if is_different(judged)}
    same_way = {name: each for name, each in proven.items() if (each[1] - each[0]) * total > 0}
    ordered = sorted(same_way.items(), key=lambda item: -abs(item[1][1] - item[1][0]))
    named = [(name, each) for name, each in ordered if abs(each[1] - each[0]) >= _LEAST_SHARE * abs(total)]
    return tuple(
        OperatorChange(op_name=name, before_us=before, after_us=after)
        for name, (before, after) in named[:_MOST_OPERATORS]
    )


def _times(rows: Sequence[DiffRow]) -> tuple[float, float]:
    return sum(row.before_usual_us for row in rows), sum(row.after_usual_us for row in rows)
