"""Stories as Markdown, for pull requests: the answer, its limits, every table; conditions are folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxperf.render.kit.markdown import markdown_text, part_markdown
from onnxperf.render.kit.old_table import plain_table
from onnxperf.render.kit.page import Verbatim
from onnxperf.render.web.old_base import Chart, Drawing, LinkedTable, Part, Section, Story


def report_markdown(stories: Sequence[Story]) -> str:
    """The same stories as on the HTML page; a chart is the table behind it."""
    return "\n\n".join(text for story in stories for text in _story(story)) + "\n"


def _story(story: Story) -> Iterator[str]:
    yield f"## {story.kind}: {markdown_text(story.topic)}"
    yield from (f"**{markdown_text(answer)}**" for answer in story.answers)
    yield from (f"> {markdown_text(warning)}" for warning in story.warnings)
    *charts, details = story.sections
    yield from _section(details)
    for section in charts:
        yield from _folded(section.title, list(_section(section)))
    yield from _folded("Conditions", list(_conditions(story)))


def _section(section: Section) -> Iterator[str]:
    yield from (text for part in section.parts if (text := _part(part)))


def _part(part: Part) -> str:
    match part:
        case Chart():
            table = part_markdown(part.table)
            return f"{markdown_text(part.title)}: {markdown_text(part.summary)}\n\n{table}" if table else ""
        case LinkedTable():
            return part_markdown(part.table)
        case Drawing():
            return ""
        case _:
            return part_markdown(part)


def _conditions(story: Story) -> Iterator[str]:
    yield from (f"- {markdown_text(note)}" for note in story.notes)
    if story.machine:
        yield part_markdown(plain_table(("machine", ""), story.machine))
    command = story.snippet or story.command
    if command:
        yield part_markdown(Verbatim(command))


def _folded(title: str, parts: Sequence[str]) -> Iterator[str]:
    """What GitHub shows after a click."""
    if parts:
        yield f"<details><summary>{markdown_text(title)}</summary>"
        yield from parts
        yield "</details>"
