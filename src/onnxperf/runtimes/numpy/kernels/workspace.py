"""Scratch memory for kernels, reused from one kernel to the next."""

from __future__ import annotations

import threading

import numpy as np

from onnxperf.runtimes.numpy.base import Array

WORKSPACE_BYTES = 4 << 20
"""The most memory that a kernel may use in addition to its inputs and result, and that a thread keeps between calls."""
_NOTHING = np.empty(0, np.uint8)


class Workspace(threading.local):
    """Memory of a thread that its kernels use in turn: allocating fresh memory would cost more than filling it.

    No result may lie in it. It is lent to one kernel at a time, so a call within a call gets separate memory; a kernel
    that fails does not return it. If it is larger than `WORKSPACE_BYTES`, it is released when it is returned.
    """

    def __init__(self) -> None:
        self._kept: Array = _NOTHING

    def lend(self, count: int) -> Array:
        """At least that many bytes, uninitialized."""
        memory, self._kept = self._kept, _NOTHING
        return memory if memory.size >= count else np.empty(max(count, WORKSPACE_BYTES), np.uint8)

    def take_back(self, memory: Array) -> None:
        """Keep memory for the next kernel; views of it must no longer be used."""
        if memory.size <= WORKSPACE_BYTES:
            self._kept = memory

    @property
    def kept_bytes(self) -> int:
        """The bytes that this thread holds between calls."""
        return int(self._kept.size)


WORKSPACE = Workspace()
