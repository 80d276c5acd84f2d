"""Which graph of an equation won its race, and whether a model gains from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnxperf.records.einsum import EinsumPlan, SiteOutcome
from onnxperf.records.race import Case, Subject

_REASONS: dict[str, tuple[SiteOutcome, str]] = {
    "faster": ("rewritten", "the whole model is faster"),
    "slower": ("kept", "the whole model is slower"),
    "equivalent": ("kept", "the whole model does not gain from it"),
}


def fastest(subjects: Sequence[Subject], names: Collection[str]) -> Subject | None:
    """The subject with the smallest median among those named; None where none was measured."""
    measured = [subject for subject in subjects if subject.name in names and subject.median_ns is not None]
    return min(measured, key=lambda subject: subject.median_ns or 0.0, default=None)


def median_of(case: Case | None, name: str | None) -> float | None:
    """Median time of the subject of this name, where it was measured."""
    subjects = case.subjects if case is not None else ()
    return next((subject.median_ns for subject in subjects if subject.name == name), None)


def speedup_over(plan: EinsumPlan, baseline: str) -> float | None:
    """The winner of a plan against another subject of its race."""
    other, own = median_of(plan.race, baseline), median_of(plan.race, plan.winner)
    return other / own if other and own else None


def outcome_of(rival: Subject) -> tuple[SiteOutcome, str]:
    """What becomes of the nodes of a site after the race of the whole model, and why."""
    unsure = f"whether the whole model gains is {rival.verdict or rival.status}"
    return _REASONS.get(rival.verdict or "", ("kept", unsure))
