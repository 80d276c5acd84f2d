"""Printing for commands: names in untrusted models must not control the terminal."""

from __future__ import annotations

import sys

from onnxperf.errors import masked
from onnxperf.options.spelling import plain_flags
from onnxperf.wording.names import visible_lines


def print_text(text: str, stderr: bool = False) -> None:
    """Print lines, with options spelled as flags."""
    stream = sys.stderr if stderr else sys.stdout
    print(visible_lines(masked(plain_flags(text)), stream.encoding or "utf-8"), file=stream, flush=True)


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def write_output(content: bytes, binary: bool = False) -> None:
    """Write a file to standard output: unchanged for another program, with escapes on a terminal."""
    if is_terminal() and not binary:
        content = visible_lines(content.decode("utf-8", "replace"), sys.stdout.encoding).encode(sys.stdout.encoding)
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
