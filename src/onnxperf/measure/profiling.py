"""Sessions that record themselves, called in turn with others so that all of them see the same weather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.plan import WARM_NS, processors_of
from onnxperf.measure.process import Worker
from onnxperf.records import EVENT_CAP, Scalar

ROUNDS = 10
"""Turns that each session gets at most."""
_DEFAULT_NS = 1_000_000_000
"""Time of inferences that a trace should hold if nobody says how many."""
_DEFAULT_REPEATS = range(5, 101)
_WARMUP_NS = 50_000_000

Progress = Callable[[float, str], None]


class Recorder(Worker, Protocol):
    """A worker whose session may write a trace."""

    def call_each(self, subject: int, calls: int) -> list[int]:
        """Time calls one by one, and make no others."""

    def end_recording(self) -> Path:
        """Have the trace written; returns its file."""


class Turns(Struct, frozen=True, kw_only=True):
    """What one session did in its turns."""

    load_ns: int | None
    """Loading the model and building the session."""
    first_call_ns: int
    """The very first call, the first iteration of the trace."""
    call_ns: tuple[int, ...]
    """The calls after it."""
    trace: Path | None
    """File of the trace, if one was recorded."""
    conditions: dict[str, Scalar]
    """What the session really used."""


class TurnsEnd(Struct, frozen=True, kw_only=True):
    """What all sessions did."""

    turns: tuple[Turns, ...]
    """In the order of the specs."""
    interrupted: bool
    """Stopped by the user; the traces hold what ran until then."""


def take_turns(
    specs: Sequence[WorkerSpec],
    repeat: int | None,
    launch: Callable[[WorkerSpec], Recorder],
    cpus: Sequence[int] = (),
    progress: Progress = lambda _done, _text: None,
    most: int | None = None,
) -> TurnsEnd:
    """Call every session `repeat` times, a few calls at a turn; all but the one at its turn are frozen."""
    with ExitStack() as stack:
        workers = [launch(spec) for spec in specs]
        for worker in workers:
            stack.callback(worker.close)
        progress(0.0, "starting workers")
        for worker in workers:
            worker.wait_until_ready()
            worker.freeze()
        loaded, first_ns, guess_ns = [], [], []
        for spec, worker in zip(specs, workers, strict=True):
            progress(0.0, f"loading {spec.model_label}")
            worker.thaw()
            loaded.append(worker.load())
            first_ns.append(worker.prepare(0).first_call_ns)
            guess_ns.append(first_ns[-1] if spec.recording else worker.warm_up(0, _WARMUP_NS))
            worker.freeze()
        times, interrupted = _rounds(specs, workers, _repeat(repeat, min(guess_ns), most), cpus, progress)
        turns = []
        for index, (spec, worker) in enumerate(zip(specs, workers, strict=True)):
            worker.thaw()
            turns.append(
                Turns(
                    load_ns=loaded[index].load_ns,
                    first_call_ns=first_ns[index],
                    call_ns=tuple(times[index]),
                    trace=worker.end_recording() if spec.recording and spec.recording.trace_prefix else None,
                    conditions=loaded[index].conditions,
                )
            )
            worker.freeze()
        return TurnsEnd(turns=tuple(turns), interrupted=interrupted)


def _rounds(
    specs: Sequence[WorkerSpec], workers: Sequence[Recorder], repeat: int, cpus: Sequence[int], progress: Progress
) -> tuple[list[list[int]], bool]:
    """The calls after the first; who begins changes from round to round."""
    times: list[list[int]] = [[] for _ in workers]
    threads = max(spec.threads for spec in specs)
    counts = shares(repeat - 1, min(ROUNDS, repeat - 1))
    try:
        for number, calls in enumerate(counts):
            progress(number / len(counts), f"profiling, round {number + 1} of {len(counts)}")
            for index in range(len(workers))[:: 1 if number % 2 == 0 else -1]:
                worker = workers[index]
                worker.thaw()
                if bound := processors_of(number, cpus, threads):
                    worker.move_to(bound)
                recording = specs[index].recording is not None
                each = worker.call_each(0, calls) if recording else worker.time_each(0, calls, WARM_NS)
                times[index] += each
                worker.freeze()
    except KeyboardInterrupt:
        return times, True
    return times, False


def shares(total: int, parts: int) -> list[int]:
    """A number in parts that differ by one at most."""
    return [total // parts + (index < total % parts) for index in range(parts)] if parts > 0 else []


def _repeat(asked: int | None, call_ns: float, most: int | None) -> int:
    """As often as was asked, or for about a second; never so often that the trace is full."""
    wanted = int(_DEFAULT_NS / max(call_ns, 1.0))
    repeat = asked if asked is not None else max(_DEFAULT_REPEATS[0], min(wanted, _DEFAULT_REPEATS[-1]))
    return max(1, repeat if most is None else min(repeat, most))


def most_iterations(events_per_iteration: int) -> int:
    """Iterations whose events a trace can hold, with those of the session."""
    return max(1, (EVENT_CAP - 10) // max(events_per_iteration, 1))
