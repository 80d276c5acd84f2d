"""What a call is made of, on the terminal and in files."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

from onnxperf.analyze.answers.race import notes_on_parts
from onnxperf.records.race import Bench, Split, Subject
from onnxperf.render.kit.documents import from_json, to_json
from onnxperf.render.kit.table import grid_of
from onnxperf.render.race.parts import SPLIT as HEADING
from onnxperf.render.race.parts import split_chart
from onnxperf.results.bench import BenchResult
from tests.render import drawn_pages, examples

KEYS = ["prepare_ns", "compute_ns", "fetch_ns"]
MADE_ONCE = "its 3.00 µs are on tensors made once; a caller with arrays also pays for preparing and fetching"


def divided(name: str = "run", parts: tuple[float, float, float] = (4000.0, 3000.0, 1000.0), **changes: Any) -> Subject:
    prepare, compute, fetch = parts
    split = Split(prepare_ns=prepare, compute_ns=compute, fetch_ns=fetch, calls=250)
    return examples.subject(name, **{"mean_ns": 8000.0, "split": split, **changes})


def bench(*subjects: Subject) -> Bench:
    return examples.bench(examples.case(*subjects))


def cells(subject: Subject) -> list[str]:
    """What the table of parts shows of a subject."""
    (chart,) = split_chart({"": examples.case(subject)})
    return [cell.text for cell in grid_of(chart.table).lines[0].cells]


def to_csv(record: Bench) -> str:
    return BenchResult(record).encode(".csv").decode()


def markdown_and_html(record: Bench) -> tuple[str, str]:
    return BenchResult(record).to_markdown(), BenchResult(record)._repr_html_()


def printed(record: Bench, width: int = 100, encoding: str = "utf-8") -> str:
    return drawn_pages.printed(BenchResult(record).page(), width, encoding)


def test_every_part_has_its_time_and_its_share_and_the_bar_shows_all_three() -> None:
    assert cells(divided()) == ["run", "4.00 µs  50 %", "3.00 µs  38 %", "1.00 µs  12 %", "░" * 6 + "█" * 4 + "▒" * 2]


@pytest.mark.parametrize("parts", [(1.0, 0.0, 0.0), (0.0, 0.0, 5.0), (1.0, 1.0, 1.0), (1.0, 1e9, 1.0)])
def test_a_bar_is_always_full(parts: tuple[float, float, float]) -> None:
    assert len(cells(divided(parts=parts))[-1]) == 12


def test_without_divided_calls_nothing_is_shown_anywhere() -> None:
    record = bench(examples.subject(), examples.subject("skl", 41200.0, "slower", call=None))
    assert split_chart({"": record.cases[0]}) == []
    assert notes_on_parts(record.cases[0]) == []
    assert not any(HEADING in text for text in (printed(record), *markdown_and_html(record)))
    assert "prepare_ns" not in to_csv(record)
    assert "prepare_ns" not in BenchResult(record).to_df().columns


def test_the_terminal_markdown_and_html_show_the_same_table() -> None:
    record = bench(divided())
    markdown, html = markdown_and_html(record)
    for text in (printed(record), markdown, html):
        assert HEADING in text
        for cell in cells(divided())[:-1]:
            assert cell in text
    assert all(cells(divided())[-1] in text for text in (printed(record), html))  # Markdown draws nothing


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = printed(bench(divided("bert-base-uncased-quantized · io-binding-inplace")), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "4.00 µs  50 %" in text


def test_the_bar_goes_first_where_there_is_no_room() -> None:
    assert "░░" in printed(bench(divided("io-binding")), 80)
    assert "░░" not in printed(bench(divided("io-binding")), 60)


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", " ░░█"), ("cp1252", " ..#"), ("ascii", " ..#")])
def test_the_bar_has_signs_that_the_terminal_knows(encoding: str, bar: str) -> None:
    assert bar in printed(bench(divided(parts=(1000.0, 6000.0, 1000.0))), encoding=encoding)


@pytest.mark.parametrize(
    ("subject", "note"),
    [
        (divided(), None),
        (divided(median_ns=6700.0), None),
        (
            divided(median_ns=6600.0),
            "run: its parts add up to 8.00 µs, but a call takes 6.60 µs: they are not shares of it",
        ),
        (
            divided("ort-values", median_ns=3000.0),
            f"ort-values: {MADE_ONCE}",
        ),
        (
            divided("torch", median_ns=3000.0, call=None, conditions={"framework": "torch"}),
            f"torch: {MADE_ONCE}",
        ),
        (
            divided("ort-values", median_ns=20_000.0),
            "ort-values: its parts add up to 8.00 µs, but a call takes 20.0 µs: they are not shares of it",
        ),
        (examples.subject("skl", call=None), "skl: a callable is only timed as a whole"),
        (examples.failed("broken"), None),
    ],
)
def test_parts_that_are_not_the_time_above_them_are_explained(subject: Subject, note: str | None) -> None:
    case = examples.case(divided("whole"), subject)
    assert notes_on_parts(case) == ([note] if note else [])
    assert (note or "") in printed(examples.bench(case), 200)


def test_csv_and_tables_have_a_column_per_part_where_calls_were_divided() -> None:
    record = bench(divided(), examples.subject("skl"))
    first, second = csv.DictReader(io.StringIO(to_csv(record)))
    assert list(first) == ["model", "dims", "batch", *examples.SUBJECT_KEYS, *KEYS]
    assert [first[column] for column in KEYS] == ["4000.0", "3000.0", "1000.0"]
    assert [second[column] for column in KEYS] == ["", "", ""]
    rows = BenchResult(record).to_df()[KEYS].to_numpy()
    assert rows[0].tolist() == [4000.0, 3000.0, 1000.0]
    assert np.isnan(rows[1]).all()


def test_json_keeps_the_parts() -> None:
    assert from_json(to_json(bench(divided())), Bench) == bench(divided())


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_counted_instructions_have_a_table_with_both_verdicts(width: int) -> None:
    counted = [
        examples.subject("run", instructions=41_869.1, instruction_ratio=1.0, instruction_verdict="baseline"),
        examples.subject(
            "run-c", 7920.0, "faster", instructions=5e9, instruction_ratio=1.2, instruction_verdict="more"
        ),
    ]
    text = printed(bench(*counted, examples.failed()), width)
    table = text.partition("Instructions per call")[2].partition("\n\n")[0]
    rows = [line.split() for line in table.splitlines()]
    assert ["run", "41,869", "1.000×", "baseline", "baseline"] in rows
    assert ["run-c", "5,000,000,000", "1.200×", "✗", "more", "✓", "faster"] in rows
    assert max(map(cell_len, text.splitlines())) <= width
    assert "Instructions per call" not in printed(examples.bench())
    assert "instruction_verdict" in to_csv(bench(*counted))
    assert "instruction_verdict" not in to_csv(examples.bench())


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
def test_no_name_breaks_out_of_its_cell(name: str) -> None:
    record = bench(divided(name, median_ns=1.0))
    assert "<b>" not in "".join(markdown_and_html(record))
    assert "\x1b" not in printed(record)
