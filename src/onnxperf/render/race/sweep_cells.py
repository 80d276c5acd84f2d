"""What tables and charts of a sweep say about a subject in one case, and the select boxes that choose among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from onnxperf.records.comparison import Comparison
from onnxperf.records.race import Case
from onnxperf.records.sweep import NOT_RUN, Duel, SweepModel, dims_of, subject_in, time_interval, time_of, word_of
from onnxperf.render.charts.base import Chart, Filter, Layer
from onnxperf.render.kit.column import NAME, NS, Column, Format, for_screens
from onnxperf.render.kit.comparison import STATUS_STYLES
from onnxperf.render.kit.table import Table
from onnxperf.render.race.subjects import Look, looks_of
from onnxperf.wording.code import without_marks
from onnxperf.wording.names import dims_text, name_of, shortened, visible
from onnxperf.wording.numbers import duration

MODEL, RIVAL, SUBJECT = "model", "rival", "subject"
"""Names of select boxes; the columns of these values come first in the tables."""
MOST_PANELS = 12
"""Pictures of a chart that a file has; pages have all."""
SIZE = Format(str, "whole", "0")
_SPAN = Format(lambda ends: f"{duration(ends[0])} to {duration(ends[1])}", parts=("_low", "_high"))
_DIM = 12
"""Room for the name of a dimension in a heading."""


class Place(NamedTuple):
    """A subject of a case in a panel."""

    panel: str
    case: Case
    name: str

    @property
    def ns(self) -> float | None:
        """Its time."""
        return time_of(subject_in(self.case, self.name))

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval of its time."""
        return time_interval(subject_in(self.case, self.name))

    @property
    def word(self) -> str:
        """What stands in place of its time."""
        return word_of(self.case, subject_in(self.case, self.name))

    @property
    def reason(self) -> str:
        """Why it has no time."""
        subject = subject_in(self.case, self.name)
        return (subject.reason if subject is not None else self.case.answer) if self.word else ""

    @property
    def where(self) -> str:
        """Model and sizes."""
        return ", ".join(filter(None, [name_of(self.case.model), visible(dims_text(self.case.dims))]))

    @property
    def failure(self) -> str:
        """Its name, the word in place of its time, and why."""
        return (
            ": ".join(filter(None, [name_of(self.name), self.word, without_marks(visible(self.reason))]))
            if self.word
            else ""
        )

    def told(self, *lines: str) -> str:
        """Lines of a tooltip, between the model with its sizes and why a time is missing."""
        return "\n".join(filter(None, [self.where, *lines, self.failure]))


def looks_in(models: Sequence[SweepModel]) -> Mapping[str, Look]:
    """The color of each subject, the same in all charts."""
    return looks_of(case for each in models for case in each.cases)


def compared(duel: Duel) -> Comparison:
    """A comparison of two subjects as tables and charts show comparisons."""
    return Comparison(ratio=duel.speedup, low=duel.low, high=duel.high, verdict=duel.verdict, reason=duel.reason)


# ---------------------------------------------------------------- columns


def dim_columns(cases: Iterable[Case]) -> list[Column[Case]]:
    """A column per dimension."""
    return [_dim_column(dim) for dim in dims_of(list(cases))]


def _dim_column(dim: str) -> Column[Case]:
    return Column(dim, short_dim(dim), lambda case: case.dims.get(dim), SIZE)


def short_dim(dim: str) -> str:
    """The name of a dimension as headings have it."""
    return shortened(name_of(dim), _DIM)


def place_columns(what: str, places: Sequence[Place]) -> list[Column[Place]]:
    """Model, subject and sizes: what select boxes choose rows by."""
    return [
        for_screens(MODEL, lambda place: place.panel, NAME),
        for_screens(what, lambda place: place.name, NAME),
        *(column.of(lambda place: place.case) for column in dim_columns(place.case for place in places)),
    ]


REASON: Column[Place] = for_screens("why", lambda place: place.reason, room=20, folds=True)


def times_table(places: Sequence[Place]) -> Table[Place]:
    """The time of every subject in every case, with its interval, or why it has none."""
    columns: list[Column[Place]] = [
        *place_columns(SUBJECT, places),
        for_screens("time", lambda place: place.ns, NS),
        for_screens("95 % CI", lambda place: place.ends, _SPAN),
        for_screens("status", lambda place: place.word or "ok", style=lambda place: status_style(place.word)),
        REASON,
    ]
    return Table(columns, places)


def status_style(word: str) -> str:
    """How the word in place of a time is drawn."""
    return "dim" if word == NOT_RUN else STATUS_STYLES.get(word or "ok", "red")


# ---------------------------------------------------------------- select boxes


def boxed_chart(
    title: str, summary: str, layers: Sequence[Layer], boxes: Sequence[Filter], table: Table[Place], several: bool
) -> Chart:
    """A chart of which select boxes choose a layer: those of these boxes that have something to choose from.

    Of a sweep of `several` models, the title names that of a chart with a single one.
    """
    chosen = {box.name: [each.only[box.name] for each in layers if each.only.get(box.name)] for box in boxes}
    filled = [box._replace(values=list(dict.fromkeys(chosen[box.name]))) for box in boxes]
    offered = [box for box in filled if len(box.values) > 1]
    names = {box.name for box in offered}
    title = title if MODEL in names or not several else f"{title}, {layers[0].only[MODEL]}"
    kept = [layer._replace(only={key: each for key, each in layer.only.items() if key in names}) for layer in layers]
    return Chart(title, summary, kept, table, offered, on="page")


def panels_for(layers: Sequence[Layer], every: bool) -> tuple[Sequence[Layer], str]:
    """The layers of a page, or those of a file and a sentence about the others."""
    if every or len(layers) <= MOST_PANELS:
        return layers, ""
    return layers[:MOST_PANELS], f" Of {len(layers)} panels, the first {MOST_PANELS} are shown; the HTML page has all."
