"""Views on a bench of many cases."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.errors import BadOption
from onnxperf.records.base import Status
from onnxperf.records.race import Case
from onnxperf.results.bench import BenchResult
from onnxperf.results.formats import Wanted
from tests.render import examples, sweeps


@pytest.fixture
def square() -> BenchResult:
    return BenchResult(sweeps.square())


@pytest.fixture
def line() -> BenchResult:
    return BenchResult(sweeps.line([0.5, 2.0, "oom"]))


def test_the_flat_table_has_a_row_per_case_and_a_column_per_subject(square: BenchResult) -> None:
    df = square.flat()
    rival = ["torch", "torch status", "torch speedup", "torch speedup_low", "torch speedup_high", "torch verdict"]
    assert list(df.columns) == ["model", "batch", "seq", "unit", "ort", "ort status", *rival]
    assert len(df) == 30
    assert set(df["unit"]) == {"s per call"}
    assert (str(df["batch"].dtype), df.to_csv(index=False).splitlines()[1].split(",")[1]) == ("Int64", "1")
    assert df["ort"].iloc[0] == pytest.approx(5.5e-3)


def test_the_document_prints_seconds_for_1000_calls(square: BenchResult) -> None:
    assert square.flat(per_1000=True)["ort"].iloc[0] == pytest.approx(5.5)


def test_what_failed_or_differs_is_nan(square: BenchResult) -> None:
    df = square.flat().set_index(["batch", "seq"])
    assert df["torch"].isna().sum() == 2
    assert math.isnan(df["torch"].loc[16, 500])
    assert math.isnan(df["torch"].loc[8, 10])
    assert set(df["torch status"]) == {"ok", "oom", "differs"}


def test_the_flat_table_has_the_speedups_and_verdicts_of_the_page(line: BenchResult) -> None:
    df = line.flat()
    rows = [row for model in sweep_models(line.cases) for row in model.rows]
    assert df["torch verdict"].tolist() == [row.duels["torch"].verdict or "" for row in rows]
    found = [row.duels["torch"].speedup for row in rows]
    known = [math.nan if each is None else each for each in found]
    assert df["torch speedup"].tolist() == pytest.approx(known, nan_ok=True)
    assert df["torch status"].tolist() == ["ok", "ok", "oom"]


@pytest.mark.parametrize(("status", "word"), [("pending", "not run"), ("failed", "failed"), ("skipped", "skipped")])
def test_a_case_without_subjects_says_why(status: Status, word: str) -> None:
    missing = Case(model="bert.onnx", dims={"batch": 9}, status=status)
    df = BenchResult(examples.bench(sweeps.case(sweeps.ms("ort", 1.0), dims={"batch": 3}), missing)).flat()
    assert df["ort status"].tolist() == ["ok", word]
    assert df["batch"].tolist() == [3, 9]


def test_a_subject_may_bear_the_name_of_a_dimension() -> None:
    result = BenchResult(examples.bench(sweeps.case(sweeps.ms("batch", 1.0), dims={"batch": 3})))
    assert result.flat().iloc[0].tolist() == ["bert.onnx", 3, "s per call", pytest.approx(1e-3), "ok"]


@pytest.mark.parametrize(("value", "expected"), [("time", 18.5e-3), ("speedup", 7 / 18.5), ("throughput", 2 / 18.5e-3)])
def test_a_matrix_has_the_first_dimension_down_and_the_second_across(
    square: BenchResult, value: str, expected: float
) -> None:
    df = square.matrix("torch", value)
    assert (df.index.name, df.columns.name) == ("batch", "seq")
    assert df.shape == (5, 6)
    assert df.loc[2, 10] == pytest.approx(expected)
    assert df.isna().loc[16, 500]


def test_a_matrix_of_the_baseline_is_one(square: BenchResult) -> None:
    assert (square.matrix("ort", "speedup") == 1).all(axis=None)


def test_a_matrix_with_holes_has_nan_there() -> None:
    holes = BenchResult(examples.bench(*sweeps.square().cases[1:]))
    assert holes.matrix("ort").isna().loc[1, 10]


def test_a_matrix_refuses_what_it_cannot_show(square: BenchResult, line: BenchResult) -> None:
    with pytest.raises(BadOption, match="choose from: time, speedup, throughput"):
        square.matrix("torch", "mean")
    with pytest.raises(BadOption, match="choose from: ort, torch"):
        square.matrix("missing")
    with pytest.raises(BadOption, match="two dimensions"):
        line.matrix("torch")


def test_several_cases_are_drawn_as_a_map_or_as_lines(square: BenchResult, line: BenchResult) -> None:
    for ax in (square.plot(), square.crossover("torch", "ort")):
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("seq", "batch")
    assert (line.plot().get_xlabel(), line.plot().get_ylabel()) == ("batch", "time per call (ms)")
    kinds = {name: [chart.kind for chart in line.charts(name)] for name in ("cases", "map", "lines", "matrix")}
    assert kinds == {"cases": ["plot"], "map": ["matrix"], "lines": ["plot"], "matrix": ["matrix"]}


@pytest.mark.parametrize("suffix", [".png", ".svg", ".parquet", ".xlsx", ".csv", ".md", ".json"])
def test_the_ending_of_a_file_chooses_its_kind(square: BenchResult, suffix: str, tmp_path: Path) -> None:
    square.save(tmp_path / f"out{suffix}")
    assert (tmp_path / f"out{suffix}").stat().st_size > 1000


def test_parquet_has_a_row_per_subject_and_loses_no_case(line: BenchResult, tmp_path: Path) -> None:
    broken = Case(model="resnet.onnx", dims={"batch": 8}, status="failed", answer="no such file")
    BenchResult(examples.bench(*line.cases, broken)).save(tmp_path / "out.parquet")
    df = pd.read_parquet(tmp_path / "out.parquet")
    assert list(df.columns) == ["model", "dims", "batch", *examples.SUBJECT_KEYS]
    assert df["status"].tolist() == ["ok", "ok", "ok", "ok", "ok", "oom", "failed"]
    assert df["reason"].iloc[-1] == "no such file"
    assert df["median_ns"].iloc[1] == pytest.approx(20e6)


def test_one_markdown_table_holds_a_whole_sweep_with_milliseconds_per_call(line: BenchResult) -> None:
    table = line.encode(".md", Wanted("flat")).decode().splitlines()
    assert table[0].startswith("| model | batch | unit | ort | ort status | torch | torch status | torch speedup |")
    assert table[2].split(" | ")[1] == "1"
    assert len(table) == 2 + len(line.cases)
    assert "**" in line.encode(".md").decode()  # the page, where no table is chosen


def test_csv_has_a_column_per_dimension(line: BenchResult) -> None:
    first = line.encode(".csv").decode().splitlines()[0]
    assert first.split(",") == ["model", "dims", "batch", *examples.SUBJECT_KEYS]
    assert line.encode(".csv", Wanted("cases")).decode().startswith("model,batch,unit,ort,ort status,torch,")


def test_a_dimension_may_bear_the_name_of_a_column() -> None:
    odd = BenchResult(examples.bench(examples.case(examples.subject(), dims={"load_ns": 3}), examples.case()))
    assert odd.table("subjects").iloc[0, 2] == 3
    assert "3210000" in odd.encode(".csv").decode().splitlines()[1]


def test_a_case_that_failed_as_a_whole_is_a_row_of_every_table(line: BenchResult) -> None:
    broken = Case(model="resnet.onnx", dims={"batch": 8}, status="failed", answer="no such file")
    result = BenchResult(examples.bench(*line.cases, broken))
    for frame in (result.to_df(), result.table("subjects")):
        assert frame["reason"].iloc[-1] == "no such file"


def test_its_text_and_its_html_are_those_of_a_sweep(square: BenchResult) -> None:
    assert "Time of a call, paired speedup of torch against ort" in repr(square)
    assert "batch=16 seq=500: torch oom" in square._repr_html_()
