"""The innermost loops: call a function many times and read the clock around the calls."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice, pairwise, repeat
from operator import truediv
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxperf.measure import messages
from onnxperf.measure.messages import TimedBlock, TimedEach, TimedSplit, WarmedUp
from onnxperf.measure.worker import retracing
from onnxperf.records.base import FREE_SHARE

if TYPE_CHECKING:
    from onnxperf.measure.worker.host import Host

Clock = Callable[[], int]
Work = Callable[[], object]

monotonic_ns: Clock = time.perf_counter_ns
"""The clock of all measurements; on Linux it is the same for every process of the machine."""
_SETTLING_S = 0.003
"""Pause after the last call: threads that still wait then get a processor, and their wait is counted."""
cpu_time_ns: Clock = time.process_time_ns
"""CPU time (user and system) of all threads of this process, without its children."""


def warm_up(work: Work, duration_ns: int, clock: Clock = monotonic_ns) -> float:
    """Call `work` untimed for `duration_ns`, at least once; returns the median time of a call in the second half.

    On a busy machine a mean would be distorted by single calls that wait for a processor.
    """
    start = now = clock()
    first_half: list[int] = []
    second_half: list[int] = []
    while not (first_half or second_half) or now - start < duration_ns:
        before = now
        work()
        now = clock()
        (first_half if now - start <= duration_ns // 2 else second_half).append(now - before)
    return float(np.median(second_half or first_half))  # statistics would import modules that no worker needs


def time_block(
    work: Work,
    calls: int,
    warm_ns: int,
    pieces: int = 1,
    clock: Clock = monotonic_ns,
    cpu_clock: Clock = cpu_time_ns,
    waited: Clock | None = None,
    longest_ns: int = 0,
) -> TimedBlock:
    """Time a block of `calls` calls, in so many pieces, after untimed calls that refill caches.

    `waited` is read between pieces, which are then timed separately.
    """
    warm_up(work, warm_ns, clock)
    sizes = sizes_of(calls, pieces)
    ends = [0] * len(sizes)
    begins, waits = [0] * len(sizes), [0] * (len(sizes) + 1)
    with _no_garbage_collection():
        cpu_ns = cpu_clock()  # outside the timed region: reading it takes microseconds
        if waited is not None:
            waits[0] = waited()
        begins[0] = clock()
        for piece, size in enumerate(sizes):
            for _ in repeat(None, size):
                work()
            ends[piece] = clock()
            if waited is not None:
                waits[piece + 1] = waited()
                begins[piece + 1 : piece + 2] = [clock()] if piece + 1 < len(sizes) else []
            if longest_ns and ends[piece] - begins[0] > longest_ns:
                sizes, ends, begins = sizes[: piece + 1], ends[: piece + 1], begins[: piece + 1]
                break
        cpu_ns = cpu_clock() - cpu_ns
    if waited is None:
        begins[1:] = ends[:-1]
    times = [end - begin for begin, end in zip(begins, ends, strict=True)]
    quickest_ns = min(map(truediv, times, sizes))
    free = None if waited is None else _free_pieces(times, waits[: len(times) + 1])
    return TimedBlock(begins[0], sum(times), [], quickest_ns, cpu_ns, free_pieces=free, calls=_if_fewer(sizes, calls))


def _free_pieces(times: Sequence[int], waits: Sequence[int]) -> int:
    """Number of pieces in which all threads together waited for a processor for a negligible time."""
    return sum(
        after - before <= FREE_SHARE * time for time, (before, after) in zip(times, pairwise(waits), strict=True)
    )


def sizes_of(calls: int, pieces: int) -> list[int]:
    """Number of calls in each piece of a block, which differ by at most one."""
    return [calls * (piece + 1) // pieces - calls * piece // pieces for piece in range(pieces)]


def _if_fewer(sizes: Sequence[int], calls: int) -> int | None:
    """Number of calls of a block that ended early, else None."""
    done = sum(sizes)
    return done if done < calls else None


def time_each(
    work: Work,
    calls: int,
    warm_ns: int | None,
    clock: Clock = monotonic_ns,
    waited: Clock | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> TimedEach:
    """Time each of `calls` calls; with `warm_ns` None there are no other calls, not even to warm up."""
    if warm_ns is not None:
        warm_up(work, warm_ns, clock)
    durations, waits = [0] * calls, [0] * (calls + 1)
    with _no_garbage_collection():
        if waited is not None:
            waits[0] = waited()
        for turn in range(calls):
            start = clock()
            work()
            durations[turn] = clock() - start
            if waited is not None:
                waits[turn + 1] = waited()
    if waited is None:
        return TimedEach(durations)
    sleep(_SETTLING_S)
    waits[-1] = waited()
    return TimedEach(durations, waits_of_calls(durations, waits))


def waits_of_calls(durations: Sequence[int], readings: Sequence[int]) -> list[int]:
    """How long threads waited in each call: the kernel counts a wait when it ends, possibly some calls later.

    Waits that exceed the time of a call are therefore attributed to earlier calls.
    """
    waits, earlier = [0] * len(durations), 0
    for turn in reversed(range(len(durations))):
        counted = readings[turn + 1] - readings[turn] + earlier
        waits[turn] = min(counted, durations[turn])
        earlier = counted - waits[turn]
    return waits


def time_each_in_block(
    work: Work,
    calls: int,
    warm_ns: int,
    pieces: int = 1,
    clock: Clock = monotonic_ns,
    cpu_clock: Clock = cpu_time_ns,
    waited: Clock | None = None,
    longest_ns: int = 0,
) -> TimedBlock:
    """Time a block of `calls` calls like `time_block`, and also each of them."""
    warm_up(work, warm_ns, clock)
    waits = [0] * (calls + 1)
    with _no_garbage_collection():
        cpu_ns = cpu_clock()
        if waited is not None:
            waits[0] = waited()
        start = clock()
        durations = [0] * calls
        for turn in range(calls):
            begin = clock()
            work()
            durations[turn] = clock() - begin
            if waited is not None:
                waits[turn + 1] = waited()
            if longest_ns and begin + durations[turn] - start > longest_ns:
                del durations[turn + 1 :]
                break
        total = clock() - start
        cpu_ns = cpu_clock() - cpu_ns
    done = len(durations)
    pieces, fewer = min(pieces, done), done if done < calls else None
    if waited is None:
        return TimedBlock(start, total, durations, _quickest(durations, pieces), cpu_ns, calls=fewer)
    ends = list(accumulate(sizes_of(done, pieces), initial=0))
    times = [sum(durations[begin:end]) for begin, end in pairwise(ends)]
    free, quickest_ns = _free_pieces(times, [waits[end] for end in ends]), _quickest(durations, pieces)
    return TimedBlock(start, sum(durations), durations, quickest_ns, cpu_ns, free_pieces=free, calls=fewer)


def time_paced(
    work: Work,
    calls: int,
    warm_ns: int,
    every_ns: int,
    pieces: int = 1,
    clock: Clock = monotonic_ns,
    cpu_clock: Clock = cpu_time_ns,
    sleep: Callable[[float], object] = time.sleep,
) -> TimedBlock:
    """Time `calls` calls one by one, each `every_ns` after the previous one; the block's time is that of its calls.

    The process sleeps in between and before the first call, so that each call follows idle time, during which only
    spinning threads use the processor. If a call takes longer, the next one starts at once, and the pace continues from
    there.
    """
    warm_up(work, warm_ns, clock)
    sleep(every_ns / 1e9)
    durations = [0] * calls
    with _no_garbage_collection():
        cpu_ns = cpu_clock()
        begin = due = clock()
        for turn in range(calls):
            start = clock()
            work()
            end = clock()
            durations[turn] = end - start
            due = max(due + every_ns, end)
            if (pause_ns := due - clock()) > 0:
                sleep(pause_ns / 1e9)
        span_ns = clock() - begin
        cpu_ns = cpu_clock() - cpu_ns
    quickest_ns = _quickest(durations, pieces)
    return TimedBlock(begin, sum(durations), durations, quickest_ns, cpu_ns, span_ns)


def _quickest(durations: list[int], pieces: int) -> float:
    left = iter(durations)
    return min(sum(islice(left, size)) / size for size in sizes_of(len(durations), pieces))


def time_split(
    prepare: Callable[[], Callable[[], Any]],
    fetch: Callable[[Any], object],
    calls: int,
    warm_ns: int,
    clock: Clock = monotonic_ns,
) -> tuple[list[int], list[int], list[int]]:
    """Time the parts of each of `calls` calls: preparing, computing, fetching.

    Freeing is part of a call too: freeing inputs counts as preparing, freeing outputs as fetching.
    """
    warm_up(lambda: fetch(prepare()()), warm_ns, clock)
    prepare_ns, compute_ns, fetch_ns = [0] * calls, [0] * calls, [0] * calls
    with _no_garbage_collection():
        for turn in range(calls):
            start = clock()
            compute = prepare()
            prepared = clock()
            outputs = compute()
            computed = clock()
            fetch(outputs)
            del outputs
            fetched = clock()
            del compute
            prepare_ns[turn] = prepared - start + clock() - fetched
            compute_ns[turn] = computed - prepared
            fetch_ns[turn] = fetched - computed
    return prepare_ns, compute_ns, fetch_ns


@contextmanager
def waiting_clock() -> Iterator[Clock | None]:
    """A clock of how long all threads of this process waited for a processor; None if the kernel does not report it.

    Files stay open: reading one takes a microsecond, opening it ten.
    """
    files = []
    try:
        for task in os.listdir("/proc/self/task"):  # noqa: PTH208 - no pathlib in a worker
            files.append(os.open(f"/proc/self/task/{task}/schedstat", os.O_RDONLY))
    except OSError:  # another system, or a thread that has just ended
        pass
    try:
        yield (lambda: sum(map(_waiting_time_ns, files))) if files else None
    finally:
        for file in files:
            os.close(file)


def _waiting_time_ns(file: int) -> int:
    try:
        return int(os.pread(file, 100, 0).split()[1])
    except OSError:  # it has just ended
        return 0


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Postpone garbage collection from timed calls to the untimed calls of the next block."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def answer_warm_up(host: Host, request: messages.WarmUp) -> WarmedUp:
    """Warm up a subject."""
    retracing.watch()  # a callable may have imported TensorFlow in its first call
    return WarmedUp(warm_up(host.calls[request.subject], request.duration_ns), retracing.retraces())


def answer_time_block(host: Host, request: messages.TimeBlock) -> TimedBlock:
    """Time a block of a subject."""
    work, calls, warm_ns, pieces = host.calls[request.subject], request.calls, request.warm_ns, request.pieces
    if request.every_ns:
        return time_paced(work, calls, warm_ns, request.every_ns, pieces)
    timed = time_each_in_block if request.each else time_block
    if not request.waits:
        return timed(work, calls, warm_ns, pieces, longest_ns=request.longest_ns)
    with waiting_clock() as waited:
        return timed(work, calls, warm_ns, pieces, waited=waited, longest_ns=request.longest_ns)


def answer_time_each(host: Host, request: messages.TimeEach) -> TimedEach:
    """Time single calls of a subject."""
    work = host.calls[request.subject]
    if not request.waits:
        return time_each(work, request.calls, request.warm_ns)
    with waiting_clock() as waited:
        return time_each(work, request.calls, request.warm_ns, waited=waited)


def answer_split_each(host: Host, request: messages.SplitEach) -> TimedSplit:
    """Time the parts of single calls of a subject, if it has parts."""
    if request.subject not in host.parts:
        return TimedSplit([], [], [])
    return TimedSplit(*time_split(*host.parts[request.subject](), request.calls, request.warm_ns))
