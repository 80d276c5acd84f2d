"""How commands print: names come from strangers, and must not control the terminal."""

from __future__ import annotations

import sys

from onnxperf.errors import masked
from onnxperf.options.spelling import as_flags
from onnxperf.wording.names import visible_lines


def print_text(text: str, stderr: bool = False) -> None:
    """Print lines in which options are spelled as they are typed."""
    stream = sys.stderr if stderr else sys.stdout
    print(visible_lines(masked(as_flags(text)), stream.encoding or "utf-8"), file=stream, flush=True)


def is_terminal() -> bool:
    """Whether a person sees standard output."""
    return sys.stdout.isatty()


def write_output(content: bytes, binary: bool = False) -> None:
    """Write a file to standard output: as it is for another program, with escapes if a person sees it."""
    if is_terminal() and not binary:
        content = visible_lines(content.decode("utf-8", "replace"), sys.stdout.encoding).encode(sys.stdout.encoding)
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
