"""Two profiles side by side, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.profile import Diff, DiffRow
from onnxperf.records.race import Case
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.render.profile.groups import inside
from onnxperf.render.profile.page import profile_facts
from onnxperf.render.profile.tables import shapes_text
from onnxperf.render.race.page import speedup_text, status_text
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, grouped, microseconds, ratio

MIN_SHARE = 0.01
"""Nodes with a smaller share of the time are folded into one row."""
SIDE_STYLES = {"=": "", "-": "red", "+": "green"}


def diff_page(diff: Diff, min_share: float = MIN_SHARE) -> list[Part]:
    """Both sides and their sums, the result of the race, the nodes side by side, answer, notes."""
    facts = [set(profile_facts(profile)) for profile in (diff.before, diff.after)]
    common = [fact for fact in profile_facts(diff.before) if fact in facts[1]]
    raced = race_line(diff.race) if diff.race is not None else ""
    return [
        Heading(f"{name_of(diff.before.model)} against {name_of(diff.after.model)}", common),
        sides_table(diff),
        *([GAP, Line(raced)] if raced else []),
        *([rows_table(diff, min_share)] if diff.rows else []),
        *closing(diff.answer, diff.notes, _interrupted(diff)),
    ]


def _interrupted(diff: Diff) -> bool:
    return any(part.interrupted for part in (diff.before, diff.after, diff.race) if part is not None)


def sides_table(diff: Diff) -> Table:
    """A row per side with its sums per iteration."""
    columns = (
        Column(""),
        Column("side", left=True, room=20),
        Column("level", left=True, rank=3),
        Column("iterations", rank=4),
        Column("nodes", rank=2),
        Column("time in nodes"),
        Column("inference"),
        Column("unprofiled", rank=1),
    )
    rows = []
    sides = (
        ("-", diff.before, sum(row.side != "+" for row in diff.rows)),
        ("+", diff.after, sum(row.side != "-" for row in diff.rows)),
    )
    for sign, profile, nodes in sides:
        cells = (
            sign,
            name_of(profile.model),
            profile.session.opt_level if profile.session else "",
            grouped(profile.iterations),
            grouped(nodes),
            microseconds(profile.usual_nodes_us) + (" overlapping" if profile.nodes_overlap else ""),
            microseconds(profile.usual_run_us),
            "" if profile.unprofiled_ns is None else duration(profile.unprofiled_ns),
        )
        rows.append(Row(cells, styles={0: SIDE_STYLES[sign]}))
    return without_empty(Table(columns, rows))


def rows_table(diff: Diff, min_share: float = MIN_SHARE) -> Table:
    """A row per node of both sides, in the order of execution; small ones together, a row for each sign."""
    columns = (
        Column(""),
        Column("operator", left=True, room=12),
        Column("node", left=True, rank=2, room=14),
        Column("provider", left=True, rank=3, room=4),
        Column("shapes", left=True, rank=4, room=18),
        Column("before"),
        Column("after"),
        Column("difference", rank=1),
        Column("speedup"),
    )
    providers = len({row.provider for row in diff.rows}) > 1
    small = _small(diff.rows, min_share)
    folded = {id(row) for members in small.values() for row in members}
    rows = []
    for row in diff.rows:
        if id(row) in folded:
            continue
        provider = row.provider.removesuffix("ExecutionProvider") if providers else ""
        words = (row.side, name_of(row.op_name), _diff_name(row), provider, shapes_text(row))
        style = "dim" if row.noise else SIDE_STYLES[row.side]
        rows.append(Row((*words, *_diff_times([row], row.noise)), style=style))
    for side, members in small.items():
        number = count(len(members), "other")
        rows.append(Row((side, number, "", "", "", *_diff_times(members, False)), style="dim"))
    return without_empty(Table(columns, rows))


def _small(rows: Sequence[DiffRow], min_share: float) -> dict[str, list[DiffRow]]:
    """Rows under the share by their sign, where they are at least two: one alone takes no more room as it is."""
    floor = min_share * sum(row.before_usual_us + row.after_usual_us for row in rows)
    small: dict[str, list[DiffRow]] = {"=": [], "-": [], "+": []}
    for row in rows:
        if row.before_usual_us + row.after_usual_us < floor:
            small[row.side].append(row)
    return {side: members for side, members in small.items() if len(members) > 1}


def _diff_name(row: DiffRow) -> str:
    names = [name_of(name) for name in dict.fromkeys((row.before_name, row.after_name)) if name]
    return inside(row) + " -> ".join(names)


def _diff_times(rows: Sequence[DiffRow], noise: bool) -> tuple[str, ...]:
    before, after = sum(row.before_usual_us for row in rows), sum(row.after_usual_us for row in rows)
    change = after - before
    difference = f"{'+' if change > 0 else ''}{microseconds(change)}"
    if rows[0].side == "-":
        return microseconds(before), "", difference, "gone"
    if rows[0].side == "+":
        return "", microseconds(after), difference, "new"
    speedup = ratio(before / after if after else None)
    return microseconds(before), microseconds(after), difference, "noise" if noise else speedup


def race_line(race: Case) -> str:
    """What the race without the profiler found about the second side."""
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if rival is None:
        return ""
    return f"Raced without the profiler: {status_text(rival) if rival.speedup is None else speedup_text(rival)}"
