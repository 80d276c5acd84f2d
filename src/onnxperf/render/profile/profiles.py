"""Time per operator under several variants, as a page and as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.profile import Profile
from onnxperf.records.profiles import Profiles
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, duration, microseconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_OPERATORS = 20
_COLOURS = (fg.BLUE, fg.ORANGE, fg.GREEN, fg.PINK, fg.SKY, fg.GREY)


def profiles_page(record: Profiles, answer: str) -> list[Part]:
    """A column per variant, a row per operator, and what they add up to."""
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    facts = [*cpu, count(len(record.variants), "variant"), *_iterations(record)]
    return [Heading(record.model, facts), _table(record), *closing(answer, record.notes, record.interrupted)]


def _iterations(record: Profiles) -> list[str]:
    fewest = min((each.iterations for each in record.variants), default=0)
    return [f"{count(fewest, 'iteration')} each"]


def _table(record: Profiles) -> Table:
    columns = [Column("operator", left=True, room=16), *(Column(name_of(each.model)) for each in record.variants)]
    rows = [
        Row([name_of(name), *(microseconds(_time(each, name)) for each in record.variants)])
        for name in record.operators[:_MOST_OPERATORS]
    ]
    others = record.operators[_MOST_OPERATORS:]
    if others:
        times = [sum(_time(each, name) or 0.0 for name in others) for each in record.variants]
        rows.append(Row([count(len(others), "other operator"), *map(microseconds, times)]))
    rows.append(Row(["total", *(microseconds(each.usual_nodes_us) for each in record.variants)], "bold"))
    if all(each.usual_run_us for each in record.variants):
        rows.append(Row(["measured inference", *(microseconds(each.usual_run_us) for each in record.variants)], "bold"))
    if all(each.unprofiled_ns for each in record.variants):
        rows.append(Row(["a call without the profiler", *(duration(each.unprofiled_ns) for each in record.variants)]))
    return Table(columns, rows, breaks=range(1, len(columns)))


def _time(profile: Profile, operator: str) -> float | None:
    return next((each.usual_us for each in profile.operators if each.op_name == operator), None)


def profiles_plot(record: Profiles, ax: Axes | None = None) -> Axes:
    """Bars per operator, one for each variant."""
    names = list(record.operators[: fg.MAX_BARS // max(len(record.variants), 1)])
    labels = [shortened(name_of(name), fg.NAME_LENGTH) for name in names]
    if ax is None:
        height = 0.1 + 0.16 * len(record.variants)
        ax = fg.bar_figure(labels, 1, "Time per operator", name_of(record.model), height).subplots()
    else:
        fg.name_given(ax, name_of(record.model))
    series = []
    for number, profile in enumerate(record.variants):
        times = [_time(profile, name) or 0.0 for name in names]
        words = [fg.cost(us, profile.usual_nodes_us) if us else "" for us in times]
        series.append(fg.Bars(times, [_COLOURS[number % len(_COLOURS)]] * len(times), words))
    fg.draw_bars(ax, labels, series)
    fg.time_axis(ax.xaxis)
    colours = {each.model: _COLOURS[number % len(_COLOURS)] for number, each in enumerate(record.variants)}
    fg.legend(ax, fg.patches({fg.legend_name(name): colour for name, colour in colours.items()}))
    return ax
