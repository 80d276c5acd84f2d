"""The chart of a race: a bar for the average of each subject."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.chart import new_figure
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import duration, duration_unit, ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_SPAN = 50
"""From this ratio of the largest to the smallest time on, the axis is logarithmic."""

# Okabe and Ito's colours, which colour-blind readers tell apart; the label repeats the verdict in words.
_COLOURS = {
    "baseline": "#777777",
    "faster": "#009E73",
    "slower": "#D55E00",
    "equivalent": "#56B4E9",
    "undecided": "#E69F00",
    None: "#BBBBBB",
}
_INK = "#333333"
_NAME_WIDTH = 30
_FONT = 9.5
_TITLE_LENGTH = 80


def bench_plot(case: Case, ax: Axes | None = None) -> Axes:
    """A bar for the average of each subject, with whiskers for the interval of its comparison."""
    labels = [_label(subject) for subject in case.subjects]
    names = [textwrap.fill(name_of(s.name), _NAME_WIDTH) for s in case.subjects]
    if ax is None:
        ax = _new_axes(names)
    _scale_axis(ax, case, max(map(len, labels), default=0))
    for row, subject in enumerate(case.subjects):
        _draw_bar(ax, row, subject)
    _draw_labels(ax, case, labels)
    _draw_baseline(ax, case)
    _dress(ax, case, names)
    return ax


# ---------------------------------------------------------------- parts of the chart


def _new_axes(names: list[str]) -> Axes:
    lines = sum(0.16 * name.count("\n") + 0.42 for name in names)
    return new_figure(9, 1.8 + lines).add_subplot()


def _mean(subject: Subject) -> float | None:
    return subject.mean_ns if subject.mean_ns is not None and subject.mean_ns > 0 else None


def _label(subject: Subject) -> str:
    mean = _mean(subject)
    if mean is None:
        return subject.status
    parts = [duration(mean)]
    if subject.verdict != "baseline" and subject.speedup is not None:
        parts.append(ratio(subject.speedup))
    if subject.verdict is not None:
        parts.append(subject.verdict)
    if subject.status != "ok":
        parts.append(subject.status)
    return " · ".join(parts)


def _reach(subject: Subject, mean: float) -> tuple[float, float]:
    """Both ends of the interval of the time: the mean itself where there is no comparison."""
    speedup, low, high = subject.speedup, subject.speedup_low, subject.speedup_high
    if not speedup or not low or not high:
        return mean, mean
    return min(mean, mean * speedup / high), max(mean, mean * speedup / low)


def _draw_bar(ax: Axes, row: int, subject: Subject) -> None:
    mean = _mean(subject)
    if mean is None:
        return
    ax.barh(row, mean, height=0.62, color=_COLOURS[subject.verdict], zorder=2)
    low, high = _reach(subject, mean)
    if low < high:
        ax.errorbar(mean, row, xerr=[[mean - low], [high - mean]], color=_INK, capsize=3.5, elinewidth=1.2, zorder=4)


def _scale_axis(ax: Axes, case: Case, label_length: int) -> None:
    """Choose a linear or logarithmic axis that leaves room for the labels right of the bars."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ends = [end for s in case.subjects if (mean := _mean(s)) is not None for end in _reach(s, mean)]
    if not ends:
        ax.set_xticks([])
        ax.set_xlabel("nothing was measured")
        return
    smallest, largest = min(ends), max(ends)
    room = _label_share(ax, label_length)
    if largest / smallest > LOG_SPAN:
        left = smallest / 3
        ax.set_xscale("log")
        ax.set_xlim(left, left * (largest * 1.05 / left) ** (1 / (1 - room)))
        ax.xaxis.set_major_locator(LogLocator(10))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: _tick(ns)))
        ax.set_xlabel("time per call, logarithmic axis · lower is better")
        return
    scale, unit = duration_unit(largest)
    ax.set_xlim(0, largest * 1.02 / (1 - room))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: f"{ns / scale:g}"))
    ax.set_xlabel(f"{unit} per call · lower is better")


def _tick(ns: float) -> str:
    scale, unit = duration_unit(ns * 1.0001)  # 1e6 may arrive as 999999.99
    return f"{ns / scale:.3g} {unit}"


def _label_share(ax: Axes, length: int) -> float:
    """The share of the axis that the longest label takes, from the average width of a character."""
    figure = ax.get_figure(root=True)
    inches = (figure.get_size_inches()[0] if figure is not None else 9) * 0.72
    return float(min(0.65, (length * _FONT * 0.53 + 10) / 72 / inches))


def _draw_labels(ax: Axes, case: Case, labels: list[str]) -> None:
    left = ax.get_xlim()[0]
    for row, (subject, label) in enumerate(zip(case.subjects, labels, strict=True)):
        mean = _mean(subject)
        end = left if mean is None else _reach(subject, mean)[1]
        ax.annotate(
            label,
            (end, row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=_FONT,
            color=_INK,
            style="normal" if subject.status == "ok" else "italic",
            zorder=5,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": ax.get_facecolor(), "edgecolor": "none"},
        )


def _draw_baseline(ax: Axes, case: Case) -> None:
    for subject in case.subjects:
        mean = _mean(subject)
        if subject.verdict == "baseline" and mean is not None:
            ax.axvline(mean, color=_INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3)


def _dress(ax: Axes, case: Case, names: list[str]) -> None:
    """Names, title and grid; text of others is never read as mathematics."""
    ax.set_yticks(range(len(names)), names, fontsize=_FONT)
    for subject, tick in zip(case.subjects, ax.get_yticklabels(), strict=True):
        tick.set_parse_math(False)
        tick.set_fontweight("bold" if subject.verdict == "baseline" else "normal")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_title("Average inference time", loc="left", fontsize=13, fontweight="bold", pad=24)
    what = ", ".join(filter(None, [name_of(case.model), visible(dims_text(case.dims))]))
    subtitle = what if len(what) <= _TITLE_LENGTH else f"{what[: _TITLE_LENGTH - 1]}…"
    under_title = ax.annotate(
        subtitle, (0, 1), xycoords="axes fraction", xytext=(0, 8), textcoords="offset points", color=_INK
    )
    under_title.set_parse_math(False)
    under_title.set_in_layout(False)  # however wide it is, the bars keep their room
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
