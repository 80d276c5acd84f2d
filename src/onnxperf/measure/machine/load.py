"""Share of the processors that other processes used between two points in time."""

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
"""The kernel counts in steps of 10 ms: with less CPU time, the steps would dominate the share."""
_IDLE = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")
"""Linux also includes these in `user` and `nice`."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """CPU time since the machine started, over the processors available to this process."""

    total_s: float
    """Total time of these processors, used or idle."""
    idle_s: float
    """Idle part of it; time that a host gave to other virtual machines counts as used."""
    own_s: float
    """CPU time of this process and its children, including those that ended."""


def snapshot() -> Snapshot:
    """The current times; two snapshots give a share."""
    total_s = idle_s = 0.0
    for times in _allowed(psutil.cpu_times(percpu=True)):
        counted = {name: value for name, value in times._asdict().items() if name not in _COUNTED_TWICE}
        total_s += sum(counted.values())
        idle_s += sum(counted.get(name, 0.0) for name in _IDLE)
    return Snapshot(total_s=total_s, idle_s=idle_s, own_s=_own_s())


def share_of_others(start: Snapshot, end: Snapshot) -> float | None:
    """Share of the processors, from 0 to 1, used by others; None if the time is too short."""
    total_s = end.total_s - start.total_s
    if total_s < _LEAST_S:
        return None
    used_s = total_s - (end.idle_s - start.idle_s)
    return min(max((used_s - (end.own_s - start.own_s)) / total_s, 0.0), 1.0)


class SinceBefore:
    """Share used by others since the previous call."""

    def __init__(self) -> None:
        self._last = snapshot()

    def __call__(self) -> float | None:
        """The share; None if that time is too short."""
        before, self._last = self._last, snapshot()
        return share_of_others(before, self._last)


def machine_since(start: Snapshot, machine: Machine) -> Machine:
    """The machine with its current state and the share used by others since `start`."""
    return replace(after_the_race(machine), others_share=share_of_others(start, snapshot()))


def _allowed(times: Sequence[Any]) -> list[Any]:
    """The times of the processors available to this process; all if the system does not bind processes."""
    allowed = [times[number] for number in processors() if number < len(times)]
    return allowed or list(times)


def _own_s() -> float:
    """CPU time of this process, its ended children, and its living children with their own ended children."""
    own = os.times()
    living = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended in the meantime
            times = child.cpu_times()
            living += times.user + times.system + times.children_user + times.children_system
    return own.user + own.system + own.children_user + own.children_system + living
