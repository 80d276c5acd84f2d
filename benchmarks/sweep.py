"""What a sweep costs beside measuring: 50 cases of a small model, and where their time goes.

Every request to a worker is timed from outside, by the clock of the parent that waits for it. What is left of the
wall clock is the harness: reading the model, making inputs, freezing and thawing, statistics, and the store.

usage: python -m benchmarks.sweep [--print]
       --print shows the figures without keeping them
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest import mock

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from benchmarks.kept import keep
from onnxperf.api._shared import racing
from onnxperf.api.sweep import sweep
from onnxperf.measure.messages import (
    Compute,
    Load,
    MoveTo,
    Prepare,
    R,
    Request,
    TimeBlock,
    TimeEach,
    WarmUp,
    WorkerSpec,
)
from onnxperf.measure.process import ProcessWorker

P = ParamSpec("P")
T = TypeVar("T")

BATCHES = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
SEQUENCES = [1, 4, 16, 64, 256]
TIME_S = 1.0
"""Measuring a case; with the default of 6 s, everything else would hardly show."""
GOAL = 0.1
LINEAR = """<ir_version: 8, opset_import: ["" : 17]>
linear (float[batch, seq, 10] X) => (float[batch, seq, 4] Y) { Y = MatMul(X, W) }"""
METHODS = {"wait_until_ready": "starting", "freeze": "freezing", "thaw": "freezing", "close": "ending"}
REQUESTS: dict[type[Request[Any]], str] = {
    Load: "loading",
    Prepare: "loading",
    WarmUp: "warming",
    TimeBlock: "measuring",
    TimeEach: "measuring",
    MoveTo: "freezing",
    Compute: "comparing",
}
"""Requests of a race, and what each counts as; loading includes the first call, measuring the calls before a block."""
MEASUREMENT = ("starting", "loading", "warming", "measuring")


class Spent:
    """Seconds by phase, and how workers came to be."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.starts_s: list[float] = []
        """Each start of a process, from its beginning until it is ready."""
        self.reused = 0
        """Launches that found a process which had started before."""
        self.busy = False
        """A request is under way: what it asks for itself belongs to it."""


def timed_worker(spent: Spent) -> type[ProcessWorker]:
    """A worker that notes what its parent waits for."""

    class TimedWorker(ProcessWorker):
        def __init__(self, spec: WorkerSpec, timeout_s: float, memory_limit_bytes: int | None = None) -> None:
            self.begin: float | None = time.perf_counter()
            super().__init__(spec, timeout_s, memory_limit_bytes)
            spent.seconds["starting"] += time.perf_counter() - self.begin

        def wait_until_ready(self) -> None:
            """Also note how long the start took."""
            super().wait_until_ready()
            if self.begin is None:
                spent.reused += 1
            else:
                spent.starts_s.append(time.perf_counter() - self.begin)
                self.begin = None

        def ask(self, request: Request[R]) -> R:
            """Also note how long the reply took."""
            unload = isinstance(request, Load) and not request.spec.subjects
            return _timed(super().ask, spent, "ending" if unload else REQUESTS[type(request)])(request)

    for name, phase in METHODS.items():
        setattr(TimedWorker, name, _timed(getattr(TimedWorker, name), spent, phase))
    return TimedWorker


def _timed(method: Callable[P, T], spent: Spent, phase: str) -> Callable[P, T]:
    def call(*arguments: P.args, **keywords: P.kwargs) -> T:
        if spent.busy:
            return method(*arguments, **keywords)
        spent.busy = True
        begin = time.perf_counter()
        try:
            return method(*arguments, **keywords)
        finally:
            spent.busy = False
            spent.seconds[phase] += time.perf_counter() - begin

    return call


def run(folder: Path) -> tuple[Spent, float, int]:
    """Run the sweep; returns what its workers took, the wall clock, and the number of cases."""
    proto = onnx.parser.parse_model(LINEAR)
    weights = np.arange(40, dtype=np.float32).reshape(10, 4) / 40
    proto.graph.initializer.append(numpy_helper.from_array(weights, "W"))
    onnx.save(proto, folder / "linear.onnx")
    spent = Spent()
    plan = {
        "models": [str(folder / "linear.onnx")],
        "dims": {"batch": BATCHES, "seq": SEQUENCES},
        "options": {"threads": 1, "time": TIME_S},
    }
    with mock.patch.object(racing, "ProcessWorker", timed_worker(spent)):
        begin = time.perf_counter()
        result = sweep(plan, store=folder / "runs.sqlite")
        total_s = time.perf_counter() - begin
    if not result.ok:
        raise SystemExit(f"the sweep went wrong: {result.answer}")
    return spent, total_s, len(result.cases)


def lines_of(spent: Spent, total_s: float, cases: int) -> list[str]:
    """The figures in words."""
    known = {
        phase: spent.seconds[phase]
        for phase in dict.fromkeys([*METHODS.values(), *REQUESTS.values()])
        if spent.seconds[phase]
    }
    parts = ", ".join(f"{phase} {seconds:.1f} s ({seconds / total_s:.1%})" for phase, seconds in known.items())
    own_s = total_s - sum(known.values())
    rest_s = total_s - sum(known[phase] for phase in MEASUREMENT)
    starts, launches = len(spent.starts_s), len(spent.starts_s) + spent.reused
    each_s = sum(spent.starts_s) / starts
    return [
        f"- {cases} cases of a small model, one subject each, {TIME_S:g} s of measuring, kept in a store: "
        f"{total_s:.1f} s, {total_s / cases:.2f} s per case",
        f"- not starting, loading, warming or measuring: {rest_s:.1f} s = {rest_s / total_s:.1%} of the total; "
        f"goal at most {GOAL:.0%}",
        f"- waiting for workers: {parts}",
        f"- everything else in the parent (model, inputs, statistics, store): {own_s:.1f} s ({own_s / total_s:.1%})",
        f"- start-up: {starts} processes for {launches} launches ({launches / cases:.1f} per case), "
        f"{each_s:.2f} s each, or {spent.seconds['starting'] / cases:.3f} s per case; "
        f"a process for every launch would take {launches * each_s / cases:.2f} s per case",
    ]


def main() -> None:
    """Print the figures and keep them."""
    with tempfile.TemporaryDirectory() as folder:
        lines = lines_of(*run(Path(folder)))
    if "--print" in sys.argv[1:]:
        print("\n".join(lines))
    else:
        keep("sweep", lines)


if __name__ == "__main__":
    main()
