"""Which processors there are to take turns on."""

from __future__ import annotations

import os

import pytest

from onnxperf.measure.machine import describe as machine


def test_processors_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {9, 3, 5}, raising=False)
    assert machine.processors() == (3, 5, 9)


def test_there_are_none_where_a_process_cannot_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.processors() == ()
