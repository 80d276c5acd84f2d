"""The name of a file decides what it holds, for every command and every suffix."""

from __future__ import annotations

from typing import Any

import pytest
from cyclopts import App

from onnxperf.cli.main import app
from onnxperf.cli.present import Output
from onnxperf.errors import BadOption
from onnxperf.results.base import Show, shows
from onnxperf.results.formats import COMMON

SHOWS = sorted(shows().values(), key=lambda show: show.record.__name__)


def test_every_command_with_a_result_takes_files() -> None:
    names = [name for name in app if name[0] != "-"]
    without = [name for name in names if "--output" not in flags_of(app[name])]
    assert without == ["serve", "help"]


def flags_of(command: App) -> set[str]:
    return {name for each in command.assemble_argument_collection() for name in each.names}


@pytest.mark.parametrize("kind", SHOWS, ids=lambda show: show.record.__name__)
def test_the_longest_known_ending_is_the_format(kind: Show[Any]) -> None:
    for suffix in kind.formats():
        for name in (f"c{suffix}", f"C{suffix.upper()}", f"a.json{suffix}"):
            assert list(Output(output=[name]).files(kind)) == [(name, suffix)]


@pytest.mark.parametrize("kind", SHOWS, ids=lambda show: show.record.__name__)
def test_an_ending_that_a_result_does_not_have_is_refused(kind: Show[Any]) -> None:
    for suffix in {*COMMON, ".xyz", ""} - set(kind.formats()):
        with pytest.raises(BadOption, match=r"a name that ends with .*\.json"):
            list(Output(output=[f"c{suffix}"]).files(kind))
