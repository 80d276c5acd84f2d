"""Number of cores available to this process."""

from __future__ import annotations

import psutil

from onnxperf.limits import usable_cpus


def usable_cores() -> int:
    """Physical cores available to this process: onnxruntime's default, but within cpusets and quotas."""
    physical = psutil.cpu_count(logical=False) or 1
    logical = psutil.cpu_count() or physical
    share = usable_cpus() * physical / logical
    return max(1, min(round(share), physical))
