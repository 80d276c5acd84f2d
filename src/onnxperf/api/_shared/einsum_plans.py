"""Plans for einsum equations: found before, estimated, or searched and raced."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.analyze.answers.einsum import estimate_answer, partial_answer, race_answer
from onnxperf.analyze.judges.einsum import chosen_in, graphs_in, is_decided, winner_in
from onnxperf.api._shared.candidate_race import LIMIT, CandidateRace, EinsumRequest, SearchEnd
from onnxperf.api._shared.requests import require
from onnxperf.contraction import store
from onnxperf.contraction.candidates import (
    Candidate,
    candidates,
    decomposition,
    decompositions,
    describe,
    einsum_as_written,
)
from onnxperf.contraction.equation import Equation, Letters
from onnxperf.contraction.graph import DEFAULT_OPSET, Draft
from onnxperf.contraction.orders import as_written
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.race import Progress
from onnxperf.records.einsum import EinsumPlan, OrderTime
from onnxperf.results.einsum import EinsumResult
from onnxperf.runtimes.find import find_runtime

RACE_S = 5.0
EINSUM, BEST_EINSUM, DECOMPOSED = "ORT Einsum as written", "ORT Einsum, best order", "decomposed as written"

Orders = Sequence[tuple[Letters, Candidate]]
"""Letter orders with the graphs that they lead to."""


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
    domains = find_runtime(runtime).domains
    try:
        name = str(np.dtype(dtype).name)
    except TypeError as error:
        raise BadOption(option="dtype", value=dtype, expected="a numpy type such as float32") from error
    return EinsumRequest(
        equation=equation,
        dtype=name,
        opset=opset,
        portable=portable or not domains,
        runtime=runtime,
        threads=threads or usable_cores(),
        einsum_only=einsum_only,
    )


def plan_for(
    request: EinsumRequest,
    *,
    search: bool,
    again: bool = False,
    time: float = RACE_S,
    progress: Progress = lambda _done, _text: None,
) -> EinsumResult:
    """The plan that was found before, or a new one; what was interrupted or is undecided is not kept for later."""
    kept = store.recall(request.key)
    if kept is None or (search and (again or not kept.plan.searched)):
        kept = searched_plan(request, time, progress) if search else estimated_plan(request)
        if not kept.plan.interrupted and is_decided(kept.plan):
            store.keep(request.key, kept)
    return EinsumResult(replace(kept.plan, equation=request.equation.text), *kept[1:])


def estimated_plan(request: EinsumRequest) -> store.Kept:
    """What the cost model says, without timing anything."""
    graphs = _graphs(request)
    plan = EinsumPlan(
        **_basics(request, graphs[0], graphs[0].order),
        searched=False,
        candidates=len(graphs),
        answer=estimate_answer(graphs[0].name, graphs[0].cost_us),
    )
    return _kept(request, plan, graphs[0], graphs)


def searched_plan(request: EinsumRequest, time: float, progress: Progress) -> store.Kept:
    """Time the graphs in stages, then race the finalists and the others on fresh rounds."""
    orders = decompositions(request.equation, request.dtype, request.opset, request.portable)
    graphs = _distinct([*_graphs(request), *([] if request.einsum_only else [each for _, each in orders])])
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        contest = CandidateRace(request, Path(folder), graphs, request.operands())
        end = contest.search(lambda done, text: progress(done / 2, text))
        if end.found.interrupted:
            return _partial(request, graphs, orders, end)
        labelled = _labelled(request, graphs, end, orders[0][1].draft)
        case = contest.race(labelled, time, lambda done, text: progress(0.5 + done / 2, text))
    chosen, winner = chosen_in(case, LIMIT), winner_in(case, LIMIT)
    if chosen is None and case.interrupted:
        return _partial(request, graphs, orders, end)
    if chosen is None:
        reasons = {each.reason for each in case.subjects if each.name in labelled and each.reason}
        raise BadInput(f"no graph for {request.equation.text} could be raced: {'; '.join(sorted(reasons))}")
    notes = ["interrupted: the finalists were raced only until then"] if case.interrupted else []
    plan = replace(
        _searched_basics(request, graphs, orders, end, labelled[chosen.name]),
        race=case,
        winner=winner.name if winner is not None else None,
        limit=LIMIT if any(each.name == LIMIT and each.time_ns for each in case.subjects) else None,
        interrupted=case.interrupted,
        notes=(*end.notes, *notes),
        answer=race_answer(case, LIMIT, request.equation.text),
    )
    by_speedup = sorted(graphs_in(case, LIMIT), key=lambda each: -(each.speedup or 0.0))
    return _kept(request, plan, labelled[chosen.name], [labelled[each.name] for each in by_speedup])


def _partial(request: EinsumRequest, graphs: Sequence[Candidate], orders: Orders, end: SearchEnd) -> store.Kept:
    """What the search had found when it was interrupted; the estimate where nothing was timed yet."""
    if not end.found.finalists:
        kept = estimated_plan(request)
        return kept._replace(plan=replace(kept.plan, interrupted=True, notes=tuple(end.notes)))
    best = end.found.finalists[0]
    plan = replace(
        _searched_basics(request, graphs, orders, end, graphs[best]),
        interrupted=True,
        notes=tuple(end.notes),
        answer=partial_answer(graphs[best].name, request.equation.text, end.entrants[best].time_ns or 0.0),
    )
    return _kept(request, plan, graphs[best], [graphs[number] for number in end.found.finalists])


def _kept(request: EinsumRequest, plan: EinsumPlan, chosen: Candidate, best_first: Sequence[Candidate]) -> store.Kept:
    """A plan with its graph, the equation as written, and the best graph without an Einsum."""
    without = next((each for each in (chosen, *best_first) if not _is_einsum(each)), None)
    model = decomposed_model(request) if without is None else _bytes(without.model)
    plan = replace(plan, decomposed=DECOMPOSED if without is None else without.name)
    return store.Kept(plan, _bytes(chosen.model), written_model(request), model)


def written_model(request: EinsumRequest) -> bytes:
    """The graph without any search: the decomposition of the equation as written, or the Einsum itself."""
    if request.einsum_only:
        return _bytes(einsum_as_written(request.equation, request.dtype, request.opset))
    return decomposed_model(request)


def decomposed_model(request: EinsumRequest) -> bytes:
    """The decomposition of the equation as written."""
    equation = request.equation
    return _bytes(decomposition(equation, as_written(equation), request.dtype, request.opset, request.portable))


# ---------------------------------------------------------------- graphs


def _graphs(request: EinsumRequest) -> list[Candidate]:
    """Candidates, the cheapest by estimate first."""
    found = candidates(request.equation, request.dtype, request.opset, request.portable)
    return [each for each in found if _is_einsum(each)] if request.einsum_only else found


def _is_einsum(graph: Candidate) -> bool:
    return any(node.op == "Einsum" for node in graph.draft.nodes)


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
    request: EinsumRequest, graphs: Sequence[Candidate], end: SearchEnd, written: Draft
) -> dict[str, Candidate]:
    """The graphs of the final race under the names of the table; those that onnxruntime cannot tell apart once."""
    entrants, numbers = end.entrants, range(len(graphs))
    einsums = [i for i in numbers if _is_einsum(graphs[i]) and entrants[i].time_ns is not None]
    plain = next((i for i in einsums if _is_plain_einsum(graphs[i], request)), None)
    best = min(einsums, key=lambda i: entrants[i].time_ns or 0.0, default=None)
    own = next((i for i in numbers if graphs[i].draft == written), None)
    wanted = [(EINSUM, plain), (BEST_EINSUM, best), (DECOMPOSED, own)]
    wanted += [(graphs[number].name, number) for number in end.found.finalists]
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


def _searched_basics(
    request: EinsumRequest, graphs: Sequence[Candidate], orders: Orders, end: SearchEnd, chosen: Candidate
) -> EinsumPlan:
    """What every search leaves behind, with the graph that was chosen."""
    times = {graph.draft: entrant.time_ns for graph, entrant in zip(graphs, end.entrants, strict=True)}
    names = {graph.draft: graph.name for graph in graphs}
    # Of the letter orders that lead to the winner, the first is named; it may have been found in another way.
    own = [order for order, each in orders if each.draft == chosen.draft]
    return EinsumPlan(
        **_basics(request, chosen, own[0] if own else chosen.order),
        candidates=len(graphs),
        executed=end.found.distinct,
        graph_ns=times.get(chosen.draft),
        orders=tuple(_order_time(request.equation, order, each.draft, names, times) for order, each in orders),
        machine=machines.describe_machine(),
    )


def _order_time(
    equation: Equation,
    order: Letters,
    draft: Draft,
    names: Mapping[Draft, str],
    times: Mapping[Draft, float | None],
) -> OrderTime:
    graph = names.get(draft) or describe(draft)
    return OrderTime(order="".join(order), equation=equation.renamed(order), graph=graph, time_ns=times.get(draft))


def _bytes(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString())
