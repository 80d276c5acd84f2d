"""How much of the processors other processes used between two moments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import psutil
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.measure.machine.describe import after_the_race, processors
from onnxperf.records.base import Machine

_LEAST_S = 0.5
"""The kernel counts in steps of 10 ms: within less processor time, a share would be of the steps."""
_IDLE = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")
"""Linux has these in `user` and `nice` too."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """Processor time since the machine started, over the processors that this process may use."""

    total_s: float
    """Time of these processors, used or not."""
    idle_s: float
    """What of it was not used; what the host of a virtual machine gave to others was."""
    own_s: float
    """What this process and its children used, those that ended included."""


def snapshot() -> Snapshot:
    """The times of now; two of them give a share."""
    total_s = idle_s = 0.0
    for times in _allowed(psutil.cpu_times(percpu=True)):
        counted = {name: value for name, value in times._asdict().items() if name not in _COUNTED_TWICE}
        total_s += sum(counted.values())
        idle_s += sum(counted.get(name, 0.0) for name in _IDLE)
    return Snapshot(total_s=total_s, idle_s=idle_s, own_s=_own_s())


def share_of_others(start: Snapshot, end: Snapshot) -> float | None:
    """The part of the processors, from 0 to 1, that others used; None where the time is too short to say."""
    total_s = end.total_s - start.total_s
    if total_s < _LEAST_S:
        return None
    used_s = total_s - (end.idle_s - start.idle_s)
    return min(max((used_s - (end.own_s - start.own_s)) / total_s, 0.0), 1.0)


class SinceBefore:
    """The share of others since it was asked before."""

    def __init__(self) -> None:
        self._last = snapshot()

    def __call__(self) -> float | None:
        """The share; None where that time is too short to say."""
        before, self._last = self._last, snapshot()
        return share_of_others(before, self._last)


def machine_since(start: Snapshot, machine: Machine) -> Machine:
    """The machine with its state of now, and with what others used of it since `start`."""
    return replace(after_the_race(machine), others_share=share_of_others(start, snapshot()))


def _allowed(times: Sequence[Any]) -> list[Any]:
    """The times of the processors that this process may use; all where the system does not bind processes."""
    allowed = [times[number] for number in processors() if number < len(times)]
    return allowed or list(times)


def _own_s() -> float:
    """Processor time of this process, of its children that ended, and of those that live, with what ended in these."""
    own = os.times()
    living = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it ended meanwhile
            times = child.cpu_times()
            living += times.user + times.system + times.children_user + times.children_system
    return own.user + own.system + own.children_user + own.children_system + living
