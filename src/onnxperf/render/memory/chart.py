"""Resident memory over time, with the peaks that samples miss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxperf.records.memory import Growth, Memory, MemoryCase, MemoryStep, MemorySubject, StepName
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import name_of, shortened, sizes_text
from onnxperf.wording.numbers import count, grouped, in_megabytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"load": fg.SKY, "first call": fg.ORANGE, "steady call": fg.GREEN, "growth": fg.GREY}
MOST_PANELS = 12
_LAST_LINE = 96
"""Characters of the line below the last panel."""
_HEADROOM = 1.35
"""The words about the peaks stand in a row above the curve."""
_INCHES = 5.6
"""Width of a panel beside its legend, at least."""
_LONGEST_GROWTH = 3
"""Where nothing grows, the calls that show it take at most so many times the room of the steps."""

Panel = tuple[MemoryCase, MemorySubject]


def memory_plot(record: Memory, axes: Sequence[Axes] | None = None) -> fg.AxesArray:
    """One panel per subject: its samples as a curve, its steps shaded, the peak of each step as a marker."""
    panels = [(case, each) for case in record.cases for each in case.subjects if each.steps and each.sample_ns]
    if axes is None:
        shown = panels[:MOST_PANELS]
        figure = fg.new_figure(9, 1.2 + 2.4 * max(len(shown), 1))
        models = dict.fromkeys(name_of(case.model) for case in record.cases)
        fg.entitle(figure, "Resident memory over time", ", ".join(models))
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
    curve = _Curve(times_ms, [size / 1e6 for size in subject.sample_bytes])
    ax.plot(*curve, color=fg.INK, linewidth=1)
    ax.set_xlim(0, _right_end(subject, times_ms[-1], _end_ms(begins_ms, subject)))
    ax.set_ylim(0, max(_highest_peak(case), *subject.sample_bytes) / 1e6 * _HEADROOM)
    peaks = [curve.peak(begin, step) for begin, step in zip(begins_ms, subject.steps, strict=True)]
    for begin, step, place in zip(begins_ms, subject.steps, peaks, strict=True):
        ax.axvspan(begin, begin + step.duration_ns / 1e6, color=_COLOURS[step.name], alpha=fg.PALE, linewidth=0)
        # What the kernel saw between two samples belongs to the curve as well.
        ax.vlines(place[0], min(curve.height_at(place[0]), place[1]), place[1], colors=fg.INK, linewidth=1)
        fg.mark_peak(ax, place, step.exact)
    _write_peaks(ax, subject, peaks)
    ax.set_xlabel("ms since the inputs were ready", fontsize=fg.FONT)
    if subject.growth is not None:
        _shade_growth(ax, subject.growth, _end_ms(begins_ms, subject), times_ms[-1])
    ax.set_ylabel("MB", fontsize=fg.FONT)
    ax.tick_params(labelsize=fg.FONT)
    ax.spines[["top", "right"]].set_visible(False)
    fg.name_panel(ax, _title(panel))


class _Curve(NamedTuple):
    """Samples of the resident memory."""

    times_ms: Sequence[float]
    heights_mb: Sequence[float]

    def peak(self, begin_ms: float, step: MemoryStep) -> tuple[float, float]:
        """The peak of a step, at its highest sample: no clock knows when the kernel saw it."""
        end_ms = begin_ms + step.duration_ns / 1e6
        inside = [
            (height, -at) for at, height in zip(self.times_ms, self.heights_mb, strict=True) if begin_ms <= at <= end_ms
        ]
        at = -max(inside)[1] if inside else (begin_ms + end_ms) / 2
        return at, step.peak_bytes / 1e6

    def height_at(self, ms: float) -> float:
        """Resident memory at this time, between samples on their line."""
        import numpy as np

        return float(np.interp(ms, self.times_ms, self.heights_mb))


def _write_peaks(ax: Axes, subject: MemorySubject, peaks: Sequence[tuple[float, float]]) -> None:
    """Each kind of step with the peak that the table shows, side by side, and a line to its marker."""
    kinds: tuple[StepName, ...] = ("load", "first call", "steady call")
    steps = [step for name in kinds if (step := subject.step(name)) is not None]
    places = [place for step in steps for each, place in zip(subject.steps, peaks, strict=True) if each is step]
    words = [f"{step.name} {in_megabytes(step.peak_bytes)}" for step in steps]
    right = ax.get_xlim()[1]
    inches, _ = fg.size_of(ax, _INCHES)
    lefts = fg.side_by_side([at / right for at, _ in places], [fg.text_part(each, inches) for each in words])
    for text, place, left in zip(words, places, lefts, strict=True):
        fg.write_above(ax, text, place, left)


def _shade_growth(ax: Axes, growth: Growth, begin_ms: float, end_ms: float) -> None:
    """The calls that show growth in grey, and what they show below the axis, where no curve is."""
    ax.axvspan(begin_ms, end_ms, color=_COLOURS["growth"], alpha=fg.PALE / 2, linewidth=0)
    until = f" (to {grouped(end_ms)} ms)" if end_ms > ax.get_xlim()[1] else ""
    found = f"growth over {count(growth.calls[-1], 'call')}{until}: {growth.kind}"
    ax.set_xlabel(f"{ax.get_xlabel()} · {found}", fontsize=fg.FONT)


def _legend(ax: Axes, subjects: Sequence[MemorySubject]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    steps = [step for subject in subjects for step in subject.steps]
    seen = {*(step.name for step in steps), *("growth" for subject in subjects if subject.growth is not None)}
    shades = ((name, colour) for name, colour in _COLOURS.items() if name in seen)
    handles: list[Patch | Line2D] = [Patch(color=colour, alpha=fg.PALE, label=name) for name, colour in shades]
    kinds = sorted({step.exact for step in steps}, reverse=True)
    words = {True: "peak, from the kernel", False: "peak, highest sample"}
    handles += [Line2D([], [], label=words[exact], **fg.peak_sign(exact)) for exact in kinds]
    handles += [Line2D([], [], color=fg.INK, linewidth=1, label="samples")]
    fg.legend(ax, handles, beside=True)


def _name_the_rest(ax: Axes, rest: Sequence[Panel]) -> None:
    if not rest:
        return
    words = shortened(f"{len(rest)} more without a panel: {'; '.join(map(_title, rest))}", _LAST_LINE)
    how: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": fg.FONT}
    ax.annotate(words, (0, 0), xytext=(0, -40), color=fg.INK, parse_math=False, annotation_clip=False, **how)


def _title(panel: Panel) -> str:
    case, subject = panel
    status = "" if subject.status == "ok" else subject.status
    parts = filter(None, [name_of(case.model), sizes_text(case.dims), name_of(subject.name), status])
    return " · ".join(dict.fromkeys(parts))  # the case of a function bears its name


def _highest_peak(case: MemoryCase) -> int:
    """The same for all subjects of a case, so that they can be compared."""
    return max(subject.peak_bytes or 0 for subject in case.subjects)


def _right_end(subject: MemorySubject, last_ms: float, steps_ms: float) -> float:
    """Where the axis ends: calls that only show that nothing grows must not push the steps into a corner."""
    flat = subject.growth is not None and subject.growth.kind == "none"
    return min(last_ms, (1 + _LONGEST_GROWTH) * steps_ms) if flat else max(last_ms, steps_ms)


def _end_ms(begins_ms: Sequence[float], subject: MemorySubject) -> float:
    """When the last step was done."""
    return begins_ms[-1] + subject.steps[-1].duration_ns / 1e6
