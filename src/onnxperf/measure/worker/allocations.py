"""Memory allocations of calls and where they occur: memray records in the worker, and the parent reads its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from onnxperf.errors import SubjectError, required
from onnxperf.measure.messages import Done, TrackAllocations
from onnxperf.records.stack import Allocations, Allocator

if TYPE_CHECKING:
    from onnxperf.measure.worker.host import Host

Place = tuple[str, str, int]
"""Function, file and line."""
OUTSIDE: Place = ("(outside of Python)", "", 0)
"""Threads of a library, and compiled functions called by the worker itself."""

_HERE = Path(__file__)


def require_memray() -> ModuleType:
    """Import memray, or raise before anything is measured."""
    return required("memray", "stack")


def track_allocations(host: Host, request: TrackAllocations) -> Done:
    """Track the calls of a subject."""
    track(host.calls[request.subject], request.calls, Path(request.path))
    return Done()


def track(work: Callable[[], object], calls: int, path: Path) -> None:
    """Call `work` so often while memray records allocations and deallocations."""
    memray = require_memray()

    def call_again() -> None:
        for _ in repeat(None, calls):
            work()

    try:
        tracker = memray.Tracker(path)
    except (OSError, RuntimeError) as error:
        raise SubjectError("failed", f"memray cannot run here: {error}") from error
    with tracker:
        call_again()


def read(path: Path, calls: int, shorten: Callable[[str], str]) -> Allocations:
    """Memray's records, summed by the active Python line."""
    import memray

    giving_back = {memray.AllocatorType[name] for name in ("PYMALLOC_FREE", "FREE", "MUNMAP")}
    totals: Counter[Place] = Counter()
    counts: Counter[Place] = Counter()
    peaks: Counter[Place] = Counter()
    try:
        with memray.FileReader(path) as reader:
            for record in reader.get_allocation_records():
                if record.allocator not in giving_back:
                    place = _innermost(record)
                    totals[place] += record.size
                    counts[place] += record.n_allocations
            for record in reader.get_high_watermark_allocation_records(merge_threads=True):
                peaks[_innermost(record)] += record.size
            peak_bytes = reader.metadata.peak_memory
    except (OSError, RuntimeError) as error:
        raise SubjectError("failed", f"memray's file cannot be read: {error}") from error
    order = sorted(counts, key=lambda place: (-totals[place], -counts[place], place))
    allocators = tuple(
        Allocator(
            function=place[0],
            file=shorten(place[1]),
            line=place[2],
            total_bytes=totals[place],
            count=counts[place],
            peak_bytes=peaks[place],
        )
        for place in order
    )
    return Allocations(
        calls=calls,
        peak_bytes=peak_bytes,
        total_bytes=totals.total(),
        count=counts.total(),
        allocators=allocators,
    )


class Inside:
    """A memray record without the worker's frames around the calls."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __getattr__(self, name: str) -> Any:
        """Everything else comes from memray's record."""
        return getattr(self._record, name)

    def stack_trace(self) -> list[Place]:
        """Frames from the innermost to the outermost."""
        return inside_calls(self._record.stack_trace())


def inside_calls(stack: Iterable[Place]) -> list[Place]:
    """Frames, innermost first, up to the one that makes the calls."""
    found: list[Place] = []
    for place in stack:
        if Path(place[1]) == _HERE:
            return found if place[0] == "call_again" else []
        found.append(place)
    return found  # a thread of its own


def _innermost(record: Any) -> Place:
    return next(iter(inside_calls(record.stack_trace())), OUTSIDE)
