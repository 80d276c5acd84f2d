"""State of a worker (subjects, inputs, shared session) and its answers to requests."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from msgspec.structs import replace

from onnxperf.errors import BadInput, MissingExtra, SubjectError
from onnxperf.measure import messages, packing
from onnxperf.measure.layout import Block, take_blocks
from onnxperf.measure.memory import reset_peak
from onnxperf.measure.messages import (
    Computed,
    Done,
    EndedRecording,
    Failed,
    FunctionSubject,
    Loaded,
    ModelSubject,
    Prepared,
    Reply,
    Request,
    WorkerSpec,
)
from onnxperf.measure.shared import read_file
from onnxperf.measure.worker import retracing, timing
from onnxperf.records.base import Scalar
from onnxperf.records.options import Recording
from onnxperf.runtimes.base import Parts, Session
from onnxperf.runtimes.find import find_runtime
from onnxperf.wording.names import one_line

if TYPE_CHECKING:
    from onnxperf.frameworks.base import FrameworkModel


@dataclass(eq=False)
class Host:
    """The subjects of one worker and their shared session."""

    spec: WorkerSpec = field(default_factory=lambda: WorkerSpec(subjects=(), threads=1, feeds={}))
    """The spec without packed inputs and functions: a second copy would count as memory of the subject."""
    session: Session | None = None
    files: dict[int, int] = field(default_factory=dict)
    """Open files sent with the request, by their file descriptors in the parent."""
    feeds: list[dict[str, Any]] = field(default_factory=list)
    """Inputs of each size."""
    functions: dict[int, Any] = field(default_factory=dict)
    """User callables by subject."""
    parts: dict[int, Callable[[], Parts]] = field(default_factory=dict)
    """Parts of a subject's calls, if they can be divided."""
    calls: dict[int, Callable[[], object]] = field(default_factory=dict)
    """Prepared subjects."""
    blocks: list[Block] = field(default_factory=list)
    """Memory that is only held so that consecutive sessions get different memory layouts."""

    def answer(self, request: Request[Any]) -> Reply:
        """Answer a request; an error becomes a reply, so that the other subjects can continue."""
        try:
            return handler_of(type(request))(self, request)
        except Exception as error:
            return _describe(error, self.spec.python)

    def take(self, spec: WorkerSpec, block_sizes: tuple[int, ...] = ()) -> None:
        """Replace the current spec."""
        # Drop the old session before opening the new one: both together may not fit.
        self.session, self.calls, self.parts, self.blocks = None, {}, {}, []
        self.blocks = take_blocks(block_sizes)
        reset_peak()  # a limit applies to what is loaded now, not to earlier contents of the process
        self.feeds = []
        files = {handle: read_file(own) for handle, own in self.files.items()}
        self.feeds = [packing.unpack_feeds(feeds, files) for feeds in (spec.feeds, *spec.more_feeds)]
        functions = {index: each for index, each in enumerate(spec.subjects) if isinstance(each, FunctionSubject)}
        self.functions = {index: _revive(subject) for index, subject in functions.items()}
        bare = (replace(each, function=b"") if isinstance(each, FunctionSubject) else each for each in spec.subjects)
        self.spec = replace(spec, subjects=tuple(bare), feeds={}, more_feeds=())

    def open(self) -> Loaded:
        """Open the shared session of the subjects, if any."""
        spec = self.spec
        if spec.model_path is None:
            return Loaded(None, {"threads": spec.threads})
        open_session = find_runtime(spec.runtime).ready()
        start = timing.monotonic_ns()
        self.session = open_session(Path(spec.model_path), spec.session, spec.recording)
        load_ns = timing.monotonic_ns() - start
        return Loaded(load_ns, {"threads": spec.threads, **self.session.conditions})

    def bind(self, index: int) -> dict[str, Scalar]:
        """Bind a subject to its inputs; with several input sizes, its calls cycle through them."""
        subject = self.spec.subjects[index]
        if isinstance(subject, FunctionSubject):
            function = self.functions[index]
            if is_of_framework(function):
                parts_on = function.opened()  # once for all sizes
                parts = [parts_on(*each.values()) for each in self.feeds]
                self.parts[index] = lambda: parts[0]  # creating them again would reload the model
                self.calls[index] = _in_turn([each.prepare() for each in parts])
            else:
                self.calls[index] = _in_turn([_on(function, each) for each in self.feeds])
            return _conditions_of(function)
        session = self.session if subject.model_path is None else _own_session(subject, self.spec)
        assert session is not None  # noqa: S101 - the parent loads first
        casts = self.spec.casts
        self.parts[index] = partial(session.parts, subject.call, self.feeds[0], casts)
        self.calls[index] = _in_turn([session.bind(subject.call, each, casts) for each in self.feeds])
        return {"made_once": True} if find_runtime(self.spec.runtime).call(subject.call).made_once else {}


