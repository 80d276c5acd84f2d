"""What was found for an einsum equation."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import msgspec
import onnx
import pytest

from onnxperf.errors import BadInput, BadOption
from onnxperf.records.einsum import EinsumPlan, OrderTime
from onnxperf.results.base import result_classes
from onnxperf.results.einsum import EinsumResult
from tests.render import einsum_examples as einsums
from tests.render import examples


@pytest.fixture
def result(linear_bytes: bytes) -> EinsumResult:
    plan = einsums.plan(
        orders=einsums.orders(letters="bsnh", untimed=5), race=einsums.race(examples.failed("torch.einsum"))
    )
    return EinsumResult(plan, linear_bytes, onnx.ModelProto(producer_name="test").SerializeToString())


def test_the_graphs_are_parsed_once_and_only_when_asked_for(result: EinsumResult) -> None:
    assert isinstance(result.onnx, onnx.ModelProto)
    assert result.onnx is result.onnx
    assert result.onnx.graph.node[0].op_type == "MatMul"
    assert not result.unoptimized_onnx.graph.node


@pytest.mark.parametrize("name", ["onnx", "unoptimized_onnx", "decomposed", "model"])
def test_a_record_alone_has_no_graph_and_says_where_it_is_found(name: str) -> None:
    result = result_classes()[EinsumPlan](einsums.plan())
    with pytest.raises(BadInput, match=r"bsnh,btnh->bnts holds no graph; onnxperf.optimize_einsum finds it"):
        getattr(result, name)
    assert "151 candidates" in repr(result)


def test_the_words_of_the_record_are_at_hand(result: EinsumResult) -> None:
    assert result.equation == "bsnh,btnh->bnts"
    assert result.best_equation == "ahbt,asbt->abhs"
    assert result.answer.startswith("The best graph is 3.76 times")


def test_timings_have_a_row_per_order_in_seconds_the_fastest_first(result: EinsumResult) -> None:
    frame = result.timings
    assert list(frame.columns) == ["order", "equation", "graph", "time"]
    assert len(frame) == 24
    assert frame["time"].iloc[0] == pytest.approx(176e-6)
    assert frame["time"].iloc[:19].is_monotonic_increasing
    assert frame["time"].iloc[19:].isna().all()
    assert frame.index.tolist() == list(range(24))


def test_the_race_is_a_table_with_a_row_per_subject(result: EinsumResult) -> None:
    frame = result.to_df().set_index("name")
    best = frame.loc[einsums.BEST_GRAPH]
    assert best["time"] == pytest.approx(176e-6)
    assert best["limit_ratio"] == pytest.approx(176 / 127)
    assert best["verdict"] == "faster"
    assert best["speedup_low"] < best["speedup"] < best["speedup_high"]
    assert frame.loc["torch.einsum", "status"] == "failed"
    assert math.isnan(float(frame["time"].iloc[-1]))


def test_without_a_race_the_table_is_empty_and_has_its_columns(linear_bytes: bytes) -> None:
    frame = EinsumResult(einsums.plan(race=None, orders=()), linear_bytes, b"").to_df()
    assert frame.empty
    assert "limit_ratio" in frame.columns


def test_every_kind_of_file_can_be_saved(result: EinsumResult, linear_bytes: bytes, tmp_path: Path) -> None:
    for name in ("best.onnx", "plan.JSON", "orders.csv", "orders.svg", "page.md", "all.xlsx"):
        result.save(tmp_path / name)
    result.save(tmp_path / "race.csv", table="race")
    assert (tmp_path / "best.onnx").read_bytes() == linear_bytes
    assert msgspec.json.decode((tmp_path / "plan.JSON").read_bytes(), type=EinsumPlan) == result.record
    assert len((tmp_path / "orders.csv").read_text().splitlines()) == 25
    assert len((tmp_path / "race.csv").read_text().splitlines()) == 1 + len(result.to_df())
    assert (tmp_path / "orders.svg").read_bytes().startswith(b"<?xml")


def test_an_unknown_kind_of_file_is_refused_with_the_known_ones(result: EinsumResult, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"`output=.*orders\.pdf`: expected a name that ends with .*\.onnx"):
        result.save(tmp_path / "orders.pdf")
    with pytest.raises(BadInput, match="cannot write"):
        result.save(tmp_path / "nowhere" / "best.onnx")


def test_no_cell_of_the_file_is_a_formula(linear_bytes: bytes, tmp_path: Path) -> None:
    order = OrderTime(order="=a", equation="=cmd()", graph="@sum", time_ns=1.0)
    EinsumResult(einsums.plan(orders=(order,)), linear_bytes, b"").save(tmp_path / "orders.csv")
    cells = list(csv.reader((tmp_path / "orders.csv").read_text().splitlines()))[1]
    assert cells[:3] == ["'=a", "'=cmd()", "'@sum"]


def test_it_shows_itself_as_the_terminal_and_a_notebook_would(result: EinsumResult) -> None:
    assert "151 candidates" in repr(result)
    assert max(map(len, repr(result).splitlines())) <= 100
    assert "<table" in result._repr_html_()


def test_its_charts_are_the_letter_orders_and_the_final_race(result: EinsumResult) -> None:
    assert "letter order" in result.charts()[0].title
    assert [each.title for each in result.charts("race")] == ["Speedups"]
    with pytest.raises(BadOption, match="nothing was raced"):
        EinsumResult(einsums.plan(race=None)).plot_race()


@pytest.mark.parametrize(("changes", "status"), [({}, "ok"), ({"interrupted": True}, "interrupted")])
def test_an_interrupted_plan_has_that_status(changes: dict[str, Any], status: str) -> None:
    assert EinsumResult(einsums.plan(**changes)).status == status
