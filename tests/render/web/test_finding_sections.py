"""Pages of tune, einsum, bisect, advise, check, doctor and compared runs: charts with their tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import Struct

from onnxperf.records.advice import Advice
from onnxperf.records.bisect import BisectCandidate, Bisection, BisectStep, OperatorChange
from onnxperf.records.check import Check, Difference
from onnxperf.records.doctor import MachineReport
from onnxperf.records.einsum import Rewrite, RewrittenSite
from onnxperf.records.headroom import Bandwidth, Peaks
from onnxperf.records.quantize import Quantization
from onnxperf.records.runs import ComparedSubject, RunComparison
from onnxperf.records.tune import Tuning
from onnxperf.render.web.old_base import Chart
from onnxperf.render.web.sections.advise import advise_sections
from onnxperf.render.web.sections.bisect import bisect_sections
from onnxperf.render.web.sections.check import check_sections
from onnxperf.render.web.sections.compare import compare_sections
from onnxperf.render.web.sections.doctor import doctor_sections
from onnxperf.render.web.sections.einsum import MOST_GRAPHS, einsum_sections, rewrite_sections
from onnxperf.render.web.sections.tune import tune_sections
from onnxperf.results.base import result_classes
from tests.render import einsum_examples, examples, gallery
from tests.render.race.test_tune import RECORD as TUNING
from tests.render.web.test_race_sections import charts, column, data

BISECTION = Bisection(
    model="bert.onnx",
    over="releases",
    outcome="found",
    candidates=tuple(BisectCandidate(name=name) for name in ("1.20", "1.21", "1.22")),
    steps=(
        BisectStep(purpose="ends", base="1.20", candidate="1.22", side="bad", ratio=1.3, ratio_low=1.2, ratio_high=1.4),
        BisectStep(purpose="search", base="1.20", candidate="1.21", side="good", ratio=1.0),
        BisectStep(purpose="repeat", base="1.21", candidate="1.22", side="undecided", reason="too noisy"),
    ),
    good="1.21",
    bad="1.22",
    operators=(OperatorChange(op_name="MatMul", before_us=10.0, after_us=25.0),),
)
CHECK = Check(
    model="linear.onnx",
    first="ort",
    second="reference",
    rtol=1e-3,
    atol=1e-5,
    outputs=(
        Difference(name="same", equal=True, elements=10, max_absolute=0.0),
        Difference(name="near", equal=True, elements=10, max_absolute=1e-7, max_relative=1e-6),
        Difference(name="far", equal=False, elements=10, differing=3, max_absolute=0.5, max_relative=float("inf")),
        Difference(name="labels", equal=False, elements=2, reason="other shapes"),
    ),
)
PEAKS = Peaks(
    threads=2,
    gflop_per_s=90.0,
    bandwidths=(Bandwidth(size_bytes=10**5, gb_per_s=70.0), Bandwidth(size_bytes=10**8, gb_per_s=25.0)),
)
DOCTOR = MachineReport(machine=examples.machine(), rows={}, peaks=(PEAKS,), noise_band=0.01)
COMPARISON = RunComparison(
    first="a1",
    second="b2",
    rows=(
        ComparedSubject(first="run", second="run", speedup=1.0, verdict="baseline", first_ns=8000.0, second_ns=8100.0),
        ComparedSubject(
            first="run-c", second="run-c", speedup=1.2, speedup_low=1.1, speedup_high=1.3, verdict="faster"
        ),
        ComparedSubject(first="skl", second="skl", reason="only in one"),
    ),
)
REWRITE = Rewrite(
    model="m.onnx",
    output="",
    sites=(RewrittenSite(nodes=("e0", "e1"), equation="ab,bc->ac", outcome="rewritten", speedup=1.3, speedup_low=1.2),),
)


def marks(chart: Chart) -> list[str]:
    return [mark["label"] for mark in data(chart)["marks"]]


# ---------------------------------------------------------------- tune


def test_a_tuning_shows_what_was_confirmed_above_its_choices_the_best_first() -> None:
    chart = charts(tune_sections(TUNING))["What each candidate gave"]
    assert marks(chart) == ["1.187× proven", "3.00× approximate", "1.190× alone", "0.530× dropped"]  # noqa: RUF001
    assert len(chart.table.rows) == 1 + len(TUNING.rows)


def test_choices_that_differ_or_were_not_tried_are_in_the_table_with_the_reason() -> None:
    reasons = column(charts(tune_sections(TUNING))["What each candidate gave"], "why")
    assert {"output Y differs", "no time was left to try it"} <= set(reasons)


def test_approximate_choices_are_shown_by_error_and_speed() -> None:
    chart = charts(tune_sections(TUNING))["Error and speed"]
    exact, approximate = data(chart)["groups"]
    assert [point["name"] for point in exact["points"]] == ["arena=off", "threads=1"]
    assert approximate["points"][0]["value"] == [pytest.approx(2.13), 3.0]


# ---------------------------------------------------------------- einsum


def test_letter_orders_that_lead_to_one_graph_share_a_bar_and_keep_their_rows() -> None:
    plan = einsum_examples.plan(orders=einsum_examples.orders())
    chart = charts(einsum_sections(plan))["Time per graph of the search"]
    bars = data(chart)["series"][0]["values"]
    assert len(bars) <= MOST_GRAPHS < len(plan.orders) == len(chart.table.rows)
    assert bars == sorted(bars)


def test_a_plan_that_was_not_raced_has_no_section() -> None:
    assert einsum_sections(einsum_examples.plan(race=None, orders=(), graph_ns=None)) == []


def test_replaced_nodes_show_what_they_gained_in_the_model() -> None:
    assert marks(charts(rewrite_sections(REWRITE))["Gain by node"]) == ["1.300× rewritten"]  # noqa: RUF001


# ---------------------------------------------------------------- bisect


def test_comparisons_stand_in_the_order_of_the_candidates_and_keep_their_numbers() -> None:
    chart = charts(bisect_sections(BISECTION))["Along the candidates"]
    assert [mark["name"] for mark in data(chart)["marks"]] == ["2: 1.21", "1: 1.22"]
    assert column(chart, "result") == ["changed", "as before", "undecided"]


def test_operators_behind_a_change_are_shown_before_and_after() -> None:
    parts = data(charts(bisect_sections(BISECTION))["Operators before and after"])["series"]
    assert [(part["name"], part["values"]) for part in parts] == [("before", [10.0]), ("after", [25.0])]


# ---------------------------------------------------------------- advise


def test_trials_are_shown_with_what_they_gave_those_without_a_time_only_in_the_table() -> None:
    chart = charts(advise_sections(gallery.advice(number=5)))["What each remedy gave"]
    assert len(data(chart)["marks"]) == 4
    assert len(chart.table.rows) == 5


# ---------------------------------------------------------------- check, doctor, compared runs


def test_outputs_that_are_not_the_same_to_the_last_bit_have_a_bar_the_largest_difference_first() -> None:
    chart = charts(check_sections(CHECK))["Largest differences, linear.onnx"]
    assert data(chart)["names"] == ["far", "near"]
    assert len(chart.table.rows) == 4


def test_peaks_are_lines_over_sizes_and_bars_per_number_of_threads() -> None:
    found = charts(doctor_sections(DOCTOR))
    assert data(found["Bandwidth over sizes"])["lines"][0]["points"] == [[0.1, 70.0], [100.0, 25.0]]
    assert data(found["Arithmetic"])["series"][0]["values"] == [90.0]


def test_subjects_of_two_runs_that_can_be_compared_have_a_mark() -> None:
    chart = charts(compare_sections(COMPARISON))["Second run over first"]
    assert marks(chart) == ["1.000× yardstick", "1.200× faster"]  # noqa: RUF001
    assert len(chart.table.rows) == 3


# ---------------------------------------------------------------- all of them


NOTHING: dict[str, Callable[[], Struct]] = {
    "tune": lambda: Tuning(model="m"),
    "bisect": lambda: Bisection(model="m", over="nodes"),
    "advise": lambda: Advice(model="m"),
    "quantize": lambda: Quantization(model="m"),
    "check": lambda: Check(model="m", first="a", second="b", rtol=0.0, atol=0.0, outputs=()),
    "doctor": lambda: MachineReport(machine=examples.machine(), rows={}),
    "compare": lambda: RunComparison(first="a", second="b"),
    "rewrite": lambda: Rewrite(model="m", output="", sites=()),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_a_record_of_nothing_has_a_page_without_a_chart(kind: str) -> None:
    record = NOTHING[kind]()
    html = result_classes()[type(record)](record).to_html()
    assert "<figure" not in html


@pytest.mark.parametrize("record", [TUNING, BISECTION, CHECK, DOCTOR, COMPARISON, REWRITE])
def test_every_chart_has_a_summary_and_a_table(record: Struct) -> None:
    sections = result_classes()[type(record)](record).story_sections()
    for chart in charts(sections).values():
        assert chart.summary.endswith(".")
        assert chart.table.rows
