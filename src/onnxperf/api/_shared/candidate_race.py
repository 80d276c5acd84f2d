"""The graphs of an equation in one worker: searched for the fastest few, and these raced with other libraries."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.analyze.judges.accuracy import compare
from onnxperf.analyze.judges.einsum import NUMPY
from onnxperf.api._shared.racing import judged_case, run_race, start_of, visible_options
from onnxperf.api._shared.subjects import pickled
from onnxperf.contraction import store
from onnxperf.contraction.candidates import Candidate
from onnxperf.contraction.equation import Equation
from onnxperf.contraction.limit import bare_product
from onnxperf.contraction.search import Entrant, Found, search
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
from onnxperf.measure.process import Worker, open_worker
from onnxperf.measure.race import Progress
from onnxperf.records.options import RaceOptions, SessionOptions, WorkerLimits
from onnxperf.records.race import MIN_ROUNDS, Case
from onnxperf.runtimes.find import find_runtime
from onnxperf.wording.numbers import count, time_text

LIMIT = "bare MatMul"
_UNCHECKED = "interrupted: what the graph computes was not compared with numpy.einsum"
_PEER_CALLS = 2 * MIN_ROUNDS
"""Calls of a peer in a race: one that is timed and one before it in each round."""
_TERM_NS = {False: 0.5, True: 5.0}
"""Time of a term in numpy.einsum, for up to two operands and for more."""
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

    def time_block(self, subject: int, calls: int, warm_ns: int) -> tuple[int, int]:
        timed = self.worker.ask(TimeBlock(subject, calls, warm_ns))
        return timed.start_ns, timed.duration_ns


@dataclass(frozen=True)
class SearchEnd:
    """What a search found."""

    entrants: list[Entrant]
    """One per graph, with its time where it has one."""
    found: Found
    notes: list[str]


@dataclass(frozen=True)
class CandidateRace:
    """Graphs in files of a folder that one worker can host, with operands."""

    request: EinsumRequest
    folder: Path
    graphs: Sequence[Candidate]
    operands: list[Any] = field(default_factory=list)

    def search(self, progress: Progress) -> SearchEnd:
        """Find the fastest few; those that compute something else are left out, and named."""
        entrants = [Entrant(graph.name, graph.cost_us) for graph in self.graphs]
        subjects = [self._subject(graph.name, graph.model, number) for number, graph in enumerate(self.graphs)]
        executed = [None if each.executed_path is None else Path(each.executed_path) for each in subjects]
        found = Found([], 0)
        try:
            with open_worker(self._spec(subjects), timeout_s=WorkerLimits().timeout) as worker:
                found = search(entrants, _WorkerTimer(worker), executed, progress)
                if found.interrupted:  # the worker may still be busy with its last request
                    return SearchEnd(entrants, found, [_UNCHECKED])
                wrong = [number for number in found.finalists if not self._is_right(worker, number)]
        except SubjectError as error:
            raise BadInput(f"the search ended: {error}") from error
        except KeyboardInterrupt:
            return SearchEnd(entrants, found._replace(interrupted=True), [_UNCHECKED])
        finalists = [number for number in found.finalists if number not in wrong]
        if not finalists:
            why = next((entrant.reason for entrant in entrants if entrant.reason), "their results are wrong")
            raise BadInput(f"none of {count(len(entrants), 'graph')} could be used: {why}")
        notes = [f"{entrants[number].name} computes a different result and was left out" for number in wrong]
        return SearchEnd(entrants, found._replace(finalists=finalists), notes)

    def race(self, graphs: Mapping[str, Candidate], time: float, progress: Progress) -> Case:
        """Race graphs under these names against each other and against other libraries; the first is the baseline."""
        limit = bare_product(self.request.equation, self.request.dtype, self.request.opset)
        models = {name: graph.model for name, graph in graphs.items()} | ({LIMIT: limit} if limit is not None else {})
        subjects = [self._subject(name, model, f"final{number}") for number, (name, model) in enumerate(models.items())]
        functions, notes = peers_of(self.request.equation, time)
        peers = [self._peer(name, function) for name, function in functions.items()]
        options = visible_options(RaceOptions(time=time, baseline=next(iter(graphs))), machines.cpu_model())
        own = self._spec([replace(each, executed_path=None) for each in subjects])
        end = run_race([own, *peers], options, start_of(WorkerLimits()), progress)
        case = judged_case(end, options)
        return replace(case, model=self.request.equation.text, notes=(*notes, *case.notes))

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

    def _is_right(self, worker: Worker, number: int) -> bool:
        """Whether a graph computes what numpy does, in double precision or exactly."""
        _, value = compute(worker, number)
        exact = [operand.astype(np.float64) if operand.dtype.kind == "f" else operand for operand in self.operands]
        wanted = np.asarray(np.einsum(self.request.equation.canonical, *exact, optimize=True))
        rtol, atol = _TOLERANCES.get(self.request.dtype, (0.0, 0.0))
        scale = float(np.abs(wanted).max(initial=1.0))
        got = np.asarray(value[0] if isinstance(value, list) else value)
        if got.dtype != self.request.dtype:
            return False
        return compare("Y", got.astype(wanted.dtype), wanted, rtol, atol * scale).equal


def peers_of(equation: Equation, time: float) -> tuple[dict[str, Callable[..., Any]], list[str]]:
    """Other libraries that can compute the equation, each with a contiguous result, and a note on one left out.

    numpy.einsum goes through all terms of the plain sum; where that takes too long, it would leave the graphs without
    the rounds that a verdict needs.
    """
    text = equation.canonical
    peers: dict[str, Callable[..., Any]] = {"opt_einsum": partial(_opt_einsum, text)}
    if importlib.util.find_spec("torch") is not None:
        peers["torch.einsum"] = partial(_torch_einsum, text)
    call_ns = equation.products * _TERM_NS[len(equation.operands) > 2]
    if call_ns * _PEER_CALLS > time * 1e9:
        takes = f"a call takes about {time_text(call_ns)} by estimate"
        return peers, [f"{NUMPY} was left out: {takes}, too long for a race of {time_text(time * 1e9)}"]
    return {NUMPY: partial(_numpy_einsum, text), **peers}, []


def _numpy_einsum(text: str, *operands: Any) -> Any:
    return np.ascontiguousarray(np.einsum(text, *operands))


def _opt_einsum(text: str, *operands: Any) -> Any:
    import opt_einsum

    return np.ascontiguousarray(opt_einsum.contract(text, *operands))


def _torch_einsum(text: str, *operands: Any) -> Any:
    import torch

    with torch.inference_mode():
        return torch.einsum(text, *map(torch.from_numpy, operands)).contiguous()
