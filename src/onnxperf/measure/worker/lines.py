"""Memory read between the lines of a function, in the worker that calls it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import cloudpickle

from onnxperf.errors import BadInput, BadOption
from onnxperf.measure import memory
from onnxperf.measure.messages import TracedLines, TraceLines
from onnxperf.records.lines import LineMemory
from onnxperf.wording.names import one_line

if TYPE_CHECKING:
    from onnxperf.measure.worker.host import Host


@dataclass(frozen=True)
class NamedFunction:
    """A function in a file or module, loaded only by the worker, so that its data are not in memory twice."""

    place: str
    """Path of a .py file or name of a module."""
    name: str

    @classmethod
    def parse(cls, text: str) -> NamedFunction:
        """Parse FILE.py:function or module:function; the file must exist."""
        place, _, name = text.rpartition(":")
        if not place or not name.isidentifier():
            raise BadOption(f"{text!r}: expected FILE.py:function or module:function")
        if not place.endswith(".py"):
            return cls(place, name)
        if not Path(place).is_file():
            raise BadOption(f"no such file: {place!r}")
        return cls(str(Path(place).absolute()), name)

    def load(self) -> Callable[..., object]:
        """Import the file or module and return the function."""
        return self.find(callable)  # type: ignore[return-value]  # it is callable

    def find(self, usable: Callable[[object], bool]) -> object:
        """The object with this name in the file or module, if it is usable."""
        try:
            module = self._load_file() if self.place.endswith(".py") else importlib.import_module(self.place)
        except (Exception, SystemExit) as error:
            raise BadOption(f"{self.place!r} cannot be loaded: {_one_line(error)}") from error
        found = getattr(module, self.name, None)
        if not usable(found):
            public = (name for name, value in vars(module).items() if inspect.isfunction(value) and name[0] != "_")
            raise BadOption(
                f"{self.place!r} has no function {self.name!r}; choose from: {', '.join(sorted(public)) or 'none'}"
            )
        return found

    def _load_file(self) -> ModuleType:
        path = Path(self.place)
        known = sys.modules.get(path.stem)
        if known is None or getattr(known, "__file__", None) == str(path):
            return load_file(path, path.stem)
        # A file may have the name of an imported module, such as statistics.py; workers could not import it.
        module = load_file(path, f"{path.stem} (of {path.parent})")
        cloudpickle.register_pickle_by_value(module)
        return module


def answer_trace_lines(host: Host, request: TraceLines) -> TracedLines:
    """Trace the lines of a subject."""
    return trace_lines(host.functions[request.subject])


def trace_lines(source: NamedFunction | Callable[..., object]) -> TracedLines:
    """Call a function without arguments and read memory between its lines; an error ends the tracing."""
    function = source.load() if isinstance(source, NamedFunction) else source
    written = _written(function)
    file, first, texts = _source(written)
    tracer = _Tracer(written.__code__)
    memory.trim()
    start_bytes = memory.read_resident().total_bytes
    error, error_line = _run(function, tracer)
    memory.trim()
    return TracedLines(
        function=written.__qualname__,
        file=file,
        first_line=first,
        texts=texts,
        lines=tracer.lines(),
        start_bytes=start_bytes,
        end_bytes=memory.read_resident().total_bytes,
        exact=tracer.exact,
        error=error,
        error_line=error_line,
    )


@dataclass
class _Line:
    """Memory of a line over its executions so far."""

    occurrences: int = 0
    resident_bytes: int = 0
    increment_bytes: int = 0
    peak_bytes: int = 0


@dataclass
class _Running:
    """A line that has begun and not ended."""

    number: int
    start_bytes: int
    highest_bytes: int


@dataclass
class _Tracer:
    """Traces one code object; everything its lines call, such as comprehensions and other functions, counts toward
    these lines.

    From Python 3.12 on, comprehensions of lists, sets and dicts are inlined (PEP 709): their lines run once per item,
    and the peak is that of one item. Generator expressions are still calls.
    """

    code: CodeType
    exact: bool = True
    _lines: dict[int, _Line] = field(default_factory=dict)
    _running: list[_Running | None] = field(default_factory=list)
    """The running line of every active call of the function, which may be recursive, innermost last."""

    def __call__(self, frame: FrameType, _event: str, _arg: object) -> Callable[..., Any] | None:
        """Called for every new frame; only the traced function is followed."""
        if frame.f_code is not self.code:
            return None
        self._running.append(None)
        return self._follow

    def lines(self) -> list[LineMemory]:
        """All executed lines."""
        return [
            LineMemory(
                number=number,
                occurrences=line.occurrences,
                resident_bytes=line.resident_bytes,
                increment_bytes=line.increment_bytes,
                peak_bytes=line.peak_bytes if self.exact else None,
            )
            for number, line in sorted(self._lines.items())
        ]

    def _follow(self, frame: FrameType, event: str, _arg: object) -> Callable[..., Any]:
        if event == "line":
            now_bytes = self._end_line()
            self._running[-1] = _Running(frame.f_lineno, now_bytes, now_bytes)
            self.exact &= memory.reset_peak()
        elif event == "return":
            self._end_line()
            self._running.pop()
        return self._follow

    def _end_line(self) -> int:
        """Record the innermost line; the peak that is reset at its end must not be lost for enclosing lines."""
        highest = (memory.peak_bytes() or 0) if self.exact else 0
        now_bytes = memory.read_resident().total_bytes
        for running in self._running:
            if running is not None:
                running.highest_bytes = max(running.highest_bytes, highest)
        ended = self._running[-1]
        if ended is not None:
            line = self._lines.setdefault(ended.number, _Line())
            line.occurrences += 1
            line.resident_bytes = now_bytes
            line.increment_bytes += now_bytes - ended.start_bytes
            line.peak_bytes = max(line.peak_bytes, ended.highest_bytes - ended.start_bytes)
        return now_bytes


def _run(function: Callable[..., object], tracer: _Tracer) -> tuple[str, int | None]:
    """Call the function under the tracer; returns the error, if any, and its line."""
    before = sys.gettrace()
    try:
        sys.settrace(tracer)
        result = function()
        if inspect.isgenerator(result):  # not started yet
            deque(result, maxlen=0)
    except (Exception, SystemExit) as error:
        sys.settrace(before)
        ours = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is tracer.code]
        return _one_line(error), (ours[-1] if ours else None)
    finally:
        sys.settrace(before)
    return "", None


def _written(function: Any) -> Any:
    """The function to trace, without decorators, methods and partial arguments."""
    written = inspect.unwrap(function)
    while isinstance(written, partial):
        written = inspect.unwrap(written.func)
    written = getattr(written, "__func__", written)
    if not inspect.isfunction(written):
        raise BadInput(f"{_name(function)} is not a Python function, so it has no lines")
    if inspect.iscoroutinefunction(written):
        raise BadInput(f"{_name(function)} is a coroutine; pass a function that runs it")
    needed = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if needed:
        raise BadInput(f"{_name(function)} takes {', '.join(needed)}; pass a function without required arguments")
    return written


def _name(function: Any) -> str:
    return repr(getattr(function, "__name__", type(function).__name__))


def _source(function: Any) -> tuple[str, int, list[str]]:
    """File, first line and text of a function; no text if it was typed at the prompt of another process."""
    file = function.__code__.co_filename
    try:
        texts, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError):
        return file, function.__code__.co_firstlineno, []
    return file, first, [text.rstrip("\r\n") for text in texts]


def load_file(path: Path, name: str) -> ModuleType:
    """Load a file as a module with this name; it can import files from its folder."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.absolute().parent))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _one_line(error: BaseException) -> str:
    return one_line(" ".join(traceback.format_exception_only(error)))
