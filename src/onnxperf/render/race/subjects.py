"""The subjects of races: one list of columns for screens and files, and how they are read as comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from onnxperf.records.comparison import Comparison
from onnxperf.records.race import Case, Split, Subject
from onnxperf.records.sweep import rate_unit
from onnxperf.render.charts.base import SUBJECT_COLORS, colors_of
from onnxperf.render.kit.column import (
    EXACT,
    FILES_ONLY,
    NAME,
    NS,
    RATE,
    TEXT,
    WHOLE_NS,
    Column,
    Format,
    field_columns,
    for_screens,
)
from onnxperf.render.kit.comparison import STATUS_STYLES, VERDICT_STYLES, Compared, interval_column, ratio_columns
from onnxperf.render.kit.figure import Figure, share_figure
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import NOTHING, duration, grouped, whole_percent
from onnxperf.wording.verdicts import faced

CASE = "case"
"""Name of the select box for the case, and heading of the first column of the tables behind it."""
ABOUT = "~"
"""Marks a percentile whose interval has an end that is further from it than this."""
_WIDE = 1.15
_SIGNS = "░█▒"
"""For preparing, computing and fetching."""


class Raced(NamedTuple):
    """A subject and its case; a case that failed as a whole has a subject without a name."""

    case: Case
    subject: Subject
    label: str = ""
    """What the select box calls the case, if there are several."""
    place: int = 0
    """Of the case among the others."""


def raced(cases: Mapping[str, Case]) -> list[Raced]:
    """Every subject of these cases, which have names; the fastest of a case first."""
    named = enumerate(cases.items())
    return [Raced(case, each, label, place) for place, (label, case) in named for each in ranked(case.subjects)]


def ranked(subjects: Iterable[Subject]) -> list[Subject]:
    """The fastest first, then those whose outputs differ, then those without a time."""
    return sorted(subjects, key=lambda each: (each.time_ns is None, each.status == "differs", each.time_ns or 0.0))


class Look(NamedTuple):
    """How a subject is drawn."""

    color: int
    symbol: int


def looks_of(cases: Iterable[Case]) -> dict[str, Look]:
    """A color for each subject, the same in all charts of these cases, and a symbol for those that share one."""
    colors = colors_of(each.name for case in cases for each in case.subjects)
    return {name: Look(color, place // len(SUBJECT_COLORS)) for place, (name, color) in enumerate(colors.items())}


def subject_of(row: Raced) -> Subject:
    """The subject of a row."""
    return row.subject


def subject_link(row: Raced) -> str:
    """What a row stands for elsewhere on a page: a subject, of a case if there are several."""
    subject = f"subject {name_of(row.subject.name)}"
    return f"{case_link(row.label)} | {subject}" if row.label else subject


def case_link(label: str) -> str:
    """What a case among others stands for on a page."""
    return f"case {label}"


COMPARED: Compared[Subject] = Compared(
    name=lambda subject: subject.name,
    of=lambda subject: Comparison.spelled(subject, "speedup"),
)
"""A subject against the baseline of its race."""


# ---------------------------------------------------------------- columns


def _field(key: str, heading: str, format: Format, width: int = 0) -> Column[Subject]:
    return Column(key, heading, attrgetter(key), format, width)


def _percentile(key: str, heading: str, width: int) -> Column[Subject]:
    def text(subject: Subject) -> str:
        return f"{ABOUT if is_uncertain(subject, key) else ''}{duration(getattr(subject, key))}"

    return _field(key, heading, NS, width)._replace(text=text)


def is_uncertain(subject: Subject, key: str) -> bool:
    """Whether a percentile is not known to 15 %."""
    value, low, high = (getattr(subject, key.replace("_ns", f"{end}_ns")) for end in ("", "_low", "_high"))
    return value is not None and low is not None and (high > _WIDE * value or low * _WIDE < value)


def _mean(subject: Subject) -> str:
    if subject.deviation_ns is None or not subject.mean_ns:
        return duration(subject.mean_ns)
    return f"{duration(subject.mean_ns)} ±{whole_percent(subject.deviation_ns / subject.mean_ns)}"


def _name_style(subject: Subject) -> str:
    return "bold" if subject.verdict == "baseline" else ""


def outcome_of(subject: Subject) -> str:
    """The verdict of a subject, or its status if that is not ok."""
    return (subject.verdict or "") if subject.status == "ok" else subject.status


def _outcome_style(subject: Subject) -> str:
    styles = VERDICT_STYLES if subject.status == "ok" else STATUS_STYLES
    return styles.get(outcome_of(subject), "" if subject.status == "ok" else "red")


def _if_comparable(text: Callable[[Subject], str], other: str = NOTHING) -> Callable[[Subject], str]:
    """The speed of what computes something else is not compared."""
    return lambda subject: text(subject) if subject.status != "differs" else other


_SHOWN = Compared(name=COMPARED.name, of=COMPARED.of, word=outcome_of, style=_outcome_style)
_RATIO, _WITHIN, _OUTCOME = ratio_columns(_SHOWN)
COLUMNS: list[Column[Subject]] = [
    Column("name", "name", COMPARED.name, NAME, style=_name_style, room=24, untitled=True),
    *field_columns(Subject, ("runtime", "call")),
    _field("time_ns", "time", NS),
    *field_columns(Subject, ("time_low_ns", "time_high_ns", "own_time_ns", "unsteady", "varies", "slow_launches")),
    _field("min_ns", "min", NS, 180),
    _percentile("median_ns", "p50", 78),
    *field_columns(Subject, ("median_low_ns", "median_high_ns")),
    _percentile("p90_ns", "p90", 180),
    *field_columns(Subject, ("p90_low_ns", "p90_high_ns")),
    _percentile("p99_ns", "p99", 80),
    *field_columns(Subject, ("p99_low_ns", "p99_high_ns")),
    _field("max_ns", "max", NS, 180),
    _field("items_per_s", "items/s", RATE, 98),
    _RATIO._replace(text=_if_comparable(_SHOWN.ratio_text)),
    _WITHIN._replace(text=_if_comparable(_SHOWN.interval_text, "")),
    _OUTCOME._replace(value=attrgetter("verdict")),
    *field_columns(Subject, ("status",)),
    *field_columns(Subject, ("reason",)),
    _field("cpu_ns", "CPU/call", NS, 120),
    _field("mean_ns", "mean", NS, 130)._replace(text=_mean),
    *field_columns(Subject, ("mean_low_ns", "mean_high_ns", "deviation_ns")),
    _field("load_ns", "load", WHOLE_NS, 139),
    _field("first_call_ns", "first", WHOLE_NS, 135),
    *field_columns(Subject, ("input_bytes",)),
]
"""All columns of subjects: a column added here appears on every screen and in every file.

