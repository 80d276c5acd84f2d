"""What subjects need in memory, as charts."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.records.memory import Memory
from onnxperf.render.charts.base import Chart
from onnxperf.render.memory.charts import STEP_COLORS, curve_charts, growth_charts, peaks_charts
from onnxperf.render.memory.page import memory_page
from tests.render.described import charts_of, picture_of
from tests.render.memory import examples as made


def only(charts: list[Chart]) -> Any:
    (chart,) = charts
    return picture_of(chart)


def of(*subjects: Any) -> Memory:
    return made.memory(made.case(*subjects))


def test_every_measured_subject_has_a_curve_with_the_peaks_of_the_table() -> None:
    ort, skl = curve_charts(made.memory())
    assert (ort.title, skl.title) == ("Resident memory: ort", "Resident memory: skl")
    assert [mark.text for mark in picture_of(ort).marks] == ["652 MB", "940 MB", "", "940 MB", ""]
    assert [row.peak_bytes for row in ort.table.rows] == [mark.y for mark in picture_of(ort).marks]
    assert picture_of(skl).y == picture_of(ort).y
    assert picture_of(ort).y.high > 941e6


def test_a_step_has_one_color_in_all_charts() -> None:
    record = of(made.subject())
    bars = {each.name: each.color for each in only(peaks_charts(record)).series}
    spans = {each.name: each.color for each in only(curve_charts(record)).spans}
    assert {name: bars[name] for name in STEP_COLORS} == {name: spans[name] for name in STEP_COLORS} == STEP_COLORS


def test_a_peak_stands_at_the_highest_sample_of_its_step() -> None:
    subject = made.subject()
    start = subject.sample_ns[0]
    curve = only(curve_charts(of(subject)))
    for mark, begin, step in zip(curve.marks, subject.step_ns, subject.steps, strict=True):
        assert begin - start <= mark.x <= begin - start + step.duration_ns


@pytest.mark.parametrize(("exact", "symbol", "how"), [(True, "peak", "the kernel"), (False, "sampled", "samples")])
def test_a_mark_tells_the_source_of_its_peak(exact: bool, symbol: str, how: str) -> None:
    (chart,) = curve_charts(of(made.subject(steps=made.steps(exact=exact))))
    assert {mark.symbol for mark in picture_of(chart).marks} == {symbol}
    assert f"as {how} saw them" in chart.summary


def test_the_calls_that_show_growth_are_shaded_and_labelled() -> None:
    curve = only(curve_charts(of(made.function(growth=made.growth("leak", 1.5)))))
    assert (curve.spans[-1].name, curve.spans[-1].label) == ("growth", "64 calls: leak 1.5 MB/call")
    assert curve.until is None


def test_calls_without_growth_do_not_push_the_steps_into_a_corner() -> None:
    fields = made.samples(made.steps())
    later_ns = fields["sample_ns"][-1] + 60_000 * made.MS
    longer: dict[str, Any] = {
        "sample_ns": (*fields["sample_ns"], later_ns),
        "sample_bytes": (*fields["sample_bytes"], 700 * made.MB),
    }
    curve = only(curve_charts(of(made.subject(**longer))))
    assert curve.until is not None
    assert curve.until < 2_000 * made.MS < curve.x.high


def test_growth_is_a_line_over_calls() -> None:
    (chart,) = growth_charts(of(made.subject(growth=made.growth("leak", 1.5))))
    (line,) = picture_of(chart).series
    assert line.xs == [0.0, 16, 32, 64]
    assert line.ys[-1] - line.ys[0] == 96e6
    assert chart.summary == "Memory of ort over 64 calls: leak 1.5 MB/call."


def test_a_subject_that_was_lost_on_its_way_says_so() -> None:
    lost = made.subject(steps=made.steps()[:2], status="oom", growth=None)
    (chart,) = curve_charts(of(lost))
    assert chart.title == "Resident memory: ort, oom"


def test_several_cases_are_told_apart_by_their_sizes() -> None:
    cases = [made.case(made.subject(), dims={"batch": (size,)}) for size in (1, 8)]
    titles = [chart.title for chart in curve_charts(made.memory(*cases))]
    assert titles == ["Resident memory: ort, batch=1", "Resident memory: ort, batch=8"]


@pytest.mark.parametrize("name", ["a\x1b[31m", ""])
def test_names_are_made_visible(name: str) -> None:
    for chart in charts_of(memory_page(of(made.subject(name)))).values():
        assert "\x1b" not in f"{chart.title} {chart.summary} {chart.layers}"


def test_nothing_measured_has_no_chart() -> None:
    record = of(made.failed())
    assert charts_of(memory_page(record)) == {}
    assert [*peaks_charts(record), *curve_charts(record), *growth_charts(record)] == []
