"""Plans for einsum equations: found before, estimated, or searched and raced."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace as dataclass_replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.analyze.answers.einsum import (
    estimate_answer,
    finalists_note,
    for_the_whole,
    left_out_note,
    no_limit_note,
    partial_answer,
    race_answer,
)
from onnxperf.analyze.judges.einsum import beats, chosen_in, graphs_in, is_decided, winner_in
from onnxperf.api._shared.einsum_race import LIMIT, CandidateRace, EinsumRequest, SearchEnd, finalists_within, part
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
from onnxperf.contraction.search import Entrant
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.race import Progress
from onnxperf.options.functions import OPTIMIZE_EINSUM
from onnxperf.records.einsum import EinsumPlan, OrderTime
from onnxperf.records.options import WorkerLimits
from onnxperf.records.race import Case
from onnxperf.results.einsum import EinsumResult
from onnxperf.runtimes.find import find_runtime

DEFAULT_TIME_S: float = OPTIMIZE_EINSUM.options["time"].default
_LIMITS = WorkerLimits()
_SEARCH_SHARE = 0.3
"""Part of the time that the search may take at most; what it leaves is for the race."""
_WORTH_A_RACE = 0.95
"""Another order of the Einsum is raced only if the search found it faster by more than chance makes it."""
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
    if threads is not None and threads < 1:
        raise BadOption(option="threads", value=threads, expected="at least 1")
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
    time: float = DEFAULT_TIME_S,
    limits: WorkerLimits = _LIMITS,
    progress: Progress = lambda _done, _text: None,
) -> EinsumResult:
    """The plan found before, or a new one; what was interrupted or is undecided is not kept for later."""
    kept = store.recall(request.key)
    if kept is None or (search and (again or not kept.plan.searched)):
        kept = searched_plan(request, time, limits, progress) if search else estimated_plan(request)
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


def searched_plan(request: EinsumRequest, time: float, limits: WorkerLimits, progress: Progress) -> store.Kept:
    """Time the graphs in stages, then race the finalists and the others on fresh rounds; all within `time` seconds."""
    begin = monotonic()
    orders = decompositions(request.equation, request.dtype, request.opset, request.portable)
    graphs = _distinct([*_graphs(request), *([] if request.einsum_only else [each for _, each in orders])])
    written = orders[0][1].draft
    needed = [i for i, each in enumerate(graphs) if each.draft == written or _is_plain_einsum(each, request)]
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        contest = CandidateRace(request, Path(folder), graphs, request.operands(), needed, limits)
        search_s = _SEARCH_SHARE * time - (monotonic() - begin)
        end = contest.search(search_s, part(progress, 0.0, _SEARCH_SHARE))
        if end.found.interrupted:
            return _partial(request, graphs, orders, end)
        before_s = monotonic() - begin
        end = _affordable(end, time, time - before_s)
        labelled = _labelled(request, graphs, end, written)
        try:
            case = contest.race(labelled, time - before_s, end.start_s, part(progress, _SEARCH_SHARE, 1.0))
        except KeyboardInterrupt:  # before its first round
            return _partial(request, graphs, orders, end)
    hints = (replace(each, reason=for_the_whole(each.reason, before_s)) for each in case.subjects)
    return _raced_plan(request, graphs, orders, end, labelled, replace(case, subjects=tuple(hints)))


def _affordable(end: SearchEnd, time: float, left_s: float) -> SearchEnd:
    """What the search found with as many finalists as the race has time for, and notes on what time cut off."""
    untimed = sum(each.time_ns is None and not each.reason for each in end.entrants)
    notes = [left_out_note(untimed, len(end.entrants), time)] if untimed else []
    finalists = end.found.finalists
    room = finalists_within(left_s, end.start_s, end.entrants[finalists[0]].time_ns or 0.0)
    if room < len(finalists):
        notes.append(finalists_note(room, len(finalists)))
    return dataclass_replace(end, found=end.found._replace(finalists=finalists[:room]), notes=[*end.notes, *notes])


def _raced_plan(
    request: EinsumRequest,
    graphs: Sequence[Candidate],
    orders: Orders,
    end: SearchEnd,
    labelled: Mapping[str, Candidate],
    case: Case,
) -> store.Kept:
    """What the race decided."""
    case, limit, about_limit = _with_limit(case)
    chosen, winner = chosen_in(case, limit), winner_in(case, limit)
    if chosen is None and case.interrupted:
        return _partial(request, graphs, orders, end)
    if chosen is None:
        reasons = {each.reason for each in case.subjects if each.name in labelled and each.reason}
        raise BadInput(f"no graph for {request.equation.text} could be raced: {'; '.join(sorted(reasons))}")
    cut_short = ["interrupted: the finalists were raced only until then"] if case.interrupted else []
    plan = replace(
        _searched_basics(request, graphs, orders, end, labelled[chosen.name]),
        race=case,
        winner=winner.name if winner is not None else None,
        limit=limit,
        interrupted=case.interrupted,
        notes=(*end.notes, *about_limit, *cut_short),
        answer=race_answer(case, limit, request.equation.text),
    )
    by_speedup = sorted(graphs_in(case, limit), key=lambda each: -(each.speedup or 0.0))
    return _kept(request, plan, labelled[chosen.name], [labelled[each.name] for each in by_speedup])


def _with_limit(case: Case) -> tuple[Case, str | None, list[str]]:
    """The race with the name of its limit; without it, and with a note, where something takes less time."""
    own = next((each for each in case.subjects if each.name == LIMIT), None)
    faster = beats(case, LIMIT)
    if own is not None and own.time_ns and faster is None:
        return case, LIMIT, []
    left = replace(case, subjects=tuple(each for each in case.subjects if each is not own))
    return left, None, [no_limit_note(LIMIT, faster.name)] if faster is not None else []


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


def _ratio(one: Entrant, other: Entrant) -> float:
    return (one.time_ns or math.inf) / (other.time_ns or math.inf)


def _labelled(
    request: EinsumRequest, graphs: Sequence[Candidate], end: SearchEnd, written: Draft
) -> dict[str, Candidate]:
    """The graphs of the final race under the names of the table; those that onnxruntime cannot tell apart once."""
    entrants, numbers = end.entrants, range(len(graphs))
    einsums = [i for i in numbers if _is_einsum(graphs[i]) and entrants[i].time_ns is not None]
    plain = next((i for i in einsums if _is_plain_einsum(graphs[i], request)), None)
    best = min(einsums, key=lambda i: entrants[i].time_ns or 0.0, default=None)
    if best is not None and plain is not None and _ratio(entrants[best], entrants[plain]) > _WORTH_A_RACE:
        best = None
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
    """What every search leaves behind, with the chosen graph."""
    # Graphs that onnxruntime makes the same of are one, under the name of the first.
    leaders = end.found.leaders or range(len(graphs))
    same = {graph.draft: graphs[leader] for graph, leader in zip(graphs, leaders, strict=True)}
    times = {graph.draft: entrant.time_ns for graph, entrant in zip(graphs, end.entrants, strict=True)}
    # Of the letter orders that lead to the winner, the first is named; it may have been found in another way.
    own = [order for order, each in orders if _leader(each, same).draft == _leader(chosen, same).draft]
    return EinsumPlan(
        **_basics(request, _leader(chosen, same), own[0] if own else chosen.order),
        candidates=len(graphs),
        executed=end.found.distinct,
        graph_ns=times.get(chosen.draft),
        orders=tuple(
            OrderTime(
                order="".join(order),
                equation=request.equation.renamed(order),
                graph=_leader(each, same).name,
                time_ns=times.get(each.draft),
            )
            for order, each in orders
        ),
        machine=machines.describe_machine(),
    )


def _leader(graph: Candidate, same: Mapping[Draft, Candidate]) -> Candidate:
    return same.get(graph.draft, graph)


def _bytes(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString())
