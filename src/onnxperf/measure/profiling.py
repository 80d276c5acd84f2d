"""Sessions that record traces, called in turn with others so that all of them run under the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.measure.messages import EndRecording, Load, Prepare, TimedEach, TimeEach, WarmUp, WorkerSpec
from onnxperf.measure.plan import WARM_NS, processors_of
from onnxperf.measure.process import Worker, move_to
from onnxperf.records.base import Scalar
from onnxperf.records.options import Recording
from onnxperf.records.profile import COMPARED_LAUNCHES, iterations_for
from onnxperf.records.trace import EVENT_CAP

ROUNDS = 10
"""Maximum number of turns of each session, over all launches."""
_DEFAULT_NS = 1_500_000_000
"""Default total time of the inferences of a session over all launches."""
_DEFAULT_REPEATS = range(30, 151)
_LONGEST_NS = 30_000_000_000
"""Time limit beyond which fewer inferences are enough."""
_FEWEST = 3
"""Minimum number of inferences in a launch: the first one, and two that count."""
_WARMUP_NS = 50_000_000

Progress = Callable[[float, str], None]


class Turns(Struct, frozen=True, kw_only=True):
    """Results of one session."""

    load_ns: int | None
    """Time for loading the model and building the session."""
    first_call_ns: int
    """Time of the very first call, the first iteration of the trace."""
    call_ns: tuple[int, ...]
    """Times of the calls after it."""
    waited_ns: tuple[int, ...] = ()
    """Total time that threads waited for a processor in each call, if recorded and reported by the kernel."""
    trace: Path | None
    """File of the trace, if any."""
    conditions: dict[str, Scalar]
    """Conditions actually in effect."""


class TurnsEnd(Struct, frozen=True, kw_only=True):
    """Results of all sessions."""

    turns: tuple[Turns, ...]
    """Results in the order of the specs."""
    interrupted: bool
    """Whether the user stopped it; the traces contain what ran until then."""


def take_turns(
    specs: Sequence[WorkerSpec],
    repeat: int | None,
    launch: Callable[[WorkerSpec], Worker],
    cpus: Sequence[int] = (),
    progress: Progress = lambda _done, _text: None,
    most: int | None = None,
    launches: int = 1,
) -> TurnsEnd:
    """Call every session `repeat` times, a few calls per turn; all except the active one are frozen.

    By default each session takes about 1.5 s, divided by the number of `launches`.
    """
    with ExitStack() as stack:
        workers = [stack.enter_context(closing(launch(spec))) for spec in specs]
        progress(0.0, "starting workers")
        for worker in workers:
            worker.wait_until_ready()
            worker.freeze()
        loaded, first_ns, guess_ns = [], [], []
        for spec, worker in zip(specs, workers, strict=True):
            progress(0.0, f"loading {spec.model_label}")
            worker.thaw()
            loaded.append(worker.ask(Load(spec)))
            first_ns.append(worker.ask(Prepare(0)).first_call_ns)
            guess_ns.append(first_ns[-1] if spec.recording else worker.ask(WarmUp(0, _WARMUP_NS)).call_ns)
            worker.freeze()
        calls = _repeat(repeat, min(guess_ns), most, launches) - 1
        counts = shares(calls, min(max(2, ROUNDS // launches), calls))
        timed, interrupted = _rounds(specs, workers, counts, cpus, progress)
        turns = []
        for index, (spec, worker) in enumerate(zip(specs, workers, strict=True)):
            worker.thaw()
            recorded = spec.recording is not None and spec.recording.trace_prefix
            turns.append(
                Turns(
                    load_ns=loaded[index].load_ns,
                    first_call_ns=first_ns[index],
                    call_ns=tuple(ns for each in timed[index] for ns in each.call_ns),
                    waited_ns=tuple(ns for each in timed[index] for ns in each.waited_ns),
                    trace=Path(worker.ask(EndRecording()).path) if recorded else None,
                    conditions=loaded[index].conditions,
                )
            )
            worker.freeze()
        return TurnsEnd(turns=tuple(turns), interrupted=interrupted)


def take_launches(
    specs: Sequence[WorkerSpec],
    repeat: int | None,
    launch: Callable[[WorkerSpec], Worker],
    cpus: Sequence[int] = (),
    progress: Progress = lambda _done, _text: None,
    most: int | None = None,
    launches: int = COMPARED_LAUNCHES,
) -> tuple[TurnsEnd, ...]:
    """Let sessions take turns in `launches` fresh processes each.

    `repeat` is the total number of counted calls per session over all launches; if it is too small, there is one
    launch.
    """
    number = launches if repeat is None or repeat >= iterations_for(launches) else 1
    calls = [None] * number if repeat is None else shares(repeat, number)
    ends: list[TurnsEnd] = []
    for index, counted in enumerate(calls):
        report = partial(_report_launch, progress, index, number) if number > 1 else progress
        wanted = counted if counted is None or index == 0 else counted + 1  # its first call is not counted
        order = slice(None, None, -1 if index % 2 else 1)  # starting first may be an advantage
        mine = [_recorded_apart(spec, index) for spec in specs][order]
        try:
            end = take_turns(mine, wanted, launch, cpus, report, most, number)
        except KeyboardInterrupt:
            if not ends:
                raise
            return (*ends[:-1], replace(ends[-1], interrupted=True))
        ends.append(replace(end, turns=end.turns[order]))
        if end.interrupted:
            break
    return tuple(ends)


def _recorded_apart(spec: WorkerSpec, index: int) -> WorkerSpec:
    """Every launch has its own traces; the executed graph is written by the first."""
    if spec.recording is None or index == 0:
        return spec
    return replace(spec, recording=Recording(trace_prefix=f"{spec.recording.trace_prefix}-{index}"))


def _report_launch(progress: Progress, index: int, number: int, done: float, text: str) -> None:
    progress((index + done) / number, f"launch {index + 1} of {number}: {text}")


def _rounds(
    specs: Sequence[WorkerSpec],
    workers: Sequence[Worker],
    counts: Sequence[int],
    cpus: Sequence[int],
    progress: Progress,
) -> tuple[list[list[TimedEach]], bool]:
    """The calls after the first; every second round is in reverse order."""
    timed: list[list[TimedEach]] = [[] for _ in workers]
    threads = max(spec.threads for spec in specs)
    try:
        for number, calls in enumerate(counts):
            progress(number / len(counts), f"profiling, round {number + 1} of {len(counts)}")
            for index in range(len(workers))[:: 1 if number % 2 == 0 else -1]:
                worker = workers[index]
                worker.thaw()
                move_to(worker, processors_of(number, cpus, threads))
                recorded = specs[index].recording is not None
                warm_ns = None if recorded else WARM_NS  # a trace has no other calls
                timed[index].append(worker.ask(TimeEach(0, calls, warm_ns, waits=recorded)))
                worker.freeze()
    except KeyboardInterrupt:
        return timed, True
    return timed, False


def shares(total: int, parts: int) -> list[int]:
    """Split a number into parts that differ by at most one."""
    return [total // parts + (index < total % parts) for index in range(parts)] if parts > 0 else []


def _repeat(requested: int | None, call_ns: float, most: int | None, launches: int) -> int:
    """Number of calls: as requested, or for the default time; limited so that the trace does not overflow."""
    if requested is None:
        wanted, bearable = (int(each / launches / max(call_ns, 1.0)) for each in (_DEFAULT_NS, _LONGEST_NS))
        fewest, usual = (end // launches + 1 for end in (_DEFAULT_REPEATS[0], _DEFAULT_REPEATS[-1]))
        requested = min(max(wanted, fewest), usual) if bearable >= fewest else max(bearable, _FEWEST)
    return max(1, requested if most is None else min(requested, most))


def most_iterations(events_per_iteration: int) -> int:
    """Maximum number of iterations whose events fit into a trace, next to those of the session."""
    return max(1, (EVENT_CAP - 10) // max(events_per_iteration, 1))
