"""One line on stderr for problems and notices that are not part of the result."""

from __future__ import annotations

import contextlib
import sys

from onnxperf.errors import masked
from onnxperf.wording.names import one_line, visible


def complain(message: object) -> None:
    """Print one line without passwords; names of a model in it must not control the terminal."""
    line = visible(masked(one_line(message)), getattr(sys.stderr, "encoding", None) or "utf-8")
    with contextlib.suppress(OSError, ValueError):  # stderr is closed, or its terminal is gone: the result is not
        print(f"onnxperf: {line}", file=sys.stderr, flush=True)
