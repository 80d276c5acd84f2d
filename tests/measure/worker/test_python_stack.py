"""Calls while others look on."""

from __future__ import annotations

import json

import pytest

from onnxperf.measure.worker import python_stack


def test_calls_are_made_for_a_while_and_the_clock_is_rarely_asked() -> None:
    now, looks = [0], [0]

    def work() -> None:
        now[0] += 10

    def clock() -> int:
        looks[0] += 1
        return now[0]

    calls = python_stack.call_for(work, 100_000, clock)
    assert now[0] == 10 * calls
    assert now[0] >= 100_000
    assert looks[0] < 20


def test_no_time_means_no_call() -> None:
    assert python_stack.call_for(pytest.fail, 0, lambda: 5) == 0


def test_the_session_is_that_of_pyinstrument_and_every_call_is_made() -> None:
    pytest.importorskip("pyinstrument")
    calls: list[int] = []
    session = json.loads(python_stack.sample(lambda: calls.append(1), 7, 0.001))
    assert len(calls) == 7
    assert {"frame_records", "sample_count", "duration", "cpu_time"} <= set(session)


def test_the_sampler_stops_when_a_call_fails() -> None:
    pytest.importorskip("pyinstrument")

    def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        python_stack.sample(work, 3, 0.001)
    assert python_stack.sample(lambda: None, 1, 0.001)
