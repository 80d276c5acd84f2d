"""Reports as Markdown for pull requests: what a console shows, with details and conditions folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.markdown import folded, markdown_text, part_markdown
from onnxperf.render.kit.page import Flow, Section, Verbatim
from onnxperf.render.kit.table import plain_table
from onnxperf.render.web.story import Story

_DETAILS = "Details"
"""Name of what has no title."""


def report_markdown(stories: Sequence[Story]) -> str:
    """The same reports as on the HTML page; a chart is replaced by its table."""
    return "\n\n".join(text for story in stories for text in _story(story)) + "\n"


def _story(story: Story) -> Iterator[str]:
    yield f"## {story.kind}: {markdown_text(story.topic)}"
    yield from (f"**{markdown_text(answer.shown)}**" for answer in story.answers)
    yield from (f"> {markdown_text(warning)}" for warning in story.warnings)
    yield from filter(None, [part_markdown(Flow(story.facts))])
    yield from _sections(story.sections)
    yield from _folded("Conditions", list(_conditions(story)))


def _sections(sections: Sequence[Section]) -> Iterator[str]:
    """What a console shows, too; then the rest, folded."""
    for section in sections:
        shown = [text for part in section.parts if not _is_detail(section, part) and (text := _part(part))]
        if shown and section.title:
            yield f"### {markdown_text(section.title)}"
        yield from shown
    for section in (each for each in sections if not each.folded):
        details = [text for part in section.parts if _is_detail(section, part) and (text := _detail(part))]
        yield from _folded(section.title or _DETAILS, details)


def _is_detail(section: Section, part: Any) -> bool:
    return "page" in (section.on, getattr(part, "on", "all"))


def _part(part: Any) -> str:
    return part_markdown(part.table if isinstance(part, Chart) else part)


def _detail(part: Any) -> str:
    """The same; a chart is told by its title and its caption."""
    text = _part(part)
    return _captioned(part.title, part.summary, text) if isinstance(part, Chart) else text


def _captioned(title: str, summary: str, table: str) -> str:
    return f"{markdown_text(title)}: {markdown_text(summary)}\n\n{table}" if table else ""


def _conditions(story: Story) -> Iterator[str]:
    yield from (f"- {markdown_text(note)}" for note in story.notes)
    if story.machine:
        yield part_markdown(plain_table(("machine", ""), story.machine))
    command = story.snippet or story.command
    if command:
        yield part_markdown(Verbatim(command))


def _folded(title: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        yield folded(title, parts)
