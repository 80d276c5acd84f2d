"""Models are read in a child process with limits, one for all of them: what strangers made is never parsed here."""

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
"""For one look into a model, where a command has no time limit of its own."""
_MEMORY_BYTES = 1 << 29
_MEMORY_PER_BYTE = 8
"""What reading a model may take: so much, and so much for each byte of its file."""
_MEMORY_PER_BYTE_OF_VALUES = 128
"""The same, where the value of each element is read, too: a number is an object then."""
_REPLY_BYTES = 32 << 20
"""What an answer may have, which this process has to hold; and half of what is justified by the size of the file."""
_OUT_OF_MEMORY = ("allocate memory", "bad_alloc", "MemoryError")
"""What libraries write before they end a process that has no memory left."""
_SPEC = WorkerSpec(subjects=(), threads=1, feeds={}, runtime=READER)

R = TypeVar("R", bound=Reply)
Shapes = Mapping[str, tuple[int, ...]]


# ---------------------------------------------------------------- the process


class _Reader:
    """The process that reads, started with the first model and kept for all others; a new one where it was lost."""

    def __init__(self) -> None:
        self._worker: ProcessWorker | None = None
        self._owner = 0
        self._lock = threading.RLock()

    def start(self) -> ProcessWorker:
        """The process, which may still be starting."""
        with self._lock:
            if self._worker is not None and not self._is_usable(self._worker):
                self.close()
            if self._worker is None:
                self._worker, self._owner = ProcessWorker(_SPEC, READ_TIMEOUT_S), os.getpid()
            return self._worker

    def ask(self, request: Request[R], timeout_s: float, memory_bytes: int) -> R:
        """Send a request and wait for its reply, which may not take more than that."""
        try:
            return self._ask(request, timeout_s, memory_bytes)
        except WorkerLost as error:
            # It also dies with the thread that started it, and that may end while another one asks.
            if error.status != "crashed" or error.signal != getattr(signal, "SIGKILL", 9):
                raise
            return self._ask(request, timeout_s, memory_bytes)

    def _ask(self, request: Request[R], timeout_s: float, memory_bytes: int) -> R:
        with self._lock:
            worker = self.start()
            worker.wait_until_ready()
            worker.timeout_s = timeout_s
            worker.largest_reply_bytes = _REPLY_BYTES + (memory_bytes - _MEMORY_BYTES) // 2
            if sys.platform != "linux":  # where the kernel does not hold the reader to it
                worker.memory_limit_bytes = memory_bytes
            return worker.ask(request)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._worker is not None and self._owner == os.getpid():
                self._worker.close()
            self._worker = None

    def _is_usable(self, worker: ProcessWorker) -> bool:
        """Whether it is ours, alive, and owes no answer: after Ctrl-C it is still busy with what was not wanted."""
        return self._owner == os.getpid() and not worker.ended and (worker.idle or worker.starting)


_READER = _Reader()
atexit.register(_READER.close)


def start_reader() -> None:
    """Let the process start while this one is busy with something else; what prevents it is raised when it is asked."""
    with contextlib.suppress(OnnxperfError, OSError):
        _READER.start()


# ---------------------------------------------------------------- questions


def open_placed(placed: Placed, timeout_s: float | None = None) -> Model:
    """A model that was read and found to be whole."""
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
    """The file of a model, and those of its external data."""
    found = _ask(lambda place: Open(place, alone=False), model)  # what is alone was refused before
    return model.path, *(Path(os.fsdecode(file)) for file in found.files)


def view_of(model: Model, values: bool = False, shapes: Mapping[str, Dims] | None = None) -> GraphView:
    """A model to be shown; `values` adds those of all tensors, `shapes` replace those of inputs."""
    settled = dict(shapes) if shapes is not None else None
    per_byte = _MEMORY_PER_BYTE_OF_VALUES if values else _MEMORY_PER_BYTE
    found = _ask(lambda place: View(place, values, settled), model, values, per_byte).view
    return msgspec.structs.replace(found, model=model.label, fingerprint=model.fingerprint)


def outline_of(model: Model, named: bool = False, copy: Path | None = None) -> Outlined:
    """The graph of a model; `named` gives every node a name of its own, and writes a `copy` where they need them."""
    return _ask(lambda place: Outline(place, named, str(copy.absolute()) if copy is not None else ""), model)


def outline_of_file(path: Path, what: str) -> Outlined:
    """The graph in a file that onnxruntime wrote."""
    return outline_of(written_model(path, what))


def random_operators_of(model: Model) -> tuple[str, ...]:
    """Operators of a model that draw random numbers, found without a call."""
    return _ask(FindRandom, model).operators


def work_of_nodes(model: Model, shapes: Shapes) -> dict[str, float]:
    """Work of every node of the main graph by its name, where shapes are known."""
    return _ask(lambda place: Weigh(place, dict(shapes)), model).work


def sizes_of(model: Model, shapes: Shapes) -> Sized:
    """Bytes of the tensors of a model whose inputs have these shapes."""
    return _ask(lambda place: SizeUp(place, dict(shapes)), model)


def sizes_of_file(path: Path, what: str) -> Sized:
    """The same of a file that onnxruntime wrote."""
    return sizes_of(written_model(path, what), {})


def applied(model: Model, function: str, question: bytes, weights: bool = False) -> bytes:
    """What a function of ours, `module:function`, answers to a question about the graph of a model."""
    return _ask(lambda place: Apply(place, function, question), model, weights).answer


def source_of(model: Model) -> str:
    """The Python source that the numpy runtime compiles a model into."""
    return _ask(Translate, model, weights=True).source


def written_model(path: Path, what: str) -> Model:
    """A file that onnxruntime wrote, as a model to ask about."""
    return Model(path.stem, path, "", (), (), (), 0, what=what)


def _ask(
    question: Callable[[ModelPlace], Request[R]], model: Model, weights: bool = False, per_byte: int = _MEMORY_PER_BYTE
) -> R:
    """Ask the reader; whatever goes wrong there is wrong with the model.

    External data count for what it may take only where the `weights` are read, too.
    """
    memory_bytes = _MEMORY_BYTES + per_byte * max(_file_bytes(model), model.size_bytes if weights else 0)
    timeout_s = model.timeout_s or READ_TIMEOUT_S
    path = model.path.absolute()  # the reader stays in the folder in which it was started
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
        reason = f"{what} is damaged: it holds a text that is not UTF-8; export it again"
    else:
        reason = f"{what} cannot be read: {error.reason}"
    raise BadModel(reason) from error


def _file_bytes(model: Model) -> int:
    try:
        return model.path.stat().st_size
    except (OSError, ValueError):
        return 0  # the reader raises what is wrong with it
