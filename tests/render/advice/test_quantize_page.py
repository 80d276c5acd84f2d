"""What a quantization found as the page shows it: ways, layers, conversions that stayed, and their charts."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.records.quantize import LayerChange, OutputError, Quantization, QuantizationWay, TriedWay, UnfusedPair
from onnxperf.render.charts.bars import Bars
from onnxperf.render.charts.base import GREEN, colors_of
from onnxperf.render.charts.forest import Forest
from onnxperf.render.kit.table import grid_of
from onnxperf.results.quantize import QuantizeResult
from tests.render import examples
from tests.render.drawn_pages import cells, line_with, printed

WAY = "static U8S8"
WITHOUT = f"{WAY}, without slower nodes"


def tried(name: str, verdict: Any, **changes: Any) -> TriedWay:
    way = QuantizationWay(name=name, mode="static")
    return TriedWay(**({"way": way, "status": "ok", "acceptable": True, "speedup": 0.8, "verdict": verdict} | changes))


def layer(name: str, before_us: float, after_us: float, **changes: Any) -> LayerChange:
    return LayerChange(nodes=(name,), ops=("Conv",), before_us=before_us, after_us=after_us, **changes)


RECORD = Quantization(
    model="cnn.onnx",
    ways=(
        tried(WAY, "faster", speedup=1.4, speedup_low=1.3, speedup_high=1.5, error=0.02),
        TriedWay(way=QuantizationWay(name="dynamic", mode="dynamic"), status="failed", reason="no weights"),
    ),
    best=WAY,
    chosen=WAY,
    layers=(
        layer("conv", 40.0, 20.0, outcome="won", error=0.015, convert_us=3.0),
        layer("gemm", 4.0, 5.0, outcome="lost", error=float("inf"), excluded=True),
        layer("pool", 2.0, 2.1),
        layer("flat", 2.0, 1.0),
    ),
    unfused=(
        UnfusedPair(op_name="QuantizeLinear", tensor="a", node="n1", node_op="Erf", why="no kernel", time_us=2.0),
        UnfusedPair(op_name="QuantizeLinear", tensor="b", node="n2", node_op="Erf", why="no kernel", time_us=3.0),
        UnfusedPair(op_name="QuantizeLinear", tensor="X", node="", why="an input of the model is float32"),
    ),
    errors=(OutputError(name="Y", max_relative=0.034, cosine=0.9999, top1=0.959),),
    race=examples.case(),
    answer="int8 is faster.",
)


@pytest.mark.parametrize(
    ("chosen", "verdict", "changes", "result"),
    [
        (WAY, "slower", {"against": WAY}, "slower"),
        (WITHOUT, "faster", {"against": WAY}, "chosen"),
        (WAY, "undecided", {"against": WAY}, ""),
        (WAY, "faster", {"against": WAY, "acceptable": False}, "error too large"),
        (WAY, "slower", {}, "slower"),
        (WITHOUT, "slower", {}, "chosen"),
        ("", "slower", {}, "slower"),
    ],
)
def test_a_way_that_raced_another_way_says_so(chosen: str, verdict: Any, changes: dict[str, Any], result: str) -> None:
    record = Quantization(model="m", best=chosen or WITHOUT, chosen=chosen, ways=(tried(WITHOUT, verdict, **changes),))
    assert QuantizeResult(record).table("ways")["result"].tolist() == [result]


def test_every_table_of_the_console_has_the_numbers_of_its_rows() -> None:
    text = printed(QuantizeResult(RECORD).page(), 140)
    assert cells(line_with(text, WAY))[:5] == [WAY, "1.40×", "1.30–1.50", "✓ chosen", "2 %"]
    assert cells(line_with(text, "conv "))[:6] == ["conv", "Conv", "40 µs", "20 µs", "2.00×", "✓ won"]
    assert cells(line_with(text, "gemm "))[4:6] == ["0.80×", "✗ lost · stays in float32"]
    assert [cells(line_with(text, name))[5] for name in ("pool ", "flat ")] == ["≈ same", "? unclear"]
    assert cells(line_with(text, "QuantizeLinear")) == ["QuantizeLinear", "2", "Erf", "n1, n2", "5 µs", "no kernel"]
    assert cells(line_with(text, "Y ")) == ["Y", "3.4 %", "1.00", "95.9 %"]


def test_ways_that_failed_have_their_reason_on_wide_screens_and_in_files() -> None:
    assert "no weights" in printed(QuantizeResult(RECORD).page(), 140)
    assert QuantizeResult(RECORD).table("ways")["result_reason"].tolist() == ["", "no weights"]


def test_layers_beyond_the_first_are_one_row_of_the_screen_and_all_are_in_files() -> None:
    layers = tuple(layer(f"n{place}", 10.0, 5.0) for place in range(25))
    result = QuantizeResult(Quantization(model="m", layers=layers))
    text = printed(result.page(), 100)
    assert cells(line_with(text, "5 others")) == ["5 others", "50 µs", "25 µs"]
    assert "n20" not in text
    assert len(result.table("layers")) == 25


def test_the_charts_draw_both_sides_the_errors_and_the_ways() -> None:
    result = QuantizeResult(RECORD)
    pictures = {name: result.charts(name)[0].layers[0].picture for name in ("layers", "errors", "ways")}
    layers, errors, ways = pictures.values()
    assert isinstance(layers, Bars)
    assert isinstance(errors, Bars)
    assert isinstance(ways, Forest)
    colors = colors_of(("float32", "int8"))
    assert [(each.name, each.color) for each in layers.series] == list(colors.items())
    assert [list(each.values) for each in layers.series] == [[40.0, 4.0, 2.0, 2.0], [20.0, 5.0, 2.1, 1.0]]
    assert list(layers.series[0].pale) == [False, False, True, True]
    assert layers.series[1].words[0] == "20 µs (3 µs converting), won"
    assert (errors.names, errors.series[0].values) == (["conv"], [0.015])
    assert [(mark.label, mark.color) for mark in ways.marks] == [("1.40× ✓ chosen", GREEN)]


def test_the_summary_of_a_chart_counts_what_is_drawn() -> None:
    (chart,) = QuantizeResult(RECORD).charts("layers")
    assert "4 layers in float32 and in int8, conversions included: 1 won, 1 lost" in chart.summary
    assert len(grid_of(chart.table).lines) == 4


def test_a_model_without_layers_has_a_page_and_no_charts() -> None:
    result = QuantizeResult(Quantization(model="m"))
    assert [list(result.charts(name)) for name in ("layers", "errors", "ways")] == [[], [], []]
    assert repr(result).startswith("m · ")
