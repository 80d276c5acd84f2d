"""`onnxperf.stack`: where the time of many calls goes, in Python, in kernels and between both."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

from onnxperf.analyze import stack as analysis
from onnxperf.api._shared.racing import with_threads
from onnxperf.api._shared.requests import InputKeywords, check_keywords, input_options, require, session_options
from onnxperf.api._shared.subjects import (
    Entry,
    Source,
    chosen_calls,
    function_specs,
    model_specs,
    open_entries,
    refuse_options_of_models,
)
from onnxperf.errors import BadInput, SubjectError, WorkerLost
from onnxperf.measure import allocations as tracking
from onnxperf.measure import native_stack
from onnxperf.measure.lines import NamedFunction
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import CallFor, Load, Prepare, SampleStack, TrackAllocations, WarmUp, WorkerSpec
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.measure.profiling import Progress
from onnxperf.model.inputs import Feeds
from onnxperf.records import Scalar, SessionOptions
from onnxperf.records.stack import Allocations, CodeShares, Stack, StackFrame
from onnxperf.render.stack.allocations import flame_page
from onnxperf.render.stack.stack import session_of, shares_text
from onnxperf.results.stack import StackResult
from onnxperf.wording.names import visible

DEFAULT_S = 2.0
LONGEST_S = 10.0
"""py-spy looks on as long as the calls take, within these bounds."""
MOST_TRACKED = 1000
"""Calls that memray watches, unless a number is given: it writes down every allocation."""
WARM_NS = 200_000_000
_TURN_NS = 100_000_000
"""Between two looks at whether py-spy is done."""
_SEPARATORS = re.compile("([\0\1])")
"""Between the parts of a name in pyinstrument's session."""


def stack(  # noqa: PLR0913 - one keyword per option of the command
    source: Source | Callable[[], Any],
    feeds: Mapping[str, Any] | None = None,
    *,
    calls: int | None = None,
    runtime: str = "numpy",
    call: str = "run",
    interval: float = 0.0005,
    native: bool = False,
    rate: int = 400,
    allocations: bool = False,
    timeout: float = 600.0,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[InputKeywords],
) -> StackResult:
    """Call a model or a callable many times, and show where the time goes.

    `source` is a callable without arguments, its name as FILE.py:function, or a model. The calls run in a process of
    their own: `calls` of them, or as many as take about 2 s, while pyinstrument takes a sample every `interval`
    seconds. Where py-spy can look into that process, it then tells Python from kernels at `rate` samples per second;
    `native` keeps its samples. With `allocations`, memray watches at last what memory the calls take.
    """
    check_keywords(keywords, InputKeywords)
    require(calls is None or calls >= 1, "calls", calls, "at least 1")
    require(0 < interval < math.inf, "interval", interval, "a finite number of seconds above 0")
    require(1 <= rate <= 10_000, "rate", rate, "1 to 10000 samples per second")
    require(timeout > 0, "timeout", timeout, "more than 0 seconds")
    asked = _Asked(calls, interval, native, rate, allocations)
    subject = _subject(source, feeds, (runtime, call), with_threads(session_options(keywords)), keywords)
    if native:
        native_stack.find_py_spy()
    if allocations:
        tracking.require_memray()
    progress(0.0, f"loading {subject.name}")
    with open_worker(subject.spec, timeout_s=timeout) as worker:
        return _result(subject, _seen(worker, subject, asked, progress), asked)


class _Asked(NamedTuple):
    """How it is watched."""

    calls: int | None
    interval_s: float
    native: bool
    rate: int
    allocations: bool


class _Subject(NamedTuple):
    """The one who is called."""

    name: str
    spec: WorkerSpec
    notes: tuple[str, ...] = ()
    entry: Entry | None = None
    """The model, whose file lives as long as it does."""


class _Seen(NamedTuple):
    """What those who watched have seen."""

    conditions: dict[str, Scalar]
    calls: int
    call_ns: float
    session: dict[str, Any]
    """Of pyinstrument."""
    samples: list[analysis.Sample]
    """Of py-spy."""
    problem: str
    """Why there are none."""
    allocations: Allocations | None = None
    page: str | None = None
    """Of memray."""


def _seen(worker: ProcessWorker, subject: _Subject, asked: _Asked, progress: Progress) -> _Seen:
    """Let them watch one after the other: each slows down what it watches."""
    conditions = worker.ask(Load(subject.spec)).conditions | worker.ask(Prepare(0)).conditions
    call_ns = worker.ask(WarmUp(0, WARM_NS)).call_ns
    calls = asked.calls or max(1, int(DEFAULT_S * 1e9 / max(call_ns, 1.0)))
    progress(0.1, f"{calls:,} calls, watched by pyinstrument")
    title = f"{subject.name} · {subject.spec.runtime} · {calls:,} calls"
    session = _described(worker.ask(SampleStack(0, calls, asked.interval_s)).session, title)
    progress(0.45, "more calls, watched by py-spy")
    watched_s = min(max(calls * call_ns / 1e9, DEFAULT_S), LONGEST_S)
    samples, problem = _watched(worker, asked.native, watched_s, asked.rate)
    seen = _Seen(conditions, calls, call_ns, session, samples, problem)
    if not asked.allocations:
        return seen
    progress(0.8, "more calls, watched by memray")
    allocations, page = _tracked(worker, asked.calls or min(calls, MOST_TRACKED), subject.name)
    return seen._replace(allocations=allocations, page=page)


