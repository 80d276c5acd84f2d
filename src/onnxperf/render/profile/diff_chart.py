"""Charts of a diff: before and after, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxperf.records.profile import Diff, DiffRow, Profile
from onnxperf.render.kit import chart as fg
from onnxperf.render.profile.diff import MIN_SHARE
from onnxperf.render.profile.operator_bars import draw_operators, operator_bars
from onnxperf.wording.labels import label, signature
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, mean_count, microseconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_LENGTH = 90
_BEFORE, _AFTER = fg.GREY, fg.BLUE


class _Alike(NamedTuple):
    """Rows of the same side, operator, types, shapes and provider, added up."""

    label: str
    before_us: float
    after_us: float
    before_nodes: int
    after_nodes: int
    noise: bool


def diff_plot(diff: Diff, ax: Sequence[Axes] | None = None, min_share: float = MIN_SHARE) -> fg.AxesArray:
    """Time and number of equal nodes on both sides; pale where the difference is noise, small ones in one row."""
    rows, summed = _folded(_alike(diff.rows), min_share)
    labels = [row.label for row in rows]
    panels: Any = ax
    if panels is None:
        figure = fg.bar_figure(labels, 2, "Time and number of nodes, before and after", _names(diff), row=0.34)
        panels = figure.subplots(1, 2, sharey=True)
    pale = [row.noise for row in rows]
    times = [
        _bars([row.before_us for row in rows], _BEFORE, _time, pale),
        _bars([row.after_us for row in rows], _AFTER, _time, pale),
    ]
    counts = [
        _bars([row.before_nodes for row in rows], _BEFORE, _count, pale),
        _bars([row.after_nodes for row in rows], _AFTER, _count, pale),
    ]
    fg.draw_bars(panels[0], labels, times, summed)
    fg.time_axis(panels[0].xaxis)
    fg.draw_bars(panels[1], labels, counts, summed)
    fg.count_axis(panels[1], "nodes")
    panels[1].tick_params(labelleft=False)
    noise = {"pale: noise": fg.GRID} if any(pale) else {}
    fg.legend(panels[0], fg.patches({"before": _BEFORE, "after": _AFTER} | noise))
    return fg.as_array(panels)


def operators_plot(diff: Diff, ax: fg.AxesArray | None = None) -> fg.AxesArray:
    """Before above, after below; time per operator on the left, executions on the right."""
    sides = [operator_bars(profile, most=fg.MAX_BARS // 2) for profile in (diff.before, diff.after)]
    panels: Any = ax
    if panels is None:
        labels = [name for side in sides for name in side.labels]
        figure = fg.bar_figure([*labels, "", "", "", ""], 2, "Time and executions per operator", _names(diff))
        heights = [max(2, len(side.labels)) for side in sides]
        panels = figure.subplots(2, 2, sharex="col", gridspec_kw={"height_ratios": heights})
    limits = []
    for row, bars, title in zip(panels, sides, ("before", "after"), strict=True):
        draw_operators(row, bars)
        row[0].set_title(title, loc="left", fontsize=fg.FONT + 1)
        limits.append([each.get_xlim()[1] for each in row])
    for column, ends in enumerate(zip(*limits, strict=True)):
        for row in panels:  # axes of others need not share theirs
            row[column].set_xlim(0, max(ends))
    for row in panels:
        fg.time_axis(row[0].xaxis)
    if ax is None:
        for each in panels[0]:
            each.set_xlabel("")
    return fg.as_array(panels)


# ---------------------------------------------------------------- parts


def _alike(rows: Sequence[DiffRow]) -> list[_Alike]:
    groups: dict[str, list[DiffRow]] = defaultdict(list)
    for row in rows:
        call = signature(row.op_name, row.inputs, row.outputs)
        groups[label(row.side, row.provider, call)].append(row)
    return [_added(shortened(name, LABEL_LENGTH), [_single(row) for row in group]) for name, group in groups.items()]


def _single(row: DiffRow) -> _Alike:
    before, after = row.before_usual_us, row.after_usual_us
    return _Alike(row.label, before, after, int(row.side != "+"), int(row.side != "-"), row.noise)


def _added(name: str, parts: Sequence[_Alike]) -> _Alike:
    return _Alike(
        name,
        sum(part.before_us for part in parts),
        sum(part.after_us for part in parts),
        sum(part.before_nodes for part in parts),
        sum(part.after_nodes for part in parts),
        all(part.noise for part in parts),
    )


def _folded(groups: Sequence[_Alike], min_share: float) -> tuple[list[_Alike], bool]:
    """The most costly first; those under the share, and beyond what a picture holds, in one row, if any."""
    ordered = sorted(groups, key=lambda group: -(group.before_us + group.after_us))
    floor = min_share * sum(group.before_us + group.after_us for group in groups)
    kept = [group for group in ordered if group.before_us + group.after_us >= floor][: fg.MAX_BARS - 1]
    rest = ordered[len(kept) :]
    return ([*kept, _added(count(len(rest), "other"), rest)], True) if rest else (kept, False)


def _names(diff: Diff) -> str:
    alike = diff.before.model == diff.after.model
    return " → ".join(_name(profile, with_level=alike) for profile in (diff.before, diff.after))


def _name(profile: Profile, with_level: bool) -> str:
    name = shortened(name_of(profile.model), 30)
    return f"{name}, {profile.session.opt_level}" if with_level and profile.session else name


def _bars(values: Sequence[float], colour: str, words: Callable[[float], str], pale: Sequence[bool]) -> fg.Bars:
    return fg.Bars(values, [colour] * len(values), [words(value) for value in values], pale)


def _time(us: float) -> str:
    return microseconds(us) if us else ""


def _count(nodes: float) -> str:
    return mean_count(nodes) if nodes else ""
