"""Memory that kernels write to before they know their result, and that the next one uses again."""

from __future__ import annotations

import threading

import numpy as np

from onnxperf.runtimes.numpy.base import Array

WORKSPACE_BYTES = 4 << 20
"""What a kernel may use besides its inputs and its result, and the most that a thread keeps between calls."""
_NOTHING = np.empty(0, np.uint8)


class Workspace(threading.local):
    """Memory of a thread that its kernels use in turn: fresh memory would cost more than to fill it.

    No result may lie in it. It is lent to one kernel at a time, so that a call within a call gets memory of its own;
    a kernel that fails does not return it. More than `WORKSPACE_BYTES` is released when it is returned.
    """

    def __init__(self) -> None:
        self._kept: Array = _NOTHING

    def lend(self, count: int) -> Array:
        """That many bytes or more, with anything in them."""
        memory, self._kept = self._kept, _NOTHING
        return memory if memory.size >= count else np.empty(max(count, WORKSPACE_BYTES), np.uint8)

    def take_back(self, memory: Array) -> None:
        """Keep memory for the next kernel; views of it must no longer be used."""
        if memory.size <= WORKSPACE_BYTES:
            self._kept = memory

    @property
    def kept_bytes(self) -> int:
        """What this thread holds between calls."""
        return int(self._kept.size)


WORKSPACE = Workspace()
