"""The graphs of an equation in one worker: searched for the fastest few, and these raced with other libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.analyze.answers.einsum import no_memory_for
from onnxperf.analyze.judges.accuracy import compare
from onnxperf.api._shared.einsum_peers import launches, peers_of
from onnxperf.api._shared.racing import judged_case, memory_for_workers, run_race, start_of, visible_options
from onnxperf.api._shared.subjects import pickled
from onnxperf.contraction import store
from onnxperf.contraction.candidates import Candidate
from onnxperf.contraction.equation import Equation
from onnxperf.contraction.graph import to_model
from onnxperf.contraction.limit import bare_product
from onnxperf.contraction.search import FINALISTS, Entrant, Found, search
from onnxperf.errors import BadInput, SubjectError
from onnxperf.frameworks.base import version_of
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import (
    FunctionSubject,
    Load,
    ModelSubject,
    Prepare,
    Prepared,
    TimeBlock,
    WorkerSpec,
)
from onnxperf.measure.outputs import compute
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.plan import BLOCK_NS
from onnxperf.measure.process import Worker, open_worker
from onnxperf.measure.race import Progress, RaceEnd
from onnxperf.records.options import RaceOptions, SessionOptions, WorkerLimits
from onnxperf.records.race import MIN_ROUNDS, Case, Measurement
from onnxperf.runtimes.find import find_runtime
from onnxperf.wording.numbers import count

LIMIT = "bare MatMul"
_UNCHECKED = "interrupted: what the graph computes was not compared with numpy.einsum"
WARM_UP_S = 0.02
"""Graphs of an equation are short: this shows how long a call takes."""
_SHORTEST_RACE_S = 0.2
_SHORTEST_OF_PEERS_S = 1.0
"""A few rounds, which decide large differences: libraries that were started are worth them."""
_PIECES = 4
"""Of a block of the search, of which the quickest counts."""
_LONGEST_BLOCK_NS = 100_000_000
PEERS_SHARE = 0.3
"""Part of the time after the search that other libraries have."""
_OTHERS = 3
"""Graphs that race besides the finalists: Einsum as written, the equation decomposed, and the limit."""
_TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (1e-3, 1e-4), "float64": (1e-6, 1e-8)}


@dataclass(frozen=True)
class EinsumRequest:
    """An equation on operands of known shapes, and the graphs that may compute it."""

    equation: Equation
    dtype: str
    opset: int
    portable: bool
    runtime: str
    threads: int
    einsum_only: bool = False
    """Only onnxruntime's own Einsum, in any letter order."""

    @property
    def key(self) -> store.Key:
        """Everything that a plan for it depends on."""
        return store.Key(
            canonical=f"{self.equation.canonical}{' by Einsum' if self.einsum_only else ''}",
            shapes=self.equation.shapes,
            dtype=self.dtype,
            opset=self.opset,
            portable=self.portable,
            runtime=self.runtime,
            threads=self.threads,
            version=version_of(find_runtime(self.runtime).distributions),
            cpu=machines.cpu_model(),
        )

    def operands(self) -> list[np.ndarray[Any, np.dtype[Any]]]:
        """Random operands of the right shapes and type."""
        random = np.random.default_rng(0)
        if np.dtype(self.dtype).kind in "iu":
            return [random.integers(0, 5, shape).astype(self.dtype) for shape in self.equation.shapes]
        return [random.standard_normal(shape).astype(self.dtype) for shape in self.equation.shapes]


@dataclass(frozen=True)
class _WorkerTimer:
    """What the search needs of a worker."""

    worker: Worker

    def load(self) -> None:
        self.worker.ask(Load(self.worker.spec))

    def prepare(self, subject: int) -> Prepared:
        return self.worker.ask(Prepare(subject))

    def time_block(self, subject: int, calls: int, warm_ns: int) -> float:
        block = TimeBlock(subject, calls, warm_ns, pieces=min(_PIECES, calls), longest_ns=_LONGEST_BLOCK_NS)
        timed = self.worker.ask(block)
        return timed.quickest_ns or timed.duration_ns / calls


@dataclass(frozen=True)
class SearchEnd:
    """What a search found."""

    entrants: list[Entrant]
    """One per graph, with its time where it has one."""
    found: Found
    notes: list[str]
    start_s: float = 0.0
    """Seconds until its worker had started."""


