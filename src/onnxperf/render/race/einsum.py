"""Einsum plans and rewritten models on the terminal; HTML shares the sheets."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from onnxperf.records import Case, EinsumPlan, Machine, Rewrite, RewrittenSite, Subject
from onnxperf.render.kit.old_console import print_end, print_flow, print_heading, print_sheet
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.render.race.console import CPU_DECORATION
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import UNICODE, Marks, count, duration, interval, marks_for, ratio

WINNER = "*"
_GAP = 2
_LEAST_NAME = 20
_NAME_LINES = 6
_VERDICT_STYLES = {
    "baseline": "bold",
    "faster": "green",
    "slower": "red",
    "equivalent": "dim",
    "undecided": "yellow",
    "differs": "yellow",
    "skipped": "dim",
    "limit": "dim",
}
_OUTCOME_STYLES = {"rewritten": "green", "kept": "", "skipped": "dim"}
_SPEEDUP, _VERDICT = 3, 6
"""Places of the coloured columns of a race."""
_OUTCOME = 3


def print_plan(plan: EinsumPlan, console: Console) -> None:
    """Heading, what was searched, the winner, the final race, answer, notes."""
    encoding = console.encoding
    marks = marks_for(encoding)
    print_heading(plan.equation, plan_facts(plan), console)
    print_flow([visible(search_text(plan), encoding)], console)
    print_flow([visible(part, encoding) for part in winner_texts(plan)], console)
    race = plan.race
    if race is not None and race.subjects:
        print_sheet("", _folded(race_sheet(plan, marks), console.width), console)
    if race is not None and race.interrupted:
        console.print()
        console.print(Text("Interrupted: this is what was measured until then.", style="yellow"))
    print_end(plan.answer, plan_notes(plan), console)


def print_rewrite(rewrite: Rewrite, console: Console) -> None:
    """Heading, what became of the Einsum nodes and why, the race of the whole models, answer, notes."""
    encoding = console.encoding
    marks = marks_for(encoding)
    print_heading(rewrite.model, machine_texts(rewrite.machine), console)
    sheet = sites_sheet(rewrite, marks)
    if not rewrite.sites:
        console.print(Text("There is no Einsum node in this model."))
    elif _natural_width(sheet) <= console.width:
        print_sheet("", sheet, console)
    else:
        # A reason that lost its middle is none: where the column has no room, each has a line of its own.
        print_sheet("", sites_sheet(rewrite, marks, reasons=False), console)
        _print_lines([f"{nodes_text(site)}: {site.reason}" for site in rewrite.sites if site.reason], console)
    _print_lines([line for line in (whole_race_text(rewrite.race, marks), written_text(rewrite)) if line], console)
    print_end(rewrite.answer, rewrite.notes, console)


# ---------------------------------------------------------------- words about a plan


def plan_facts(plan: EinsumPlan) -> list[str]:
    """Shapes, types, and where and how it was measured."""
    facts = [shapes_words(plan.shapes), plan.dtype, count(plan.threads, "thread")]
    facts += ["only standard operators"] if plan.portable else []
    facts += [plan.runtime] if plan.runtime != "ort" else []
    return [*facts, *machine_texts(plan.machine)]


def machine_texts(machine: Machine | None) -> list[str]:
    """The processor and the version of onnxruntime, where known."""
    if machine is None:
        return []
    runtimes = [f"{name} {version}" for name, version in machine.versions.items() if name.startswith("onnxruntime")]
    return [CPU_DECORATION.sub("", machine.cpu), *runtimes]


def search_text(plan: EinsumPlan) -> str:
    """How many graphs there were, or that nothing was timed."""
    proposed = count(plan.candidates, "candidate") if plan.candidates else ""
    if not plan.searched:
        return "; ".join(filter(None, [proposed, "chosen by the cost model, nothing was timed"]))
    distinct = f"{plan.executed:,} distinct after onnxruntime's optimiser" if plan.executed else ""
    graphs, orders = len({order.graph for order in plan.orders}), count(len(plan.orders), "letter order")
    told = ", ".join(filter(None, [proposed, distinct]))
    if not plan.orders:
        return told
    # Orders beyond the number of candidates may lead to graphs that were not raced.
    return f"{told}, {graphs:,} of them from {orders}" if graphs <= plan.executed else f"{told}; {orders}"


def winner_texts(plan: EinsumPlan) -> list[str]:
    """The graph that was chosen, and the equation in its letter order."""
    order = f"letter order of {plan.best_equation}" if plan.best_equation else ""
    return [text for text in (f"Best graph: {plan.graph}", order) if text]


def plan_notes(plan: EinsumPlan) -> list[str]:
    """Notes of the plan and of its race, each once, and the reasons of subjects that failed."""
    if plan.race is None:
        return list(plan.notes)
    reasons = [f"{name_of(subject.name)}: {subject.reason}" for subject in plan.race.subjects if subject.reason]
    return list(dict.fromkeys([*plan.notes, *plan.race.notes, *reasons]))


def shapes_words(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as `20x20, 20x5`; one without dimensions is a scalar."""
    return ", ".join("x".join(map(str, shape)) if shape else "scalar" for shape in shapes)


# ---------------------------------------------------------------- the race of a plan


