"""Limits of a process that reads untrusted files: memory, files, processes."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from onnxperf.limits import free_memory
from onnxperf.model.opened import LARGEST_PROTO_BYTES

_SHARE = 0.8
"""Usable share of the free memory."""
_MOST_PROCESSES = 0
"""No new processes. The kernel does not enforce this for root."""


def confine(threads: bool = False) -> None:
    """From now on, allow no file larger than a model, no new process (or thread, unless `threads`) and no core dump."""
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
    """Limit the additional memory of this process; on systems without such limits, the parent checks it."""
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # an earlier soft limit does not count
        most = _mapped_bytes() + min(more_bytes, int(_SHARE * free_memory().free_bytes))
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _mapped_bytes() -> int:
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()
