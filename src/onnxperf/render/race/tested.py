"""The races of a test session as a page: a row per subject, and how each keeps to the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Part
from onnxperf.render.race.page import STATUS_STYLES, VERDICT_STYLES
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import duration, interval, ratio

Kept = dict[str, str]
"""How the subjects of a case keep to the limit, by name: kept, exceeded or undecided."""
_STYLES = {"kept": "green", "exceeded": "red", "undecided": "yellow"}


def races_page(races: Sequence[tuple[Case, Kept]], limit: str) -> list[Part]:
    """A row per subject of every race."""
    columns = (
        Column("test", left=True, room=22),
        Column("subject", left=True, room=12),
        Column("time", rank=2),
        Column("speedup"),
        Column("interval", rank=1),
        Column("verdict", left=True),
        Column(f"limit {limit}", left=True),
    )
    sizes = Counter(case.model for case, _ in races)
    rows = [row for case, kept in races for row in _rows(_place(case, sizes[case.model] > 1), case, kept)]
    return [without_empty(Table(columns, rows))]


def undecided_in(races: Sequence[tuple[Case, Kept]]) -> int:
    """Comparisons without an outcome; without a verdict, where there is no limit."""
    return sum(kept.get(each.name, each.verdict or "") == "undecided" for case, kept in races for each in case.subjects)


def _place(case: Case, is_one_of_several: bool) -> str:
    return f"{case.model} {dims_text(case.dims)}".rstrip() if is_one_of_several else case.model


def _rows(place: str, case: Case, kept: Kept) -> Iterable[Row]:
    if not case.subjects:
        yield Row((place, "", "", "", "", case.status, ""), styles={5: STATUS_STYLES.get(case.status, "red")})
    for subject in case.subjects:
        word = _word(case, subject)
        style = VERDICT_STYLES.get(word) or (STATUS_STYLES.get(word, "red") if word else "")
        outcome = kept.get(subject.name, "")
        yield Row((place, *_cells(subject), word, outcome), styles={5: style, 6: _STYLES.get(outcome, "")})
        place = ""


def _cells(subject: Subject) -> tuple[str, ...]:
    compared = subject.verdict not in (None, "baseline")
    return (
        subject.name,
        duration(subject.time_ns),
        ratio(subject.speedup) if compared else "",
        interval(subject.speedup_low, subject.speedup_high) if compared else "",
    )


def _word(case: Case, subject: Subject) -> str:
    if subject.status != "ok":
        return subject.status
    return subject.verdict or "" if len(case.subjects) > 1 else ""
