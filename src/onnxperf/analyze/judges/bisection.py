"""What a comparison means for a bisection: like the good end, like the bad end, or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from onnxperf.analyze.judges import weighing
from onnxperf.analyze.judges.comparison import compare
from onnxperf.analyze.judges.node_times import compare_times, is_different, pair_of
from onnxperf.records.bisect import BisectSide, BisectStep, Change, OperatorChange, Outcome, Purpose
from onnxperf.records.comparison import Verdict
from onnxperf.records.diff import Diff, DiffRow
from onnxperf.records.race import Case, Measurement, Subject

_OF_CHANGE: dict[Change, tuple[Verdict, ...]] = {
    "any": ("slower", "faster"),
    "worse": ("slower",),
    "better": ("faster",),
}
_LEAST_SHARE = 0.1
"""Part of all changes from which on an operator is named."""
_MOST_OPERATORS = 3


# ---------------------------------------------------------------- one comparison


def raced(purpose: Purpose, case: Case, base: str, candidate: str) -> BisectStep:
    """A race as a step; its side is not yet judged."""
    subjects = {subject.name: subject for subject in case.subjects}
    ours, theirs = subjects[candidate], subjects[base]
    ratio, low, high = _ratios(ours) if case.baseline == base else (None, None, None)
    return BisectStep(
        purpose=purpose,
        base=base,
        candidate=candidate,
        side="undecided",
        verdict=ours.verdict if ratio is not None and ours.verdict else "undecided",  # one of them was not measured
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        base_amount=theirs.median_ns,
        amount=ours.median_ns,
        reason=ours.reason or theirs.reason,
        race=case,
    )


def weighed(
    purpose: Purpose, names: tuple[str, str], base: Sequence[int], candidate: Sequence[int], min_effect: float
) -> BisectStep:
    """Bytes that several processes of both needed, as a step."""
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
    """What a comparison shows; `ends` is the first one, and None while that is judged itself."""
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
    return _nearer_end(step, ends)


def _nearer_end(step: BisectStep, ends: BisectStep) -> BisectSide:
    """Whether more than half of the difference of the ends is there, on the scale of ratios.

    Asked in this way, a candidate need not be proven equal to the good end, and a small change elsewhere does not
    hide the one that matters.
    """
    if ends.ratio is None or step.ratio_low is None or step.ratio_high is None:
        return "undecided"
    low, high, half = math.log(step.ratio_low), math.log(step.ratio_high), math.log(ends.ratio) / 2
    if half < 0:
        low, high, half = -high, -low, -half
    return "bad" if low >= half else "good" if high < half else "undecided"


def enough_for(
    names: tuple[str, str], ends: BisectStep, min_effect: float, alpha_share: float
) -> Callable[[Sequence[Measurement]], bool]:
    """Whether a race between the ends may stop: when the nearer end is known."""

    def enough(subjects: Sequence[Measurement]) -> bool:
        judged = {each.name: each for each in compare(subjects, names[0], min_effect, alpha_share)}
        ratio, low, high = _ratios(judged[names[1]])
        between = replace(ends, ratio=ratio, ratio_low=low, ratio_high=high)
        return _nearer_end(between, ends) != "undecided"

    return enough


def _ratios(subject: Subject) -> tuple[float | None, float | None, float | None]:
    """Time of a subject divided by that of the baseline, with its interval."""
    speedups = (subject.speedup, subject.speedup_high, subject.speedup_low)
    ratio, low, high = (None if each is None else 1 / each for each in speedups)
    return ratio, low, high


# ---------------------------------------------------------------- the whole search


def outcome_of(steps: Sequence[BisectStep], left: int) -> Outcome:
    """How a search ended; `left` is how many candidates between the last good and the first bad one are unknown."""
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
    """Operators that differ over launches and account for most of a difference in its direction."""
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
