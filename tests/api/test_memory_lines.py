"""A function of the user in a process of its own, line by line."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from onnxperf.api.memory_lines import memory_lines
from onnxperf.errors import BadInput, BadOption

SOURCE = """\
import numpy
X = numpy.ones(32 << 20, numpy.uint8)

def predict():
    # größer
    for i in range(2):
        X.astype(numpy.uint16)
    if not i:
        print("never")

def fails():
    kept = X + 1
    raise ValueError("[red]no")
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "script.py").write_text(SOURCE, encoding="utf-8")
    return str(tmp_path / "script.py")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's high-water mark is Linux's")
def test_data_of_the_file_are_there_before_and_a_cast_shows_as_a_peak(file: str) -> None:
    record = memory_lines(f"{file}:predict").record
    texts = {line.text.strip(): line for line in record.lines}
    cast = texts["X.astype(numpy.uint16)"]
    assert record.start_bytes is not None
    assert record.start_bytes > 32 << 20
    assert cast.peak_bytes == pytest.approx(64 << 20, abs=2 << 20)
    assert cast.increment_bytes == pytest.approx(0, abs=2 << 20)
    assert texts["def predict():"].resident_bytes == record.start_bytes
    assert texts["# größer"].occurrences == texts['print("never")'].occurrences == 0
    assert "Line 7 needs the most" in record.answer


def test_lines_before_an_error_are_kept(file: str) -> None:
    record = memory_lines(f"{file}:fails").record
    assert (record.status, record.error_line) == ("failed", 13)
    assert record.reason == "ValueError: [red]no"
    assert record.lines[1].increment_bytes == pytest.approx(32 << 20, abs=2 << 20)


def test_a_function_that_only_this_process_knows_has_its_text() -> None:
    def typed_here() -> int:
        return 1 + 1

    record = memory_lines(typed_here).record
    assert [line.text.strip() for line in record.lines] == ["def typed_here() -> int:", "return 1 + 1"]


def test_a_process_that_dies_is_told() -> None:
    record = memory_lines(lambda: os._exit(3)).record
    assert record.status == "crashed"
    assert "exit code 3" in record.answer


def hold(size: int) -> None:
    _held = bytearray(b"x") * size
    time.sleep(20)


@pytest.mark.parametrize(
    ("limit", "status"), [({"timeout": 3.0}, "timeout"), ({"memory_limit": "300MB"}, "oom")], ids=str
)
def test_a_limit_ends_the_call(limit: dict[str, Any], status: str) -> None:
    assert memory_lines(lambda: hold(400 << 20), **limit).record.status == status


@pytest.mark.parametrize(("keywords", "reason"), [({"timeout": 0}, "more than 0 seconds"), ({"dims": {}}, "unknown")])
def test_wrong_options_are_refused(keywords: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        memory_lines(int, **keywords)


@pytest.mark.parametrize("source", ["script", "no.py:f", ":f", "a.py:", "a.py:1+1"])
def test_what_names_no_function_is_refused(source: str) -> None:
    with pytest.raises(BadOption):
        memory_lines(source)


def test_an_unknown_function_lists_those_that_exist(file: str) -> None:
    with pytest.raises(BadInput, match="choose from: fails, predict"):
        memory_lines(f"{file}:predcit")
