"""Children of a process that has imported all: what is killed again and again starts cheaply. Run as a script."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

_ENDED = "ended with "


class Nursery:
    """Calls a function in children, one after the other: each is a process of its own, which can be killed."""

    def __init__(self, function: str, *preload: str) -> None:
        """Name a function as `module:function`, and what else to import before the first child."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, json.dumps(sys.path), function, *preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._printed = self._process.stdin, self._process.stdout
        self._child = -1
        self._code: int | None = 0
        """Exit code of the last child; None while it runs."""
        self.printed = ""
        """By the last child."""

    def start(self, arguments: list[Any], environment: dict[str, str]) -> int:
        """Begin a call; returns the number of its process."""
        self._requests.write(json.dumps([arguments, environment]).encode() + b"\n")
        pid = int(self._printed.readline())
        self._child, self._code, self.printed = os.pidfd_open(pid), None, ""
        return pid

    def line(self) -> str:
        """What the child prints next; nothing once it has ended."""
        if self._code is not None:
            return ""
        line, ended, code = self._printed.readline().decode().partition(_ENDED)  # a killed child may not end its line
        assert line or ended, "the nursery has ended"
        self._code = int(code) if ended else None
        self.printed += line
        return line

    def prints_within(self, seconds: float) -> bool:
        """Wait for the next line of the child, but no longer."""
        return bool(select.select([self._printed], [], [], seconds)[0])

    def ends_within(self, seconds: float | None) -> bool:
        """Wait for the end of the child, but no longer."""
        return bool(select.select([self._child], [], [], seconds)[0])

    def kill(self) -> None:
        """Kill the child, if it has not ended."""
        if not self.ends_within(0):
            signal.pidfd_send_signal(self._child, signal.SIGKILL)

    def end(self) -> int:
        """Wait for the end of the child; returns its exit code."""
        while self._code is None:
            self.line()
        os.close(self._child)
        return self._code

    def close(self) -> None:
        """End everything."""
        self._process.kill()
        self._process.communicate()


def main() -> None:
    """Fork a child for every line of input; print its number, and how it ended."""
    _, path, function_name, *preload = sys.argv
    sys.path[:] = json.loads(path)
    module, _, name = function_name.partition(":")
    function = getattr(import_module(module), name)
    for each in preload:
        import_module(each)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            print(os.getpid(), flush=True)
            _call(function, *json.loads(line))
        _, status = os.waitpid(child, 0)
        print(f"{_ENDED}{os.waitstatus_to_exitcode(status)}", flush=True)


def _call(function: Callable[..., int | None], arguments: list[Any], environment: dict[str, str]) -> NoReturn:
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = 1
    try:
        code = function(*arguments) or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
