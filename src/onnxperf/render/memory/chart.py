"""Resident memory over time, with the peaks that samples miss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onnxperf.records.memory import Growth, Memory, MemoryCase, MemoryStep, MemorySubject
from onnxperf.render.kit import chart as fg
from onnxperf.wording.names import name_of, shortened, sizes_text
from onnxperf.wording.numbers import count, decimal_size, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"load": fg.SKY, "first call": fg.ORANGE, "steady call": fg.GREEN, "growth": fg.GREY}
MOST_PANELS = 12
_HEADROOM = 1.35
"""The words about the peaks stand in a row above the curve."""
_WORD_WIDTH = 0.2
"""Part of a panel that such words take."""
_LONGEST_GROWTH = 3
"""Where nothing grows, the calls that show it take at most so many times the room of the steps."""

Panel = tuple[MemoryCase, MemorySubject]


def memory_plot(record: Memory, axes: Sequence[Axes] | None = None) -> fg.AxesArray:
    """One panel per subject: its samples as a curve, its steps shaded, the peak of each step as a marker."""
    panels = [(case, each) for case in record.cases for each in case.subjects if each.steps and each.sample_ns]
    if axes is None:
        shown = panels[:MOST_PANELS]
        figure = fg.new_figure(9, 1.2 + 2.4 * max(len(shown), 1))
        fg.entitle(figure, "Resident memory", ", ".join(dict.fromkeys(case.model for case in record.cases)))
        axes = list(figure.subplots(max(len(shown), 1), 1, squeeze=False).flat)
        _name_the_rest(axes[-1], panels[MOST_PANELS:])
    for ax, panel in zip(axes, panels, strict=False):
        _draw(ax, panel)
    if panels:
        _legend(axes[0], [subject for _, subject in panels])
    return fg.as_array(list(axes))


def _draw(ax: Axes, panel: Panel) -> None:
    case, subject = panel
    start_ns = subject.sample_ns[0]
    times_ms = [(ns - start_ns) / 1e6 for ns in subject.sample_ns]
    begins_ms = [(ns - start_ns) / 1e6 for ns in subject.step_ns]
    ax.plot(times_ms, [size / 1e6 for size in subject.sample_bytes], color=fg.INK, linewidth=1)
    ax.set_xlim(0, _right_end(subject, times_ms[-1], _end_ms(begins_ms, subject)))
    ax.set_ylim(0, max(_highest_peak(case), *subject.sample_bytes) / 1e6 * _HEADROOM)
    for begin, step in zip(begins_ms, subject.steps, strict=True):
        ax.axvspan(begin, begin + step.duration_ns / 1e6, color=_COLOURS[step.name], alpha=fg.PALE, linewidth=0)
        ax.plot([_middle(begin, step)], [step.peak_bytes / 1e6], **_marker(step.exact))
    _write_peaks(ax, subject, begins_ms)
    if subject.growth is not None:
        _shade_growth(ax, subject.growth, _end_ms(begins_ms, subject), times_ms[-1])
    ax.set_xlabel("ms since the inputs were there", fontsize=fg.FONT)
    ax.set_ylabel("MB", fontsize=fg.FONT)
    ax.tick_params(labelsize=fg.FONT)
    ax.spines[["top", "right"]].set_visible(False)
    fg.as_written(ax.set_title(_title(panel), loc="left", fontsize=fg.FONT + 1))


def _write_peaks(ax: Axes, subject: MemorySubject, begins_ms: Sequence[float]) -> None:
    """Each kind of step with the peak that the table shows, side by side, and a line to its marker."""
    free = 0.01
    for name in ("load", "first call", "steady call"):
        step = subject.step(name)
        if step is None:
            continue
        place = next(number for number, each in enumerate(subject.steps) if each is step)
        at = _middle(begins_ms[place], step)
        left = max(free, at / ax.get_xlim()[1] - _WORD_WIDTH / 2)
        free = left + _WORD_WIDTH
        _write(ax, f"{name} {decimal_size(step.peak_bytes)}", (at, step.peak_bytes / 1e6), left)


def _shade_growth(ax: Axes, growth: Growth, begin_ms: float, end_ms: float) -> None:
    ax.axvspan(begin_ms, end_ms, color=_COLOURS["growth"], alpha=fg.PALE / 2, linewidth=0)
    right = ax.get_xlim()[1]
    until = f" (to {grouped(end_ms)} ms)" if end_ms > right else ""
    how: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": fg.FONT}
    ax.text((begin_ms + right) / 2, 0.03, f"growth over {count(growth.calls[-1], 'call')}{until}: {growth.kind}", **how)


def _write(ax: Axes, words: str, place: tuple[float, float], left: float) -> None:
    line = {"arrowstyle": "-", "color": fg.GREY, "linewidth": 0.6, "shrinkB": 4, "relpos": (0, 0)}
    how: dict[str, Any] = {"textcoords": "axes fraction", "va": "top", "fontsize": fg.FONT, "color": fg.INK}
    ax.annotate(words, place, xytext=(left, 0.98), arrowprops=line, **how)


def _legend(ax: Axes, subjects: Sequence[MemorySubject]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    steps = [step for subject in subjects for step in subject.steps]
    seen = {*(step.name for step in steps), *("growth" for subject in subjects if subject.growth is not None)}
    shades = ((name, colour) for name, colour in _COLOURS.items() if name in seen)
    handles: list[Patch | Line2D] = [Patch(color=colour, alpha=fg.PALE, label=name) for name, colour in shades]
    kinds = sorted({step.exact for step in steps}, reverse=True)
    words = {True: "peak, from the kernel", False: "peak, highest sample"}
    handles += [Line2D([], [], linestyle="", label=words[exact], **_marker(exact)) for exact in kinds]
    handles += [Line2D([], [], color=fg.INK, linewidth=1, label="samples")]
    fg.legend(ax, handles, beside=True)


def _name_the_rest(ax: Axes, rest: Sequence[Panel]) -> None:
    if not rest:
        return
    words = shortened(f"{len(rest)} more without a panel: {'; '.join(map(_title, rest))}", 2 * fg.NAME_LENGTH)
    how: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": fg.FONT}
    ax.annotate(words, (0, 0), xytext=(0, -40), color=fg.INK, parse_math=False, annotation_clip=False, **how)


def _marker(exact: bool) -> dict[str, Any]:
    return {"marker": "v", "color": fg.RED, "fillstyle": "full" if exact else "none", "markersize": 5}


def _title(panel: Panel) -> str:
    case, subject = panel
    model = name_of(case.model) if subject.model is not None else ""  # callables have only their own names
    status = "" if subject.status == "ok" else subject.status
    parts = filter(None, [model, sizes_text(case.dims), name_of(subject.name), status])
    return shortened(" · ".join(parts), int(1.5 * fg.NAME_LENGTH))


def _highest_peak(case: MemoryCase) -> int:
    """The same for all subjects of a case, so that they can be compared."""
    return max(subject.peak_bytes or 0 for subject in case.subjects)


def _right_end(subject: MemorySubject, last_ms: float, steps_ms: float) -> float:
    """Where the axis ends: calls that only show that nothing grows must not push the steps into a corner."""
    flat = subject.growth is not None and subject.growth.kind == "none"
    return min(last_ms, (1 + _LONGEST_GROWTH) * steps_ms) if flat else max(last_ms, steps_ms)


def _middle(begin_ms: float, step: MemoryStep) -> float:
    return begin_ms + step.duration_ns / 2e6


def _end_ms(begins_ms: Sequence[float], subject: MemorySubject) -> float:
    """When the last step was done."""
    return begins_ms[-1] + subject.steps[-1].duration_ns / 1e6
