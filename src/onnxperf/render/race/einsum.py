"""The plan for an einsum equation as a page: the final race, and the letter orders of the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from onnxperf.records.comparison import Comparison
from onnxperf.records.einsum import EinsumPlan, OrderTime
from onnxperf.records.race import Subject
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, GREEN, ORANGE, Chart, time_unit
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import NAME, RATIO, Column, Format, bar_column, for_files, for_screens
from onnxperf.render.kit.comparison import STATUS_STYLES, VERDICT_STYLES, Compared, ratio_columns
from onnxperf.render.kit.machine import machine_texts
from onnxperf.render.kit.page import Flow, Heading, Line, Page, Part, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.race.sections import race_sections
from onnxperf.render.race.subjects import looks_of, ranked
from onnxperf.wording.names import name_of, visible, with_reasons
from onnxperf.wording.numbers import count, duration, grouped

WINNER = "*"
MOST_BARS = 40
"""Beyond so many orders, those that lead to the same graph share a bar; there are no more bars than this either."""
SECONDS = Format(lambda seconds: duration(1e9 * seconds), excel='0.00E+00 "s"')
_ROLES = {GREEN: "fastest or chosen", ORANGE: "as written", BLUE: "others"}
_RACE = "Final race"


class _Bar(NamedTuple):
    """The letter orders that lead to one graph, or one of them; the chosen graph need not come from an order."""

    graph: str
    time_ns: float
    orders: Sequence[OrderTime] = ()


def plan_page(plan: EinsumPlan, row_notes: Sequence[str] = ()) -> Page:
    """What was searched, the winner, the final race with notes on its rows, answer, notes, and the letter orders."""
    table, facts = race_table(plan), plan_facts(plan)
    raced: list[Part] = [*race_charts(plan)] or [table]
    race = race_sections(plan.race, _RACE) if plan.race is not None else []
    return [
        Heading(plan.equation, [*facts, *machine_texts(plan.machine)]),
        Flow([search_text(plan)]),
        Flow(winner_texts(plan)),
        Section(_RACE, [*raced, *_below(plan, row_notes)] if table.rows else []),
        Section("Letter orders", orders_charts(plan), "page"),
        *answered(plan.answer, plan_notes(plan), plan.interrupted, _verdict(plan)),
        *(each for each in race if each.title != _RACE),
    ]


def _verdict(plan: EinsumPlan) -> str:
    """What the race found about graphs other than its baseline."""
    subjects = plan.race.subjects if plan.race is not None else ()
    found = {each.verdict for each in subjects if each.name != plan.limit}
    return next((each for each in ("faster", "undecided", "equivalent", "slower") if each in found), "")


def plan_facts(plan: EinsumPlan) -> list[str]:
    """Shapes, types, and how it was measured."""
    facts = [shapes_words(plan.shapes), plan.dtype, count(plan.threads, "thread")]
    facts += ["only standard operators"] if plan.portable else []
    return [*facts, plan.runtime] if plan.runtime != "ort" else facts


def search_text(plan: EinsumPlan) -> str:
    """How many graphs there were, or that nothing was timed."""
    proposed = count(plan.candidates, "candidate") if plan.candidates else ""
    if not plan.searched:
        return "; ".join(filter(None, [proposed, "chosen by the cost model, nothing was timed"]))
    distinct = f"{grouped(plan.executed)} distinct after onnxruntime's optimizer" if plan.executed else ""
    graphs, orders = len({order.graph for order in plan.orders}), count(len(plan.orders), "letter order")
    text = ", ".join(filter(None, [proposed, distinct]))
    if not plan.orders:
        return text
    # Orders beyond the number of candidates may lead to graphs that were not raced.
    return f"{text}, {grouped(graphs)} of them from {orders}" if graphs <= plan.executed else f"{text}; {orders}"


def winner_texts(plan: EinsumPlan) -> list[str]:
    """The chosen graph, unless the answer names it, and the equation in its letter order."""
    order = f"letter order of {plan.best_equation}" if plan.best_equation else ""
    graph = "" if plan.graph in plan.answer else f"Chosen graph: {plan.graph}"
    return [text for text in (graph, order) if text]


def plan_notes(plan: EinsumPlan) -> list[str]:
    """Notes of the plan and of its race, each once."""
    return list(dict.fromkeys([*plan.notes, *(plan.race.notes if plan.race is not None else ())]))


def shapes_words(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as `20×20, 20×5`; one without dimensions is a scalar."""
    return ", ".join("×".join(map(str, shape)) if shape else "scalar" for shape in shapes)


