"""A Ray of our own, with another library in its place: its signals wait, and nothing of it outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from onnxperf.cluster.local_ray import address_in, local_ray
from onnxperf.cluster.ray_connection import _connection
from onnxperf.cluster.signals import signals_wait
from onnxperf.errors import BadOption
from tests.measure.processes import gone

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of Unix")

# ---------------------------------------------------------------- signals


class Interrupted(Exception):
    """What the handler of the tests raises."""


class FakeRay:
    """It gets a signal in the middle of a call, and wants to change what signals do."""

    def __init__(self, moment: str) -> None:
        self.moment, self.done = moment, list[str]()
        self._private = SimpleNamespace(worker=SimpleNamespace())

    def is_initialized(self) -> bool:
        return False

    def init(self, **_options: Any) -> None:
        self._call("init")

    def shutdown(self) -> None:
        self._call("shutdown")

    def _call(self, name: str) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))
        if name == self.moment:
            signal.raise_signal(signal.SIGTERM)
        self.done.append(name)


@pytest.fixture
def handler() -> Iterator[Any]:
    def handle(_number: int, _frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGTERM, handle)
    yield handle
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("moment", ["init", "shutdown"])
def test_a_signal_while_ray_starts_or_ends_acts_when_that_is_done(moment: str, handler: Any) -> None:
    ray, seen = FakeRay(moment), []
    with pytest.raises(Interrupted), _connection(ray, "host:1"):
        seen.append("connected")
    assert ray.done == ["init", "shutdown"]
    assert seen == ([] if moment == "init" else ["connected"])
    assert signal.getsignal(signal.SIGTERM) is handler


def test_ray_changes_no_handler(handler: Any) -> None:
    set_handler = signal.signal
    with _connection(FakeRay(""), "host:1"):
        assert signal.getsignal(signal.SIGTERM) is handler
    assert signal.signal is set_handler


def test_processes_inherit_nothing_of_the_wait() -> None:
    with signals_wait():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


# ---------------------------------------------------------------- the guardian

ORPHAN = "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=-3).pid)"
LIBRARY = f"""
import subprocess, sys
from types import SimpleNamespace
def init(*_, **__):
    made = subprocess.run([sys.executable, "-c", {ORPHAN!r}], stdout=subprocess.PIPE)
    return SimpleNamespace(address_info={{"gcs_address": made.stdout.decode().strip()}})
def shutdown(): ...
"""
SCRIPT = """
import os, pathlib, psutil, sys
from onnxperf.cluster import local_ray
folder = pathlib.Path(sys.argv[1])
local_ray._folder = lambda: folder
with local_ray.local_ray() as answer:
    orphan = int(local_ray.address_in(answer))
    print(orphan, psutil.Process(orphan).ppid(), flush=True)
    os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library called ray that starts an orphan in a session of its own, whose number is its address."""
    (tmp_path / "ray.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "ray.py"


@pytest.mark.skipif(sys.platform != "linux", reason="only there are orphans adopted")
@pytest.mark.parametrize("number", [0, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_us_nothing_of_ray_is_left(library: Path, number: int) -> None:
    folder = library.parent / "session"
    folder.mkdir()
    paths = os.pathsep.join([str(library.parent), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), str(int(number))],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=False,
    )
    orphan, guardian = map(int, ended.stdout.split())
    assert ended.returncode == -number
    assert gone(guardian)
    assert not psutil.pid_exists(orphan)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def init(*_, **__): raise OSError('no\\nroom')", "`on=ray`: cannot be used: no room"),
        ("import os; os._exit(3)", "`on=ray`: cannot be used: its process ended"),
    ],
)
def test_a_ray_that_does_not_start_is_one_line(library: Path, source: str, said: str) -> None:
    library.write_text(source)
    with local_ray() as answer, pytest.raises(BadOption, match=said):
        address_in(answer)
