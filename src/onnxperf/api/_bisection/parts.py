"""Parts of a graph under two variants: written by the process that reads models, then raced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._bisection.budget import BisectBudget
from onnxperf.api._bisection.rows import RowPlace
from onnxperf.api._bisection.trials import Trials
from onnxperf.api._shared.outputs import tensors_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry, open_entries, ort_spec
from onnxperf.bisection.base import Question
from onnxperf.errors import BadInput, OnnxperfError
from onnxperf.measure.model_reader import applied
from onnxperf.measure.race import Progress
from onnxperf.model.opened import Model
from onnxperf.records.bisect import BisectStep, By
from onnxperf.records.options import InputOptions, RaceOptions, SessionOptions

if TYPE_CHECKING:
    from onnx import ModelProto

_LARGEST_CONSTANT = 64
"""Elements of whole numbers between nodes, such as shapes and indices, that become constants of a part."""
_SEED = 0


class _Fact(Struct, frozen=True):
    """A tensor as a run of the whole model showed it."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | None


class _PartQuestion(Struct, frozen=True):
    start: int
    stop: int
    facts: dict[str, _Fact]
    path: str


class _Interface(Struct, frozen=True):
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class PartTrials:
    """A model whose parts are compared under two variants."""

    entry: Entry
    places: tuple[RowPlace, RowPlace]
    by: By
    settings: Settings
    options: RaceOptions
    folder: Path
    nodes: tuple[str, ...]
    """What its nodes are called."""
    budget: BisectBudget
    _tensors: dict[str, Any] | None = None

    def name(self, question: Question) -> str:
        """What a part is called."""
        size = question.second - question.first
        if size == len(self.nodes):
            return "all nodes"
        return f"nodes {question.first} to {question.second - 1}" if size > 1 else f"node {question.first}"

    def compare(self, question: Question, ends: BisectStep | None, progress: Progress) -> BisectStep:
        """Write a part, and compare it under both variants."""
        progress(0.0, f"{self.name(question)}: writing")
        try:
            part, size = self._part(question), len(self.nodes)
            trials = Trials(part, self.places, self.by, self.settings, self.options, size, self.budget)
            problems = [problem for place in (0, 1) if (problem := trials.problem(place, progress))]
        except OnnxperfError as error:
            problems = [str(error)]
        if problems:
            return self._skipped(question, problems[0], ends)
        step = trials.compare(Question(question.purpose, 0, 1), ends, progress)
        return replace(step, candidate=self.name(question), base="")

    def _skipped(self, question: Question, problem: str, ends: BisectStep | None) -> BisectStep:
        """A part that cannot run alone shows nothing; if it is the whole model, nothing can be searched."""
        if ends is None:
            raise BadInput(problem)
        name = self.name(question)
        return BisectStep(
            purpose=question.purpose, base="", candidate=name, side="undecided", verdict="undecided", reason=problem
        )

    def path(self, question: Question) -> Path:
        """Where a part is written."""
        return self.folder / f"part_{question.first}_{question.second}.onnx"

    def _part(self, question: Question) -> Entry:
        """A part with the inputs that it has within the whole model."""
        tensors = self._all_tensors()
        interface = _interface(self.entry.model, question)
        known = {name: tensors[name] for name in (*interface.inputs, *interface.outputs) if _is_plain(tensors, name)}
        missing = [name for name in interface.inputs if name not in known]
        if missing:
            raise BadInput(f"{missing[0]!r} between the nodes is not a tensor")
        own = {*self.entry.feeds.arrays}
        constants = {
            name
            for name in interface.inputs
            if name not in own and known[name].dtype.kind in "iub" and _is_small(known[name])
        }
        facts = {name: _fact(array, name in constants) for name, array in known.items()}
        path = self.path(question)
        wanted = _PartQuestion(question.first, question.second, facts, str(path))
        applied(self.entry.model, f"{__name__}:write", msgspec.msgpack.encode(wanted), weights=True)
        feeds = {name: known[name] for name in interface.inputs if name not in constants}
        return open_entries(path, InputOptions(), feeds, self.settings.limits.timeout)[0]

    def _all_tensors(self) -> dict[str, Any]:
        """All that the nodes compute, with our own onnxruntime: other environments have no onnx."""
        if self._tensors is None:
            session = SessionOptions(threads=self.places[0].session.threads, opt_level="disable")
            self._tensors = {
                **self.entry.feeds.arrays,
                **tensors_of(ort_spec(self.entry, session), self.settings.limits),
            }
        return self._tensors


def nodes_of(model: Model) -> tuple[str, ...]:
    """What the nodes of the main graph are called, in their order."""
    return msgspec.msgpack.decode(applied(model, f"{__name__}:names", b""), type=tuple[str, ...])


def _interface(model: Model, question: Question) -> _Interface:
    asked = msgspec.msgpack.encode((question.first, question.second))
    return msgspec.msgpack.decode(applied(model, f"{__name__}:interface", asked), type=_Interface)


def _is_plain(tensors: Mapping[str, Any], name: str) -> bool:
    value = tensors.get(name)
    return isinstance(value, np.ndarray) and value.dtype.kind != "O"


def _is_small(array: Any) -> bool:
    return int(array.size) <= _LARGEST_CONSTANT


def _fact(array: Any, constant: bool) -> _Fact:
    return _Fact(array.dtype.name, tuple(array.shape), array.tobytes() if constant else None)


# ---------------------------------------------------------------- in the reader


def names(proto: ModelProto, _question: bytes) -> bytes:
    """Answers `nodes_of`."""
    from onnxperf.bisection.extract import node_names

    return msgspec.msgpack.encode(node_names(proto.graph))


def interface(proto: ModelProto, question: bytes) -> bytes:
    """Answers what a part takes and returns."""
    from onnxperf.bisection.extract import interface_of

    start, stop = msgspec.msgpack.decode(question, type=tuple[int, int])
    return msgspec.msgpack.encode(interface_of(proto.graph, start, stop))


def write(proto: ModelProto, question: bytes) -> bytes:
    """Writes a part."""
    from onnx import helper

    from onnxperf.bisection.extract import TensorFacts, part_of

    wanted = msgspec.msgpack.decode(question, type=_PartQuestion)
    facts = {
        name: TensorFacts(helper.np_dtype_to_tensor_dtype(np.dtype(each.dtype)), each.shape, each.data)
        for name, each in wanted.facts.items()
    }
    part = part_of(proto, wanted.start, wanted.stop, facts, _SEED)
    Path(wanted.path).write_bytes(part.SerializeToString())
    return b""
