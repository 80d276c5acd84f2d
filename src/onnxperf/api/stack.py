"""`onnxperf.stack`: where the time of many calls goes, in Python, in kernels and between both."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from onnxperf.analyze.answers.stack import stack_answer
from onnxperf.analyze.judges.stack_functions import by_frames, by_samples
from onnxperf.analyze.trace import stack as analysis
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings, require
from onnxperf.api._shared.setups import Setup, setups_of
from onnxperf.api._shared.subjects import (
    Entry,
    FunctionByName,
    function_specs,
    is_named,
    model_specs,
    open_entries,
    refuse_options_of_models,
)
from onnxperf.errors import BadInput, SubjectError, WorkerLost, required
from onnxperf.measure import native_stack
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import (
    CallFor,
    Load,
    Prepare,
    SampleStack,
    TimeBlock,
    TrackAllocations,
    WarmUp,
    WorkerSpec,
)
from onnxperf.measure.plan import BLOCK_NS, calls_per_block
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.measure.profiling import Progress
from onnxperf.measure.worker import allocations as tracking
from onnxperf.model.inputs import Feeds
from onnxperf.options.functions import STACK
from onnxperf.records.base import Scalar
from onnxperf.records.stack import Allocations, Stack, StackFrame
from onnxperf.render.stack.allocations import flame_page
from onnxperf.render.stack.tree import session_of
from onnxperf.results.stack import StackResult
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import count

DEFAULT_S = 2.0
LONGEST_S = 10.0
"""py-spy samples as long as the calls take, within these bounds."""
MOST_TRACKED = 1000
"""Calls that memray watches, unless a number is given: it records every allocation."""
MOST_PER_SECOND = 400
"""Samples of py-spy, which stops the process for each."""
WARM_NS = 200_000_000
_BLOCKS, _FEW_BLOCKS, _PIECES = 10, 3, 20
"""Blocks that show the undisturbed time of a call (few where a call is longer than a block), and pieces of each."""
_TURN_NS = 100_000_000
"""Between two looks at whether py-spy is done."""
_SEPARATORS = re.compile("([\0\1])")
"""Between the parts of a name in pyinstrument's session."""
_PYBIND = re.compile(r"\bpybind11_detail_function_record_\w+\.")
"""The class of every function that a C++ library has given to Python, longer than what it says."""


