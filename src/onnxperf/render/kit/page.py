"""What a result shows, as parts that the console, HTML and Markdown draw each in their way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onnxperf.render.kit.table import Table


class Heading(NamedTuple):
    """What a page is about, and facts behind it."""

    name: str
    facts: Sequence[str] = ()


class Flow(NamedTuple):
    """Short parts on as few lines as they fit on."""

    parts: Sequence[str]


class Line(NamedTuple):
    """A sentence; an empty one is a gap."""

    text: str
    style: str = ""
    """bold, dim, red, green, yellow or cyan."""
    indent: int = 0


class Verbatim(NamedTuple):
    """Text with a layout of its own, such as a tree."""

    text: str
    ansi: str = ""
    """The same with colours for a terminal, as escapes of ANSI; all names in it must have been made visible."""
    hangs: Sequence[int] = ()
    """For each line, the column where its rest continues on a narrower terminal; none: the terminal breaks it."""


Part = Heading | Flow | Line | Verbatim | Table
Page = Sequence[Part]

GAP = Line("")
INTERRUPTED = Line("Interrupted: this is what was measured until then.", "yellow")


def closing(answer: str, notes: Iterable[str] = (), interrupted: bool = False) -> list[Line]:
    """The end of a page: the answer, then the notes."""
    lines = [
        *([INTERRUPTED] if interrupted else []),
        *(Line(sentence, "bold") for sentence in answer.splitlines() if sentence),
        *(Line(note, "dim") for note in notes),
    ]
    return [GAP, *lines] if lines else []
