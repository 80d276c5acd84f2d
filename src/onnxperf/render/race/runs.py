"""Runs of the store as pages: the list, and two of them compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, tzinfo

from onnxperf.records.comparison import Comparison
from onnxperf.records.runs import COMMIT, ComparedSubject, KeptRun, KeptRuns, RunComparison
from onnxperf.render.charts.base import GREY, VERDICT_COLORS, Chart
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import (
    MOMENT,
    NAME,
    NS,
    TEXT,
    WHOLE,
    Column,
    Format,
    field_columns,
    for_files,
    for_screens,
)
from onnxperf.render.kit.comparison import STATUS_STYLES, Compared, comparison_columns
from onnxperf.render.kit.page import Heading, Line, Page, Part, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import dims_text, listed, name_of, shortened, visible, with_reasons
from onnxperf.wording.numbers import count, duration
from onnxperf.wording.spans import in_one, kind_of
from onnxperf.wording.verdicts import sign_of

MOST_SUBJECTS = 60
"""Subjects that the chart shows; the table has all."""
_DIM = 12
"""Room for the name of a dimension in a heading."""
_TOPIC = 24
"""Characters of what a run is about in the list, so that there is room for its answer."""
_COMMIT = 8
"""Characters of a commit in the list."""
_STYLES = {**STATUS_STYLES, "running": "cyan", "interrupted": "yellow"}
_SIZE = Format(str, "whole")


# ---------------------------------------------------------------- the list


def runs_page(record: KeptRuns, zone: tzinfo | None = None, today: date | None = None) -> Page:
    """A line per run, the newest first; times of day are those of the reader, and the year is named if it is past."""
    if not record.runs:
        return [Line(f"No run has {listed(record.chosen)}." if record.chosen else "No run was saved yet.")]
    return [runs_table(record, zone, today)]


def runs_table(record: KeptRuns, zone: tzinfo | None = None, today: date | None = None) -> Table[KeptRun]:
    """A line per run."""
    year = (today or datetime.now(zone)).year

    def moment(run: KeptRun) -> str:
        when = datetime.fromisoformat(run.started).astimezone(zone)
        return when.strftime("%m-%d %H:%M" if when.year == year else "%Y-%m-%d")

    columns: list[Column[KeptRun]] = [
        Column("id", "id", lambda run: run.id, NAME, style="bold"),
        Column("started", "when", lambda run: run.started, MOMENT, text=moment),
        Column("kind", "kind", lambda run: run.kind, TEXT, 60),
        *field_columns(KeptRun, ("record",)),
        Column("topic", "model", lambda run: run.topic, TEXT, room=16, text=_topic),
        Column("command", "command", lambda run: run.command, TEXT, 180, room=14, text=_command),
        for_screens("commit", lambda run: run.tags.get(COMMIT, "")[:_COMMIT], width=140),
        for_files("finished", lambda run: run.finished, MOMENT),
        Column("cases", "cases", lambda run: run.cases, WHOLE, 100, text=_cases),
        *field_columns(KeptRun, ("cases_done",)),
        for_files("status", lambda run: run.status, TEXT),
        Column("time_ns", "time", lambda run: run.time_ns, NS, 90),
        *field_columns(KeptRun, ("speedup", "verdict")),
        Column("answer", "answer", lambda run: run.answer, TEXT, room=14, cut=True, style=_style, text=_answer),
        *field_columns(KeptRun, ("options", "tags")),
    ]
    return Table(columns, record.runs)


def _command(run: KeptRun) -> str:
    return name_of(run.command.removeprefix("onnxperf ") or run.kind)


def _topic(run: KeptRun) -> str:
    """What was measured; of a run that was killed, what was typed for it."""
    if run.topic:
        return shortened(name_of(run.topic), _TOPIC)
    return next((word for word in _command(run).split()[1:] if not word.startswith("-")), "")


def _cases(run: KeptRun) -> str:
    """Nothing if there is only one."""
    if run.cases_done != run.cases:
        return f"{run.cases_done} of {run.cases}"
    return str(run.cases) if run.cases > 1 else ""


def _style(run: KeptRun) -> str:
    return _STYLES[run.status]


def _answer(run: KeptRun) -> str:
    """Behind the sign of its verdict, or the sign or the word of its status if that is not ok."""
    status = (
        sign_of(run.verdict)
        if run.status == "ok"
        else sign_of(run.status) or f"{run.status}:" * bool(run.answer) or run.status
    )
    return " ".join(filter(None, [status, visible(" ".join(run.answer.split()))]))


# ---------------------------------------------------------------- two of them


def comparison_page(comparison: RunComparison) -> Page:
    """The times of both runs, the verdicts on the second, and why; of many cases, the yardstick's are left out."""
    rows = _judged(comparison)
    table: list[Part] = [comparison_table(comparison, rows)]
    shown = comparison_charts(comparison) or table
    dims = dims_text(rows[0].dims) if rows and not _several(comparison) else ""
    return [
        Heading(f"{comparison.second} against {comparison.first}", [dims, "two runs, not measured in turn"]),
        Section("Speedups", shown),
        *answered(comparison.answer, [*comparison.notes, *_reasons(comparison.rows)], verdict=_verdict(comparison)),
    ]


