"""Models are read in one child process with limits, so that untrusted files are never parsed in this process."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from onnxperf.errors import BadModel, OnnxperfError, SubjectError, WorkerLost
from onnxperf.measure.messages import READER, Reply, Request, WorkerSpec
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.reading import (
    Apply,
    FindRandom,
    ModelPlace,
    Open,
    Outline,
    Outlined,
    Sized,
    SizeUp,
    Translate,
    View,
    Weigh,
)
from onnxperf.model.opened import Model, Placed, fingerprint_of
from onnxperf.records.view import Dims, GraphView
from onnxperf.wording.numbers import plain, size

READ_TIMEOUT_S = 60.0
"""Time limit for reading a model, if a command has no time limit of its own."""
_MEMORY_BYTES = 1 << 29
_MEMORY_PER_BYTE = 8
"""Memory limit for reading a model: a fixed part, and a part per byte of its file."""
_MEMORY_PER_BYTE_OF_VALUES = 128
"""The part per byte if the value of each element is read too: every number then becomes an object."""
_REPLY_BYTES = 32 << 20
"""Base size limit of a reply, which this process has to hold; half of the memory justified by the file size is
added."""
_OUT_OF_MEMORY = ("allocate memory", "bad_alloc", "MemoryError")
"""Error texts of libraries that run out of memory."""
_SPEC = WorkerSpec(subjects=(), threads=1, feeds={}, runtime=READER)

R = TypeVar("R", bound=Reply)
Shapes = Mapping[str, tuple[int, ...]]


# ---------------------------------------------------------------- the process


class _Reader:
    """The reader process, started with the first model and kept for all others; restarted if lost."""

    def __init__(self) -> None:
        self._worker: ProcessWorker | None = None
        self._owner = 0
        self._lock = threading.RLock()

    def start(self) -> ProcessWorker:
        """The reader process, which may still be starting."""
        with self._lock:
            if self._worker is not None and not self._is_usable(self._worker):
                self.close()
            if self._worker is None:
                self._worker, self._owner = ProcessWorker(_SPEC, READ_TIMEOUT_S), os.getpid()
            return self._worker

    def ask(self, request: Request[R], timeout_s: float, memory_bytes: int) -> R:
        """Send a request and wait for its reply, within these limits."""
        try:
            return self._ask(request, timeout_s, memory_bytes)
        except WorkerLost as error:
            # It also dies with the thread that started it, which may end while another thread asks.
            if error.status != "crashed" or error.signal != getattr(signal, "SIGKILL", 9):
                raise
            return self._ask(request, timeout_s, memory_bytes)

    def _ask(self, request: Request[R], timeout_s: float, memory_bytes: int) -> R:
        with self._lock:
            worker = self.start()
            worker.wait_until_ready()
            worker.timeout_s = timeout_s
            worker.largest_reply_bytes = _REPLY_BYTES + (memory_bytes - _MEMORY_BYTES) // 2
            if sys.platform != "linux":  # elsewhere the kernel does not enforce the limit
                worker.memory_limit_bytes = memory_bytes
            return worker.ask(request)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._worker is not None and self._owner == os.getpid():
                self._worker.close()
            self._worker = None

    def _is_usable(self, worker: ProcessWorker) -> bool:
        """Whether it is ours, alive, and owes no answer: after Ctrl-C it is still busy with the canceled request."""
        return self._owner == os.getpid() and not worker.ended and (worker.idle or worker.starting)


_READER = _Reader()
atexit.register(_READER.close)


def start_reader() -> None:
    """Start the reader in the background; an error is raised with the first request."""
    with contextlib.suppress(OnnxperfError, OSError):
        _READER.start()


# ---------------------------------------------------------------- questions


def open_placed(placed: Placed, timeout_s: float | None = None) -> Model:
    """Read and validate a model."""
    model = Model(placed.label, placed.path, "", (), (), (), 0, what=placed.what, timeout_s=timeout_s)
    found = _ask(lambda place: Open(place, placed.alone), model)
    return replace(
        model,
        fingerprint=fingerprint_of(placed.path, (Path(os.fsdecode(file)) for file in found.files)),
        inputs=found.inputs,
        overridable=found.overridable,
        outputs=found.outputs,
        size_bytes=found.size_bytes,
        table_sizes=found.table_sizes,
        folder=placed.folder,
    )


def files_of(model: Model) -> tuple[Path, ...]:
    """The file of a model and its external data files."""
    found = _ask(lambda place: Open(place, alone=False), model)  # a model that must be alone was validated before
    return model.path, *(Path(os.fsdecode(file)) for file in found.files)


def view_of(model: Model, values: bool = False, shapes: Mapping[str, Dims] | None = None) -> GraphView:
    """A model to show; `values` adds the values of all tensors, `shapes` overrides those of inputs."""
    settled = dict(shapes) if shapes is not None else None
    per_byte = _MEMORY_PER_BYTE_OF_VALUES if values else _MEMORY_PER_BYTE
    found = _ask(lambda place: View(place, values, settled), model, values, per_byte).view
    return msgspec.structs.replace(found, model=model.label, fingerprint=model.fingerprint)


def outline_of(model: Model, named: bool = False, copy: Path | None = None) -> Outlined:
    """The graph of a model; `named` gives every node a unique name and writes a `copy` if names were missing."""
    return _ask(lambda place: Outline(place, named, str(copy.absolute()) if copy is not None else ""), model)


def outline_of_file(path: Path, what: str) -> Outlined:
    """The graph in a file written by onnxruntime."""
    return outline_of(written_model(path, what))


def random_operators_of(model: Model) -> tuple[str, ...]:
    """Operators of a model that draw random numbers, found without running it."""
    return _ask(FindRandom, model).operators


def work_of_nodes(model: Model, shapes: Shapes) -> dict[str, float]:
    """Work of every node of the main graph by name, if its shapes are known."""
    return _ask(lambda place: Weigh(place, dict(shapes)), model).work


def sizes_of(model: Model, shapes: Shapes) -> Sized:
    """Sizes in bytes of the tensors of a model with these input shapes."""
    return _ask(lambda place: SizeUp(place, dict(shapes)), model)


def sizes_of_file(path: Path, what: str) -> Sized:
    """Sizes of the tensors in a file written by onnxruntime."""
    return sizes_of(written_model(path, what), {})


def applied(model: Model, function: str, question: bytes, weights: bool = False) -> bytes:
    """Answer of one of our functions, `module:function`, to a question about a model's graph."""
    return _ask(lambda place: Apply(place, function, question), model, weights).answer


