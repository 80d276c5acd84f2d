"""What the kernel shows in files: texts, and the limits of this process's control groups."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/")


def read_text(path: Path) -> str | None:
    """The contents of a small file without white space around them; None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def cpu_quota(root: Path = ROOT) -> float | None:
    """The narrowest quota of this process's cgroup and those above it, in cpus."""
    quotas = []
    for folder in _cgroup_folders(root, "cpu"):
        words = (read_text(folder / "cpu.max") or "").split()  # version 2
        if not words:
            words = [read_text(folder / name) or "" for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]  # version 1
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def memory_limit(root: Path = ROOT) -> int | None:
    """The narrowest memory limit of this process's cgroup and those above it, in bytes."""
    limits = []
    for folder in _cgroup_folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = read_text(folder / name) or ""
            # Version 1 writes a huge number for "no limit".
            if text.isdigit() and int(text) < 2**60:
                limits.append(int(text))
    return min(limits, default=None)


def _cgroup_folders(root: Path, controller: str) -> list[Path]:
    """The folders of this process's cgroup, from its own up to the top."""
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
