"""Threads that wait in a loop and so use processors while they have nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, significant

ENTRY = "session.intra_op.allow_spinning"
_LEAST_BUSY = 1.2
"""Processors that a call keeps busy on average, from which on threads beside the first one matter."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Several threads that may spin, and more CPU time than one thread could use."""
    threads = facts.session.threads or facts.cores
    if threads < 2 or facts.session.options.get(ENTRY) == "0" or (facts.busy or 0.0) < _LEAST_BUSY:
        return
    busy = min(facts.busy or 0.0, float(threads))
    yield Hazard(
        kind="spinning",
        title="spinning threads",
        evidence=f"calls keep {significant(busy)} of {count(threads, 'thread')} busy on average, those that wait "
        "in a loop included",
        remedy="let idle threads sleep; this matters where other work shares the processors, or calls have pauses "
        "(`every=50ms` of a bench shows it at the pace of your calls)",
        goal="cpu",
        trials=(Trial(name=f"{ENTRY}=0", settings={ENTRY: "0"}),),
    )
