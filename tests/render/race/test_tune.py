"""A tuning as a page, as charts and as tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.records.race import Case, Subject
from onnxperf.records.tune import TuneChoice, TuneRow, Tuning
from onnxperf.render.race.tune import MOST_DRAWN, tune_page
from onnxperf.results.tune import TuneResult
from tests.render import examples
from tests.render.described import charts_of, column, labels_in, picture_of
from tests.render.drawn_pages import cells, line_with, printed


def row(name: str, speedup: float | None = None, **more: Any) -> TuneRow:
    choice = TuneChoice(name=name, knobs=(name,), approximate=name.startswith("int8"))
    found = TuneRow(choice=choice, status="ok", amount=5e6, **more)
    if speedup is None:
        return found
    bounds = {"speedup_low": speedup / 1.05, "speedup_high": speedup * 1.05}
    return replace(found, speedup=speedup, launch_speedups=(speedup,) * 3, **bounds)


ROWS = (
    row("arena=off", 1.19),
    row("threads=1", 0.53, dropped=True, reason="slower in every launch"),
    replace(row("wrong", 2.0), status="differs", reason="output Y differs"),
    replace(row("late"), status="skipped", reason="no time was left to try it"),
    row("int8 dynamic", 3.0, error=0.0213),
)
RECORD = Tuning(
    model="linear",
    dims={"batch": 1000},
    goal="latency",
    budget_s=120.0,
    spent_s=97.2,
    threads=2,
    default_amount=11_000.0,
    rows=ROWS,
    outcome="tuned",
    winner=ROWS[0].choice,
    tried=ROWS[0].choice,
    gain=1.187,
    gain_low=1.18,
    gain_high=1.19,
    verdict="faster",
    before=11_000.0,
    after=9_300.0,
    confirmation=Case(model="linear", subjects=(Subject(name="defaults"), Subject(name="arena=off"))),
    snippet="import onnxruntime",
    answer="arena=off is faster.",
)


def test_the_page_has_a_row_for_every_choice_the_race_the_answer_and_the_program() -> None:
    text = printed(tune_page(RECORD))
    assert "linear · batch=1000 · tuning latency · 2 threads · 97 of 120 s" in text
    assert cells(line_with(text, "int8 dynamic"))[:6] == [
        "int8 dynamic",
        "3.00×",
        "2.86–3.15",
        "3",
        "2.2 %",
        "approximate",
    ]
    assert cells(line_with(text[text.index("The search") :], "arena=off"))[:3] == ["arena=off", "1.19×", "1.13–1.25"]
    assert "slower in every launch" in line_with(text, "threads=1")
    assert "≠ outputs differ" in line_with(text, "wrong")
    assert "late  " not in text  # a note names what was not tried
    search = text[text.index("The search") :]
    assert search.index("int8 dynamic") < search.index("arena=off") < search.index("threads=1")
    race = cells(line_with(text[text.index("The confirming race") :], "arena=off"))
    assert race[:6] == ["arena=off", "11.0 µs", "9.30 µs", "1.19×", "1.18–1.19", "✓ faster"]
    assert text.index("arena=off is faster.") < text.index("import onnxruntime")


def test_amounts_of_memory_are_bytes_and_less_is_said() -> None:
    text = printed(tune_page(replace(RECORD, goal="memory", default_amount=8e6, before=8e6, after=6e6)))
    assert "8.00 MB" in text
    assert "✓ less" in line_with(text[text.index("Fresh processes") :], "arena=off")


def test_a_combination_with_parts_that_were_left_out_has_a_row_in_the_confirming_race() -> None:
    subjects = [examples.subject("defaults"), examples.subject("arena=off", 7102.0, "faster")]
    subjects.append(examples.subject("arena=off, threads=1", 7110.0, "faster"))
    record = replace(RECORD, confirmation=Case(model="linear", subjects=tuple(subjects)))
    text = printed(tune_page(record))
    whole = cells(line_with(text[text.index("The confirming race") :], "arena=off, threads=1"))
    assert whole[2:7] == ["7.11 µs", "1.19×", "1.17–1.20", "✓ faster", "1"]


# ---------------------------------------------------------------- charts


def test_what_was_confirmed_stands_above_its_choices_the_best_first() -> None:
    chart = charts_of(tune_page(RECORD))["What each candidate gave"]
    assert next(mark.name for mark in picture_of(chart).marks) == "confirmed: arena=off"
    assert labels_in(chart) == [
        "1.19× ✓ faster",
        "3.00× approximate",
        "1.19× ✓ chosen",
        "0.53× slower in every launch",
    ]
    assert column(chart.table, "candidate") == ["defaults", "int8 dynamic", "arena=off", "threads=1", "wrong"]


def test_of_very_many_choices_the_chart_has_the_best_and_the_table_all() -> None:
    rows = tuple(row(f"choice {number}", 1.0 + number / 100) for number in range(MOST_DRAWN + 10))
    chart = charts_of(tune_page(replace(RECORD, rows=rows)))["What each candidate gave"]
    assert len(picture_of(chart).marks) == MOST_DRAWN
    assert "The 11 last candidates are only in the table." in chart.summary
    assert len(chart.table.rows) == 1 + len(rows)


def test_choices_are_shown_by_error_and_speed_with_the_line_of_those_that_none_beats() -> None:
    rows = [replace(each, pareto=each.choice.name in ("arena=off", "int8 dynamic")) for each in ROWS]
    plot = picture_of(charts_of(tune_page(replace(RECORD, rows=tuple(rows))))["Error and speed"])
    exact, approximate, front = plot.series
    assert (exact.xs, exact.ys) == ([0.0, 0.0], [1.19, 0.53])
    assert (approximate.xs, approximate.ys, approximate.labels) == ([0.0213], [3.0], ["int8 dynamic"])
    assert (front.xs, front.ys, front.dash) == ([0.0, 0.0213], [1.19, 3.0], "dashed")


@pytest.mark.parametrize("record", [Tuning(model="m"), replace(RECORD, rows=(ROWS[3],), tried=None, gain=None)])
def test_without_a_measurement_there_is_no_chart(record: Tuning) -> None:
    assert not charts_of(tune_page(record))
    assert ("The search" in printed(tune_page(record))) == bool(record.rows)


# ---------------------------------------------------------------- tables


def test_tables_have_a_row_per_choice_and_the_most_exact_first() -> None:
    rows = [replace(each, pareto=each.choice.name in ("arena=off", "int8 dynamic")) for each in reversed(ROWS)]
    result = TuneResult(replace(RECORD, rows=tuple(rows)))
    assert result.to_df().name.tolist() == [each.choice.name for each in rows]
    assert result.to_df().reason.tolist() == [each.reason for each in rows]
    assert result.table("pareto").name.tolist() == ["arena=off", "int8 dynamic"]
    assert result.table("race").name.tolist() == ["defaults", "arena=off"]
    assert TuneResult(replace(RECORD, confirmation=None)).table("race").empty
    assert bool(result)
    assert result.snippet == "import onnxruntime"
    assert result.settings == {}
    assert not TuneResult(Tuning(model="m", outcome="defaults"))
