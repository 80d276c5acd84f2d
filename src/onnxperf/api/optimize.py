"""`onnxperf.optimize`: the model that onnxruntime really executes, and which nodes became which."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.answers.optimize import optimization_answer
from onnxperf.analyze.graphs.attribution import attribute
from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import interpreter_of
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import Load, WorkerSpec
from onnxperf.measure.model_reader import outline_of_file
from onnxperf.measure.process import open_worker
from onnxperf.measure.reading import OperatorCount, Outlined
from onnxperf.model.opened import LARGEST_PROTO_BYTES, Model
from onnxperf.options.functions import OPTIMIZE
from onnxperf.records.base import Scalar
from onnxperf.records.options import Recording, SessionOptions, WorkerLimits
from onnxperf.records.profile import Optimization
from onnxperf.render.kit.files import check_folder
from onnxperf.results.optimize import OptimizeResult
from onnxperf.wording.numbers import size

_INLINE_BYTES = LARGEST_PROTO_BYTES // 2
"""Below this a model keeps its weights in its file; onnxruntime may write copies of some, so half of the limit."""


@public(OPTIMIZE)
def optimize(model: Source, output: str | Path, *, settings: Settings) -> OptimizeResult:
    """Write the model as onnxruntime executes it to `output`, and say which nodes became which.

    The weights of a large model go into a file next to it, `.data` appended to its name.
    """
    session = recordings.only_ort_setup(settings).session
    opened, output = open_source(model, timeout_s=settings.limits.timeout), Path(output)
    if output.absolute() == opened.path:
        raise BadOption("that is the model itself; choose another name", option="output", value=output)
    check_folder(output)
    machine = machines.describe_machine()
    written = write_executed(opened, session, output, settings.limits)
    executed = outline_of_file(output, repr(str(output)))
    record = Optimization(
        model=opened.label,
        output=str(output),
        session=session,
        conditions=written.conditions,
        before=_counts(written.original.operators),
        after=_counts(executed.operators),
        groups=attribute(written.original.graph, executed.graph),
        machine=machine,
        command="onnxperf.optimize",
        notes=_notes(executed, opened, output),
    )
    return OptimizeResult(replace(record, answer=optimization_answer(record)))


class Written(NamedTuple):
    """A model as onnxruntime executes it, in a file."""

    original: Outlined
    """The model that it was, with a name for every node."""
    conditions: dict[str, Scalar]
    """What the session really used."""


def write_executed(model: Model, session: SessionOptions, output: Path, limits: WorkerLimits) -> Written:
    """Let a session write the graph that it executes."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        named = recordings.named_model(model, Path(folder))
        conditions = _load(_spec(model, named, session, output), limits)
    if not output.is_file():
        raise BadInput(f"onnxruntime could not write {str(output)!r}")
    return Written(named.outlined, conditions)


def _spec(model: Model, named: recordings.Named, session: SessionOptions, output: Path) -> WorkerSpec:
    """A worker whose session writes the graph that it executes."""
    smallest = 1024 if _is_large(model) else LARGEST_PROTO_BYTES
    return WorkerSpec(
        subjects=(),
        threads=session.threads or 1,
        feeds={},
        runtime="ort",
        model_label=model.label,
        model_path=str(named.path),
        session=replace(session, options={**named.options, **session.options}),
        python=interpreter_of(session),
        recording=Recording(executed_path=str(output.absolute()), smallest_external_bytes=smallest),
    )


def _load(spec: WorkerSpec, limits: WorkerLimits) -> dict[str, Scalar]:
    """Open the session, which writes the model, in a process of its own: models are not to be trusted."""
    opened = open_worker(spec, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
    with recordings.subject_errors_as_bad_input(), opened as worker:
        return worker.ask(Load(spec)).conditions


def _is_large(model: Model) -> bool:
    return model.size_bytes > _INLINE_BYTES


def _counts(operators: Iterable[OperatorCount]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for each in operators:
        counts[each.op_type] += each.nodes
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _notes(executed: Outlined, opened: Model, output: Path) -> tuple[str, ...]:
    notes = []
    domains = {each.domain for each in executed.operators}
    if "com.microsoft.nchwc" in domains:
        notes.append("it uses the blocked layout of this processor: run it only on processors of this kind")
    if any(domain.startswith("com.microsoft") for domain in domains):
        notes.append("it uses onnxruntime's own operators: other runtimes cannot run it")
    if _is_large(opened):
        notes.append(f"its weights ({size(opened.size_bytes)}) are in {output.name}.data, which must stay next to it")
    return tuple(notes)
