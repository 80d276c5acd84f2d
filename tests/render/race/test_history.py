"""A history as a page, as a chart and on a web page."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.records.history import By
from onnxperf.render.race.history import MOST_ROWS, history_page
from onnxperf.render.race.history_chart import history_plot, levels
from onnxperf.render.web.old_base import Chart
from onnxperf.render.web.sections.history import MOST_POINTS, history_sections
from onnxperf.results.history import HistoryResult
from onnxperf.wording.numbers import NOTHING
from tests.histories import noisy
from tests.render.drawn_pages import cells, line_with, printed
from tests.render.examples import NASTY_NAMES
from tests.render.history_examples import INTEL, STEP, history, stored


def test_the_page_has_series_changes_and_the_answer() -> None:
    text = printed(history_page(history(stored(STEP))))
    assert "m.onnx · 61 runs · 1 series · by time · Intel Xeon, 2 cores" in text
    assert cells(line_with(text, "2026-02-03"))[:3] == ["2026-02-03", "run29", "run30"]
    assert "00000000 → 00000000" not in text
    assert "m.onnx: slower by 9.92 % since run run30" in text


def test_series_with_too_few_runs_have_no_number_of_changes() -> None:
    text = printed(history_page(history(stored([1e5] * 3))))
    assert cells(line_with(text, "ort run"))[-1] == NOTHING


@pytest.mark.parametrize(
    ("by", "note"), [("day", "only the last 36 days of each series are shown"), ("version", None), ("machine", None)]
)
def test_only_the_last_groups_are_on_the_page(by: By, note: str | None) -> None:
    record = history(stored(STEP), by=by)
    text = printed(history_page(record))
    assert (f"{note}; files have all" in text) if note else ("are shown" not in text)
    assert len(HistoryResult(record).table("groups")) == len(record.series[0].groups)


def test_many_series_are_cut_and_counted() -> None:
    many = [replace(INTEL, dims={"batch": n}) for n in range(100)]
    text = printed(history_page(history(*(stored([1e5], each) for each in many), by="day")))
    assert f"the first {MOST_ROWS} of 100 series are shown; files have all" in text
    assert f"the first {MOST_ROWS} of 100 days are shown; files have all" in text
    assert text.count("batch=") == 2 * MOST_ROWS


def test_levels_meet_at_the_changes() -> None:
    (series,) = history(stored(noisy({30: 100e3, 31: 110e3, 32: 100e3}))).series
    assert [(begin, end) for begin, end, _ in levels(series)] == [(0, 29), (30, 60), (61, 92)]
    (still,) = history(stored([1e5] * 9)).series
    assert levels(still) == []


@pytest.mark.parametrize("by", [None, "version", "commit", "day", "machine"])
def test_the_chart_has_a_panel_per_series(by: By | None) -> None:
    other = replace(INTEL, dims={"batch": 8})
    panels = history_plot(history(stored(STEP), stored(STEP, other), by=by))
    assert len(panels) == 2  # type: ignore[arg-type]


def test_axes_of_the_user_get_the_first_series() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert history_plot(history(stored(STEP)), ax) is ax
    assert ax.get_title() or ax.lines


def test_nothing_measured_draws_an_empty_chart_and_no_section() -> None:
    failed = stored([1e5])
    failed = replace(failed, points=(replace(failed.points[0], status="crashed", median_ns=None),))
    record = history(failed)
    assert "nothing was measured" in history_plot(record)[0].get_xlabel()  # type: ignore[index]
    assert history_sections(record) == []


def test_a_web_page_shows_the_newest_runs_and_says_of_how_many() -> None:
    (section,) = history_sections(history(stored([1e5] * (MOST_POINTS + 7))))
    (chart,) = section.parts
    assert isinstance(chart, Chart)
    assert chart.summary == "No change point in 407 runs. Of 407 runs the newest 400 are shown."
    assert len(chart.table.rows) == MOST_POINTS


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_names_of_others_are_escaped_everywhere(name: str) -> None:
    points = stored(STEP, replace(INTEL, cpu=name), name=name)
    hostile = tuple(replace(each, commit=name, version=name) for each in points.points)
    result = HistoryResult(history(replace(points, points=hostile), by="commit", model=name))
    page = result.encode(".html").decode()
    assert "<b>bold</b>" not in page
    assert "\x1b" not in page
    assert "\x1b" not in printed(result.page())
    result.plot()
