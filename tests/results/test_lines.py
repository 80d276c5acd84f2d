"""Views on memory line by line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from onnxperf.errors import BadOption
from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.memory.lines import lines_charts
from onnxperf.results.base import Result
from tests.render import examples
from tests.render.described import picture_of

LINES = (
    LineMemory(number=3, text="def predict():", resident_bytes=100_000_000),
    LineMemory(
        number=4,
        text="\tx = y['[red]<b>$\\mu$']  # µ",
        occurrences=2,
        resident_bytes=132_000_000,
        increment_bytes=32_000_000,
        peak_bytes=64_000_000,
    ),
    LineMemory(
        number=5,
        text="    return",
        occurrences=1,
        resident_bytes=120_000_000,
        increment_bytes=-12_000_000,
        peak_bytes=0,
    ),
    LineMemory(number=6, text="    never()"),
)


def record() -> MemoryLines:
    return MemoryLines(
        machine=examples.machine(), function="predict", file="some/script.py", lines=LINES, answer="Line 4."
    )


def test_a_row_has_usage_increment_peak_occurrences_and_text() -> None:
    rows = [row.split() for row in repr(Result(record())).splitlines()]
    assert ["4", "132", "32.0", "64.0", "█" * 12, "2", "x", "=", "y['[red]<b>$\\mu$']", "#", "µ"] in rows
    assert ["5", "120", "-12.0", "0.00", "1", "return"] in rows
    assert ["6", "never()"] in rows
    assert ["3", "100", "def", "predict():"] in rows


def test_a_page_escapes_what_the_user_wrote() -> None:
    page = Result(record())._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_without_peaks_the_column_says_unknown_and_the_chart_has_what_stays() -> None:
    without = replace(record(), exact=False, lines=tuple(replace(line, peak_bytes=None) for line in LINES))
    assert repr(Result(without)).count("unknown") == 2
    (chart,) = lines_charts(without)
    assert [each.name for each in picture_of(chart).series] == ["stays, over all occurrences"]


def test_a_table_has_a_row_per_line_in_bytes() -> None:
    frame = Result(record()).to_df()
    assert frame["peak_bytes"].dropna().tolist() == [64_000_000, 0]
    assert frame["number"].tolist() == [3, 4, 5, 6]


def test_a_chart_has_a_row_per_line_that_ran_and_tells_what_was_given_back() -> None:
    (chart,) = lines_charts(record())
    needed, stays = picture_of(chart).series
    assert [name.split(":")[0] for name in picture_of(chart).names] == ["4", "5"]
    assert (needed.values, stays.values) == ([64e6, 0.0], [32e6, -12e6])
    assert stays.words[1] == "12 MB given back"
    assert "line 4 needs the most, 64 MB." in chart.summary
    assert len(chart.table.rows) == len(LINES)


def test_a_function_of_which_no_line_ran_has_a_table_and_no_chart() -> None:
    idle = replace(record(), lines=LINES[-1:])
    assert lines_charts(idle) == []
    assert "never()" in repr(Result(idle))


@pytest.mark.parametrize("suffix", [".json", ".csv", ".png", ".svg"])
def test_it_is_saved_as_what_the_name_says(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"lines{suffix}"
    Result(record()).save(path)
    assert path.stat().st_size > 100
    if suffix == ".json":
        assert json.loads(path.read_text())["lines"][1]["peak_bytes"] == 64_000_000
    if suffix == ".csv":
        assert len(list(csv.reader(path.read_text(encoding="utf-8").splitlines()))) == 5


def test_an_unknown_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="expected a name that ends with"):
        Result(record()).save(tmp_path / "lines.pdf")
