"""Which subject is faster in which case of a sweep: comparisons, winners, and the best rival of a baseline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from onnxperf.analyze.answers.sweep import (
    NOT_COMPARED,
    notes_on_sweep,
    reason_lines,
    undecided_lines,
    why_undecided,
    winner_lines,
)
from onnxperf.analyze.judges.throughput import rate
from onnxperf.errors import BadOption
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.sweep import (
    Duel,
    SweepModel,
    SweepPanel,
    SweepRow,
    by_model,
    cells_of,
    dims_of,
    measured,
    subject_in,
    subjects_of,
    time_of,
    varying,
    word_of,
)
from onnxperf.wording.names import name_of, visible

_OPPOSITES: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
_RANKS: dict[Verdict | None, int] = {"faster": 2, "slower": 0}
"""Rank of a verdict for a rival; undecided verdicts are in between."""


def sweep_models(cases: Sequence[Case]) -> list[SweepModel]:
    """The cases of each model with their best rivals, reasons and winners."""
    return [_model(model, members) for model, members in by_model(cases).items()]


def _model(model: str, cases: Sequence[Case]) -> SweepModel:
    baseline = usual_baseline(cases)
    rivals = [name for name in subjects_of(cases) if name != baseline]
    rows = [_row(case, baseline) for case in cases]
    return SweepModel(
        model=model,
        baseline=baseline,
        rivals=rivals,
        rows=rows,
        reasons=reason_lines(rows),
        winners=winner_lines(rows),
        undecided=undecided_lines(rows),
        notes=notes_on_sweep(rows),
    )


def _row(case: Case, usual: str | None) -> SweepRow:
    against = next((name for name in (usual, case.baseline) if name and measured(subject_in(case, name))), usual)
    names = [name for name in subjects_of([case]) if name != against]
    duels = {} if against is None else {name: duel(case, against, name) for name in names}
    return SweepRow(case, against, duels, _best(duels), first_of_case(case), rate(case, fastest(case)))


def _best(duels: Mapping[str, Duel]) -> str | None:
    """The rival with the best verdict and, among those, the largest speedup."""
    ranked = [(_RANKS.get(each.verdict, 1), each.speedup, name) for name, each in duels.items() if each.speedup]
    return max(ranked, key=lambda rival: rival[:2])[2] if ranked else None


# ---------------------------------------------------------------- one case


def fastest(case: Case) -> Subject | None:
    """The subject with the shortest time."""
    timed = [(ns, place) for place, subject in enumerate(case.subjects) if (ns := time_of(subject)) is not None]
    return case.subjects[min(timed)[1]] if timed else None


def first_of_case(case: Case) -> frozenset[str]:
    """Subjects not proven slower than any other; empty if that would be all."""
    names = [subject.name for subject in case.subjects if measured(subject)]
    first = frozenset(one for one in names if not any(duel(case, one, two).verdict == "faster" for two in names))
    return first if len(first) < len(names) else frozenset()


def duel(case: Case, baseline: str, rival: str) -> Duel:
    """Compare two subjects of a case, whichever baseline the case used."""
    one, two = subject_in(case, baseline), subject_in(case, rival)
    if not measured(one) or not measured(two):
        return Duel(None, None, word_of(case, two) or word_of(case, one) or "failed")
    if one is two:
        return Duel(1.0, "baseline")
    if case.baseline == baseline and _sound(two.speedup):
        verdict = two.verdict or "undecided"
        return Duel(two.speedup, verdict, low=two.speedup_low, high=two.speedup_high, reason=why_undecided(two))
    if case.baseline == rival and _sound(one.speedup):
        verdict = one.verdict or "undecided"
        return Duel(1 / one.speedup, _OPPOSITES.get(verdict, verdict), reason=why_undecided(one))
    return _indirect(case, one, two)


def _indirect(case: Case, one: Subject, two: Subject) -> Duel:
    """Two subjects that the case compared with a third one."""
    if not _sound(one.speedup) or not _sound(two.speedup):
        ratio = (time_of(one) or 1.0) / (time_of(two) or 1.0)
        return Duel(ratio, "undecided", reason=NOT_COMPARED)
    ratio = two.speedup / one.speedup
    clear = abs(math.log(ratio)) >= math.log1p(case.min_effect)
    if clear and _beats(two, one):
        return Duel(ratio, "faster")
    return Duel(ratio, "slower") if clear and _beats(one, two) else Duel(ratio, "undecided", reason=NOT_COMPARED)


def _beats(one: Subject, two: Subject) -> bool:
    """Whether the verdicts are on both sides of the third subject, or one verdict is and the intervals do not
    overlap."""
    if not (one.verdict == "faster" or two.verdict == "slower"):
        return False
    apart = one.speedup_low is not None and two.speedup_high is not None and one.speedup_low > two.speedup_high
    return apart or (one.verdict == "faster" and two.verdict == "slower")


def _sound(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and value > 0


# ---------------------------------------------------------------- several cases


def usual_baseline(cases: Sequence[Case]) -> str | None:
    """The baseline of most cases; cases in which it could not be measured use another one."""
    counted = Counter(case.baseline for case in cases if case.baseline is not None)
    return counted.most_common(1)[0][0] if counted else next(iter(subjects_of(cases)), None)


def usual_rival(cases: Sequence[Case], baseline: str | None) -> str | None:
    """The first subject with another runtime than the baseline, else the first other subject."""
    others = [name for name in subjects_of(cases) if name != baseline]
    subjects = [subject for case in cases for subject in case.subjects]
    runtimes = {subject.name: subject.runtime for subject in reversed(subjects)}
    of_another_runtime = [name for name in others if runtimes[name] != runtimes.get(baseline or "")]
    return next(iter([*of_another_runtime, *others]), None)


def cases_of(bench: Bench, model: str | None) -> list[Case]:
    """The cases of one model, which must be specified if there are several."""
    groups = by_model(bench.cases)
    if model is None and len(groups) == 1:
        return next(iter(groups.values()))
    if model not in groups:
        raise BadOption.unknown("model of the sweep", model, map(name_of, groups))
    return groups[model]


def two_dims(cases: Sequence[Case]) -> list[str]:
    """The two dimensions of a map or matrix."""
    dims, known = varying(cases), dims_of(cases)
    if len(dims) < 2 == len(known):
        return known
    if len(dims) != 2:
        found = f"{len(dims)} ({', '.join(map(visible, dims))})" if dims else "none"
        raise BadOption(f"a map needs two dimensions with several sizes, but this sweep has {found}")
    return dims


# ---------------------------------------------------------------- panels of a chart


def crossover_map(bench: Bench, baseline: str | None, rival: str | None, model: str | None) -> SweepPanel:
    """Two subjects over two dimensions of a model."""
    cases = cases_of(bench, model)
    return _panel(name_of(cases[0].model), cases, two_dims(cases), _pair(cases, baseline, rival))


def panels_of(bench: Bench) -> list[SweepPanel]:
    """One panel per model and combination of sizes of all varying dimensions beyond the first two."""
    panels = []
    for model, cases in by_model(bench.cases).items():
        dims = varying(cases)
        others: dict[tuple[int | None, ...], list[Case]] = {}
        for case in cases:
            others.setdefault(tuple(case.dims.get(dim) for dim in dims[2:]), []).append(case)
        for sizes, members in others.items():
            fixed = [f"{visible(dim)}={size}" for dim, size in zip(dims[2:], sizes, strict=True) if size is not None]
            several = usual_rival(members, usual_baseline(members)) is not None
            pair = _pair(members, None, None) if several else None
            panels.append(_panel(", ".join([name_of(model), *fixed]), members, varying(members), pair))
    return panels


def _panel(title: str, cases: Sequence[Case], dims: Sequence[str], pair: tuple[str, str] | None) -> SweepPanel:
    if pair is None or len(dims) != 2:
        return SweepPanel(title, cases, dims, pair)
    return SweepPanel(title, cases, dims, pair, {at: duel(each, *pair) for at, each in cells_of(cases, *dims).items()})


def _pair(cases: Sequence[Case], baseline: str | None, rival: str | None) -> tuple[str, str]:
    """Two subjects to compare: the specified ones, else the baseline and its first rival with another runtime."""
    names = subjects_of(cases)
    for name in (baseline, rival):
        if name is not None and name not in names:
            raise BadOption.unknown("subject", visible(name), map(name_of, names))
    first = usual_baseline(cases) if baseline is None else baseline
    if baseline is None and rival is not None and rival == first:
        first = usual_rival(cases, rival)
    second = usual_rival(cases, first) if rival is None else rival
    if first is None or second is None or first == second:
        raise BadOption("a comparison needs two different subjects, but this sweep has fewer")
    return first, second