def source_of(model: Model) -> str:
    """Python source generated by the numpy runtime for a model."""
    return _ask(Translate, model, weights=True).source


def written_model(path: Path, what: str) -> Model:
    """A file written by onnxruntime, as a model to read."""
    return Model(path.stem, path, "", (), (), (), 0, what=what)


def _ask(
    question: Callable[[ModelPlace], Request[R]], model: Model, weights: bool = False, per_byte: int = _MEMORY_PER_BYTE
) -> R:
    """Ask the reader; any failure there counts as an error in the model.

    External data count toward the memory limit only if the `weights` are read too.
    """
    memory_bytes = _MEMORY_BYTES + per_byte * max(_file_bytes(model), model.size_bytes if weights else 0)
    timeout_s = model.timeout_s or READ_TIMEOUT_S
    path = model.path.absolute()  # the reader stays in the folder it was started in
    place = ModelPlace(name=os.fsencode(path), what=model.what, memory_bytes=memory_bytes)
    try:
        return _READER.ask(question(place), timeout_s, memory_bytes)
    except SubjectError as error:
        _refuse(error, model, memory_bytes, timeout_s)


def _refuse(error: SubjectError, model: Model, memory_bytes: int, timeout_s: float) -> NoReturn:
    what = model.what
    if error.status == "timeout":
        more = "increase `timeout`, or " if model.timeout_s is not None else ""
        reason = f"{what} cannot be read within {plain(timeout_s)} s; {more}simplify the model"
    elif error.status == "oom" or any(words in error.reason for words in _OUT_OF_MEMORY):
        reason = f"{what} needs more than {size(memory_bytes)} of memory to be read; simplify the model"
    elif isinstance(error.__cause__, msgspec.MsgspecError | UnicodeDecodeError):
        reason = f"{what} is damaged: it contains text that is not UTF-8; export it again"
    else:
        reason = f"{what} cannot be read: {error.reason}"
    raise BadModel(reason) from error


def _file_bytes(model: Model) -> int:
    try:
        return model.path.stat().st_size
    except (OSError, ValueError):
        return 0  # the reader raises the error
