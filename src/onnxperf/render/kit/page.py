"""What a result shows, as tagged parts; the console, Markdown, a notebook and an HTML page each choose from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.table import On, Table
from onnxperf.wording.busy import is_busy_text
from onnxperf.wording.verdicts import with_sign

Amount = tuple[str, str]
"""A time or size, and whose it is."""
Spell = Callable[[str], str]
"""Changes texts before they are shown: the command line writes options with dashes."""


class Heading(NamedTuple):
    """What a page is about, and facts behind it."""

    name: str
    facts: Sequence[str] = ()


class Answer(NamedTuple):
    """A sentence that answers the question."""

    text: str
    verdict: str = ""
    """The verdict or status that it rests on, whose sign stands before it."""
    amount: Amount = ("", "")
    """The time or size that it is about, which pages show in large letters, and whose it is."""

    @property
    def shown(self) -> str:
        """The sentence behind its sign."""
        return with_sign(self.verdict, self.text)


class Note(NamedTuple):
    """What a reader must know of the answer."""

    text: str

    @property
    def shown(self) -> str:
        """The same."""
        return self.text


class Warn(NamedTuple):
    """What limits the answer."""

    text: str

    @property
    def shown(self) -> str:
        """The sentence behind a sign of warning."""
        return f"⚠ {self.text}"


class Foot(NamedTuple):
    """Facts of a measurement on the last line of a screen."""

    parts: Sequence[str]


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
    width: int = 0
    """From which width of a console on it is shown."""


class Verbatim(NamedTuple):
    """Preformatted text, such as a tree."""

    text: str
    ansi: str = ""
    """The same with ANSI colors for a terminal; all names in it must have been escaped."""
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


class Share(NamedTuple):
    """A part of a whole."""

    name: str
    amount: str
    """Its time or size in words."""
    share: float
    color: int
    """Place in the palettes of charts."""
    link: str = ""
    """What it stands for elsewhere on the page."""


class Shares(NamedTuple):
    """A whole as one bar: its parts add up to 100 %, and each selects what it stands for."""

    title: str
    parts: Sequence[Share]
    on: On = "page"


class Tabs(NamedTuple):
    """Tables of which a page shows one at a time, chosen by their titles."""

    parts: Sequence[Any]
    on: On = "page"


class Panes(NamedTuple):
    """Parts side by side, if the page is wide enough."""

    parts: Sequence[Any]
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
    """Parts under a title, which only an HTML page shows."""

    title: str
    parts: Sequence[Any]
    on: On = "all"
    folded: bool = False
    """Whether a page shows its parts only when they are wanted: details of what is selected."""


Told = Heading | Answer | Note | Warn | Foot | Flow | Line | Verbatim
Part = Told | Table[Any] | Chart | Drawing | Shares | Tabs | Panes | Section
Page = Sequence[Part]

GAP = Line("", on="screen")
INTERRUPTED = Warn("Interrupted: showing what was measured so far.")


def answered(
    answer: str, notes: Iterable[str] = (), interrupted: bool = False, verdict: str = "", amount: Amount = ("", "")
) -> list[Part]:
    """The answer, one sentence per line, the first with the sign of the verdict and its amount, then the notes."""
    first, *more = [line for line in answer.splitlines() if line] or [""]
    return [
        *([Answer(first, verdict, amount)] if first else []),
        *map(Answer, more),
        *([INTERRUPTED] if interrupted else []),
        *(Warn(note) if is_busy_text(note) else Note(note) for note in notes),
    ]


def with_foot(page: Page, facts: Sequence[str]) -> Page:
    """The page with more facts on its last line, or with such a line."""
    feet = [place for place, part in enumerate(page) if isinstance(part, Foot)]
    if not facts or not feet:
        return [*page, Foot(facts)] if facts else page
    last = feet[-1]
    return [*page[:last], Foot([*cast(Foot, page[last]).parts, *facts]), *page[last + 1 :]]


def on_screen(page: Page) -> Iterator[Part]:
    """What a console, Markdown and a notebook show: below each heading the answer, then all else, then the notes.

    What stands behind a line of facts is shown below it.
    """
    several: list[Part] = []
    for part in _shown_parts(page):
        if isinstance(part, Heading):
            yield from _in_order(several)
            several = []
            yield part
        else:
            several.append(part)
        if isinstance(part, Foot):
            yield from _in_order(several)
            several = []
    yield from _in_order(several)


def _in_order(parts: Sequence[Part]) -> Iterator[Part]:
    """The answer and what limits it, all else, notes, facts; gaps between them."""

    def some(*kinds: type) -> list[Part]:
        return [part for part in parts if isinstance(part, kinds)]

    body = [part for part in parts if not isinstance(part, Answer | Warn | Note | Foot)]
    for group in ([*some(Answer), *some(Warn)], body, some(Note), some(Foot)):
        yield from group
        yield GAP


def _shown_parts(page: Page) -> Iterator[Part]:
    """No detail, and the table of a chart instead of it."""
    for part in page:
        if isinstance(part, Heading | Answer | Note | Warn | Foot):
            yield part
        elif part.on == "page":
            continue
        elif isinstance(part, Section):
            yield from _shown_parts(part.parts)
        elif isinstance(part, Chart):
            yield from _shown_parts([part.table])
        elif not isinstance(part, Drawing):
            yield part


def sections_of(page: Page) -> list[Section]:
    """What an HTML page shows below the answer: sections, and what stands outside of them before the first one."""
    loose = [part for part in page if isinstance(part, Flow | Line | Verbatim | Table | Chart | Drawing | Tabs | Panes)]
    sections = [_on_page(part) for part in page if isinstance(part, Section)]
    return [each for each in (_on_page(Section("", loose)), *sections) if each.parts]


def _on_page(section: Section) -> Section:
    shown = [part for part in section.parts if getattr(part, "on", "all") != "screen"]
    return section._replace(parts=[] if section.on == "screen" else shown)