# ---------------------------------------------------------------- the race


def race_table(plan: EinsumPlan) -> Table[Subject]:
    """The subjects of the final race, against the baseline and against the limit."""
    best = winner_of(plan)
    *ratios, verdict = ratio_columns(_compared(plan))
    columns: list[Column[Subject]] = [
        for_screens("", lambda row: WINNER if row is best else ""),
        # Graphs that differ in their middle must stay apart.
        Column("name", "subject", attrgetter("name"), NAME, room=20, folds=True),
        Column("time", "time", lambda row: _seconds(row.time_ns), SECONDS),
        *ratios,
        Column("limit_ratio", "× limit", partial(limit_ratio, plan), RATIO, 80),
        verdict,
        for_files("status", attrgetter("status")),
    ]
    styles = {plan.limit: "dim", best.name if best is not None else None: "bold"}
    return Table(columns, _subjects(plan), style=lambda row: styles.get(row.name, ""))


def race_charts(plan: EinsumPlan) -> list[Chart]:
    """Speedups over the baseline."""
    if plan.race is None:
        return []
    baseline = name_of(plan.race.baseline or "")
    rivals = sum(each.speedup is not None and each.name != plan.race.baseline for each in plan.race.subjects)
    summary = f"Speedups of {count(rivals, 'subject')} over {baseline}, with 95 % intervals; right of 1 is faster."
    by = _compared(plan)._replace(axis=f"speedup relative to {baseline}")
    return forest_chart("Speedups", summary, by, plan.race.subjects, plan.race.min_effect, race_table(plan))


def _subjects(plan: EinsumPlan) -> Sequence[Subject]:
    """The fastest first."""
    return ranked(plan.race.subjects) if plan.race is not None else ()


def _compared(plan: EinsumPlan) -> Compared[Subject]:
    looks = looks_of([plan.race]) if plan.race is not None else {}
    return Compared(
        name=attrgetter("name"),
        of=lambda row: Comparison.spelled(row, "speedup"),
        word=partial(_standing, plan),
        color=lambda row: looks[row.name].color,
        style=partial(_style, plan),
        tooltip=lambda row: f"{duration(row.time_ns)} per call",
    )


def _standing(plan: EinsumPlan, subject: Subject) -> str:
    """Its status where that is not ok, else its verdict; the limit is not compared."""
    if subject.status != "ok":
        return subject.status
    return "limit" if subject.name == plan.limit else subject.verdict or ""


def _style(plan: EinsumPlan, subject: Subject) -> str:
    return {**VERDICT_STYLES, **STATUS_STYLES}.get(_standing(plan, subject), "")


def _below(plan: EinsumPlan, row_notes: Sequence[str]) -> list[Line]:
    """Notes on rows, and why some failed or are undecided; a page has them as warnings."""
    failed = [each for each in _subjects(plan) if each.status != "ok" or each.verdict == "undecided"]
    # A reason may name the subject: it is told once for all, by the answer if that has it.
    known = {each.reason.replace(each.name, "") for each in failed if each.reason in plan.answer}
    told = {kind: each for each in reversed(failed) if (kind := each.reason.replace(each.name, "")) not in known}
    reasons = with_reasons((each.name, each.reason) for each in reversed(told.values()))
    return [Line(text, "dim", on="screen") for text in (*row_notes, *reasons)]


def winner_of(plan: EinsumPlan) -> Subject | None:
    """The subject that won."""
    return next((subject for subject in _subjects(plan) if subject.name == plan.winner), None)


def limit_ratio(plan: EinsumPlan, subject: Subject) -> float | None:
    """How many times the limit's time a subject takes, by their speedups over the same baseline."""
    limit = next((each.speedup for each in _subjects(plan) if each.name == plan.limit), None)
    return limit / subject.speedup if limit and subject.speedup else None


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


# ---------------------------------------------------------------- letter orders


