"""Checks and conversions as pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxperf.records.check import Check, Difference, NodeDifference
from onnxperf.records.convert import Conversion
from onnxperf.records.options import Signature
from onnxperf.render.charts.base import BLUE, RED
from onnxperf.render.race.check import check_page
from onnxperf.render.race.convert import conversion_page, shape_text
from onnxperf.results.check import CheckResult
from onnxperf.wording.names import name_of
from tests.render import examples
from tests.render.described import charts_of, picture_of
from tests.render.drawn_pages import TAGS, Markup, cells, line_with, printed

WRONG = Difference(
    name="Y",
    equal=False,
    elements=2000,
    differing=1000,
    max_absolute=0.25,
    max_relative=1e-7,
    max_ulp=3,
    nans=(1, 0),
    reason="shapes differ",
)
NODE = NodeDifference(index=3, name="n", operator="Exp", inputs=("A",), difference=WRONG)


def check(name: str = "model.onnx", *outputs: Difference, node: NodeDifference | None = None) -> Check:
    return Check(
        model=name, first="ort", second="numpy", rtol=1e-3, atol=1e-5, outputs=outputs, node=node, notes=("a note",)
    )


def conversion(name: str = "m", *checks: Check) -> Conversion:
    side = (Signature(name=name, dtype="float32", shape=(name, None, 3)),)
    return Conversion(
        model=name,
        framework="torch",
        versions={"torch": "2.13"},
        opset=20,
        inputs=side,
        outputs=side,
        nodes=1,
        size_bytes=4,
        checks=checks,
        output=name,
    )


CHECK = check(
    "linear.onnx",
    Difference(name="same", equal=True, elements=10, max_absolute=0.0),
    Difference(name="near", equal=True, elements=10, max_absolute=1e-7, max_relative=1e-6),
    Difference(name="far", equal=False, elements=10, differing=3, max_absolute=0.5, max_relative=float("inf")),
    Difference(name="labels", equal=False, elements=2, reason="other shapes"),
)


def test_a_check_has_a_row_per_output_with_its_numbers() -> None:
    text = printed(
        check_page(check("m", Difference(name="X", equal=True, elements=4), WRONG, node=NODE), "They differ.")
    )
    assert text.startswith("m · ort against numpy · rtol 0.001 · atol 1e-05")
    assert cells(line_with(text, "X ")) == ["X", "✓ agrees", "0 of 4", "–", "–", "–", "0", "0"]
    differing = ["Y", "≠ outputs differ", "1,000 of 2,000", "0.25"]
    assert cells(line_with(text, "Y "))[:4] == differing
    for part in ["Y: shapes differ", "They differ.", "a note"]:
        assert part in text


def test_a_check_in_which_nothing_ran_has_no_table() -> None:
    text = printed(check_page(check("m"), "Undecided: m draws random numbers (Bernoulli)."))
    assert "equal" not in text
    assert "Undecided: m draws" in text


@pytest.mark.parametrize(
    ("by", "at", "line"),
    [
        (0.5, "[3, 1]", "Y: the largest difference is at [3, 1]"),
        (None, "[0]", "Y: the first difference is at [0]"),  # a NaN has no distance
    ],
)
def test_a_check_shows_where_an_output_differs(by: float | None, at: str, line: str) -> None:
    wrong = Difference(name="Y", equal=False, elements=9, differing=2, differs_by=by, differs_at=at)
    assert line in printed(check_page(check("m", wrong), "They differ.")).splitlines()


def test_a_missing_number_is_a_dash_and_counts_of_both_sides_are_two_columns_in_files() -> None:
    frame = CheckResult(check("m", Difference(name="X", equal=True, elements=4), WRONG)).to_df()
    assert frame["max_ulp"].isna().tolist() == [True, False]
    assert (frame["nans_first"].tolist(), frame["nans_second"].tolist()) == ([0, 1], [0, 0])


def test_outputs_that_are_not_the_same_to_the_last_bit_have_a_bar_the_largest_difference_first() -> None:
    (chart,) = charts_of(check_page(CHECK, "They differ.")).values()
    (bars,) = picture_of(chart).series
    assert (picture_of(chart).names, bars.colors) == (["far", "near"], [RED, BLUE])
    assert bars.words[0] == "0.5, 3 of 10 elements beyond the tolerances"
    assert chart.summary.endswith("far differs the most, by 0.5.")
    assert len(chart.table.rows) == 4


def test_a_conversion_shows_its_interface_and_only_checks_that_differ() -> None:
    right, wrong = check("m (batch=3)", Difference(name="X", equal=True)), check("m (batch=4)", WRONG)
    text = printed(conversion_page(conversion("m", right, wrong), "It differs."))
    assert text.startswith("m · from torch · torch 2.13 · opset 20 · 1 node · 4 B")
    assert cells(line_with(text, "input")) == ["input", "m", "float32", "m×?×3"]
    assert "m (batch=4)" in text
    assert "m (batch=3)" not in text
    assert "It differs." in text


def test_a_page_has_the_chart_of_checks_that_agree_too() -> None:
    near = check("m (batch=3)", Difference(name="X", equal=True, max_absolute=1e-7))
    page = conversion_page(conversion("m", near, check("m (batch=4)", WRONG)), "It differs.")
    assert list(charts_of(page)) == ["Largest differences, m (batch=3)", "Largest differences, m (batch=4)"]


@pytest.mark.parametrize(("shape", "text"), [(None, ""), ((), "a scalar"), (("n", None, 2), "n×?×2")])
def test_a_shape_has_the_names_of_its_dimensions(shape: tuple[str | int | None, ...] | None, text: str) -> None:
    assert shape_text(Signature(name="X", dtype="float32", shape=shape)) == text


@given(st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text()), st.sampled_from([60, 80, 120]))
def test_no_name_becomes_markup_steers_the_terminal_or_is_too_wide(name: str, width: int) -> None:
    bad = Difference(name=name, equal=False, reason=name, differs_at=name)
    for page in (check_page(check(name, bad), name), conversion_page(conversion(name, check(name, bad)), name)):
        markup, text = Markup(page), printed(page, width)
        assert markup.tags <= TAGS
        assert markup.attributes == {"style"}
        assert name_of(name) in "".join(markup.words)
        assert all(character.isprintable() or character == "\n" for character in text if ord(character) < 160)
        assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
