"""The child's side: a process that hosts subjects, answers one request after the other, and dies with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from itertools import cycle
from multiprocessing import connection
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from onnxperf.errors import BadInput, SubjectError
from onnxperf.frameworks.base import FrameworkModel
from onnxperf.frameworks.outputs import to_numpy
from onnxperf.measure import lines, memory_probe, messages, packing, timing
from onnxperf.measure.memory import reset_peak
from onnxperf.measure.messages import (
    Failed,
    FunctionSubject,
    Loaded,
    ModelSubject,
    Prepared,
    Reply,
    Request,
    TimingRequest,
    WorkerSpec,
)
from onnxperf.records import Recording, Scalar, StepName
from onnxperf.runtimes.base import Parts, Session
from onnxperf.runtimes.find import find_runtime

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve the pipe whose number is the first argument until the parent closes it."""
    handle, parent, runtime = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    die_with(parent)
    _be_the_first_to_go_when_memory_ends()
    pipe = _open_pipe(handle)
    if hasattr(os, "register_at_fork"):
        # A child that a subject forks would keep the pipe open, and its parent's death a secret until the timeout.
        os.register_at_fork(after_in_child=pipe.close)
    if runtime != "callable":
        # The import is not part of the load time; an error will come again, and be told, when the model is loaded.
        with contextlib.suppress(Exception):
            find_runtime(runtime).ready()
    host = Host()
    pipe.send_bytes(messages.encode(messages.Ready()))
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send_bytes(messages.encode(host.answer(messages.decode_request(pipe.recv_bytes()))))


