"""A race as charts: what they are given, and that the tables behind them say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from onnxperf.records.race import Block, Case, Split, Subject
from onnxperf.render.charts.bars import Bars
from onnxperf.render.charts.base import Chart
from onnxperf.render.charts.forest import Forest
from onnxperf.render.charts.plot import Plot, Series
from onnxperf.render.kit.comparison import ends_of
from onnxperf.render.kit.page import Section
from onnxperf.render.kit.table import grid_of
from onnxperf.render.race.samples import MOST_BLOCKS
from onnxperf.render.race.sections import cases_sections, labels_of, race_sections
from onnxperf.render.race.subjects import COMPARED, ranked
from onnxperf.wording.numbers import duration, ratio
from tests.render import examples

SPEEDUPS, BLOCKS, CALLS, PERCENTILES = "Speedups", "Every block, by round", "Distribution", "Percentiles"


def charts(sections: Sequence[Section]) -> dict[str, Chart]:
    return {part.title: part for section in sections for part in section.parts if isinstance(part, Chart)}


def of_race(*subjects: Subject, **more: Any) -> dict[str, Chart]:
    return charts(race_sections(examples.case(*subjects, **more)))


def column(chart: Chart, heading: str) -> list[str]:
    grid = grid_of(chart.table)
    place = [each.heading for each in grid.columns].index(heading)
    return [line.cells[place].text for line in grid.lines]


def picture(chart: Chart) -> Any:
    return chart.layers[0].picture


def series_of(plot: Plot) -> dict[str, Series]:
    return {each.name: each for each in plot.series}


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
    subjects = ranked(examples.case().subjects)
    chart = of_race()[SPEEDUPS]
    forest: Forest = picture(chart)
    assert [mark.value for mark in forest.marks] == [each.speedup for each in subjects]
    assert column(chart, "speedup") == [ratio(each.speedup, ends_of(COMPARED.of(each))) for each in subjects]
    assert [mark.name for mark in forest.marks] == column(chart, "name")
    assert [mark.label for mark in forest.marks][-4:-2] == ["baseline", "0.65× ✗ slower"]
    assert all(duration(each.time_ns) in mark.words for each, mark in zip(subjects, forest.marks, strict=True))


def test_a_subject_has_one_color_in_all_charts() -> None:
    found = of_race()
    marks = {mark.name: mark.color for mark in picture(found[SPEEDUPS]).marks}
    assert len(set(marks.values())) == 7
    for title in (BLOCKS, CALLS, PERCENTILES):
        drawn = series_of(picture(found[title]))
        assert {name: each.color for name, each in drawn.items()} == marks
        assert drawn["reference"].symbol != drawn["run"].symbol, "the eighth shares the color of the first"


def test_outputs_that_differ_are_named_beside_the_verdict() -> None:
    lost = [examples.failed(word, word) for word in ("failed", "timeout", "oom", "crashed", "skipped")]
    found = of_race(examples.subject(), examples.subject("run-c", 7920.0, "faster", status="differs"), *lost)
    assert [mark.label for mark in picture(found[SPEEDUPS]).marks] == ["baseline", "1.06× ≠ outputs differ"]
    assert list(series_of(picture(found[BLOCKS]))) == ["run", "run-c"]


@pytest.mark.parametrize("others", [(), (examples.failed(),)])
def test_without_a_comparison_the_times_are_drawn(others: tuple[Subject, ...]) -> None:
    subjects = (examples.subject(), examples.subject("run-c"), *others)
    found = of_race(*subjects)
    assert SPEEDUPS not in found
    bars: Bars = picture(found["Time per call"])
    assert (bars.names, bars.series[0].values) == (["run", "run-c"], [8430.0, 8430.0])
    assert bars.series[0].words == ["8.43 µs", "8.43 µs"]
    assert column(found["Time per call"], "name") == [each.name for each in subjects]


@pytest.mark.parametrize("others", [(), (examples.failed(),)])
def test_a_single_time_is_in_the_table_and_not_a_bar(others: tuple[Subject, ...]) -> None:
    assert "Time per call" not in of_race(examples.subject(), *others)


def test_a_race_without_any_time_has_its_table_and_no_chart() -> None:
    (section,) = race_sections(examples.case(examples.failed()))
    assert charts([section]) == {}
    assert grid_of(section.parts[0]).lines[0].cells[-1].text == "⛔ failed"
    assert race_sections(Case(model="empty.onnx")) == []


@pytest.mark.parametrize("speedup", [math.nan, math.inf, 0.0, -1.0])
def test_a_speedup_that_is_no_number_has_no_mark(speedup: float) -> None:
    broken = examples.subject("broken", 8000.0, "faster", speedup=speedup)
    assert [mark.name for mark in picture(of_race(examples.subject(), broken)[SPEEDUPS]).marks] == ["run"]


def test_hostile_names_stay_text_without_control_characters() -> None:
    subjects = [examples.subject(name, 8000.0 + place, "faster") for place, name in enumerate(examples.NASTY_NAMES)]
    for chart in of_race(*subjects).values():
        assert all(name.isprintable() for name in column(chart, "name")), (
            "a name with an escape or a line break would break the page"
        )
        texts = msgspec.json.encode(picture(chart)).decode()
        assert not any(sign in texts for sign in ("\\u001b", "\u202e", "two\\nlines"))


# ---------------------------------------------------------------- samples


def test_every_block_is_a_point_with_its_round_and_its_time_per_call() -> None:
    subject = examples.subject(blocks=launched(2))
    chart = of_race(subject)[BLOCKS]
    (series,) = picture(chart).series
    assert (series.shape, series.xs) == ("points", list(range(6)))
    assert series.ys == pytest.approx([block.per_call_ns for block in subject.blocks])
    assert column(chart, "time per call") == [duration(block.per_call_ns) for block in subject.blocks]


def test_launches_are_spans_and_set_ups_are_edges() -> None:
    chart = of_race(examples.subject(blocks=launched(launches=2, set_ups=3, rounds=4)))[BLOCKS]
    plot: Plot = picture(chart)
    assert [(span.low, span.high, span.label) for span in plot.spans] == [(11.5, 23.5, "launch 1")]
    assert [edge.x for edge in plot.edges if edge.dash == "solid"] == [11.5]
    assert [edge.x for edge in plot.edges if edge.dash == "dotted"] == [3.5, 7.5, 15.5, 19.5]
    assert "Bands are launches" in chart.summary
    assert "set-ups" in chart.summary
    assert "Bands" not in of_race(examples.subject(blocks=launched(1)))[BLOCKS].summary


def test_a_disturbed_block_is_an_arrow_at_the_edge_and_does_not_squeeze_the_others() -> None:
    blocks = list(launched(1, rounds=200))
    blocks[77] = replace(blocks[77], duration_ns=10**9)
    plot: Plot = picture(of_race(examples.subject(blocks=tuple(blocks)))[BLOCKS])
    assert plot.y.high < 200
    assert [(mark.x, mark.symbol, mark.text) for mark in plot.marks] == [(77, "up", "100 ms")]


def test_of_very_many_blocks_the_extremes_stay() -> None:
    blocks = list(launched(1, rounds=3 * MOST_BLOCKS))
    blocks[777] = replace(blocks[777], duration_ns=10**9)
    plot: Plot = picture(of_race(examples.subject(blocks=tuple(blocks)))[BLOCKS])
    assert len(plot.series[0].xs) <= MOST_BLOCKS
    assert 777 in plot.series[0].xs


# ---------------------------------------------------------------- single calls


def test_shares_of_a_distribution_add_up_to_nearly_all_calls() -> None:
    chart = of_race(examples.subject(call_ns=tuple(8000 + 10 * n for n in range(1000))))[CALLS]
    (series,) = picture(chart).series
    assert sum(share for share in series.ys if share) == pytest.approx(0.98)
    assert chart.summary.endswith("; 20 calls took longer.")
    assert len(series.xs) == len(series.ys) == len(series.words)


@pytest.mark.parametrize("calls", [(), (8000,) * 5, (0,) * 50])
def test_too_few_calls_or_calls_without_a_duration_have_no_distribution(calls: tuple[int, ...]) -> None:
    assert CALLS not in of_race(examples.subject(call_ns=calls))


def test_calls_that_all_took_the_same_time_have_a_distribution() -> None:
    chart = of_race(examples.subject(call_ns=(5000,) * 100))[CALLS]
    ys = picture(chart).series[0].ys
    assert ys[:4] == [0.0, 1.0, 0.0, None]  # no line along the axis
    assert not any(ys[3:])
    assert column(chart, "95 %") == ["5.00 µs"]


def test_percentiles_that_need_more_calls_are_missing_in_line_and_table() -> None:
    chart = of_race(examples.subject())[PERCENTILES]
    assert [words for _, words in picture(chart).x.ticks] == ["min", "p50", "p90", "max"]
    assert picture(chart).series[0].xs == [0, 1, 2, 3]
    assert "p99" not in [each.heading for each in grid_of(chart.table).columns]


# ---------------------------------------------------------------- inside a call


def test_parts_of_a_call_and_instructions_are_bars_if_they_were_measured() -> None:
    split = Split(prepare_ns=1000.0, compute_ns=5000.0, fetch_ns=500.0, calls=10)
    found = of_race(examples.subject(split=split, instructions=2e6, instruction_ratio=1.0), examples.subject("bare"))
    parts: Bars = picture(found["What a call is made of"])
    assert parts.stacked
    assert {each.name: each.values for each in parts.series} == {
        "prepare": [1000.0],
        "compute": [5000.0],
        "fetch": [500.0],
    }
    assert picture(found["Instructions per call"]).series[0].values == [2e6]


# ---------------------------------------------------------------- several cases


def cases() -> list[Case]:
    return [examples.case(dims={"batch": batch}) for batch in (1, 2, 4)]


def test_of_several_cases_a_select_box_chooses_the_layer_and_the_rows() -> None:
    labels = ["batch=1", "batch=2", "batch=4"]
    for chart in charts(cases_sections(labels_of(cases()))).values():
        assert [layer.only for layer in chart.layers] == [{"case": label} for label in labels]
        (box,) = chart.filters
        assert (box.name, box.values) == ("case", labels)
        assert box.column == 0
        assert grid_of(chart.table).columns[0].heading == "case"
        assert set(column(chart, "case")) == set(labels)


def test_cases_with_the_same_sizes_have_different_labels() -> None:
    same: list[Case] = [examples.case(), examples.case(), examples.case()]
    assert list(labels_of(same)) == ["batch=1000", "batch=1000 (2)", "batch=1000 (3)"]


def test_a_subject_of_an_old_record_without_blocks_and_calls_still_has_its_speedup() -> None:
    bare = [examples.subject(blocks=(), call_ns=()), examples.subject("run-c", 7920.0, "faster", blocks=(), call_ns=())]
    assert list(of_race(*bare)) == [SPEEDUPS, PERCENTILES]
