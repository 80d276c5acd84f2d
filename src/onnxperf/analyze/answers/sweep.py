"""Which subject is the fastest where in a bench of many cases, and why none is or times are missing, in sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple, TypeVar

from onnxperf.records.race import Case, Subject
from onnxperf.records.sweep import NOT_RUN, Duel, SweepModel, SweepRow, dims_of, time_of, values_of, varying
from onnxperf.wording.names import first_of, listed, name_of, visible
from onnxperf.wording.numbers import count, duration, interval, ratio
from onnxperf.wording.spans import in_one, kind_of
from onnxperf.wording.units import units_text

NOT_COMPARED = "the case compared both only with another subject"
_MOST_ORDERS = 3
"""Dimensions up to which every order of joining neighbors is tried."""
_MOST_NAMES = 3
_FEW_ROUNDS = re.compile(r"(only )?\d+ rounds?\b|too few rounds")
"""How reasons begin that name too few rounds."""
Key = TypeVar("Key", bound=Hashable)


def why_undecided(subject: Subject) -> str:
    """What a verdict lacks; empty if there is one."""
    if subject.verdict not in ("undecided", None):
        return ""
    low, high = subject.speedup_low, subject.speedup_high
    if subject.reason:
        return subject.reason
    if low is None or high is None:
        return "too few rounds for an interval"
    if low <= 1 <= high:
        return "the 95 % CI includes 1"
    return "the difference may be below the minimum effect"


# ---------------------------------------------------------------- winners


def winner_lines(rows: Sequence[SweepRow]) -> list[str]:
    """A line per stretch of sizes with the same winner: `batch=1 to 4: torch is … as fast as ort`."""
    found = [(stretch, kind) for (kind, _), stretches in _grouped(rows, _outcome) for stretch in stretches]
    ordered = sorted(found, key=lambda pair: pair[0].box)
    return [_at(stretch.text, _WORDS[kind](stretch.rows)) for stretch, kind in ordered]


def sweep_answer(models: Sequence[SweepModel]) -> str:
    """All finished cases in one line: how many of them each subject wins, or how long the only subject takes."""
    rows = [row for each in models for row in each.rows if not row.case.interrupted]
    if any(row.rival is not None for row in rows):
        winners = Counter(row.winner for row in rows)
        found = [(name_of(name), number) for name, number in winners.most_common() if name is not None]
        if not found:
            return f"No winner in {count(len(rows), 'case')}."
        wins, cases = found[0][1], count(len(rows), "case")
        best = [name for name, number in found if number == wins]
        first = f"{best[0]} wins {wins} of {cases}" if len(best) == 1 else f"{listed(best)} win {wins} of {cases} each"
        more = "".join(f", {name} wins {number}" for name, number in found[len(best) :])
        more += f", no winner in {winners[None]}" if winners[None] else ""
        return f"{first}{more}."
    timed = [(ns, each.name) for row in rows for each in row.case.subjects if (ns := time_of(each)) is not None]
    if not timed:
        return "No case could be measured." if rows else ""
    times, names = sorted(ns for ns, _ in timed), {name for _, name in timed}
    spans = dict.fromkeys([duration(times[0]), duration(times[-1])])
    return f"{name_of(names.pop()) if len(names) == 1 else 'A call'} takes {' to '.join(spans)}."


def undecided_lines(rows: Sequence[SweepRow]) -> list[str]:
    """`No winner at batch=2, batch=8: torch is undecided: 2 rounds are too few…`: a line per reason."""
    reasons = _grouped(rows, lambda row: kind_of(row.duel.reason) if row.duel.verdict == "undecided" else None)
    return [_no_winner(stretches) for _, stretches in reasons]


def _outcome(row: SweepRow) -> tuple[str, Hashable] | None:
    """What cases of one sentence have in common."""
    if row.winner is not None:
        return "won" if row.winner == row.rival else "kept", (row.winner, row.against)
    return ("equal", (row.rival, row.against)) if row.duel.verdict == "equivalent" else None


def _won(rows: Sequence[SweepRow]) -> str:
    speedup, within = _speedups(rows)
    winner, loser = name_of(rows[0].rival or ""), name_of(rows[0].against or "")
    return f"{winner} is {speedup} as fast as {loser}{within}{_peers(rows)}."


def _kept(rows: Sequence[SweepRow]) -> str:
    rivals = {row.rival for row in rows}
    rival = name_of(rows[0].rival or "") if len(rivals) == 1 else "the best rival"
    speedup, within = _speedups(rows)
    return f"{name_of(rows[0].against or '')} is fastest: {rival} is {speedup} as fast{within}."


def _equal(rows: Sequence[SweepRow]) -> str:
    return f"{name_of(rows[0].rival or '')} and {name_of(rows[0].against or '')} are equally fast."


_WORDS: Mapping[str, Callable[[Sequence[SweepRow]], str]] = {"won": _won, "kept": _kept, "equal": _equal}


def _speedups(rows: Sequence[SweepRow]) -> tuple[str, str]:
    """The smallest and the largest speedup as the table shows them, and what their intervals span."""
    duels = sorted((row.duel for row in rows if row.duel.speedup is not None), key=lambda duel: duel.speedup or 0.0)
    texts = list(dict.fromkeys(_speedup(duel) for duel in (duels[0], duels[-1])))
    lows = [row.duel.low for row in rows if row.duel.low is not None]
    highs = [row.duel.high for row in rows if row.duel.high is not None]
    if len(lows) < len(rows) or len(highs) < len(rows):
        return " to ".join(texts), ""
    word = "CI" if len(rows) == 1 else "CI within"
    units = units_text((each.unit, each.units) for row in rows for each in row.case.subjects if each.name == row.rival)
    rest_on = f"{'' if len(rows) == 1 else ', each'} from {units}" if units else ""
    return " to ".join(texts), f" (95 % {word} {interval(min(lows), max(highs))}{rest_on})"


def _speedup(duel: Duel) -> str:
    """With the decimals that its interval deserves."""
    return ratio(duel.speedup, None if duel.low is None or duel.high is None else (duel.low, duel.high))


def _peers(rows: Sequence[SweepRow]) -> str:
    """Other rivals that are not proven slower than the winner."""
    found = [row.first - {row.winner} for row in rows]
    names = sorted(frozenset[str]().union(*found))
    if not names:
        return ""
    everywhere = all(each == found[0] for each in found)
    return f"; {'' if everywhere else 'in places '}{first_of([*map(name_of, names)], _MOST_NAMES)} may be as fast"


def _no_winner(stretches: Sequence[Stretch]) -> str:
    rows = [row for stretch in stretches for row in stretch.rows]
    rivals = {row.rival for row in rows}
    rival = name_of(rows[0].rival or "") if len(rivals) == 1 else "the best rival"
    places = ", ".join(stretch.text for stretch in stretches if stretch.text)
    reason = in_one([row.duel.reason for row in rows]).rstrip(".")
    return f"No winner{f' at {places}' if places else ''}: {rival} is undecided: {reason}."


def notes_on_sweep(rows: Sequence[SweepRow]) -> list[str]:
    """What is true of some cases: too little time."""
    short = [row for row in rows if any(_lacks_rounds(duel) for duel in row.duels.values())]
    if not short:
        return []
    places = _places(rows, short) if len(short) < len(rows) else ""
    which = f"{len(short)} of {count(len(rows), 'case')}{f' ({places})' if places else ''}"
    return [f"{which} had no time for the rounds of a verdict: give each more `time`."]


def _lacks_rounds(duel: Duel) -> bool:
    return duel.verdict == "undecided" and bool(_FEW_ROUNDS.match(duel.reason))


# ---------------------------------------------------------------- reasons


def reason_lines(rows: Sequence[SweepRow]) -> list[str]:
    """Why times are missing, and why rivals next to the best are undecided: `batch=16 seq=500: torch oom: …`."""
    missing: dict[str, list[SweepRow]] = {}
    for row in rows:
        for reason in _missing(row.case):
            missing.setdefault(reason, []).append(row)
    lines = [_at(_places(rows, members), reason) for reason, members in missing.items()]
    return lines + _other_undecided(rows)


def _missing(case: Case) -> Iterator[str]:
    if case.interrupted:
        yield "pending: interrupted before its end"
    elif case.status == "pending" and not case.subjects:
        yield f"{NOT_RUN}: the sweep ended before it began"
    elif not case.subjects and case.status != "ok":
        yield f"{case.status}: {case.answer}" if case.answer else case.status
    for subject in case.subjects:
        if subject.status != "ok" and not (case.interrupted and subject.status == "pending"):
            yield ": ".join(filter(None, [f"{name_of(subject.name)} {subject.status}", subject.reason]))


def _other_undecided(rows: Sequence[SweepRow]) -> list[str]:
    """Rivals that share a reason and its places share a line."""
    found: dict[tuple[str, str], list[SweepRow]] = {}
    for row in rows:
        for name, duel in row.duels.items():
            if duel.verdict == "undecided" and (row.winner is not None or name != row.rival):
                found.setdefault((kind_of(duel.reason), name), []).append(row)
    alike: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (kind, name), members in found.items():
        of_name = [row.duels[name].reason for row in members]
        alike.setdefault((_places(rows, members), kind), {})[name_of(name)] = of_name
    return [
        _at(places, f"{listed(reasons)} undecided: {in_one([text for texts in reasons.values() for text in texts])}")
        for (places, _), reasons in alike.items()
    ]


# ---------------------------------------------------------------- places


Box = tuple[tuple[int, int], ...]
"""Of each dimension the first and the last of neighboring sizes, by their number in ascending order."""


class Stretch(NamedTuple):
    """Neighbouring sizes, as `batch=1 to 4 seq=10`, and the cases there."""

    box: Box
    text: str
    rows: Sequence[SweepRow]


def _grouped(rows: Sequence[SweepRow], key: Callable[[SweepRow], Key | None]) -> list[tuple[Key, list[Stretch]]]:
    """The stretches of all cases that have the same key; those without one are left out."""
    groups: dict[Key, list[SweepRow]] = {}
    for row in rows:
        found = key(row)
        if found is not None:
            groups.setdefault(found, []).append(row)
    return [(found, _stretches(rows, members)) for found, members in groups.items()]


def _stretches(rows: Sequence[SweepRow], members: Sequence[SweepRow]) -> list[Stretch]:
    cases = [row.case for row in rows]
    dims = varying(cases) or dims_of(cases)
    sizes = [values_of(cases, dim) for dim in dims]
    at: dict[tuple[int, ...], list[SweepRow]] = {}
    for row in members:
        # A case that lacks a dimension is the neighbour of none.
        numbers = (_number(sizes[n], row.case.dims.get(dim)) for n, dim in enumerate(dims))
        at.setdefault(tuple(numbers), []).append(row)
    stretches = []
    for box in _boxes(list(at)):
        inside = [row for place, found in at.items() if _holds(box, place) for row in found]
        stretches.append(Stretch(box, _text(box, dims, sizes), inside))
    return stretches


def _number(sizes: Sequence[int], size: int | None) -> int:
    return -2 if size is None else sizes.index(size)


def _boxes(places: Sequence[tuple[int, ...]]) -> list[Box]:
    """The fewest boxes that joining neighbors along one dimension after the other leads to."""
    count = len(places[0])
    orders = permutations(range(count)) if count <= _MOST_ORDERS else [tuple(range(count))]
    found: list[list[Box]] = []
    for order in orders:
        boxes: list[Box] = [tuple((number, number) for number in place) for place in places]
        for dim in order:
            boxes = _joined(boxes, dim)
        found.append(sorted(boxes))
    return min(found, key=len)


def _joined(boxes: Sequence[Box], dim: int) -> list[Box]:
    joined: list[Box] = []
    for box in sorted(boxes, key=lambda each: (each[:dim], each[dim + 1 :], each[dim])):
        last = joined[-1] if joined else None
        alike = last is not None and (last[:dim], last[dim + 1 :]) == (box[:dim], box[dim + 1 :])
        if last is not None and alike and last[dim][1] + 1 == box[dim][0]:
            joined[-1] = (*box[:dim], (last[dim][0], box[dim][1]), *box[dim + 1 :])
        else:
            joined.append(box)
    return joined


def _holds(box: Box, place: tuple[int, ...]) -> bool:
    return all(first <= number <= last for (first, last), number in zip(box, place, strict=True))


def _text(box: Box, dims: Sequence[str], sizes: Sequence[Sequence[int]]) -> str:
    texts = []
    for (first, last), dim, known in zip(box, dims, sizes, strict=True):
        if first >= 0:
            to = f" to {known[last]}" if last > first else ""
            texts.append(f"{visible(dim)}={known[first]}{to}")
    return " ".join(texts)


def _places(rows: Sequence[SweepRow], members: Sequence[SweepRow]) -> str:
    return ", ".join(stretch.text for stretch in _stretches(rows, members) if stretch.text)


def _at(place: str, text: str) -> str:
    return f"{place}: {text}" if place else text
