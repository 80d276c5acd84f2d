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
from multiprocessing import connection
from pathlib import Path
from typing import Any

from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure import messages, timing
from onnxperf.measure.messages import (
    Crew,
    Failed,
    FunctionSubject,
    Loaded,
    ModelSubject,
    Prepared,
    Reply,
    Request,
    TimingRequest,
)
from onnxperf.records import Recording, Scalar
from onnxperf.runtimes.base import Session, runtime_module
from onnxperf.runtimes.frameworks.base import FrameworkModel, to_numpy

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
            runtime_module(runtime)
    host = Host()
    pipe.send_bytes(messages.encode(messages.Ready()))
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send_bytes(messages.encode(host.answer(messages.decode_request(pipe.recv_bytes()))))


class Host:
    """The subjects of one worker and the session that they share."""

    def __init__(self) -> None:
        self._crew: Crew | None = None
        self._session: Session | None = None
        self._feeds: dict[str, Any] = {}
        self._calls: dict[int, Callable[[], object]] = {}

    def answer(self, request: Request) -> Reply:
        """Do what is asked; an error becomes a reply, so that the other subjects can go on."""
        try:
            return self._answer(request)
        except Exception as error:
            return _describe(error)

    def _answer(self, request: Request) -> Reply:
        match request:
            case messages.Load():
                return self._load(request.crew)
            case messages.Prepare():
                return self._prepare(request.subject)
            case messages.Compute():
                return self._compute(request.subject, request.everything)
            case messages.MoveTo():
                move_to(request.cpus)
                return messages.Moved()
            case messages.EndRecording():
                return messages.Recorded(self._end_recording())
        return _time(self._calls[request.subject], request)

    def _load(self, crew: Crew) -> Loaded:
        self._session, self._calls = None, {}  # the old session goes before the new one comes: both may not fit
        _forget_peak_memory()
        self._crew, self._feeds = crew, messages.unpack_feeds(crew.feeds)
        if crew.model_path is None:
            return Loaded(None, {"threads": crew.threads})
        open_session = runtime_module(crew.runtime).open_session
        if crew.recording is not None:
            from onnxperf.runtimes import ort

            open_session = partial(ort.open_session, recording=crew.recording)
        start = timing.monotonic_ns()
        self._session = open_session(Path(crew.model_path), crew.session)
        load_ns = timing.monotonic_ns() - start
        return Loaded(load_ns, {"threads": crew.threads, **self._session.conditions})

    def _compute(self, index: int, everything: bool) -> messages.Computed:
        """The outputs of one call; or, of a model, every tensor by name."""
        if everything:
            assert self._session is not None  # noqa: S101 - only models are asked for everything
            values = self._session.intermediates(self._feeds)
            return messages.Computed(list(values), messages.pack_value(list(values.values())))
        outputs = self._calls[index]()
        if self._session is not None:
            return messages.Computed(list(self._session.output_names), messages.pack_value(outputs))
        arrays = to_numpy(outputs)
        if isinstance(arrays, dict):
            return messages.Computed(list(arrays), messages.pack_value(list(arrays.values())))
        return messages.Computed([], messages.pack_value(arrays))

    def _end_recording(self) -> str:
        from onnxperf.runtimes.ort import OrtSession

        assert isinstance(self._session, OrtSession)  # noqa: S101 - only a session of onnxruntime records
        return self._session.end_recording()

    def _prepare(self, index: int) -> Prepared:
        assert self._crew is not None  # noqa: S101 - the parent loads first
        subject = self._crew.subjects[index]
        conditions: dict[str, Scalar] = {}
        if isinstance(subject, FunctionSubject):
            call, conditions = _revive(subject, list(self._feeds.values()))
        else:
            session = self._session if subject.model_path is None else _own_session(subject, self._crew)
            assert session is not None  # noqa: S101
            call = session.bind(subject.call, self._feeds, self._crew.casts)
        self._calls[index] = call
        start = timing.monotonic_ns()
        call()
        return Prepared(timing.monotonic_ns() - start, conditions)


def _own_session(subject: ModelSubject, crew: Crew) -> Session:
    open_session = runtime_module(crew.runtime).open_session
    if subject.executed_path is not None:
        from onnxperf.runtimes import ort

        open_session = partial(ort.open_session, recording=Recording(executed_path=subject.executed_path))
    return open_session(Path(str(subject.model_path)), crew.session)


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


def _revive(subject: FunctionSubject, arguments: list[Any]) -> tuple[Callable[[], object], dict[str, Scalar]]:
    """Bring a callable of the user to life in this process."""
    import cloudpickle

    function = cloudpickle.loads(subject.function)
    conditions: dict[str, Scalar] = {}
    if "sklearn" in sys.modules:
        sklearn = importlib.import_module("sklearn")
        sklearn.set_config(assume_finite=not subject.check_finite)
        conditions = {"scikit-learn": sklearn.__version__, "assume_finite": not subject.check_finite}
    if isinstance(function, FrameworkModel):  # turns its inputs into tensors once, not in every call
        return function.bind(*arguments), {"framework": function.framework, **function.conditions()}
    return (partial(function, *arguments) if arguments else function), conditions


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


def _forget_peak_memory() -> None:
    """A limit holds for what is loaded now, not for what a process hosted before."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _open_pipe(handle: int) -> Any:
    kind = "PipeConnection" if sys.platform == "win32" else "Connection"
    return getattr(connection, kind)(handle)


if __name__ == "__main__":
    main()
