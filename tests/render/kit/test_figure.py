"""Graphics in rows: the same marks on every screen, never outside of their cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.records.comparison import Comparison
from onnxperf.render.kit.comparison import Compared, comparison_table
from onnxperf.render.kit.figure import Figure, Mark, change_figure, interval_figures, share_figure
from tests.render.drawn_pages import printed

RATIOS = st.floats(1e-6, 1e6) | st.none() | st.just(float("nan")) | st.just(0.0)


def compared(low: float | None, ratio: float | None, high: float | None) -> Comparison:
    return Comparison(ratio=ratio, low=low, high=high)


def shapes(figure: Figure) -> list[str]:
    return [mark.shape for mark in figure.marks]


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ((0.0, 0.5), "██████"),
        ((0.5, 0.5), "░░░░░░██████"),
        ((0.25, 0.5, 0.25), "░░░██████▒▒▒"),
        ((0.9, 0.9), "░░░░░░░░░░░█"),
        ((0.0, 0.0), ""),
        ((-1.0, 0.5), "██████"),
    ],
)
def test_shares_follow_each_other_and_end_at_the_whole(shares: tuple[float, ...], text: str) -> None:
    assert share_figure(*shares).text == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (1.0, 0.5, "██████░░░░░░"),
        (0.5, 1.0, "██████▒▒▒▒▒▒"),
        (0.5, 0.5, "██████"),
        (0.0, 0.0, ""),
        (1.0, 0.0, "░" * 12),
    ],
)
def test_a_change_shows_what_is_kept_and_what_is_gone_or_added(before: float, after: float, text: str) -> None:
    assert change_figure(before, after).text == text


def test_an_interval_stands_beside_the_line_at_one() -> None:
    wide, narrow = compared(0.8, 1.0, 1.25), compared(1.05, 1.1, 1.15)
    draw = interval_figures([wide, narrow])
    assert draw(narrow, None).text.startswith("    │")
    assert shapes(draw(narrow, None)) == ["one", "range", "point"]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (compared(0.9, 1.0, 1.1), ["one", "range", "point"]),
        (compared(1.5, 3.0, 9.0), ["one", "range", "above"]),
        (compared(1.5, 1.9, 9.0), ["one", "range", "point", "above"]),
        (compared(0.1, 0.2, 0.9), ["one", "range", "below"]),
        (compared(0.1, 1.0, 9.0), ["one", "range", "point", "below", "above"]),
        (compared(None, 1.0, None), ["one", "point"]),
        (compared(None, None, None), []),
    ],
)
def test_what_lies_beyond_the_axis_is_an_arrow_at_its_end(row: Comparison, found: list[str]) -> None:
    assert shapes(interval_figures([row])(row, None)) == found


def test_a_band_is_what_does_not_matter_and_a_stroke_is_a_limit() -> None:
    row = compared(0.99, 1.0, 1.02)
    figure = interval_figures([row], [1.05], effect=0.01)(row, 1.05)
    assert shapes(figure) == ["band", "one", "limit", "range", "point"]
    (limit,) = [mark for mark in figure.marks if mark.shape == "limit"]
    assert limit.start > max(mark.end for mark in figure.marks if mark.shape == "range")
    assert "┃" in figure.text


@given(st.lists(st.tuples(RATIOS, RATIOS, RATIOS), min_size=1, max_size=5), RATIOS, st.floats(0.0, 0.5))
def test_nothing_is_drawn_outside_of_the_cell(
    rows: list[tuple[float | None, float | None, float | None]], limit: float | None, effect: float
) -> None:
    comparisons = [compared(*row) for row in rows]
    draw = interval_figures(comparisons, [limit], effect)
    for comparison in comparisons:
        figure = draw(comparison, limit)
        assert all(0.0 <= end <= 1.0 for mark in figure.marks for end in (mark.start, mark.end))
        assert len(figure.text) <= figure.cells


def test_graphics_begin_at_the_left_of_their_cells() -> None:
    rows = [compared(0.9, 0.95, 1.0), compared(1.2, 1.3, 1.4)]
    by = Compared(name=lambda row: str(row.ratio), of=lambda row: row)
    lines = printed([comparison_table(by, rows)], 100).splitlines()
    assert len({line.index("│") for line in lines if "│" in line}) == 1


def test_the_characters_of_a_figure_are_those_of_its_marks() -> None:
    assert Figure([Mark("bar", 0.0, 1.0)], 3).text == "███"
    assert Figure([Mark("point", 1.0, 1.0)], 3).text == "  ●"
