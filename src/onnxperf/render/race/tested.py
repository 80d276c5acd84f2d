"""The races of a test session as a page: a row per subject, and how each keeps to the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.records.comparison import Comparison
from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.column import TEXT, Column, for_screens
from onnxperf.render.kit.comparison import STATUS_STYLES, VERDICT_STYLES, Compared, comparison_columns
from onnxperf.render.kit.page import Page
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import dims_text

Kept = dict[str, str]
"""How the subjects of a case keep to the limit, by name: kept, exceeded or undecided."""


class _Row(NamedTuple):
    """A subject in a test; a case that failed as a whole has one without a name."""

    test: str
    """Empty below the first subject."""
    subject: Subject
    outcome: str
    alone: bool


def races_page(races: Sequence[tuple[Case, Kept]], limit: str) -> Page:
    """A row per subject of every race."""
    sizes = Counter(case.model for case, _ in races)
    rows = [row for case, kept in races for row in _rows(_place(case, sizes[case.model] > 1), case, kept)]
    test: Column[_Row] = for_screens("test", lambda row: row.test, TEXT, room=14)
    outcome: Column[_Row] = for_screens(
        f"limit {limit}", lambda row: row.outcome, style=lambda row: VERDICT_STYLES.get(row.outcome, "")
    )
    subject, *others = comparison_columns(_COMPARED)
    return [Table([test, subject._replace(format=TEXT, room=12), *others, outcome], rows)]


def undecided_in(races: Sequence[tuple[Case, Kept]]) -> int:
    """Comparisons without an outcome; without a verdict if there is no limit."""
    return sum(kept.get(each.name, each.verdict or "") == "undecided" for case, kept in races for each in case.subjects)


def _place(case: Case, is_one_of_several: bool) -> str:
    return f"{case.model} {dims_text(case.dims)}".rstrip() if is_one_of_several else case.model


def _rows(place: str, case: Case, kept: Kept) -> Iterable[_Row]:
    subjects = case.subjects or (Subject(name="", status=case.status),)
    for number, subject in enumerate(subjects):
        yield _Row("" if number else place, subject, kept.get(subject.name, ""), alone=len(case.subjects) == 1)


def _compared(row: _Row) -> Comparison:
    """The baseline is not compared with itself."""
    if row.subject.verdict in (None, "baseline"):
        return Comparison(after=row.subject.time_ns)
    return replace(Comparison.spelled(row.subject, "speedup"), after=row.subject.time_ns)


def _word(row: _Row) -> str:
    if row.subject.status != "ok":
        return row.subject.status
    return "" if row.alone else row.subject.verdict or ""


_COMPARED: Compared[_Row] = Compared(
    name=lambda row: row.subject.name,
    of=_compared,
    word=_word,
    what="subject",
    after=("time_ns", "time"),
    style=lambda row: VERDICT_STYLES.get(_word(row)) or STATUS_STYLES.get(_word(row), ""),
)
