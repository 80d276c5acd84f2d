"""Samples of the Python stack during repeated calls of a subject, taken by pyinstrument in the worker."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING

from onnxperf.errors import required
from onnxperf.measure.messages import CalledFor, CallFor, SampledStack, SampleStack
from onnxperf.measure.worker.timing import Clock, monotonic_ns

if TYPE_CHECKING:
    from onnxperf.measure.worker.host import Host

_PR_SET_PTRACER = 0x59616D61
_ANYONE = ctypes.c_ulong(-1)
_CLOCK_NS = 1_000_000
"""Minimum time between two clock readings."""


def sample_stack(host: Host, request: SampleStack) -> SampledStack:
    """Sample the calls of a subject."""
    return SampledStack(sample(host.calls[request.subject], request.calls, request.interval_s))


def answer_call_for(host: Host, request: CallFor) -> CalledFor:
    """Call a subject for some time."""
    return CalledFor(call_for(host.calls[request.subject], request.duration_ns))


def sample(work: Callable[[], object], calls: int, interval_s: float) -> bytes:
    """Call `work` so often under pyinstrument; returns its session as JSON."""
    profiler = required("pyinstrument", "stack").Profiler(interval=interval_s, async_mode="disabled")

    def call_again() -> None:
        profiler.start()
        try:
            for _ in repeat(None, calls):
                work()
        finally:
            profiler.stop()

    call_again()
    session = profiler.last_session
    assert session is not None  # noqa: S101 - it was just stopped
    return json.dumps(session.to_json()).encode()


def call_for(work: Callable[[], object], duration_ns: int, clock: Clock = monotonic_ns) -> int:
    """Allow other processes to observe this one, and call `work` for some time; returns the number of calls."""
    allow_observers()

    def call_again() -> int:
        calls, batch, now = 0, 1, clock()
        end = now + duration_ns
        while now < end:
            for _ in repeat(None, batch):
                work()
            calls, start, now = calls + batch, now, clock()
            if now - start < _CLOCK_NS:  # reading the clock must be negligible
                batch *= 2
        return calls

    return call_again()


def allow_observers() -> None:
    """Allow py-spy, a sibling process, to observe this one if the kernel restricts that to parents."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANYONE, 0, 0, 0)
