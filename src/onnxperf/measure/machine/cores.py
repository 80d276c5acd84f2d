"""How many cores and processors this process may use."""

from __future__ import annotations

import os

import psutil

from onnxperf.measure.machine.kernel import cpu_quota


def usable_cores() -> int:
    """Physical cores that this process may use: what onnxruntime takes by default, but within cpusets and quotas."""
    physical = psutil.cpu_count(logical=False) or 1
    logical = psutil.cpu_count() or physical
    share = usable_cpus() * physical / logical
    return max(1, min(round(share), physical))


def usable_cpus() -> int:
    """Logical processors that this process may use, within cpusets and quotas."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return allowed if quota is None else min(allowed, max(1, int(quota)))
