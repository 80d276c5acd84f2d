"""How a result shows itself in a Python prompt: as the command line prints it, without colours."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

R = TypeVar("R")

_WIDTH = 100


def as_printed(show: Callable[[R, Console], None], record: R) -> str:
    """What `show` prints of a record."""
    from rich.console import Console

    text = io.StringIO()
    # In a notebook rich would show the table itself, beside the HTML that the notebook asks for.
    console = Console(file=text, width=_WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
    show(record, console)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
