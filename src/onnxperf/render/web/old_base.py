"""What an HTML page is made of: plain data that a section makes of a record, and `document` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onnxperf.render.kit.old_table import Table
from onnxperf.render.kit.page import Page
from onnxperf.render.kit.page import Part as PagePart
from onnxperf.render.web.story import Story


class Chart(NamedTuple):
    """A chart, drawn in the browser by the script of its kind."""

    kind: str
    """A file in `assets/charts`."""
    title: str
    summary: str
    """What it shows in a sentence, for those who cannot see it."""
    data: Mapping[str, object]
    """What the script draws; names in it have been made visible."""
    table: Table
    """The same numbers, behind the chart."""
    height: int = 320
    """In pixels."""


class LinkedTable(NamedTuple):
    """A table whose rows stand for things that are also elsewhere on the page."""

    table: Table
    keys: Sequence[str]
    """What each row stands for: a row, a mark of a chart and a box of a drawing with one key are selected together."""


class Drawing(NamedTuple):
    """A picture of a graph that can be moved and enlarged, made by us: all names in it are escaped."""

    title: str
    summary: str
    svg: str
    """Boxes have their key in `data-key`."""


Part = PagePart | Chart | LinkedTable | Drawing


class Section(NamedTuple):
    """A part of the story under a title of its own."""

    title: str
    parts: Sequence[Part]


def without_tables(story: Story) -> Story:
    """The same, where sections have all tables of the page that the command line prints."""
    *sections, details = story.sections
    rest = [part for part in details.parts if not isinstance(part, Table)]
    return story._replace(sections=[*sections, details._replace(parts=rest)])


def without_story(page: Page, story: Sequence[str]) -> list[PagePart]:
    """The parts of a page without the sentences that stand above all sections already."""
    from onnxperf.render.kit.page import Line

    said = {line for each in story for line in each.splitlines()}
    return [part for part in page if not (isinstance(part, Line) and (part.text in said or not part.text))]