class Host:
    """The subjects of one worker and the session that they share."""

    def __init__(self) -> None:
        self._spec: WorkerSpec | None = None
        self._session: Session | None = None
        self._feeds: dict[str, Any] = {}
        self._more_feeds: list[dict[str, Any]] = []
        self._functions: dict[int, Any] = {}
        self._parts: dict[int, Callable[[], Parts]] = {}
        self._calls: dict[int, Callable[[], object]] = {}

    def answer(self, request: Request) -> Reply:
        """Do what is asked; an error becomes a reply, so that the other subjects can go on."""
        try:
            return _STEPS[type(request)](self, request)
        except Exception as error:
            return _describe(error)

    def _take(self, spec: WorkerSpec) -> None:
        # The old session goes before the new one comes: both may not fit.
        self._session, self._calls, self._parts = None, {}, {}
        reset_peak()  # a limit holds for what is loaded now, not for what a process hosted before
        self._feeds = packing.unpack_feeds(spec.feeds)
        self._more_feeds = [packing.unpack_feeds(feeds) for feeds in spec.more_feeds]
        functions = {index: each for index, each in enumerate(spec.subjects) if isinstance(each, FunctionSubject)}
        self._functions = {index: _revive(subject) for index, subject in functions.items()}
        # What came packed is not held a second time: it would count as memory of the subject.
        bare = (replace(each, function=b"") if isinstance(each, FunctionSubject) else each for each in spec.subjects)
        self._spec = replace(spec, subjects=tuple(bare), feeds={}, more_feeds=())

    def _hold(self, spec: WorkerSpec) -> messages.Held:
        self._take(spec)
        return messages.Held()

    def _load(self, spec: WorkerSpec) -> Loaded:
        self._take(spec)
        return self._open()

    def _open(self) -> Loaded:
        spec = self._spec
        assert spec is not None  # noqa: S101 - the parent sends a spec first
        if spec.model_path is None:
            return Loaded(None, {"threads": spec.threads})
        open_session = find_runtime(spec.runtime).ready()
        start = timing.monotonic_ns()
        self._session = open_session(Path(spec.model_path), spec.session, spec.recording)
        load_ns = timing.monotonic_ns() - start
        return Loaded(load_ns, {"threads": spec.threads, **self._session.conditions})

    def _sample_stack(self, index: int, calls: int, interval_s: float) -> messages.SampledStack:
        from onnxperf.measure import python_stack

        return messages.SampledStack(python_stack.sample(self._calls[index], calls, interval_s))

    def _call_for(self, index: int, duration_ns: int) -> messages.CalledFor:
        from onnxperf.measure import python_stack

        return messages.CalledFor(python_stack.call_for(self._calls[index], duration_ns, timing.monotonic_ns))

    def _track_allocations(self, index: int, calls: int, path: str) -> messages.TrackedAllocations:
        from onnxperf.measure import allocations

        allocations.track(self._calls[index], calls, Path(path))
        return messages.TrackedAllocations(path)

    def _compute(self, index: int, everything: bool) -> messages.Computed:
        """The outputs of one call; or, of a model, every tensor by name."""
        if everything:
            assert self._session is not None  # noqa: S101 - only models are asked for everything
            values = self._session.intermediates(self._feeds)
            return messages.Computed(list(values), packing.pack_value(list(values.values())))
        outputs = self._calls[index]()
        if self._session is not None:
            return messages.Computed(list(self._session.output_names), packing.pack_value(outputs))
        arrays = to_numpy(outputs)
        if isinstance(arrays, dict):
            return messages.Computed(list(arrays), packing.pack_value(list(arrays.values())))
        return messages.Computed([], packing.pack_value(arrays))

    def _end_recording(self) -> messages.Recorded:
        assert self._session is not None  # noqa: S101 - only models are recorded
        return messages.Recorded(self._session.end_recording())

    def _prepare(self, index: int) -> Prepared:
        self._calls[index], conditions = call, _ = self._bind(index)
        start = timing.monotonic_ns()
        call()
        return Prepared(timing.monotonic_ns() - start, conditions)

    def _bind(self, index: int) -> tuple[Callable[[], object], dict[str, Scalar]]:
        """A subject on its inputs; where these have several sizes, its calls take them in turn."""
        assert self._spec is not None  # noqa: S101 - the parent loads first
        subject, feeds = self._spec.subjects[index], [self._feeds, *self._more_feeds]
        if isinstance(subject, FunctionSubject):
            function = self._functions[index]
            if isinstance(function, FrameworkModel):
                parts_on = function.opened()  # once for all sizes
                parts = [parts_on(*each.values()) for each in feeds]
                self._parts[index] = lambda: parts[0]  # made again, they would load the model again
                return _in_turn([each.prepare() for each in parts]), _conditions_of(function, subject)
            return _in_turn([_on(function, each) for each in feeds]), _conditions_of(function, subject)
        session = self._session if subject.model_path is None else _own_session(subject, self._spec)
        assert session is not None  # noqa: S101
        self._parts[index] = partial(session.parts, subject.call, self._feeds, self._spec.casts)
        return _in_turn([session.bind(subject.call, each, self._spec.casts) for each in feeds]), {}

    def _split_each(self, index: int, calls: int, warm_ns: int) -> messages.TimedSplit:
        if index not in self._parts:
            return messages.TimedSplit([], [], [])
        return messages.TimedSplit(*timing.time_split(*self._parts[index](), calls, warm_ns))

    def _probe(self, step: StepName) -> messages.ProbedStep:
        assert self._spec is not None  # noqa: S101 - the parent sends a spec first
        conditions: dict[str, Scalar] = {"threads": self._spec.threads}

        def load() -> None:
            conditions.update(self._open().conditions)
            if 0 in self._functions:
                self._calls[0], more = self._bind(0)
                conditions.update(more)

        def first_call() -> object:
            if 0 not in self._calls:
                self._calls[0], more = self._bind(0)
                conditions.update(more)
            return self._calls[0]()

        if step == "load" and 0 in self._functions and not isinstance(self._functions[0], FrameworkModel):
            return messages.ProbedStep(None)  # a plain callable has nothing to load: it came with its data
        work = {"load": load, "first call": first_call}.get(step) or self._calls[0]
        mark, output_bytes = memory_probe.probe(work)
        return messages.ProbedStep(mark, conditions, output_bytes)


