"""Memory of a process as reported by the kernel: resident size, high-water mark since a reset, and trimming."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from functools import cache
from pathlib import Path
from typing import Any

from onnxperf.records.memory import Resident

PROC = Path("/proc")
"""Where the kernel describes processes; psutil is used on other systems."""
_FORGET_PEAK = "5"
"""Value for /proc/self/clear_refs that resets the high-water mark to the current resident size."""


def read_resident(pid: int | None = None) -> Resident:
    """Resident memory of a process [default: this one]; (0, 0) if it has ended."""
    fields = _status(pid)
    if "RssAnon" in fields:
        return Resident(
            anonymous_bytes=fields["RssAnon"], file_bytes=fields.get("RssFile", 0) + fields.get("RssShmem", 0)
        )
    return Resident(anonymous_bytes=_resident_of_psutil(pid), file_bytes=0)


def resident_bytes(pid: int) -> int:
    """Total resident memory of another process; cheap enough for a thousand readings per second."""
    try:
        with open(f"{PROC}/{pid}/statm", "rb") as file:  # noqa: PTH123 - a Path would take longer than the read
            return int(file.read().split()[1]) * _page_bytes()
    except (OSError, IndexError, ValueError):
        return _resident_of_psutil(pid)


def reset_peak() -> bool:
    """Reset the high-water mark of this process; False if the kernel cannot."""
    try:
        (PROC / "self/clear_refs").write_text(_FORGET_PEAK, encoding="ascii")
    except OSError:
        return False
    return "VmHWM" in _status(None)


def peak_bytes(pid: int | None = None) -> int | None:
    """Peak resident memory since the last reset; None if the kernel does not report it."""
    return _status(pid).get("VmHWM")


def trim() -> None:
    """Collect garbage and release free memory, so that earlier use does not hide later needs."""
    gc.collect()
    if (give_back := _malloc_trim()) is not None:
        give_back(0)


@cache
def _malloc_trim() -> Any:
    """The function of glibc; other C libraries release memory themselves."""
    if sys.platform != "linux":
        return None
    with contextlib.suppress(OSError, AttributeError):
        return ctypes.CDLL(None).malloc_trim
    return None


@cache
def _page_bytes() -> int:
    import resource

    return resource.getpagesize()


def _status(pid: int | None) -> dict[str, int]:
    """Sizes in the kernel's status of a process."""
    name = "self" if pid is None else str(pid)
    try:
        text = (PROC / name / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    lines = (line.split() for line in text.splitlines() if line.endswith(" kB"))
    return {line[0].removesuffix(":"): int(line[1]) * 1024 for line in lines}


def _resident_of_psutil(pid: int | None) -> int:
    import psutil  # not imported where the kernel reports everything, so that workers start faster

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
