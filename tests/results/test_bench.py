"""What a bench found."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from onnxperf.errors import BadInput, BadOption, FileNotWritten
from onnxperf.records.race import Bench, Block, Case, Subject
from onnxperf.render.kit.documents import from_json
from onnxperf.results.bench import BenchResult
from tests.render import examples

CLASSIC = ["name", "average", "deviation", "min_exec", "max_exec", "repeat", "number", "ttime", "context_size"]


@pytest.fixture
def result() -> BenchResult:
    return BenchResult(examples.bench(examples.case(*examples.case().subjects, examples.failed("broken"))))


@pytest.fixture
def two_cases() -> BenchResult:
    return BenchResult(examples.bench(examples.case(), examples.case(dims={"batch": 8}, answer="")))


SUBJECT_COLUMNS = (
    "name runtime call time_ns time_low_ns time_high_ns own_time_ns unsteady varies slow_launches min_ns median_ns "
    "median_low_ns median_high_ns p90_ns p90_low_ns p90_high_ns p99_ns p99_low_ns p99_high_ns max_ns items_per_s "
    "speedup speedup_low speedup_high verdict status reason cpu_ns mean_ns mean_low_ns mean_high_ns deviation_ns "
    "load_ns first_call_ns input_bytes"
)


def test_files_have_all_that_is_known_of_a_subject_with_units(result: BenchResult) -> None:
    assert list(result.table("subjects").columns) == ["model", "dims", "batch", *SUBJECT_COLUMNS.split()]


def test_the_table_begins_with_the_columns_of_the_document(result: BenchResult) -> None:
    own = [column for column in examples.SUBJECT_KEYS if column not in ("name", "input_bytes")]
    assert list(result.to_df().columns) == [*CLASSIC, *own]


def test_times_are_seconds_per_call(result: BenchResult) -> None:
    row = result.to_df().set_index("name").loc["run"]
    assert row["number"] == 100
    assert row["repeat"] == 4
    assert row["average"] == pytest.approx(8430 / 1e9)
    assert (row["deviation"], row["min_exec"], row["max_exec"]) == (0, row["average"], row["average"])  # equal blocks
    assert row["ttime"] == pytest.approx(4 * 8430 * 100 / 1e9)
    assert row["context_size"] == 40_000
    assert row["mean_ns"] == 8430


@pytest.mark.parametrize("calls", [(100, 100, 100), (100, 50, 200)])
def test_the_average_times_all_calls_is_the_total_time_and_lies_between_min_and_max(calls: tuple[int, ...]) -> None:
    blocks = tuple(
        Block(round=n, position=0, launch=0, calls=each, start_ns=n, duration_ns=each * (1000 + n))
        for n, each in enumerate(calls)
    )
    row = BenchResult(examples.bench(examples.case(replace(examples.subject("run"), blocks=blocks)))).to_df().iloc[0]
    assert row["average"] * sum(calls) == pytest.approx(row["ttime"], rel=1e-12)
    assert row["min_exec"] <= row["average"] <= row["max_exec"]


def test_the_faster_of_two_has_the_smaller_average_whatever_the_length_of_its_blocks() -> None:
    def subject(name: str, call_ns: int, calls: int) -> Subject:
        block = Block(round=0, position=0, launch=0, calls=calls, start_ns=0, duration_ns=calls * call_ns)
        return replace(examples.subject(name), blocks=(block,) * 3)

    fast, slow = subject("fast", 13_000, 740), subject("slow", 75_000, 133)
    table = BenchResult(examples.bench(examples.case(fast, slow))).to_df().set_index("name")
    for column in ["average", "min_exec", "max_exec"]:
        assert table[column].to_dict() == pytest.approx({"fast": 13e-6, "slow": 75e-6})


def test_a_failed_subject_is_a_row_of_nan_with_its_reason(result: BenchResult) -> None:
    row = result.to_df().iloc[-1]
    assert row["name"] == "broken"
    assert row["reason"] == "X is not contiguous"
    assert all(math.isnan(row[column]) for column in ["average", "number", "ttime", "mean_ns", "p99_ns", "speedup"])


def test_several_cases_say_which_row_belongs_where(two_cases: BenchResult) -> None:
    df = two_cases.to_df()
    assert list(df.columns[:12]) == [*CLASSIC, "case", "model", "dims"]
    assert df["dims"].unique().tolist() == ["batch=1000", "batch=8"]


def test_raw_blocks_are_one_row_each(result: BenchResult) -> None:
    df = result.to_df("blocks")
    fields = ["round", "position", "launch", "set_up", "calls", "start_ns", "duration_ns", "quickest_ns"]
    fields += ["cpu_ns", "span_ns", "free_pieces"]
    assert list(df.columns) == ["case", "name", *fields]
    assert len(df) == 8 * 4


def test_a_result_without_subjects_still_makes_tables() -> None:
    empty = BenchResult(examples.bench(examples.case(examples.failed())))
    assert len(empty.to_df()) == 1
    assert empty.to_df("blocks").empty
    assert not empty.ok


def test_properties_answer_the_plain_questions(result: BenchResult, two_cases: BenchResult) -> None:
    assert not result.ok
    assert two_cases.ok
    assert not result.interrupted
    assert result.answer.startswith("ort-values is fastest")
    assert len(result.subjects) == 9
    assert result["run-c"].mean_ns == 7920
    assert len(two_cases.cases) == 2


def test_an_unknown_or_ambiguous_name_says_what_there_is(result: BenchResult, two_cases: BenchResult) -> None:
    with pytest.raises(KeyError, match=r"no subject 'nope'; there are: run, run-c"):
        result["nope"]
    with pytest.raises(KeyError, match="2 cases have a subject 'run'"):
        two_cases["run"]


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".png", ".svg", ".parquet", ".xlsx", ".JSON"])
def test_the_ending_of_a_file_chooses_its_kind(suffix: str, result: BenchResult, tmp_path: Path) -> None:
    path = tmp_path / f"out{suffix}"
    result.save(path)
    assert path.stat().st_size > 500


def test_an_unknown_ending_lists_the_valid_ones(result: BenchResult, tmp_path: Path) -> None:
    with pytest.raises(
        BadOption, match=re.escape(".csv, .html, .json, .md, .parquet, .png, .pytest-benchmark.json, .svg, .xlsx")
    ):
        result.save(tmp_path / "out.docx")


def test_a_file_that_cannot_be_written_is_one_clear_line(result: BenchResult, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot write"):
        result.save(tmp_path / "missing" / "out.csv")


def test_one_of_several_cases_can_be_drawn_alone(two_cases: BenchResult, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="choose from: 0, 1"):
        two_cases.plot(case=2)
    two_cases.save(tmp_path / "out.svg", case=1)
    assert two_cases.plot(case=0).get_xlabel() == "speedup relative to run"


@pytest.mark.parametrize("chart", [None, "speedups", "times", "samples", "calls", "parts", "cases"])
@pytest.mark.parametrize(
    "case", [examples.case(), examples.case(examples.subject()), examples.case(examples.failed()), Case(model="m")]
)
def test_every_chart_of_every_race_is_written_or_said_to_be_empty(
    case: Case, chart: str | None, tmp_path: Path
) -> None:
    path, result = tmp_path / "chart.svg", BenchResult(examples.bench(case))
    if chart is None or result.charts(chart):
        result.save(path, chart=chart)
        assert path.read_bytes().startswith(b"<?xml")
    else:
        with pytest.raises(FileNotWritten, match="has nothing to draw"):
            result.save(path, chart=chart)


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
def test_nasty_names_are_drawn(name: str, tmp_path: Path) -> None:
    case = examples.case(examples.subject(), examples.subject(name, 8000.0, "faster"), model=name, dims={name: 1})
    BenchResult(examples.bench(case)).save(tmp_path / "chart.svg")


def test_drawing_leaves_pyplot_alone(result: BenchResult, tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    result.save(tmp_path / "chart.svg")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_json_reads_back_into_the_same_record(result: BenchResult) -> None:
    assert from_json(result.to_json().encode(), Bench) == result.record


def test_its_text_is_the_table_without_colours(result: BenchResult) -> None:
    text = repr(result)
    assert "io-binding-inplace" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_notebook_shows_html(result: BenchResult) -> None:
    assert "<table" in result._repr_html_()


def test_importing_results_loads_nothing_heavy() -> None:
    code = (
        "import sys, onnxperf.results.bench, onnxperf.results.doctor;"
        "print([m for m in ('pandas', 'matplotlib', 'rich', 'numpy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
