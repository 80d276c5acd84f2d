"""The raw blocks of a race by round: drift, launches and set-ups are visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from onnxperf.records.race import Block, Case, Subject
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.layers import Filter, Layer, layered
from onnxperf.render.web.old_base import Part
from onnxperf.render.web.plots import rounded, value_axis
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, duration_unit, grouped

MOST_BLOCKS = 6000
"""Blocks that a page shows of all races together; of more, the quickest and the slowest of neighbours."""


class _Stretch(NamedTuple):
    """Rounds of one launch, or of one set-up."""

    first: int
    last: int
    launch: int
    set_up: int


def samples(cases: Mapping[str, Case]) -> list[Part]:
    """Time per call of every block, by round, one colour per subject."""
    blocks = [block for case in cases.values() for each in case.subjects for block in each.blocks]
    if not blocks:
        return []
    subjects = sum(bool(each.blocks) for case in cases.values() for each in case.subjects)
    most = max(MOST_BLOCKS // subjects, 2)
    scale, unit = duration_unit(median(block.per_call_ns for block in blocks))
    shown = {label: [(each, _thinned(each.blocks, most)) for each in _timed(case)] for label, case in cases.items()}
    layers = [Layer({"case": label}, _data(several, scale, unit)) for label, several in shown.items()]
    drawn = sum(len(some) for several in shown.values() for _, some in several)
    filters = [Filter("case", list(cases), column=0)] if len(cases) > 1 else []
    title, summary = "Every block, by round", _summary(len(blocks), drawn)
    return [layered("samples", title, summary, {}, layers, filters, _table(shown), height=380)]


def _timed(case: Case) -> list[Subject]:
    return [each for each in case.subjects if each.blocks]


def _thinned(blocks: Sequence[Block], most: int) -> list[Block]:
    """At most so many blocks: of neighbours the quickest and the slowest, so that no outlier is lost."""
    if len(blocks) <= most:
        return list(blocks)
    step = -(-2 * len(blocks) // most)
    return [block for start in range(0, len(blocks), step) for block in _extremes(blocks[start : start + step])]


def _extremes(blocks: Sequence[Block]) -> list[Block]:
    ends = {min(blocks, key=lambda block: block.per_call_ns), max(blocks, key=lambda block: block.per_call_ns)}
    return sorted(ends, key=lambda block: block.round)


def _summary(blocks: int, drawn: int) -> str:
    thinned = "" if drawn == blocks else f", of which {grouped(drawn)} are shown: the extremes of neighbours"
    return (
        f"Time per call in each of {count(blocks, 'block')}{thinned}. Bands are launches of the processes, dotted "
        "lines new set-ups of their sessions; subjects of one round were measured right after each other."
    )


def _data(subjects: Sequence[tuple[Subject, Sequence[Block]]], scale: float, unit: str) -> dict[str, object]:
    times = [block.per_call_ns for _, blocks in subjects for block in blocks]
    drawn = [
        {
            "name": name_of(each.name),
            "points": [[block.round, rounded(block.per_call_ns / scale)] for block in blocks],
            "words": [_words(block) for block in blocks],
        }
        for each, blocks in subjects
    ]
    stretches = list(_stretches(subjects[0][0].blocks)) if subjects else []
    y = value_axis(f"time per call ({unit})", [ns / scale for ns in times])
    return {
        "subjects": drawn,
        "y": y.data,
        "launches": [[first, last, f"launch {launch}"] for first, last, launch in _launches(stretches)],
        "setUps": [each.first for each in stretches if each.set_up],
    }


def _words(block: Block) -> str:
    return "\n".join(
        [
            f"{duration(block.per_call_ns)} per call in {count(block.calls, 'call')}",
            f"round {block.round}, place {block.position}, launch {block.launch}, set-up {block.set_up}",
        ]
    )


def _stretches(blocks: Sequence[Block]) -> Iterator[_Stretch]:
    """Rounds in a row with the same launch and set-up."""
    start: Block | None = None
    last = 0
    for block in blocks:
        if start is not None and (block.launch, block.set_up) != (start.launch, start.set_up):
            yield _Stretch(start.round, last, start.launch, start.set_up)
            start = None
        start, last = start or block, block.round
    if start is not None:
        yield _Stretch(start.round, last, start.launch, start.set_up)


def _launches(stretches: Sequence[_Stretch]) -> list[tuple[int, int, int]]:
    """The first and the last round of each launch."""
    found: dict[int, tuple[int, int]] = {}
    for each in stretches:
        first = found.get(each.launch, (each.first, 0))[0]
        found[each.launch] = (first, each.last)
    return [(first, last, launch) for launch, (first, last) in found.items()]


def _table(shown: Mapping[str, Sequence[tuple[Subject, Sequence[Block]]]]) -> Table:
    headings = ("round", "place", "launch", "set-up", "calls", "time per call")
    columns = [Column("case", left=True), Column("name", left=True), *map(Column, headings)]
    rows = [
        Row([label, name_of(each.name), *_cells(block)])
        for label, several in shown.items()
        for each, blocks in several
        for block in blocks
    ]
    return without_empty(Table(columns, rows))


def _cells(block: Block) -> list[str]:
    numbers = (block.round, block.position, block.launch, block.set_up)
    return [*map(str, numbers), grouped(block.calls), duration(block.per_call_ns)]
