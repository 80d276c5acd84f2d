"""Memory that tensors and copies do not explain, and the arena settings of onnxruntime worth testing."""

from __future__ import annotations

from statistics import median

from onnxperf.records.memory import ArenaTrial, Breakdown, MemorySubject
from onnxperf.records.options import ArenaSetting

UNEXPLAINED_BYTES = 20 * 10**6
UNEXPLAINED_SHARE = 0.3
"""Unexplained memory is reported above both limits: bytes, and share of the needed memory."""
LONGEST_TRIAL_NS = 20 * 10**9
"""A slower subject is not tested with other settings, of which there are three."""


def unexplained_bytes(need: int | None, breakdown: Breakdown) -> int | None:
    """Needed memory that is neither tensors nor copies of inputs, if large."""
    if need is None or breakdown.planned_bytes is None:
        return None
    left = need - breakdown.planned_bytes - sum(copy.copied_bytes for copy in breakdown.copies)
    return left if left > max(UNEXPLAINED_BYTES, UNEXPLAINED_SHARE * need) else None


def settings_to_try(subject: MemorySubject) -> tuple[ArenaSetting, ...]:
    """Arena settings with which a subject may need less; empty if everything is explained or it is slow."""
    unexplained = subject.breakdown is not None and subject.breakdown.unexplained_bytes is not None
    if not unexplained or sum(step.duration_ns for step in subject.steps) > LONGEST_TRIAL_NS:
        return ()
    # Shrinkage is a run option, which only this call style passes.
    return ("off", "same-as-requested", *(("shrinkage",) if subject.call == "run" else ()))


def trial_of(setting: ArenaSetting, subject: MemorySubject) -> ArenaTrial:
    """The result of a subject measured with another setting."""
    if subject.status != "ok":
        return ArenaTrial(setting=setting, needed_bytes=None)
    steady = [step.duration_ns for step in subject.steps if step.name == "steady call"]
    return ArenaTrial(
        setting=setting, needed_bytes=subject.needed_bytes, steady_ns=round(median(steady)) if steady else None
    )
