"""What can be seen of every chart: words that are whole and apart, points and peaks that are not covered."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from onnxperf.render.kit import old_chart as fg
from onnxperf.render.profile.node_memory_chart import node_memory_plot
from onnxperf.render.race.bench_chart import bench_plot
from tests.render import examples, gallery

TOUCH = 1.0
"""Points that boxes may share: a font's box is higher than its letters."""


@cache
def drawn_once(name: str) -> tuple[Figure, list[Axes]]:
    """For tests that only look."""
    return drawn(gallery.CHARTS[name]())


def drawn(chart: Any) -> tuple[Figure, list[Axes]]:
    figure = fg.figure_of(chart)
    figure.draw_without_rendering()
    return figure, [ax for ax in figure.axes if ax.get_visible()]


def words_of(ax: Axes) -> list[Text]:
    """All that is written on and around an axes, but for ticks that are out of view and those that stand askew."""
    legend = ax.get_legend()
    titles = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]  # type: ignore[attr-defined]
    shown = [*ax.texts, *titles, *(legend.get_texts() if legend else [])]
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        for tick in axis.get_major_ticks():
            if min(limits) <= tick.get_loc() <= max(limits) and not tick.label1.get_rotation():
                shown.append(tick.label1)
    return [text for text in shown if text.get_visible() and text.get_text()]


def box_of(text: Text) -> Bbox:
    """The box of the words alone, without the line that leads from them."""
    return Text.get_window_extent(text)


@pytest.mark.parametrize("name", gallery.CHARTS)
def test_no_words_are_cut_or_meet_others(name: str) -> None:
    figure, axes = drawn_once(name)
    title = figure._suptitle  # type: ignore[attr-defined]
    found = [(text.get_text(), box_of(text)) for ax in axes for text in words_of(ax)]
    found += [(title.get_text(), box_of(title))]
    for words, box in found:
        whole = figure.bbox.padded(1)
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1, words  # noqa: PT018
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1, words  # noqa: PT018
    inner = [(words, box.padded(-TOUCH)) for words, box in found]
    meeting = [(a, b) for i, (a, one) in enumerate(inner) for b, two in inner[i + 1 :] if one.overlaps(two)]
    assert meeting == []


@pytest.mark.parametrize("name", gallery.CHARTS)
def test_titles_have_one_style_and_name_the_model(name: str) -> None:
    figure, axes = drawn_once(name)
    first, _, model = figure.get_suptitle().partition("\n")
    assert first[0].isupper()
    assert not first.endswith(".")
    assert model
    panels = [ax.get_title(loc="left") for ax in axes]
    if len({panel for panel in panels if panel}) > 1:
        assert all(panels) or "→" in model  # every panel, or every row of a diff, has its own


CURVES = [name for name in gallery.CHARTS if name.startswith(("sweep", "node memory", "memory"))]


@pytest.mark.parametrize("name", [name for name in CURVES if "line by line" not in name])
def test_words_cover_neither_points_nor_curves(name: str) -> None:
    _, axes = drawn(gallery.CHARTS[name]())
    for ax in axes:
        boxes = [(text.get_text(), box_of(text).padded(-TOUCH)) for text in ax.texts]
        lines = [line for line in ax.lines if line.get_transform() == ax.transData and np.size(line.get_xdata())]
        for line in lines:
            points = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
            if not np.isfinite(points).any(axis=0).all():
                continue  # a subject without any time
            path = line.get_path().cleaned(remove_nans=True).transformed(ax.transData)
            covered = [words for words, box in boxes if path.intersects_bbox(box, filled=False)]
            assert covered == [], line


