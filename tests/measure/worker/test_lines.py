"""Memory line by line: a real function, in this process."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxperf.errors import BadInput
from onnxperf.measure import memory
from onnxperf.measure.messages import TracedLines
from onnxperf.measure.worker.lines import NamedFunction, trace_lines
from onnxperf.records.lines import LineMemory

MB = 1 << 20
SLACK = 2 * MB
KEPT: list[Any] = []

kernels = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's high-water mark is Linux's")


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    KEPT.clear()


def block(megabytes: int) -> Any:
    """Memory that goes back to the kernel at once; the C library would keep some of what it gave."""
    array = np.frombuffer(mmap.mmap(-1, megabytes * MB), dtype=np.uint8)
    array[:] = 1
    return array


def spike_and_keep() -> None:
    block(64)
    KEPT.append(block(32))


def loop() -> None:
    for _ in range(3):
        KEPT.append(block(8))
    KEPT.pop()


def fails() -> None:
    KEPT.append(block(16))
    raise ValueError("on\npurpose")


def comprehension() -> None:
    KEPT.extend([block(8) for _ in range(4)])
    KEPT.append(sum(len(block(8)) for _ in range(4)))


def recursive(depth: int = 1) -> None:
    if depth:
        recursive(depth - 1)
    else:
        block(32)


def generator() -> Iterator[int]:
    KEPT.append(block(8))
    yield 1
    KEPT.append(block(16))


def caught() -> None:
    try:
        raise KeyError
    except KeyError:
        KEPT.append(block(8))


def line(traced: TracedLines, text: str) -> LineMemory:
    """The line whose text contains this."""
    numbers = [traced.first_line + place for place, each in enumerate(traced.texts) if text in each]
    return next(each for each in traced.lines if each.number == numbers[0])


def near(measured: int | None, megabytes: int) -> bool:
    return measured is not None and abs(measured - megabytes * MB) <= SLACK


@kernels
def test_a_transient_shows_in_the_peak_and_what_stays_in_the_increment() -> None:
    traced = trace_lines(spike_and_keep)
    spike, kept = line(traced, "block(64)"), line(traced, "block(32)")
    assert near(spike.peak_bytes, 64)
    assert near(spike.increment_bytes, 0)
    assert near(kept.peak_bytes, 32)
    assert near(kept.increment_bytes, 32)
    assert traced.exact
    assert near(traced.end_bytes - traced.start_bytes, 32)


@kernels
def test_a_loop_sums_its_increments_and_keeps_its_worst_peak() -> None:
    traced = trace_lines(loop)
    body = line(traced, "append")
    assert (body.occurrences, line(traced, "for _").occurrences) == (3, 4)
    assert near(body.increment_bytes, 24)
    assert near(body.peak_bytes, 8)
    assert near(line(traced, "pop").increment_bytes, -8)


def test_an_error_ends_the_account_and_is_recorded_with_its_line() -> None:
    traced = trace_lines(fails)
    assert near(line(traced, "block(16)").increment_bytes, 16)
    assert traced.error == "ValueError: on purpose"
    assert traced.error_line is not None
    assert "raise" in traced.texts[traced.error_line - traced.first_line]


@kernels
def test_comprehensions_and_generators_count_within_their_line() -> None:
    traced = trace_lines(comprehension)
    assert near(line(traced, "extend").increment_bytes, 32)
    summed = line(traced, "sum(")
    assert near(summed.increment_bytes, 0)
    assert near(summed.peak_bytes, 8) or near(summed.peak_bytes, 16)  # the next block may come before the last goes


@kernels
def test_a_line_that_calls_its_own_function_has_the_peak_of_the_inner_call() -> None:
    traced = trace_lines(recursive)
    assert near(line(traced, "recursive(depth - 1)").peak_bytes, 32)
    assert near(line(traced, "block(32)").peak_bytes, 32)


def test_a_generator_is_run_to_its_end() -> None:
    traced = trace_lines(generator)
    assert near(line(traced, "block(16)").increment_bytes, 16)


def test_an_error_that_the_function_catches_is_no_error() -> None:
    traced = trace_lines(caught)
    assert traced.error == ""
    assert near(line(traced, "block(8)").increment_bytes, 8)


def test_without_the_kernels_help_peaks_are_unknown_and_increments_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "reset_peak", lambda: False)
    traced = trace_lines(spike_and_keep)
    assert not traced.exact
    assert {each.peak_bytes for each in traced.lines} == {None}
    assert near(line(traced, "block(32)").increment_bytes, 32)


def decorated(function: Callable[[], None]) -> Callable[[], None]:
    @wraps(function)
    def wrapper() -> None:
        function()

    return wrapper


@pytest.mark.parametrize("function", [decorated(spike_and_keep), partial(spike_and_keep)])
def test_what_is_wrapped_around_a_function_is_looked_through(function: Callable[[], None]) -> None:
    assert line(trace_lines(function), "block(64)").occurrences == 1


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [(len, "not a Python function"), (near, "takes measured, megabytes"), (coroutine, "is a coroutine")],
)
def test_what_has_no_lines_to_call_is_refused(function: Callable[..., object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        trace_lines(function)


def test_a_debugger_that_was_there_before_is_there_afterwards() -> None:
    before = sys.gettrace()
    trace_lines(caught)
    trace_lines(fails)
    assert sys.gettrace() is before


# ---------------------------------------------------------------- files


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Writes a file of the user; modules and paths are as before afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_a_file_may_bear_the_name_of_a_module_in_use(written: Callable[[str, str], str]) -> None:
    path = written("json.py", "größe = [1]\ndef prüfe():\n    größe.append('µ')\n")
    traced = trace_lines(NamedFunction(path, "prüfe"))
    assert traced.texts == ["def prüfe():", "    größe.append('µ')"]
    assert traced.first_line == 2
    assert traced.file == path


def test_a_file_finds_its_neighbours(written: Callable[[str, str], str]) -> None:
    written("neighbour_of_lines.py", "value = 3\n")
    path = written("asks_neighbour.py", "import neighbour_of_lines\ndef f():\n    return neighbour_of_lines.value\n")
    assert trace_lines(NamedFunction(path, "f")).error == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import sys; sys.exit(3)\n", "SystemExit: 3"),
        ("def g(): pass\n", "has no function 'f'; choose from: g"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    written: Callable[[str, str], str], text: str, words: str
) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        trace_lines(NamedFunction(written("unusable.py", text), "f"))
    assert "\n" not in str(refused.value)