def _verdict(comparison: RunComparison) -> str:
    """The verdict that all subjects share."""
    found = {row.verdict for row in comparison.rows} - {"baseline", None}
    return found.pop() or "" if len(found) == 1 else ""


def comparison_charts(comparison: RunComparison) -> list[Chart]:
    """Speedups of the second run over the first."""
    rows = _judged(comparison)
    ratios = [row for row in rows if row.speedup is not None]
    rest = len(ratios) - MOST_SUBJECTS
    summary = (
        f"Speedups of {count(len(ratios), 'subject')} in {comparison.second} over {comparison.first}, with 95 % "
        "intervals; right of 1 the second run is faster. The runs were not measured in turn."
    )
    summary += f" The {count(rest, 'last subject')} are only in the table." if rest > 0 else ""
    by = COMPARED._replace(
        name=_place,
        word=lambda row: _word(row) or "no verdict",
        axis=f"speedup of {comparison.second} over {comparison.first}",
    )
    table = comparison_table(comparison, rows)
    return forest_chart("Second run over first", summary, by, ratios[:MOST_SUBJECTS], table=table)


def subjects_table(comparison: RunComparison) -> Table[ComparedSubject]:
    """A row per subject that both runs have."""
    return comparison_table(comparison, comparison.rows)


def comparison_table(comparison: RunComparison, rows: Sequence[ComparedSubject]) -> Table[ComparedSubject]:
    """A line per subject, with the sizes of its case if there are several."""
    several = _several(comparison)
    dims = dict.fromkeys(dim for row in rows for dim in row.dims) if several else {}
    models = len({row.model for row in rows}) > 1
    renamed = any(row.first != row.second for row in rows)
    model: Column[ComparedSubject] = Column("model", "model", lambda row: row.model, TEXT, room=8)
    name, *others = comparison_columns(COMPARED)
    second: Column[ComparedSubject] = Column("second", "second run", lambda row: row.second, NAME, room=8)
    columns: list[Column[ComparedSubject]] = [
        model if models else for_files("model", model.value),
        for_files("dims", lambda row: dims_text(row.dims)),
        *(for_screens(shortened(name_of(dim), _DIM), _size(dim), _SIZE) for dim in dims),
        name._replace(heading="first run" if renamed else "subject", room=8, folds=False),
        second if renamed else for_files("second", second.value),
        *others,
    ]
    return Table(columns, rows)


def _size(dim: str) -> Callable[[ComparedSubject], int | None]:
    return lambda row: row.dims.get(dim)


def _several(comparison: RunComparison) -> bool:
    """Whether several cases are compared."""
    return len({(row.model, *row.dims.items()) for row in comparison.rows}) > 1


def _judged(comparison: RunComparison) -> Sequence[ComparedSubject]:
    """What is shown: of several cases, without the yardstick."""
    judged = [row for row in comparison.rows if row.verdict != "baseline"]
    return judged if judged and _several(comparison) else comparison.rows


def _word(row: ComparedSubject) -> str:
    return "yardstick" if row.verdict == "baseline" else row.verdict or ""


def _place(row: ComparedSubject) -> str:
    names = row.first if row.first == row.second else f"{row.first}, then {row.second}"
    return ", ".join(filter(None, [names, dims_text(row.dims)]))


COMPARED: Compared[ComparedSubject] = Compared(
    name=lambda row: row.first,
    of=lambda row: Comparison(
        ratio=row.speedup,
        low=row.speedup_low,
        high=row.speedup_high,
        verdict=row.verdict,
        reason=row.reason,
        before=row.first_ns,
        after=row.second_ns,
    ),
    word=_word,
    what="first",
    before=("first_ns", "first"),
    after=("second_ns", "second"),
    more=field_columns(ComparedSubject, ("yardstick",)),
    color=lambda row: VERDICT_COLORS.get(row.verdict or "", GREY),
    tooltip=lambda row: f"{duration(row.first_ns)} in the first run, {duration(row.second_ns)} in the second",
)


def _reasons(rows: Sequence[ComparedSubject]) -> list[str]:
    """Why verdicts are missing or weak, unless the answer has the only reason."""
    if len({row.reason for row in rows}) == 1:
        return []
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        alike.setdefault((row.second, kind_of(row.reason)), []).append(row.reason)
    return with_reasons((name, in_one(reasons)) for (name, _), reasons in alike.items())
