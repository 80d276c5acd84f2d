"""What the tables and lines of a diff and of an optimisation show; the console and HTML share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from onnxperf.records import Case, Diff, DiffRow, Optimization, SourceGroup
from onnxperf.records.iterations import steady
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.render.profile.timings import count, gone, inside, listing, micros, shapes_text
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import Marks, duration, interval, ratio

SIDE_STYLES = {"=": "", "-": "red", "+": "green"}


# ---------------------------------------------------------------- a diff


def sides_sheet(diff: Diff, marks: Marks) -> Table:
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
        ("-", diff.base, [row.base_usual_us for row in diff.rows if row.side != "+"]),
        ("+", diff.opti, [row.opti_usual_us for row in diff.rows if row.side != "-"]),
    )
    for sign, profile, times in sides:
        cells = (
            sign,
            name_of(profile.model),
            profile.session.opt_level if profile.session else "",
            f"{profile.iterations:,}",
            f"{len(times):,}",
            micros(sum(times), marks),
            micros(median(steady(profile.run_us)) if profile.run_us else None, marks),
            "" if profile.unprofiled_ns is None else duration(profile.unprofiled_ns, marks),
        )
        rows.append(Row(cells, styles={0: SIDE_STYLES[sign]}))
    return without_empty(Table(columns, rows))


def diff_sheet(diff: Diff, marks: Marks, min_share: float = 0.01) -> Table:
    """A row per node of both sides, in the order of execution; small ones together, a row for each sign."""
    columns = (
        Column(""),
        Column("operator", left=True, room=12),
        Column("node", left=True, rank=2, room=14),
        Column("provider", left=True, rank=3, room=4),
        Column("shapes", left=True, rank=4, room=18),
        Column("base"),
        Column("opti"),
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
        rows.append(Row((*words, *_diff_times([row], row.noise, marks)), style=style))
    for side, members in small.items():
        number = count(len(members), "other")
        rows.append(Row((side, number, "", "", "", *_diff_times(members, False, marks)), style="dim"))
    return without_empty(Table(columns, rows))


def _small(rows: Sequence[DiffRow], min_share: float) -> dict[str, list[DiffRow]]:
    """Rows under the share by their sign, where they are at least two: one alone takes no more room as it is."""
    floor = min_share * sum(row.base_usual_us + row.opti_usual_us for row in rows)
    small: dict[str, list[DiffRow]] = {"=": [], "-": [], "+": []}
    for row in rows:
        if row.base_usual_us + row.opti_usual_us < floor:
            small[row.side].append(row)
    return {side: members for side, members in small.items() if len(members) > 1}


def _diff_name(row: DiffRow) -> str:
    names = [name_of(name) for name in dict.fromkeys((row.base_name, row.opti_name)) if name]
    return inside(row) + " -> ".join(names)


def _diff_times(rows: Sequence[DiffRow], noise: bool, marks: Marks) -> tuple[str, ...]:
    base, opti = sum(row.base_usual_us for row in rows), sum(row.opti_usual_us for row in rows)
    change = opti - base
    told = f"{'+' if change > 0 else ''}{micros(change, marks)}" if change else micros(0, marks)
    if rows[0].side == "-":
        return micros(base, marks), "", told, "gone"
    if rows[0].side == "+":
        return "", micros(opti, marks), told, "new"
    speedup = ratio(base / opti if opti else None, marks)
    return micros(base, marks), micros(opti, marks), told, "noise" if noise else speedup


def race_line(race: Case, marks: Marks) -> str:
    """What the race without the profiler says about the second side."""
    rival = next((subject for subject in race.subjects if subject.name != race.baseline), None)
    if rival is None:
        return ""
    if rival.speedup is None:
        return f"Raced without the profiler: {rival.status}{f', {rival.reason}' if rival.reason else ''}"
    told = f"Raced without the profiler: speedup {ratio(rival.speedup, marks)}"
    if rival.speedup_low is not None:
        told += f" (95 % interval {interval(rival.speedup_low, rival.speedup_high, marks)})"
    return f"{told}, {rival.verdict or 'no verdict'}"


# ---------------------------------------------------------------- an optimisation


def counts_sheet(record: Optimization, marks: Marks) -> Table:
    """Nodes per operator type before and after, the largest change first, and their sums."""
    columns = (Column("operator", left=True, room=20), Column("before"), Column("after"), Column("change"))
    names = dict.fromkeys([*record.before, *record.after])
    pairs = [(name, record.before.get(name, 0), record.after.get(name, 0)) for name in names]
    pairs.sort(key=lambda pair: (pair[1] == pair[2], -abs(pair[2] - pair[1])))
    rows = [_count_row(name_of(name), before, after, marks) for name, before, after in pairs]
    whole = _count_row("all", sum(record.before.values()), sum(record.after.values()), marks)
    return Table(columns, [*rows, whole._replace(style="bold")])


def _count_row(name: str, before: int, after: int, marks: Marks) -> Row:
    change = after - before
    cells = (name, f"{before:,}", f"{after:,}", f"{change:+,}" if change else marks.nothing)
    return Row(cells, style="" if change else "dim")


def group_lines(record: Optimization, most: int | None = None) -> list[tuple[str, list[str]]]:
    """What became of the nodes, by kind: a heading and its lines, at most so many, the rest as a number."""
    found = []
    for kind, heading, tell in _KINDS:
        lines = [line for group in record.groups if group.kind == kind for line in tell(group)]
        if not lines:
            continue
        shown = [listing(lines, most)] if tell is gone else lines[:most]
        if tell is not gone and len(shown) < len(lines):
            shown.append(f"and {len(lines) - len(shown):,} more")
        found.append((f"{heading} ({len(lines):,})", shown))
    return found


def _became(group: SourceGroup) -> str:
    before, after = _named(group.sources, group.source_ops), _named(group.executed, group.executed_ops)
    return f"{inside(group)}{f'{before} -> {after}' if before else after}"


def _named(names: Sequence[str], ops: Sequence[str]) -> str:
    return " + ".join(f"{name_of(name)} {name_of(op)}" for name, op in zip(names, ops, strict=False))


_KINDS: tuple[tuple[str, str, Callable[[SourceGroup], list[str]]], ...] = (
    ("fused", "Fused", lambda group: [_became(group)]),
    ("inserted", "Inserted", lambda group: [_became(group)]),
    ("folded", "Folded, computed once when the model is loaded", gone),
    ("duplicate", "Duplicates of another node", gone),
    ("removed", "Removed, without effect", gone),
    ("unattributed", "Of unknown origin", lambda group: [_became(group)]),
)