def _result(subject: _Subject, seen: _Seen, asked: _Asked) -> StackResult:
    frames = tree(seen.session)
    shares = analysis.native_shares(seen.samples) or analysis.python_shares(frames, seen.session["sample_count"])
    record = Stack(
        machine=machines.describe_machine(),
        command="onnxperf.stack",
        name=subject.name,
        runtime=subject.spec.runtime,
        calls=seen.calls,
        call_ns=seen.call_ns,
        duration_ns=round(seen.session["duration"] * 1e9),
        cpu_ns=round(seen.session["cpu_time"] * 1e9),
        samples=seen.session["sample_count"],
        interval_ns=round(asked.interval_s * 1e9),
        shares=shares,
        frames=frames,
        native=analysis.native_functions(seen.samples) if asked.native else (),
        allocations=seen.allocations,
        conditions=seen.conditions,
        notes=(*subject.notes, *([seen.problem] if seen.problem else [])),
        answer=_answer(shares),
    )
    return StackResult(record, seen.session, seen.samples if asked.native else (), seen.page)


def _subject(
    source: Any,
    feeds: Mapping[str, Any] | None,
    how: tuple[str, str],
    session: SessionOptions,
    keywords: Mapping[str, Any],
) -> _Subject:
    """The one who is called, under its name; `how` is runtime and call style of a model."""
    runtime, call = how
    if isinstance(source, str) and source.rpartition(":")[0].endswith(".py"):
        source = _ByName(NamedFunction.parse(source))
    if callable(source):
        asked = {**keywords, "feeds": feeds, "runtime": runtime, "call": call}
        refuse_options_of_models(asked, {"runtime": "numpy", "call": "run"})
        name = getattr(source, "__name__", type(source).__name__)
        return _Subject(name, function_specs({name: source}, Feeds({}, {}), session)[0])
    chosen = chosen_calls([runtime], [call], session)
    entry = open_entries(cast("Source", source), input_options(keywords), feeds)[0]
    return _Subject(entry.model.label, model_specs([entry], chosen, session)[0], tuple(entry.feeds.notes), entry)


class _ByName:
    """A function of a file, which on its way to the worker becomes the function itself: only there it is loaded."""

    def __init__(self, function: NamedFunction) -> None:
        self.__name__ = function.name
        self._function = function

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[NamedFunction]]:
        return NamedFunction.load, (self._function,)

    def __call__(self) -> Any:
        """Call it here."""
        return self._function.load()()


def _described(session: bytes, description: str) -> dict[str, Any]:
    """pyinstrument's session, with names that can be shown anywhere."""
    return {**_tamed(json.loads(session)), "target_description": _shown(visible(description))}


def _tamed(data: Any) -> Any:
    """The same data with all text in it made safe."""
    if isinstance(data, dict):
        return {key: _tamed(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_tamed(each) for each in data]
    return _shown(data) if isinstance(data, str) else data


@lru_cache(4096)
def _shown(text: str) -> str:
    """Text that steers no terminal, and ends no script: pyinstrument's page puts names into one."""
    parts = (part if _SEPARATORS.fullmatch(part) else visible(part) for part in _SEPARATORS.split(text))
    return "".join(parts).replace("</", "< /").replace("<!--", "< !--")


def _watched(worker: ProcessWorker, native: bool, watched_s: float, rate: int) -> tuple[list[analysis.Sample], str]:
    """What py-spy saw, or why it saw nothing."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        raw = Path(folder) / "samples.raw"
        try:
            worker.ask(CallFor(0, 0))  # lets py-spy in
            native_stack.record(worker.pid, lambda: worker.ask(CallFor(0, _TURN_NS)), raw, watched_s, rate)
        except (BadInput, SubjectError) as error:
            if native or isinstance(error, WorkerLost):  # nobody is left to be asked
                raise
            return [], f"compiled frames were not seen: {error}"
        text = raw.read_text(encoding="utf-8", errors="replace")
    samples = analysis.inside_calls(analysis.read_collapsed(text))
    return samples, "" if samples else "compiled frames were not seen: py-spy took no sample of the calls"


def _tracked(worker: ProcessWorker, calls: int, name: str) -> tuple[Allocations, str]:
    """What memray saw, and its page."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        path = Path(folder) / "allocations.bin"
        worker.ask(TrackAllocations(0, calls, str(path)))
        return tracking.read(path, calls, _short), flame_page(path, f"{name}, {calls:,} calls", tracking.Inside)


def tree(data: dict[str, Any]) -> tuple[StackFrame, ...]:
    """The frames of a session, every one behind its caller."""
    root = session_of(data).root_frame()
    waiting: list[tuple[Any, int | None]] = [(root, None)] if root is not None else []
    frames: list[StackFrame] = []
    while waiting:
        frame, parent = waiting.pop()
        frames.append(
            StackFrame(
                function=frame.function,
                file=_short(frame.file_path_short or ""),
                line=frame.line_no or 0,
                self_ns=max(round(frame.total_self_time * 1e9), 0),
                total_ns=round(frame.time * 1e9),
                parent=parent,
            )
        )
        place = len(frames) - 1
        waiting += [(child, place) for child in reversed(frame.children) if not child.is_synthetic]
    return tuple(frames)


def _short(path: str) -> str:
    """A path below the folder of modules, or one that names no folder of this machine above the last."""
    if not path or path.startswith("<"):
        return path
    parts = Path(path).parts
    if "site-packages" in parts:
        return os.path.join(*parts[parts.index("site-packages") + 1 :])  # noqa: PTH118
    return os.path.join(*parts[-2:]) if Path(path).is_absolute() or ".." in parts else path  # noqa: PTH118


def _answer(shares: CodeShares | None) -> str:
    return shares_text(shares) if shares else "No samples: the calls were too short; make more of them (--calls)."
