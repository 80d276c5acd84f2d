"""Every chart of every kind of record, as files draw it: words that are whole and apart, and the same data as pages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from msgspec import Struct

from onnxperf.errors import BadOption
from onnxperf.render.charts.base import Chart, Width
from onnxperf.render.kit.page import Panes, Section, Tabs
from onnxperf.render.kit.table import Table, grid_of
from onnxperf.results.base import Result, result_classes
from tests import depth
from tests.fuzz import recorded
from tests.render import gallery
from tests.render.paint.looking import covered, meeting, outside, rendered, words_of

WIDTHS: tuple[Width, ...] = ("page", "column")


def charts_of(result: Result[Any]) -> Iterator[tuple[str, Sequence[Chart]]]:
    """The charts that have something to draw, by name."""
    for name in result.shown.charts:
        with contextlib.suppress(BadOption):  # what this record does not hold
            if panels := result.charts(name):
                yield name, panels


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", depth.some(gallery.RECORDS, 8))
def test_no_words_are_cut_or_meet_others_or_cover_lines(name: str, width: Width) -> None:
    result = gallery.result(name)
    for chart, panels in charts_of(result):
        drawn = rendered(result.figure(panels, width))
        assert outside(drawn) == [], chart
        assert meeting(drawn) == [], chart
        assert [found for ax in drawn.axes for found in covered(ax)] == [], chart


@pytest.mark.parametrize("name", gallery.RECORDS)
def test_a_chart_has_a_title_and_a_caption(name: str) -> None:
    for _, panels in charts_of(gallery.result(name)):
        for each in panels:
            assert each.title
            assert not each.title.endswith(".")
            assert each.summary.endswith((".", "!", "?"))


@pytest.mark.parametrize("name", gallery.RECORDS)
def test_the_numbers_of_a_chart_are_in_a_table_on_its_page(name: str) -> None:
    result = gallery.result(name)
    has_table = any(grid_of(table).lines for table in tables_in(result.page()))
    assert has_table or not any(charts_of(result))


RECORDED = {**{name: make() for name, make in gallery.RECORDS.items()}, **recorded.records()}


@pytest.mark.parametrize("record", RECORDED.values(), ids=RECORDED)
def test_every_chart_of_a_page_is_a_file_too(record: Struct) -> None:
    result = result_classes()[type(record)](record)
    files = {each.title for _, panels in charts_of(result) for each in panels}
    drawn = {each.title for each in charts_in(result.page())}
    assert drawn <= files
    assert not drawn or {".png", ".svg"} <= set(result.formats())


def charts_in(page: Iterable[Any]) -> Iterator[Chart]:
    for part in page:
        if isinstance(part, Section | Tabs | Panes):
            yield from charts_in(part.parts)
        elif isinstance(part, Chart):
            yield part


def tables_in(page: Iterable[Any]) -> Iterator[Table[Any]]:
    for part in page:
        if isinstance(part, Section | Tabs | Panes):
            yield from tables_in(part.parts)
        elif isinstance(part, Chart):
            yield part.table
        elif isinstance(part, Table):
            yield part


@pytest.mark.parametrize("name", depth.some(gallery.RECORDS, 8))
def test_a_picture_has_the_answer_as_title_and_names_the_model(name: str) -> None:
    result = gallery.result(name)
    for _, panels in list(charts_of(result))[:1]:
        drawn = rendered(result.figure(panels))
        written = " ".join(text.get_text().replace("\n", " ") for text in words_of(drawn))
        assert result.headline.split(". ")[0].split("\n")[0][:30] in written
        assert result.topic[:20] in written
