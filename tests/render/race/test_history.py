"""A history as a page, as a chart and on a web page."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.records.history import By, History
from onnxperf.render.charts.base import RED
from onnxperf.render.charts.plot import Plot
from onnxperf.render.race.history import MOST_ROWS, history_charts, history_page
from onnxperf.render.race.history_chart import MOST_POINTS
from onnxperf.results.base import Result
from onnxperf.wording.numbers import NOTHING
from tests.histories import noisy
from tests.render.drawn_pages import cells, line_with, printed
from tests.render.examples import NASTY_NAMES
from tests.render.history_examples import INTEL, STEP, history, stored, two_machines


def test_the_page_has_series_changes_and_the_answer() -> None:
    text = printed(history_page(history(stored(STEP))))
    assert "m.onnx · 61 runs · 1 series · by time · Intel Xeon, 2 cores" in text
    assert cells(line_with(text, "2026-02-03  "))[:3] == ["2026-02-03", "run29", "run30"]
    assert "00000000 → 00000000" not in text
    assert "m.onnx: slower by 9.92 % since run run30" in text


def test_series_with_too_few_runs_have_no_number_of_changes() -> None:
    few, enough = stored([1e5] * 3), stored([1e5] * 9, replace(INTEL, dims={"batch": 8}))
    assert "changes" not in printed(history_page(history(few)))
    text = printed(history_page(history(few, enough)))
    assert [cells(line)[-1] for line in text.splitlines() if line.startswith("ort run")] == [NOTHING, "0"]


@pytest.mark.parametrize(
    ("by", "note"), [("day", "only the last 36 days of each series are shown"), ("version", None), ("machine", None)]
)
def test_only_the_last_groups_are_on_the_page(by: By, note: str | None) -> None:
    record = history(stored(STEP), by=by)
    text = printed(history_page(record))
    assert (f"{note}; files have all" in text) if note else ("are shown" not in text)
    assert len(Result(record).table("groups")) == len(record.series[0].groups)


def test_many_series_are_cut_and_counted() -> None:
    many = [replace(INTEL, dims={"batch": n}) for n in range(100)]
    text = printed(history_page(history(*(stored([1e5], each) for each in many), by="day")))
    assert f"the first {MOST_ROWS} of 100 series are shown; files have all" in text
    assert f"the first {MOST_ROWS} of 100 days are shown; files have all" in text
    assert text.count("batch=") == 2 * MOST_ROWS


def test_levels_meet_at_the_changes() -> None:
    (series,) = history(stored(noisy({30: 100e3, 31: 110e3, 32: 100e3}))).series
    assert [(level.first, level.last) for level in series.levels()] == [(0, 29), (30, 60), (61, 92)]
    (still,) = history(stored([1e5] * 9)).series
    assert [(level.first, level.last, round(level.ns)) for level in still.levels()] == [(0, 8, 100_000)]
    (machines,) = history(stored([1e5] * 9), by="machine").series
    assert machines.levels() == []


def plots(record: History) -> list[Plot]:
    pictures = [layer.picture for chart in history_charts(record) for layer in chart.layers]
    return [each for each in pictures if isinstance(each, Plot)]


@pytest.mark.parametrize(
    ("by", "tick"),
    [(None, "2026-01-01"), ("version", "1.31.1"), ("commit", "00000000"), ("day", "2026-01-01")],
)
def test_every_series_has_a_chart_whose_ticks_name_the_runs(by: By | None, tick: str) -> None:
    other = replace(INTEL, dims={"batch": 8})
    found = plots(history(stored(STEP), stored(STEP, other), by=by))
    assert len(found) == 2
    assert (found[0].x.title, found[0].x.ticks[0]) == (by or "", (0.0, tick))


def test_a_change_is_a_labeled_band_from_an_edge_on_above_two_levels() -> None:
    (plot,) = plots(history(stored(STEP)))
    assert [(edge.x, edge.color) for edge in plot.edges] == [(29.5, RED)]
    assert [(span.low, span.high, span.label) for span in plot.spans] == [(29.5, 60.5, "9.92 % slower since 00000000")]
    runs, level = plot.series
    assert [y and round(y / 1e3) for y in level.ys] == [100] * 30 + [110] * 31
    bands = zip(level.lows, level.ys, level.highs, strict=True)
    assert all((low or 0.0) < (y or 0.0) < (high or 0.0) for low, y, high in bands)
    assert list(runs.keys) == [f"run{n}" for n in range(61)]


def test_several_series_share_one_axis_relative_to_the_first_level_of_each() -> None:
    slow = [9 * ns for ns in STEP]
    found = plots(history(stored(STEP), stored([*slow, 9e9], replace(INTEL, dims={"batch": 8}))))
    assert len({(plot.y.title, plot.y.low, plot.y.high) for plot in found}) == 1
    assert [round(plot.series[1].ys[0] or 0.0, 6) for plot in found] == [0.0, 0.0]
    assert found[1].y.high < 0.3
    assert [mark.symbol for mark in found[1].marks] == ["up"]


def test_a_run_far_from_all_others_is_an_arrow_with_its_time() -> None:
    (plot,) = plots(history(stored([1e5 + n for n in range(120)] + [5e6])))
    assert [(mark.x, mark.symbol, mark.text) for mark in plot.marks] == [(120.0, "up", "5.00 ms")]
    assert plot.series[0].ys[-1] is None
    assert plot.y.high < 2e5


def test_nothing_measured_has_no_chart() -> None:
    failed = stored([1e5])
    failed = replace(failed, points=(replace(failed.points[0], status="crashed", median_ns=None),))
    assert history_charts(history(failed)) == []
    assert "crashed" in Result(history(failed)).encode(".csv").decode()


def test_a_chart_shows_the_newest_runs_and_says_of_how_many() -> None:
    (chart,) = history_charts(history(stored([1e5] * (MOST_POINTS + 7))))
    assert chart.summary == "No change point in 407 runs. Of 407 runs the newest 400 are shown."
    assert len(chart.table.rows) == MOST_POINTS


def test_files_name_the_series_of_every_row() -> None:
    result = Result(two_machines())
    for name in result.table_names():
        assert list(result.table(name).columns[:3]) == ["series", "machine", "dims"]
    changes = result.table("changes").iloc[0]
    assert (changes["last_run_before"], changes["run"], changes["change"]) == ("run29", "run30", "slower")
    assert changes["ratio_low"] < changes["after_ns"] / changes["before_ns"] < changes["ratio_high"]


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_names_of_others_are_escaped_everywhere(name: str) -> None:
    points = stored(STEP, replace(INTEL, cpu=name), name=name)
    hostile = tuple(replace(each, commit=name, version=name) for each in points.points)
    result = Result(history(replace(points, points=hostile), by="commit", model=name))
    page = result.encode(".html").decode()
    assert "<b>bold</b>" not in page
    assert "\x1b" not in page
    assert "\x1b" not in printed(result.page())
    assert history_charts(result.record)
