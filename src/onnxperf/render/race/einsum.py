"""The plan for an einsum equation as a page."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.einsum import EinsumPlan
from onnxperf.records.race import Subject
from onnxperf.render.kit.machine import machine_texts
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Flow, Heading, Line, Part, closing
from onnxperf.render.race.page import STATUS_STYLES, VERDICT_STYLES
from onnxperf.wording.names import name_of, with_reasons
from onnxperf.wording.numbers import NOTHING, count, duration, grouped, interval, ratio

WINNER = "*"
_STYLES = {**STATUS_STYLES, **VERDICT_STYLES, "limit": "dim"}
_LEGEND = "time: undisturbed time of a call · speedup: paired by launch"
_SPEEDUP, _VERDICT = 3, 6
"""Places of the coloured columns."""


def plan_page(plan: EinsumPlan, row_notes: Sequence[str] = ()) -> list[Part]:
    """What was searched, the winner, the final race with notes on its rows, answer, notes."""
    table = race_table(plan)
    raced: list[Part] = [table, *(Line(text, "dim") for text in (_LEGEND, *row_notes))]
    return [
        Heading(plan.equation, plan_facts(plan)),
        Flow([search_text(plan)]),
        Flow(winner_texts(plan)),
        *(raced if table.rows else []),
        *closing(plan.answer, plan_notes(plan), plan.interrupted),
    ]


def plan_facts(plan: EinsumPlan) -> list[str]:
    """Shapes, types, and where and how it was measured."""
    facts = [shapes_words(plan.shapes), plan.dtype, count(plan.threads, "thread")]
    facts += ["only standard operators"] if plan.portable else []
    facts += [plan.runtime] if plan.runtime != "ort" else []
    return [*facts, *machine_texts(plan.machine)]


def search_text(plan: EinsumPlan) -> str:
    """How many graphs there were, or that nothing was timed."""
    proposed = count(plan.candidates, "candidate") if plan.candidates else ""
    if not plan.searched:
        return "; ".join(filter(None, [proposed, "chosen by the cost model, nothing was timed"]))
    distinct = f"{grouped(plan.executed)} distinct after onnxruntime's optimiser" if plan.executed else ""
    graphs, orders = len({order.graph for order in plan.orders}), count(len(plan.orders), "letter order")
    text = ", ".join(filter(None, [proposed, distinct]))
    if not plan.orders:
        return text
    # Orders beyond the number of candidates may lead to graphs that were not raced.
    return f"{text}, {grouped(graphs)} of them from {orders}" if graphs <= plan.executed else f"{text}; {orders}"


def winner_texts(plan: EinsumPlan) -> list[str]:
    """The graph that was chosen, and the equation in its letter order."""
    order = f"letter order of {plan.best_equation}" if plan.best_equation else ""
    return [text for text in (f"Chosen graph: {plan.graph}", order) if text]


def plan_notes(plan: EinsumPlan) -> list[str]:
    """Notes of the plan and of its race, each once, and the reasons of subjects that failed."""
    if plan.race is None:
        return list(plan.notes)
    # What is ok and undecided has its reason in the answer.
    failed = [subject for subject in plan.race.subjects if subject.status != "ok"]
    reasons = with_reasons((subject.name, subject.reason) for subject in failed)
    return list(dict.fromkeys([*plan.notes, *plan.race.notes, *reasons]))


def shapes_words(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as `20x20, 20x5`; one without dimensions is a scalar."""
    return ", ".join("x".join(map(str, shape)) if shape else "scalar" for shape in shapes)


# ---------------------------------------------------------------- the race


def race_table(plan: EinsumPlan) -> Table:
    """A row per subject of the final race, against the baseline and against the limit."""
    columns = (
        Column(""),
        # Graphs that differ in their middle must stay apart.
        Column("subject", left=True, room=20, folds=True),
        Column("time"),
        Column("speedup"),
        Column("95 % interval", rank=1),
        Column("× limit", rank=2),  # noqa: RUF001
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
            duration(subject.time_ns),
            ratio(subject.speedup),
            interval(subject.speedup_low, subject.speedup_high),
            "" if limited is None else ratio(limited),
            standing or NOTHING,
        )
        colour = _STYLES.get(standing, "red" if subject.status != "ok" else "")
        style = "bold" if subject is best else "dim" if subject.name == plan.limit else ""
        rows.append(Row(cells, style, {_SPEEDUP: colour, _VERDICT: colour}))
    return without_empty(Table(columns, rows))


def winner_of(plan: EinsumPlan) -> Subject | None:
    """The subject that won."""
    subjects = plan.race.subjects if plan.race is not None else ()
    return next((subject for subject in subjects if subject.name == plan.winner), None)


def limit_ratio(plan: EinsumPlan, subject: Subject) -> float | None:
    """How many times the limit's time a subject takes, by their speedups over the same baseline."""
    subjects = plan.race.subjects if plan.race is not None else ()
    limit = next((each.speedup for each in subjects if each.name == plan.limit), None)
    return limit / subject.speedup if limit and subject.speedup else None


def _standing(plan: EinsumPlan, subject: Subject) -> str:
    """Its status where that is not ok, else its verdict; the limit is not compared."""
    if subject.status != "ok":
        return subject.status
    return "limit" if subject.name == plan.limit else subject.verdict or ""
