"""Runs on the terminal: the list, and two of them compared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from rich.console import Console
from rich.text import Text

from onnxperf.records.runs import ComparedSubject, KeptRun, RunComparison
from onnxperf.render.kit.console import drawn as fitted
from onnxperf.render.kit.old_console import print_end, print_heading, print_sheet
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import Marks, duration, interval, marks_for, ratio

_STATUS_STYLES = {"ok": "", "running": "cyan", "differs": "yellow", "interrupted": "yellow"}
_VERDICT_STYLES = {"faster": "green", "slower": "red", "undecided": "yellow"}
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


def print_runs(runs: Sequence[KeptRun], console: Console, zone: tzinfo | None = None) -> None:
    """A line per run, the newest first; times of day are those of the reader."""
    if not runs:
        console.print(Text("No run was kept yet."))
        return
    rows = [Row(_run_cells(run, zone), styles={0: "bold", 5: _STATUS_STYLES.get(run.status, "red")}) for run in runs]
    console.print(fitted(Table(_RUN_COLUMNS, rows), console.width, console.encoding))


def print_comparison(comparison: RunComparison, console: Console) -> None:
    """The times of both runs, what they say of the second, and why."""
    marks = marks_for(console.encoding)
    print_heading(f"{comparison.second} against {comparison.first}", ["two runs, not measured in turn"], console)
    rows = [_compared_row(row, marks) for row in comparison.rows]
    if rows:
        print_sheet("", without_empty(Table(_COMPARED_COLUMNS, rows)), console)
    reasons = dict.fromkeys(f"{name_of(row.second)}: {row.reason}" for row in comparison.rows if row.reason)
    alike = len({row.reason for row in comparison.rows}) == 1  # the answer says it once for all
    print_end(comparison.answer, [*comparison.notes, *(() if alike else reasons)], console)


def _run_cells(run: KeptRun, zone: tzinfo | None) -> tuple[str, ...]:
    when = datetime.fromisoformat(run.started).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    cases = "" if not run.cases else str(run.cases)
    if run.cases_done != run.cases:
        cases = f"{run.cases_done} of {run.cases}"
    return run.id, when, run.kind, run.command, cases, run.status, run.answer


def _compared_row(row: ComparedSubject, marks: Marks) -> Row:
    verdict = "yardstick" if row.verdict == "baseline" else row.verdict or marks.nothing
    cells = (
        name_of(row.first),
        name_of(row.second),
        dims_text(row.dims),
        duration(row.first_ns, marks),
        duration(row.second_ns, marks),
        ratio(row.speedup, marks),
        interval(row.speedup_low, row.speedup_high, marks),
        verdict,
    )
    return Row(cells, styles={7: _VERDICT_STYLES.get(verdict, "dim")})
