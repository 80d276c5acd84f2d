"""Derive ratios and verdicts from instruction counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from onnxperf.records.race import SAME_COUNT, CountVerdict, Subject


def with_counts_compared(subjects: Sequence[Subject], baseline: str | None) -> tuple[Subject, ...]:
    """The subjects with instructions compared with the baseline's, if both were counted."""
    base = next((each.instructions for each in subjects if each.name == baseline), None)
    return tuple(_compared(subject, base, subject.name == baseline) for subject in subjects)


def _compared(subject: Subject, base: float | None, is_base: bool) -> Subject:
    if not base or not subject.instructions:
        return subject
    ratio = subject.instructions / base
    verdict: CountVerdict = "baseline" if is_base else verdict_of(ratio)
    return replace(subject, instruction_ratio=ratio, instruction_verdict=verdict)


def verdict_of(ratio: float) -> CountVerdict:
    """Whether there are fewer, more, or as many instructions."""
    if abs(math.log(ratio)) <= math.log1p(SAME_COUNT):
        return "equal"
    return "fewer" if ratio < 1 else "more"
