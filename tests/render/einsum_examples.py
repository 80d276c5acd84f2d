"""An einsum plan as long as that of the document, and a rewritten model."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from onnxperf.records.comparison import Verdict
from onnxperf.records.einsum import EinsumPlan, OrderTime, Rewrite, RewrittenSite
from onnxperf.records.race import Case, Subject
from tests.render import examples

EQUATION = "bsnh,btnh->bnts"
LIMIT = "bare MatMul"
BEST_GRAPH = "Transpose 1023 > Transpose 1023 > FusedMatMul(transB, transBatchA, transBatchB)"
SHAPES = ((20, 20, 20, 20), (20, 20, 20, 20))
_PRODUCTS = (
    "MatMul",
    "FusedMatMul(transA)",
    "FusedMatMul(transB)",
    "FusedMatMul(transBatchA)",
    "FusedMatMul(transB, transBatchA)",
    "FusedMatMul(transA, transBatchA, transBatchB)",
    "FusedMatMul(transB, transBatchA, transBatchB)",
    "FusedMatMul(transBatchB)",
)
_MOVES = ("0213", "0231", "2013", "1203")
GRAPHS = tuple(f"Transpose {a} > Transpose {a} > {b} > Transpose 0132" for b in _PRODUCTS for a in _MOVES)
RACE: tuple[tuple[str, str, float, Verdict], ...] = (
    ("onnxruntime Einsum as written", "ort", 662_000.0, "baseline"),
    ("numpy.einsum", "callable", 2_700_000.0, "slower"),
    ("decomposed as written", "ort", 419_000.0, "faster"),
    (BEST_GRAPH, "ort", 176_000.0, "faster"),
    (LIMIT, "ort", 127_000.0, "faster"),
)


def renamed(order: str) -> str:
    """The equation with its letters renamed so that their alphabetical order is this one."""
    names = str.maketrans(order, "".join(sorted(order)))
    return EQUATION.translate(names)


def orders(*, letters: str = "bsnht", graphs: tuple[str, ...] = GRAPHS, untimed: int = 0) -> tuple[OrderTime, ...]:
    """All permutations of the letters, as written first; the graphs in turn, each with a time of its own."""
    every = ["".join(order) for order in permutations(letters)]
    return tuple(
        OrderTime(
            order=order,
            equation=renamed(order) if letters == "bsnht" else order,
            graph=graphs[(number * 7) % len(graphs)],
            time_ns=None if number >= len(every) - untimed else 176_000.0 * (1 + 0.09 * ((number * 7) % len(graphs))),
        )
        for number, order in enumerate(every)
    )


def subject(name: str, runtime: str, median_ns: float, verdict: Verdict, **changes: Any) -> Subject:
    speedup = RACE[0][2] / median_ns
    fields = {"runtime": runtime, "median_ns": median_ns, "speedup": speedup, "call": None}
    ends = {"speedup_low": speedup * 0.98, "speedup_high": speedup * 1.02} if verdict != "baseline" else {}
    return examples.subject(name, median_ns, verdict, **(fields | ends | changes))


def race(*more: Subject) -> Case:
    return Case(
        model=EQUATION, baseline=RACE[0][0], subjects=(*(subject(*row) for row in RACE), *more), notes=("of the race",)
    )


def plan(**changes: Any) -> EinsumPlan:
    fields: dict[str, Any] = {
        "equation": EQUATION,
        "canonical": EQUATION,
        "best_equation": "ahbt,asbt->abhs",
        "shapes": SHAPES,
        "dtype": "float32",
        "opset": 18,
        "threads": 2,
        "graph": BEST_GRAPH,
        "winner": BEST_GRAPH,
        "candidates": 151,
        "executed": 63,
        "orders": orders(),
        "race": race(),
        "limit": LIMIT,
        "machine": examples.machine(),
        "notes": ("finalists were raced again on fresh rounds",),
        "answer": "The best graph is 3.76 times as fast as onnxruntime's Einsum and takes 1.39 times the bare MatMul.",
    }
    return EinsumPlan(**(fields | changes))


def site(**changes: Any) -> RewrittenSite:
    fields: dict[str, Any] = {
        "nodes": tuple(f"Einsum_{number}" for number in range(3, 15)),
        "equation": EQUATION,
        "shapes": ((2, 128, 12, 64), (2, 128, 12, 64)),
        "dtype": "float32",
        "outcome": "rewritten",
        "graph": BEST_GRAPH,
        "speedup_alone": 3.1,
        "speedup": 1.214,
        "speedup_low": 1.2,
        "speedup_high": 1.23,
        "reason": "the whole model is faster",
    }
    return RewrittenSite(**(fields | changes))


def rewrite(**changes: Any) -> Rewrite:
    kept = site(
        nodes=("Einsum_40",),
        equation="bhqk,bkhd->bqhd",
        outcome="kept",
        speedup=1.001,
        speedup_low=0.995,
        speedup_high=1.006,
        reason="faster alone, but the whole model is not: its neighbours absorbed the transposes",
    )
    unknown = RewrittenSite(
        nodes=("",), equation="ij,jk->ik", outcome="skipped", reason="its shapes are unknown; give them with `dims`"
    )
    models = (
        subject("original", "ort", 662_000.0, "baseline"),
        subject("rewritten", "ort", 545_000.0, "faster"),
    )
    fields: dict[str, Any] = {
        "model": "bert.onnx",
        "output": "faster.onnx",
        "sites": (site(), kept, unknown),
        "race": Case(model="bert.onnx", baseline="original", subjects=models),
        "machine": examples.machine(),
        "notes": ("its graphs hold only for these shapes",),
        "answer": "12 of 14 Einsum nodes were rewritten: the model is 1.21 times as fast.",
    }
    return Rewrite(**(fields | changes))