Widths differ, so that columns disappear one by one if there is too little room.
"""


def _part(sign: str, name: str) -> Column[Subject]:
    def value(subject: Subject) -> float | None:
        return None if subject.split is None else getattr(subject.split, f"{name}_ns")

    def text(subject: Subject) -> str:
        if subject.split is None:
            return ""
        part = getattr(subject.split, f"{name}_ns")
        return f"{duration(part)} {whole_percent(_share(part, subject.split)):>5}"

    return Column(f"{name}_ns", f"{sign} {name}", value, NS, text=text)


def _bar(subject: Subject) -> Figure:
    split = subject.split
    return Figure() if split is None else share_figure(*(_share(getattr(split, f"{name}_ns"), split) for name in PARTS))


def _share(part_ns: float, split: Split) -> float:
    return part_ns / split.total_ns if split.total_ns else 0.0


PARTS = ("prepare", "compute", "fetch")
SPLIT_COLUMNS: list[Column[Subject]] = [
    *(_part(sign, name) for sign, name in zip(_SIGNS, PARTS, strict=True)),
    for_screens("parts", lambda _: None, width=80, untitled=True, figure=_bar, style="cyan"),
]
"""What a call is made of, with a bar."""

COUNT_COLUMNS: list[Column[Subject]] = [
    _field("instructions", "instructions", Format(grouped, excel="#,##0.0")),
    _field("instruction_ratio", "of baseline", EXACT),
    _field("instruction_verdict", "by instructions", TEXT)._replace(
        text=lambda subject: faced(subject.instruction_verdict or ""),
        style=lambda subject: VERDICT_STYLES.get(subject.instruction_verdict or "", ""),
    ),
]
"""Instructions of a call; one count each, so that their ratio has no interval."""


def values_of(subject: Subject) -> dict[str, object]:
    """All that files have of a subject, by the names of their columns."""
    found: dict[str, object] = {}
    for column in (*COLUMNS, *SPLIT_COLUMNS, *COUNT_COLUMNS):
        value = column.value(subject)
        several = column.format.parts and value is not None
        found |= zip(column.file_keys, value if several else [value] * len(column.file_keys), strict=True)
    return found


# ---------------------------------------------------------------- tables

CASE_COLUMN: Column[Raced] = for_screens(CASE, lambda row: row.label)


def subject_columns(rows: Sequence[Raced]) -> list[Column[Subject]]:
    """All columns of these subjects; files also have parts and instructions, if any."""
    divided = any(row.subject.split is not None for row in rows)
    counted = any(row.subject.instructions is not None for row in rows)
    rate = rate_unit([row.case for row in rows])
    return [
        *(each._replace(heading=rate) if each.key == "items_per_s" else each for each in COLUMNS),
        *(each._replace(width=FILES_ONLY) for each in (SPLIT_COLUMNS if divided else ())),
        *(each._replace(width=FILES_ONLY) for each in (COUNT_COLUMNS if counted else ())),
    ]


def race_table(rows: Sequence[Raced]) -> Table[Raced]:
    """A line per subject of one or several races; of subjects without rivals more of their times."""
    columns = subject_columns(rows)
    alone = all(row.subject.verdict in ("baseline", None) for row in rows)
    if alone:
        columns = [_ALONE[each.key](each) if each.key in _ALONE else each for each in columns]
    effect = max((row.case.min_effect or 0.0 for row in rows), default=0.0)
    forest = [] if alone else [interval_column(RACED, rows, effect)]
    return Table([CASE_COLUMN, *(column.of(subject_of) for column in columns), *forest], rows, link=subject_link)


def _from(width: int) -> Callable[[Column[Subject]], Column[Subject]]:
    return lambda column: column._replace(width=width)


def _status_only(column: Column[Subject]) -> Column[Subject]:
    return column._replace(text=lambda subject: "" if subject.status == "ok" else faced(subject.status))


_ALONE = {
    **dict.fromkeys(("median_ns", "p99_ns"), _from(0)),
    **dict.fromkeys(("p90_ns", "cpu_ns", "items_per_s"), _from(79)),
    "speedup": _from(FILES_ONLY),
    "verdict": _status_only,
}
"""What changes in columns if nothing is compared."""
RACED: Compared[Raced] = Compared(name=lambda row: row.subject.name, of=lambda row: COMPARED.of(row.subject))


def part_table(rows: Sequence[Raced], columns: Iterable[Column[Subject]], title: str = "") -> Table[Raced]:
    """The names of subjects with a few columns, at any width."""
    name = COLUMNS[0]._replace(room=18, style="")
    return Table([CASE_COLUMN, name.of(subject_of), *(column.of(subject_of) for column in columns)], rows, title)
