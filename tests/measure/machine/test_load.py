"""How much of the processors others used, from made times and once from those of this machine."""

from __future__ import annotations

from typing import NamedTuple

import psutil
import pytest

from onnxperf.measure.machine import load
from onnxperf.measure.machine.load import Snapshot, share_of_others, snapshot
from tests.render.examples import machine


class Times(NamedTuple):
    """Kinds of time, as psutil names them on Linux."""

    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    softirq: float
    steal: float
    guest: float
    guest_nice: float


class FewTimes(NamedTuple):
    """The same where the system has fewer kinds."""

    user: float
    system: float
    idle: float


def at(total: float, idle: float, own: float) -> Snapshot:
    return Snapshot(total_s=total, idle_s=idle, own_s=own)


@pytest.mark.parametrize(
    ("start", "end", "share"),
    [
        (at(100, 50, 10), at(120, 70, 10), 0.0),
        (at(100, 50, 10), at(120, 60, 20), 0.0),
        (at(100, 50, 10), at(120, 60, 10), 0.5),
        (at(100, 50, 10), at(120, 50, 15), 0.75),
        (at(100, 50, 10), at(120, 60, 20.3), 0.0),
        (at(100, 50, 10), at(120, 49.9, 10), 1.0),
        (at(100, 50, 10), at(100.4, 50.2, 10), None),
        (at(100, 50, 10), at(100, 50, 10), None),
    ],
    ids=[
        "all is idle",
        "only we compute",
        "others use half",
        "we and others use everything",
        "our time is counted more finely than the processors'",
        "a counter of the kernel went back",
        "too short to say",
        "no time at all",
    ],
)
def test_what_is_neither_idle_nor_ours_was_used_by_others(start: Snapshot, end: Snapshot, share: float | None) -> None:
    assert share_of_others(start, end) == pytest.approx(share)


@pytest.mark.parametrize(
    ("processors", "total", "idle"),
    [((0, 1), 222.0, 80.0), ((1,), 122.0, 50.0), ((), 222.0, 80.0), ((7,), 222.0, 80.0)],
    ids=["both", "one of them", "processes cannot be bound", "the kernel does not list ours"],
)
def test_only_processors_that_we_may_use_are_counted_and_guests_once(
    monkeypatch: pytest.MonkeyPatch, processors: tuple[int, ...], total: float, idle: float
) -> None:
    first = Times(50, 5, 10, 25, 5, 1, 2, 2, 40, 3)
    second = Times(60, 0, 10, 40, 10, 0, 0, 2, 0, 0)
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [first, second] if percpu else None)
    monkeypatch.setattr(load, "processors", lambda: processors)
    seen = snapshot()
    assert (seen.total_s, seen.idle_s) == (total, idle)


def test_a_system_with_fewer_kinds_of_time_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [FewTimes(3, 2, 5)] if percpu else None)
    monkeypatch.setattr(load, "processors", tuple)
    seen = snapshot()
    assert (seen.total_s, seen.idle_s) == (10, 5)


def test_the_times_of_this_machine_never_go_back() -> None:
    first, second = snapshot(), snapshot()
    assert 0 < first.own_s <= second.own_s
    assert 0 < first.total_s <= second.total_s
    assert 0 <= first.idle_s < first.total_s


def test_a_machine_has_what_others_used_of_it_since_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "snapshot", lambda: at(120, 60, 10))
    found = load.machine_since(at(100, 50, 10), machine(load_after=None))
    assert found.others_share == 0.5
    assert found.load_before == machine().load_before
