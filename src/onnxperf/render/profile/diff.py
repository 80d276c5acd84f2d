"""Two profiles side by side, as a page: both sides, their race, original nodes, operators and executed nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from onnxperf.records.comparison import Comparison
from onnxperf.records.diff import Diff, DiffRow, DiffSum, Side, SourceChange
from onnxperf.records.profile import Profile, link
from onnxperf.records.race import Case
from onnxperf.render.kit.column import (
    FLAG,
    NAME,
    NS,
    TEXT,
    US,
    WHOLE,
    Column,
    Format,
    for_files,
    for_screens,
)
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Section, closing
from onnxperf.render.kit.table import Footer, On, Table
from onnxperf.render.profile.diff_chart import change_charts, nodes_charts, operators_charts, signed, sources_charts
from onnxperf.render.profile.groups import inside, side_names
from onnxperf.render.profile.page import profile_facts
from onnxperf.render.profile.tables import estimator, shapes_text
from onnxperf.render.race.page import speedup_text, status_text
from onnxperf.render.race.sections import race_sections
from onnxperf.wording.names import name_of, shortened_apart
from onnxperf.wording.nodes import renamed_text
from onnxperf.wording.numbers import microseconds

MIN_SHARE = 0.01
"""Nodes with a smaller share of the time are folded into one row."""
SIGNED_US = Format(signed, excel='+#,##0.00 "µs";-#,##0.00 "µs"')
_HEADING = 14
"""Characters of the name of a side above its times."""
_SIDES: dict[Side, str] = {"=": "both", "-": "before", "+": "after"}
"""What signs mean. Files have the words: a spreadsheet takes a sign for the start of a formula."""
_STYLES: dict[Side, str] = {"=": "", "-": "red", "+": "green"}
_IN_LABELS = ("label", "before_us", "after_us", "idx", "side", "noise")
Changed = DiffSum | SourceChange
"""What takes time on both sides, or on one of them."""


class Shown(NamedTuple):
    """What a page shows of a diff: groups of original nodes, if any are known, and executed nodes."""

    sources: Sequence[SourceChange]
    nodes: Sequence[DiffSum]


def diff_page(diff: Diff, screen: Shown, page: Shown, kinds: Sequence[DiffSum]) -> Page:
    """A console has the rows that matter, an HTML page all of them; charts show `kinds` of nodes."""
    facts = [set(profile_facts(profile)) for profile in (diff.before, diff.after)]
    common = [fact for fact in profile_facts(diff.before) if fact in facts[1]]
    raced = race_line(diff.race) if diff.race is not None else ""
    interrupted = any(part.interrupted for part in (diff.before, diff.after, diff.race) if part is not None)
    original = [sources_table(diff, screen.sources, "screen"), *sources_charts(diff, page.sources)]
    executed = [rows_table(diff, screen.nodes, on="screen"), *nodes_charts(diff, kinds)]
    return [
        Heading(f"{name_of(diff.before.model)} against {name_of(diff.after.model)}", common),
        Section("Sides", [sides_table(diff), *([GAP, Line(raced, on="screen")] if raced else [])]),
        *(race_sections(diff.race) if diff.race is not None else []),
        Section("Original nodes", [*original, sources_table(diff, page.sources, "page")]),
        Section("Operators", [*operators_charts(diff), *change_charts(diff)], "page"),
        Section("Executed nodes", [*executed, rows_table(diff, page.nodes, on="page")]),
        *closing(diff.answer, diff.notes, interrupted),
    ]


def race_line(race: Case) -> str:
    """What the race without the profiler found about the second side."""
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if rival is None:
        return ""
    return f"Raced without the profiler: {status_text(rival) if rival.speedup is None else speedup_text(rival)}"


# ---------------------------------------------------------------- sides


class _OneSide(NamedTuple):
    sign: Side
    profile: Profile
    nodes: int


def sides_table(diff: Diff) -> Table[_OneSide]:
    """A row per side with its sums per iteration."""
    columns: list[Column[_OneSide]] = [
        Column("side", "", lambda row: _SIDES[row.sign], text=_sign, style=lambda row: _STYLES[row.sign]),
        Column("model", "side", lambda row: row.profile.model, NAME, room=20),
        Column("level", "level", lambda row: row.profile.session and row.profile.session.opt_level, TEXT, 100),
        Column("launches", "launches", lambda row: len(row.profile.launches) or None, WHOLE, 140),
        Column("iterations", "iterations", lambda row: row.profile.iterations, WHOLE, 100),
        Column("nodes", "nodes", lambda row: row.nodes, WHOLE, 80),
        Column("nodes_us", "sum of nodes", _time_in_nodes, US, text=_nodes_text),
        Column("run_us", "inference", lambda row: row.profile.usual_run_us, US),
        Column("unprofiled_ns", "unprofiled", lambda row: row.profile.unprofiled_ns, NS, 60),
    ]
    before = _OneSide("-", diff.before, sum(row.side != "+" for row in diff.rows))
    after = _OneSide("+", diff.after, sum(row.side != "-" for row in diff.rows))
    return Table(columns, [before, after])


def _sign(row: _OneSide) -> str:
    return row.sign


def _time_in_nodes(row: _OneSide) -> float | None:
    return row.profile.usual_nodes_us if row.profile.nodes else None


def _nodes_text(row: _OneSide) -> str:
    return microseconds(_time_in_nodes(row)) + (" overlapping" if row.profile.nodes_overlap else "")


# ---------------------------------------------------------------- changes


def times_of(row: Changed) -> tuple[float | None, float | None]:
    """Time in the usual iteration of both sides; None where a side executes nothing of it."""
    if isinstance(row, DiffSum):
        side = row.rows[0].side
        return None if side == "+" else row.before_usual_us, None if side == "-" else row.after_usual_us
    before, after = (row.others or each for each in (row.before_executed, row.after_executed))
    return row.before_us if before else None, row.after_us if after else None


def change_us(row: Changed) -> float:
    """Below 0 where time was won."""
    before, after = times_of(row)
    return (after or 0.0) - (before or 0.0)


def _comparison(row: Changed) -> Comparison:
    """What launches prove; of what was not tested, only the ratio of the times."""
    before, after = times_of(row)
    record = row if isinstance(row, SourceChange) else row.rows[0] if len(row.rows) == 1 else None
    found = Comparison(verdict=row.verdict) if record is None else Comparison.spelled(record, "speedup")
    return found if found.ratio is not None else replace(found, ratio=_ratio(before, after))


def _ratio(before: float | None, after: float | None) -> float | None:
    return before / after if before is not None and after else None


def _word(row: Changed) -> str:
    before, after = times_of(row)
    if before is None or after is None:
        return "new" if before is None else "gone"
    return row.doubt or row.verdict or ""


def _about(row: Changed) -> str:
    before, after = times_of(row)
    return f"{microseconds(before)} before, {microseconds(after)} after: {signed(change_us(row))}"


COMPARED: Compared[Changed] = Compared(
    name=lambda row: row.name if isinstance(row, DiffSum) else row.label, of=_comparison, word=_word, tooltip=_about
)


def _time_columns(diff: Diff, times: Callable[[Any], tuple[float | None, float | None]]) -> list[Column[Any]]:
    """The times of both sides, their difference, the ratio, its interval and the verdict."""
    first, second = shortened_apart([name_of(name) for name in side_names(diff)], _HEADING)
    ratio, interval, verdict = ratio_columns(COMPARED)
    return [
        Column("before_us", first, lambda row: times(row)[0], US),
        Column("after_us", second, lambda row: times(row)[1], US),
        Column("change_us", "difference", lambda row: (times(row)[1] or 0.0) - (times(row)[0] or 0.0), SIGNED_US, 60),
        ratio,
        interval._replace(width=100),
        verdict,
    ]


def _total(rows: Sequence[Any], times: Callable[[Any], tuple[float | None, float | None]], *names: str) -> Footer:
    """The sums of the rows; what they are worth without the profiler is for the race to say."""
    before, after = (math.fsum(each[side] or 0.0 for each in map(times, rows)) for side in (0, 1))
    named: dict[str, object] = dict.fromkeys(names, "total")
    sums = {"before_us": before, "after_us": after, "change_us": after - before, "speedup": _ratio(before, after)}
    return Footer(named | sums)


def _title(what: str, diff: Diff) -> str:
    return f"Time per {what} ({', '.join(dict.fromkeys(map(estimator, (diff.before, diff.after))))})"


# ---------------------------------------------------------------- original nodes


def sources_table(diff: Diff, changes: Sequence[SourceChange], on: On = "all") -> Table[SourceChange]:
    """A row per group of original nodes, whatever each side executes for them; the rows add up to the nodes."""
    columns: list[Column[SourceChange]] = [
        Column("label", "nodes of the original model", lambda row: row.label, NAME, room=24, folds=True),
        for_files("sources", lambda row: row.names),
        for_files("source_ops", lambda row: row.ops),
        for_files("before_executed", lambda row: row.before_executed),
        for_files("after_executed", lambda row: row.after_executed),
        for_files("path", lambda row: "/".join(row.path)),
        *_time_columns(diff, times_of),
    ]
    return Table(
        columns,
        changes,
        _title("original node", diff),
        style=lambda row: "dim" if row.others or row.doubt else "",
        link=lambda row: row.link,
        footers=[_total(changes, times_of, "label")],
        on=on,
    )


# ---------------------------------------------------------------- executed nodes


def alone(row: DiffRow) -> DiffSum:
    """A node as a row of its own."""
    times = {"before_usual_us": row.before_usual_us, "after_usual_us": row.after_usual_us}
    return DiffSum(name=row.label, rows=(row,), **times, verdict=row.verdict, noise=row.noise)


def rows_table(diff: Diff, sums: Sequence[DiffSum], per_iteration: bool = True, on: On = "all") -> Table[DiffSum]:
    """A row per node of both sides, in the order of execution; several nodes together where a sum has them."""
    times = times_of if per_iteration else _sums_of
    several = len({row.provider for row in diff.rows}) > 1
    columns: list[Column[DiffSum]] = [
        Column("side", "", lambda each: _SIDES[each.rows[0].side], text=lambda each: each.rows[0].side),
        Column("op_name", "operator", lambda each: each.rows[0].op_name, NAME, text=_operator, room=12),
        for_screens("node", _of_one(diff_name), TEXT, width=80, room=12),
        *_of_row(
            for_files("before_name", lambda row: row.before_name),
            for_files("after_name", lambda row: row.after_name),
            for_files("after_op_name", lambda row: row.after_op_name or (row.op_name if row.side != "-" else "")),
            Column("provider", "provider", lambda row: row.provider, NAME, 140, room=4),
        ),
        for_screens("shapes", _of_one(shapes_text), TEXT, width=140, room=18),
        *_of_row(
            for_files("inputs", lambda row: row.inputs),
            for_files("outputs", lambda row: row.outputs),
            for_files("idx", lambda row: row.idx, WHOLE),
        ),
        *_time_columns(diff, times),
        for_files("noise", lambda each: each.noise, FLAG),
        *_of_row(
            for_files("path", lambda row: "/".join(row.path)),
            for_files("label", lambda row: row.label),
        ),
    ]
    shown = [each._replace(text=_of_one(_provider if several else _nothing)) if each.key == "provider" else each for each in columns]
    total = _total(sums, times, "op_name", "label")
    return Table(shown, sums, _title("executed node", diff), _style, _key, [total], on)


def labels_table(diff: Diff, per_iteration: bool = True) -> Table[DiffSum]:
    """Times by label, the most costly first."""
    ranked = sorted(map(alone, diff.rows), key=lambda each: -each.both_us)
    return chosen(rows_table(diff, ranked, per_iteration), _IN_LABELS)
