"""`onnxperf.optimize_einsum`: the fastest ONNX graph for an equation and its shapes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.api._shared.candidate_race import LIMIT, RUNTIMES, CandidateRace, EinsumRequest
from onnxperf.api._shared.requests import EinsumKeywords, check_keywords, require
from onnxperf.contraction import store
from onnxperf.contraction.candidates import (
    Candidate,
    candidates,
    decomposition,
    decompositions,
    describe,
    einsum_as_written,
)
from onnxperf.contraction.equation import Equation, Letters, parse
from onnxperf.contraction.graph import DEFAULT_OPSET, Draft
from onnxperf.contraction.orders import as_written
from onnxperf.contraction.search import Entrant, Found
from onnxperf.errors import BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.records import Case, EinsumPlan, OrderTime, Subject
from onnxperf.results.einsum import EinsumResult

RACE_S = 5.0
EINSUM, BEST_EINSUM, DECOMPOSED = "ORT Einsum as written", "ORT Einsum, best order", "decomposed as written"


def optimize_einsum(
    equation: str,
    shapes: Sequence[Sequence[int]],
    *,
    dtype: str = "float32",
    search: bool = True,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[EinsumKeywords],
) -> EinsumResult:
    """Find the fastest graph for an equation on these shapes; a plan that was found before is not searched again.

    `search=False` trusts the cost model, `portable=True` allows only standard operators, `again=True` searches even
    if there is a plan already, and `time` is the length of the final race in seconds.
    """
    check_keywords(keywords, EinsumKeywords)
    time = keywords.get("time", RACE_S)
    require(time > 0, "time", time, "more than 0 seconds")
    request = request_for(
        parse(equation, [tuple(int(size) for size in shape) for shape in shapes]),
        dtype,
        keywords.get("runtime", "ort"),
        keywords.get("threads"),
        opset=keywords.get("opset", DEFAULT_OPSET),
        portable=keywords.get("portable", False),
    )
    return plan_for(request, search, keywords.get("again", False), time, progress)


def request_for(
    equation: Equation,
    dtype: str,
    runtime: str,
    threads: int | None,
    *,
    opset: int = DEFAULT_OPSET,
    portable: bool = False,
    einsum_only: bool = False,
) -> EinsumRequest:
    """A request, checked."""
    require(threads is None or threads >= 1, "threads", threads, "at least 1")
    if runtime not in RUNTIMES:
        raise BadOption.unknown("runtime", runtime, RUNTIMES)
    try:
        name = str(np.dtype(dtype).name)
    except TypeError as error:
        raise BadOption(f"--dtype {dtype}: expected a type of numpy such as float32") from error
    return EinsumRequest(
        equation=equation,
        dtype=name,
        opset=opset,
        portable=portable or runtime != "ort",
        runtime=runtime,
        threads=threads or machines.usable_cores(),
        einsum_only=einsum_only,
    )


def plan_for(request: EinsumRequest, search: bool, again: bool, time: float, progress: Progress) -> EinsumResult:
    """The plan that was kept, or a new one."""
    kept = store.recall(request.key)
    if kept is None or (search and (again or not kept.plan.searched)):
        kept = _searched(request, time, progress) if search else _estimated(request)
        if kept.plan.race is None or not kept.plan.race.interrupted:
            store.keep(request.key, kept)
    return EinsumResult(replace(kept.plan, equation=request.equation.text), kept.model, kept.unoptimized)


def _estimated(request: EinsumRequest) -> store.Kept:
    """What the cost model says, without timing anything."""
    graphs = _graphs(request)
    plan = EinsumPlan(
        **_basics(request, graphs[0], graphs[0].order),
        searched=False,
        candidates=len(graphs),
        answer=f"{graphs[0].name} is the cheapest by estimate: {graphs[0].cost_us:.3g} µs per call.",
    )
    return store.Kept(plan, _bytes(graphs[0].model), written_model(request))


def _searched(request: EinsumRequest, time: float, progress: Progress) -> store.Kept:
    """Time the graphs in stages, then race the finalists and the others on fresh rounds."""
    orders = decompositions(request.equation, request.dtype, request.opset, request.portable)
    graphs = _distinct([*_graphs(request), *([] if request.einsum_only else [each for _, each in orders])])
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        field = CandidateRace(request, Path(folder), graphs, request.operands())
        entrants, found, notes = field.search(lambda done, text: progress(done / 2, text))
        labelled = _labelled(request, graphs, entrants, found, orders[0][1].draft)
        models = {name: graph.model for name, graph in labelled.items()}
        case = field.race(list(labelled), models, time, lambda done, text: progress(0.5 + done / 2, text))
    name = _fastest(case, labelled)
    notes += ["interrupted: the finalists were raced only until then"] if case.interrupted else []
    times = {graph.draft: entrant.time_ns for graph, entrant in zip(graphs, entrants, strict=True)}
    names = {graph.draft: graph.name for graph in graphs}
    # Of the letter orders that lead to the winner, the first is named; it may have been found in another way.
    own = [order for order, each in orders if each.draft == labelled[name].draft]
    plan = EinsumPlan(
        **_basics(request, labelled[name], own[0] if own else labelled[name].order),
        candidates=len(graphs),
        executed=found.distinct,
        orders=tuple(_order_time(request.equation, order, each.draft, names, times) for order, each in orders),
        race=case,
        winner=name,
        limit=LIMIT if _median(case, LIMIT) else None,
        machine=machines.describe_machine(),
        notes=tuple(notes),
        answer=_answer(case, name, request),
    )
    return store.Kept(plan, _bytes(labelled[name].model), written_model(request))


# ---------------------------------------------------------------- graphs


def _graphs(request: EinsumRequest) -> list[Candidate]:
    """Candidates, the cheapest by estimate first."""
    found = candidates(request.equation, request.dtype, request.opset, request.portable)
    return [each for each in found if _is_einsum(each)] if request.einsum_only else found


def _is_einsum(graph: Candidate) -> bool:
    return any(node.op == "Einsum" for node in graph.draft.nodes)


def written_model(request: EinsumRequest) -> bytes:
    """The graph without any search: the decomposition of the equation as written, or the Einsum itself."""
    equation, dtype, opset = request.equation, request.dtype, request.opset
    if request.einsum_only:
        return _bytes(einsum_as_written(equation, dtype, opset))
    return _bytes(decomposition(equation, as_written(equation), dtype, opset, request.portable))


def _is_plain_einsum(graph: Candidate, request: EinsumRequest) -> bool:
    return graph.name == f"Einsum {request.equation.canonical}"


def _distinct(graphs: Sequence[Candidate]) -> list[Candidate]:
    """Each graph once, under a name that no other has."""
    by_draft: dict[Draft, Candidate] = {}
    for graph in graphs:
        by_draft.setdefault(graph.draft, graph)
    names: dict[str, int] = {}
    found = []
    for graph in by_draft.values():
        plain = describe(graph.draft)
        names[plain] = names.get(plain, 0) + 1
        name = plain if names[plain] == 1 else f"{plain} #{names[plain]}"
        found.append(Candidate(name, graph.order, graph.draft, graph.dtype, graph.opset, graph.cost_us))
    return found


def _labelled(
    request: EinsumRequest, graphs: Sequence[Candidate], entrants: Sequence[Entrant], found: Found, written: Draft
) -> dict[str, Candidate]:
    """Who is in the final race, under the names of the table; graphs that onnxruntime cannot tell apart only once."""
    numbers = range(len(graphs))
    einsums = [i for i in numbers if _is_einsum(graphs[i]) and entrants[i].time_ns is not None]
    plain = next((i for i in einsums if _is_plain_einsum(graphs[i], request)), None)
    best = min(einsums, key=lambda i: entrants[i].time_ns or 0.0, default=None)
    own = next((i for i in numbers if graphs[i].draft == written), None)
    wanted = [(EINSUM, plain), (BEST_EINSUM, best), (DECOMPOSED, own)]
    wanted += [(graphs[number].name, number) for number in found.finalists]
    labelled: dict[str, Candidate] = {}
    seen: set[str] = set()
    for name, number in wanted:
        if number is None or entrants[number].reason:
            continue
        executed = entrants[number].executed or graphs[number].name
        if executed not in seen:
            seen.add(executed)
            labelled[name] = graphs[number]
    return labelled


# ---------------------------------------------------------------- the plan


def _basics(request: EinsumRequest, graph: Candidate, order: Letters) -> dict[str, Any]:
    return {
        "equation": request.equation.text,
        "canonical": request.equation.canonical,
        "best_equation": request.equation.renamed(order),
        "shapes": request.equation.shapes,
        "dtype": request.dtype,
        "opset": request.opset,
        "portable": request.portable,
        "runtime": request.runtime,
        "threads": request.threads,
        "graph": graph.name,
        "command": "onnxperf.optimize_einsum",
    }


def _order_time(
    equation: Equation,
    order: Letters,
    draft: Draft,
    names: Mapping[Draft, str],
    times: Mapping[Draft, float | None],
) -> OrderTime:
    graph = names.get(draft) or describe(draft)
    return OrderTime(order="".join(order), equation=equation.renamed(order), graph=graph, time_ns=times.get(draft))


def _fastest(case: Case, labelled: Mapping[str, Candidate]) -> str:
    measured = [subject for subject in case.subjects if subject.name in labelled and subject.median_ns is not None]
    if not measured:
        raise KeyboardInterrupt  # stopped before anything was raced
    return min(measured, key=lambda subject: subject.median_ns or 0.0).name


def _median(case: Case, name: str) -> float | None:
    return next((subject.median_ns for subject in case.subjects if subject.name == name), None)


def _answer(case: Case, name: str, request: EinsumRequest) -> str:
    winner: Subject = next(subject for subject in case.subjects if subject.name == name)
    told = f"{name} is the fastest for {request.equation.text}"
    if name == case.baseline:
        told = f"{name} is already the fastest graph for {request.equation.text}"
    elif winner.speedup is not None and winner.speedup_low is not None and winner.speedup_high is not None:
        told += (
            f": {winner.speedup:.3g} times as fast as {case.baseline} "
            f"(95 % interval {winner.speedup_low:.3g} to {winner.speedup_high:.3g})"
        )
    limit, own = _median(case, LIMIT), winner.median_ns
    if limit and own:
        told += f", {own / limit:.3g} times the time of the bare MatMul"
    return f"{told}."


def _bytes(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString())
