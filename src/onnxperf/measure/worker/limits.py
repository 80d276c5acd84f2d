"""Limits of a process that reads what strangers made: memory, files, processes."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from onnxperf.limits import free_memory
from onnxperf.model.opened import LARGEST_PROTO_BYTES

_SHARE = 0.8
"""Part of the memory that is free."""
_MOST_PROCESSES = 0
"""More than there are already: none. The kernel does not hold root to that."""


def confine(threads: bool = False) -> None:
    """From now on: no file larger than a model, no process, no core dump; for the kernel, threads are processes."""
    if sys.platform == "win32":
        return
    import resource

    wanted = {
        resource.RLIMIT_FSIZE: LARGEST_PROTO_BYTES,
        resource.RLIMIT_CORE: 0,
        **({} if threads else {resource.RLIMIT_NPROC: _MOST_PROCESSES}),
    }
    for kind, most in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


def allow_memory(more_bytes: int) -> None:
    """Let this process take so much more memory than it has, and no more; where the kernel cannot, the parent looks."""
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # what was allowed before does not count as a limit
        most = _mapped_bytes() + min(more_bytes, int(_SHARE * free_memory().free_bytes))
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _mapped_bytes() -> int:
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()
