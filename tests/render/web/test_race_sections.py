"""A race on a page: what its charts are given, and that the tables behind them say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.records.race import Block, Case, Split, Subject
from onnxperf.render.kit.documents import compact_json
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.render.web.sections.race import cases_sections, labels_of, race_sections
from onnxperf.render.web.sections.samples import MOST_BLOCKS
from onnxperf.wording.numbers import duration, ratio
from tests.render import examples, gallery


def charts(sections: Sequence[Section]) -> dict[str, Chart]:
    return {part.title: part for section in sections for part in section.parts if isinstance(part, Chart)}


def column(chart: Chart, heading: str) -> list[str]:
    place = [each.heading for each in chart.table.columns].index(heading)
    return [row.cells[place] for row in chart.table.rows]


def data(chart: Chart) -> dict[str, Any]:
    compact_json(chart.data)  # what a page does with it
    return dict(chart.data)


def launched(launches: int, set_ups: int = 1, rounds: int = 3) -> tuple[Block, ...]:
    """Blocks of so many launches, each with set-ups of so many rounds."""
    places = [(launch, set_up) for launch in range(launches) for set_up in range(set_ups) for _ in range(rounds)]
    return tuple(
        Block(
            round=number,
            position=0,
            launch=launch,
            set_up=set_up,
            calls=10,
            start_ns=number,
            duration_ns=1000 + number,
        )
        for number, (launch, set_up) in enumerate(places)
    )


# ---------------------------------------------------------------- speedups


def test_every_subject_with_a_speedup_has_a_mark_and_a_row_with_the_same_number() -> None:
    case = examples.case()
    chart = charts(race_sections(case))["Speedups"]
    marks = data(chart)["marks"]
    assert [mark["value"] for mark in marks] == [each.speedup for each in case.subjects]
    assert column(chart, "speedup") == [ratio(each.speedup) for each in case.subjects]
    assert [mark["name"] for mark in marks] == column(chart, "name")


def test_all_marks_lie_within_the_ends_of_the_axis() -> None:
    for case in (examples.case(), gallery.twenty()):
        shown = data(charts(race_sections(case))["Speedups"])
        assert all(shown["from"] < mark["value"] < shown["to"] for mark in shown["marks"])
        assert shown["from"] < 1 < shown["to"]


def test_a_whisker_that_reaches_far_does_not_squeeze_the_others() -> None:
    wide = examples.subject("wide", 8000.0, "undecided", speedup_low=0.001, speedup_high=900.0)
    shown = data(charts(race_sections(examples.case(examples.subject(), wide)))["Speedups"])
    assert shown["to"] < 3
    assert shown["from"] > 0.3


def test_subjects_that_have_no_time_are_left_out_and_the_others_stay() -> None:
    found = charts(race_sections(gallery.failures()))
    assert [mark["name"] for mark in data(found["Speedups"])["marks"]] == ["run", "run-c"]
    assert [each["name"] for each in data(found["Every block, by round"])["subjects"]] == ["run", "run-c"]


def test_a_race_without_any_time_has_no_section() -> None:
    assert race_sections(examples.case(examples.failed())) == []


@pytest.mark.parametrize("speedup", [math.nan, math.inf, 0.0, -1.0])
def test_a_speedup_that_is_no_number_has_no_mark(speedup: float) -> None:
    broken = examples.subject("broken", 8000.0, "faster", speedup=speedup)
    marks = data(charts(race_sections(examples.case(examples.subject(), broken)))["Speedups"])["marks"]
    assert [mark["name"] for mark in marks] == ["run"]


def test_hostile_names_stay_text_without_control_characters() -> None:
    subjects = [gallery.measured(name, 8000.0 + place) for place, name in enumerate(examples.NASTY_NAMES)]
    for chart in charts(race_sections(examples.case(*subjects))).values():
        assert all(name.isprintable() for name in column(chart, "name")), (
            "a name with an escape or a line break would break the page"
        )
        compact_json(chart.data)


# ---------------------------------------------------------------- samples


def test_every_block_is_a_point_with_its_round_and_its_time_per_call() -> None:
    subject = examples.subject(blocks=launched(2))
    chart = charts(race_sections(examples.case(subject)))["Every block, by round"]
    points = data(chart)["subjects"][0]["points"]
    assert [place for place, _ in points] == list(range(6))
    assert column(chart, "time per call") == [duration(block.per_call_ns) for block in subject.blocks]


def test_launches_are_bands_and_set_ups_are_lines() -> None:
    subject = examples.subject(blocks=launched(launches=2, set_ups=3, rounds=4))
    shown = data(charts(race_sections(examples.case(subject)))["Every block, by round"])
    assert shown["launches"] == [[0, 11, "launch 0"], [12, 23, "launch 1"]]
    assert shown["setUps"] == [4, 8, 16, 20]


def test_of_very_many_blocks_the_extremes_stay() -> None:
    blocks = list(launched(1, rounds=3 * MOST_BLOCKS))
    slowest = replace(blocks[777], duration_ns=10**9)
    blocks[777] = slowest
    shown = data(charts(race_sections(examples.case(examples.subject(blocks=tuple(blocks)))))["Every block, by round"])
    points = shown["subjects"][0]["points"]
    assert len(points) <= MOST_BLOCKS
    assert 777 in [place for place, _ in points]


# ---------------------------------------------------------------- single calls


def test_shares_of_a_distribution_add_up_to_nearly_all_calls() -> None:
    calls = tuple(8000 + 10 * n for n in range(1000))
    shown = data(charts(race_sections(examples.case(examples.subject(call_ns=calls))))["Distribution"])
    assert 98 < sum(share for _, share in shown["lines"][0]["points"]) <= 100


@pytest.mark.parametrize("calls", [(), (8000,) * 5, (0,) * 50])
def test_too_few_calls_or_calls_without_a_duration_have_no_distribution(calls: tuple[int, ...]) -> None:
    assert "Distribution" not in charts(race_sections(examples.case(examples.subject(call_ns=calls))))


def test_calls_that_all_took_the_same_time_have_a_distribution() -> None:
    shown = data(charts(race_sections(examples.case(examples.subject(call_ns=(5000,) * 100))))["Distribution"])
    assert max(share for _, share in shown["lines"][0]["points"]) == 100


def test_percentiles_that_need_more_calls_are_missing_in_line_and_table() -> None:
    chart = charts(race_sections(examples.case(examples.subject())))["Percentiles"]
    assert [place for place, _ in data(chart)["lines"][0]["points"]] == [0, 1, 2, 4]
    assert column(chart, "p99") == ["–"]  # noqa: RUF001


# ---------------------------------------------------------------- inside a call


def test_parts_of_a_call_and_instructions_are_bars_where_they_were_measured() -> None:
    split = Split(prepare_ns=1000.0, compute_ns=5000.0, fetch_ns=500.0, calls=10)
    subjects = (examples.subject(split=split, instructions=2e6, instruction_ratio=1.0), examples.subject("bare"))
    found = charts(race_sections(examples.case(*subjects)))
    parts = data(found["What a call is made of"])["series"]
    assert {part["name"]: part["values"] for part in parts} == {"prepare": [1.0], "compute": [5.0], "fetch": [0.5]}
    assert data(found["Instructions per call"])["series"][0]["values"] == [2.0]


# ---------------------------------------------------------------- several cases


def cases() -> list[Case]:
    return [examples.case(dims={"batch": batch}) for batch in (1, 2, 4)]


def test_of_several_cases_a_select_box_chooses_the_layer_and_the_rows() -> None:
    chart = charts(cases_sections(labels_of(cases())))["Speedups"]
    shown = data(chart)
    labels = ["batch=1", "batch=2", "batch=4"]
    assert shown["filters"][0]["values"] == labels
    assert [layer["only"] for layer in shown["layers"]] == [{"case": label} for label in labels]
    assert set(column(chart, "case")) == set(labels)
    assert chart.table.columns[shown["filters"][0]["column"]].heading == "case"


def test_cases_with_the_same_sizes_have_different_labels() -> None:
    same: list[Case] = [examples.case(), examples.case(), examples.case()]
    assert list(labels_of(same)) == ["batch=1000", "batch=1000 (2)", "batch=1000 (3)"]


def test_a_subject_of_an_old_record_without_blocks_and_calls_still_has_its_speedup() -> None:
    bare: Subject = examples.subject(blocks=(), call_ns=())
    assert list(charts(race_sections(examples.case(bare)))) == ["Speedups", "Percentiles"]
