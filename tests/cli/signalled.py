"""Commands that get a signal at a chosen moment, for processes of their own (`tests/measure/nursery.py`)."""

from __future__ import annotations

import atexit
import contextlib
import importlib.abc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from onnxperf import __main__ as door
from onnxperf.cli.main import app
from onnxperf.cli.present import Output, present
from onnxperf.render.kit.progress import Progress
from onnxperf.results.formats import COMMON, Format
from tests.results.toys import TOY, Toy, ToyResult


def run(moment: str, name: str, *files: str) -> int:
    """Run a command that gets this signal at that moment; returns its exit code."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run below nohup, or in the background of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)
    number = getattr(signal, name)
    MOMENTS[moment](number)
    app.command(lambda: present(TOY, Output(output=list(files)), lambda _: _measured(moment, number)), name="x")
    sys.argv = ["onnxperf", "x"]
    try:
        door.main()
    except SystemExit as end:
        return int(end.code or 0)
    return -1


def run_command(arguments: Sequence[str]) -> int:
    """Run a real command, which others send signals to."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["onnxperf", *arguments]
    try:
        door.main()
    except SystemExit as end:
        return int(end.code or 0)
    return -1


_ENTRY = """import runpy, signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.SIG_DFL)
runpy.run_module("onnxperf", run_name="__main__", alter_sys=True)"""
"""The command, which ignores no signal, also below nohup or in the background of a shell."""


class Disturbed(NamedTuple):
    """How a command ended that got a signal."""

    code: int
    out: str
    err: str
    signalled: bool
    """Whether it had not ended before."""
    left: list[str]
    """Processes, and temporary files of Ray, that are still there."""

    def problem(self, number: signal.Signals) -> str:
        """What is wrong with this end; nothing, where it shows what it has, or says that it has nothing."""
        if self.left:
            return f"left {self.left}"
        if number == signal.SIGKILL or (self.code == 0 and self.out.strip()):
            return ""
        if self.code == -number and not self.err:  # before the command could do anything about it
            return ""
        said = [word for word in ("Traceback", "Fatal", "Exception ignored") if word in self.err]
        shown = self.out.strip() or "interrupted by " in self.err
        return "" if self.code == 128 + number and shown and not said else f"exit code {self.code}: {self.err}"


def disturb(arguments: Sequence[str], number: signal.Signals, delay_s: float, gone_s: float = 15.0) -> Disturbed:
    """Run a real command in a session of its own, and send it a signal after some time, unless it has ended.

    What it started may take `gone_s` to go. Whatever is left after that is ended here.
    """
    folder = Path(tempfile.mkdtemp(prefix="signalled-"))
    temporary = folder / "t"
    temporary.mkdir()
    own = {"TMPDIR": str(temporary), "ONNXPERF_STORE": str(folder / "runs.sqlite"), "OPENBLAS_NUM_THREADS": "1"}
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", _ENTRY, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **own},
            start_new_session=True,
        )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay_s)
    signalled = process.poll() is None
    folders = _folders_of_ray(process.pid)
    process.send_signal(number)
    code = process.wait()
    left = _left(process.pid, temporary, folders, gone_s)
    printed, said = [(folder / name).read_text() for name in ("out", "err")]
    shutil.rmtree(folder, ignore_errors=True)
    return Disturbed(code, printed, said, signalled, left)


def _left(session: int, temporary: Path, folders: set[Path], seconds: float) -> list[str]:
    psutil.wait_procs(_session(session), seconds)
    processes = []
    for each in _session(session):
        with contextlib.suppress(psutil.Error):
            processes.append(" ".join([str(each.pid), *each.cmdline()]))
            each.kill()
    shared = [each for each in Path("/dev/shm").glob("*") if each.name.startswith(("ray", "plasma"))]
    files = [each for each in temporary.rglob("*") if each.name != ".lock" and not each.name.startswith("onnxperf-")]
    return [*processes, *map(str, [*shared, *files, *filter(Path.exists, folders)])]


def _folders_of_ray(session: int) -> set[Path]:
    """They may lie elsewhere than other temporary files; Ray's processes name them."""
    found = set()
    for each in _session(session):
        with contextlib.suppress(psutil.Error):
            found |= {Path(part) for part in each.cmdline() if Path(part).name.startswith("ray-")}
    return found


def _session(leader: int) -> list[psutil.Process]:
    """Processes of a session that have not ended."""
    found = []
    for each in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(each.pid) == leader and each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
    return found


def _measured(moment: str, number: int) -> ToyResult:
    folder = Path(tempfile.mkdtemp(prefix="onnxperf-"))
    (folder / "model.onnx").write_bytes(b"a copy of a model")
    try:
        _act(moment, number)
    except KeyboardInterrupt:
        if moment == "twice":
            signal.raise_signal(number)
        if moment in ("no partial result", "while importing"):
            raise
        if moment == "another error":
            raise RuntimeError("a library wraps everything") from None
        return ToyResult(Toy(interrupted=True))
    return ToyResult(Toy())


def _act(moment: str, number: int) -> None:
    if moment == "in a finaliser":
        _Finalised(number)
        signal.pause()
    elif moment == "while importing":  # the signal came, and waits until the import is over
        signal.pause()
    elif moment != "while writing":
        signal.raise_signal(number)


class _Finalised:
    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


class _Importing(importlib.abc.MetaPathFinder):
    """Sends a signal while the first module of the command line is imported."""

    def __init__(self, number: int) -> None:
        self.number = number

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> None:
        if name == "onnxperf.cli.main":
            signal.raise_signal(self.number)


def _nothing(_number: int) -> None:
    pass


def _while_importing(number: int) -> None:
    del sys.modules["onnxperf.cli.main"]
    sys.meta_path.insert(0, _Importing(number))


def _while_writing(number: int) -> None:
    def make(_result: object, _table: object) -> bytes:
        signal.raise_signal(number)
        return b"whole"

    COMMON[".md"] = Format("the page", make, "page")


def _ignored(number: int) -> None:
    signal.signal(number, signal.SIG_IGN)


MOMENTS: dict[str, Callable[[int], None]] = {
    "while importing": _while_importing,
    "while measuring": _nothing,
    "no partial result": _nothing,
    "another error": _nothing,
    "in a finaliser": _nothing,
    "while writing": _while_writing,
    "twice": _nothing,
    "ignored": _ignored,
}


def exit_with_signal() -> None:
    """A command whose process gets SIGINT while the interpreter ends. Run as a script."""
    atexit.register(signal.raise_signal, signal.SIGINT)
    sys.argv = ["onnxperf", "--version"]
    door.main()


def lose_terminal(file: str) -> None:
    """A command with a bar on its terminal, which goes away. Run as a script."""

    def measure(progress: Progress) -> ToyResult:
        progress.show(lambda _console: "a bar")
        try:
            print("measuring", flush=True)
            while True:  # a signal just before `signal.pause()` would not end it
                time.sleep(0.01)
        except KeyboardInterrupt:
            pass
        return ToyResult(Toy(interrupted=True))

    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    app.command(lambda: present(TOY, Output(output=[file]), measure), name="x")
    sys.argv = ["onnxperf", "x"]
    door.main()


if __name__ == "__main__":
    lose_terminal(sys.argv[1]) if len(sys.argv) > 1 else exit_with_signal()
