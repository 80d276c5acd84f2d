"""A gate as a page, as a chart and as tables."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.records.gate import Gate, GateControl, GateLimit
from onnxperf.render.charts.base import BLUE, GREEN, RED
from onnxperf.render.race.gate import gate_page
from onnxperf.results.gate import GateResult
from tests.render import examples
from tests.render.described import charts_of, column, labels_in, picture_of
from tests.render.drawn_pages import cells, line_with, printed

TIME = GateLimit(
    measure="time",
    dims={"batch": 2},
    limit=1.05,
    ratio=1.01,
    ratio_low=0.99,
    ratio_high=1.03,
    baseline=1e6,
    new=1.01e6,
    outcome="passed",
)
MEMORY = GateLimit(
    measure="memory",
    limit=1.05,
    ratio=1.5,
    ratio_low=1.4,
    ratio_high=1.6,
    baseline=10e6,
    new=15e6,
    outcome="failed",
    reason="all processes needed more",
)
ERROR = GateLimit(measure="error", limit=0.1, new=0.01, outcome="passed")
CONTROL = GateControl(dims={"batch": 2}, ratio=1.0, ratio_low=0.99, ratio_high=1.01, passed=True)
GATE = Gate(
    model="new.onnx",
    baseline="old.onnx",
    limits=(TIME, MEMORY, ERROR),
    controls=(CONTROL,),
    races=(examples.case(),),
    outcome="failed",
    answer="new.onnx fails.",
)


def test_the_page_has_every_limit_every_control_and_the_answer() -> None:
    text = printed(gate_page(GATE))
    assert text.startswith("new.onnx · against old.onnx")
    time = ["time batch=2", "1.00 ms", "1.01 ms", "1.01×", "0.99–1.03", "✓ PASS", "1.05"]
    assert cells(line_with(text, "time batch=2"))[: len(time)] == time
    assert cells(line_with(text, "memory"))[:4] == ["memory", "10.0 MB", "15.0 MB", "1.50×"]
    assert {"0.99–1.01", "✓ PASS"} <= set(cells(line_with(text, "control batch=2")))
    assert {"✓ PASS", "0.1"} <= set(cells(line_with(text, "error")))
    assert text.index("new.onnx fails.") < text.index("time batch=2")


def test_the_chart_has_ratios_and_controls_and_its_table_also_errors() -> None:
    chart = charts_of(gate_page(GATE))["Ratios and limits"]
    assert labels_in(chart) == ["1.01× ✓ PASS", "1.50× ✗ FAIL", "1.00× ✓ PASS"]
    assert [mark.color for mark in picture_of(chart).marks] == [GREEN, RED, BLUE]
    assert [mark.limit for mark in picture_of(chart).marks] == [1.05, 1.05, None]
    assert column(chart.table, "measure") == ["time batch=2", "memory", "error", "control batch=2"]


def test_a_page_shows_the_races_and_a_console_does_not() -> None:
    assert "Speedups" in charts_of(gate_page(GATE))
    assert "io-binding" not in printed(gate_page(GATE))


def test_a_gate_of_equal_outputs_alone_has_a_table_and_no_chart() -> None:
    record = replace(GATE, limits=(GateLimit(measure="outputs", outcome="passed"),), controls=(), races=())
    assert not charts_of(gate_page(record))
    assert cells(line_with(printed(gate_page(record)), "outputs")) == ["outputs", "✓ PASS"]


def test_tables_have_the_limits_with_the_controls_and_the_controls_alone() -> None:
    result = GateResult(GATE)
    frame = result.to_df()
    assert frame.measure.tolist() == ["time batch=2", "memory", "error", "control batch=2"]
    assert frame.ratio_high.tolist()[:2] == [1.03, 1.6]
    assert frame.outcome_reason.tolist()[1] == "all processes needed more"
    assert result.table("controls").measure.tolist() == ["control batch=2"]
    assert not result
    assert result.has_answer
