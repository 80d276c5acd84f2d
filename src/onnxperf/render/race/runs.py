"""Runs of the store as pages: the list, and two of them compared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, tzinfo

from onnxperf.records.runs import COMMIT, ComparedSubject, KeptRun, KeptRuns, RunComparison
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Heading, Line, Part, closing
from onnxperf.render.race.page import VERDICT_STYLES
from onnxperf.wording.names import dims_text, listed, name_of, shortened, with_reasons
from onnxperf.wording.numbers import NOTHING, duration, interval, ratio
from onnxperf.wording.spans import in_one, kind_of

_DIM = 12
"""Room for the name of a dimension in a heading."""
_STATUS_STYLES = {"ok": "", "running": "cyan", "differs": "yellow", "interrupted": "yellow"}
_RUN_COLUMNS = (
    Column("id", left=True),
    Column("when", left=True),
    Column("kind", left=True, rank=1),
    Column("model", left=True, room=10),
    Column("command", left=True, rank=3, room=14),
    Column("commit", left=True, rank=4),
    Column("cases", rank=2),
    Column("status", left=True),
    Column("answer", left=True, room=22, cut=True),
)
_COMMIT = 8
"""Characters of a commit in the list."""
_STATUS = 7
"""Place of the status."""


def runs_page(record: KeptRuns, zone: tzinfo | None = None, today: date | None = None) -> list[Part]:
    """A line per run, the newest first; times of day are those of the reader, and the year is named if it is past."""
    if not record.runs:
        return [Line(f"No run has {listed(record.chosen)}." if record.chosen else "No run was kept yet.")]
    year = (today or datetime.now(zone)).year
    styles = ({0: "bold", _STATUS: _STATUS_STYLES.get(run.status, "red")} for run in record.runs)
    rows = [Row(_run_cells(run, zone, year), styles=style) for run, style in zip(record.runs, styles, strict=True)]
    return [without_empty(Table(_RUN_COLUMNS, rows))]


def comparison_page(comparison: RunComparison) -> list[Part]:
    """The times of both runs, the verdicts on the second, and why; of many cases, the yardstick's are left out."""
    cases = {(row.model, *row.dims.items()) for row in comparison.rows}
    judged = [row for row in comparison.rows if row.verdict != "baseline"]
    rows = judged if judged and len(cases) > 1 else comparison.rows
    dims = dims_text(rows[0].dims) if rows and len(cases) == 1 else ""
    return [
        Heading(f"{comparison.second} against {comparison.first}", [dims, "two runs, not measured in turn"]),
        *([_compared_table(rows, len(cases) > 1)] if rows else []),
        *closing(comparison.answer, [*comparison.notes, *_reasons(comparison.rows)]),
    ]


def _reasons(rows: Sequence[ComparedSubject]) -> list[str]:
    """Why verdicts are missing or weak, unless the answer has the only reason."""
    if len({row.reason for row in rows}) == 1:
        return []
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        alike.setdefault((row.second, kind_of(row.reason)), []).append(row.reason)
    return with_reasons((name, in_one(reasons)) for (name, _), reasons in alike.items())


def _run_cells(run: KeptRun, zone: tzinfo | None, year: int) -> tuple[str, ...]:
    when = datetime.fromisoformat(run.started).astimezone(zone)
    moment = when.strftime("%m-%d %H:%M" if when.year == year else "%Y-%m-%d")
    cases = "" if not run.cases else str(run.cases)
    if run.cases_done != run.cases:
        cases = f"{run.cases_done} of {run.cases}"
    command = run.command.removeprefix("onnxperf ") or run.kind
    # A run that was killed, or that an older version kept, has at least what was typed.
    topic = run.topic or next((word for word in command.split()[1:] if not word.startswith("-")), "")
    commit = run.tags.get(COMMIT, "")[:_COMMIT]
    return run.id, moment, run.kind, topic, command, commit, cases, run.status, run.answer


def _compared_table(rows: Sequence[ComparedSubject], several: bool) -> Table:
    """A line per subject, with the sizes of its case where there are several."""
    dims = list(dict.fromkeys(name for row in rows for name in row.dims)) if several else []
    models = len({row.model for row in rows}) > 1
    renamed = any(row.first != row.second for row in rows)
    columns = [
        Column("model", left=True, room=8),
        *(Column(shortened(name_of(dim), _DIM)) for dim in dims),
        Column("first run" if renamed else "subject", left=True, room=8),
        Column("second run", left=True, room=8),
        *(Column(heading) for heading in ("first", "second", "speedup")),
        Column("95 % interval", rank=1),
        Column("verdict", left=True),
    ]
    drawn = [_compared_row(row, dims, name_of(row.model) if models else "", renamed) for row in rows]
    return without_empty(Table(columns, drawn))


def _compared_row(row: ComparedSubject, dims: Sequence[str], model: str, renamed: bool) -> Row:
    verdict = "yardstick" if row.verdict == "baseline" else row.verdict or NOTHING
    cells = (
        model,
        *(str(row.dims.get(dim, "")) for dim in dims),
        name_of(row.first),
        name_of(row.second) if renamed else "",
        duration(row.first_ns),
        duration(row.second_ns),
        ratio(row.speedup),
        interval(row.speedup_low, row.speedup_high),
        verdict,
    )
    return Row(cells, styles={len(cells) - 1: VERDICT_STYLES.get(verdict, "dim")})