@pytest.mark.parametrize("name", [name for name in gallery.CHARTS if name.startswith("bench")])
def test_words_beside_a_bar_do_not_cover_it_or_its_whisker(name: str) -> None:
    _, axes = drawn(gallery.CHARTS[name]())
    for ax in axes:
        bars = [bar for bar in ax.patches if isinstance(bar, Rectangle) and bar.get_width()]
        ends = [segments for each in ax.collections for segments in each.get_segments()]  # type: ignore[attr-defined]
        for text in (each for each in ax.texts if isinstance(each, Annotation)):
            left = box_of(text).x0
            row = round(text.xy[1])
            mine = [bar.get_x() + bar.get_width() for bar in bars if round(bar.get_y() + bar.get_height() / 2) == row]
            mine += [segment[:, 0].max() for segment in ends if round(segment[0, 1]) == row]
            for end in mine:
                assert ax.transData.transform((end, row))[0] < left, text.get_text()


@pytest.mark.parametrize(("count", "peak"), [(1, 0), (12, 0), (12, 11), (180, 90)])
def test_the_peak_of_the_arena_sits_on_the_curve(count: int, peak: int) -> None:
    record = gallery.node_memory(count, peak)
    ax = node_memory_plot(record)
    *_, curve, _, marker = [line for line in ax.lines if np.size(line.get_xdata())]
    ((at,), (height,)) = (np.asarray(marker.get_xdata()), np.asarray(marker.get_ydata()))
    edges, heights = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert at == peak
    assert heights[np.searchsorted(edges, at, side="right") - 1] == height == 20
    assert marker.get_marker() == 7  # its tip is its place


@pytest.mark.parametrize(
    ("rows", "bars"),
    [
        ([[1, 2, 7], [1, 1, 2]], [[1, 2, 7], [1, 1, 2]]),
        ([[1, 2, 9], [1, 1, 2]], [[1, 2, 0], [1, 1, 0]]),
        ([[1, 2, 9], [1, 1, 0]], [[1, 2, 0], [1, 1, 0]]),
    ],
)
def test_a_row_for_many_has_all_of_its_bars_or_none(rows: list[list[float]], bars: list[list[float]]) -> None:
    series = [fg.Bars(row, [fg.BLUE] * 3, [str(value or "") for value in row]) for row in rows]
    fg.draw_bars(ax := Figure().add_subplot(), ["a", "b", "5 others"], series, summed=True)
    assert [bar.get_width() for bar in ax.patches] == [value for row in bars for value in row]  # type: ignore[attr-defined]
    left_out = [text.get_text() for text in ax.texts if text.get_text().endswith("too long to draw")]
    assert len(left_out) == sum(bool(row[-1]) and not bar[-1] for row, bar in zip(rows, bars, strict=True))


NAMES = st.text("abcXYZ_ /.-0189äß→µ", max_size=70)
FEW = settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@FEW
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.floats(1.0, 1e5))
def test_any_names_and_times_leave_the_words_of_a_race_apart(names: list[str], spread: float) -> None:
    subjects = [gallery.measured(name, 8430.0 * spread ** (n / 4)) for n, name in enumerate(names)]
    _, (ax,) = drawn(bench_plot(examples.case(*subjects)))
    boxes = [box_of(text).padded(-TOUCH) for text in words_of(ax)]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


@FEW
@given(st.lists(st.integers(1, 4096), min_size=2, max_size=12, unique=True), st.integers(1, 5))
def test_words_of_failures_stay_apart_and_off_the_points(sizes: list[int], subjects: int) -> None:
    words = ("oom", "timeout", "not run", "crashed", "oom")[:subjects]
    _, (ax,) = drawn(gallery.draw(gallery.failed_sweep(sizes, words)))
    boxes = [box_of(text).padded(-TOUCH) for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    points = ax.transData.transform(np.column_stack([ax.lines[0].get_xdata(), ax.lines[0].get_ydata()]))
    assert not any(box.contains(*point) for box in boxes for point in points)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 0.22)), min_size=1, max_size=4))
def test_words_side_by_side_are_in_order_and_inside(texts: list[tuple[float, float]]) -> None:
    centres, widths = sorted(centre for centre, _ in texts), [width for _, width in texts]
    lefts = fg.side_by_side(centres, widths)
    assert lefts[-1] + widths[-1] <= 1 + 1e-9
    assert lefts[0] >= -1e-9
    assert all(lefts[n] + widths[n] < lefts[n + 1] for n in range(len(lefts) - 1))
