"""The tables of a diff: both sides, original nodes, operators and executed nodes, with what launches prove of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from onnxperf.records.comparison import Comparison
from onnxperf.records.diff import Diff, DiffRow, DiffSum, Side, SourceChange
from onnxperf.records.profile import OperatorTime, Profile, link, operator_link
from onnxperf.render.kit.column import (
    FLAG,
    MEAN_COUNT,
    NAME,
    NS,
    RATIO,
    US,
    WHOLE,
    Column,
    Format,
    for_files,
    for_screens,
)
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.table import Footer, On, Table
from onnxperf.render.profile.groups import inside, side_names
from onnxperf.render.profile.tables import shapes_text
from onnxperf.wording.names import name_of, shortened_apart
from onnxperf.wording.nodes import renamed_text
from onnxperf.wording.numbers import count, microseconds

Times = tuple[float | None, float | None]
"""Of both sides; None if a side executes nothing of it."""
Changed = DiffSum | SourceChange
"""What takes time on both sides, or on one of them."""

_HEADING = 14
"""Characters of the name of a side above its times."""
_SIDES: dict[Side, str] = {"=": "both", "-": "before", "+": "after"}
"""What signs mean. Files have the words: a spreadsheet takes a sign for the start of a formula."""
_STYLES: dict[Side, str] = {"=": "", "-": "red", "+": "green"}
_IN_LABELS = ("label", "before_us", "after_us", "idx", "side", "noise")


def signed(us: float) -> str:
    """A change of a time, such as `-52.3 µs`."""
    return f"{'+' if us > 0 else ''}{microseconds(us)}"


SIGNED_US = Format(signed, excel='+#,##0.00 "µs";-#,##0.00 "µs"')


# ---------------------------------------------------------------- both sides


class _OneSide(NamedTuple):
    """A profile, and how many of the rows it has."""

    sign: Side
    profile: Profile
    nodes: int


def sides_table(diff: Diff, on: On = "all") -> Table[_OneSide]:
    """A row per side with its sums per iteration; a page has the times of a race below it."""
    columns: list[Column[_OneSide]] = [
        for_screens("", lambda row: row.sign, style=lambda row: _STYLES[row.sign]),
        for_screens("side", lambda row: row.profile.model, NAME, room=20),
        for_screens("level", lambda row: row.profile.session and row.profile.session.opt_level, width=100),
        for_screens("launches", lambda row: len(row.profile.launches) or None, WHOLE, width=140),
        for_screens("iterations", lambda row: row.profile.iterations, WHOLE, width=100),
        for_screens("nodes", lambda row: row.nodes, WHOLE, width=80),
        for_screens("sum of nodes", lambda row: row.profile.usual_nodes_us, US, text=_time_in_nodes),
        for_screens("inference", lambda row: row.profile.usual_run_us, US),
        for_screens("unprofiled", lambda row: row.profile.unprofiled_ns, NS, width=60),
    ]
    before = _OneSide("-", diff.before, sum(row.side != "+" for row in diff.rows))
    after = _OneSide("+", diff.after, sum(row.side != "-" for row in diff.rows))
    if on == "page" and diff.race is not None:
        columns.pop()
    return Table(columns, [before, after], on=on)


def _time_in_nodes(row: _OneSide) -> str:
    if not row.profile.nodes:
        return microseconds(None)
    return microseconds(row.profile.usual_nodes_us) + (" overlapping" if row.profile.nodes_overlap else "")


# ---------------------------------------------------------------- what changed


def times_of(row: Changed) -> Times:
    """Time in the usual iteration of both sides."""
    if isinstance(row, DiffSum):
        side = row.rows[0].side
        return None if side == "+" else row.before_usual_us, None if side == "-" else row.after_usual_us
    before, after = (row.others or executed for executed in (row.before_executed, row.after_executed))
    return row.before_us if before else None, row.after_us if after else None


def change_us(times: Times) -> float:
    """Below 0 if the second side is faster."""
    before, after = times
    return (after or 0.0) - (before or 0.0)


def ratio_of(before: float | None, after: float | None) -> float | None:
    """Speedup of the second side."""
    return before / after if before is not None and after is not None and after > 0 else None


def _comparison(row: Changed) -> Comparison:
    """What launches prove; of what was not tested alone, the ratio of the times."""
    record = row if isinstance(row, SourceChange) else row.rows[0] if len(row.rows) == 1 else None
    found = Comparison(verdict=row.verdict) if record is None else Comparison.spelled(record, "speedup")
    return found if found.ratio is not None else replace(found, ratio=ratio_of(*times_of(row)))


def _word(row: Changed) -> str:
    before, after = times_of(row)
    if before is None or after is None:
        return "new" if before is None else "gone"
    return row.doubt or row.verdict or ""


def _tooltip(row: Changed) -> str:
    before, after = times_of(row)
    return f"{microseconds(before)} before, {microseconds(after)} after: {signed(change_us((before, after)))}"


def key_of(row: Changed) -> str:
    """What it stands for elsewhere on a page; several nodes together have no box of their own."""
    if isinstance(row, SourceChange):
        return row.link
    first, *others = row.rows
    return "" if others else link(first.path, first.after_name or first.before_name)


COMPARED: Compared[Any] = Compared(
    name=lambda row: row.name if isinstance(row, DiffSum) else row.label,
    of=_comparison,
    word=_word,
    tooltip=_tooltip,
    link=key_of,
)


def _time_columns(diff: Diff, times: Callable[[Any], Times]) -> list[Column[Any]]:
    """The times of both sides, and their difference."""
    first, second = shortened_apart([name_of(name) for name in side_names(diff)], _HEADING)
    return [
        Column("before_us", first, lambda row: times(row)[0], US),
        Column("after_us", second, lambda row: times(row)[1], US),
        Column("change_us", "difference", lambda row: change_us(times(row)), SIGNED_US, 60),
    ]


def _verdict_columns() -> list[Column[Any]]:
    ratio, interval, verdict = ratio_columns(COMPARED)
    return [ratio, interval._replace(width=100), verdict]


def sums_of(several: Iterable[Times]) -> tuple[float, float]:
    """The times of each side added."""
    both = list(several)
    before, after = (math.fsum(times[side] or 0.0 for times in both) for side in (0, 1))
    return before, after


def _total(several: Iterable[Times], *names: str) -> Footer:
    """The sums of the rows; what they are worth without the profiler is for the race to say."""
    before, after = sums_of(several)
    sums = {"before_us": before, "after_us": after, "change_us": after - before, "speedup": ratio_of(before, after)}
    return Footer({**dict.fromkeys(names, "total"), **sums})


# ---------------------------------------------------------------- original nodes


def sources_table(diff: Diff, changes: Sequence[SourceChange], on: On = "all") -> Table[SourceChange]:
    """A row per group of original nodes, whatever each side executes for them; the rows add up to the nodes."""
    columns: list[Column[SourceChange]] = [
        Column("label", "original node", lambda row: row.label, NAME, room=24, folds=True),
        for_files("sources", lambda row: row.names),
        for_files("source_ops", lambda row: row.ops),
        for_files("before_executed", lambda row: row.before_executed),
        for_files("after_executed", lambda row: row.after_executed),
        for_files("path", lambda row: "/".join(row.path)),
        *_time_columns(diff, times_of),
        *_verdict_columns(),
    ]
    return Table(
        columns,
        changes,
        "Time per original node",
        style=lambda row: "dim" if row.others or row.doubt else "",
        link=key_of,
        footers=[_total(map(times_of, changes), "label")],
        on=on,
    )


# ---------------------------------------------------------------- operators


class OperatorPair(NamedTuple):
    """An operator type on both sides, or several together."""

    name: str
    times: Times
    calls: Times
    """Per iteration."""
    key: str = ""
    """What it stands for elsewhere on a page."""


def operator_pairs(diff: Diff) -> list[OperatorPair]:
    """Operators of both sides, the most costly on either side first."""
    sides = [{each.op_name: each for each in profile.operators} for profile in (diff.before, diff.after)]
    iterations = [max(1, profile.iterations) for profile in (diff.before, diff.after)]
    found = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        both: list[OperatorTime | None] = [side.get(name) for side in sides]
        before, after = (None if each is None else each.usual_us for each in both)
        calls = [None if each is None else each.calls / number for each, number in zip(both, iterations, strict=True)]
        found.append(OperatorPair(name, (before, after), (calls[0], calls[1]), operator_link(name)))
    return sorted(found, key=lambda each: -max(us or 0.0 for us in each.times))


def other_operators(pairs: Sequence[OperatorPair]) -> list[OperatorPair]:
    """What a chart has no room for, together, so that its bars add up to the whole of each side."""
    if not pairs:
        return []
    times, calls = (sums_of(getattr(each, what) for each in pairs) for what in ("times", "calls"))
    return [OperatorPair(count(len(pairs), "other operator"), times, calls)]


def operators_table(diff: Diff) -> Table[OperatorPair]:
    """A row per operator of either side, as a page shows them."""
    pairs = operator_pairs(diff)
    columns: list[Column[OperatorPair]] = [
        Column("op_name", "operator", lambda row: row.name, NAME),
        *_time_columns(diff, lambda row: row.times),
        Column("speedup", "speedup", lambda row: ratio_of(*row.times), RATIO),
        for_screens("executions before", lambda row: row.calls[0], MEAN_COUNT),
        for_screens("after", lambda row: row.calls[1], MEAN_COUNT),
    ]
    total = _total((each.times for each in pairs), "op_name")
    return Table(columns, pairs, link=lambda row: row.key, footers=[total])


# ---------------------------------------------------------------- executed nodes


def alone(row: DiffRow) -> DiffSum:
    """A node as a row of its own."""
    before, after = row.before_usual_us, row.after_usual_us
    return DiffSum(
        name=row.label,
        rows=(row,),
        before_usual_us=before,
        after_usual_us=after,
        verdict=row.verdict,
        noise=row.noise,
    )


def nodes_table(diff: Diff, sums: Sequence[DiffSum], per_iteration: bool = True, on: On = "all") -> Table[DiffSum]:
    """A row per node of both sides, in the order of execution; several nodes together where a sum has them."""
    times = times_of if per_iteration else _all_iterations
    several = len({row.provider for row in diff.rows}) > 1
    names: list[Column[DiffRow]] = [
        for_files("before_name", lambda row: row.before_name),
        for_files("after_name", lambda row: row.after_name),
        for_files("after_op_name", lambda row: row.after_op_name or (row.op_name if row.side != "-" else "")),
        for_files("path", lambda row: "/".join(row.path)),
        for_files("inputs", lambda row: row.inputs),
        for_files("outputs", lambda row: row.outputs),
        for_files("idx", lambda row: row.idx, WHOLE),
        for_files("label", lambda row: row.label),
    ]
    columns: list[Column[DiffSum]] = [
        Column("side", "", lambda each: _SIDES[each.rows[0].side], text=lambda each: each.rows[0].side),
        Column("op_name", "operator", lambda each: each.rows[0].op_name, NAME, text=_operator, room=12),
        for_screens("node", _of_one(_names), width=80, room=12),
        Column("provider", "provider", lambda each: each.rows[0].provider, NAME, 140, "", _provider(several), room=4),
        for_screens("shapes", _of_one(shapes_text), width=140, room=18),
        *(each.of(_first) for each in names),
        *_time_columns(diff, times),
        *_verdict_columns(),
        for_files("noise", lambda each: each.noise, FLAG),
    ]
    total = _total(map(times, sums), "op_name", "label")
    return Table(columns, sums, "Time per executed node", _style, key_of, [total], on)


def labels_table(diff: Diff, per_iteration: bool = True) -> Table[DiffSum]:
    """Times by label, the most costly first."""
    table = nodes_table(diff, sorted(map(alone, diff.rows), key=lambda each: -each.both_us), per_iteration)
    columns = {each.key: each for each in table.columns}
    return table._replace(columns=[columns[key] for key in _IN_LABELS])


def _first(each: DiffSum) -> DiffRow:
    return each.rows[0]


def _of_one(text: Callable[[DiffRow], str]) -> Callable[[DiffSum], str]:
    """Nothing of small nodes together."""
    return lambda each: "" if each.others else text(each.rows[0])


def _operator(each: DiffSum) -> str:
    row = each.rows[0]
    return each.name if each.others else renamed_text(row.op_name, row.after_op_name)


def node_names(each: DiffSum) -> str:
    """A node with its names on both sides; small nodes together are a number."""
    return each.name if each.others else _names(each.rows[0])


def _names(row: DiffRow) -> str:
    return inside(row) + renamed_text(row.before_name, row.after_name)


def _provider(several: bool) -> Callable[[DiffSum], str]:
    """Nothing where all nodes have the same."""
    return _of_one(lambda row: name_of(row.provider.removesuffix("ExecutionProvider")) if several else "")


def _all_iterations(each: DiffSum) -> Times:
    """The sums over all iterations."""
    before = [us for row in each.rows for us in row.before_us]
    after = [us for row in each.rows for us in row.after_us]
    return math.fsum(before) if before else None, math.fsum(after) if after else None


def _style(each: DiffSum) -> str:
    return "dim" if each.others or each.noise else _STYLES[each.rows[0].side]
