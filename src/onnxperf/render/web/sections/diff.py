"""Two profiles on a page, side by side: operators before and after, and the changes that add up to the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnxperf.records.diff import Diff, DiffRow, DiffSum, SourceChange
from onnxperf.records.profile import Profile, link, operator_link
from onnxperf.render.profile.diff import rows_table, sources_table
from onnxperf.render.profile.groups import side_names
from onnxperf.render.web.bars import BarSeries, bars, time_unit
from onnxperf.render.web.old_base import Chart, LinkedTable, Part, Section
from onnxperf.render.web.sections.race import race_sections
from onnxperf.wording.numbers import count, microseconds, ratio

_OPERATORS, _NODES = 14, 20
_BEFORE, _AFTER = 6, 0
"""Places of colours."""


def diff_sections(diff: Diff, sums: Sequence[DiffSum], changes: Sequence[SourceChange] = ()) -> list[Section]:
    """The race, original nodes, operators on both sides, and executed nodes; `sums` has every row alone."""
    raced = race_sections(diff.race) if diff.race is not None else []
    if not diff.rows:
        return raced
    parts = [operators_chart(diff), changes_chart(diff)]
    nodes: list[Part] = [nodes_chart(sums), LinkedTable(rows_table(diff, sums), [*map(_key, sums), ""])]
    original = [Section("Original nodes", [sources_chart(changes), _sources(diff, changes)])] if changes else []
    return [*raced, *original, Section("Operators", parts), Section("Executed nodes", nodes)]


def _times(profile: Profile) -> dict[str, float]:
    return {each.op_name: each.usual_us for each in profile.operators}


def _names(diff: Diff) -> list[str]:
    """Operators of both sides, the most costly on either side first."""
    before, after = _times(diff.before), _times(diff.after)
    names = dict.fromkeys([*before, *after])
    return sorted(names, key=lambda name: -max(before.get(name, 0.0), after.get(name, 0.0)))


def operators_chart(diff: Diff) -> Chart:
    """Two bars per operator; the small ones together, so that bars add up to the whole of each side."""
    names = _names(diff)
    kept, rest = names[:_OPERATORS], names[_OPERATORS:]
    sides = []
    for times in (_times(diff.before), _times(diff.after)):
        others = [math.fsum(times.get(name, 0.0) for name in rest)] if rest else []
        sides.append([times.get(name, 0.0) for name in kept] + others)
    words = [[microseconds(us) if us else "" for us in side] for side in sides]
    first, second = side_names(diff)
    series = [BarSeries(first, sides[0], words[0], _BEFORE), BarSeries(second, sides[1], words[1], _AFTER)]
    whole = list(map(math.fsum, sides))
    summary = (
        f"Time per operator in the usual inference on both sides: {microseconds(whole[0])} in nodes before, "
        f"{microseconds(whole[1])} after{f', {ratio(whole[0] / whole[1])}' if whole[1] else ''}."
    )
    shown = kept + ([count(len(rest), "other operator")] if rest else [])
    keys = [operator_link(name) for name in kept] + ([""] if rest else [])
    return bars("Operators on both sides", summary, shown, series, time_unit([*sides[0], *sides[1]]), keys)


def changes_chart(diff: Diff) -> Chart:
    """The change of each operator, the largest first, and of all nodes, to which they add up."""
    before, after = _times(diff.before), _times(diff.after)
    changes = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in _names(diff)}
    ranked = sorted(changes, key=lambda name: -abs(changes[name]))
    kept, rest = ranked[:_OPERATORS], ranked[_OPERATORS:]
    rows = {name: changes[name] for name in kept}
    rows |= {count(len(rest), "other operator"): math.fsum(changes[name] for name in rest)} if rest else {}
    rows["all nodes"] = whole = math.fsum(changes.values())
    values = list(rows.values())
    series = [BarSeries("", values, [_signed(us) for us in values], _AFTER)]
    summary = f"What the change of {_signed(whole)} in all nodes consists of; below 0 is time won."
    keys = [operator_link(name) if name in changes else "" for name in rows]
    return bars("Change per operator", summary, list(rows), series, time_unit(values), keys)


def nodes_chart(sums: Sequence[DiffSum]) -> Chart:
    """The nodes whose time changed the most; pale where no change is proven."""
    ranked = sorted(sums, key=lambda each: -abs(_change(each)))[:_NODES]
    values = [_change(each) for each in ranked]
    series = [BarSeries("", values, [_words(each) for each in ranked], _AFTER, [each.noise for each in ranked])]
    summary = (
        f"The {count(len(ranked), 'node')} whose time changed the most, of {count(len(sums), 'node')} on both sides: "
        f"{_signed(math.fsum(values))} of {_signed(math.fsum(map(_change, sums)))} in all; below 0 is time won, pale "
        "bars are not proven to differ."
    )
    names = [_name(each.rows[0]) for each in ranked]
    return bars("Change per node", summary, names, series, time_unit(values), [_key(each) for each in ranked])


def sources_chart(changes: Sequence[SourceChange]) -> Chart:
    """The original nodes whose time changed the most, however each side executes them; pale if nothing is proven."""
    kept = sorted(changes, key=lambda each: -abs(each.change_us))[:_NODES]
    values = [each.change_us for each in kept]
    names, keys, pale = ([getattr(each, what) for each in kept] for what in ("label", "link", "doubt"))
    whole = math.fsum(each.change_us for each in changes)
    if len(changes) > _NODES:
        values.append(whole - math.fsum(values))
        names, keys, pale = [*names, count(len(changes) - _NODES, "other")], [*keys, ""], [*pale, ""]
    summary = (
        f"How the time of {count(len(changes), 'group')} of original nodes changed, of {_signed(whole)} in all; below "
        "0 is time won, pale bars are not proven to differ."
    )
    series = [BarSeries("", values, [_signed(us) for us in values], _AFTER, list(map(bool, pale)))]
    return bars("Change per original node", summary, names, series, time_unit(values), keys)


def _sources(diff: Diff, changes: Sequence[SourceChange]) -> LinkedTable:
    table = sources_table(diff, changes)
    return LinkedTable(table, [*(each.link for each in changes), ""])


def _change(each: DiffSum) -> float:
    return each.after_usual_us - each.before_usual_us


def _words(each: DiffSum) -> str:
    kind = {"-": ", gone", "+": ", new"}.get(each.rows[0].side, f", {each.doubt}" if each.doubt else "")
    return f"{_signed(_change(each))}{kind}"


def _name(row: DiffRow) -> str:
    return " > ".join((*row.path, row.after_name or row.before_name or row.op_name))


def _key(each: DiffSum) -> str:
    row = each.rows[0]
    return link(row.path, row.after_name or row.before_name)


def _signed(us: float) -> str:
    return f"{'+' if us > 0 else ''}{microseconds(us)}"
