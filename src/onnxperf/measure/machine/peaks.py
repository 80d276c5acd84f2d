"""Peak performance of this machine by number of threads, measured with onnxruntime and numpy and saved."""

from __future__ import annotations

import contextlib
import datetime
import platform
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.drafts import write_aside
from onnxperf.limits import read_text
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.messages import Load, MoveBytes, Prepare, TimeEach, WorkerSpec
from onnxperf.measure.plan import processors_of
from onnxperf.measure.process import Worker, move_to
from onnxperf.records.base import FREE_SHARE
from onnxperf.records.headroom import Bandwidth, Peaks

_VERSION = 2
"""Version of the method; peaks measured with another version are not used."""
_PRODUCT_NS = 250_000_000
_CALLS = range(5, 401)
_PATIENCE = 4
"""Maximum repetitions for a product or array size without any call undisturbed by other programs."""
_MOVING_NS = 60_000_000
"""For each array size."""
_SMALLEST_BYTES, _STEP = 1 << 17, 2
_LEAST_IN_MEMORY, _MOST_IN_MEMORY = 1 << 27, 1 << 30
_CACHES = 4
"""Arrays this many times as large as the last cache fit only in memory."""
_USUAL_CACHE_BYTES = 1 << 25
_CACHE_SIZES = Path("/sys/devices/system/cpu/cpu0/cache")

Launch = Callable[[WorkerSpec], Worker]


class Product(Struct, frozen=True, kw_only=True):
    """A matrix multiplication in onnxruntime to time."""

    spec: WorkerSpec
    operations: float
    """Number of operations per call."""
    integers: bool
    """Whether it multiplies 8-bit integers instead of floating-point numbers."""


# ---------------------------------------------------------------- measuring


