"""Measured peaks against numpy's best product and a copy in C, and limits against the times of a profile.

usage: python -m benchmarks.roofline
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx

import onnxperf
from benchmarks.kept import keep
from onnxperf.api._shared.peaks import measured_peaks
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.records.headroom import Peaks

ROUNDS = 3
"""Peaks and peers take turns, so that both see the same conditions; the best of each counts."""
PRODUCT = """
import sys, time
import numpy as np
best = 0.0
for size in (256, 384, 512, 1024, 2048):
    a = np.random.default_rng(0).random((size, size), dtype=np.float32)
    b, c = a - 0.5, np.empty_like(a)
    end, turns = time.perf_counter() + 0.3, 0
    while turns < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        np.matmul(a, b, out=c)
        best, turns = max(best, 2 * size**3 / (time.perf_counter() - start)), turns + 1
print(best / 1e9)
"""
COPY = """
import ctypes, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
threads, size = int(sys.argv[1]), int(sys.argv[2])
half = size // threads // 2
arrays = [(np.ones(half, np.uint8), np.ones(half, np.uint8)) for _ in range(threads)]
memmove = ctypes.CDLL(None).memmove
memmove.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def work(pair):
    barrier.wait()
    start = time.perf_counter()
    memmove(pair[0].ctypes.data, pair[1].ctypes.data, half)
    return time.perf_counter() - start
best = 0.0
end = time.perf_counter() + 1.0
with ThreadPoolExecutor(threads) as pool:
    while time.perf_counter() < end:
        barrier = threading.Barrier(threads)
        best = max(best, 2 * half * threads / max(pool.map(work, arrays)))
print(best / 1e9)
"""
LIGHT = Path(onnx.__path__[0]) / "backend/test/data/light"
MODELS = ("light_squeezenet", "light_shufflenet", "light_densenet121", "light_resnet50")


def peer(code: str, threads: int, *arguments: int) -> float:
    """What a program of its own prints, with so many threads."""
    variables = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    command = [sys.executable, "-c", code, str(threads), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **variables})
    return float(done.stdout)


def against_peers(threads: int) -> Iterator[str]:
    """Peaks and peers in turn."""
    found: list[Peaks] = []
    products, copies = [], []
    for _ in range(ROUNDS):
        found.append(measured_peaks(threads, lambda _done, _text: None))
        products.append(peer(PRODUCT, threads))
        copies.append(peer(COPY, threads, found[-1].bandwidths[-1].size_bytes))
    gflop, memory = max(each.gflop_per_s for each in found), max(each.memory_gb_per_s for each in found)
    yield (
        f"- product, {threads} thread(s): {gflop:.1f} GFLOP/s, numpy's best {max(products):.1f}, "
        f"ratio {gflop / max(products):.2f}; goal at least 0.90"
    )
    yield (
        f"- memory, {threads} thread(s): {memory:.1f} GB/s, a copy in C {max(copies):.1f}, "
        f"ratio {memory / max(copies):.2f}; goal at least 0.90"
    )


def against_profiles() -> Iterator[str]:
    """Sums of limits beside the times that they are compared with."""
    for name in MODELS:
        record = onnxperf.profile(LIGHT / f"{name}.onnx", threads=1, calls=20, roofline=True).record
        headroom = record.headroom
        if headroom is None:
            continue
        sums = [sum(each.time_us for each in rows) for rows in (headroom.nodes, headroom.operators, headroom.sources)]
        apart = max(abs(each - headroom.whole.time_us) for each in sums)
        faster = sum(each.limit_us > 1.1 * each.time_us > 10 for each in headroom.nodes)
        yield (
            f"- {name}: nodes, operators and sources add up to {headroom.whole.time_us / 1e3:.2f} ms, apart by "
            f"{apart:.3f} us; {headroom.whole.time_us / record.usual_nodes_us:.1%} of the profile's time in nodes; "
            f"{headroom.whole.flop / 1e9:.2f} GFLOP; {headroom.near_share:.0%} of the time near its limit; "
            f"{faster} of {len(headroom.nodes)} nodes above the peaks by more than 10 %"
        )


def main() -> None:
    """Print all figures and keep them."""
    lines = [line for threads in sorted({1, usable_cores()}) for line in against_peers(threads)]
    keep("Roofline", [*lines, *against_profiles()])


if __name__ == "__main__":
    main()
