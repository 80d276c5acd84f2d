"""Who is faster where in a sweep: a cell per case, colored by verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from onnxperf.records.race import Case
from onnxperf.records.sweep import Duel, SweepModel, SweepPanel, SweepRow, subject_in, subjects_of, values_of, word_of
from onnxperf.render.charts.base import GREY, Chart, Filter, Layer
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.kit.column import NAME, Column, for_screens
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.table import Table
from onnxperf.render.race.sections import links_in
from onnxperf.render.race.subjects import looks_of
from onnxperf.render.race.sweep_cells import (
    MODEL,
    RIVAL,
    Place,
    boxed_chart,
    compared,
    looks_in,
    panels_for,
    place_columns,
)
from onnxperf.render.race.sweep_matrix import FULL, MOST_ROWS, Frame, Looks, cases_text, frames_of, over_two, places_of
from onnxperf.wording.code import without_marks
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import NOTHING, count, interval, ratio
from onnxperf.wording.spans import in_one, kind_of

WHO_WINS = "Who is faster where"
_EVERYBODY = "all: who wins"
_DECIDED, _UNDECIDED, _EQUAL = FULL, 0.3, 0.12
"""Strengths of the color of who is faster: proven, or only seen; and of gray, which means equal."""
_MOST_REASONS, _REASON = 3, 72
"""Reasons in a legend, and their characters."""


class _Judged(NamedTuple):
    """A case, and the baseline of most cases of its model."""

    row: SweepRow
    baseline: str

    def duel(self, name: str) -> Duel:
        """A subject against that baseline; without a speedup, why there is none."""
        found = self.row.duels.get(name)
        if found is not None and (found.speedup is None or self.row.against == self.baseline):
            return found
        case = self.row.case
        words = (word_of(case, subject_in(case, each)) for each in (name, self.baseline))
        return Duel(None, None, next(filter(None, words), NOTHING))


Judge = Callable[[Case, str], Duel]
Links = Mapping[int, str]
"""What cases stand for on a page, by their ids."""


def _judged_in(models: Sequence[SweepModel]) -> dict[int, _Judged]:
    """What was concluded about each case, by its id."""
    return {id(row.case): _Judged(row, each.baseline or "") for each in models for row in each.rows}


def map_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel], every: bool = False) -> list[Chart]:
    """Speedups against the baseline, colored by verdict.

    A file shows the usual rival of each panel; `every` rival, and who wins among several, are on a page.
    """
    judged, looks = _judged_in(models), looks_in(models)

    def rivals(panel: SweepPanel) -> list[str]:
        baseline = judged[id(panel.cases[0])].baseline
        return [name for name in subjects_of(panel.cases) if name != baseline]

    def shown(panel: SweepPanel) -> Sequence[str]:
        usual = [name for name in panel.pair or () if name in rivals(panel)][-1:]
        others = [name for name in rivals(panel) if name not in usual]
        return [*usual, *others] if every or len(panel.dims) < 2 else usual

    def judge(case: Case, name: str) -> Duel:
        return judged[id(case)].duel(name)

    frames = [frame for frame in frames_of(panels, shown) if _is_compared(frame, judge)]
    if not frames:
        return []
    links = links_in([row.case for each in models for row in each.rows])
    layers = [
        Layer(_duel_map(frame, judge, _baseline_of(frame, judged), looks, links), frame.only(RIVAL)) for frame in frames
    ]
    several = every and len({frame.name for frame in frames} - {None}) > 1
    if several:
        maps = {frame.panel: frame for frame in frames if frame.name is not None}
        layers += [
            Layer(_winner_map(each, judged, looks, links), {MODEL: each.panel, RIVAL: ""}) for each in maps.values()
        ]
    drawn, rest = panels_for(layers, every)
    boxes = [Filter(MODEL, (), 0), Filter(RIVAL, (), 1, _EVERYBODY if several else "")]
    against = {_baseline_of(frame, judged) for frame in frames}
    summary = _map_summary(frames, judge, against) + rest
    table = duels_table(places_of(frames), lambda place: _in_row(place, judged[id(place.case)].row))
    return [boxed_chart(_map_title(frames, against), summary, drawn, boxes, table, len(models) > 1)]


def crossover_charts(panel: SweepPanel) -> list[Chart]:
    """A map of two subjects over two dimensions of a model."""
    if panel.pair is None:
        raise AssertionError("a map compares two subjects")
    baseline, rival = panel.pair
    down, across = panel.dims

    def judge(case: Case, _name: str) -> Duel:
        return panel.duels[case.dims[down], case.dims[across]]

    frame, against = over_two(panel, rival), {baseline}
    layer = Layer(_duel_map(frame, judge, baseline, looks_of(panel.cases), {}))
    table = duels_table(places_of([frame]), lambda place: (judge(place.case, rival), baseline))
    return [Chart(_map_title([frame], against), _map_summary([frame], judge, against), [layer], table)]


def suits_map(panel: SweepPanel) -> bool:
    """Whether a panel has two dimensions and two subjects that were compared, and not too many sizes."""
    return (
        len(panel.dims) == 2
        and any(duel.speedup for duel in panel.duels.values())
        and max(len(values_of(panel.cases, dim)) for dim in panel.dims) <= MOST_ROWS
    )


def _is_compared(frame: Frame, judge: Judge) -> bool:
    return any(judge(cell.place.case, cell.place.name).speedup for cell in frame.cells)


def _baseline_of(frame: Frame, judged: Mapping[int, _Judged]) -> str:
    return judged[id(frame.cells[0].place.case)].baseline


def _map_title(frames: Sequence[Frame], against: Iterable[str]) -> str:
    rivals, baselines = {place.name for place in places_of(frames)}, set(against)
    if len(rivals) > 1 or len(baselines) > 1:
        return WHO_WINS
    return f"Speedup of {name_of(*rivals)} against {name_of(*baselines)}"


def _what(frames: Sequence[Frame], against: Iterable[str]) -> str:
    title, baselines = _map_title(frames, against), list(against)
    base = name_of(baselines[0]) if len(baselines) == 1 else "the baseline"
    return title if title != WHO_WINS else f"Speedups against {base}"


def _map_summary(frames: Sequence[Frame], judge: Judge, against: Iterable[str]) -> str:
    places = places_of(frames)
    verdicts = Counter(judge(place.case, place.name).verdict or "not compared" for place in places)
    found = ", ".join(f"{number} {word}" for word, number in verdicts.most_common())
    summary = (
        f"{_what(frames, against)} in {cases_text(frames)}, with 95 % CI: {found}. "
        "Cells have the color of who is faster, strong if that is proven and pale if it is undecided."
    )
    if "not compared" in verdicts:
        summary += " Cells with a word have no time."
    return summary + (" Thick lines are where the winner changes." if any(frame.is_map for frame in frames) else "")


# ---------------------------------------------------------------- the pictures


def _duel_map(frame: Frame, judge: Judge, baseline: str, looks: Looks, links: Links) -> Matrix:
    """Every subject against the baseline."""
    said = []
    for place in (cell.place for cell in frame.cells):
        duel = judge(place.case, place.name)
        winner = {"faster": place.name, "slower": baseline}.get(duel.verdict or "")
        leading = place.name if (duel.speedup or 1.0) > 1 else baseline
        said.append(_Said(winner, leading, duel, ratio(duel.speedup), _duel_words(place, duel, baseline)))
    found = {each.winner for each in said}
    # Of two subjects, both are named even if neither wins.
    names = [name for name in looks if name in found] if frame.name is None else [frame.name, baseline]
    legend = [MatrixLegend(f"{name_of(name)} is faster", looks[name].color, FULL) for name in names]
    duels = [each.duel for each in said]
    if any(duel.verdict == "equivalent" for duel in duels):
        legend.append(MatrixLegend("equally fast", GREY, _EQUAL))
    legend += [MatrixLegend(text, _pale(said, looks), _UNDECIDED) for text in _undecided_texts(duels)]
    if any(not duel.speedup for duel in duels):
        legend.append(MatrixLegend("not compared", failed=True))
    return frame.matrix(_cells(frame, said, looks, links), legend)


def _winner_map(frame: Frame, judged: Mapping[int, _Judged], looks: Looks, links: Links) -> Matrix:
    """Who wins in each case."""
    rows = [judged[id(cell.place.case)].row for cell in frame.cells]
    said = [
        _Said(row.winner, _leader(row), row.duel, name_of(row.winner or ""), _winner_words(cell.place, row))
        for cell, row in zip(frame.cells, rows, strict=True)
    ]
    won = {row.winner for row in rows}
    legend = [MatrixLegend(f"{name_of(name)} wins", look.color, FULL) for name, look in looks.items() if name in won]
    legend += [MatrixLegend("no winner", _pale(said, looks), _UNDECIDED)] if None in won else []
    return frame.matrix(_cells(frame, said, looks, links), legend)


def _leader(row: SweepRow) -> str:
    """The subject with the shortest time."""
    timed = [each for each in row.case.subjects if each.time_ns is not None]
    return min(timed, key=lambda each: each.time_ns or 0.0).name if timed else ""


class _Said(NamedTuple):
    """What a cell says: who wins, by which comparison, in a word or two, and in its tooltip."""

    winner: str | None
    leading: str
    """Who seems faster, whether that is proven or not."""
    duel: Duel
    text: str
    words: str


def _cells(frame: Frame, said: Sequence[_Said], looks: Looks, links: Links) -> list[MatrixCell]:
    winners = {(cell.row, cell.column): each.winner for cell, each in zip(frame.cells, said, strict=True)}
    return [
        MatrixCell(
            row=cell.row,
            column=cell.column,
            words=each.words,
            key=links.get(id(cell.place.case), ""),
            **_look(each, looks),
            **frame.edges(cell, winners),
        )
        for cell, each in zip(frame.cells, said, strict=True)
    ]


def _look(said: _Said, looks: Looks) -> dict[str, Any]:
    duel = said.duel
    if not duel.speedup:
        return {"text": duel.word or NOTHING, "failed": True}
    small = interval(duel.low, duel.high) if duel.low is not None else ""
    if said.winner is not None:
        color = looks[said.winner].color
        return {"text": said.text, "small": small, "color": color, "strength": _DECIDED, "bold": True}
    if duel.verdict == "equivalent":
        return {"text": ratio(duel.speedup), "small": small, "strength": _EQUAL}
    color = looks[said.leading].color
    return {"text": f"{ratio(duel.speedup)} ?", "small": small, "color": color, "strength": _UNDECIDED}


def _pale(said: Sequence[_Said], looks: Looks) -> int:
    """The color of what is undecided: that of who seems faster, gray if that is not always the same."""
    leading = {each.leading for each in said if each.winner is None and each.duel.verdict == "undecided"}
    return looks[leading.pop()].color if len(leading) == 1 else GREY


def _duel_words(place: Place, duel: Duel, baseline: str) -> str:
    lines = [f"{name_of(place.name)} against {name_of(baseline)}"]
    if duel.speedup:
        lines.append(f"{ratio(duel.speedup)} {duel.verdict or ''}")
        lines += [f"95 % CI {interval(duel.low, duel.high)}"] if duel.low is not None else []
        lines += [without_marks(visible(duel.reason))] if duel.verdict == "undecided" else []
    elif not place.word:
        lines.append(place._replace(name=baseline).failure)
    return place.told(*lines)


def _winner_words(place: Place, row: SweepRow) -> str:
    wins = "no winner" if row.winner is None else f"{name_of(row.winner)} wins"
    if row.rival is None:
        return place.told(wins)
    return f"{_duel_words(place._replace(name=row.rival), row.duel, row.against or '')}\n{wins}"


def _undecided_texts(duels: Iterable[Duel]) -> list[str]:
    """Why cells are undecided, the most frequent reason first."""
    found: dict[str, list[str]] = {}
    for duel in duels:
        if duel.verdict == "undecided":
            found.setdefault(kind_of(duel.reason), []).append(duel.reason)
    reasons = sorted(found.values(), key=len, reverse=True)
    texts = [
        f"? undecided in {count(len(alike), 'cell')}: {shortened(without_marks(visible(in_one(alike))), _REASON)}"
        for alike in reasons[:_MOST_REASONS]
    ]
    rest = sum(map(len, reasons[_MOST_REASONS:]))
    return [*texts, f"? undecided in {count(rest, 'cell')} for other reasons"] if rest else texts


# ---------------------------------------------------------------- the table of duels


def duels_table(places: Sequence[Place], judged: Callable[[Place], tuple[Duel, str | None]]) -> Table[Place]:
    """Every rival in every case against its baseline, with the reason if that is undecided or missing."""
    by = Compared[Place](
        name=lambda place: place.name,
        of=lambda place: compared(judged(place)[0]),
        word=lambda place: judged(place)[0].verdict or judged(place)[0].word,
    )
    columns: list[Column[Place]] = [
        *place_columns(RIVAL, places),
        for_screens("against", lambda place: judged(place)[1], NAME),
        *ratio_columns(by),
        for_screens("why", lambda place: place.reason or judged(place)[0].reason, room=20, folds=True),
    ]
    return Table(columns, places)


def _in_row(place: Place, row: SweepRow) -> tuple[Duel, str | None]:
    return row.duels.get(place.name) or Duel(None, None, place.word), row.against
