"""Tables and sentences for the terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from onnxperf.records import Bench, Case, Machine, Subject
from onnxperf.render.kit.old_console import BOXES, print_sheet
from onnxperf.render.race.fields import FIELDS, machine_facts
from onnxperf.render.race.split import HEADING, split_notes, split_sheet
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import Marks, marks_for

Layout = tuple[tuple[str, ...], ...]

# From one line per subject to four, each with the room for names below which the next one is better;
# fields of one inner tuple stand below each other.
LAYOUTS: tuple[tuple[Layout, int], ...] = (
    (tuple((key,) for key in FIELDS), 28),
    (
        (
            ("name",),
            ("status",),
            ("mean", "deviation"),
            ("median",),
            ("min", "max"),
            ("p90", "p99"),
            ("load", "first"),
            ("speedup", "interval"),
            ("verdict",),
        ),
        28,
    ),
    (
        (
            ("name", "standing"),
            ("mean", "deviation"),
            ("median",),
            ("min", "max"),
            ("p90", "p99"),
            ("load", "first"),
            ("speedup", "interval"),
        ),
        16,
    ),
    (
        (
            ("name", "standing"),
            ("mean", "deviation", "median"),
            ("min", "max", "p90", "p99"),
            ("load", "first", "speedup", "interval"),
        ),
        0,
    ),
)
_GAP = 2
_PROGRESS_DELAY = 1.0
_PROGRESS_INTERVAL = 0.1
_SMALLEST_NAME = 8
_SHORT_HEADINGS = {"deviation": "dev", "first": "first", "interval": "95 % int.", "standing": "  status, verdict"}
_LEFT = frozenset({"name", "status", "verdict"})
_STATUS_STYLES = {"ok": "", "differs": "yellow", "skipped": "dim", "pending": "dim", "running": "dim"}
_VERDICT_STYLES = {
    "baseline": "bold",
    "faster": "green",
    "slower": "red",
    "equivalent": "dim",
    "undecided": "yellow",
}
CPU_DECORATION = re.compile(r"\((R|TM)\)| CPU(?= @|$)| @ .*$", re.IGNORECASE)


@dataclass(frozen=True)
class _Page:
    """What the cells of one table have in common."""

    layout: Layout
    marks: Marks
    encoding: str
    name_width: int = 0

    @property
    def lines(self) -> int:
        return max(map(len, self.layout))


def bench_table(case: Case, width: int = 100, encoding: str = "utf-8") -> Table:
    """The subjects of a case, in as few lines each as the width allows."""
    page = _page(case, width, encoding)
    table = Table(
        box=BOXES[page.marks],
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
        leading=1 if page.lines > 1 else 0,
    )
    for column in page.layout:
        table.add_column(
            _heading(column, page),
            justify="left" if column[0] in _LEFT else "right",
            no_wrap=column[0] != "name",
            overflow="fold",
        )
    for subject in case.subjects:
        table.add_row(*(_cell(column, subject, page) for column in page.layout))
    return table


def print_bench(bench: Bench, console: Console) -> None:
    """Every case with its heading, table, answer, notes, and the reasons of rows that failed."""
    encoding = console.encoding
    for number, case in enumerate(bench.cases):
        if number:
            console.print()
        console.print(_case_heading(case, bench.machine, encoding))
        console.print()
        console.print(bench_table(case, console.width, encoding))
        _print_split(case, console)
        console.print()
        if case.interrupted:
            console.print(Text("Interrupted: this is what was measured until then.", style="yellow"))
        if case.answer:
            console.print(Text(visible(case.answer, encoding), style="bold"))
        for note in case.notes:
            console.print(Text(visible(note, encoding), style="dim"))
        for line in _reasons(case, encoding):
            console.print(line)


def _print_split(case: Case, console: Console) -> None:
    """What calls are made of, where they were divided."""
    marks = marks_for(console.encoding)
    sheet = split_sheet(case, marks, console.encoding)
    if sheet.rows:
        print_sheet(HEADING, sheet, console)
    for note in split_notes(case, marks):
        console.print(Text(visible(note, console.encoding), style="dim"))


def doctor_report(
    machine: Machine, extra: Sequence[tuple[str, str]], sentence: str, encoding: str = "utf-8"
) -> RenderableType:
    """What is known about a machine in two columns, and below it what that means."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in [*machine_facts(machine, marks_for(encoding)), *extra]:
        grid.add_row(Text(visible(name, encoding), style="bold"), Text(visible(text, encoding)))
    return Group(grid, Text(), Text(visible(sentence, encoding), style="bold"))


