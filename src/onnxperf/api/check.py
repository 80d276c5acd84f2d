"""`onnxperf.check`: do two runtimes, or a model and its source, give the same results?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from msgspec.structs import replace
from onnx import NodeProto

from onnxperf.analyze.judges.accuracy import compare
from onnxperf.analyze.judges.agreement import differences
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.outputs import outputs_of, tensors_of
from onnxperf.api._shared.requests import CheckKeywords, names_in, parse
from onnxperf.api._shared.sources import as_callable
from onnxperf.api._shared.subjects import chosen_calls, function_specs, model_specs, open_entries
from onnxperf.errors import BadOption
from onnxperf.measure.messages import WorkerSpec
from onnxperf.model.load import Model
from onnxperf.records.check import Check, NodeDifference
from onnxperf.records.options import Tolerances
from onnxperf.results.check import CheckResult


def check(
    model: Source,
    *,
    runtime: str | Sequence[str] = "ort,numpy",
    against: Any = None,
    feeds: Mapping[str, Any] | None = None,
    nodes: bool = False,
    save: str | Path | None = None,
    **keywords: Unpack[CheckKeywords],
) -> CheckResult:
    """Run two runtimes, or one and the model's source, on the same inputs and compare every output.

    `against` is a fitted scikit-learn estimator, a torch module, a Keras model, the path of a saved_model or a
    callable of the feeds. With `nodes`, every tensor of both runtimes is compared in the order of the graph, to find
    the first node that differs; `save` names a folder for its inputs and outputs.
    """
    settings = parse(keywords, CheckKeywords)
    runtimes = names_in(runtime)[: 1 if against is not None else 2]
    if len(runtimes) + (against is not None) < 2:
        raise BadOption("a check needs two runtimes, or one and `against`")
    if nodes and against is not None:
        raise BadOption("`nodes` compares two runtimes; the source of a model has no nodes")
    calls = chosen_calls(runtimes, ["run"], settings.session)
    entry = open_entries(model, settings.inputs, feeds)[0]
    specs = model_specs([entry], calls, settings.session)
    if against is not None:
        source = as_callable(against, input_names=list(entry.feeds.arrays))
        specs += function_specs({"source": source}, entry.feeds, settings.session)
    names = [subject.name for spec in specs for subject in spec.subjects]
    first, second = (outputs_of(spec) for spec in specs)
    record = Check(
        model=entry.model.label,
        first=names[0],
        second=names[1],
        rtol=settings.tolerances.rtol,
        atol=settings.tolerances.atol,
        outputs=differences(first, second, settings.tolerances),
        notes=entry.feeds.notes,
    )
    if nodes:
        record = replace(record, node=_first_difference(entry.model, specs, settings.tolerances, save))
    return CheckResult(record)


def _first_difference(
    model: Model, specs: Sequence[WorkerSpec], tolerances: Tolerances, save: str | Path | None
) -> NodeDifference | None:
    """Walk the graph in order; what only one runtime computes (the other folded it away) is skipped."""
    first, second = (tensors_of(spec) for spec in specs)
    for index, node in enumerate(model.proto.graph.node):
        for name in (name for name in node.output if name in first and name in second):
            difference = compare(name, first[name], second[name], tolerances.rtol, tolerances.atol)
            if not difference.equal:
                return NodeDifference(
                    index=index,
                    name=node.name,
                    operator=f"{node.domain}.{node.op_type}" if node.domain else node.op_type,
                    inputs=tuple(node.input),
                    difference=difference,
                    saved=_save(Path(save), index, node, (first, second)) if save is not None else None,
                )
    return None


def _save(folder: Path, index: int, node: NodeProto, sides: tuple[dict[str, Any], dict[str, Any]]) -> str:
    """Inputs, and outputs of both sides, as arrays without pickles; names of the model stay inside the file."""
    arrays: dict[str, Any] = {}
    for number, name in enumerate(node.input):
        arrays[f"input_{number}"] = sides[0].get(name)
    for number, name in enumerate(node.output):
        arrays[f"first_output_{number}"], arrays[f"second_output_{number}"] = (side.get(name) for side in sides)
    kept = {key: np.asarray(value) for key, value in arrays.items() if isinstance(value, np.ndarray)}
    plain = {key: value.astype(str) if value.dtype.kind == "O" else value for key, value in kept.items()}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"node_{index}.npz"
    np.savez(file, allow_pickle=False, **plain)
    return str(file)
