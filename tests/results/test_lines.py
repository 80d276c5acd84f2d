"""Views on memory line by line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from onnxperf.errors import BadOption
from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.results.lines import LinesResult
from tests.render import examples

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
    rows = [row.split() for row in repr(LinesResult(record())).splitlines()]
    assert ["4", "132", "32.0", "64.0", "2", "x", "=", "y['[red]<b>$\\mu$']", "#", "µ"] in rows
    assert ["5", "120", "-12.0", "0.00", "1", "return"] in rows
    assert ["6", "never()"] in rows
    assert ["3", "100", "def", "predict():"] in rows


def test_a_page_escapes_what_the_user_wrote() -> None:
    page = LinesResult(record())._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_without_peaks_the_column_says_unknown() -> None:
    without = replace(record(), exact=False, lines=tuple(replace(line, peak_bytes=None) for line in LINES))
    assert repr(LinesResult(without)).count("unknown") == 2
    LinesResult(without).plot()


def test_a_table_has_a_row_per_line_in_bytes() -> None:
    frame = LinesResult(record()).to_df()
    assert frame["peak_bytes"].dropna().tolist() == [64_000_000, 0]
    assert frame["number"].tolist() == [3, 4, 5, 6]


def test_a_chart_has_both_sides_and_a_row_per_line_that_ran() -> None:
    left, right = LinesResult(record()).plot()
    assert [text.get_text().split()[0] for text in left.get_yticklabels()] == ["4", "5"]
    assert [bar.get_width() for bar in right.patches[:2]] == [64, 0]
    assert any(text.get_text() == "12 MB given back" for text in right.texts)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".png", ".svg"])
def test_it_is_saved_as_what_the_name_says(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"lines{suffix}"
    LinesResult(record()).save(path)
    assert path.stat().st_size > 100
    if suffix == ".json":
        assert json.loads(path.read_text())["lines"][1]["peak_bytes"] == 64_000_000
    if suffix == ".csv":
        assert len(list(csv.reader(path.read_text(encoding="utf-8").splitlines()))) == 5


def test_an_unknown_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="expected a name that ends with"):
        LinesResult(record()).save(tmp_path / "lines.pdf")
