"""Runs of the store as pages: the list, and two of them compared."""

from __future__ import annotations

from datetime import datetime, tzinfo

from onnxperf.records.runs import ComparedSubject, KeptRun, KeptRuns, RunComparison
from onnxperf.render.kit.page import Heading, Line, Part, closing
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.render.race.page import VERDICT_STYLES
from onnxperf.wording.names import dims_text, name_of, with_reasons
from onnxperf.wording.numbers import NOTHING, duration, interval, ratio

_STATUS_STYLES = {"ok": "", "running": "cyan", "differs": "yellow", "interrupted": "yellow"}
_RUN_COLUMNS = (
    Column("id", left=True),
    Column("when", left=True),
    Column("kind", left=True, rank=3),
    Column("command", left=True, room=14),
    Column("cases", rank=1),
    Column("status", left=True),
    Column("answer", left=True, rank=2, room=16),
)
_COMPARED_COLUMNS = (
    Column("first run", left=True, room=12),
    Column("second run", left=True, room=12),
    Column("dims", left=True, rank=2, room=12),
    Column("first"),
    Column("second"),
    Column("speedup"),
    Column("95 % interval", rank=1),
    Column("verdict", left=True),
)


def runs_page(record: KeptRuns, zone: tzinfo | None = None) -> list[Part]:
    """A line per run, the newest first; times of day are those of the reader."""
    if not record.runs:
        return [Line("No run was kept yet.")]
    styles = ({0: "bold", 5: _STATUS_STYLES.get(run.status, "red")} for run in record.runs)
    rows = [Row(_run_cells(run, zone), styles=style) for run, style in zip(record.runs, styles, strict=True)]
    return [Table(_RUN_COLUMNS, rows)]


def comparison_page(comparison: RunComparison) -> list[Part]:
    """The times of both runs, the verdicts on the second, and why."""
    heading = Heading(f"{comparison.second} against {comparison.first}", ["two runs, not measured in turn"])
    rows = [_compared_row(row) for row in comparison.rows]
    reasons = with_reasons(dict.fromkeys((row.second, row.reason) for row in comparison.rows))
    alike = len({row.reason for row in comparison.rows}) == 1  # the answer has it once for all
    return [
        heading,
        *([without_empty(Table(_COMPARED_COLUMNS, rows))] if rows else []),
        *closing(comparison.answer, [*comparison.notes, *(() if alike else reasons)]),
    ]


def _run_cells(run: KeptRun, zone: tzinfo | None) -> tuple[str, ...]:
    when = datetime.fromisoformat(run.started).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    cases = "" if not run.cases else str(run.cases)
    if run.cases_done != run.cases:
        cases = f"{run.cases_done} of {run.cases}"
    command = run.command.removeprefix("onnxperf ") or run.kind
    return run.id, when, run.kind, command, cases, run.status, run.answer


def _compared_row(row: ComparedSubject) -> Row:
    verdict = "yardstick" if row.verdict == "baseline" else row.verdict or NOTHING
    cells = (
        name_of(row.first),
        name_of(row.second),
        dims_text(row.dims),
        duration(row.first_ns),
        duration(row.second_ns),
        ratio(row.speedup),
        interval(row.speedup_low, row.speedup_high),
        verdict,
    )
    return Row(cells, styles={7: VERDICT_STYLES.get(verdict, "dim")})
