"""A sweep on the terminal: a flat table per model, matrices, what is missing and why, where the winner changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.text import Text

from onnxperf.records import Bench, Case
from onnxperf.render.kit.console import drawn as fitted
from onnxperf.render.kit.old_console import print_end, print_heading, print_sheet
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.render.race import sweep_grid as grid
from onnxperf.render.race.console import CPU_DECORATION, print_bench
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import UNICODE, Marks, duration, interval, marks_for, ratio

MAX_LINES = 20
"""Lines of reasons or notes before the rest becomes a number."""
_GAP = 2
_NAME = 18
_DIM = 12
"""Room for the name of a subject, and for that of a dimension, in a heading."""
_STATUS_STYLES = {"differs": "yellow", "skipped": "dim", "pending": "dim", "running": "dim", grid.NOT_RUN: "dim"}
_VERDICT_STYLES = {"faster": "green", "slower": "red", "equivalent": "dim", "undecided": "yellow", "baseline": "dim"}
_WINNER = "bold green"


def print_sweep(bench: Bench, console: Console, all_cases: bool = False) -> None:
    """Heading, a row per case, matrices, reasons and crossovers; with `all_cases` every race in full below."""
    groups = grid.by_model(bench.cases)
    print_heading(", ".join(map(name_of, groups)), sweep_facts(bench), console)
    marks = marks_for(console.encoding)
    for model, cases in groups.items():
        title = flat_title(cases, model if len(groups) > 1 else "")
        _print_group(visible(title, console.encoding), cases, console, marks)
    if any(case.interrupted for case in bench.cases):
        console.print()
        console.print(Text("Interrupted: this is what was measured until then.", style="yellow"))
    print_end("", note_lines(bench.cases), console)
    if all_cases and bench.cases:
        console.print()
        print_bench(bench, console)


def print_cells(keys: Sequence[str], seconds: float, console: Console) -> None:
    """The cases of a sweep that is not run, and how long it would take."""
    for key in keys:
        console.print(Text(visible(key, console.encoding), overflow="fold"))
    if keys:
        console.print()
    console.print(Text(f"{_count(len(keys), 'case')}, about {about(seconds)}", style="bold"))


def about(seconds: float) -> str:
    """A rough time in whole seconds, minutes, or hours and minutes."""
    if not math.isfinite(seconds):
        return "an unknown time"
    if seconds < 90:
        return f"{max(math.ceil(seconds), 0)} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


# ---------------------------------------------------------------- sheets, which HTML shows as well


def sweep_facts(bench: Bench) -> list[str]:
    """How many cases, and what they ran on."""
    subjects = [subject for case in bench.cases for subject in case.subjects]
    threads = {subject.conditions["threads"] for subject in subjects if "threads" in subject.conditions}
    facts = [_count(len(bench.cases), "case"), CPU_DECORATION.sub("", bench.machine.cpu)]
    if len(threads) == 1:
        count = threads.pop()
        facts.append(f"{count} thread" if count == 1 else f"{count} threads")
    raced = {subject.runtime for subject in subjects}
    versions = bench.machine.versions.items()
    return facts + [f"{name} {text}" for name, text in versions if name.startswith("onnxruntime") or name in raced]


def flat_title(cases: Sequence[Case], model: str = "") -> str:
    """What the flat table shows: whose speedup, and against whom."""
    baseline = grid.usual_baseline(cases)
    rivals = [name for name in grid.subjects_of(cases) if name != baseline]
    who = f"of {name_of(rivals[0])}" if len(rivals) == 1 else "of the best rival"
    compared = f", speedup {who} against {name_of(baseline)}" if rivals and baseline is not None else ""
    return f"{name_of(model)}: median time per call{compared}" if model else f"Median time per call{compared}"


def flat_sheet(cases: Sequence[Case], marks: Marks = UNICODE, subjects: Sequence[str] | None = None) -> Table:
    """A row per case: its dimensions, the time of each subject, and how the best rival does against the baseline."""
    return _joined(_dims_sheet(cases), _times_sheet(cases, subjects, marks), _verdict_sheet(cases, marks))


def matrix_sheet(cases: Sequence[Case], subject: str, marks: Marks = UNICODE) -> Table | None:
    """The times of one subject over two dimensions; none where not exactly two of them vary."""
    dims = grid.varying(cases)
    if len(dims) != 2:
        return None
    across = grid.values_of(cases, dims[1])
    heading = _short(dims[1], _DIM)
    columns = [Column(_short(dims[0], _DIM)), *(Column(f"{heading}={size}") for size in across)]
    cells = grid.cells_of(cases, *dims)
    rows = []
    for size in grid.values_of(cases, dims[0]):
        shown = [_time(cells.get((size, other)), subject, marks) for other in across]
        styles = {place: style for place, (_, style) in enumerate(shown, start=1) if style}
        rows.append(Row([str(size), *(text for text, _ in shown)], styles=styles))
    return Table(columns, rows)


def reason_lines(cases: Sequence[Case]) -> list[str]:
    """Why cells are blank: `batch=16 seq=500: torch oom: needed 9 GiB`; equal reasons share a line."""
    places: dict[str, list[str]] = {}
    for case in cases:
        for reason in _reasons(case):
            places.setdefault(reason, []).append(grid.place_of(case))
    lines = [": ".join(filter(None, [", ".join(filter(None, where)), reason])) for reason, where in places.items()]
    return _limited(lines, "reason")


def crossover_lines(cases: Sequence[Case]) -> list[str]:
    """For each rival of the baseline: where which of the two is faster."""
    baseline = grid.usual_baseline(cases)
    if baseline is None:
        return []
    rivals = [name for name in grid.subjects_of(cases) if name != baseline]
    lines = []
    for rival in rivals:
        texts = grid.crossover_texts(cases, baseline, rival)
        several = len(rivals) > 1
        # Several sentences about one of several rivals stand below its name.
        if several and len(texts) > 1:
            lines += [f"{name_of(rival)} against {name_of(baseline)}:", *(f"  {text}" for text in texts)]
        else:
            lines += [f"{name_of(rival)} against {name_of(baseline)}: {text}" if several else text for text in texts]
    return lines


def note_lines(cases: Sequence[Case]) -> list[str]:
    """What a reader must know, each note once, with its number of cases where it is not true of all."""
    counts: dict[str, int] = {}
    for note in (note for case in cases for note in dict.fromkeys(case.notes)):
        counts[note] = counts.get(note, 0) + 1
    return _limited(
        [note if count == len(cases) else f"{note} ({_count(count, 'case')})" for note, count in counts.items()], "note"
    )


def live_table(cases: Sequence[Case], console: Console) -> RenderableType:
    """The cases so far, as a table that fills in."""
    marks = marks_for(console.encoding)
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.model, []).append(case)
    parts: list[RenderableType] = []
    for model, members in groups.items():
        parts.append(Text(name_of(model, console.encoding), style="bold"))
        for sheet in _flat_parts(members, console.width, marks):
            parts.append(fitted(_escaped(sheet, console.encoding), console.width, console.encoding))
    return Group(*parts)


# ---------------------------------------------------------------- one model


def _print_group(title: str, cases: Sequence[Case], console: Console, marks: Marks) -> None:
    sheets = _flat_parts(cases, console.width, marks)
    for number, sheet in enumerate(sheets):
        print_sheet(title if number == 0 else "", _escaped(sheet, console.encoding), console)
    for name in grid.subjects_of(cases):
        matrix = matrix_sheet(cases, name, marks)
        if matrix is not None and _width(matrix) <= console.width:
            print_sheet(
                f"{name_of(name, console.encoding)}, time per call", _escaped(matrix, console.encoding), console
            )
    reasons = reason_lines(cases)
    if reasons:
        console.print()
    for line in reasons:
        console.print(Text(visible(line, console.encoding)))
    answers = crossover_lines(cases)
    if answers:
        console.print()
    for line in answers:
        console.print(Text(visible(line, console.encoding), style="bold"))


def _flat_parts(cases: Sequence[Case], width: int, marks: Marks) -> list[Table]:
    """One table, or as many as it takes to give every subject room; each repeats the dimensions."""
    dims, verdict = _dims_sheet(cases), _verdict_sheet(cases, marks)
    end = _width(_needed(verdict))
    times = [_times_sheet(cases, [name], marks) for name in grid.subjects_of(cases)]
    parts: list[list[Table]] = [[]]
    for place, sheet in enumerate(times):
        room = width - (end + _GAP if place == len(times) - 1 else 0)
        if parts[-1] and _width(_joined(dims, *parts[-1], sheet)) > room:
            parts.append([])
        parts[-1].append(sheet)
    parts[-1].append(verdict)
    return [_joined(dims, *part) for part in parts]


def _dims_sheet(cases: Sequence[Case]) -> Table:
    dims = grid.dims_of(cases)
    rows = [Row([str(case.dims.get(dim, "")) for dim in dims]) for case in cases]
    return Table([Column(_short(dim, _DIM)) for dim in dims], rows)


def _times_sheet(cases: Sequence[Case], subjects: Sequence[str] | None, marks: Marks) -> Table:
    names = grid.subjects_of(cases) if subjects is None else subjects
    rows = []
    for case in cases:
        shown = [_time(case, name, marks) for name in names]
        rows.append(Row([text for text, _ in shown], styles={i: style for i, (_, style) in enumerate(shown) if style}))
    return Table([Column(_short(name, _NAME)) for name in names], rows)


def _verdict_sheet(cases: Sequence[Case], marks: Marks) -> Table:
    """The best rival against the baseline, and how many rows a second the fastest gets through."""
    baseline = grid.usual_baseline(cases)
    rivals = [name for name in grid.subjects_of(cases) if name != baseline]
    dim = grid.rows_dim(cases)
    columns, rows = [], []
    if len(rivals) > 1:
        columns.append(Column("best rival", left=True, rank=1, room=8))
    if rivals:
        columns += [Column("speedup"), Column("95 % interval", rank=3), Column("verdict", left=True)]
    if dim is not None:
        columns.append(Column("rows/s" if dim.lower() == "batch" else f"{_short(dim, _DIM)}/s", rank=2))
    for case in cases:
        cells, styles = _rival_cells(case, baseline, rivals, marks)
        if dim is not None:
            cells.append(_rate(grid.rate(case, grid.fastest(case), dim), marks))
        rows.append(Row(cells, styles=styles))
    return Table(columns, rows)


def _rival_cells(
    case: Case, baseline: str | None, rivals: Sequence[str], marks: Marks
) -> tuple[list[str], dict[int, str]]:
    if not rivals or baseline is None:
        return [], {}
    met = {name: grid.duel(case, baseline, name) for name in rivals}
    timed = [(duel.speedup, name) for name, duel in met.items() if duel.speedup is not None]
    best = max(timed, key=lambda pair: pair[0])[1] if timed else None
    first = len(rivals) > 1
    if best is None:
        return [""] * first + [marks.nothing, "", ""], {first: "dim"}
    duel, subject = met[best], grid.found(case, best)
    # Only a comparison that the case made itself has an interval.
    own = subject is not None and case.baseline == baseline
    ends = interval(subject.speedup_low, subject.speedup_high, marks) if own and subject is not None else ""
    style = _VERDICT_STYLES.get(duel.verdict or "", "")
    cells = [name_of(best)] * first + [ratio(duel.speedup, marks), ends, duel.verdict or ""]
    return cells, {first: style, first + 1: "dim", first + 2: style}


def _time(case: Case | None, name: str, marks: Marks) -> tuple[str, str]:
    """A time, or the word that stands in its place, and its style; outputs that differ have both."""
    if case is None:
        return "", ""
    subject = grid.found(case, name)
    if subject is None:
        word = case.status if case.status != "ok" and not case.subjects else grid.NOT_RUN
        return word, _STATUS_STYLES.get(word, "red")
    if subject.status == "ok":
        return duration(subject.median_ns, marks), _WINNER if name in grid.winners(case) else ""
    timed = subject.status == "differs" and subject.median_ns is not None
    text = f"{duration(subject.median_ns, marks)} {subject.status}" if timed else subject.status
    return text, _STATUS_STYLES.get(subject.status, "red")


def _reasons(case: Case) -> Iterable[str]:
    if not case.subjects and case.status != "ok":
        yield f"{case.status}: {case.answer}" if case.answer else case.status
    for subject in case.subjects:
        if subject.status != "ok":
            yield ": ".join(filter(None, [f"{name_of(subject.name)} {subject.status}", subject.reason]))


# ---------------------------------------------------------------- small parts


def _joined(*sheets: Table) -> Table:
    """Sheets with the same number of rows side by side."""
    filled = [sheet for sheet in sheets if sheet.columns]
    rows = []
    for parts in zip(*(sheet.rows for sheet in filled), strict=True):
        cells: list[str] = []
        styles: dict[int, str] = {}
        for row in parts:
            styles |= {len(cells) + place: style for place, style in row.styles.items()}
            cells += row.cells
        rows.append(Row(cells, styles=styles))
    return Table([column for sheet in filled for column in sheet.columns], rows)


def _width(sheet: Table) -> int:
    """How wide a sheet is when nothing is left out."""
    widths = [
        max([cell_len(column.heading), *(cell_len(row.cells[place]) for row in sheet.rows)])
        for place, column in enumerate(sheet.columns)
    ]
    return sum(widths) + _GAP * max(len(widths) - 1, 0)


def _needed(sheet: Table) -> Table:
    """The sheet without the columns that may be left out."""
    kept = [place for place, column in enumerate(sheet.columns) if column.rank == 0]
    rows = [Row([row.cells[place] for place in kept]) for row in sheet.rows]
    return Table([sheet.columns[place] for place in kept], rows)


def _escaped(sheet: Table, encoding: str) -> Table:
    """Headings as this console can show them; rich would read brackets in them as markup."""
    mark = marks_for(encoding).to
    shown = [visible(column.heading.replace(UNICODE.to, mark), encoding) for column in sheet.columns]
    columns = [c._replace(heading=escape(text)) for c, text in zip(sheet.columns, shown, strict=True)]
    return sheet._replace(columns=columns)


def _short(name: str, room: int) -> str:
    return shortened(name_of(name), room)


def _rate(rows: float | None, marks: Marks) -> str:
    if rows is None or not math.isfinite(rows):
        return marks.nothing
    return f"{rows:,.0f}" if rows >= 100 else f"{rows:.{1 if rows >= 10 else 2}f}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _limited(lines: list[str], word: str) -> list[str]:
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[: MAX_LINES - 1], f"and {_count(len(lines) - MAX_LINES + 1, f'other {word}')}"]
