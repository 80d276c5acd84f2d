"""A bisection as a page, as charts and as tables."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.records.bisect import BisectCandidate, Bisection, BisectStep, OperatorChange
from onnxperf.render.kit.page import Section
from onnxperf.render.race.bisect import bisect_page
from onnxperf.results.bisect import BisectResult
from tests.render import examples
from tests.render.described import charts_of, column, picture_of
from tests.render.drawn_pages import cells, line_with, printed

ENDS = BisectStep(
    purpose="ends",
    base="1.20",
    candidate="1.22",
    side="bad",
    verdict="slower",
    ratio=1.3,
    ratio_low=1.2,
    ratio_high=1.4,
    base_amount=1e6,
    amount=1.3e6,
)
BISECTION = Bisection(
    model="bert.onnx",
    over="releases",
    outcome="found",
    candidates=tuple(BisectCandidate(name=name) for name in ("1.20", "1.21", "1.22")),
    steps=(
        ENDS,
        BisectStep(purpose="search", base="1.20", candidate="1.21", side="good", ratio=1.0),
        BisectStep(purpose="repeat", base="1.21", candidate="1.22", side="undecided", reason="too noisy"),
    ),
    good="1.21",
    bad="1.22",
    operators=(OperatorChange(op_name="MatMul", before_us=10.0, after_us=25.0),),
)


def test_the_page_has_a_row_per_comparison_in_the_order_in_which_they_were_made() -> None:
    text = printed(bisect_page(BISECTION))
    first = ["1 ends", "1.22", "1.20", "1.00 ms", "1.30 ms", "1.30", "1.20–1.40", "≠ changed"]
    assert cells(line_with(text, "ends"))[:8] == first
    assert text.index("1 ends") < text.index("2 search") < text.index("3 repeated")
    assert "too noisy" in line_with(text, "3 repeated")


def test_differences_of_outputs_have_no_ratio_and_are_told() -> None:
    differs = "output Y: 3 of 10 elements differ"
    step = BisectStep(purpose="ends", base="1.20", candidate="1.22", side="bad", differs=differs)
    page = bisect_page(replace(BISECTION, by="accuracy", steps=(step,), operators=()))
    assert differs in printed(page)
    assert not charts_of(page)


def test_a_chart_has_the_comparisons_in_the_order_of_the_candidates_with_their_numbers() -> None:
    chart = charts_of(bisect_page(BISECTION))["Along the candidates"]
    assert [mark.name for mark in picture_of(chart).marks] == ["2: 1.21", "1: 1.22"]
    assert column(chart.table, "result") == ["≠ changed", "✓ as before", "? undecided"]


def test_operators_behind_a_change_are_shown_before_and_after() -> None:
    chart = charts_of(bisect_page(BISECTION))["Operators before and after"]
    assert [(each.name, each.values) for each in picture_of(chart).series] == [("before", [10.0]), ("after", [25.0])]
    assert "MatMul" not in printed(bisect_page(BISECTION)), "the answer names it"


def test_a_page_shows_the_races_behind_the_comparisons() -> None:
    steps = tuple(replace(each, race=examples.case()) for each in BISECTION.steps[:2])
    page = bisect_page(replace(BISECTION, steps=steps))
    assert any(isinstance(part, Section) and part.title == "Races" and part.on == "page" for part in page)


def test_tables_have_the_steps_the_candidates_and_the_operators() -> None:
    result = BisectResult(BISECTION)
    assert result.to_df().side.tolist() == ["bad", "good", "undecided"]
    assert result.to_df().ratio_high.tolist()[0] == 1.4
    assert result.table("candidates").name.tolist() == ["1.20", "1.21", "1.22"]
    assert result.table("operators").after_us.tolist() == [25.0]
