"""Read and write speed of a worker's threads for arrays of given sizes, using numpy loops that release the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onnxperf.measure.messages import MoveBytes, MovedBytes
from onnxperf.measure.worker.host import Host
from onnxperf.measure.worker.timing import Clock, monotonic_ns, waiting_clock
from onnxperf.records.base import FREE_SHARE

_ROUND_NS = 4_000_000
"""Duration of one round: short compared with disturbances, long compared with starting all threads."""
_FEWEST_ROUNDS = 3
_WAIT_S = 30.0
"""Timeout for a thread that never arrives."""


class _Kernel(NamedTuple):
    """One way to move bytes."""

    arrays: int
    """Number of arrays it reads and writes, which share the memory."""
    move: Callable[[list[Any]], object]


_KERNELS = (
    _Kernel(2, lambda arrays: np.copyto(arrays[1], arrays[0])),
    _Kernel(3, lambda arrays: np.add(arrays[0], arrays[1], out=arrays[2])),
    _Kernel(2, lambda arrays: np.dot(arrays[0], arrays[1])),  # with two streams a core waits less than with one
)


def answer_move(_host: Host, request: MoveBytes) -> MovedBytes:
    """The fastest kernel for each size."""
    with ThreadPoolExecutor(request.threads) as pool:
        found = [_fastest(pool, request, size) for size in request.sizes]
    return MovedBytes([rate for rate, _ in found], [is_free for _, is_free in found])


def _fastest(pool: ThreadPoolExecutor, request: MoveBytes, size_bytes: int) -> tuple[float, bool]:
    """GB per second of the best round of the best kernel, and whether any round was undisturbed by other programs."""
    numbers = max(size_bytes // request.threads // 4, 12)
    # Each thread touches its own memory first, so that the system places it nearby.
    memories = list(pool.map(lambda _: np.ones(numbers, dtype=np.float32), range(request.threads)))
    best, is_free = 0.0, False
    with waiting_clock() as waited:
        for _ in range(1 if waited is None else request.patience):
            for kernel in _KERNELS:
                timed = _rounds(pool, kernel, memories, request.duration_ns // len(_KERNELS), waited)
                best = max(best, timed[0])
                is_free |= timed[1]
            if is_free:
                break
    return best, is_free


def _rounds(
    pool: ThreadPoolExecutor, kernel: _Kernel, memories: list[Any], duration_ns: int, waited: Clock | None
) -> tuple[float, bool]:
    """GB per second of the best round of one kernel, and whether any round was undisturbed."""
    best, is_free = 0.0, False
    end_ns = monotonic_ns() + duration_ns
    calls, rounds = 1, 0
    while rounds < _FEWEST_ROUNDS or monotonic_ns() < end_ns:
        before_ns = waited() if waited is not None else 0
        taken_ns = _round(pool, kernel, memories, calls)
        is_free |= waited is not None and waited() - before_ns <= FREE_SHARE * taken_ns
        best = max(best, calls * _bytes(kernel, memories) / max(taken_ns, 1))
        calls = max(1, min(int(calls * _ROUND_NS / max(taken_ns, 1)), 100_000))
        rounds += 1
    return best, is_free


def _bytes(kernel: _Kernel, memories: list[Any]) -> int:
    return sum(kernel.arrays * (memory.nbytes // kernel.arrays // 4 * 4) for memory in memories)


def _round(pool: ThreadPoolExecutor, kernel: _Kernel, memories: list[Any], calls: int) -> int:
    """Time from the start of the first thread to the end of the last, so that threads sharing a core do not count
    twice."""
    barrier = threading.Barrier(len(memories))
    spans = list(pool.map(partial(_work, barrier, kernel, calls), memories))
    return max(end_ns for _, end_ns in spans) - min(start_ns for start_ns, _ in spans)


def _work(barrier: threading.Barrier, kernel: _Kernel, calls: int, memory: Any) -> tuple[int, int]:
    part = len(memory) // kernel.arrays
    arrays = [memory[place * part : (place + 1) * part] for place in range(kernel.arrays)]
    barrier.wait(_WAIT_S)
    start_ns = monotonic_ns()
    for _ in range(calls):
        kernel.move(arrays)
    return start_ns, monotonic_ns()
