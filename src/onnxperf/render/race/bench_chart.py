"""The chart of a race: a bar for the speedup of each subject, or the time of a single one."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from onnxperf.records.race import Case, Subject
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import duration, ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_SPAN = 50
"""From this ratio of the largest to the smallest time on, the axis is logarithmic."""
TITLE = "Speedup over {}"
TITLE_ALONE = "Time per call"
ROW = 0.34
_NAME_WIDTH = 30
_WHISKERS = "whiskers: 95 % interval"
# The label repeats the verdict in words.
_COLOURS = {
    "baseline": fg.GREY,
    "faster": fg.GREEN,
    "slower": fg.RED,
    "equivalent": fg.SKY,
    "undecided": fg.ORANGE,
    None: "#BBBBBB",
}


def bench_plot(case: Case, ax: Axes | None = None) -> Axes:
    """A bar for the speedup of each subject, with whiskers for its 95 % interval and its time in words."""
    subjects = case.subjects
    alone = all(subject.speedup is None or subject.verdict == "baseline" for subject in subjects)
    names = [textwrap.fill(name_of(subject.name), _NAME_WIDTH) for subject in subjects]
    what = ", ".join(filter(None, [name_of(case.model), dims_text(case.dims)]))
    if ax is None:
        title = TITLE_ALONE if alone else TITLE.format(name_of(case.baseline or ""))
        ax = fg.bar_figure(names, 1, title, what, ROW).subplots()
    else:
        fg.name_given(ax, what)
    read = _time_us if alone else _speedup
    values = [read(subject) for subject in subjects]
    whiskers = [_ends(subject, alone, value) for subject, value in zip(subjects, values, strict=True)]
    colours = [_COLOURS[subject.verdict] for subject in subjects]
    bars = fg.Bars(values, colours, [_label(subject) for subject in subjects], whiskers=whiskers)
    fg.draw_bars(ax, names, [bars], log_span=LOG_SPAN)
    _name_axis(ax, any(values), alone, any(low < high for low, high in whiskers))
    for subject, value, name in zip(subjects, values, ax.get_yticklabels(), strict=True):
        if subject.verdict == "baseline":
            name.set_fontweight("bold")
            if value:
                ax.axvline(value, color=fg.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3)
    return ax


def _name_axis(ax: Axes, is_measured: bool, alone: bool, has_whiskers: bool) -> None:
    if not is_measured:
        ax.set_xticks([])
        ax.set_xlabel("nothing was measured", fontsize=fg.FONT)
        return
    if alone:
        fg.time_axis(ax.xaxis, "per call, lower is better")
    else:
        scale = ", logarithmic" if ax.get_xscale() == "log" else ""
        ax.set_xlabel(f"speedup, higher is better{scale}", fontsize=fg.FONT)
    if has_whiskers:
        ax.set_xlabel(f"{ax.get_xlabel()}\n{_WHISKERS}", fontsize=fg.FONT)


def _time_us(subject: Subject) -> float:
    return max(subject.time_ns or 0.0, 0.0) / 1e3


def _speedup(subject: Subject) -> float:
    return max(subject.speedup or 0.0, 0.0)


def _label(subject: Subject) -> str:
    if not _time_us(subject):
        return subject.status
    speedup = "" if subject.verdict == "baseline" or subject.speedup is None else ratio(subject.speedup)
    status = "" if subject.status == "ok" else subject.status
    return " · ".join(filter(None, [duration(subject.time_ns), speedup, subject.verdict, status]))


def _ends(subject: Subject, alone: bool, value: float) -> tuple[float, float]:
    """Both ends of the interval: the value itself where there is none."""
    low, high = (subject.time_low_ns, subject.time_high_ns) if alone else (subject.speedup_low, subject.speedup_high)
    scale = 1e3 if alone else 1.0
    return (value, value) if low is None or high is None else (low / scale, high / scale)