@dataclass(frozen=True)
class CandidateRace:
    """Graphs in files of a folder that one worker can host, with operands."""

    request: EinsumRequest
    folder: Path
    graphs: Sequence[Candidate]
    operands: list[Any] = field(default_factory=list)
    needed: Sequence[int] = ()
    """Numbers of graphs that are timed however little time there is."""
    limits: WorkerLimits = field(default_factory=WorkerLimits)

    def search(self, seconds: float, progress: Progress) -> SearchEnd:
        """Find the fastest few; those that compute something else are left out, and named."""
        begin = monotonic()
        entrants = [
            Entrant(graph.name, graph.cost_us, number in self.needed) for number, graph in enumerate(self.graphs)
        ]
        subjects = [self._subject(graph.name, graph.model, number) for number, graph in enumerate(self.graphs)]
        executed = [None if each.executed_path is None else Path(each.executed_path) for each in subjects]
        found, written = Found([], 0), monotonic()
        try:
            spec, limits = self._spec(subjects), self.limits
            with open_worker(spec, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit) as worker:
                start_s = monotonic() - written
                left_s = seconds - (monotonic() - begin)
                found = search(entrants, _WorkerTimer(worker), executed, progress, seconds=left_s)
                if found.interrupted:  # the worker may still be busy with its last request
                    return SearchEnd(entrants, found, [_UNCHECKED])
                found = found._replace(finalists=found.finalists[:FINALISTS])
                wrong = self._wrong(worker, found.finalists)
        except SubjectError as error:
            raise BadInput(f"the search ended: {error}") from error
        except KeyboardInterrupt:
            return SearchEnd(entrants, found._replace(interrupted=True), [_UNCHECKED])
        finalists = [number for number in found.finalists if number not in wrong]
        if not finalists:
            why = next((entrant.reason for entrant in entrants if entrant.reason), "their results are wrong")
            raise BadInput(f"none of {count(len(entrants), 'graph')} could be used: {why}")
        notes = [f"{entrants[number].name} computes a different result and was left out" for number in wrong]
        return SearchEnd(entrants, found._replace(finalists=finalists), notes, start_s)

    def race(self, graphs: Mapping[str, Candidate], seconds: float, start_s: float, progress: Progress) -> Case:
        """Race graphs under these names against each other and against other libraries; the first is the baseline.

        Libraries have a race of their own with the baseline: where their start or their calls take long, that must not
        cost the graphs their rounds. `start_s` is what the start of a worker took before: it is part of the `seconds`.
        """
        begin, equation = monotonic(), self.request.equation
        own, baseline = self._spec(self._raced(graphs)), next(iter(graphs))
        share = 1 - PEERS_SHARE if peers_of(equation, PEERS_SHARE * seconds, start_s).functions else 1.0
        options = _options(share * seconds - start_s, own, baseline)
        end = run_race([own], options, start_of(self.limits), part(progress, 0.0, share))
        left_s = seconds - (monotonic() - begin)
        functions, notes = peers_of(equation, left_s, start_s)
        if functions and not end.interrupted:
            peers = [self._peer(name, function) for name, function in functions.items()]
            alone = replace(own, subjects=own.subjects[:1])
            if (len(peers) + 1) * alone.memory_bytes > memory_for_workers():
                notes += no_memory_for(list(functions))
            else:
                later = part(progress, share, 1.0)
                end = joined(end, self._race_peers([alone, *peers], baseline, left_s - start_s, later))
        case = judged_case(end, options)
        return replace(case, model=self.request.equation.text, notes=(*notes, *case.notes))

    def _raced(self, graphs: Mapping[str, Candidate]) -> list[ModelSubject]:
        """The graphs and the limit, unless that is one of them."""
        models = {name: graph.model for name, graph in graphs.items()}
        limit = bare_product(self.request.equation)
        if limit is not None and limit not in [graph.draft for graph in graphs.values()]:
            models[LIMIT] = to_model(limit, self.request.dtype, self.request.opset)
        subjects = [self._subject(name, model, f"final{number}") for number, (name, model) in enumerate(models.items())]
        return [replace(each, executed_path=None) for each in subjects]

    def _race_peers(self, specs: Sequence[WorkerSpec], baseline: str, seconds: float, progress: Progress) -> RaceEnd:
        begin = monotonic()
        progress(0.0, "starting other libraries")
        with ExitStack() as stack:
            launch = launches(stack, specs[1:], self.limits)
            left_s = max(seconds - (monotonic() - begin), _SHORTEST_OF_PEERS_S)
            options = _options(left_s, specs[0], baseline)
            return run_race(specs, options, launch, progress)

    def _subject(self, name: str, model: onnx.ModelProto, number: int | str) -> ModelSubject:
        path = self.folder / f"{number}.onnx"
        path.write_bytes(model.SerializeToString())
        executed = f"{path}.executed" if find_runtime(self.request.runtime).records else None
        return ModelSubject(name=name, call="run", model_path=str(path), executed_path=executed)

    def _spec(self, subjects: Sequence[ModelSubject]) -> WorkerSpec:
        return WorkerSpec(
            subjects=tuple(subjects),
            threads=self.request.threads,
            feeds=pack_feeds({f"X{number}": operand for number, operand in enumerate(self.operands)}),
            runtime=self.request.runtime,
            model_label=self.request.equation.text,
            session=SessionOptions(threads=self.request.threads, shared_pool=True),
            memory_bytes=(300 << 20) + 8 * sum(operand.nbytes for operand in self.operands),
        )

    def _peer(self, name: str, function: Callable[..., Any]) -> WorkerSpec:
        spec = self._spec([])
        subject = FunctionSubject(name=name, function=pickled(name, function))
        return replace(spec, subjects=(subject,), runtime="callable", model_label=None)

    def _wrong(self, worker: Worker, numbers: Sequence[int]) -> list[int]:
        """The graphs that do not compute what numpy does, in double precision or exactly."""
        exact = [operand.astype(np.float64) if operand.dtype.kind == "f" else operand for operand in self.operands]
        wanted = np.asarray(np.einsum(self.request.equation.canonical, *exact, optimize=True))
        rtol, atol = _TOLERANCES.get(self.request.dtype, (0.0, 0.0))
        scale = float(np.abs(wanted).max(initial=1.0))
        wrong = []
        for number in numbers:
            _, value = compute(worker, number)
            got = np.asarray(value[0] if isinstance(value, list) else value)
            is_right = got.dtype == self.request.dtype
            if not is_right or not compare("Y", got.astype(wanted.dtype), wanted, rtol, atol * scale).equal:
                wrong.append(number)
        return wrong


