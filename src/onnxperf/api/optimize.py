"""`onnxperf.optimize`: the model that onnxruntime really executes, and which nodes became which."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Unpack

import onnx
from msgspec.structs import replace

from onnxperf.analyze.attribution import attribute
from onnxperf.api._shared import recordings
from onnxperf.api._shared.racing import with_threads
from onnxperf.api._shared.requests import LoadKeywords, check_keywords, session_options
from onnxperf.api._shared.subjects import Source, chosen_calls, open_source
from onnxperf.api.profile import TIMEOUT_S
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.messages import Load, WorkerSpec
from onnxperf.measure.process import open_worker
from onnxperf.model.graph import all_nodes
from onnxperf.model.load import LARGEST_PROTO_BYTES, Model
from onnxperf.model.outline import outline
from onnxperf.records import Optimization, Recording, Scalar
from onnxperf.results.optimize import OptimizeResult

_INLINE_BYTES = LARGEST_PROTO_BYTES // 2
"""Below this a model keeps its weights in its file; onnxruntime may write copies of some, so half of the limit."""


def optimize(
    model: Source, output: str | Path, *, timeout: float = TIMEOUT_S, **keywords: Unpack[LoadKeywords]
) -> OptimizeResult:
    """Write the model as onnxruntime executes it to `output`, and say which nodes became which.

    Weights of a large model go into a file beside it, `.data` appended to its name.
    """
    check_keywords(keywords, LoadKeywords)
    session = with_threads(session_options(keywords))
    chosen_calls(["ort"], ["run"], session)
    opened, output = open_source(model), Path(output)
    if output.absolute() == opened.path:
        raise BadOption(f"--output {output!s}: that is the model itself; choose another name")
    if not output.absolute().parent.is_dir():
        raise BadOption(f"cannot write {str(output)!r}: its folder does not exist")
    external = opened.size_bytes > _INLINE_BYTES
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        named = recordings.named_model(opened, Path(folder))
        recording = Recording(
            executed_path=str(output.absolute()), smallest_external_bytes=1024 if external else LARGEST_PROTO_BYTES
        )
        spec = WorkerSpec(
            subjects=(),
            threads=session.threads or 1,
            feeds={},
            runtime="ort",
            model_label=opened.label,
            model_path=str(named.path),
            session=replace(session, options={**named.options, **session.options}),
            recording=recording,
        )
        conditions = _load(spec, timeout)
        executed = _written(output)
        record = Optimization(
            model=opened.label,
            output=str(output),
            session=session,
            conditions=conditions,
            before=_counts(opened.proto),
            after=_counts(executed),
            groups=attribute(outline(named.proto), outline(executed)),
            notes=_notes(executed, opened, output, external),
        )
    return OptimizeResult(record)


def _load(spec: WorkerSpec, timeout: float) -> dict[str, Scalar]:
    """Open the session, which writes the model, in a process of its own: models are not to be trusted."""
    with recordings.subjects_errors_are_mine(), open_worker(spec, timeout_s=timeout) as worker:
        return worker.ask(Load(spec)).conditions


def _written(output: Path) -> onnx.ModelProto:
    if not output.is_file():
        raise BadInput(f"onnxruntime could not write {str(output)!r}")
    return onnx.load(output, load_external_data=False)


def _counts(proto: onnx.ModelProto) -> dict[str, int]:
    counts = Counter(node.op_type for node in all_nodes(proto))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _notes(executed: onnx.ModelProto, opened: Model, output: Path, external: bool) -> tuple[str, ...]:
    notes = []
    if any(node.domain == "com.microsoft.nchwc" for node in all_nodes(executed)):
        notes.append("it uses the blocked layout of this processor: run it only on processors of this kind")
    if any(node.domain.startswith("com.microsoft") for node in all_nodes(executed)):
        notes.append("it uses operators of onnxruntime: other runtimes cannot run it")
    if external:
        size = opened.size_bytes / 2**30
        notes.append(f"its weights ({size:.1f} GiB) are in {output.name}.data, which must stay beside it")
    return tuple(notes)
