"""CPU time per call: by a bench and by getrusage of a process that makes only these calls; and what spinning costs.

usage: python -m benchmarks.cpu_time
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import onnx.parser

import onnxperf
from benchmarks.kept import keep
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.records.race import Subject
from onnxperf.wording.numbers import count, time_text

SIZE = 256
PAIRS = 9
"""Benches and bare processes in turn: the machine changes its speed in the meantime."""
AGREES = 0.03
SPINNING = "session.intra_op.allow_spinning"
MATMUL = f"""<ir_version: 8, opset_import: ["": 18]>
g (float[{SIZE},{SIZE}] A, float[{SIZE},{SIZE}] B) => (float[{SIZE},{SIZE}] C) {{ C = MatMul(A, B) }}"""
BARE = """
import resource, sys
import numpy as np
import onnxruntime as ort

path, threads, size, calls = sys.argv[1], *map(int, sys.argv[2:])
options = ort.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
chance = np.random.default_rng(0)
feeds = {name: chance.standard_normal((size, size), dtype=np.float32) for name in "AB"}
for _ in range(50):
    session.run(None, feeds)
begin = resource.getrusage(resource.RUSAGE_SELF)
for _ in range(calls):
    session.run(None, feeds)
end = resource.getrusage(resource.RUSAGE_SELF)
print((end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime) / calls * 1e9)
"""


def bare_ns(path: Path, threads: int, calls: int = 1000) -> float:
    """CPU time of a call by getrusage, in a process that makes only these calls."""
    command = [sys.executable, "-c", BARE, *map(str, (path, threads, SIZE, calls))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@contextmanager
def first_processors(number: int) -> Iterator[None]:
    """Only so many processors for this process and its children."""
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(usual)[:number])
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def agreement(path: Path, threads: int) -> str:
    """How far the CPU time of a bench is from that of a bare process: the median over pairs, on the same processors."""
    with first_processors(threads):
        pairs = [(_only(onnxperf.bench(path, threads=threads, time=1.0)), bare_ns(path, threads)) for _ in range(PAIRS)]
    ours, theirs = (
        statistics.median(each) for each in zip(*((s.cpu_ns or 0.0, bare) for s, bare in pairs), strict=True)
    )
    low, middle, high = statistics.quantiles([(subject.cpu_ns or 0.0) / bare for subject, bare in pairs], n=4)
    held = "yes" if abs(middle - 1) <= AGREES else "NO"
    return (
        f"- MatMul {SIZE}x{SIZE}, {count(threads, 'thread')}, CPU per call: {time_text(ours)} by bench, "
        f"{time_text(theirs)} by getrusage of a process that makes only these calls; "
        f"ratio {middle:.3f} (median of {PAIRS} pairs, quartiles {low:.3f} and {high:.3f}; "
        f"goal within {AGREES:.0%}: {held})"
    )


def price_of_spinning(path: Path, threads: int) -> Iterator[str]:
    """A MatMul at 20 Hz with spinning on and off."""
    for value, name in (("1", "on"), ("0", "off")):
        subject = _only(onnxperf.bench(path, threads=threads, every="50ms", time=5.0, options={SPINNING: value}))
        yield (
            f"- MatMul {SIZE}x{SIZE} at 20 Hz, {threads} threads, spinning {name}: CPU per call "
            f"{time_text(subject.cpu_ns or 0.0)}, latency {time_text(subject.median_ns or 0.0)} (median of "
            f"{len(subject.call_ns)} calls)"
        )


def _only(result: onnxperf.BenchResult) -> Subject:
    return result.subjects[0]


def main() -> None:
    """Print each figure as soon as it is known, and keep them all."""
    cores = usable_cores()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.onnx"
        onnx.save(onnx.parser.parse_model(MATMUL), path)
        lines = [f"- load average at the start: {os.getloadavg()[0]:.1f} on {count(cores, 'processor')}"]
        lines += [agreement(path, threads) for threads in sorted({1, cores})]
        lines += price_of_spinning(path, cores) if cores > 1 else ["- one processor: no thread that could spin"]
    keep("cpu time", lines)


if __name__ == "__main__":
    main()
