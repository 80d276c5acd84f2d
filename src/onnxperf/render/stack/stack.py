"""Stacks as text, HTML and speedscope, with pyinstrument's renderers, and what stands around the tree."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from onnxperf.errors import MissingExtra
from onnxperf.records.stack import CodeShares, Stack
from onnxperf.render.kit.old_console import print_end, print_heading, print_sheet
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.render.stack.allocations import print_allocations
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import duration, percent

if TYPE_CHECKING:
    from pyinstrument.session import Session

_SHOWN = r".*[/\\](onnxperf|sklearn)[/\\].*|<onnxperf.*"
"""What the user came for, though it is installed as a library; below it, libraries are folded."""
_NAMELESS = ("onnxruntime",)
"""Libraries without symbols: their kernels cannot be told from what they do around them."""
_WORTH_TELLING = 0.005
_WEB_FONT = re.compile(r'"https://fonts\.googleapis\.com/[^"]*"')


def session_of(data: dict[str, Any]) -> Session:
    """pyinstrument's session, back from JSON."""
    try:
        from pyinstrument.session import Session
    except ImportError as error:
        raise MissingExtra("pyinstrument", "stack") from error

    session: Session = Session.from_json(data)
    return session


def tree_text(session: Session, everything: bool = False, unicode: bool = True, color: bool = False) -> str:
    """The tree as pyinstrument prints it; library frames are folded unless `everything` is wanted."""
    from pyinstrument.renderers import ConsoleRenderer

    options = {"show_regex": _SHOWN}
    renderer = ConsoleRenderer(show_all=everything, unicode=unicode, color=color, processor_options=options)
    return str(renderer.render(session)).strip("\n")


def page_html(session: Session) -> str:
    """pyinstrument's page, which loads nothing from the network."""
    from pyinstrument.renderers import HTMLRenderer

    return _WEB_FONT.sub('"data:text/css,"', str(HTMLRenderer().render(session)))


def speedscope_json(session: Session) -> str:
    """The tree for speedscope.app."""
    from pyinstrument.renderers import SpeedscopeRenderer

    return str(SpeedscopeRenderer(show_all=True).render(session))


def shares_text(shares: CodeShares) -> str:
    """Python, kernels and what lies between in one line, and how that was found."""
    source = f"({shares.how}, {shares.samples:,} samples, ± {max(1, round(shares.margin * 100))}"
    if shares.kernels is None or shares.dispatch is None:
        return (
            f"Of the time of a call, at most {whole(shares.python)} is Python and at least {whole(shares.compiled)} "
            f"compiled code {source}; operators such as a @ b count as Python)."
        )
    main = max(shares.libraries, key=shares.libraries.__getitem__, default="")
    compiled = f"{main}, kernels and what it does around them" if main in _NAMELESS else "kernels"
    parts = [
        f"{whole(shares.kernels)} is spent in {compiled}",
        f"{whole(shares.python)} in Python",
        f"{whole(shares.dispatch)} in numpy's own call machinery",
        *([f"{whole(shares.unknown)} in code that nobody can name"] if shares.unknown >= _WORTH_TELLING else []),
    ]
    return f"Of the time of a call, {', '.join(parts[:-1])} and {parts[-1]} {source})."


def whole(share: float) -> str:
    """A share with as many digits as samples allow."""
    if 0 < share < _WORTH_TELLING:
        return "less than 1 %"
    return "more than 99 %" if 1 - _WORTH_TELLING < share < 1 else f"{share * 100:.0f} %"


def native_sheet(record: Stack, top: int) -> Table:
    """The busiest functions, compiled ones among them."""
    columns = [
        Column("self"),
        Column("total"),
        Column("kind", left=True, rank=1),
        Column("function", left=True, room=20),
        Column("where", left=True, rank=1, room=16),
    ]
    rows = [
        Row([percent(each.self_share), percent(each.total_share), each.kind, each.function, each.place])
        for each in record.native[:top]
    ]
    return Table(columns, rows)


def frames_sheet(record: Stack, top: int) -> Table:
    """The functions of Python that take the most time themselves, wherever they are called."""
    columns = [Column("per call"), Column("function", left=True, room=20), Column("where", left=True, room=16)]
    rows = [Row([duration(ns / record.calls), *key]) for key, ns in self_times(record)[:top]]
    return Table(columns, rows)


def self_times(record: Stack) -> list[tuple[tuple[str, str], int]]:
    """Function and file with their own time in ns, wherever in the tree they were called; the busiest first."""
    times: Counter[tuple[str, str]] = Counter()
    for frame in record.frames:
        times[frame.function, frame.file] += frame.self_ns
    return [each for each in times.most_common() if each[1] > 0]


def print_stack(record: Stack, console: Console, tree: str = "", top: int = 15) -> None:
    """The tree, the busiest compiled functions, the memory taken, the answer and the notes.

    A record that comes from a store has no tree: then the busiest functions of Python stand in its place.
    """
    for line in tree.splitlines():
        # The escapes in it are pyinstrument's colours: in a session, those of names are already shown, not obeyed.
        encoded = line.encode(console.encoding, "backslashreplace").decode(console.encoding)
        shown = Text.from_ansi(encoded) if console.is_terminal else Text(visible(encoded))
        console.print(shown, soft_wrap=True)
    if not tree:
        print_heading(record.name, [record.runtime, f"{record.calls:,} calls"], console)
        print_sheet("Time in each function itself", frames_sheet(record, top), console)
    if record.native:
        print_sheet("Busiest functions, compiled ones too", native_sheet(record, top), console)
    if record.allocations is not None:
        print_allocations(record.allocations, console, top)
    print_end(record.answer, record.notes, console)
