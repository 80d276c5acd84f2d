"""What calls with pauses cost, and whether their pace was held."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.judges.times import period_of
from onnxperf.records.race import Subject
from onnxperf.wording.names import listed, name_of
from onnxperf.wording.numbers import time_text

_MOST_NAMED = 4
"""Of more subjects only the cheapest and the most costly one are named."""
_PACE_MAY_MISS = 0.05
"""Part of a pace by which calls may start later than requested: sleeping is not exact."""


def about_cpu(subjects: Sequence[Subject]) -> str:
    """Where calls had pauses: the CPU time of a call of each subject; it is measured, not judged."""
    known = sorted((s.cpu_ns, s.name) for s in _paced(subjects) if s.cpu_ns is not None and s.status == "ok")
    if not known:
        return ""
    texts = [f"{time_text(cpu_ns)} ({name})" for cpu_ns, name in known]
    if len(texts) > _MOST_NAMED:
        texts = [f"from {texts[0]} to {texts[-1]}"]
    return f"CPU time per call, pauses included: {listed(texts)}."


def notes_on_pace(subjects: Sequence[Subject]) -> tuple[str, ...]:
    """What was measured where calls had pauses, and who could not keep up."""
    paced = _paced(subjects)
    if not paced:
        return ()
    every_ns = _every_ns(paced[0])
    late = [
        f"{name_of(subject.name)} (every {time_text(period_ns)})"
        for subject in paced
        if (period_ns := period_of(subject.blocks) or 0.0) > every_ns * (1 + _PACE_MAY_MISS)
    ]
    held = (
        [f"the pace was not reached, because calls or the sleep between them take longer: {listed(late)}"]
        if late
        else []
    )
    return (f"calls start every {time_text(every_ns)}, after idling; CPU includes the pauses", *held)


def _paced(subjects: Sequence[Subject]) -> list[Subject]:
    return [subject for subject in subjects if _every_ns(subject) and period_of(subject.blocks)]


def _every_ns(subject: Subject) -> float:
    every = subject.conditions.get("every_s")
    return 1e9 * every if isinstance(every, int | float) else 0.0
