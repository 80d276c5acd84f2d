"""Which graph of an equation wins its race, and whether a model gains from it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from onnxperf.records.einsum import EinsumPlan, RewrittenSite, SiteOutcome
from onnxperf.records.race import Case, Subject
from onnxperf.records.sweep import time_of

_OUTCOMES: dict[str, tuple[SiteOutcome, str]] = {
    "faster": ("rewritten", "the whole model is faster"),
    "slower": ("kept", "the whole model is slower"),
    "equivalent": ("kept", "the whole model does not gain from it"),
}
NUMPY = "numpy.einsum"
"""Name of the subject in the race of an equation."""
_START_NS = {"ort": 4000.0}
"""Overhead of a session per call, by runtime; numpy graphs start as fast as numpy.einsum."""
_TERM_NS = {False: 2.0, True: 10.0}
"""Time per term in numpy.einsum if there are few terms, for up to two operands and for more."""


# ---------------------------------------------------------------- an equation


def graphs_in(case: Case, limit: str | None) -> list[Subject]:
    """The measured graphs of an equation, without other libraries and the limit."""
    return [each for each in _measured(case) if each.runtime != "callable" and each.name != limit]


def libraries_in(case: Case) -> list[Subject]:
    """Other libraries measured in a race."""
    return [each for each in _measured(case) if each.runtime == "callable"]


def winner_in(case: Case, limit: str | None) -> Subject | None:
    """The winning graph; None if the verdicts are undecided.

    It is the one with the largest speedup among those faster than the baseline, or the baseline itself if every other
    graph is slower or equivalent.
    """
    graphs = graphs_in(case, limit)
    faster = [each for each in graphs if each.verdict == "faster"]
    if faster:
        return max(faster, key=lambda each: each.speedup or 0.0)
    base = next((each for each in graphs if each.name == case.baseline), None)
    lost = all(each.verdict in ("slower", "equivalent") for each in graphs if each is not base)
    return base if lost else None


def chosen_in(case: Case, limit: str | None) -> Subject | None:
    """The winner, else the baseline (the requested graph), else the first measured graph."""
    graphs = graphs_in(case, limit)
    base = next((each for each in graphs if each.name == case.baseline), None)
    return winner_in(case, limit) or base or next(iter(graphs), None)


def beats(case: Case, limit: str) -> Subject | None:
    """The fastest subject that is faster than the limit, which then is no limit; None if there is none."""
    own = _speedup(case, limit)
    quicker = [each for each in _measured(case) if own and each.speedup and each.speedup > own]
    return max(quicker, key=lambda each: each.speedup or 0.0, default=None)


def is_faster(subject: Subject, other: Subject) -> bool:
    """Whether verdicts and intervals of a race, which all refer to its baseline, prove one subject faster than the
    other."""
    if subject.verdict == "faster" and other.verdict in ("baseline", "slower"):
        return True
    if subject.verdict == "baseline":
        return other.verdict == "slower"
    low, high = subject.speedup_low, other.speedup_high
    return subject.verdict == "faster" and low is not None and high is not None and low > high


def is_decided(plan: EinsumPlan) -> bool:
    """Whether the race of a plan, if any, was decided."""
    return plan.race is None or winner_in(plan.race, plan.limit) is not None


def time_ratio(case: Case | None, subject: str | None, other: str | None) -> float | None:
    """Time of a subject / time of another one, from their speedups over the same baseline."""
    own, theirs = (_speedup(case, name) for name in (subject, other))
    return theirs / own if own and theirs else None


def numpy_wins(plan: EinsumPlan, terms: int) -> bool:
    """Whether numpy.einsum is faster than the chosen graph: in its race, or estimated if there was none."""
    if plan.race is None:
        return terms * _TERM_NS[len(plan.shapes) > 2] < _START_NS.get(plan.runtime, 0.0)
    chosen = chosen_in(plan.race, plan.limit)
    ratio = None if chosen is None else time_ratio(plan.race, chosen.name, NUMPY)
    return ratio is not None and ratio > 1.0


def _speedup(case: Case | None, name: str | None) -> float | None:
    return next((each.speedup for each in _measured(case) if each.name == name), None)


def _measured(case: Case | None) -> list[Subject]:
    subjects = case.subjects if case is not None else ()
    return [each for each in subjects if time_of(each) is not None]


# ---------------------------------------------------------------- a model


def outcome_of(rival: Subject) -> tuple[SiteOutcome, str]:
    """Outcome of a site after the race of the whole model, and the reason."""
    verdict = rival.verdict if rival.status == "ok" else None
    return _OUTCOMES.get(verdict or "", ("kept", f"a gain of the whole model is {verdict or rival.status}"))


def reason_of(rival: Subject) -> str:
    """Why a race of the whole model ended as it did."""
    return ": ".join(filter(None, [outcome_of(rival)[1], rival.reason]))


def is_gain(rival: Subject | None) -> bool:
    """Whether a race proved the rewritten model faster than the original one."""
    return rival is not None and outcome_of(rival)[0] == "rewritten"


def sites_written(
    sites: Sequence[RewrittenSite], rival: Subject | None, interrupted: bool
) -> tuple[RewrittenSite, ...]:
    """Final outcomes of the sites: if no model is written, none of them is rewritten."""
    if is_gain(rival) and not interrupted:
        return tuple(sites)
    why = "it was interrupted" if interrupted or rival is None else reason_of(rival)
    reason = f"a gain in its own race, but not in the final one: {why}"
    return tuple(
        replace(site, outcome="kept", reason=reason) if site.outcome == "rewritten" else site for site in sites
    )
