"""The owner of a run: a process, identified by its host, number and start time."""

from __future__ import annotations

import os
import platform
from typing import Literal

import psutil
from msgspec import Struct

_CLOCK_STEP_S = 2.0
"""Tolerance of start times: the clock may be adjusted, and numbers are not reused this soon."""


class Owner(Struct, frozen=True, kw_only=True):
    """The process that writes a run."""

    host: str
    pid: int
    started: float
    """Seconds since 1970."""


def this_process() -> Owner:
    """This process."""
    return Owner(host=platform.node(), pid=os.getpid(), started=psutil.Process().create_time())


def state_of(owner: Owner | None) -> Literal["alive", "dead", "elsewhere"]:
    """Whether the process still runs; unknown if it is on another host."""
    if owner is None:
        return "dead"
    if owner.host != platform.node():
        return "elsewhere"
    try:
        process = psutil.Process(owner.pid)
        same = abs(process.create_time() - owner.started) < _CLOCK_STEP_S
        return "alive" if same and process.status() != psutil.STATUS_ZOMBIE else "dead"
    except psutil.AccessDenied:  # it exists, but belongs to another user
        return "alive"
    except psutil.Error:
        return "dead"
