"""What the tables and charts of a sweep share: its dimensions, its winners, and where the winner changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from onnxperf.records import Bench, Case, Subject, Verdict
from onnxperf.wording.names import name_of, visible

NOT_RUN = "not run"
_OPPOSITES: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
_BATCH = "batch"


class Duel(NamedTuple):
    """A rival against a baseline in one case; without a speedup, the word says what came between."""

    speedup: float | None
    verdict: Verdict | None
    word: str = ""

    @property
    def decided(self) -> bool:
        """Whether one of them won."""
        return self.verdict in ("faster", "slower")


# ---------------------------------------------------------------- cases and dimensions


def by_model(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each label, in order."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.model, []).append(case)
    return groups


def dims_of(cases: Sequence[Case]) -> list[str]:
    """Names of all dimensions, in the order in which they first occur."""
    return list(dict.fromkeys(name for case in cases for name in case.dims))


def values_of(cases: Sequence[Case], dim: str) -> list[int]:
    """The sizes that a dimension has, from the smallest."""
    return sorted({case.dims[dim] for case in cases if dim in case.dims})


def varying(cases: Sequence[Case]) -> list[str]:
    """Dimensions with several sizes."""
    return [dim for dim in dims_of(cases) if len(values_of(cases, dim)) > 1]


def cells_of(cases: Sequence[Case], rows: str, columns: str) -> dict[tuple[int, int], Case]:
    """The case at each pair of sizes."""
    return {(case.dims[rows], case.dims[columns]): case for case in cases if rows in case.dims and columns in case.dims}


def place_of(case: Case, separator: str = " ") -> str:
    """Dimensions as `batch=8 seq=128`."""
    return separator.join(f"{visible(name)}={size}" for name, size in case.dims.items())


# ---------------------------------------------------------------- subjects and winners


def subjects_of(cases: Sequence[Case]) -> list[str]:
    """Names of all subjects, in the order in which they first occur."""
    return list(dict.fromkeys(subject.name for case in cases for subject in case.subjects))


def found(case: Case, name: str) -> Subject | None:
    """The subject of that name."""
    return next((subject for subject in case.subjects if subject.name == name), None)


def time_of(subject: Subject | None) -> float | None:
    """The median in nanoseconds of a subject that may be compared: measured, with outputs that agree."""
    return subject.median_ns if subject is not None and subject.status == "ok" and _sound(subject.median_ns) else None


def usual_baseline(cases: Sequence[Case]) -> str | None:
    """The baseline of most cases: where it could not be measured, a case has another one."""
    counted = Counter(case.baseline for case in cases if case.baseline is not None)
    return counted.most_common(1)[0][0] if counted else next(iter(subjects_of(cases)), None)


def usual_rival(cases: Sequence[Case], baseline: str | None) -> str | None:
    """The first subject of another runtime than the baseline's, else the first other one."""
    others = [name for name in subjects_of(cases) if name != baseline]
    subjects = [subject for case in cases for subject in case.subjects]
    runtimes = {subject.name: subject.runtime for subject in reversed(subjects)}
    foreign = [name for name in others if runtimes[name] != runtimes.get(baseline or "")]
    return next(iter([*foreign, *others]), None)


def fastest(case: Case) -> Subject | None:
    """Who has the shortest time."""
    timed = [(ns, place) for place, subject in enumerate(case.subjects) if (ns := time_of(subject)) is not None]
    return case.subjects[min(timed)[1]] if timed else None


def winners(case: Case) -> set[str]:
    """The fastest and all that are not proven slower; nobody, where that is everybody."""
    best = fastest(case)
    if best is None:
        return set()
    timed = [subject.name for subject in case.subjects if time_of(subject) is not None]
    first = {name for name in timed if name == best.name or not duel(case, best.name, name).decided}
    return first if len(first) < len(timed) else set()


def duel(case: Case, baseline: str, rival: str) -> Duel:
    """What a case says of two of its subjects, whichever of them it compared the others with."""
    one, two = found(case, baseline), found(case, rival)
    base_ns, rival_ns = time_of(one), time_of(two)
    if one is None or two is None or base_ns is None or rival_ns is None:
        return Duel(None, None, _word(case, two) or _word(case, one) or "failed")
    if one is two:
        return Duel(1.0, "baseline")
    if case.baseline == baseline and _sound(two.speedup):
        return Duel(two.speedup, two.verdict or "undecided")
    if case.baseline == rival and one.speedup is not None and _sound(one.speedup):
        verdict = one.verdict or "undecided"
        return Duel(1 / one.speedup, _OPPOSITES.get(verdict, verdict))
    return Duel(base_ns / rival_ns, _indirect(one, two))


def rows_dim(cases: Sequence[Case]) -> str | None:
    """The dimension that counts the rows of a call: batch, else the first."""
    dims = dims_of(cases)
    return next((dim for dim in dims if dim.lower() == _BATCH), next(iter(dims), None))


def rate(case: Case, subject: Subject | None, dim: str | None) -> float | None:
    """Rows per second."""
    ns = time_of(subject)
    rows = case.dims.get(dim) if dim is not None else None
    return None if ns is None or rows is None else rows * 1e9 / ns


