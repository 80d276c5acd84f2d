"""What subjects need in memory, as tables, charts and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxperf.errors import BadOption
from onnxperf.results.memory import MemoryResult
from tests.render.memory import examples as made


@pytest.fixture
def result() -> MemoryResult:
    return MemoryResult(made.memory())


def test_a_row_per_subject_has_peaks_growth_and_sizes(result: MemoryResult) -> None:
    frame = result.to_df().set_index("name")
    assert frame.loc["ort", "steady_increment_bytes"] == 240 * made.MB
    assert frame.loc["ort", "needed_bytes"] == 300 * made.MB
    assert frame.loc["ort", "planned_bytes"] == 60 * made.MB
    assert list(frame.loc["ort", ["first_anonymous_bytes", "first_file_bytes"]]) == [630 * made.MB, 70 * made.MB]
    assert frame.loc["skl", "growth"] == "none"
    assert frame.loc["numpy", "status"] == "oom"


def test_samples_have_times_and_an_unknown_subject_is_refused(result: MemoryResult) -> None:
    frame = result.samples("ort")
    assert set(frame["subject"]) == {"ort"}
    assert frame["timestamp"].iloc[0].year == 2023
    with pytest.raises(BadOption, match="missing"):
        result.samples("missing")


def test_the_breakdown_names_copies_and_tensors(result: MemoryResult) -> None:
    sizes = result.breakdown().set_index("what")["bytes"]
    assert sizes["cast of X"] == 240 * made.MB
    assert sizes["alive output Y"] == 60 * made.MB
    assert sizes["needed"] == 300 * made.MB
    assert "others" not in " ".join(sizes.index)


@pytest.mark.parametrize("suffix", [".json", ".md", ".html", ".csv", ".parquet", ".xlsx", ".png", ".svg"])
def test_every_kind_of_file_is_written(result: MemoryResult, tmp_path: Path, suffix: str) -> None:
    result.save(tmp_path / f"m{suffix}")
    assert (tmp_path / f"m{suffix}").stat().st_size


def test_a_failed_subject_is_not_ok_and_html_escapes_names() -> None:
    assert not MemoryResult(made.memory()).ok
    assert MemoryResult(made.memory(made.case(made.subject()))).ok
    html = MemoryResult(made.memory(made.case(made.subject("<script>"))))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
