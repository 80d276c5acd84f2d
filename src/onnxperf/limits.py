"""The share of the machine that this process may use: everything that chooses a size asks here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/")

_UNLIMITED = 2**60
"""Version 1 of control groups writes a huge number for "no limit"."""
_MEMORY_FILES = (
    ("memory.max", "memory.current", ""),
    ("memory.high", "memory.current", ""),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)
"""The limits of a control group, its usage, and the prefix of its figures for cached files."""
_RESOURCE_LIMITS = (("address space", "ulimit -v", "VmSize"), ("data size", "ulimit -d", "VmData"))
"""The kernel's names for the limits of a process, the command that sets each, and what counts against it."""


class FreeMemory(NamedTuple):
    """Memory that this process can still use."""

    free_bytes: int
    limit_bytes: int | None = None
    """The total that it is part of; None if that is the whole machine."""
    source: str = ""
    """What sets the limit."""


def free_memory(root: Path = ROOT) -> FreeMemory:
    """The memory available without swapping, within all control groups and limits of this process."""
    return min([FreeMemory(_machine_free(root)), *_groups(root), *_resources(root)], key=lambda each: each.free_bytes)


def memory_limit(root: Path = ROOT) -> FreeMemory | None:
    """The tightest memory limit set for this process, however much of it is free."""
    found = [each for each in (*_groups(root), *_resources(root)) if each.limit_bytes is not None]
    return min(found, key=lambda each: each.limit_bytes or 0, default=None)


def cpu_quota(root: Path = ROOT) -> float | None:
    """The tightest quota of this process's control group and its parents, in CPUs."""
    quotas = []
    for folder in _group_folders(root, "cpu"):
        words = (read_text(folder / "cpu.max") or "").split()  # version 2
        if not words:
            words = [read_text(folder / name) or "" for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]  # version 1
        if len(words) == 2 and all(map(_is_whole, words)) and int(words[1]):
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def allowed_cpus() -> tuple[int, ...]:
    """The processors that this process may run on; empty if the system cannot bind processes to processors."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def usable_cpus(root: Path = ROOT) -> int:
    """Logical processors that this process may use, within its affinity and quotas."""
    allowed = len(allowed_cpus()) or os.cpu_count() or 1
    quota = cpu_quota(root)
    return allowed if quota is None else min(allowed, max(1, int(quota)))


def read_text(path: Path) -> str | None:
    """The contents of a small file without surrounding white space; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _machine_free(root: Path) -> int:
    available = re.search(r"^MemAvailable:\s+(\d+) kB$", read_text(root / "proc/meminfo") or "", re.MULTILINE)
    if available is not None:
        return int(available[1]) * 1024
    import psutil  # if the kernel has no such file

    return int(psutil.virtual_memory().available)


def _groups(root: Path) -> Iterator[FreeMemory]:
    """What is free in this process's control group and its parents; cached files are dropped when memory is needed."""
    for folder in _group_folders(root, "memory"):
        for limit_name, used_name, prefix in _MEMORY_FILES:
            limit = read_text(folder / limit_name) or ""
            if _is_whole(limit) and int(limit) < _UNLIMITED:
                used = read_text(folder / used_name) or ""
                taken = int(used) - _cached(folder, prefix) if _is_whole(used) else 0
                free = max(0, int(limit) - max(0, taken))
                yield FreeMemory(free, int(limit), f"cgroup {limit_name}")


def _cached(folder: Path, prefix: str) -> int:
    figures = re.findall(rf"^{prefix}(?:in)?active_file (\d+)$", read_text(folder / "memory.stat") or "", re.MULTILINE)
    return sum(map(int, figures))


def _resources(root: Path) -> Iterator[FreeMemory]:
    """What is free within the limits that the process inherited."""
    limits, status = read_text(root / "proc/self/limits") or "", read_text(root / "proc/self/status") or ""
    for name, command, counted in _RESOURCE_LIMITS:
        limit = re.search(rf"^Max {name}\s+(\d+)\s", limits, re.MULTILINE)
        used = re.search(rf"^{counted}:\s+(\d+) kB$", status, re.MULTILINE)
        if limit is not None and int(limit[1]) < _UNLIMITED:
            taken = int(used[1]) * 1024 if used is not None else 0
            yield FreeMemory(max(0, int(limit[1]) - taken), int(limit[1]), command)


def _group_folders(root: Path, controller: str) -> list[Path]:
    """The folders of this process's control group, from the innermost up to the root."""
    folders: list[Path] = []
    for line in (read_text(root / "proc/self/cgroup") or "0::/").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / (controller if controllers else "")
        own = Path(path.lstrip("/"))
        folders += [top / parent for parent in (own, *own.parents)]
    return list(dict.fromkeys(folders))


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()
