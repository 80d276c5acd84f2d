"""The command in a process of its own, which always ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

_PATIENCE_S = 60


class Serving(NamedTuple):
    """A server that answers."""

    process: subprocess.Popen[str]
    line: str
    """What it printed."""
    url: str
    """The address in that line."""

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; the exit code, and what it said after its first line."""
        self.process.send_signal(number)
        rest, said = self.process.communicate(timeout=_PATIENCE_S)
        return self.process.returncode, rest + said


@contextmanager
def serving(*arguments: str, **variables: str) -> Iterator[Serving]:
    """Start the command at a free port."""
    surroundings = {name: value for name, value in os.environ.items() if name != "ONNXPERF_TOKEN"} | variables
    process = subprocess.Popen(
        [sys.executable, "-m", "onnxperf", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, (line, process.communicate(timeout=_PATIENCE_S))
        yield Serving(process, line, found[0])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=_PATIENCE_S)
