"""The chart of a race: a bar for the mean of each subject."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from onnxperf.records.race import Case, Subject
from onnxperf.render.kit import chart as fg
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import duration, ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_SPAN = 50
"""From this ratio of the largest to the smallest time on, the axis is logarithmic."""
TITLE = "Mean time per call"
ROW = 0.34
_NAME_WIDTH = 30
_WHISKERS = "whiskers: 95 % interval of the mean · speedups and verdicts: paired by launch"
"""Means of a machine that drifts may overlap where every round tells the subjects apart."""
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
    """A bar for the mean of each subject, with whiskers for its 95 % interval."""
    subjects = case.subjects
    names = [textwrap.fill(name_of(subject.name), _NAME_WIDTH) for subject in subjects]
    what = ", ".join(filter(None, [name_of(case.model), dims_text(case.dims)]))
    if ax is None:
        ax = fg.bar_figure(names, 1, TITLE, what, ROW).subplots()
    else:
        fg.name_given(ax, what)
    values = [_mean_us(subject) for subject in subjects]
    whiskers = [_interval(subject, us) for subject, us in zip(subjects, values, strict=True)]
    colours = [_COLOURS[subject.verdict] for subject in subjects]
    bars = fg.Bars(values, colours, [_label(subject) for subject in subjects], whiskers=whiskers)
    fg.draw_bars(ax, names, [bars], log_span=LOG_SPAN)
    if any(values):
        fg.time_axis(ax.xaxis, "per call, lower is better")
        if any(subject.mean_low_ns for subject in subjects):
            ax.set_xlabel(f"{ax.get_xlabel()}\n{_WHISKERS}", fontsize=fg.FONT)
    else:
        ax.set_xticks([])
        ax.set_xlabel("nothing was measured", fontsize=fg.FONT)
    for subject, us, name in zip(subjects, values, ax.get_yticklabels(), strict=True):
        if subject.verdict == "baseline":
            name.set_fontweight("bold")
            if us:
                ax.axvline(us, color=fg.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3)
    return ax


def _mean_us(subject: Subject) -> float:
    return max(subject.mean_ns or 0.0, 0.0) / 1e3


def _label(subject: Subject) -> str:
    if not _mean_us(subject):
        return subject.status
    speedup = "" if subject.verdict == "baseline" or subject.speedup is None else ratio(subject.speedup)
    status = "" if subject.status == "ok" else subject.status
    return " · ".join(filter(None, [duration(subject.mean_ns), speedup, subject.verdict, status]))


def _interval(subject: Subject, us: float) -> tuple[float, float]:
    """Both ends of the interval of the mean: the mean itself where there is none."""
    low, high = subject.mean_low_ns, subject.mean_high_ns
    return (us, us) if low is None or high is None else (low / 1e3, high / 1e3)
