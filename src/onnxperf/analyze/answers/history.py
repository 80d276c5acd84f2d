"""What the history of a model says, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.records.history import (
    FEWEST_POINTS,
    By,
    ChangePoint,
    History,
    HistoryPoint,
    HistorySeries,
)
from onnxperf.records.race import YARDSTICK
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration, grouped, percent

_COMMIT = 12


def history_answer(record: History) -> str:
    """Where the times of a model change; of several series, the latest change."""
    if record.by == "machine":
        several = [each for each in record.series if len(each.groups) > 1]
        return "\n".join(f"{_title(each, record)}: {each.answer}." for each in several or record.series[:1])
    if len(record.series) == 1:
        return f"{_title(record.series[0], record)}: {record.series[0].answer}."
    changed = [each for each in record.series if each.changes]
    if changed:
        latest = max(changed, key=lambda each: each.changes[-1].first_after.started)
        share = f"{count(len(changed), 'series', 'series')} of {len(record.series)} changed"
        return f"{share}; the latest, {_title(latest, record)}: {latest.answer}."
    judged = [each.runs() for each in record.series if each.averages >= FEWEST_POINTS]
    few = len(record.series) - len(judged)
    rest = f"{count(few, 'series has', 'series have')} too few runs to tell"
    if not judged:
        return f"Too few runs to find a change: a series needs {FEWEST_POINTS} of them."
    runs = " to ".join(grouped(each) for each in sorted({min(judged), max(judged)}))
    also = f"; {rest}" if few else ""
    return f"No change in {count(len(judged), 'series', 'series')} of {runs} runs{also}."


def series_answer(series: HistorySeries, by: By | None) -> str:
    """What one series says, as the end of a sentence."""
    if by == "machine":
        return _machines(series)
    runs, averages = series.runs(), series.averages
    of = "" if averages == runs else f", {count(averages, 'average')} per day, commit, version and model file"
    if averages < FEWEST_POINTS:
        return f"{count(runs, 'run')}{of}, too few to look for a change point ({FEWEST_POINTS} are needed)"
    if not series.changes:
        return f"no change point in {count(runs, 'run')}{of}"
    *earlier, last = series.changes
    also = f"; {count(len(earlier), 'earlier change')}" if earlier else ""
    return f"{change_text(last)} since {_place(last, by)}{also}"


def change_text(change: ChangePoint) -> str:
    """How much slower or faster it became."""
    if change.ratio >= 1:
        return f"slower by {percent(change.ratio - 1)}"
    return f"faster by {percent(1 - change.ratio)}"


def _place(change: ChangePoint, by: By | None) -> str:
    """The first run after a change, or the version, commit or day that begins there; and what else is new since."""
    before, after = change.last_before, change.first_after
    commit = f"commit {visible(after.commit)[:_COMMIT]}{' with local changes' if after.dirty else ''}"
    days = [each.started[:10] for each in (before, after)]
    texts = {
        "version": (before.version, after.version, f"onnxruntime {visible(after.version)}"),
        "commit": (before.commit, after.commit, commit),
        "day": (*days, days[1]),
    }
    old, new, begins = texts.get(by or "", ("", "", ""))
    run = f"run {after.run}"
    first = begins if new and old != new else run
    details = [run, commit if after.commit else "", *_new(before, after), days[1]]
    return f"{first} ({', '.join(each for each in details if each and each != first)})"


def _new(before: HistoryPoint, after: HistoryPoint) -> Iterator[str]:
    """What changed together with the times, which need not be why."""
    if before.version != after.version and before.version and after.version:
        yield f"onnxruntime {visible(before.version)} to {visible(after.version)}"
    if before.fingerprint != after.fingerprint and before.fingerprint and after.fingerprint:
        yield "another model file"


def _machines(series: HistorySeries) -> str:
    if not series.groups:
        return "no run has a time"
    best = min(series.groups, key=lambda each: each.median_ns)
    on = f"on {name_of(best.name)}, {duration(best.median_ns)} in {count(best.runs, 'run')}"
    if len(series.groups) == 1:
        return f"measured only {on}"
    return f"lowest median {on}, of {len(series.groups)} machines, which were not measured in turn"


def _title(series: HistorySeries, record: History) -> str:
    """The model, and what sets a series apart if there are several."""
    if len(record.series) == 1:
        return name_of(record.model)
    texts = [(each.name, dims_text(each.dims), each.machine) for each in record.series]
    differing = [len(set(several)) > 1 for several in zip(*texts, strict=True)]
    parts = (series.name, dims_text(series.dims), series.machine)
    shown = [each for each, differs in zip(parts, differing, strict=True) if differs and each]
    return visible(", ".join(shown) or series.name)


def notes_on(record: History) -> Iterator[str]:
    """What a reader must know."""
    if record.by != "machine" and any(each.changes for each in record.series):
        yield (
            "a change point says when the times changed, to within a few runs, and not why: runs are not measured in "
            "turn, and the machine may have changed as well"
        )
    yield from _times_shown(record)
    yield from _yardstick_notes(record)
    files = {point.fingerprint for each in record.series for point in each.points if point.fingerprint}
    if len(files) > 1:
        yield f"{len(files)} different files under this name"


def _times_shown(record: History) -> Iterator[str]:
    """Which times those are, and which runs do not have them."""
    measures = {(each.measure, each.yardstick_ns is None) for each in record.series if each.points}
    usual = sorted({duration(each.yardstick_ns) for each in record.series if each.yardstick_ns is not None})
    if usual:
        yield (
            f"times are undisturbed times of a call, relative to {YARDSTICK} in the same run: they are shown as if it "
            f"always took its median time, {' or '.join(usual)}"
        )
    if ("undisturbed", True) in measures:
        yield "times are undisturbed times of a call, as measured"
    older = [f"{each} times" for each in ("median", "mean") if (each, True) in measures]
    if older:
        yield f"{' or '.join(older)} of calls, as most of these runs have no undisturbed time"
    missing = [(each, len(each.points) - each.runs()) for each in record.series]
    left_out = sum(number - each.failures() for each, number in missing if number)
    if left_out:
        is_, has = ("is", "has") if left_out == 1 else ("are", "have")
        yield f"{count(left_out, 'run')} {is_} left out of the trend, which {has} no such time or no yardstick"


def _yardstick_notes(record: History) -> Iterator[str]:
    """When the yardstick itself changed."""
    changed = [each.yardstick_changes[-1] for each in record.series if each.yardstick_changes]
    if changed:
        latest = max(changed, key=lambda each: each.first_after.started)
        yield (
            f"{YARDSTICK} itself is {change_text(latest)} since {_place(latest, record.by)}: these times do not show "
            "what slows down or speeds up all models alike"
        )
