"""Comparisons look the same wherever two amounts are compared: as columns, as rows and as marks of a forest."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.records.comparison import Comparison
from onnxperf.render.charts.base import GREEN, GREY, ORANGE
from onnxperf.render.charts.forest import Forest, forest, forest_chart, forests_chart
from onnxperf.render.kit.comparison import Compared, comparison_table
from onnxperf.render.kit.frames import frame_of
from onnxperf.render.kit.table import grid_of


@dataclasses.dataclass
class Trial:
    """Something that was compared."""

    name: str
    found: Comparison


BY: Compared[Trial] = Compared(
    name=lambda row: row.name, of=lambda row: row.found, what="trial", before=("before_ns", "before")
)
FASTER = Trial("a", Comparison(ratio=1.62, low=1.59, high=1.66, verdict="faster", before=9_830.0))
UNDECIDED = Trial("b", Comparison(ratio=1.01, low=0.9, high=1.2, verdict="undecided", reason="too few launches"))
UNKNOWN = Trial("c", Comparison())


def test_a_table_has_name_amounts_ratio_interval_and_verdict() -> None:
    grid = grid_of(comparison_table(BY, [FASTER, UNDECIDED]))
    assert [column.heading for column in grid.columns] == [
        "trial",
        "before",
        "speedup",
        "95 % CI",
        "verdict",
        "interval",
    ]
    texts = ["a", "9.83 µs", "1.62×", "1.59–1.66", "✓ faster", "  │    ●─"]
    assert [cell.text for cell in grid.lines[0].cells] == texts
    assert [line.cells[-1].style for line in grid.lines] == ["green", "yellow"]


def test_files_also_have_both_ends_and_the_reason() -> None:
    frame = frame_of(comparison_table(BY, [FASTER, UNDECIDED]))
    assert list(frame.columns) == [
        *("trial", "before_ns", "speedup", "speedup_low", "speedup_high", "verdict", "verdict_reason"),
    ]
    assert frame.verdict_reason.tolist() == ["", "too few launches"]


def test_a_forest_has_the_rows_with_a_ratio_in_their_order_colored_by_verdict() -> None:
    drawn = forest(BY, [UNDECIDED, UNKNOWN, FASTER])
    assert [(mark.name, mark.color) for mark in drawn.marks] == [("b", ORANGE), ("a", GREEN)]
    assert drawn.marks[0].label == "1.01× ? undecided"
    assert "too few launches" in drawn.marks[0].words


def test_the_words_and_colors_of_a_feature_take_the_place_of_the_verdict() -> None:
    by = BY._replace(word=lambda row: "kept", color=lambda row: GREY)
    assert grid_of(comparison_table(by, [FASTER])).lines[0].cells[-2].text == "✓ kept"
    assert [(mark.label, mark.color) for mark in forest(by, [FASTER]).marks] == [("1.62× ✓ kept", GREY)]


def test_nothing_to_compare_is_no_chart() -> None:
    assert forest_chart("title", "summary", BY, [UNKNOWN]) == []
    assert forests_chart("title", "summary", {"x": forest(BY, [])}, comparison_table(BY, []), "case") == []


def test_several_forests_are_layers_that_a_select_box_chooses() -> None:
    forests = {"batch=1": forest(BY, [FASTER]), "batch=8": forest(BY, [UNDECIDED])}
    (chart,) = forests_chart("title", "summary", forests, comparison_table(BY, [FASTER]), "case")
    assert [layer.title for layer in chart.layers] == ["batch=1", "batch=8"]
    assert list(chart.filters[0].values) == ["batch=1", "batch=8"]


@pytest.mark.parametrize("ratios", [[1.0], [1.01, 0.99], [0.5, 2.0, 40.0], [1e-6, 1e6], [1.0] * 60])
def test_ticks_are_round_lie_on_the_axis_and_are_few(ratios: list[float]) -> None:
    axis = forest(BY, [Trial(str(n), Comparison(ratio=ratio)) for n, ratio in enumerate(ratios)]).axis
    places = [place for place, _ in axis.ticks]
    assert 2 <= len(places) <= 14
    assert all(axis.low <= place <= axis.high for place in places)
    assert places == sorted(set(places))


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=30))
def test_an_axis_always_has_room_for_1_and_for_most_of_the_marks(ratios: list[float]) -> None:
    drawn: Forest = forest(BY, [Trial("x", Comparison(ratio=ratio)) for ratio in ratios])
    assert drawn.axis.low < 1.0 < drawn.axis.high
    inside = [mark for mark in drawn.marks if drawn.axis.low <= mark.value <= drawn.axis.high]
    assert len(inside) >= min(len(ratios), 8)


def test_one_value_far_beyond_many_others_does_not_squeeze_them() -> None:
    rows = [Trial(str(n), Comparison(ratio=1 + n / 100)) for n in range(12)]
    assert forest(BY, [*rows, Trial("far", Comparison(ratio=900.0))]).axis.high < 3
