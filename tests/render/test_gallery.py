"""Every chart of every kind of record, as files draw it: words that are whole and apart, and the same data as pages."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from matplotlib.figure import Figure

from onnxperf.errors import BadOption
from onnxperf.render.charts.base import Chart, Width
from onnxperf.render.kit.table import grid_of
from onnxperf.results.base import Result
from tests import depth
from tests.render import gallery
from tests.render.paint.looking import covered, meeting, outside, rendered, words_of


@cache
def result(name: str) -> Result[Any]:
    return gallery.result(name)


def charts_of(name: str) -> dict[str, list[Chart]]:
    """The charts that have something to draw."""
    found = {}
    for chart in result(name).shown.charts:
        try:
            panels = list(result(name).charts(chart))
        except BadOption:  # what this record does not hold
            continue
        if panels:
            found[chart] = panels
    return found


EVERY = [(name, chart) for name in gallery.RECORDS for chart in charts_of(name)]
WIDTHS: tuple[Width, ...] = ("page", "column")


@cache
def figure(name: str, chart: str, width: Width) -> Figure:
    return rendered(result(name).figure(charts_of(name)[chart], width))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("name", "chart"), depth.some(EVERY, 40))
def test_no_words_are_cut_or_meet_others_or_cover_lines(name: str, chart: str, width: Width) -> None:
    drawn = figure(name, chart, width)
    assert outside(drawn) == []
    assert meeting(drawn) == []
    assert [found for ax in drawn.axes for found in covered(ax)] == []


@pytest.mark.parametrize(("name", "chart"), EVERY)
def test_a_chart_has_a_title_a_caption_and_the_table_behind_it(name: str, chart: str) -> None:
    for each in charts_of(name)[chart]:
        assert each.title[0].isupper()
        assert not each.title.endswith(".")
        assert each.summary.endswith((".", "!", "?"))
        assert grid_of(each.table).lines


@pytest.mark.parametrize("name", [name for name in gallery.RECORDS if charts_of(name)])
def test_a_picture_has_the_answer_as_title_and_names_the_model(name: str) -> None:
    drawn = figure(name, next(iter(charts_of(name))), "page")
    written = " ".join(text.get_text().replace("\n", " ") for text in words_of(drawn))
    first = result(name).headline.split(". ")[0].split("\n")[0]
    assert first[:30] in written
    assert result(name).topic[:20] in written
