"""A race on the terminal."""

from __future__ import annotations

import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from onnxperf.records.race import Bench, Case, Subject
from onnxperf.render.kit.column import WHOLE, Column
from onnxperf.render.kit.workbook import workbook_bytes
from onnxperf.render.race import subjects
from onnxperf.results.bench import BenchResult
from onnxperf.wording.verdicts import faced
from tests.render import drawn_pages, examples

WIDE = 500
WIDTHS = [60, 80, 100, 120, 160, 200]
LONG_NAME = "bert-base-uncased-quantized · io-binding-inplace"


def printed(bench: Bench, width: int = 100, encoding: str = "utf-8", colour: bool = False) -> str:
    return drawn_pages.printed(BenchResult(bench).page(), width, encoding, colour)


def headings(case: Case, width: int) -> list[str]:
    """What the columns of the table of subjects are called."""
    lines = printed(examples.bench(case), width).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("─"))
    return re.split(r"  +", lines[rule - 1].strip())


COMPARED = ["speedup", "95 % CI"]
TIMES = ["time", "p50", "p99"]
MORE = ["CPU/call", "mean", "load", "first"]


@pytest.mark.parametrize(
    ("width", "more"),
    [
        (60, ["time", *COMPARED]),
        (80, [*TIMES, *COMPARED]),
        (100, [*TIMES, "items/s", *COMPARED]),
        (120, [*TIMES, "items/s", *COMPARED, "CPU/call"]),
        (140, [*TIMES, "items/s", *COMPARED, *MORE]),
        (180, ["time", "min", "p50", "p90", "p99", "max", "items/s", *COMPARED, *MORE]),
    ],
)
def test_a_wider_console_has_more_columns_in_the_same_order(width: int, more: list[str]) -> None:
    rivals = [examples.subject(*row, p99_ns=9000.0, items_per_s=99.0) for row in examples.CALL_STYLES[:2]]
    assert headings(examples.case(*rivals), width) == more


def test_a_subject_alone_has_more_of_its_times_and_no_verdict() -> None:
    alone = examples.subject(p99_ns=9000.0, items_per_s=99.0)
    assert headings(examples.case(alone), 80) == ["time", "p50", "p90", "p99", "items/s", "CPU/call"]


def test_the_fastest_comes_first_and_what_failed_last() -> None:
    case = examples.case(examples.failed(), *(examples.subject(*row) for row in examples.CALL_STYLES))
    lines = printed(examples.bench(case)).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("─"))
    order = sorted(examples.CALL_STYLES, key=lambda row: row[1])
    assert [line.split("  ")[0] for line in lines[rule + 1 : rule + 10]] == [
        *(name for name, _, _ in order),
        "io-binding",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_is_whole_at_every_width_and_a_subject_has_one_line(width: int) -> None:
    lines = printed(examples.bench(), width).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("─"))
    rows = lines[rule + 1 : rule + 1 + len(examples.CALL_STYLES)]  # the fastest first
    for row, time, speedup, verdict in zip(
        [rows[place] for place in (4, 2, 0, 5, 3, 1, 6, 7)],
        ["8.43 µs", "7.92 µs", "7.01 µs", "12.9 µs", "8.39 µs", "7.11 µs", "41.2 µs", "1.20 ms"],
        ["1.00×", "1.06×", "1.20×", "0.65×", "1.00×", "1.19×", "0.205×", "0.0070×"],
        [faced(verdict or "") for _, _, verdict in examples.CALL_STYLES],
        strict=True,
    ):
        assert all(f" {text}" in row for text in (time, speedup, verdict))
    if width >= 180:
        assert all(text in rows[4] for text in ("8.18 µs", "8.35 µs", "8.85 µs", "10.2 µs", "16.0 µs", "3.21 ms"))
        assert "8.43 µs ±1 %" in rows[4]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["io-binding-inplace", LONG_NAME, "Q" * 70, "語" * 40, "Q-" * 40])
def test_no_line_is_wider_than_the_console_and_each_subject_has_one(width: int, name: str) -> None:
    case = examples.case(examples.subject("run"), examples.subject(name, 7100.0, "undecided"))
    text = printed(examples.bench(case), width)
    assert max(map(cell_len, text.splitlines())) <= width
    rows = [line for line in text.splitlines() if "8.43 µs" in line or "7.10 µs" in line]
    assert [line[0] for line in rows] == [name[0], "r"]


def test_names_are_whole_where_all_columns_are_shown() -> None:
    case = examples.case(examples.subject("run"), examples.subject("Q" * 200, 7100.0, "undecided"))
    assert "Q" * 200 in printed(examples.bench(case), 500)


def test_the_status_has_a_column_only_if_one_is_not_ok() -> None:
    assert "status" not in headings(examples.case(), 100)
    text = printed(examples.bench(examples.case(examples.subject(), examples.failed(status="timeout"))))
    assert re.search("^io-binding .* timeout", text, flags=re.MULTILINE)
    assert "ok" not in text.split()


def test_a_percentile_that_is_not_known_to_15_percent_is_marked_and_the_mark_explained() -> None:
    sure = examples.subject(median_low_ns=8340.0, median_high_ns=8350.0)
    unsure = examples.subject("run-c", 7920.0, "faster", median_low_ns=7000.0, median_high_ns=12000.0)
    text = printed(examples.bench(examples.case(sure, unsure)), WIDE)
    assert "~7.84 µs" in text
    assert "~8.35 µs" not in text
    assert "~: uncertain by more than 15 %" in text
    assert "~" not in printed(examples.bench(examples.case(sure)), WIDE)
    assert "uncertain" not in printed(examples.bench(examples.case(sure, unsure)))