@public(STACK)
def stack(
    source: Source | Callable[[], Any],
    feeds: Mapping[str, Any] | None = None,
    *,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> StackResult:
    """Call a model or a callable many times, and show where the time goes.

    `source` is a callable without arguments, its name as FILE.py:function, or a model. The calls run in a process of
    their own: `calls` of them, or as many as take about 2 s, while pyinstrument takes a sample every `sample_every`
    seconds. If py-spy can look into that process, it then separates Python from kernels, with a sample every
    `sample_every` seconds, but 400 per second at most; `native` keeps its samples. With `allocations`, memray then
    records what memory the calls take. `timeout` limits every step.
    """
    request = _Request.of(given, settings)
    if callable(source) or is_named(source):
        refuse_options_of_models(given, {"runtime": "numpy", "call": "run"})
        subject = _function(source, request)
    else:
        subject = _model(source, feeds, request)
    if request.native:
        native_stack.find_py_spy()
    if request.allocations:
        tracking.require_memray()
    progress(0.0, f"loading {subject.name}")
    limits = settings.limits
    with open_worker(subject.spec, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit) as worker:
        return _result(subject, _watch(worker, subject, request, progress), request)


@dataclass(frozen=True)
class _Request:
    """What is called, and how it is watched."""

    settings: Settings
    calls: int | None
    runtime: str | Sequence[str]
    call: str | Sequence[str]
    sample_every: float
    native: bool
    allocations: bool

    @classmethod
    def of(cls, given: Mapping[str, Any], settings: Settings) -> _Request:
        """What the options of a stack ask for."""
        own = {name: value for name, value in STACK.complete(given).items() if name in cls.__dataclass_fields__}
        return cls(settings=settings, **own)

    @property
    def rate(self) -> int:
        """Samples of py-spy per second."""
        return min(max(1, round(1 / self.sample_every)), MOST_PER_SECOND)


class _Subject(NamedTuple):
    """What is called."""

    name: str
    spec: WorkerSpec
    call: str | None = None
    notes: tuple[str, ...] = ()
    entry: Entry | None = None
    """The model; its temporary file, if any, is deleted with it."""


class _Observations(NamedTuple):
    """What pyinstrument, py-spy and memray found."""

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


def _watch(worker: ProcessWorker, subject: _Subject, request: _Request, progress: Progress) -> _Observations:
    """Run the three profilers one after the other: each slows down what it watches."""
    conditions = worker.ask(Load(subject.spec)).conditions | worker.ask(Prepare(0)).conditions
    call_ns = _undisturbed_ns(worker, worker.ask(WarmUp(0, WARM_NS)).call_ns)
    calls = request.calls or max(1, int(DEFAULT_S * 1e9 / max(call_ns, 1.0)))
    progress(0.1, f"{count(calls, 'call')}, watched by pyinstrument")
    title = " · ".join(filter(None, [subject.name, subject.spec.runtime, subject.call, count(calls, "call")]))
    session = _described(worker.ask(SampleStack(0, calls, request.sample_every)).session, title)
    progress(0.45, "more calls, watched by py-spy")
    watched_s = min(max(calls * call_ns / 1e9, DEFAULT_S), LONGEST_S)
    samples, problem = _watched(worker, request.native, watched_s, request.rate)
    found = _Observations(conditions, calls, call_ns, session, samples, problem)
    if not request.allocations:
        return found
    progress(0.8, "more calls, watched by memray")
    allocations, page = _tracked(worker, request.calls or min(calls, MOST_TRACKED), subject.name)
    return found._replace(allocations=allocations, page=page)


def _undisturbed_ns(worker: ProcessWorker, rough_ns: float) -> float:
    """The time of a call in the quickest pieces of some blocks, as a race reads it."""
    calls = calls_per_block(rough_ns)
    request = TimeBlock(0, calls, 0, pieces=min(_PIECES, calls))
    blocks = [worker.ask(request) for _ in range(_BLOCKS if rough_ns < BLOCK_NS else _FEW_BLOCKS)]
    return median(each.quickest_ns or each.duration_ns / calls for each in blocks)


def _result(subject: _Subject, found: _Observations, request: _Request) -> StackResult:
    frames = tree(found.session)
    shares = analysis.native_shares(found.samples) or analysis.python_shares(frames, found.session["sample_count"])
    record = Stack(
        machine=machines.describe_machine(),
        command="onnxperf.stack",
        name=subject.name,
        runtime=subject.spec.runtime,
        call=subject.call,
        calls=found.calls,
        call_ns=found.call_ns,
        duration_ns=round(found.session["duration"] * 1e9),
        cpu_ns=round(found.session["cpu_time"] * 1e9),
        samples=found.session["sample_count"],
        interval_ns=round(request.sample_every * 1e9),
        shares=shares,
        functions=by_samples(found.samples) if found.samples else by_frames(frames),
        frames=frames,
        native=analysis.native_functions(found.samples) if request.native else (),
        allocations=found.allocations,
        conditions=found.conditions,
        notes=(*subject.notes, *([found.problem] if found.problem else [])),
        answer=stack_answer(shares, found.call_ns),
    )
    return StackResult(record, found.session, found.samples if request.native else (), found.page)


def _function(source: Any, request: _Request) -> _Subject:
    function = FunctionByName(source) if isinstance(source, str) else source
    name = getattr(function, "__name__", type(function).__name__)
    return _Subject(name, function_specs({name: function}, Feeds({}, {}), request.settings.session.threads)[0])


def _model(source: Source, feeds: Mapping[str, Any] | None, request: _Request) -> _Subject:
    settings = request.settings
    setup = _only_setup(request)
    entry = open_entries(source, settings.inputs, feeds, settings.limits.timeout)[0]
    spec = model_specs([entry], [setup])[0]
    return _Subject(entry.model.label, spec, setup.calls[0], tuple(entry.feeds.notes), entry)


def _only_setup(request: _Request) -> Setup:
    """The one that is watched."""
    _ = request.settings.session  # refuses several values of a setting
    setups = setups_of(request.runtime, request.call, request.settings)
    require(len(setups) == 1, "runtime", request.runtime, "one runtime")
    require(len(setups[0].calls) == 1, "call", request.call, "one call style")
    return setups[0]


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
    """Text that cannot control a terminal or end a script: pyinstrument's page puts names into one."""
    short = _PYBIND.sub("pybind11.", text)
    parts = (part if _SEPARATORS.fullmatch(part) else visible(part) for part in _SEPARATORS.split(short))
    return "".join(parts).replace("</", "< /").replace("<!--", "< !--")


def _watched(worker: ProcessWorker, native: bool, watched_s: float, rate: int) -> tuple[list[analysis.Sample], str]:
    """The samples of py-spy, or why there are none."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        raw = Path(folder) / "samples.raw"
        try:
            worker.ask(CallFor(0, 0))  # lets py-spy in
            native_stack.record(worker.pid, lambda: worker.ask(CallFor(0, _TURN_NS)), raw, watched_s, rate)
        except (BadInput, SubjectError) as error:
            if native or isinstance(error, WorkerLost):  # the process is lost
                raise
            return [], f"compiled frames were not seen: {error}"
        text = raw.read_text(encoding="utf-8", errors="replace")
    samples = analysis.grouped_by_library(analysis.inside_calls(analysis.read_collapsed(text)))
    return samples, "" if samples else "compiled frames were not seen: py-spy took no sample of the calls"


def _tracked(worker: ProcessWorker, calls: int, name: str) -> tuple[Allocations, str]:
    """What memray recorded, and its page."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        path = Path(folder) / "allocations.bin"
        worker.ask(TrackAllocations(0, calls, str(path)))
        return tracking.read(path, calls, _short), flame_page(path, f"{name}, {count(calls, 'call')}", tracking.Inside)


def tree(data: dict[str, Any]) -> tuple[StackFrame, ...]:
    """The frames of a session, every one behind its caller, and once however often it is called there."""
    root = required("pyinstrument.processors", "stack").aggregate_repeated_calls(session_of(data).root_frame(), {})
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
        return str(Path(*parts[parts.index("site-packages") + 1 :]))
    return str(Path(*parts[-2:])) if Path(path).is_absolute() or ".." in parts else path