@cache
def handler_of(kind: type[Request[Any]]) -> Callable[[Host, Any], Reply]:
    """The handler of a request type."""
    module, _, name = kind.answered_by.partition(":")
    handler: Callable[[Host, Any], Reply] = getattr(importlib.import_module(module), name)
    return handler


def hold(host: Host, request: messages.Hold) -> Done:
    """Take over a spec and its inputs."""
    host.take(request.spec)
    return Done()


def load(host: Host, request: messages.Load) -> Loaded:
    """Take over a spec and open its session."""
    host.take(request.spec, request.block_sizes)
    return host.open()


def prepare(host: Host, request: messages.Prepare) -> Prepared:
    """Bind a subject and time its first call."""
    conditions = host.bind(request.subject)
    retracing.watch()
    call = host.calls[request.subject]
    start = timing.monotonic_ns()
    call()
    return Prepared(timing.monotonic_ns() - start, conditions)


def compute(host: Host, request: messages.Compute) -> Computed:
    """The outputs of one call, or every tensor of a model by name."""
    names, values = _computed(host, request)
    return Computed(names, packing.pack_outputs(values, request.file, host.files))


def _computed(host: Host, request: messages.Compute) -> tuple[list[str], Any]:
    if request.everything:
        assert host.session is not None  # noqa: S101 - only models are asked for everything
        tensors = host.session.intermediates(host.feeds[0])
        return list(tensors), list(tensors.values())
    outputs = host.calls[request.subject]()
    if host.session is not None:
        return list(host.session.output_names), outputs
    from onnxperf.frameworks.outputs import to_numpy

    arrays = to_numpy(outputs)
    return (list(arrays), list(arrays.values())) if isinstance(arrays, dict) else ([], arrays)


def end_recording(host: Host, _request: messages.EndRecording) -> EndedRecording:
    """Have onnxruntime write its trace."""
    assert host.session is not None  # noqa: S101 - only models are recorded
    return EndedRecording(host.session.end_recording())


def move(_host: Host, request: messages.MoveTo) -> Done:
    """Bind all threads of this process to these processors."""
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread may end, or a processor be taken from us, in the meantime
            os.sched_setaffinity(int(thread.name), request.cpus)
    return Done()


def _own_session(subject: ModelSubject, spec: WorkerSpec) -> Session:
    recording = None if subject.executed_path is None else Recording(executed_path=subject.executed_path)
    return find_runtime(spec.runtime).open_session(Path(str(subject.model_path)), spec.session, recording)


def _revive(subject: FunctionSubject) -> Any:
    """Unpickle a user callable in this process."""
    import cloudpickle

    function = cloudpickle.loads(subject.function)
    if "sklearn" in sys.modules and subject.check_finite is not None:
        importlib.import_module("sklearn").set_config(assume_finite=not subject.check_finite)
    return function


def _on(function: Any, feeds: dict[str, Any]) -> Callable[[], object]:
    """A callable bound to its inputs; an estimator's inputs are converted to a table once, before timing."""
    sklearn = sys.modules.get("onnxperf.frameworks.sklearn")
    if sklearn is not None and isinstance(function, sklearn.EstimatorCall):
        call: Callable[[], object] = function.bind(*feeds.values())
        return call
    return partial(function, *feeds.values()) if feeds else function


def is_of_framework(function: Any) -> TypeGuard[FrameworkModel[Any]]:
    """Whether a callable is a framework model, without importing a framework."""
    base = sys.modules.get("onnxperf.frameworks.base")
    return base is not None and isinstance(function, base.FrameworkModel)


def _conditions_of(function: Any) -> dict[str, Scalar]:
    if is_of_framework(function):
        return {"framework": function.framework, **function.conditions()}
    if "sklearn" in sys.modules:
        sklearn = importlib.import_module("sklearn")
        return {"sklearn": sklearn.__version__, "assume_finite": sklearn.get_config()["assume_finite"]}
    return {}


def _in_turn(calls: list[Callable[[], object]]) -> Callable[[], object]:
    """A function that cycles through these calls."""
    if len(calls) == 1:
        return calls[0]
    turns = cycle(calls)

    def call() -> object:
        return next(turns)()

    return call


def _describe(error: Exception, python: str | None = None) -> Failed:
    """An error as one line; other interpreters may lack modules that ours always has."""
    cause = error.__cause__ if isinstance(error, MissingExtra) else error
    if python is not None and isinstance(cause, ModuleNotFoundError):
        return Failed("failed", f"{cause.name} is not installed at {python}; add it to this environment")
    if isinstance(error, SubjectError):
        return Failed(error.status, error.reason)
    if isinstance(error, BadInput):
        return Failed("failed", str(error), bad_input=True)
    import traceback

    text = one_line(" ".join(traceback.format_exception_only(error)))
    out_of_memory = isinstance(error, MemoryError) or "bad_alloc" in text or "Failed to allocate memory" in text
    return Failed("oom" if out_of_memory else "failed", text)