def _options(seconds: float, own: WorkerSpec, baseline: str) -> RaceOptions:
    """A race whose first start, with its warm-ups, still comes before this time."""
    time_s = max(seconds - len(own.subjects) * WARM_UP_S, _SHORTEST_RACE_S)
    return visible_options(RaceOptions(time=time_s, warmup=WARM_UP_S, baseline=baseline), machines.cpu_model())


def part(progress: Progress, start: float, end: float) -> Progress:
    """Progress of what goes from one part of the whole to another."""
    return lambda done, text: progress(start + (end - start) * done, text)


def joined(first: RaceEnd, second: RaceEnd) -> RaceEnd:
    """Two races with the same baseline, the first subject of both, as one: its rounds are those of both."""
    blocks = [block for each in first.subjects for block in each.blocks]
    rounds = 1 + max((block.round for block in blocks), default=-1)
    launches = 1 + max((block.launch for block in blocks), default=-1)
    base, *others = (_later(each, rounds, launches) for each in second.subjects)
    both = replace(
        first.subjects[0],
        blocks=(*first.subjects[0].blocks, *base.blocks),
        call_ns=(*first.subjects[0].call_ns, *base.call_ns),
        call_launches=(*first.subjects[0].call_launches, *base.call_launches),
    )
    shares = [each.others for each in (first, second) if each.others is not None]
    return replace(
        first,
        subjects=(both, *first.subjects[1:], *others),
        interrupted=second.interrupted,
        others=max(shares, default=None),
    )


def _later(subject: Measurement, rounds: int, launches: int) -> Measurement:
    """What was measured after so many rounds and launches."""
    return replace(
        subject,
        blocks=tuple(
            replace(each, round=each.round + rounds, launch=each.launch + launches) for each in subject.blocks
        ),
        call_launches=tuple((launch + launches, calls) for launch, calls in subject.call_launches),
    )


def finalists_within(seconds: float, start_s: float, call_ns: float) -> int:
    """How many finalists a race of so many seconds has the rounds for, besides the others; one at least."""
    turn_ns = 2 * max(call_ns, BLOCK_NS * 0.75)
    subjects = int((seconds - start_s) * 1e9 / (MIN_ROUNDS * turn_ns))
    return max(1, min(FINALISTS, subjects - _OTHERS))
