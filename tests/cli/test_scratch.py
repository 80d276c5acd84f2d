"""The temporary files of commands: gone at their end, or with the next command."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onnxperf import scratch
from onnxperf.cli.surroundings import shortage

SCRIPT = """
import os, signal, sys, tempfile
from onnxperf.cli.scratch import scratch_folder

with scratch_folder():
    path = tempfile.mkdtemp(prefix="model-")
    open(os.path.join(path, "model.onnx"), "w").close()
    print(path, flush=True)
    match sys.argv[1]:
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "waits":
            sys.stdin.read()
"""


def command(base: Path, ending: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, ending],
        env={**os.environ, "TMPDIR": str(base)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks of Unix")


def test_what_a_killed_command_leaves_goes_with_the_next_and_what_is_in_use_stays(tmp_path: Path) -> None:
    (tmp_path / "onnxperf-of-another-program").mkdir()
    with command(tmp_path, "killed") as killed:
        left = Path(killed.communicate()[0].strip())
    assert killed.returncode == -signal.SIGKILL
    assert (left / "model.onnx").is_file()
    with command(tmp_path, "waits") as waiting:
        assert waiting.stdout is not None
        used = Path(waiting.stdout.readline().strip())
        assert not left.exists()
        with command(tmp_path, "ends") as third:
            third.communicate()
        assert (used / "model.onnx").is_file()
        waiting.communicate("")
    assert [path.name for path in tmp_path.iterdir()] == ["onnxperf-of-another-program"]


def test_a_folder_for_temporary_files_that_does_not_exist_costs_nothing(tmp_path: Path) -> None:
    with command(tmp_path / "missing", "ends") as ended:
        path = Path(ended.communicate()[0].strip())
    assert ended.returncode == 0
    (path / "model.onnx").unlink()
    path.rmdir()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), "cannot write temporary files; "),
        (OSError(errno.EFBIG, "File too large"), "cannot write a temporary file: File too large; "),
        (OSError(errno.ENOSPC, "No space left", "/tmp/a"), "cannot write '/tmp/a': No space left; "),
        (FileNotFoundError(2, "No such file or directory", "a"), None),
        (ValueError("a"), None),
    ],
)
def test_a_machine_that_lets_nothing_be_written_is_one_line(error: Exception, line: str | None) -> None:
    found = shortage(error)
    assert found is None if line is None else str(found).startswith(line)


def test_without_any_file_a_command_ends_with_one_line(linear_path: Path, tmp_path: Path) -> None:
    limits = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    command = [
        sys.executable,
        "-c",
        f"{limits}runpy.run_module('onnxperf', run_name='__main__')",
        "check",
        str(linear_path),
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "missing")}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("onnxperf: cannot write temporary files; set TMPDIR to ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("ended", "stays"), [("this process", False), ("a forked child", True)])
def test_a_forked_child_leaves_the_files_of_its_parent_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: str, stays: bool
) -> None:
    remove = scratch.remover(tmp_path)
    if ended == "a forked child":
        monkeypatch.setattr(os, "getpid", lambda: -1)
    remove()
    assert tmp_path.exists() == stays
