"""Parts that the pages of the terminal share: heading, tables that fit, answer and notes."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from onnxperf.render.kit.console import drawn as fitted
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import flowed, name_of, visible
from onnxperf.wording.numbers import marks_for


def print_heading(name: str, facts: Iterable[str], console: Console) -> None:
    """What this is about, in colour, and facts behind it."""
    encoding = console.encoding
    shown = name_of(name, encoding)
    separator = f" {marks_for(encoding).dot} "
    text = Text(flowed([shown, *(visible(fact, encoding) for fact in facts if fact)], console.width, separator))
    text.stylize("bold cyan", 0, len(shown))
    text.overflow = "fold"
    console.print(text)


def print_flow(parts: Iterable[str], console: Console) -> None:
    """Parts on as few lines as they fit on."""
    text = flowed(parts, console.width, f" {marks_for(console.encoding).dot} ")
    if text:
        console.print(Text(text))


def print_sheet(heading: str, sheet: Table, console: Console) -> None:
    """A table that fits the console, under its heading."""
    console.print()
    if heading:
        console.print(Text(heading, style="bold"))
    console.print(fitted(sheet, console.width, console.encoding))


def print_end(answer: str, notes: Iterable[str], console: Console) -> None:
    """The answer, then what else there is to know."""
    notes = list(notes)
    if answer or notes:
        console.print()
    if answer:
        console.print(Text(visible(answer, console.encoding), style="bold"))
    for note in notes:
        console.print(Text(visible(note, console.encoding), style="dim"))


from rich.box import Box  # noqa: E402

from onnxperf.wording.numbers import ASCII, UNICODE  # noqa: E402

_LINE_UNDER_HEAD = "    \n    \n {0}{0} \n    \n    \n    \n    \n    \n"
BOXES = {UNICODE: Box(_LINE_UNDER_HEAD.format("─")), ASCII: Box(_LINE_UNDER_HEAD.format("-"), ascii=True)}
