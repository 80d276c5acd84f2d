"""Charts of a diff: both sides, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from onnxperf.records.diff import Diff, DiffSum
from onnxperf.records.profile import Profile
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.profile.groups import side_names
from onnxperf.render.profile.operator_bars import draw_operators, operator_bars
from onnxperf.wording.names import name_of, shortened_apart
from onnxperf.wording.numbers import mean_count, microseconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_LENGTH = 90
_SIDE_LENGTH = 28
_BEFORE, _AFTER = fg.GREY, fg.BLUE


def diff_plot(diff: Diff, sums: Sequence[DiffSum], ax: Sequence[Axes] | None = None) -> fg.AxesArray:
    """Time and number of equal nodes on both sides; pale where no difference is proven."""
    labels = shortened_apart([each.name for each in sums], LABEL_LENGTH)
    before, after = _names(diff)
    summed = any(each.others for each in sums)
    is_given = ax is not None
    panels: Any = ax
    if panels is None:
        figure = fg.bar_figure(labels, 2, "Time and number per kind of node", _both(diff), row=0.34)
        panels = figure.subplots(1, 2, sharey=True)
    pale = [each.noise for each in sums]
    times = [
        _bars([each.before_usual_us for each in sums], _BEFORE, _time, pale),
        _bars([each.after_usual_us for each in sums], _AFTER, _time, pale),
    ]
    counts = [
        _bars([sum(row.side != "+" for row in each.rows) for each in sums], _BEFORE, _count, pale),
        _bars([sum(row.side != "-" for row in each.rows) for each in sums], _AFTER, _count, pale),
    ]
    fg.draw_bars(panels[0], labels, times, summed)
    fg.time_axis(panels[0].xaxis)
    fg.draw_bars(panels[1], labels, counts, summed)
    fg.count_axis(panels[1], "nodes")
    panels[1].tick_params(labelleft=False)
    doubts = " or ".join(sorted({each.doubt for each in sums} - {""}))
    noise = {f"pale: {doubts}": fg.GRID} if doubts else {}
    sides = {f"{before}, {_sum(diff.before)}": _BEFORE, f"{after}, {_sum(diff.after)}": _AFTER}
    lines = fg.legend(panels[0], fg.patches(sides | noise))
    if is_given:
        fg.name_given(panels[0], _both(diff), lines)
    return fg.as_array(panels)


def operators_plot(diff: Diff, ax: fg.AxesArray | None = None) -> fg.AxesArray:
    """The first side above, the second below; time per operator on the left, executions on the right."""
    sides = [operator_bars(profile, most=fg.MAX_BARS // 2) for profile in (diff.before, diff.after)]
    panels: Any = ax
    if panels is None:
        labels = [name for side in sides for name in side.labels]
        figure = fg.bar_figure([*labels, "", "", "", ""], 2, "Time and executions per operator", _both(diff))
        heights = [max(2, len(side.labels)) for side in sides]
        panels = figure.subplots(2, 2, sharex="col", gridspec_kw={"height_ratios": heights})
    limits = []
    for row, bars, title, profile in zip(panels, sides, _names(diff), (diff.before, diff.after), strict=True):
        draw_operators(row, bars)
        fg.name_panel(row[0], f"{title}, {_sum(profile)}")
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


def _names(diff: Diff) -> list[str]:
    return shortened_apart([name_of(name) for name in side_names(diff)], _SIDE_LENGTH)


def _sum(profile: Profile) -> str:
    return f"{microseconds(profile.usual_nodes_us)} in nodes"


def _both(diff: Diff) -> str:
    """The sides, after the model where they are levels of one."""
    sides = " → ".join(_names(diff))
    model = name_of(diff.race.model) if diff.race else ""
    return f"{model}: {sides}" if model and "," not in model and model not in sides else sides


def _bars(values: Sequence[float], colour: str, words: Callable[[float], str], pale: Sequence[bool]) -> fg.Bars:
    return fg.Bars(values, [colour] * len(values), [words(value) for value in values], pale)


def _time(us: float) -> str:
    return microseconds(us) if us else ""


def _count(nodes: float) -> str:
    return mean_count(nodes) if nodes else ""
