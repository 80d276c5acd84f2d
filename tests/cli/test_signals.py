"""Signals at chosen moments: what was measured is shown, nothing stays behind, and the exit code tells the signal."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.depth import often
from tests.measure.nursery import Nursery
from tests.measure.processes import left_behind

ROOT = Path(__file__).parents[2]
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
LINE = "onnxperf: interrupted by {}; nothing to show\n"
SHOWN = "It rolls."

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of Unix")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    commands = Nursery(
        "tests.cli.signalled:run", "onnxperf.render.kit.console", "onnxperf.render.kit.progress", "pandas"
    )
    yield commands
    commands.close()


def ended(nursery: Nursery, tmp_path: Path, moment: str, name: str, *files: str) -> tuple[int, str]:
    """Exit code and output of a command; whatever happens to it, its temporary files are gone."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    nursery.start([moment, name, *files], {"TMPDIR": str(scratch)})
    code = nursery.end()
    assert "Traceback" not in nursery.printed
    assert list(scratch.iterdir()) == []
    return code, nursery.printed


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("moment", ["while measuring", "in a finaliser"])
def test_what_was_measured_until_the_signal_is_shown(nursery: Nursery, tmp_path: Path, moment: str, name: str) -> None:
    code, printed = ended(nursery, tmp_path, moment, name)
    assert code == CODES[name]
    assert SHOWN in printed


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("moment", ["while importing", "no partial result", "another error"])
def test_without_a_result_there_is_one_line(nursery: Nursery, tmp_path: Path, moment: str, name: str) -> None:
    assert ended(nursery, tmp_path, moment, name) == (CODES[name], LINE.format(name))


@pytest.mark.parametrize("name", CODES)
def test_a_signal_while_files_are_written_changes_only_the_exit_code(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    files = [str(tmp_path / "a.md"), str(tmp_path / "b.csv")]
    code, printed = ended(nursery, tmp_path, "while writing", name, *files)
    assert code == CODES[name]
    assert SHOWN in printed
    assert Path(files[0]).read_text() == "whole"
    assert Path(files[1]).read_text().startswith("name,")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_second_signal_ends_at_once(nursery: Nursery, tmp_path: Path, name: str) -> None:
    assert ended(nursery, tmp_path, "twice", name) == (CODES[name], "")


def test_a_terminal_that_closes_may_send_sighup_several_times(nursery: Nursery, tmp_path: Path) -> None:
    code, printed = ended(nursery, tmp_path, "twice", "SIGHUP")
    assert code == CODES["SIGHUP"]
    assert SHOWN in printed


@pytest.mark.parametrize("name", CODES)
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(nursery: Nursery, tmp_path: Path, name: str) -> None:
    code, printed = ended(nursery, tmp_path, "ignored", name)
    assert code == 0
    assert SHOWN in printed


def test_a_signal_while_the_interpreter_ends_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.signalled"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_signal_waits_until_all_is_imported(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("""
import os, signal
os.kill(os.getpid(), signal.SIGTERM)
print("imported")
""")
    code = """
import signal
from onnxperf.cli import exit_codes
exit_codes.catch_signals()
try:
    import slow
    signal.pause()
except KeyboardInterrupt:
    print(exit_codes.interrupted())
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["imported", "143"]


def test_a_terminal_that_goes_away_costs_no_file(tmp_path: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "tests.cli.signalled", str(tmp_path / "a.json")])
    seen = b""
    while b"measuring" not in seen:
        seen += os.read(terminal, 1024)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == CODES["SIGHUP"]
    assert json.loads((tmp_path / "a.json").read_bytes())["interrupted"]


# ---------------------------------------------------------------- a real race

MOMENTS = often(21)


@pytest.fixture(scope="module")
def races() -> Iterator[Nursery]:
    commands = Nursery(
        "tests.cli.signalled:run_command", "onnxperf.cli.commands.bench", "onnxperf.store", "onnxperf.api.bench"
    )
    yield commands
    commands.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_signals_at_random_moments_of_a_race_leave_nothing_behind(
    races: Nursery, linear_path: Path, tmp_path: Path
) -> None:
    chance = random.Random(9)
    tag = uuid.uuid4().hex
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    store = tmp_path / "runs.sqlite"
    command = ["bench", str(linear_path), "--dim", "batch=1,2", "--time", "0.5", "--store", str(store)]
    codes = set()
    for number in range(MOMENTS):
        name = list(CODES)[number % len(CODES)]
        pid = races.start([command], {"ONNXPERF_TEST_TAG": tag, "TMPDIR": str(scratch)})
        if not races.ends_within(chance.uniform(0, 2.5)):
            os.kill(pid, getattr(signal, name))
        code = races.end()
        codes.add(code)
        assert code in (0, CODES[name]), races.printed
        assert "Traceback" not in races.printed
        assert "Exception ignored" not in races.printed
        assert left_behind(tag) == []
        assert list(scratch.iterdir()) == []
    assert codes & set(CODES.values())
