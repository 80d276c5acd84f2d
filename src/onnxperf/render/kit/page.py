"""What a result shows, as tagged parts; the console, Markdown, a notebook and an HTML page each choose from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.table import On, Table


class Heading(NamedTuple):
    """What a page is about, and facts behind it."""

    name: str
    facts: Sequence[str] = ()


class Answer(NamedTuple):
    """A sentence that answers the question."""

    text: str


class Note(NamedTuple):
    """What a reader must know of the answer."""

    text: str


class Warn(NamedTuple):
    """What limits the answer."""

    text: str


class Flow(NamedTuple):
    """Short parts on as few lines as they fit on."""

    parts: Sequence[str]
    on: On = "all"


class Line(NamedTuple):
    """A sentence; an empty one is a gap."""

    text: str
    style: str = ""
    """bold, dim, red, green, yellow or cyan."""
    indent: int = 0
    on: On = "all"


class Verbatim(NamedTuple):
    """Text with a layout of its own, such as a tree."""

    text: str
    ansi: str = ""
    """The same with colours for a terminal, as escapes of ANSI; all names in it must have been made visible."""
    hangs: Sequence[int] = ()
    """For each line, the column where its rest continues on a narrower terminal; none: the terminal breaks it."""
    on: On = "all"


class Drawing(NamedTuple):
    """A picture of a graph that can be moved and enlarged, made by us: all names in it are escaped."""

    title: str
    summary: str
    svg: str
    """Boxes have their key in `data-key`."""
    on: On = "page"


class Later(Sequence[Any]):
    """Parts that are made only if they are shown: drawings and long charts take their time."""

    def __init__(self, make: Callable[[], Sequence[Any]]) -> None:
        self._make = make

    @cached_property
    def _parts(self) -> Sequence[Any]:
        return self._make()

    def __getitem__(self, place: Any) -> Any:
        """The part at a place."""
        return self._parts[place]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._parts)


class Section(NamedTuple):
    """Parts under a title of their own, which only an HTML page shows."""

    title: str
    parts: Sequence[Any]
    on: On = "all"


Part = Heading | Answer | Note | Warn | Flow | Line | Verbatim | Table[Any] | Chart | Drawing | Section
Page = Sequence[Part]

GAP = Line("", on="screen")
INTERRUPTED = Warn("Interrupted: this is what was measured until then.")


def closing(answer: str, notes: Iterable[str] = (), interrupted: bool = False) -> list[Part]:
    """The end of a page: the answer, then the notes."""
    said: list[Part] = [Answer(sentence) for sentence in answer.splitlines() if sentence]
    said += [Note(note) for note in notes]
    before: list[Part] = [INTERRUPTED] if interrupted else []
    return [GAP, *before, *said] if before or said else []


def on_screen(page: Page) -> Iterator[Part]:
    """What a console, Markdown and a notebook show: no detail, and of a chart the table behind it."""
    for part in page:
        if isinstance(part, Heading | Answer | Note | Warn):
            yield part
        elif part.on == "page":
            continue
        elif isinstance(part, Section):
            yield from on_screen(part.parts)
        elif isinstance(part, Chart):
            yield from on_screen([part.table])
        elif not isinstance(part, Drawing):
            yield part


def sections_of(page: Page) -> list[Section]:
    """What an HTML page shows below the answer: sections, and what stands outside of them before the first one."""
    loose = [part for part in page if isinstance(part, Flow | Line | Verbatim | Table | Chart | Drawing)]
    sections = [_on_page(part) for part in page if isinstance(part, Section)]
    return [each for each in (_on_page(Section("", loose)), *sections) if each.parts]


def _on_page(section: Section) -> Section:
    shown = [part for part in section.parts if getattr(part, "on", "all") != "screen"]
    return section._replace(parts=[] if section.on == "screen" else shown)
