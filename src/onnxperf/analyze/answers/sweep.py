"""Where which subject is faster in a bench of many cases, and why times are missing, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from onnxperf.records.race import Case
from onnxperf.records.sweep import Duel, values_of, varying
from onnxperf.wording.names import name_of, visible

Met = tuple[Case, Duel]
"""A case, and how the two subjects compare in it."""


def crossover_lines(cases: Sequence[Case], baseline: str, duels: Mapping[str, Sequence[Duel]]) -> list[str]:
    """For each rival of the baseline: where which of the two is faster."""
    lines: list[str] = []
    several = len(duels) > 1
    for rival, of_rival in duels.items():
        texts = _crossovers(list(zip(cases, of_rival, strict=True)), baseline, rival)
        pair = f"{name_of(rival)} against {name_of(baseline)}:"
        # Several sentences about one of several rivals stand below its name.
        if several and len(texts) > 1:
            lines += [pair, *(f"  {text}" for text in texts)]
        else:
            lines += [f"{pair} {text}" if several else text for text in texts]
    return lines


def reason_lines(cases: Sequence[Case]) -> list[str]:
    """Why times are missing: `batch=16 seq=500: torch oom: needed 9 GiB`; equal reasons share a line."""
    places: dict[str, list[str]] = {}
    for case in cases:
        for reason in _reasons(case):
            place = " ".join(f"{visible(name)}={size}" for name, size in case.dims.items())
            places.setdefault(reason, []).append(place)
    return [": ".join(filter(None, [", ".join(filter(None, where)), reason])) for reason, where in places.items()]


def _reasons(case: Case) -> Iterator[str]:
    if not case.subjects and case.status != "ok":
        yield f"{case.status}: {case.answer}" if case.answer else case.status
    for subject in case.subjects:
        if subject.status != "ok":
            yield ": ".join(filter(None, [f"{name_of(subject.name)} {subject.status}", subject.reason]))


# ---------------------------------------------------------------- two subjects


def _crossovers(met: Sequence[Met], baseline: str, rival: str) -> list[str]:
    """Where each of two subjects is faster: one sentence, or one for every row of a grid; none if they never met."""
    if all(duel.speedup is None for _, duel in met):
        return []
    dims = varying([case for case, _ in met])
    if len(dims) == 1:
        return [f"{_along(met, dims[0], baseline, rival)}."]
    if len(dims) == 2:
        orders = [_by_row(met, order, baseline, rival) for order in (dims, dims[::-1])]
        return [f"{sentence}." for sentence in min(orders, key=len)]
    return [f"{_counted(met, baseline, rival)}."]


def _by_row(met: Sequence[Met], dims: Sequence[str], baseline: str, rival: str) -> list[str]:
    """A sentence along the first dimension for all sizes of the second that have the same."""
    along, across = dims
    sentences: dict[str, list[int]] = {}
    for size in values_of([case for case, _ in met], across):
        row = [pair for pair in met if pair[0].dims.get(across) == size]
        sentences.setdefault(_along(row, along, baseline, rival), []).append(size)
    if len(sentences) == 1:
        return list(sentences)
    return [f"{visible(across)}={', '.join(map(str, sizes))}: {text}" for text, sizes in sentences.items()]


def _along(met: Sequence[Met], dim: str, baseline: str, rival: str) -> str:
    ordered = sorted((pair for pair in met if dim in pair[0].dims), key=lambda pair: pair[0].dims[dim])
    standings = [(_standing(duel, baseline, rival), case.dims[dim]) for case, duel in ordered]
    runs = [(key, [size for _, size in members]) for key, members in groupby(standings, lambda pair: pair[0])]
    if len(runs) == 1:
        (won, text), sizes = runs[0]
        return _clause(won, text, "throughout" if len(sizes) > 1 else f"at {visible(dim)}={sizes[0]}")
    ends = (standings[0][1], standings[-1][1])
    clauses: dict[bool, list[str]] = {True: [], False: []}
    for (won, text), sizes in runs:
        clauses[won].append(_clause(won, text, _stretch(dim, sizes, ends)))
    return "; ".join(filter(None, [", ".join(clauses[True]), ", ".join(clauses[False])]))


def _clause(won: bool, text: str, where: str) -> str:
    return f"{text} is faster {where}" if won else f"{text} {where}"


def _standing(duel: Duel, baseline: str, rival: str) -> tuple[bool, str]:
    """Whether one of them won, and which; else the word that stands in place of a winner."""
    if duel.decided:
        return True, name_of(rival if duel.verdict == "faster" else baseline)
    return False, duel.word or duel.verdict or "undecided"


def _stretch(dim: str, sizes: Sequence[int], ends: tuple[int, int]) -> str:
    name = visible(dim)
    if len(sizes) == 1:
        return f"at {name}={sizes[0]}"
    if sizes[0] == ends[0]:
        return f"up to {name}={sizes[-1]}"
    return f"from {name}={sizes[0]} on" if sizes[-1] == ends[1] else f"from {name}={sizes[0]} to {sizes[-1]}"


def _counted(met: Sequence[Met], baseline: str, rival: str) -> str:
    counts = Counter(_standing(duel, baseline, rival) for _, duel in met)
    if len(met) == 1:
        ((won, text),) = counts
        other = name_of(baseline if text == name_of(rival) else rival)
        return f"{text} is faster than {other}" if won else f"{name_of(rival)} against {name_of(baseline)}: {text}"
    parts = [
        f"{text} is faster in {number}" if won else f"{text} in {number}" for (won, text), number in counts.items()
    ]
    return f"{', '.join(parts)} of {len(met)} cases"
