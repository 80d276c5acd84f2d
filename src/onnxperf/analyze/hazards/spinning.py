"""Threads that wait in a loop and thereby use processors while idle."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, significant

ENTRY = "session.intra_op.allow_spinning"
_LEAST_BUSY = 1.2
"""Average number of busy processors from which threads other than the first matter."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Several threads that may spin, and more CPU time than one thread could use."""
    threads = facts.session.threads or facts.cores
    if threads < 2 or facts.session.options.get(ENTRY) == "0" or (facts.busy or 0.0) < _LEAST_BUSY:
        return
    busy = min(facts.busy or 0.0, float(threads))
    yield Hazard(
        kind="spinning",
        title="spinning threads",
        evidence=f"calls keep {significant(busy)} of {count(threads, 'thread')} busy on average, including "
        "those that wait in a loop",
        remedy="let idle threads sleep; this matters if other work shares the processors or calls have pauses "
        "(test it at your own pace with a bench, such as `every=50ms`)",
        goal="cpu",
        trials=(Trial(name=f"{ENTRY}=0", settings={ENTRY: "0"}),),
    )
