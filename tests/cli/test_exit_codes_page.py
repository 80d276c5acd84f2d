"""The page of exit codes says what commands do."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from onnxperf.cli import exit_codes
from onnxperf.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "exit-codes.md").read_text(encoding="utf-8")


def test_the_page_lists_every_code() -> None:
    constants = {value for name, value in vars(exit_codes).items() if name.isupper() and type(value) is int}
    ended = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    table = PAGE.partition("## ")[0]
    listed = [int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for code in row.split(",")]
    assert sorted(listed) == sorted(constants | ended)


def test_the_page_has_a_row_for_every_command() -> None:
    named = re.findall(r"\[([a-z]+)\]\(\1\.md\)", PAGE)
    assert sorted(named) == sorted(name for name in app if not name.startswith("-") and name != "help")
    assert [name for name in named if not (DOCS / f"{name}.md").is_file()] == []
