"""The chart of advice: the speedup of every trial with its interval."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from onnxperf.records.advice import Advice, TrialOutcome, Tried
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Speedup of what was tried"
_NAME_WIDTH = 30
_ROW = 0.34
_LOG_SPAN = 50
# The label repeats the outcome in words.
_COLOURS: dict[TrialOutcome, str] = {
    "gain": fg.GREEN,
    "unexplained": fg.GREEN,
    "trade": fg.ORANGE,
    "undecided": fg.YELLOW,
    "none": fg.GREY,
    "untried": "#BBBBBB",
}
_WORDS: dict[TrialOutcome, str] = {"none": "no gain", "untried": ""}


def advice_plot(record: Advice, ax: Axes | None = None) -> Axes:
    """A bar for the speedup of each trial, with whiskers for its interval and a line at 1."""
    tried = list({each.trial.key: each for each in reversed(record.tried)}.values())[::-1]
    names = [textwrap.fill(name_of(each.trial.name), _NAME_WIDTH) for each in tried]
    what = ", ".join(filter(None, [name_of(record.model), dims_text(record.dims)]))
    if ax is None:
        ax = fg.bar_figure(names, 1, TITLE, what, _ROW).subplots()
    else:
        fg.name_given(ax, what)
    values = [each.speedup or 0.0 for each in tried]
    whiskers = [_interval(each) for each in tried]
    bars = fg.Bars(values, [_COLOURS[each.outcome] for each in tried], [_label(each) for each in tried], (), whiskers)
    fg.draw_bars(ax, names, [bars], log_span=_LOG_SPAN)
    if any(values):
        ax.axvline(1.0, color=fg.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3)
        ax.set_xlabel("speedup, higher is better\nwhiskers: interval for all trials together", fontsize=fg.FONT)
    else:
        ax.set_xticks([])
        ax.set_xlabel("nothing was measured", fontsize=fg.FONT)
    return ax


def _label(tried: Tried) -> str:
    if tried.speedup is None:
        return tried.status
    return " · ".join(filter(None, [ratio(tried.speedup), _WORDS.get(tried.outcome, tried.outcome), _status(tried)]))


def _status(tried: Tried) -> str:
    return "" if tried.status == "ok" else tried.status


def _interval(tried: Tried) -> tuple[float, float]:
    value = tried.speedup or 0.0
    low, high = tried.speedup_low, tried.speedup_high
    return (value, value) if low is None or high is None else (low, high)
