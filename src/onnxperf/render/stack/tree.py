"""pyinstrument's session as a tree, a page and a file for speedscope.app, with its own renderers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from onnxperf.errors import required
from onnxperf.render.kit.page import Verbatim

if TYPE_CHECKING:
    from pyinstrument.session import Session

_SHOWN = r".*[/\\](onnxperf|sklearn)[/\\].*|<onnxperf.*"
"""Libraries whose frames are shown; those of all others are folded."""
_WEB_FONT = re.compile(r'"https://fonts\.googleapis\.com/[^"]*"')


def session_of(data: dict[str, object]) -> Session:
    """pyinstrument's session, back from JSON."""
    session: Session = required("pyinstrument.session", "stack").Session.from_json(data)
    return session


def tree_part(session: Session, everything: bool = False) -> Verbatim:
    """The tree for a page, with pyinstrument's colors on a terminal."""
    return Verbatim(tree_text(session, everything), tree_text(session, everything, color=True))


def tree_text(session: Session, everything: bool = False, color: bool = False) -> str:
    """The tree as pyinstrument prints it below its banner; library frames are folded unless `everything` is wanted."""
    from pyinstrument.renderers import ConsoleRenderer

    options = {"show_regex": _SHOWN}
    shown: dict[str, Any] = {"show_all": everything, "unicode": True, "color": color, "time": "percent_of_total"}
    text = str(ConsoleRenderer(**shown, processor_options=options).render(session)).strip("\n")
    return text.split("\n\n", 2)[-1]  # behind the banner and the name


def session_html(session: Session) -> str:
    """pyinstrument's page, which loads nothing from the network."""
    from pyinstrument.renderers import HTMLRenderer

    return _WEB_FONT.sub('"data:text/css,"', str(HTMLRenderer().render(session)))


def session_speedscope(session: Session) -> str:
    """The tree for speedscope.app."""
    from pyinstrument.renderers import SpeedscopeRenderer

    return str(SpeedscopeRenderer(show_all=True).render(session))