def _word(case: Case, subject: Subject | None) -> str:
    if subject is None:
        return case.status if not case.subjects and case.status != "ok" else NOT_RUN
    return "" if subject.status == "ok" else subject.status


def _indirect(baseline: Subject, rival: Subject) -> Verdict:
    """A verdict through a third subject: only intervals that lie apart decide."""
    if (
        baseline.speedup_high is not None
        and rival.speedup_low is not None
        and rival.speedup_low > baseline.speedup_high
    ):
        return "faster"
    if (
        baseline.speedup_low is not None
        and rival.speedup_high is not None
        and rival.speedup_high < baseline.speedup_low
    ):
        return "slower"
    return "undecided"


def _sound(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


# ---------------------------------------------------------------- where the winner changes


def crossover_texts(cases: Sequence[Case], baseline: str, rival: str) -> list[str]:
    """Where each of two subjects is faster: one sentence, or one for every row of a grid; none if they never met."""
    if all(duel(case, baseline, rival).speedup is None for case in cases):
        return []
    dims = varying(cases)
    if len(dims) == 1:
        return [f"{_along(cases, dims[0], baseline, rival)}."]
    if len(dims) == 2:
        told = [_by_row(cases, order, baseline, rival) for order in (dims, dims[::-1])]
        shorter = told[0] if len(told[0]) <= len(told[1]) else told[1]
        return [f"{sentence}." for sentence in shorter]
    return [f"{_counted(cases, baseline, rival)}."]


def _by_row(cases: Sequence[Case], dims: Sequence[str], baseline: str, rival: str) -> list[str]:
    """A sentence along the first dimension for all sizes of the second that have the same."""
    along, across = dims
    sentences: dict[str, list[int]] = {}
    for size in values_of(cases, across):
        row = [case for case in cases if case.dims.get(across) == size]
        sentences.setdefault(_along(row, along, baseline, rival), []).append(size)
    if len(sentences) == 1:
        return list(sentences)
    return [f"{visible(across)}={', '.join(map(str, sizes))}: {text}" for text, sizes in sentences.items()]


def _along(cases: Sequence[Case], dim: str, baseline: str, rival: str) -> str:
    ordered = sorted((case for case in cases if dim in case.dims), key=lambda case: case.dims[dim])
    standings = [(_standing(duel(case, baseline, rival), baseline, rival), case.dims[dim]) for case in ordered]
    runs = [(key, [size for _, size in members]) for key, members in groupby(standings, lambda pair: pair[0])]
    if len(runs) == 1:
        (won, text), sizes = runs[0]
        return _clause(won, text, "throughout" if len(sizes) > 1 else f"at {visible(dim)}={sizes[0]}")
    ends = (standings[0][1], standings[-1][1])
    told: dict[bool, list[str]] = {True: [], False: []}
    for (won, text), sizes in runs:
        told[won].append(_clause(won, text, _stretch(dim, sizes, ends)))
    return "; ".join(filter(None, [", ".join(told[True]), ", ".join(told[False])]))


def _clause(won: bool, text: str, where: str) -> str:
    return f"{text} is faster {where}" if won else f"{text} {where}"


def _standing(met: Duel, baseline: str, rival: str) -> tuple[bool, str]:
    """Whether somebody won, and who; else what came between."""
    if met.decided:
        return True, name_of(rival if met.verdict == "faster" else baseline)
    return False, met.word or met.verdict or "undecided"


def _stretch(dim: str, sizes: Sequence[int], ends: tuple[int, int]) -> str:
    name = visible(dim)
    if len(sizes) == 1:
        return f"at {name}={sizes[0]}"
    if sizes[0] == ends[0]:
        return f"up to {name}={sizes[-1]}"
    return f"from {name}={sizes[0]} on" if sizes[-1] == ends[1] else f"from {name}={sizes[0]} to {sizes[-1]}"


def _counted(cases: Sequence[Case], baseline: str, rival: str) -> str:
    counts = Counter(_standing(duel(case, baseline, rival), baseline, rival) for case in cases)
    if len(cases) == 1:
        ((won, text),) = counts
        other = name_of(baseline if text == name_of(rival) else rival)
        return f"{text} is faster than {other}" if won else f"{name_of(rival)} against {name_of(baseline)}: {text}"
    parts = [f"{text} is faster in {count}" if won else f"{text} in {count}" for (won, text), count in counts.items()]
    return f"{', '.join(parts)} of {len(cases)} cases"


# ---------------------------------------------------------------- panels of a chart


class Panel(NamedTuple):
    """Cases that one pair of axes shows, and the dimensions that vary in it: at most two."""

    title: str
    cases: list[Case]
    dims: list[str]


def panels_of(bench: Bench) -> list[Panel]:
    """A panel per model and per combination of the sizes of every dimension beyond the first two that vary."""
    panels = []
    for model, cases in by_model(bench.cases).items():
        dims = varying(cases)
        others: dict[tuple[int | None, ...], list[Case]] = {}
        for case in cases:
            others.setdefault(tuple(case.dims.get(dim) for dim in dims[2:]), []).append(case)
        for sizes, members in others.items():
            fixed = [f"{visible(dim)}={size}" for dim, size in zip(dims[2:], sizes, strict=True) if size is not None]
            panels.append(Panel(", ".join([name_of(model), *fixed]), members, varying(members)))
    return panels
