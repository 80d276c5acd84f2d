"""What tensors and copies leave unexplained of a need, and which settings of onnxruntime's arena are worth a trial."""

from __future__ import annotations

from statistics import median

from onnxperf.records.memory import ArenaTrial, Breakdown, MemorySubject
from onnxperf.records.options import ArenaSetting

UNEXPLAINED_BYTES = 20 * 10**6
UNEXPLAINED_SHARE = 0.3
"""What is left is named where it is more than both: so many bytes, and this part of the need."""
LONGEST_TRIAL_NS = 20 * 10**9
"""A subject whose loading and calls took longer is not tried again: there are three settings."""


def unexplained_bytes(need: int | None, breakdown: Breakdown) -> int | None:
    """What of a need is neither tensors nor copies of inputs, where that is much."""
    if need is None or breakdown.planned_bytes is None:
        return None
    left = need - breakdown.planned_bytes - sum(copy.copied_bytes for copy in breakdown.copies)
    return left if left > max(UNEXPLAINED_BYTES, UNEXPLAINED_SHARE * need) else None


def settings_to_try(subject: MemorySubject) -> tuple[ArenaSetting, ...]:
    """Settings under which a subject of onnxruntime may need less; none where all is explained or it takes long."""
    unexplained = subject.breakdown is not None and subject.breakdown.unexplained_bytes is not None
    if not unexplained or sum(step.duration_ns for step in subject.steps) > LONGEST_TRIAL_NS:
        return ()
    # Shrinkage is an option of a run, which only this style passes.
    return ("off", "same-as-requested", *(("shrinkage",) if subject.call == "run" else ()))


def trial_of(setting: ArenaSetting, subject: MemorySubject) -> ArenaTrial:
    """What is kept of a subject that was measured with another setting."""
    if subject.status != "ok":
        return ArenaTrial(setting=setting, needed_bytes=None)
    steady = [step.duration_ns for step in subject.steps if step.name == "steady call"]
    return ArenaTrial(
        setting=setting, needed_bytes=subject.needed_bytes, steady_ns=round(median(steady)) if steady else None
    )
