"""Flame graphs: frames as wide as their time, callers above what they call; and samples for speedscope.app."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from onnxperf.records.stack import Stack, StackFrame
from onnxperf.render.charts.base import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    Axis,
    Chart,
    axis_of,
    chart,
    rounded,
    time_unit,
)
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.stack.tables import (
    frame_rows,
    frames_table,
    function_key,
    native_key,
    native_table,
    place_text,
    without_line,
)
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, duration, percent

_KINDS: dict[str | None, tuple[str, int]] = {
    "python": ("Python", BLUE),
    "dispatch": ("numpy's call machinery", SKY),
    "kernels": ("kernels and other compiled libraries", ORANGE),
    None: ("system", GREY),
    "unknown": ("unknown", BROWN),
}
"""What frames do, and the colors of that; what the system does, it does for its caller."""
_PACKAGES = (BLUE, ORANGE, GREEN, PINK, SKY)
"""Of the packages that take the most time themselves; the others are gray."""
_OTHERS = ("others", GREY)
_NARROWEST = 1 / 3_000
"""Part of all samples below which a frame cannot be seen."""


class NativeFrame(NamedTuple):
    """A frame as py-spy saw it."""

    function: str
    place: str
    """Its library, or its file with the number of a line."""
    kind: str | None
    """What it does; None if that depends on its caller."""


NativeSample = tuple[Sequence[NativeFrame], int]
"""Frames from the outermost to the innermost, and how often they were seen."""


class _Box(NamedTuple):
    """A frame in its place."""

    start: float
    width: float
    depth: int
    item: SpanItem
    words: str


def tree_charts(record: Stack) -> list[Chart]:
    """The tree of pyinstrument, in times of a call."""
    if not record.frames:
        return []
    calls = max(record.calls, 1)
    boxes = list(_tree_boxes(record, calls))
    whole = sum(box.width for box in boxes if box.depth == 0)
    packages = _package_colors(record.frames)
    others = [_OTHERS] if any(_package(each.file) not in packages for each in record.frames) else []
    axis = axis_of("time per call", [0.0, whole], time_unit([whole]), from_zero=True, margin=0)
    summary = (
        f"Where the time of {count(record.calls, 'call')} goes, {duration(whole)} each while pyinstrument samples them "
        f"({duration(record.call_ns)} undisturbed): callers stand above what they call, colors are packages. Operators "
        "count for the function that applies them."
    )
    legend = [*((name_of(name), color) for name, color in packages.items()), *others]
    return [chart("Flame graph", summary, _spans(boxes, axis, legend), frames_table(record))]


def native_charts(record: Stack, samples: Sequence[NativeSample]) -> list[Chart]:
    """py-spy's samples, compiled frames too, by what they do."""
    if not samples:
        return []
    total = sum(times for _, times in samples)
    boxes = list(_sample_boxes(samples, total))
    axis = axis_of("samples", [0.0, float(total)], (total / 100, "%"), from_zero=True, margin=0)
    used = {box.item.color for box in boxes}
    busiest = [f"{name_of(each.function)} is at work itself in {percent(each.self_share)}." for each in record.native]
    said = [
        f"{count(total, 'sample')} of py-spy with compiled frames: callers stand above what they call, colors are what "
        "frames do.",
        *busiest[:1],
    ]
    legend = [each for each in _KINDS.values() if each[1] in used]
    return [
        chart("Flame graph with compiled frames", " ".join(said), _spans(boxes, axis, legend), native_table(record))
    ]


def speedscope(samples: Sequence[tuple[Sequence[str], int]], title: str) -> str:
    """Samples of frames by their names for speedscope.app; the order of the samples is not known."""
    names = list(dict.fromkeys(frame for stack, _ in samples for frame in stack))
    places = {name: place for place, name in enumerate(names)}
    weights = [times for _, times in samples]
    profile = {
        "type": "sampled",
        "name": title,
        "unit": "none",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[places[frame] for frame in stack] for stack, _ in samples],
        "weights": weights,
    }
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "onnxperf",
            "name": title,
            "activeProfileIndex": 0,
            "shared": {"frames": [{"name": name} for name in names]},
            "profiles": [profile],
        }
    )


