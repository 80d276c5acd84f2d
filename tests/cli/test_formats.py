"""The name of a file decides what it holds, for every command and every suffix."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from onnxperf.cli.main import app
from onnxperf.cli.present import OutputFlags
from onnxperf.errors import BadOption
from onnxperf.results.base import Result, result_classes
from onnxperf.results.formats import FORMATS

RESULTS = sorted(result_classes().values(), key=lambda kind: kind.__name__)


def output_flags() -> dict[str, type[OutputFlags]]:
    """The class of the options for files, by command."""
    functions = {name: app[name].default_command for name in app if not name.startswith("-")}
    functions |= {f"runs {name}": app["runs"][name].default_command for name in app["runs"] if name[0] != "-"}
    found = {}
    for name, function in functions.items():
        assert function is not None
        hint = typing.get_type_hints(function).get("output")
        if isinstance(hint, type) and issubclass(hint, OutputFlags):
            found[name] = hint
    return found


FLAGS = output_flags()


def test_every_command_with_a_result_takes_files() -> None:
    assert {name for name in app if name[0] != "-"} - set(FLAGS) == {"help", "report", "serve"}


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("flags", sorted(set(FLAGS.values()), key=str))
def test_the_longest_known_ending_is_the_format(flags: type[OutputFlags], kind: type[Result[Any]]) -> None:
    for suffix in kind.formats():
        for name in (f"c{suffix}", f"C{suffix.upper()}", f"a.json{suffix}"):
            assert list(flags(output=[name]).files(kind)) == [(name, suffix)]


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_an_ending_that_a_result_does_not_have_is_refused(kind: type[Result[Any]]) -> None:
    for suffix in {*FORMATS, ".xyz", ""} - set(kind.formats()):
        with pytest.raises(BadOption, match=r"a name that ends with .*\.json"):
            list(OutputFlags(output=[f"c{suffix}"]).files(kind))
