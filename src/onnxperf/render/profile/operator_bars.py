"""Bars of time and of executions per operator, which charts of a profile and of a diff share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.records.profile import OperatorTime, Profile
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import mean_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OperatorBars(NamedTuple):
    """What is drawn of the operators of a profile, the most costly first."""

    labels: list[str]
    times_us: list[float]
    executions: list[float]
    summed: bool
    """The last one stands for many."""
    whole_us: float
    """Time in all nodes, of which the times are parts."""


def operator_bars(profile: Profile, most: int = fg.MAX_BARS) -> OperatorBars:
    """Times and executions per iteration of the most costly operators."""
    operators = sorted(profile.operators, key=lambda operator: -operator.usual_us)
    labels = [shortened(name_of(operator.op_name), fg.NAME_LENGTH) for operator in operators]
    counts = [_per_iteration(operator, profile) for operator in operators]
    times = [operator.usual_us for operator in operators]
    labels, times, counts = fg.capped(labels, times, counts, most=most)
    return OperatorBars(labels, times, counts, len(operators) > most, profile.usual_nodes_us)


def draw_operators(panels: Sequence[Axes], operators: OperatorBars) -> None:
    """Bars of time on the first axes, of executions on the second."""
    labels, times, counts, summed, whole = operators
    words = [fg.cost(us, whole) for us in times]
    fg.draw_bars(panels[0], labels, [fg.Bars(times, [fg.BLUE] * len(times), words)], summed)
    fg.time_axis(panels[0].xaxis)
    numbers = [mean_count(each) for each in counts]
    fg.draw_bars(panels[1], labels, [fg.Bars(counts, [fg.GREY] * len(counts), numbers)], summed)
    fg.count_axis(panels[1], "executions per iteration")
    panels[1].tick_params(labelleft=False)


def _per_iteration(operator: OperatorTime, profile: Profile) -> float:
    return operator.calls / max(1, profile.iterations)