def race_sheet(plan: EinsumPlan, marks: Marks = UNICODE) -> Table:
    """A row per subject of the final race, against the baseline and against the limit."""
    columns = (
        Column(""),
        Column("subject", left=True, room=_LEAST_NAME),
        Column("median"),
        Column("speedup"),
        Column("95 % interval", rank=1),
        Column(f"{marks.times} limit", rank=2),
        Column("verdict", left=True),
    )
    subjects = plan.race.subjects if plan.race is not None else ()
    best = winner_of(plan)
    rows = []
    for subject in subjects:
        limited = limit_ratio(plan, subject)
        standing = _standing(plan, subject)
        cells = (
            WINNER if subject is best else "",
            name_of(subject.name),
            duration(subject.median_ns, marks),
            ratio(subject.speedup, marks),
            interval(subject.speedup_low, subject.speedup_high, marks),
            "" if limited is None else ratio(limited, marks),
            standing or marks.nothing,
        )
        colour = _VERDICT_STYLES.get(standing, "red" if subject.status != "ok" else "")
        style = "bold" if subject is best else "dim" if subject.name == plan.limit else ""
        rows.append(Row(cells, style, {_SPEEDUP: colour, _VERDICT: colour}))
    return without_empty(Table(columns, rows))


def winner_of(plan: EinsumPlan) -> Subject | None:
    """The subject that won."""
    subjects = plan.race.subjects if plan.race is not None else ()
    return next((subject for subject in subjects if subject.name == plan.winner), None)


def limit_ratio(plan: EinsumPlan, subject: Subject) -> float | None:
    """How many times the limit's time a subject takes."""
    subjects = plan.race.subjects if plan.race is not None else ()
    limit = next((s.median_ns for s in subjects if s.name == plan.limit), None)
    return subject.median_ns / limit if limit and subject.median_ns is not None else None


def _standing(plan: EinsumPlan, subject: Subject) -> str:
    """Its status where that is not ok, else its verdict; the limit is no rival."""
    if subject.status != "ok":
        return subject.status
    return "limit" if subject.name == plan.limit else subject.verdict or ""


def _folded(sheet: Table, width: int) -> Table:
    """The sheet with long names on several lines: graphs that differ in their middle must stay apart."""
    place = next(i for i, column in enumerate(sheet.columns) if column.heading == "subject")
    room = max(width - _natural_width(sheet, without=place) - _GAP, _LEAST_NAME)
    rows: list[Row] = []
    for row in sheet.rows:
        name = shortened(row.cells[place], room * _NAME_LINES)
        first, *others = textwrap.wrap(name, room, subsequent_indent="  ") or [""]
        rows.append(row._replace(cells=[*row.cells[:place], first, *row.cells[place + 1 :]]))
        rows += [Row(["" if i != place else line for i in range(len(row.cells))], row.style) for line in others]
    return Table(sheet.columns, rows)


def _natural_width(sheet: Table, without: int = -1) -> int:
    widths = [
        max(cell_len(text) for text in (column.heading, *(visible(row.cells[i]) for row in sheet.rows)))
        for i, column in enumerate(sheet.columns)
        if i != without
    ]
    return sum(widths) + _GAP * (len(widths) - 1)


# ---------------------------------------------------------------- a rewritten model


def sites_sheet(rewrite: Rewrite, marks: Marks = UNICODE, reasons: bool = True) -> Table:
    """A row per group of equal Einsum nodes: what became of it, and what that gained."""
    columns = (
        Column("nodes", left=True, room=20),
        Column("equation", left=True, room=15),
        Column("shapes", left=True, rank=3, room=18),
        Column("outcome", left=True),
        Column("alone", rank=2),
        Column("in model"),
        Column("95 % interval", rank=1),
        Column("why", left=True),
    )
    rows = []
    for site in rewrite.sites:
        compared = site.speedup is not None
        cells = (
            nodes_text(site),
            site.equation,
            shapes_words(site.shapes),
            site.outcome,
            "" if site.speedup_alone is None else ratio(site.speedup_alone, marks),
            ratio(site.speedup, marks) if compared else "",
            interval(site.speedup_low, site.speedup_high, marks) if compared else "",
            site.reason if reasons else "",
        )
        style = _OUTCOME_STYLES[site.outcome]
        rows.append(Row(cells, "dim" if site.outcome == "skipped" else "", {_OUTCOME: style}))
    return without_empty(Table(columns, rows))


def nodes_text(site: RewrittenSite) -> str:
    """The first node of a group, and how many more there are."""
    first, more = name_of(site.nodes[0]) if site.nodes else name_of(""), len(site.nodes) - 1
    return f"{first} and {more:,} more" if more > 0 else first


def whole_race_text(race: Case | None, marks: Marks = UNICODE) -> str:
    """Times of the original and of the rewritten model, and what the race says about them."""
    subjects = race.subjects if race is not None else ()
    base = next(
        (s for s in subjects if race is not None and s.name == race.baseline), subjects[0] if subjects else None
    )
    rival = next((s for s in subjects if s is not base), None)
    if base is None or rival is None:
        return ""
    broken = next((s for s in (base, rival) if s.status != "ok" or s.median_ns is None), None)
    if broken is not None:
        return f"Raced: {name_of(broken.name)} {broken.status}{f', {broken.reason}' if broken.reason else ''}"
    times = ", ".join(f"{name_of(s.name)} {duration(s.median_ns, marks)}" for s in (base, rival))
    if rival.speedup is None:
        return f"Raced: {times}"
    told = f"speedup {ratio(rival.speedup, marks)}"
    if rival.speedup_low is not None:
        told += f" (95 % interval {interval(rival.speedup_low, rival.speedup_high, marks)})"
    return f"Raced: {times}: {told}, {rival.verdict or 'no verdict'}"


def written_text(rewrite: Rewrite) -> str:
    """Where the rewritten model is, unless the answer says so."""
    said = not rewrite.output or rewrite.output in rewrite.answer
    return "" if said else f"Written to {rewrite.output}"


def _print_lines(lines: Sequence[str], console: Console) -> None:
    if lines:
        console.print()
    for line in lines:
        console.print(Text(visible(line, console.encoding), overflow="fold"))
