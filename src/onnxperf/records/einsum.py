"""Results for an einsum equation: its letter orders, its fastest graph, and the race that decided."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment
from onnxperf.records.numbers import Amount, Count
from onnxperf.records.race import Case

SiteOutcome = Literal["rewritten", "kept", "skipped"]


class OrderTime(Struct, frozen=True, kw_only=True):
    """One letter order: the axis order of all intermediate tensors."""

    order: str
    """Letters in this order."""
    equation: str
    """Equation with its letters renamed so that their alphabetical order is this one."""
    graph: str
    """Short description of the resulting graph; many orders lead to the same graph."""
    time_ns: Amount | None = None
    """Time of a call of that graph in the search, in ns; null if not timed."""


class EinsumPlan(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf einsum`."""

    equation: str
    """Equation as given."""
    canonical: str
    """Equation with an explicit output and without ellipses."""
    best_equation: str
    """Equation in the letter order of the chosen graph."""
    shapes: tuple[tuple[Count, ...], ...]
    """Shapes of the operands."""
    dtype: str
    """Element type of the operands."""
    opset: Count
    """ONNX opset of the graphs."""
    portable: bool = False
    """Whether only standard operators were allowed."""
    runtime: str = "ort"
    """Runtime used to time the graphs."""
    threads: Count = 1
    """Threads of every subject."""
    searched: bool = True
    """Whether the graphs were raced; otherwise the cost model chose."""
    graph: str
    """Short description of the chosen graph: the winner or, if the race is undecided, its baseline."""
    graph_ns: Amount | None = None
    """Time of a call of that graph in the search, in ns, comparable with those of the letter orders; null if not
    timed."""
    decomposed: str = ""
    """Short description of the best graph without an Einsum node: the chosen one, or the next by speedup."""
    candidates: Count = 0
    """Number of distinct candidate graphs."""
    executed: Count = 0
    """Number of graphs that remain distinct after onnxruntime's optimizer."""
    orders: tuple[OrderTime, ...] = ()
    """One row per distinct letter order, the equation's own first."""
    race: Case | None = None
    """Final race: finalists, onnxruntime's Einsum, numpy and others; the first subject is the baseline."""
    winner: str | None = None
    """Name of the winner of that race; null if its verdicts are undecided."""
    limit: str | None = None
    """Name of the subject in that race that multiplies matrices of the same size without moving data, as a lower limit;
    null if there is none or another subject is faster."""
    interrupted: bool = False
    """Whether the user stopped it early, so that results are partial."""


class RewrittenSite(Struct, frozen=True, kw_only=True):
    """Einsum nodes of a model with the same equation, shapes and type."""

    nodes: tuple[str, ...]
    """Node names (Einsum and position for unnamed nodes)."""
    equation: str
    """Equation of the nodes."""
    shapes: tuple[tuple[Count, ...], ...] = ()
    """Shapes of their inputs, if known."""
    dtype: str = ""
    """Element type of the nodes."""
    outcome: SiteOutcome
    """rewritten: replaced in the output model; kept: no gain was proven; skipped: could not be tested."""
    graph: str = ""
    """Short description of the tested graph."""
    speedup_alone: Amount | None = None
    """Speedup of that graph alone over onnxruntime's Einsum."""
    speedup: Amount | None = None
    """Speedup of the whole model with the rewrite over the model without it."""
    speedup_low: Amount | None = None
    """Lower end of its 95 % confidence interval."""
    speedup_high: Amount | None = None
    """Upper end of its 95 % confidence interval."""
    reason: str = ""
    """Reason for this outcome."""


class Rewrite(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf einsum` when it rewrites a model."""

    model: str
    """Label of the model."""
    output: str
    """File of the rewritten model; empty if no gain was proven and nothing was written."""
    sites: tuple[RewrittenSite, ...]
    """One entry per group of identical Einsum nodes."""
    race: Case | None = None
    """Deciding race: the original model against the model with all replacements that gained on their own."""
    interrupted: bool = False
    """Whether the user stopped it early, so that results are partial."""
