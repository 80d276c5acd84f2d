"""What was found for an einsum equation: its letter orders, its fastest graph, and the race that decided."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment
from onnxperf.records.numbers import Amount, Count
from onnxperf.records.race import Case

SiteOutcome = Literal["rewritten", "kept", "skipped"]


class OrderTime(Struct, frozen=True, kw_only=True):
    """One letter order: the axis order of everything between operands and result."""

    order: str
    """The letters in this order."""
    equation: str
    """The equation with letters renamed so that their alphabetical order is this one."""
    graph: str
    """The graph that it leads to, in a few words; many orders lead to the same."""
    time_ns: Amount | None = None
    """Time of a call of that graph in the search; null if it was not timed."""


class EinsumPlan(Experiment, frozen=True, kw_only=True):
    """What `onnxperf einsum` found."""

    equation: str
    """As it was given."""
    canonical: str
    """The same with an explicit output and without ellipses."""
    best_equation: str
    """The equation in the letter order of the chosen graph."""
    shapes: tuple[tuple[Count, ...], ...]
    """Of the operands."""
    dtype: str
    """Element type of the operands."""
    opset: Count
    """ONNX version of the graphs."""
    portable: bool = False
    """Only standard operators were allowed."""
    runtime: str = "ort"
    """Runtime that the graphs were timed with."""
    threads: Count = 1
    """Threads of every subject."""
    searched: bool = True
    """The graphs were raced; otherwise the cost model chose."""
    graph: str
    """The chosen graph in a few words: the winner, or where the race is undecided its baseline."""
    graph_ns: Amount | None = None
    """Time of a call of that graph in the search, as those of the letter orders; null if it was not timed."""
    decomposed: str = ""
    """The best graph without an Einsum in a few words: the chosen one, or the next by speedup."""
    candidates: Count = 0
    """Distinct graphs that were proposed."""
    executed: Count = 0
    """Those that are still distinct after onnxruntime's optimiser."""
    orders: tuple[OrderTime, ...] = ()
    """One row per letter order, each once, the equation's own first."""
    race: Case | None = None
    """The final race: finalists, onnxruntime's Einsum, numpy and others; the first subject is the baseline."""
    winner: str | None = None
    """Name of the winner in that race; null where its verdicts are undecided."""
    limit: str | None = None
    """Name of the subject in that race which multiplies matrices of the same size without moving anything; null if
    there is none, or anything in the race takes less time."""
    interrupted: bool = False
    """The user stopped it: this is what was found until then."""


class RewrittenSite(Struct, frozen=True, kw_only=True):
    """Einsum nodes of a model that have the same equation, shapes and type."""

    nodes: tuple[str, ...]
    """Their names (Einsum and position where they have none)."""
    equation: str
    """Their equation."""
    shapes: tuple[tuple[Count, ...], ...] = ()
    """Shapes of their inputs, where known."""
    dtype: str = ""
    """Their element type."""
    outcome: SiteOutcome
    """rewritten: replaced in the written model; kept: no gain was proven; skipped: it could not be tried."""
    graph: str = ""
    """The graph that was tried, in a few words."""
    speedup_alone: Amount | None = None
    """That graph against onnxruntime's Einsum, by themselves."""
    speedup: Amount | None = None
    """The whole model with it against the whole model without it."""
    speedup_low: Amount | None = None
    """Lower end of the 95 % interval."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    reason: str = ""
    """Why this outcome."""


class Rewrite(Experiment, frozen=True, kw_only=True):
    """What `onnxperf einsum` did to a model with `rewrite`."""

    model: str
    """Label of the model."""
    output: str
    """File of the rewritten model; empty when no gain was proven and nothing written."""
    sites: tuple[RewrittenSite, ...]
    """One per group of equal Einsum nodes."""
    race: Case | None = None
    """The original model against the one with all replacements that gained by themselves; it decides."""
    interrupted: bool = False
    """The user stopped it: this is what was found until then."""
