"""Comparison of two runs through a common subject: ratios of ratios, as they were not measured in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from onnxperf.analyze.answers.run_comparison import NOT_SHARED, comparison_answer, note_on_drift
from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.comparison import Readings, alpha_of, readings_of, verdict_of
from onnxperf.analyze.judges.pairing import paired, reading_of
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES, Evidence, weaker, what_is_missing
from onnxperf.analyze.judges.yardstick import LARGE_DRIFT, RunChange, change_of, has_yardsticks, weakness
from onnxperf.records.base import Machine
from onnxperf.records.race import ALPHA, YARDSTICK, Bench, Case, Subject
from onnxperf.records.runs import ComparedSubject, RunComparison
from onnxperf.wording.numbers import count, ratio
from onnxperf.wording.spans import in_one, kind_of

_BY_YARDSTICK = "separate runs differ by as much: race both in one bench"

_CONTRADICTED = "its fastest calls and all of its calls disagree: race both in one bench"


class _Side(NamedTuple):
    """A case of one run and its machine."""

    case: Case
    machine: Machine

    def identity(self, subject: Subject) -> dict[str, object]:
        """Everything that must be equal for a subject to be the same in two runs."""
        fingerprint = self.case.fingerprint.get(subject.model or "")
        return {
            "runtime": subject.runtime,
            "call": subject.call,
            # A new object equals nothing: a callable may have changed.
            "model" if fingerprint else "code, which has no fingerprint": fingerprint or object(),
            "size of its inputs": subject.input_bytes,
            "processor": (self.machine.cpu, self.machine.cores, self.machine.logical_cpus),
            "Python": self.machine.python,
            **{f"{name} (condition)": value for name, value in subject.conditions.items()},
        }


class _Pair(NamedTuple):
    """A subject of the first run and its counterpart in the second."""

    first: Subject
    second: Subject


def compare_runs(names: tuple[str, str], first: Bench, second: Bench) -> RunComparison:
    """Compare the common subjects of two runs; without a shared subject, times are listed without verdicts."""
    rows: list[ComparedSubject] = []
    notes: list[str] = ["the runs were not measured in turn, so repeated runs may differ by more than the intervals"]
    couples = _couples(first, second)
    for ours, theirs in couples:
        found, remarks = _compare_cases(_Side(ours, first.machine), _Side(theirs, second.machine))
        rows += found
        notes += remarks
    left_out = len(first.cases) + len(second.cases) - 2 * len(couples)
    if left_out:
        notes.append(f"left out: {count(left_out, 'case')} without a counterpart of the same dimensions")
    return RunComparison(
        first=names[0],
        second=names[1],
        rows=tuple(rows),
        notes=_in_spans(notes),
        answer=comparison_answer(names, rows),
    )


def _couples(first: Bench, second: Bench) -> list[tuple[Case, Case]]:
    """Cases with the same dimensions; single cases always belong together."""
    if len(first.cases) == len(second.cases) == 1:
        return [(first.cases[0], second.cases[0])]
    left = list(second.cases)
    couples = []
    for case in first.cases:
        alike = [other for other in left if other.dims == case.dims]
        match = next((other for other in alike if other.model == case.model), next(iter(alike), None))
        if match is not None:
            left.remove(match)
            couples.append((case, match))
    return couples


def _in_spans(notes: Sequence[str]) -> tuple[str, ...]:
    """Each note once; notes that differ only in numbers are merged."""
    kinds: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        kinds.setdefault(kind_of(note), []).append(note)
    return tuple(in_one(alike) for alike in kinds.values())


def _compare_cases(ours: _Side, theirs: _Side) -> tuple[list[ComparedSubject], list[str]]:
    pairs = _pairs(ours, theirs)
    shared, notes = _shared(pairs, ours, theirs)
    if not shared and _measured_alike(ours, theirs):
        found, remarks = _judged_by_yardstick(pairs, ours.case, theirs.case)
        return found, [*notes, *remarks]
    if not shared:
        return [_row(ours.case, pair, reason=NOT_SHARED) for pair in pairs], notes
    measure = next((pair for pair in shared if pair.first.name == ours.case.baseline), shared[0])
    drift = (measure.second.time_ns or 1.0) / (measure.first.time_ns or 1.0)
    notes.append(
        f"yardstick: {measure.first.name}, the same in both runs; "
        f"it took {ratio(drift)} as long in the second, and all times were divided by its time in their run"
    )
    notes += _on_large(drift)
    return _judged(pairs, measure, ours.case, max(ours.case.min_effect, theirs.case.min_effect)), notes


def _on_large(drift: float) -> list[str]:
    if abs(math.log(drift)) <= math.log(LARGE_DRIFT):
        return []
    return ["the machine was in another state, which may not affect all subjects equally: race both in one bench"]


def _measured_alike(ours: _Side, theirs: _Side) -> bool:
    """Whether the yardsticks of both were measured on the same processor."""
    processors = [(each.machine.cpu, each.machine.cores, each.machine.logical_cpus) for each in (ours, theirs)]
    return processors[0] == processors[1] and has_yardsticks(ours.case, theirs.case)


def _judged_by_yardstick(pairs: Sequence[_Pair], first: Case, second: Case) -> tuple[list[ComparedSubject], list[str]]:
    """Judge every pair by the yardstick measured with both runs; launches are not paired."""
    min_effect = max(first.min_effect, second.min_effect)
    sound = [pair for pair in pairs if all(each.blocks and each.status == "ok" for each in pair)]
    changes = {pair.first.name: change_of(*pair, first, second) for pair in sound}
    known = {name: change for name, change in changes.items() if change is not None}
    levels = st.holm_levels([each.estimate.p_value for each in known.values()], [ALPHA] * len(known))
    rows = {
        name: _by_yardstick(change, level, min_effect)
        for (name, change), level in zip(known.items(), levels, strict=True)
    }
    drift = next((each.drift for each in known.values()), None)
    notes = [] if drift is None else [note_on_drift(drift, "in the second run"), *_on_large(drift)]
    missing = {
        pair.first.name: {"yardstick": YARDSTICK, "reason": next(filter(None, map(weakness, pair)), "not measured")}
        for pair in pairs
    }
    found = [_row(first, pair, **{**missing, **rows}[pair.first.name]) for pair in pairs]
    return found, notes


def _by_yardstick(change: RunChange, level: float, min_effect: float) -> dict[str, Any]:
    gain = -change.estimate.value
    low, high = (-end for end in reversed(change.estimate.interval(level)))
    verdict = verdict_of(gain, (low, high), min_effect, MIN_LAUNCHES)
    ends = {"speedup": math.exp(gain), "speedup_low": math.exp(low), "speedup_high": math.exp(high)}
    reason = _BY_YARDSTICK if verdict == "undecided" else ""
    return {"yardstick": YARDSTICK, **ends, "verdict": verdict, "reason": reason}


def _pairs(ours: _Side, theirs: _Side) -> list[_Pair]:
    """Pairs with equal names, then identical subjects, then subjects with a unique runtime and call style."""
    named = {subject.name: subject for subject in theirs.case.subjects}
    pairs = [_Pair(subject, named[subject.name]) for subject in ours.case.subjects if subject.name in named]
    left, right = _left_over(pairs, ours, theirs)
    for subject in left:  # a variant is named after what differs in its race
        equal = [each for each in right if ours.identity(subject) == theirs.identity(each)]
        if len(equal) == 1:
            pairs.append(_Pair(subject, equal[0]))
            right.remove(equal[0])
    left, right = _left_over(pairs, ours, theirs)
    for subject in left:
        same = [[s for s in side if (s.runtime, s.call) == (subject.runtime, subject.call)] for side in (left, right)]
        if [len(found) for found in same] == [1, 1]:
            pairs.append(_Pair(subject, same[1][0]))
    return pairs


def _left_over(pairs: Sequence[_Pair], ours: _Side, theirs: _Side) -> tuple[list[Subject], list[Subject]]:
    """Subjects of each side without a partner."""
    first, second = {pair.first.name for pair in pairs}, {pair.second.name for pair in pairs}
    left = [subject for subject in ours.case.subjects if subject.name not in first]
    return left, [subject for subject in theirs.case.subjects if subject.name not in second]


def _shared(pairs: Sequence[_Pair], ours: _Side, theirs: _Side) -> tuple[list[_Pair], list[str]]:
    """Subjects that are the same in both runs, and why others with equal names are not.

    Callables never count as the same, because they may have changed.
    """
    common = ours.case.shapes.keys() & theirs.case.shapes.keys()
    same_shapes = all(ours.case.shapes[name] == theirs.case.shapes[name] for name in common)
    shared = []
    apart: dict[str, list[str]] = {}
    for pair in pairs:
        if not all(s.blocks and s.status == "ok" for s in pair):
            continue
        left, right = ours.identity(pair.first), theirs.identity(pair.second)
        differing = [name for name in {**left, **right} if left.get(name) != right.get(name)]
        differing += [] if same_shapes else ["shapes of its inputs"]
        if differing and pair.first.name != pair.second.name:
            continue
        if differing:
            what = ", ".join(name.removesuffix(" (condition)") for name in differing)
            apart.setdefault(what, []).append(pair.first.name)
        else:
            shared.append(pair)
    return shared, [f"not the same in both runs ({what}): {', '.join(names)}" for what, names in apart.items()]


def _judged(pairs: Sequence[_Pair], measure: _Pair, case: Case, min_effect: float) -> list[ComparedSubject]:
    """Judge every pair relative to the yardstick."""
    rivals = [
        pair
        for pair in pairs
        if pair is not measure and all(paired(s, m).values.size for s, m in _sides(pair, measure))
    ]
    changes = [_change(pair, measure, min_effect) for pair in rivals]
    alphas = [min(alpha_of(subject) for subject in pair) for pair in rivals]
    levels = st.holm_levels([each.found.p_value if each.found else 1.0 for each in changes], alphas)
    known = {
        pair.first.name: _row(case, pair, yardstick=measure.first.name, **_judgement(change, level, min_effect))
        for pair, change, level in zip(rivals, changes, levels, strict=True)
    }
    return [_row_of(pair, measure, known, case) for pair in pairs]


def _row_of(pair: _Pair, measure: _Pair, known: dict[str, ComparedSubject], case: Case) -> ComparedSubject:
    if pair is measure:
        return _row(case, pair, yardstick=measure.first.name, speedup=1.0, verdict="baseline")
    unmeasured = _row(
        case, pair, yardstick=measure.first.name, reason="never measured in the same round as the yardstick"
    )
    return known.get(pair.first.name, unmeasured)


def _sides(pair: _Pair, measure: _Pair) -> tuple[tuple[Subject, Subject], tuple[Subject, Subject]]:
    return (pair.first, measure.first), (pair.second, measure.second)


class _Change(NamedTuple):
    """The change of a subject relative to the yardstick between two runs."""

    speedup: float
    """Speedup from the displayed times."""
    evidence: Evidence
    readings: Sequence[Readings]
    """Readings of both runs."""
    found: st.Estimate | None = None
    """The log of the speedup from the deciding readings; None if either run has too few units."""
    other: st.Estimate | None = None
    """The same from the readings that may contradict."""


def _change(pair: _Pair, measure: _Pair, min_effect: float) -> _Change:
    sides = _sides(pair, measure)
    readings = [readings_of(*side, reading_of((*pair, *measure)), min_effect) for side in sides]
    evidence = weaker(*(paired(*side).evidence for side in sides))
    first, second = ((subject.time_ns or 1.0) / (base.time_ns or 1.0) for subject, base in sides)
    change = _Change(first / second, evidence, readings)
    deciding = [each.deciding for each in readings if each.deciding and each.deciding.rounds.evidence.carries_estimate]
    if len(deciding) < len(readings):
        return change
    others = [each.other or own for each, own in zip(readings, deciding, strict=True)]
    found = deciding[1].estimate.minus(deciding[0].estimate)._replace(value=math.log(change.speedup))
    return change._replace(found=found, other=others[1].estimate.minus(others[0].estimate))


def _judgement(change: _Change, level: float, min_effect: float) -> dict[str, Any]:
    if change.found is None or change.other is None:
        reason = what_is_missing(change.evidence, None, min_effect)
        return {"speedup": change.speedup, "verdict": "undecided", "reason": reason}
    bounds, launches = change.found.interval(level), change.evidence.launches
    verdict = verdict_of(change.found.value, bounds, min_effect, launches)
    other = verdict_of(change.other.value, change.other.interval(level), min_effect, launches)
    reason = what_is_missing(change.evidence, bounds, min_effect) if verdict == "undecided" else ""
    if verdict != "undecided" and any(each.contradict(verdict, other) for each in change.readings):
        verdict, reason = (
            "undecided",
            "its fastest calls and all of its calls disagree: race both in one bench",
        )
    low, high = map(math.exp, bounds)
    return {
        "speedup": change.speedup,
        "speedup_low": low,
        "speedup_high": high,
        "verdict": verdict,
        "reason": reason,
    }


def _row(case: Case, pair: _Pair, **fields: Any) -> ComparedSubject:
    return ComparedSubject(
        first=pair.first.name,
        second=pair.second.name,
        model=case.model,
        dims=case.dims,
        first_ns=pair.first.time_ns,
        second_ns=pair.second.time_ns,
        **fields,
    )
