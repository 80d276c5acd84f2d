"""Two profiles side by side, as a page and as charts: their race, original nodes, operators and executed nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from onnxperf.records.diff import Diff, DiffSum, Side, SourceChange
from onnxperf.records.profile import Profile
from onnxperf.records.race import Case
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import Chart, colors_of, microsecond_unit
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.page import GAP, Amount, Foot, Heading, Later, Line, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.changed import changed_tables
from onnxperf.render.profile.diff_tables import (
    COMPARED,
    Times,
    change_us,
    key_of,
    nodes_table,
    operator_pairs,
    operators_table,
    other_operators,
    ratio_of,
    sides_table,
    signed,
    sources_table,
    sums_of,
    times_of,
)
from onnxperf.render.profile.groups import side_names
from onnxperf.render.profile.page import measured_facts, profile_facts
from onnxperf.render.profile.tables import estimator
from onnxperf.render.race.page import status_text, verdict_of
from onnxperf.render.race.sections import race_sections
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, grouped, mean_count, microseconds, ratio

MIN_SHARE = 0.01
"""Nodes with a smaller share of the time are folded into one row."""
MOST_KINDS = 30
"""Kinds of nodes that a chart shows."""
_MOST_OPERATORS, _MOST_SOURCES = 14, 20


class Shown(NamedTuple):
    """Rows of a page: groups of original nodes, if any are known, and executed nodes."""

    sources: Sequence[SourceChange]
    nodes: Sequence[DiffSum]


def diff_page(diff: Diff, screen: Shown, page: Shown, kinds: Sequence[DiffSum]) -> Page:
    """A console shows the rows that matter, an HTML page all of them, and equal nodes by their `kinds`."""
    common, measured = (_common(diff, facts) for facts in (profile_facts, measured_facts))
    raced = race_line(diff.race) if diff.race is not None else ""
    interrupted = any(part.interrupted for part in (diff.before, diff.after, diff.race) if part is not None)
    executed = [] if screen.sources else [nodes_table(diff, screen.nodes, on="screen")]  # each list once
    return [
        Heading(*_heading(diff, common)),
        Section("What changed", Later(lambda: [changed_tables(diff, page.sources, page.nodes, kinds)]), "page"),
        Section("Sides", [sides_table(diff, "screen"), *([GAP, Line(raced)] if raced else [])], "screen"),
        Section("Sides", [sides_table(diff, "page")], "page"),
        *(race_sections(diff.race) if diff.race is not None else []),
        Section("Original nodes", [sources_table(diff, screen.sources)], "screen"),
        Section("Executed nodes", executed, "screen"),
        *answered(
            diff.answer,
            diff.notes,
            interrupted,
            _verdict(diff),
            _amount(diff),
        ),
        Foot([*measured, *_estimators(diff)]),
    ]


def _estimators(diff: Diff) -> list[str]:
    """What the times of nodes are, if any were profiled."""
    profiled = [each for each in (diff.before, diff.after) if each.iterations]
    return list(dict.fromkeys(f"times: {estimator(each)}" for each in profiled))


def _verdict(diff: Diff) -> str:
    """That of the race, if there was one."""
    found = verdict_of(diff.race) if diff.race is not None else ""
    return "undecided" if found == "failed" else found


def _amount(diff: Diff) -> Amount:
    """Both times of a call, or of all nodes."""
    calls = [each.unprofiled_ns for each in (diff.before, diff.after)]
    if calls[0] and calls[1]:
        return f"{duration(calls[0])} → {duration(calls[1])}", "a call"
    before, after = (each.usual_nodes_us for each in (diff.before, diff.after))
    return (f"{microseconds(before)} → {microseconds(after)}", "in nodes") if before and after else ("", "")


def _heading(diff: Diff, facts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The sides; of one model under two settings, the model and then the sides."""
    sides = f"{name_of(diff.before.model)} against {name_of(diff.after.model)}"
    model = diff.race.model if diff.race is not None else ""
    named = not model or diff.before.model in model or model in diff.before.model
    return (sides, facts) if named else (name_of(model), [sides, *facts])


def _common(diff: Diff, facts: Callable[[Profile], list[str]]) -> list[str]:
    """Facts that are the same on both sides."""
    after = facts(diff.after)
    return [fact for fact in facts(diff.before) if fact in after]


def race_line(race: Case) -> str:
    """Why the race without the profiler found nothing about the second side; what it found is the answer."""
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    return f"Raced without the profiler: {status_text(rival)}" if rival is not None and rival.speedup is None else ""


# ---------------------------------------------------------------- charts; a console has the tables next to them


def nodes_charts(diff: Diff, kinds: Sequence[DiffSum]) -> list[Chart]:
    """Time and number of equal nodes on both sides; pale where no difference is proven."""
    if not kinds:
        return []
    names, keys, pale = [each.name for each in kinds], [*map(key_of, kinds)], [each.noise for each in kinds]
    times: list[Times] = [(each.before_usual_us, each.after_usual_us) for each in kinds]
    numbers: list[Times] = [(_number(each, "+"), _number(each, "-")) for each in kinds]
    doubts = " or ".join(sorted({each.doubt for each in kinds} - {""}))
    noise, what = f" Pale: {doubts}." if doubts else "", "of nodes of the same operator, types and shapes"
    timed = bars(names, _sides(diff, times, microseconds, pale), "time per inference", _unit(times), keys=keys)
    counted = bars(names, _sides(diff, numbers, mean_count), "nodes", keys=keys)
    return [
        bars_chart("Time per kind of node", f"Time {what}. {_whole(diff, times)}{noise}", timed, on="page"),
        bars_chart("Number per kind of node", f"Number {what}.", counted, on="page"),
    ]


