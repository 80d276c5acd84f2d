"""Two profiles side by side, as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnxperf.records.diff import Diff, DiffRow, DiffSum, Side, SourceChange
from onnxperf.records.profile import Profile
from onnxperf.records.race import Case
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.render.profile.groups import inside, side_names
from onnxperf.render.profile.page import profile_facts
from onnxperf.render.profile.tables import estimator, shapes_text
from onnxperf.render.race.page import speedup_text, status_text
from onnxperf.wording.names import name_of, shortened_apart
from onnxperf.wording.nodes import renamed_text
from onnxperf.wording.numbers import duration, grouped, microseconds, ratio

MIN_SHARE = 0.01
"""Nodes with a smaller share of the time are folded into one row."""
_HEADING = 14
"""Characters of the name of a side above its times."""
SIDE_STYLES = {"=": "", "-": "red", "+": "green"}


def diff_page(diff: Diff, sums: Sequence[DiffSum], changes: Sequence[SourceChange] = ()) -> list[Part]:
    """Both sides and their sums, the result of the race, original and executed nodes side by side, answer, notes."""
    facts = [set(profile_facts(profile)) for profile in (diff.before, diff.after)]
    common = [fact for fact in profile_facts(diff.before) if fact in facts[1]]
    raced = race_line(diff.race) if diff.race is not None else ""
    return [
        Heading(f"{name_of(diff.before.model)} against {name_of(diff.after.model)}", common),
        sides_table(diff),
        *([GAP, Line(raced)] if raced else []),
        *([sources_table(diff, changes)] if changes else []),
        *([rows_table(diff, sums)] if sums else []),
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
        Column("launches", rank=5),
        Column("iterations", rank=4),
        Column("nodes", rank=2),
        Column("sum of nodes"),
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
            grouped(len(profile.launches)) if profile.launches else "",
            grouped(profile.iterations),
            grouped(nodes),
            _time_in_nodes(profile),
            microseconds(profile.usual_run_us),
            "" if profile.unprofiled_ns is None else duration(profile.unprofiled_ns),
        )
        rows.append(Row(cells, styles={0: SIDE_STYLES[sign]}))
    return without_empty(Table(columns, rows))


def _time_in_nodes(profile: Profile) -> str:
    if not profile.nodes:
        return microseconds(None)
    return microseconds(profile.usual_nodes_us) + (" overlapping" if profile.nodes_overlap else "")


def sources_table(diff: Diff, changes: Sequence[SourceChange]) -> Table:
    """A row per group of original nodes, whatever each side executes for them; the rows add up to the nodes."""
    columns = (
        Column("nodes of the original model", left=True, room=24, folds=True),
        *(Column(name) for name in _headings(diff)),
        Column("difference", rank=1),
        Column("speedup"),
    )
    rows = [
        Row((each.label, *_source_times(each)), style="dim" if each.others or each.doubt else "") for each in changes
    ]
    rows.append(Row(("total", *_total_times([(each.before_us, each.after_us) for each in changes])), "bold"))
    return Table(columns, rows, f"Time per original node ({_estimators(diff)})")


def _source_times(each: SourceChange) -> tuple[str, ...]:
    if each.on_both:
        return _both_times(each.before_us, each.after_us, each.doubt)
    return _lone_times(each.before_us, each.after_us, "+" if each.after_executed else "-")


def rows_table(diff: Diff, sums: Sequence[DiffSum]) -> Table:
    """A row per node of both sides, in the order of execution; several nodes together where a sum has them."""
    columns = (
        Column(""),
        Column("operator", left=True, room=12),
        Column("node", left=True, rank=2, room=14),
        Column("provider", left=True, rank=3, room=4),
        Column("shapes", left=True, rank=4, room=18),
        *(Column(name) for name in _headings(diff)),
        Column("difference", rank=1),
        Column("speedup"),
    )
    providers = len({row.provider for row in diff.rows}) > 1
    rows = []
    for each in sums:
        row = each.rows[0]
        if each.others:
            rows.append(Row((row.side, each.name, "", "", "", *_diff_times(each)), style="dim"))
            continue
        provider = row.provider.removesuffix("ExecutionProvider") if providers else ""
        words = (row.side, renamed_text(row.op_name, row.after_op_name), diff_name(row), provider, shapes_text(row))
        rows.append(Row((*words, *_diff_times(each)), style="dim" if each.noise else SIDE_STYLES[row.side]))
    times = [(each.before_usual_us, each.after_usual_us) for each in sums]
    rows.append(Row(("", "total", "", "", "", *_total_times(times)), "bold"))
    return without_empty(Table(columns, rows, f"Time per executed node ({_estimators(diff)})"))


def _headings(diff: Diff) -> list[str]:
    return shortened_apart([name_of(name) for name in side_names(diff)], _HEADING)


def _total_times(times: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    """The sums of the rows; what they are worth without the profiler is for the race to say."""
    return _both_times(math.fsum(before for before, _ in times), math.fsum(after for _, after in times))


def _estimators(diff: Diff) -> str:
    return ", ".join(dict.fromkeys(estimator(profile) for profile in (diff.before, diff.after)))


def diff_name(row: DiffRow) -> str:
    """A node with both of its names, and the nodes whose bodies it is in."""
    return inside(row) + renamed_text(row.before_name, row.after_name)


def _diff_times(each: DiffSum) -> tuple[str, ...]:
    before, after, side = each.before_usual_us, each.after_usual_us, each.rows[0].side
    return _both_times(before, after, each.doubt) if side == "=" else _lone_times(before, after, side)


def _both_times(before: float, after: float, doubt: str = "") -> tuple[str, ...]:
    return microseconds(before), microseconds(after), _difference(before, after), doubt or _speedup(before, after)


def _lone_times(before: float, after: float, side: Side) -> tuple[str, ...]:
    """Of what only one side executes."""
    difference = _difference(before, after)
    if side == "-":
        return microseconds(before), "", difference, "gone"
    return "", microseconds(after), difference, "new"


def _difference(before: float, after: float) -> str:
    return f"{'+' if after > before else ''}{microseconds(after - before)}"


def _speedup(before: float, after: float) -> str:
    return ratio(before / after if after else None)


def race_line(race: Case) -> str:
    """What the race without the profiler found about the second side."""
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if rival is None:
        return ""
    return f"Raced without the profiler: {status_text(rival) if rival.speedup is None else speedup_text(rival)}"
