"""Names of processors as people read them."""

from __future__ import annotations

import re

_DECORATION = re.compile(r"\((R|TM)\)| CPU(?= @|$)| @ .*$", re.IGNORECASE)


def cpu_name(text: str) -> str:
    """The model of a processor without its trademark signs and frequency."""
    return _DECORATION.sub("", text)
