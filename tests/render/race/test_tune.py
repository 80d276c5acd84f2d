"""A tuning as a page and as a chart."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.records.race import Case, Subject
from onnxperf.records.tune import TuneChoice, TuneRow, Tuning
from onnxperf.render.race.tune import tune_page
from onnxperf.results.tune import TuneResult
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
)


def test_the_page_has_a_row_for_every_choice_the_race_the_answer_and_the_program() -> None:
    text = printed(tune_page(RECORD, "arena=off is faster."))
    assert "linear · batch=1000 · tuning latency · 2 threads · 97 of 120 s" in text
    assert cells(line_with(text, "int8 dynamic")) == [
        "int8 dynamic",
        "3.00",
        "2.86…3.15",
        "3",
        "0.0213",
        "alone · approximate",
    ]
    assert cells(line_with(text, "arena=off"))[:3] == ["arena=off", "1.190", "1.133…1.250"]
    assert line_with(text, "threads=1").rstrip().endswith("slower in every launch")
    assert line_with(text, "wrong").rstrip().endswith("outputs differ")
    assert line_with(text, "late  ").rstrip().endswith("skipped")
    assert text.index("int8 dynamic") < text.index("arena=off") < text.index("threads=1") < text.index("late  ")
    race = text[text.index("The confirming race") :]
    assert cells(line_with(race, "arena=off")) == ["arena=off", "9.30 µs", "1.187", "1.180…1.190", "faster"]
    assert text.index("arena=off is faster.") < text.index("import onnxruntime")


def test_amounts_of_memory_are_bytes_and_less_is_said() -> None:
    text = printed(tune_page(replace(RECORD, goal="memory", default_amount=8e6, before=8e6, after=6e6), ""))
    assert "8.00 MB" in text
    assert line_with(text[text.index("Fresh processes") :], "arena=off").rstrip().endswith("less")


@pytest.mark.parametrize("record", [RECORD, Tuning(model="m"), replace(RECORD, rows=ROWS[:1], tried=None, gain=None)])
def test_the_chart_has_a_point_for_everything_that_was_measured(record: Tuning) -> None:
    ax = tune_plot(record)
    fg.figure_of(ax).draw_without_rendering()
    names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    measured = [each for each in record.rows if each.status == "ok" and each.speedup]
    assert len(names) == len(measured) + (record.gain is not None)
    if record is RECORD:
        assert names[0] == "confirming race: arena=off · 1.187"
        assert names[1:] == ["int8 dynamic · 3.00", "arena=off · 1.190", "threads=1 · 0.530"]


def test_tables_have_a_row_per_choice_and_the_most_exact_first() -> None:
    rows = [replace(each, pareto=each.choice.name in ("arena=off", "int8 dynamic")) for each in reversed(ROWS)]
    result = TuneResult(replace(RECORD, rows=tuple(rows)))
    assert result.to_df().name.tolist() == [each.choice.name for each in rows]
    assert result.table("pareto").name.tolist() == ["arena=off", "int8 dynamic"]
    assert result.table("race").name.tolist() == ["defaults", "arena=off"]
    assert bool(result)
    assert result.snippet == "import onnxruntime"
    assert result.settings == {}
    assert not TuneResult(Tuning(model="m", outcome="defaults"))
