"""A race on the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from onnxperf.records.race import Bench, Case
from onnxperf.render.race.page import race_table
from onnxperf.results.bench import BenchResult
from tests.render import drawn_pages, examples

WIDTHS = [60, 80, 100, 120, 160, 200]
LONG_NAME = "bert-base-uncased-quantized · io-binding-inplace"


def table_text(case: Case, width: int) -> str:
    return drawn_pages.printed([race_table(case)], width)


def printed(bench: Bench, width: int = 100, encoding: str = "utf-8", colour: bool = False) -> str:
    return drawn_pages.printed(BenchResult(bench).page(), width, encoding, colour)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_is_whole_at_every_width(width: int) -> None:
    text = table_text(examples.case(), width)
    for value in ["8.43 µs", "8.35 µs", "8.18 µs", "10.2 µs", "8.85 µs", "3.21 ms", "214 µs"]:
        assert value in text
    for value in ["16.0 µs", "15.0 µs", "2.29 ms"]:  # CPU
        assert value in text
    for value in ["1.203×", "1.191…1.217", "faster", "slower", "equivalent", "baseline", "ok"]:  # noqa: RUF001
        assert value in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["io-binding-inplace", LONG_NAME, "Q" * 70, "語" * 40, "Q-" * 40])
def test_no_line_is_wider_than_the_console_and_no_name_is_cut(width: int, name: str) -> None:
    case = examples.case(examples.subject("run"), examples.subject(name, 7100.0, "undecided"))
    text = table_text(case, width)
    assert max(map(cell_len, text.splitlines())) <= width
    for rare in "Q語z":
        assert text.count(rare) == name.count(rare)


@pytest.mark.parametrize(("width", "lines"), [(160, 1), (120, 2), (100, 3), (80, 3), (60, 4)])
def test_a_narrow_table_stacks_what_a_wide_one_sets_side_by_side(width: int, lines: int) -> None:
    body = table_text(examples.case(examples.subject("io-binding-inplace")), width).splitlines()
    rule = next(i for i, line in enumerate(body) if line.startswith("─"))
    assert len(body) - rule - 1 == lines


WITHOUT_PAUSES = "CPU: processor time per call, all threads"
WITH_PAUSES = "CPU: processor time per call, all threads, pauses included"


@pytest.mark.parametrize(
    ("span_ns", "cpu_ns", "lines"), [(None, 5.0, [WITHOUT_PAUSES]), (100, 5.0, [WITH_PAUSES]), (None, None, [])]
)
def test_cpu_time_is_explained_where_it_is_known(span_ns: int | None, cpu_ns: float | None, lines: list[str]) -> None:
    blocks = tuple(replace(block, span_ns=span_ns) for block in examples.blocks(8430.0))
    text = printed(examples.bench(examples.case(examples.subject(blocks=blocks, cpu_ns=cpu_ns))), 80)
    assert [line for line in text.splitlines() if line.startswith("CPU: ")] == lines


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ((10,), "p90: 54 more calls needed · p99: 652 more calls needed"),
        ((64,), "p99: 598 more calls needed"),
        ((661,), "p99: 1 more call needed"),
        ((100, 600), "p99: 62 to 562 more calls needed"),
        ((700,), ""),
    ],
)
def test_percentiles_that_cannot_be_known_are_a_dash_and_one_line(calls: tuple[int, ...], line: str) -> None:
    subjects = [
        examples.subject(f"s{n}", call_ns=(8000,) * n, p90_ns=9000.0 if n >= 64 else None, p99_ns=None) for n in calls
    ]
    text = printed(examples.bench(examples.case(*subjects)), 160)
    assert [each for each in text.splitlines() if "more call" in each] == ([line] if line else [])
    assert "needs" not in text


def test_a_failed_row_shows_its_status_and_its_reason_below_the_table() -> None:
    text = printed(examples.bench(examples.case(examples.subject(), examples.failed("bind", "crashed", "signal 11"))))
    assert "crashed" in text
    assert "bind: signal 11\n" in text
    assert "calls needed" in text  # of the other one


def test_the_heading_names_model_dimensions_machine_threads_and_version() -> None:
    heading = " ".join(printed(examples.bench()).split("\n\n")[0].split())
    cpu = "Intel Xeon Platinum 8370C (AVX2, AVX512)"
    assert heading == f"linear.onnx · batch=1000 · {cpu} · 2 threads · onnxruntime 1.31.1"


def test_answer_notes_and_interruption_stand_below_the_table() -> None:
    text = printed(examples.bench(examples.case(interrupted=True)))
    assert "Interrupted" in text
    assert text.index("ort-values is fastest") < text.index("batch was not set")


def test_a_case_without_subjects_is_its_answer() -> None:
    text = printed(examples.bench(Case(model="empty.onnx", status="failed", answer="no such file")))
    assert [line for line in text.splitlines() if line][1:] == ["no such file"]
    assert text.startswith("empty.onnx")


@pytest.mark.parametrize(
    ("verdict", "code"), [("faster", "32"), ("slower", "31"), ("undecided", "33"), ("equivalent", "2")]
)
def test_verdicts_are_coloured(verdict: str, code: str) -> None:
    subject = examples.subject("x", 7000.0, verdict)  # type: ignore[arg-type]
    assert f"\x1b[{code}m{verdict}" in printed(examples.bench(examples.case(subject)), 160, colour=True)


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


@pytest.mark.parametrize("width", WIDTHS)
def test_counted_instructions_have_a_table_with_both_verdicts(width: int) -> None:
    counted = [
        examples.subject("run", instructions=41_869.1, instruction_ratio=1.0, instruction_verdict="baseline"),
        examples.subject(
            "run-c", 7920.0, "faster", instructions=5e9, instruction_ratio=1.2, instruction_verdict="more"
        ),
    ]
    text = printed(examples.bench(examples.case(*counted, examples.failed())), width)
    table = text.partition("Instructions per call")[2].partition("\n\n")[0]
    rows = [line.split() for line in table.splitlines()]
    assert ["run", "41,869", "1.000×", "baseline", "baseline"] in rows  # noqa: RUF001
    assert ["run-c", "5,000,000,000", "1.200×", "more", "faster"] in rows  # noqa: RUF001
    assert max(map(cell_len, text.splitlines())) <= width
    assert "Instructions per call" not in printed(examples.bench())
