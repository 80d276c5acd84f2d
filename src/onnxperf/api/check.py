"""`onnxperf.check`: do two runtimes, or a model and its source, give the same results?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.accuracy import ATOL, RTOL, compare, compare_outputs
from onnxperf.api._shared.agreement import matched
from onnxperf.api._shared.requests import CheckKeywords, check_keywords, input_options, names_in, session_options
from onnxperf.api._shared.sources import as_callable
from onnxperf.api._shared.subjects import Source, chosen_calls, function_specs, model_specs, open_entries
from onnxperf.errors import BadInput, BadOption, SubjectError
from onnxperf.measure.machine.describe import usable_cores
from onnxperf.measure.messages import Compute, Load, Prepare, WorkerSpec, outputs_in
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.model.load import Model
from onnxperf.records import Check, Difference, NodeDifference
from onnxperf.results.check import CheckResult

_TIMEOUT_S = 600.0


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
    callable of the feeds. With `nodes`, every tensor of both
    runtimes is compared in the order of the graph, to find the first node that differs; `save` names a folder for
    its inputs and outputs.
    """
    check_keywords(keywords, CheckKeywords)
    rtol, atol = float(keywords.get("rtol", RTOL)), float(keywords.get("atol", ATOL))
    runtimes = names_in(runtime)[: 1 if against is not None else 2]
    if len(runtimes) + (against is not None) < 2:
        raise BadOption("a check needs two runtimes, or one and --against")
    if nodes and against is not None:
        raise BadOption("--nodes compares two runtimes; the source of a model has no nodes")
    session = session_options(keywords)
    session = session if session.threads else replace(session, threads=usable_cores())
    calls = chosen_calls(runtimes, ["run"], session)
    entries = open_entries(model, input_options(keywords), feeds)
    specs = model_specs(entries, calls, session)
    if against is not None:
        specs += function_specs(
            {"source": as_callable(against, input_names=list(entries[0].feeds.arrays))},
            entries[0].feeds,
            session,
        )
    names = [subject.name for spec in specs for subject in spec.subjects]
    first, second = (outputs_of(spec) for spec in specs)
    record = Check(
        model=entries[0].model.label,
        first=names[0],
        second=names[1],
        rtol=rtol,
        atol=atol,
        outputs=_compare_all(first, second, rtol, atol),
        notes=entries[0].feeds.notes,
    )
    if nodes:
        found = _first_difference(entries[0].model, specs, (rtol, atol), save)
        record = replace(record, node=found)
    return CheckResult(record)


@contextmanager
def _running(spec: WorkerSpec) -> Iterator[ProcessWorker]:
    """A worker that has loaded its spec; its errors are those of the request."""
    try:
        with open_worker(spec, timeout_s=_TIMEOUT_S) as worker:
            worker.ask(Load(spec))
            yield worker
    except SubjectError as error:
        raise BadInput(f"{spec.subjects[0].name}: {error}") from error


def outputs_of(spec: WorkerSpec) -> tuple[list[str], list[Any]]:
    """Names and values of what the only subject of a spec returns."""
    with _running(spec) as worker:
        worker.ask(Prepare(0))
        names, value = outputs_in(worker.ask(Compute(0)))
    return names, value if isinstance(value, list) else [value]


def _everything(spec: WorkerSpec) -> dict[str, Any]:
    with _running(spec) as worker:
        names, values = outputs_in(worker.ask(Compute(0, everything=True)))
    return dict(zip(names, values, strict=True))


def _compare_all(
    first: tuple[list[str], list[Any]], second: tuple[list[str], list[Any]], rtol: float, atol: float
) -> tuple[Difference, ...]:
    """By name where a source has the names, else by order; one that returns fewer values is compared with those."""
    (names, ours), (other_names, theirs) = first, second
    if other_names and other_names != names:
        pairs = matched(first, second, {})
        return compare_outputs([n for n, _, _ in pairs], [a for _, a, _ in pairs], [b for _, _, b in pairs], rtol, atol)
    count = len(ours) if other_names else min(len(ours), len(theirs))
    if len(theirs) < count:
        raise BadInput(f"one side has {len(ours)} outputs, the other {len(theirs)}; they cannot be compared")
    return compare_outputs(names[:count], ours[:count], theirs[:count], rtol, atol)


def _first_difference(
    model: Model, specs: Sequence[WorkerSpec], tolerances: tuple[float, float], save: str | Path | None
) -> NodeDifference | None:
    """Walk the graph in order; what only one runtime computes (the other folded it away) is skipped."""
    first, second = (_everything(spec) for spec in specs)
    for index, node in enumerate(model.proto.graph.node):
        shared = [name for name in node.output if name in first and name in second]
        for difference in (compare(name, first[name], second[name], *tolerances) for name in shared):
            if not difference.equal:
                saved = _save(Path(save), index, node, (first, second)) if save is not None else None
                operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
                return NodeDifference(
                    index=index,
                    name=node.name,
                    operator=operator,
                    inputs=tuple(node.input),
                    difference=difference,
                    saved=saved,
                )
    return None


def _save(folder: Path, index: int, node: Any, sides: tuple[dict[str, Any], dict[str, Any]]) -> str:
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
