"""The temporary files of commands: gone at their end, or with the next command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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
