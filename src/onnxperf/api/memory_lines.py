"""`onnxperf.memory_lines`: what each line of a function costs in memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
from msgspec.structs import replace

from onnxperf.analyze.answers.lines import lines_answer, lost_answer
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import pickled
from onnxperf.errors import SubjectError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.messages import FunctionSubject, Load, TracedLines, TraceLines, WorkerSpec
from onnxperf.measure.process import open_worker
from onnxperf.measure.profiling import Progress
from onnxperf.measure.worker.lines import NamedFunction
from onnxperf.options.functions import MEMORY_LINES
from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.results.base import Result

_NO_PEAKS = "this kernel cannot reset its high-water mark, so the peaks of single lines are unknown"
_NO_TEXT = "the text of the function cannot be read; only the lines that ran are shown"


@public(MEMORY_LINES)
def memory_lines(
    source: str | Callable[[], Any],
    *,
    settings: Settings,
    progress: Progress = automatic,
) -> Result[MemoryLines]:
    """Call a function once, and measure for each of its lines what memory stays and what it needed while it ran.

    `source` is a function without arguments, or its name as FILE.py:function or module:function; a file is loaded in
    a process of its own, and its top-level code runs before the measurement begins. Peaks are the kernel's, so a
    line that takes memory and gives it back is seen. Reading memory takes time: do not time the function meanwhile.
    """
    limits = settings.limits
    spec = WorkerSpec(subjects=(_subject(source),), threads=usable_cores(), feeds={})
    empty = MemoryLines(machine=machines.describe_machine(), command="onnxperf.memory_lines", function=_label(source))
    progress(0.0, "calling the function")
    try:
        with open_worker(spec, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit) as worker:
            worker.ask(Load(spec))
            traced = worker.ask(TraceLines(0))
    except SubjectError as error:  # its process is lost, and with it what was measured about its lines
        lost = replace(empty, status=error.status, reason=error.reason)
        return Result(replace(lost, answer=lost_answer(lost)))
    return Result(_record(empty, traced, source))


def _subject(source: str | Callable[[], Any]) -> FunctionSubject:
    if not isinstance(source, str):
        return FunctionSubject(name=_label(source), function=pickled(_label(source), source))
    named = NamedFunction.parse(source)
    return FunctionSubject(name=named.name, function=cloudpickle.dumps(named))


def _label(source: str | Callable[[], Any]) -> str:
    if isinstance(source, str):
        return source.rpartition(":")[2]
    return getattr(source, "__qualname__", type(source).__name__)


def _record(empty: MemoryLines, traced: TracedLines, source: str | Callable[[], Any]) -> MemoryLines:
    first, texts = (traced.first_line, traced.texts) if traced.texts else _text_here(source)
    lines = _every_line(traced, first, texts)
    notes = [note for note, applies in ((_NO_PEAKS, not traced.exact), (_NO_TEXT, not texts)) if applies]
    record = replace(
        empty,
        function=traced.function,
        file=traced.file,
        status="failed" if traced.error else "ok",
        reason=traced.error,
        error_line=traced.error_line,
        start_bytes=traced.start_bytes,
        end_bytes=traced.end_bytes,
        exact=traced.exact,
        lines=lines,
        notes=tuple(notes),
    )
    return replace(record, answer=lines_answer(record))


def _text_here(source: str | Callable[[], Any]) -> tuple[int, list[str]]:
    """First line and text of what was typed into a notebook, which only this process has."""
    try:
        texts, first = inspect.getsourcelines(inspect.unwrap(source))  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        return 0, []
    return first, [text.rstrip("\r\n") for text in texts]


def _every_line(traced: TracedLines, first: int, texts: Sequence[str]) -> tuple[LineMemory, ...]:
    """The lines that ran and those that did not; the first one has what was resident before."""
    known = {line.number: line for line in traced.lines}
    written = dict(enumerate(texts, start=first))
    if written:
        known.setdefault(first, LineMemory(number=first, resident_bytes=traced.start_bytes))
    return tuple(
        replace(known.get(number, LineMemory(number=number)), text=written.get(number, ""))
        for number in sorted(known.keys() | written.keys())
    )
