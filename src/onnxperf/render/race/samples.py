"""The raw blocks of races by round: drift, launches and set-ups are visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.records.race import Block, Case, Subject
from onnxperf.render.charts.base import Axis, Chart, axis_of, chosen_chart, linear_ticks, time_unit
from onnxperf.render.charts.plot import Edge, Plot, PlotMark, PlotSpan, Series, clipped, robust, with_rounded
from onnxperf.render.kit.column import NAME, NS, WHOLE, WHOLE_NS, Column, Format, field_columns, for_screens
from onnxperf.render.kit.table import Table
from onnxperf.render.race.subjects import CASE, Look, looks_of
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, grouped

MOST_BLOCKS = 6000
"""Blocks that a chart shows of all races together; of more, the quickest and the slowest of neighbors."""
_MOST_TEXTS = 8
"""Arrows at the edge, from which on only their tooltips say how much it was."""
_ZOOMS = 60
"""Rounds from which on a reader may enlarge their chart."""
_PLACE = Format(str, "whole", "0")


class Timed(NamedTuple):
    """A block with its subject and its place in the race."""

    block: Block
    subject: str
    label: str = ""
    """What the select box calls the case, if there are several."""
    place: int = 0
    """Of the case in the bench."""


def blocks_table(rows: Sequence[Timed]) -> Table[Timed]:
    """A line per block."""
    return Table(_COLUMNS, rows)


def timed(cases: Mapping[str, Case]) -> list[Timed]:
    """All blocks of these cases, which have names."""
    named = enumerate(cases.items())
    return [
        Timed(block, each.name, label, place)
        for place, (label, case) in named
        for each in case.subjects
        for block in each.blocks
    ]


def _block(row: Timed) -> Block:
    return row.block


def _field(key: str, heading: str) -> Column[Timed]:
    read: Callable[[Block], int] = attrgetter(key)
    return Column(key, heading, lambda row: read(row.block), _PLACE)


_COLUMNS: list[Column[Timed]] = [
    Column("case", CASE, lambda row: row.place, _PLACE, text=lambda row: row.label),
    Column("name", "name", lambda row: row.subject, NAME),
    _field("round", "round"),
    _field("position", "place"),
    _field("launch", "launch"),
    _field("set_up", "set-up"),
    _field("calls", "calls")._replace(format=WHOLE),
    for_screens("time per call", lambda row: row.block.per_call_ns, NS),
    *(
        column.of(_block)
        for column in field_columns(
            Block,
            ("start_ns", "duration_ns", "quickest_ns", "cpu_ns", "span_ns", "free_pieces"),
            {"start_ns": WHOLE_NS},
        )
    ),
]


# ---------------------------------------------------------------- the chart


def sample_chart(cases: Mapping[str, Case]) -> list[Chart]:
    """Time per call of every block, by round, a color per subject."""
    number = sum(len(each.blocks) for case in cases.values() for each in case.subjects)
    if not number:
        return []
    subjects = sum(bool(each.blocks) for case in cases.values() for each in case.subjects)
    thinned = {label: _thinned(case, max(MOST_BLOCKS // subjects, 2)) for label, case in cases.items()}
    looks, rows = looks_of(cases.values()), timed(thinned)
    pictures = {label: _plot(case, looks) for label, case in thinned.items() if any(s.blocks for s in case.subjects)}
    summary = _summary(number, len(rows), [block for case in cases.values() for block in _longest(case)])
    return chosen_chart("Every block, by round", summary, pictures, blocks_table(rows), CASE)


def _summary(blocks: int, drawn: int, of_one: Sequence[Block]) -> str:
    thinned = "" if drawn == blocks else f", of which {grouped(drawn)} are shown: the extremes of neighbors"
    said = [f"Time per call in each of {count(blocks, 'block')}{thinned}."]
    if any(block.launch for block in of_one):
        said.append("Bands are launches of the processes.")
    if any(block.set_up for block in of_one):
        said.append("Dotted lines are new set-ups of their sessions.")
    return " ".join([*said, "Subjects of one round were measured right after each other."])


def _thinned(case: Case, most: int) -> Case:
    """At most so many blocks per subject: of neighbors the quickest and the slowest, so that no outlier is lost."""

    def few(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        if len(blocks) <= most:
            return blocks
        step = -(-2 * len(blocks) // most)
        parts = (blocks[start : start + step] for start in range(0, len(blocks), step))
        return tuple(block for part in parts for block in _extremes(part))

    return replace(case, subjects=tuple(replace(each, blocks=few(each.blocks)) for each in case.subjects))


def _extremes(blocks: Sequence[Block]) -> list[Block]:
    by_time = sorted(blocks, key=lambda block: block.per_call_ns)
    return sorted({by_time[0].round: by_time[0], by_time[-1].round: by_time[-1]}.values(), key=lambda each: each.round)


def _plot(case: Case, looks: Mapping[str, Look]) -> Plot:
    subjects = [each for each in case.subjects if each.blocks]
    times = [block.per_call_ns for each in subjects for block in each.blocks]
    y = axis_of("time per call", robust(times), time_unit([median(times)]))
    drawn = [_points(each, looks[each.name], y) for each in subjects]
    arrows = [mark for _, marks in drawn for mark in marks]
    if len(arrows) > _MOST_TEXTS:
        arrows = [replace(mark, text="") for mark in arrows]
    last = max(block.round for each in subjects for block in each.blocks)
    launches = [(key, list(blocks)) for key, blocks in groupby(_longest(case), key=lambda block: block.launch)]
    set_ups = [list(some) for _, some in groupby(_longest(case), key=lambda block: (block.launch, block.set_up))]
    ticks = tuple(tick for tick in linear_ticks(0, last) if tick[0].is_integer())
    return Plot(
        x=Axis("round", -0.5, last + 0.5, ticks=ticks),
        y=y,
        series=[series for series, _ in drawn],
        marks=arrows,
        spans=[
            PlotSpan(some[0].round - 0.5, some[-1].round + 0.5, label=f"launch {launch}")
            for place, (launch, some) in enumerate(launches)
            if place % 2
        ],
        edges=[
            *(Edge(some[0].round - 0.5, dash="solid") for _, some in launches[1:]),
            *(Edge(some[0].round - 0.5) for some in set_ups if some[0].set_up),
        ],
        zooms=last > _ZOOMS,
        tall=380,
    )


def _longest(case: Case) -> Sequence[Block]:
    """The blocks of the subject that has the most: it shows all launches and set-ups."""
    return max((each.blocks for each in case.subjects), key=len, default=())


def _points(subject: Subject, look: Look, y: Axis) -> tuple[Series, list[PlotMark]]:
    blocks = subject.blocks
    series = Series(
        name=name_of(subject.name),
        xs=[block.round for block in blocks],
        ys=[block.per_call_ns for block in blocks],
        color=look.color,
        symbol=look.symbol,
        shape="points",
        words=[_words(block) for block in blocks],
    )
    inside, arrows = clipped(series, y, [duration(block.per_call_ns) for block in blocks])
    return with_rounded(inside), arrows


def _words(block: Block) -> str:
    return (
        f"{duration(block.per_call_ns)} per call in {count(block.calls, 'call')}\n"
        f"round {block.round}, place {block.position}, launch {block.launch}, set-up {block.set_up}"
    )
