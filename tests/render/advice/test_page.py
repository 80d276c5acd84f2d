"""Advice as a page, as a chart and as tables."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from onnxperf.options.spelling import as_flags
from onnxperf.records.advice import Advice, Hazard, OperatorShare, Tried
from onnxperf.render.kit.console import page_text
from onnxperf.render.kit.page import sections_of
from onnxperf.results.advise import AdviseResult
from tests.analyze.answers.test_advise_answer import GAIN, NONE, ONE, SLEEPING, SPINNING, THREADS, TRADE
from tests.render import examples
from tests.render.described import charts_of, column, labels_in
from tests.render.examples import NASTY_NAMES, machine

TINY = replace(THREADS, kind="tiny", title="Tiny nodes")
FACT = Hazard(kind="fact", title="Old opset", evidence="opset 7", remedy="Convert it")
FAILED = Tried(
    hazard="spinning", trial=SLEEPING, status="differs", reason="output Y differs", verdict=None, outcome="untried"
)
RECORD = Advice(
    model="m",
    dims={"N": 8},
    hazards=(THREADS, TINY, SPINNING, FACT),
    tried=(GAIN, replace(GAIN, hazard="tiny"), TRADE),
    machine=machine(),
    answer="It is faster.",
)


def test_the_page_has_the_answer_every_candidate_once_and_then_evidence_gain_and_remedy() -> None:
    page = as_flags(page_text(AdviseResult(RECORD).page()))
    places = [
        page.index(text)
        for text in (
            "It is faster.",
            "speedup",
            "What helps",
            "Surplus threads: 4 threads.",
            "With threads=1, the model is 1.29× as fast (95 % CI 1.24–1.33)",
            "Use fewer: threads=1.",
            "Saves CPU time or memory, but is slower",
            "Sleep: options=session.intra_op.allow_spinning=0.",
            "Found, but not tried",
            "Old opset: opset 7.",
        )
    ]
    assert places == sorted(places)
    assert page.count(" 1.24–1.33 ") == 1
    assert "Convert it" not in page


def test_what_did_not_help_is_listed_without_advice() -> None:
    page = page_text(AdviseResult(replace(RECORD, hazards=(THREADS,), tried=(NONE,))).page())
    assert "Tried, no gain" in page
    assert "Use fewer" not in page


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_names_of_others_do_no_harm(name: str) -> None:
    tried = replace(GAIN, trial=replace(ONE, name=name))
    result = AdviseResult(replace(RECORD, model=name, hazards=(THREADS,), tried=(tried,)))
    assert "\x1b" not in page_text(result.page())
    assert "<b>bold" not in result._repr_html_()
    assert result.to_markdown()


def test_tables_have_a_row_per_trial_and_per_hazard() -> None:
    result = AdviseResult(RECORD)
    assert result.to_df().trial.tolist() == ["threads=1", "threads=1", "no spinning"]
    assert result.to_df().settings.tolist()[2] == "session.intra_op.allow_spinning=0"
    assert result.to_df().outcome.tolist() == ["gain", "gain", "trade"]
    assert result.table("hazards").outcome.tolist() == ["gain", "gain", "trade", "untried"]
    assert result.table("hazards").speedup.tolist()[:3] == [1.29, 1.29, 0.8]
    assert bool(result)
    assert not AdviseResult(replace(RECORD, tried=(TRADE,)))


def test_the_chart_has_every_trial_once_and_its_table_those_without_a_time() -> None:
    chart = charts_of(AdviseResult(RECORD).page())["What each remedy gave"]
    assert labels_in(chart) == ["1.29× ✓ gain", "0.80× ? trade"]
    failed = charts_of(AdviseResult(replace(RECORD, tried=(GAIN, FAILED))).page())["What each remedy gave"]
    assert labels_in(failed) == ["1.29× ✓ gain"]
    assert column(failed.table, "result") == ["✓ gain", "differs: output Y differs"]
    assert not charts_of(AdviseResult(replace(RECORD, tried=())).page())


def test_a_page_has_hazards_under_titles_and_the_races_behind_the_trials() -> None:
    page = AdviseResult(replace(RECORD, races=(examples.case(), examples.case()))).page()
    titles = [section.title for section in sections_of(page)]
    assert titles[:4] == [
        "Candidates",
        "What helps",
        "Saves CPU time or memory, but is slower",
        "Found, but not tried",
    ]
    assert [each.values for each in charts_of(page)["Speedups"].filters] == [["first race", "second race"]]


@pytest.mark.parametrize(("overhead", "heading"), [(1.1, "  share"), (None, "  share"), (9.0, "profiled share")])
def test_without_a_gain_the_page_shows_where_the_time_goes_and_adds_up(overhead: float | None, heading: str) -> None:
    operators = tuple(
        OperatorShare(op_name=f"Op{number}", nodes=2, time_us=100.0, share=1 / 12) for number in range(12)
    )
    record = replace(
        RECORD, hazards=(), tried=(), operators=operators, overhead=overhead, next_command="onnxperf tune m.onnx"
    )
    page = page_text(AdviseResult(record).page())
    assert heading in page
    assert "Op9" in page
    assert "Op10" not in page
    assert re.search(r"2 others +4 +200 µs +16.7 %", page)
    assert re.search(r"total +24 +1.20 ms +100 %", page)
    assert "Where the time goes" not in page_text(AdviseResult(replace(record, next_command="")).page())