def test_cpu_time_with_pauses_says_so() -> None:
    blocks = tuple(replace(block, span_ns=100) for block in examples.blocks(8430.0))
    assert "CPU: pauses included" in printed(examples.bench(examples.case(examples.subject(blocks=blocks))), WIDE)
    assert "CPU" not in printed(examples.bench(), 80)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ((10,), "p99 needs 652 more calls"),
        ((661,), "p99 needs 1 more call"),
        ((100, 600), "p99 needs 62 to 562 more calls"),
        ((700,), ""),
    ],
)
def test_a_percentile_that_needs_more_calls_is_a_dash_and_a_few_words(calls: tuple[int, ...], words: str) -> None:
    subjects = [examples.subject(f"s{n}", call_ns=(8000,) * n, p99_ns=None) for n in calls]
    text = printed(examples.bench(examples.case(*subjects)), WIDE)
    assert [part for part in text.replace("\n", " · ").split(" · ") if "more call" in part] == (
        [words] if words else []
    )


def test_what_is_added_to_the_columns_is_on_every_screen_and_in_every_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def letters(subject: Subject) -> int:
        return len(subject.name)

    toy: Column[Subject] = Column("letters", "letters of its name", letters, WHOLE)
    monkeypatch.setattr(subjects, "COLUMNS", [*subjects.COLUMNS, toy])
    result = BenchResult(examples.bench())
    for text in (printed(result.record), result.to_markdown(), result._repr_html_(), result.to_html()):
        assert "letters of its name" in text
        assert re.search(r"\bio-binding-inplace\b.*\b18\b", text, flags=re.DOTALL)
    frame = result.to_df()
    assert frame["letters"].tolist() == result.table("subjects")["letters"].tolist() == [3, 5, 10, 10, 16, 18, 3, 9]
    header, first, *_ = csv.reader(io.StringIO(result.encode(".csv").decode()))
    assert dict(zip(header, first, strict=True))["letters"] == "3"
    book = workbook_bytes([], {"subjects": result.columns("subjects")})
    sheet = pd.read_excel(io.BytesIO(book), sheet_name="subjects")
    assert sheet["letters"].tolist() == frame["letters"].tolist()


def test_a_failed_row_shows_its_status_and_its_reason_below_the_table() -> None:
    text = printed(examples.bench(examples.case(examples.subject(), examples.failed("bind", "crashed", "signal 11"))))
    assert "crashed" in text
    assert "bind: signal 11\n" in text


def test_the_heading_names_model_dimensions_machine_threads_and_version() -> None:
    heading = " ".join(printed(examples.bench()).split("\n\n")[0].split())
    answer = "✓ ort-values is fastest: 1.203 times as fast as run (95 % interval 1.191 to 1.217)."
    known = "linear.onnx · batch=1000 · 2 threads · onnxruntime 1.31.1 · Intel Xeon Platinum 8370C (AVX512)"
    assert heading == f"{known} {answer}"


def test_the_answer_and_interruption_stand_above_the_table_and_notes_below_it() -> None:
    text = printed(examples.bench(examples.case(interrupted=True)))
    places = [text.index(part) for part in ("ort-values is fastest", "Interrupted", "────", "batch was not set")]
    assert places == sorted(places)


def test_a_case_without_subjects_is_its_answer() -> None:
    text = printed(examples.bench(Case(model="empty.onnx", status="failed", answer="no such file")))
    assert [line for line in text.splitlines() if line][1:] == ["⛔ no such file"]
    assert text.startswith("empty.onnx")


@pytest.mark.parametrize(
    ("verdict", "code"), [("faster", "32"), ("slower", "31"), ("undecided", "33"), ("equivalent", "2")]
)
def test_verdicts_are_coloured(verdict: str, code: str) -> None:
    subject = examples.subject("x", 7000.0, verdict)  # type: ignore[arg-type]
    assert f"\x1b[{code}m{faced(verdict)}" in printed(examples.bench(examples.case(subject)), 160, colour=True)


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
@pytest.mark.parametrize("width", [80, 160])
def test_nasty_names_are_printed_literally(name: str, width: int) -> None:
    case = examples.case(
        examples.subject(name),
        examples.failed(name, reason=name),
        model=name,
        answer=name,
        notes=(name,),
        dims={name: 1},
    )
    text = printed(examples.bench(case), width)
    assert "\x1b" not in text
    assert "\r" not in text
    if "[bold]" in name:
        assert text.count(name) >= 4


@given(st.text(st.characters(), max_size=60), st.integers(40, 200), st.sampled_from(["utf-8", "ascii", "cp1252"]))
def test_any_name_can_be_printed_on_any_terminal(name: str, width: int, encoding: str) -> None:
    case = examples.case(examples.subject(name), model=name, answer=name)
    text = printed(examples.bench(case), width, encoding)
    assert not any(ord(c) < 32 and c != "\n" for c in text)


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    text = printed(examples.bench(), encoding="ascii")
    assert "8.43 us" in text
    assert "----" in text