def orders_table(plan: EinsumPlan) -> Table[OrderTime]:
    """Every letter order, the fastest first, those without a time last."""
    columns: list[Column[OrderTime]] = [
        Column("order", "order", attrgetter("order"), NAME),
        Column("equation", "equation", attrgetter("equation"), NAME),
        Column("graph", "graph", attrgetter("graph"), NAME, room=20),
        Column("time", "time", lambda row: _seconds(row.time_ns), SECONDS),
        bar_column(attrgetter("time_ns"), plan.orders),
    ]
    return Table(columns, sorted(plan.orders, key=lambda row: math.inf if row.time_ns is None else row.time_ns))


def orders_charts(plan: EinsumPlan) -> list[Chart]:
    """A bar per letter order or per graph that several lead to, and one of the chosen graph, the fastest on top."""
    timed = [order for order in plan.orders if order.time_ns is not None and 0 < order.time_ns < math.inf]
    found = _bars(plan, timed)
    if not found:
        return []
    named = [bar for bar in found[MOST_BARS:] if _color(plan, bar, found[0]) != BLUE]
    shown = [*found[: MOST_BARS - len(named)], *named]
    colors = [_color(plan, bar, found[0]) for bar in shown]
    times = [bar.time_ns for bar in shown]
    series = BarSeries("", times, [_words(plan, bar, found[0]) for bar in shown], colors=colors)
    legend = [(role, color) for color, role in _ROLES.items() if color in colors]
    names = [_label(bar) for bar in shown]
    picture = bars(names, [series], "time of a call in the search", time_unit(times), legend=legend)
    summary = _summary(plan, len(timed), len(found) - len(shown))
    return [bars_chart("Time per letter order", summary, picture, orders_table(plan))]


def _summary(plan: EinsumPlan, timed: int, left_out: int) -> str:
    graphs = len({order.graph for order in plan.orders if order.time_ns is not None})
    said = [
        f"{grouped(timed)} of {count(len(plan.orders), 'letter order')} were timed; they lead to "
        f"{count(graphs, 'graph')}. Each graph was timed once in the search; the final race, on fresh rounds, may "
        "prefer another one."
    ]
    said += ["Orders that lead to the same graph share a bar."] if timed > MOST_BARS else []
    said += [f"{count(left_out, 'slow graph')} are only in the table."] if left_out else []
    return " ".join(said)


def _bars(plan: EinsumPlan, timed: Sequence[OrderTime]) -> list[_Bar]:
    """What has a bar, the fastest first."""
    ordered = sorted(timed, key=_graph_of)
    groups = [list(several) for _, several in groupby(ordered, _graph_of)]
    found = [[order] for order in ordered] if len(timed) <= MOST_BARS else groups
    rows = [_Bar(several[0].graph, several[0].time_ns or 0.0, several) for several in found]
    if plan.graph_ns is not None and math.isfinite(plan.graph_ns) and all(row.graph != plan.graph for row in rows):
        rows.append(_Bar(plan.graph, plan.graph_ns))
    return sorted(rows, key=lambda row: row.time_ns)


def _graph_of(order: OrderTime) -> tuple[float, str]:
    return order.time_ns or 0.0, order.graph


def _label(bar: _Bar) -> str:
    more = f" and {len(bar.orders) - 1} more" if len(bar.orders) > 1 else ""
    return f"{bar.orders[0].equation}{more}" if bar.orders else bar.graph


def _roles(plan: EinsumPlan, bar: _Bar, fastest: _Bar) -> dict[str, bool]:
    return {
        "fastest": bar.time_ns == fastest.time_ns,
        # The search times all graphs once; the final race, on fresh rounds, may prefer another one.
        "won the final race" if plan.winner else "chosen": bar.graph == plan.graph,
        "as written": bool(plan.orders) and plan.orders[0] in bar.orders,
    }


def _color(plan: EinsumPlan, bar: _Bar, fastest: _Bar) -> int:
    is_fastest, is_chosen, is_written = _roles(plan, bar, fastest).values()
    return GREEN if is_fastest or is_chosen else ORANGE if is_written else BLUE


def _words(plan: EinsumPlan, bar: _Bar, fastest: _Bar) -> str:
    roles = [role for role, holds in _roles(plan, bar, fastest).items() if holds]
    return " · ".join([duration(bar.time_ns), *roles, *([visible(bar.graph)] if bar.orders else [])])
