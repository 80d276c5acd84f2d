"""Runs on the terminal."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from rich.cells import cell_len

from onnxperf.records.runs import ComparedSubject, KeptRun, KeptRuns, RunComparison
from onnxperf.render.kit.page import Page
from onnxperf.render.race.runs import comparison_page, runs_page
from onnxperf.results.runs import ComparisonResult
from tests.render.drawn_pages import printed
from tests.render.examples import NASTY_NAMES


def run(**changes: Any) -> KeptRun:
    fields: dict[str, Any] = {
        "id": "lonuki",
        "kind": "bench",
        "record": "Bench",
        "command": "onnxperf bench linear.onnx --call all",
        "started": "2026-01-02T23:04:05.000000+00:00",
        "status": "ok",
        "cases": 1,
        "cases_done": 1,
        "topic": "linear",
        "answer": "ort-values is fastest.",
    }
    return KeptRun(**(fields | changes))


def row(**changes: Any) -> ComparedSubject:
    fields: dict[str, Any] = {
        "first": "old.onnx",
        "second": "new.onnx",
        "dims": {"batch": 8},
        "first_ns": 8430.0,
        "second_ns": 7010.0,
        "yardstick": "ref.onnx",
        "speedup": 1.203,
        "speedup_low": 1.19,
        "speedup_high": 1.217,
        "verdict": "faster",
    }
    return ComparedSubject(**(fields | changes))


def listed(*runs: KeptRun) -> Page:
    return runs_page(KeptRuns(runs=runs), today=date(2026, 6, 1))


def test_the_list_has_a_line_per_run() -> None:
    lines = printed(listed(run(), run(id="bafido", cases=9, cases_done=4, status="interrupted"))).splitlines()
    assert lines[0].split() == ["id", "when", "kind", "model", "cases", "answer"]
    assert "ort-values is fastest." in lines[2]
    assert "4 of 9" in lines[3]
    assert "interrupted" in lines[3]


def test_times_of_day_are_those_of_the_reader() -> None:
    eastern, day = timezone(timedelta(hours=2)), date(2026, 6, 1)
    assert "01-03 01:04" in printed(runs_page(KeptRuns(runs=(run(),)), eastern, day))
    here = datetime(2026, 1, 2, 23, 4, 5, tzinfo=UTC).astimezone()
    assert here.strftime("%m-%d %H:%M") in printed(listed(run()))


def test_a_run_of_another_year_names_it() -> None:
    assert "2024-03-05" in printed(listed(run(started="2024-03-05T12:04:05.000000+00:00")))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_model_and_the_beginning_of_the_answer_have_room(width: int) -> None:
    long = "io-binding is the fastest in 3 of 12 cases, run in 2, no winner in 7."
    lines = printed(listed(run(answer=long, cases=12, cases_done=5)), width).splitlines()
    assert " linear " in lines[2]
    assert "io-binding" in lines[2]
    assert len(lines) == 3


def test_a_run_of_an_older_version_shows_what_was_typed_for_its_model() -> None:
    assert " linear.onnx " in printed(listed(run(topic="")), width=80)


def test_an_empty_list_says_so() -> None:
    assert printed(listed()) == "No run was saved yet.\n"


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_words_of_others_are_shown_safely_and_fit(width: int, encoding: str) -> None:
    runs = [run(command=name, answer=name) for name in NASTY_NAMES]
    rows = tuple(row(first=name, second=name, reason=name) for name in NASTY_NAMES)
    comparison = RunComparison(first="lonuki", second="bafido", rows=rows, notes=NASTY_NAMES, answer="\x1b[31m")
    text = printed(listed(*runs), width, encoding) + printed(comparison_page(comparison), width, encoding)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(cell_len, text.splitlines())) <= width


def test_a_comparison_shows_both_times_and_the_verdict() -> None:
    yardstick = row(first="ref.onnx", second="ref.onnx", speedup=1.0, speedup_low=None, verdict="baseline")
    comparison = RunComparison(
        first="lonuki", second="bafido", rows=(yardstick, row()), notes=("a note",), answer="new.onnx is faster."
    )
    text = printed(comparison_page(comparison))
    for part in ("bafido against lonuki", "8.43 µs", "7.01 µs", "1.20×", "1.19–1.22", "✓ faster", "yardstick"):
        assert part in text
    assert text.index("new.onnx is faster.") < text.index("a note")


def test_subjects_that_can_be_compared_have_a_mark_and_the_file_has_all_of_them() -> None:
    yardstick = row(first="run", second="run", dims={}, speedup=1.0, speedup_low=None, verdict="baseline")
    lost = row(first="skl", second="skl", dims={}, speedup=None, verdict=None, reason="only in one")
    result = ComparisonResult(RunComparison(first="a1", second="b2", rows=(yardstick, row(), lost)))
    (chart,) = result.charts()
    forest: Any = chart.layers[0].picture
    assert [(mark.name, mark.label) for mark in forest.marks] == [
        ("old.onnx, then new.onnx, batch=8", "1.20× ✓ faster")
    ]
    assert result.to_df()["verdict"].tolist() == ["yardstick", "faster", ""]
    assert "b2 against a1" in result.to_html()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_many_cases_have_a_line_each_with_their_sizes_and_no_line_of_the_yardstick(width: int) -> None:
    sizes = [{"batch": size, "seq": 128} for size in (1, 8, 32)]
    yardsticks = [row(first="ref", second="ref", dims=dims, speedup=1.0, verdict="baseline") for dims in sizes]
    reasons = [f"{number} rounds are too few" for number in (3, 4, 5)]
    rivals = [row(second="old.onnx", dims=dims, reason=why) for dims, why in zip(sizes, reasons, strict=True)]
    comparison = RunComparison(first="lonuki", second="bafido", rows=(*yardsticks, *rivals))
    lines = printed(comparison_page(comparison), width).splitlines()
    assert lines[2].split()[:2] == ["batch", "seq"]
    assert [line.split()[:3] for line in lines[4:7]] == [[size, "128", "old.onnx"] for size in ("1", "8", "32")]
    assert [line for line in lines if "ref" in line or "yardstick" in line] == []
    assert "old.onnx: 3 to 5 rounds are too few" in lines


def test_cases_of_several_models_name_them_and_a_yardstick_alone_is_shown() -> None:
    rows = tuple(row(first="run", second="run", model=name, verdict="baseline") for name in ("small", "large"))
    text = printed(comparison_page(RunComparison(first="lonuki", second="bafido", rows=rows)), 80)
    assert all(f"{name} " in text for name in ("model", "small", "large"))
    assert text.count("yardstick") == 2


def test_one_reason_for_all_is_said_once() -> None:
    rows = tuple(row(first=name, second=name, verdict=None, speedup=None, reason="no verdict: why") for name in "ab")
    comparison = RunComparison(first="lonuki", second="bafido", rows=rows, answer="no verdict: why.")
    assert printed(comparison_page(comparison)).count("why") == 1


def test_different_reasons_are_all_said() -> None:
    rows = (row(reason="only 10 rounds"), row(second="other", reason=""))
    comparison = RunComparison(first="lonuki", second="bafido", rows=rows)
    assert "new.onnx: only 10 rounds" in printed(comparison_page(comparison))