_STEPS: dict[type[Request], Callable[[Host, Any], Reply]] = {
    **dict.fromkeys(get_args(TimingRequest), lambda host, request: _time(host._calls[request.subject], request)),
    messages.SplitEach: lambda host, request: host._split_each(request.subject, request.calls, request.warm_ns),
    messages.Load: lambda host, request: host._load(request.spec),
    messages.Prepare: lambda host, request: host._prepare(request.subject),
    messages.Compute: lambda host, request: host._compute(request.subject, request.everything),
    messages.MoveTo: lambda _host, request: _move(request.cpus),
    messages.EndRecording: lambda host, _request: host._end_recording(),
    messages.SampleStack: lambda host, request: host._sample_stack(request.subject, request.calls, request.interval_s),
    messages.CallFor: lambda host, request: host._call_for(request.subject, request.duration_ns),
    messages.TrackAllocations: lambda host, request: host._track_allocations(
        request.subject, request.calls, request.path
    ),
    messages.Hold: lambda host, request: host._hold(request.spec),
    messages.ProbeStep: lambda host, request: host._probe(request.step),
    messages.CallMany: lambda host, request: memory_probe.call_many(host._calls[0], request.calls),
    messages.TraceLines: lambda host, request: lines.trace_lines(host._functions[request.subject]),
}


def _own_session(subject: ModelSubject, spec: WorkerSpec) -> Session:
    recording = None if subject.executed_path is None else Recording(executed_path=subject.executed_path)
    return find_runtime(spec.runtime).open_session(Path(str(subject.model_path)), spec.session, recording)


def _time(work: Callable[[], object], request: TimingRequest) -> Reply:
    match request:
        case messages.WarmUp():
            return messages.WarmedUp(timing.warm_up(work, request.duration_ns))
        case messages.TimeBlock():
            return messages.TimedBlock(*timing.time_block(work, request.calls, request.warm_ns))
        case messages.TimeEach():
            return messages.TimedEach(timing.time_each(work, request.calls, request.warm_ns))
        case messages.CallEach():
            return messages.TimedEach(timing.time_each(work, request.calls, None))


def _revive(subject: FunctionSubject) -> Any:
    """Bring a callable of the user to life in this process."""
    import cloudpickle

    function = cloudpickle.loads(subject.function)
    if "sklearn" in sys.modules:
        importlib.import_module("sklearn").set_config(assume_finite=not subject.check_finite)
    return function


def _on(function: Any, feeds: dict[str, Any]) -> Callable[[], object]:
    """A callable on its inputs."""
    return partial(function, *feeds.values()) if feeds else function


def _conditions_of(function: Any, subject: FunctionSubject) -> dict[str, Scalar]:
    if isinstance(function, FrameworkModel):
        return {"framework": function.framework, **function.conditions()}
    if "sklearn" in sys.modules:
        version = importlib.import_module("sklearn").__version__
        return {"scikit-learn": version, "assume_finite": not subject.check_finite}
    return {}


def _in_turn(calls: list[Callable[[], object]]) -> Callable[[], object]:
    """One after the other, round and round."""
    if len(calls) == 1:
        return calls[0]
    turns = cycle(calls)

    def call() -> object:
        return next(turns)()

    return call


def _describe(error: Exception) -> Failed:
    """An error as one line."""
    if isinstance(error, SubjectError):
        return Failed(error.status, error.reason)
    if isinstance(error, BadInput):
        return Failed("failed", str(error), bad_input=True)
    lines = traceback.format_exception_only(error)
    text = " ".join(" ".join(lines).split())
    out_of_memory = isinstance(error, MemoryError) or "bad_alloc" in text or "Failed to allocate memory" in text
    return Failed("oom" if out_of_memory else "failed", text)


def _move(cpus: tuple[int, ...]) -> messages.Moved:
    move_to(cpus)
    return messages.Moved()


def move_to(cpus: tuple[int, ...]) -> None:
    """Bind all threads of this process to these processors."""
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread may end, and a processor be taken from us, meanwhile
            os.sched_setaffinity(int(thread.name), cpus)


def die_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, even if it is frozen then."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if hasattr(os, "getppid") and os.getppid() != parent:
        sys.exit("the parent is gone")


def _be_the_first_to_go_when_memory_ends() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")


def _open_pipe(handle: int) -> Any:
    kind = "PipeConnection" if sys.platform == "win32" else "Connection"
    return getattr(connection, kind)(handle)


if __name__ == "__main__":
    main()
