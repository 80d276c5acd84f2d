"""The process that reads models starts first, where it is certain to be needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from onnxperf.cli.head_start import head_start
head_start(sys.argv[1:])
print("onnxperf.measure.process" in sys.modules, "cyclopts" in sys.modules)
"""


@pytest.mark.parametrize(
    ("arguments", "started"),
    [
        (["view", "{model}"], True),
        (["view", "{model}", "--help"], False),
        (["profile", "trace.json"], False),
        (["runs"], False),
        ([], False),
    ],
)
def test_a_command_that_opens_a_model_starts_its_reader_first(
    arguments: list[str], started: bool, linear_path: Path
) -> None:
    filled = [each.format(model=linear_path) for each in arguments]
    command = [sys.executable, "-c", SCRIPT, *filled]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == [str(started), "False"]