def _spans(boxes: Sequence[_Box], axis: Axis, legend: Sequence[tuple[str, int]]) -> Spans:
    """Boxes in columns; what is the same in several is written once."""
    items = {item: place for place, item in enumerate(dict.fromkeys(box.item for box in boxes))}
    words = {text: place for place, text in enumerate(dict.fromkeys(box.words for box in boxes))}
    return Spans(
        axis=axis,
        lanes=[""] * (max(box.depth for box in boxes) + 1),
        starts=[rounded(box.start) or 0.0 for box in boxes],
        widths=[rounded(box.width) or 0.0 for box in boxes],
        lane=[box.depth for box in boxes],
        item=[items[box.item] for box in boxes],
        items=list(items),
        words=list(words),
        said=[words[box.words] for box in boxes],
        legend=legend,
        enlarges=True,
    )


# ---------------------------------------------------------------- pyinstrument's tree


def _tree_boxes(record: Stack, calls: int) -> Iterator[_Box]:
    """Each frame begins in its caller, after the frames before it."""
    colors = _package_colors(record.frames)
    whole = max(sum(frame.total_ns for frame in record.frames if frame.parent is None), 1)
    free: dict[int | None, int] = {None: 0}
    """Where the next frame in each caller begins."""
    for place, (frame, depth) in enumerate(frame_rows(record)):
        start = free[frame.parent]
        free[frame.parent] = start + frame.total_ns
        free[place] = start
        item = SpanItem(
            name_of(frame.function),
            visible(f"{frame.function} ({place_text(frame.file, frame.line)})"),
            colors.get(_package(frame.file), GREY),
            (function_key(frame),),
        )
        words = (
            f"{duration(frame.total_ns / calls)} per call, {percent(frame.total_ns / whole)}; "
            f"itself {duration(frame.self_ns / calls)}"
        )
        yield _Box(start / calls, frame.total_ns / calls, depth, item, words)


def _package(file: str) -> str:
    return file.replace("\\", "/").partition("/")[0] or "built-in"


def _package_colors(frames: Sequence[StackFrame]) -> dict[str, int]:
    own: Counter[str] = Counter()
    for frame in frames:
        own[_package(frame.file)] += frame.self_ns
    return dict(zip((name for name, _ in own.most_common()), _PACKAGES, strict=False))


# ---------------------------------------------------------------- py-spy's samples


@dataclass
class _Node:
    """A function below its callers, whichever of its lines was at work."""

    frame: NativeFrame
    """One of its frames."""
    count: int = 0
    below: dict[str, _Node] = field(default_factory=dict)


def _sample_boxes(samples: Sequence[NativeSample], total: int) -> Iterator[_Box]:
    """Every function that is wide enough to be seen, next to others of the same caller by name."""
    waiting = [(_merged(samples), -1, 0)]
    while waiting:
        node, depth, start = waiting.pop()
        if depth >= 0:
            said = f"{percent(node.count / total)}, {count(node.count, 'sample')}"
            yield _Box(start, node.count, depth, _native_item(node.frame), said)
        for _, each in sorted(node.below.items()):
            if each.count >= _NARROWEST * total:
                waiting.append((each, depth + 1, start))
            start += each.count


def _native_item(frame: NativeFrame) -> SpanItem:
    function, place = frame.function, without_line(frame.place)
    where = f"{function} ({place})" if place else function
    return SpanItem(name_of(function), visible(where), _KINDS[frame.kind][1], (native_key(function, place),))


def _merged(samples: Sequence[NativeSample]) -> _Node:
    root = _Node(NativeFrame("", "", None))
    for stack, times in samples:
        node = root
        for frame in stack:
            node = node.below.setdefault(native_key(frame.function, frame.place), _Node(frame))
            node.count += times
    return root
