"""What was found for an einsum equation, or in a model with Einsum nodes, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.judges.einsum import median_of
from onnxperf.records.einsum import RewrittenSite
from onnxperf.records.race import Case, Subject
from onnxperf.wording.numbers import count, duration, significant


def estimate_answer(graph: str, cost_us: float) -> str:
    """Answer which graph the cost model chose."""
    return f"{graph} is the cheapest by estimate: {duration(cost_us * 1e3)} per call."


def partial_answer(graph: str, equation: str, time_ns: float) -> str:
    """Answer which graph led when the search was interrupted."""
    return f"{graph} was the fastest so far for {equation}: {duration(time_ns)} per call; nothing was raced."


def race_answer(case: Case, winner: Subject, limit: str, equation: str) -> str:
    """Answer which graph won, by how much, and how far it is from the limit."""
    if winner.name == case.baseline:
        answer = f"{winner.name} is already the fastest graph for {equation}"
    else:
        answer = f"{winner.name} is the fastest for {equation}"
        if winner.speedup is not None and winner.speedup_low is not None and winner.speedup_high is not None:
            answer += f": {_times_as_fast(winner)} as {case.baseline}{_interval(winner)}"
    bare, own = median_of(case, limit), winner.median_ns
    if bare and own:
        answer += f", {significant(own / bare)} times the time of the {limit}"
    return f"{answer}."


def rewrite_answer(model: str, sites: Sequence[RewrittenSite], rival: Subject | None, output: str) -> str:
    """Answer how many Einsum nodes were replaced, what the model gains, and where it was written."""
    nodes = sum(len(site.nodes) for site in sites)
    if not nodes:
        return f"{model} has no Einsum node; nothing was written."
    replaced = sum(len(site.nodes) for site in sites if site.outcome == "rewritten")
    done = f"{replaced} of {count(nodes, 'Einsum node')} rewritten"
    if rival is None or not output:
        return f"{done}; nothing was written."
    gain = f"{_times_as_fast(rival)}{_interval(rival)}" if rival.speedup else "not measured"
    return f"{done}; {model} is {gain}; written to {output}."


def _times_as_fast(subject: Subject) -> str:
    return f"{significant(subject.speedup or 1.0)} times as fast"


def _interval(subject: Subject) -> str:
    if subject.speedup_low is None or subject.speedup_high is None:
        return ""
    return f" (95 % interval {significant(subject.speedup_low)} to {significant(subject.speedup_high)})"