# ---------------------------------------------------------------- parts of the table


def _page(case: Case, width: int, encoding: str) -> _Page:
    """The first layout that leaves the names enough room."""
    longest_name = max((cell_len(name_of(s.name, encoding)) for s in case.subjects), default=0)
    for layout, comfortable in LAYOUTS:
        page = _Page(layout, marks_for(encoding), encoding)
        room = width - _width_beside_name(case, page)
        if room >= min(longest_name, comfortable):
            break
    return replace(page, name_width=max(room, _SMALLEST_NAME))


def _width_beside_name(case: Case, page: _Page) -> int:
    widths = []
    for column in page.layout[1:]:
        texts = [_heading(column, page), *(_cell(column, subject, page) for subject in case.subjects)]
        widths.append(max(line.cell_len for text in texts for line in text.split()))
    return sum(widths) + _GAP * len(widths)


def _heading(column: tuple[str, ...], page: _Page) -> Text:
    if page.lines == 1:
        return Text(FIELDS[column[0]].heading)
    names = [_SHORT_HEADINGS.get(key) or FIELDS[key].heading for key in column]
    # Filled up with empty lines, so that each heading stands at the height of its value.
    return Text("\n".join(names + [""] * (page.lines - len(names))))


def _cell(column: tuple[str, ...], subject: Subject, page: _Page) -> Text:
    return Text("\n").join(_line(key, subject, page) for key in column)


def _line(key: str, subject: Subject, page: _Page) -> Text:
    if key == "standing":
        return _standing(subject, page.marks)
    if key == "name":
        return Text(_folded(subject, page), style="bold" if subject.verdict == "baseline" else "")
    text = FIELDS[key].text(subject, page.marks)
    if page.lines > 1:
        text = text.removesuffix(" more")  # "needs 562" says enough where room is scarce
    return Text(text, style=_style(key, text, subject))


def _folded(subject: Subject, page: _Page) -> str:
    name = name_of(subject.name, page.encoding)
    longest_word = max(map(len, name.split()), default=0)
    return textwrap.fill(name, max(page.name_width, 1), break_on_hyphens=longest_word > page.name_width)


def _standing(subject: Subject, marks: Marks) -> Text:
    """Status and verdict on one line, below the name."""
    parts = [Text(subject.status, _style("status", subject.status, subject))]
    if subject.verdict is not None:
        parts.append(Text(subject.verdict, _style("verdict", subject.verdict, subject)))
    return Text("  ").append_text(Text(f" {marks.dot} ", "dim").join(parts))


def _style(key: str, text: str, subject: Subject) -> str | Style:
    if key == "status":
        return _STATUS_STYLES.get(subject.status, "red")
    if key in {"verdict", "speedup"} and subject.verdict is not None:
        return _VERDICT_STYLES[subject.verdict]
    quiet = key in {"deviation", "interval"} or text.startswith("needs") or not any(map(str.isalnum, text))
    return "dim" if quiet else ""


# ---------------------------------------------------------------- around the table


def _case_heading(case: Case, machine: Machine, encoding: str) -> Text:
    threads = {subject.conditions["threads"] for subject in case.subjects if "threads" in subject.conditions}
    facts = [dims_text(case.dims), CPU_DECORATION.sub("", machine.cpu)]
    if len(threads) == 1:
        count = threads.pop()
        facts.append(f"{count} thread" if count == 1 else f"{count} threads")
    facts += [f"{name} {version}" for name, version in machine.versions.items() if name.startswith("onnxruntime")]
    heading = Text(name_of(case.model, encoding), style="bold cyan")
    for fact in filter(None, facts):
        heading.append(f" {marks_for(encoding).dot} {visible(fact, encoding)}", style="not bold default")
    return heading


def _reasons(case: Case, encoding: str) -> list[Text]:
    lines = []
    for subject in case.subjects:
        if subject.reason:
            style = _STATUS_STYLES.get(subject.status, "red")
            line = Text.assemble((name_of(subject.name, encoding), style), f": {visible(subject.reason, encoding)}")
            lines.append(line)
    return lines
