"""Where the results of a command go: the terminal, files, or standard output for other programs."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from onnxperf.cli.options import OUTPUT, KeepFlags

PARTIAL = 1
BAD_INPUT = 2
INTERRUPTED = 130

if TYPE_CHECKING:
    from rich.console import Console

    from onnxperf.render.kit.progress import Progress


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class JsonKeep(KeepFlags):
    """Where the record goes."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the record as JSON; - is standard output, and then nothing else is printed there."""


def command_line() -> str:
    """What the user typed, for the record."""
    return shlex.join(["onnxperf", *sys.argv[1:]])


def make_console(stderr: bool = False) -> Console:
    """Where tables are printed: on stderr when stdout belongs to another program."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def make_progress(quiet: bool) -> Progress:
    """A bar on stderr, unless it should be quiet or stderr is no terminal."""
    from onnxperf.render.kit.progress import Progress

    return Progress(enabled=not quiet)


def write_text(path: str, data: str | bytes) -> None:
    """Write to a file, or to standard output when its name is -."""
    from onnxperf.render.kit.files import write

    content = data.encode() if isinstance(data, str) else data
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write(Path(path), content)