def _number(kind: DiffSum, without: Side) -> int:
    return sum(row.side != without for row in kind.rows)


def operators_charts(diff: Diff) -> list[Chart]:
    """Time and executions of the operators of both sides."""
    pairs = operator_pairs(diff)
    if not pairs:
        return []
    kept = [*pairs[:_MOST_OPERATORS], *other_operators(pairs[_MOST_OPERATORS:])]
    names, keys = [each.name for each in kept], [each.key for each in kept]
    times, calls = [each.times for each in kept], [each.calls for each in kept]
    timed = bars(names, _sides(diff, times, microseconds), "time per inference", _unit(times), keys=keys)
    counted = bars(names, _sides(diff, calls, mean_count), "executions per inference", keys=keys)
    summary = f"Time of {count(len(pairs), 'operator')} in the usual inference. {_whole(diff, times)}"
    executed = f"How often {count(len(pairs), 'operator')} are executed in an inference."
    return [
        bars_chart("Time per operator", summary, timed, operators_table(diff), "page"),
        bars_chart("Executions per operator", executed, counted, on="page"),
    ]


def changes_charts(diff: Diff) -> list[Chart]:
    """The change of each operator, the largest first, and of all nodes, to which they add up."""
    pairs = sorted(operator_pairs(diff), key=lambda each: -abs(change_us(each.times)))
    if not pairs:
        return []
    kept = [*pairs[:_MOST_OPERATORS], *other_operators(pairs[_MOST_OPERATORS:])]
    changes = [change_us(each.times) for each in kept]
    whole = math.fsum(changes)
    summary = f"What the change of {signed(whole)} in all nodes consists of; below 0 is time won."
    names, keys = [*(each.name for each in kept), "all nodes"], [*(each.key for each in kept), ""]
    series = BarSeries("", [*changes, whole], [*map(signed, changes), signed(whole)])
    drawn = bars(names, [series], "change per inference", microsecond_unit(series.values), keys=keys)
    return [bars_chart("Change per operator", summary, drawn, on="page")]


def sources_charts(diff: Diff, changes: Sequence[SourceChange]) -> list[Chart]:
    """The original nodes whose time changed the most: their speedups if launches were compared, else their times."""
    ranked = sorted(changes, key=lambda each: -abs(change_us(times_of(each))))
    table = sources_table(diff, changes)
    tested = [each for each in ranked if each.speedup is not None][:_MOST_SOURCES]
    if not tested:
        return _source_bars(ranked, table)
    proven = sum(each.verdict in ("faster", "slower") for each in changes)
    summary = (
        f"Speedups of the {count(len(tested), 'group')} of original nodes whose time changed the most, of "
        f"{grouped(len(changes))}; right of 1 is faster. {count(proven, 'change')} "
        f"{'is' if proven == 1 else 'are'} proven."
    )
    return forest_chart("Speedup per original node", summary, COMPARED, tested, table=table, on="page")


def _source_bars(ranked: Sequence[SourceChange], table: Table[SourceChange]) -> list[Chart]:
    kept, rest = ranked[:_MOST_SOURCES], ranked[_MOST_SOURCES:]
    if not kept:
        return []
    names, keys, pale = [each.label for each in kept], [*map(key_of, kept)], [bool(each.doubt) for each in kept]
    values = [change_us(times_of(each)) for each in kept]
    if rest:
        values.append(math.fsum(change_us(times_of(each)) for each in rest))
        names, keys, pale = [*names, count(len(rest), "other")], [*keys, ""], [*pale, False]
    summary = (
        f"How the time of {count(len(ranked), 'group')} of original nodes changed, {signed(math.fsum(values))} in all; "
        "below 0 is time won, pale bars are not proven to differ."
    )
    series = BarSeries("", values, [*map(signed, values)], pale=pale)
    drawn = bars(names, [series], "change per inference", microsecond_unit(values), keys=keys)
    return [bars_chart("Change per original node", summary, drawn, table, "page")]


def _sides(
    diff: Diff, pairs: Sequence[Times], write: Callable[[float], str], pale: Sequence[bool] = ()
) -> list[BarSeries]:
    """A bar per side, in the colors of the race."""
    found = []
    for side, (name, color) in enumerate(colors_of(side_names(diff)).items()):
        values = [pair[side] or 0.0 for pair in pairs]
        found.append(BarSeries(name, values, [write(value) if value else "" for value in values], color, pale))
    return found


def _unit(pairs: Sequence[Times]) -> tuple[float, str]:
    return microsecond_unit(us or 0.0 for pair in pairs for us in pair)


def _whole(diff: Diff, pairs: Sequence[Times]) -> str:
    """What the bars of each side add up to."""
    before, after = sums_of(pairs)
    first, second = map(name_of, side_names(diff))
    speedup = ratio_of(before, after)
    times = f"{microseconds(before)} in {first}, {microseconds(after)} in {second}"
    return f"All nodes: {times}{'' if speedup is None else f', {ratio(speedup)}'}."