def measure(products: Sequence[Product], threads: int, launch: Launch, cpus: Sequence[int], free_bytes: int) -> Peaks:
    """Measure the best of many products of each kind, and of many rounds of moving arrays."""
    speeds: dict[bool, float] = {}
    free: dict[bool, bool] = {}
    for product in products:
        fastest_ns, is_free = _fastest_call_ns(product.spec, threads, launch, cpus)
        kind = product.integers
        speeds[kind] = max(product.operations / fastest_ns, speeds.get(kind, 0.0))
        free[kind] = is_free or free.get(kind, False)
    sizes = array_sizes(threads, last_cache_bytes(), free_bytes)
    mover = WorkerSpec(subjects=(), threads=1, feeds={})
    with closing(launch(mover)) as worker:
        worker.wait_until_ready()
        move_to(worker, processors_of(0, cpus, threads))
        moved = worker.ask(MoveBytes(threads, sizes, _MOVING_NS, _PATIENCE))
    return Peaks(
        threads=threads,
        cores=usable_cores(),
        gflop_per_s=speeds[False],
        int8_gop_per_s=speeds.get(True),
        bandwidths=tuple(
            Bandwidth(size_bytes=size, gb_per_s=rate) for size, rate in zip(sizes, moved.gb_per_s, strict=True)
        ),
        disturbed=not all((*free.values(), *moved.free)),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def _fastest_call_ns(spec: WorkerSpec, threads: int, launch: Launch, cpus: Sequence[int]) -> tuple[float, bool]:
    """The fastest call, and whether any call did not wait for a processor; if none, more calls are made."""
    with closing(launch(spec)) as worker:
        worker.wait_until_ready()
        worker.ask(Load(spec))
        worker.ask(Prepare(0))
        move_to(worker, processors_of(0, cpus, threads))
        guess_ns = min(worker.ask(TimeEach(0, 3, 0)).call_ns)
        calls = max(_CALLS[0], min(int(_PRODUCT_NS / max(guess_ns, 1)), _CALLS[-1]))
        fastest_ns, is_free = guess_ns, False
        for _ in range(_PATIENCE):
            timed = worker.ask(TimeEach(0, calls, 0, waits=True))
            fastest_ns = min(fastest_ns, *timed.call_ns)
            pairs = zip(timed.call_ns, timed.waited_ns, strict=False)
            is_free = any(waited_ns <= FREE_SHARE * call_ns for call_ns, waited_ns in pairs)
            if is_free or not timed.waited_ns:
                break
        return float(max(fastest_ns, 1)), is_free


def array_sizes(threads: int, cache_bytes: int, free_bytes: int) -> tuple[int, ...]:
    """Sizes from the cache of one core to larger than all caches; at most a quarter of the free memory."""
    wanted = min(max(_CACHES * cache_bytes, _LEAST_IN_MEMORY), _MOST_IN_MEMORY)
    largest = max(min(wanted, free_bytes // 4), _SMALLEST_BYTES)
    sizes = [threads * _SMALLEST_BYTES]
    while sizes[-1] * _STEP < largest:
        sizes.append(sizes[-1] * _STEP)
    return (*sizes, max(largest, sizes[-1] + 1))


def last_cache_bytes(folder: Path = _CACHE_SIZES) -> int:
    """Size of the largest cache if the system reports it, else a typical size."""
    units = {"": 1, "K": 1 << 10, "M": 1 << 20}
    texts = [read_text(path) or "" for path in folder.glob("index*/size")]
    found = [re.fullmatch(r"(\d{1,12})([KM]?)", each) for each in texts]
    return max((int(each[1]) * units[each[2]] for each in found if each), default=0) or _USUAL_CACHE_BYTES


# ---------------------------------------------------------------- remembering


class _Kept(Struct, frozen=True, kw_only=True):
    """Saved measurements of a machine."""

    version: int
    machine: str
    peaks: tuple[Peaks, ...]


def remember(peaks: Peaks, cpu: str) -> Peaks:
    """Save peaks for later profiles; returns the best values so far, since disturbances only ever slow down."""
    kept = [each for each in _kept(cpu) if each.onnxruntime == peaks.onnxruntime]
    before = next((each for each in kept if _conditions(each) == _conditions(peaks)), None)
    best = peaks if before is None else _best(before, peaks)
    others = [each for each in kept if _conditions(each) != _conditions(peaks)]
    record = _Kept(version=_VERSION, machine=_key(cpu), peaks=(*others, best))
    with contextlib.suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_aside(_file(), msgspec.json.encode(record))
    return best


def recall(threads: int, onnxruntime: str, cpu: str) -> Peaks | None:
    """The peaks measured on this very machine with as many threads and the current number of cores, if any."""
    wanted = (threads, usable_cores(), onnxruntime)
    return next((each for each in _kept(cpu) if _conditions(each) == wanted), None)


def _conditions(peaks: Peaks) -> tuple[int, int, str]:
    return peaks.threads, peaks.cores, peaks.onnxruntime


def _best(before: Peaks, now: Peaks) -> Peaks:
    integers = [each.int8_gop_per_s for each in (before, now) if each.int8_gop_per_s is not None]
    rates = {each.size_bytes: each.gb_per_s for each in before.bandwidths}
    return replace(
        now,
        disturbed=before.disturbed and now.disturbed,
        gflop_per_s=max(before.gflop_per_s, now.gflop_per_s),
        int8_gop_per_s=max(integers, default=None),
        bandwidths=tuple(
            replace(each, gb_per_s=max(each.gb_per_s, rates.get(each.size_bytes, 0.0))) for each in now.bandwidths
        ),
    )


def _kept(cpu: str) -> tuple[Peaks, ...]:
    try:
        found = msgspec.json.decode(_file().read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ()
    is_valid = found.version == _VERSION and found.machine == _key(cpu)
    return tuple(filter(_is_sound, found.peaks)) if is_valid else ()


def _is_sound(peaks: Peaks) -> bool:
    """Whether all rates are usable as divisors."""
    rates = [peaks.gflop_per_s, *(each.gb_per_s for each in peaks.bandwidths)]
    sizes = [each.size_bytes for each in peaks.bandwidths]
    integers = peaks.int8_gop_per_s
    rising = all(0 < a < b for a, b in pairwise(sizes))
    return bool(sizes) and rising and min(rates) > 0 and (integers is None or integers > 0)


def _key(cpu: str) -> str:
    return f"{platform.node()} {cpu}"


def _file() -> Path:
    return platformdirs.user_cache_path("onnxperf") / "peaks.json"
