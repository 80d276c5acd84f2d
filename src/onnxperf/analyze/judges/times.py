"""The times of a subject, in two groups that are never mixed: single calls, and blocks of calls."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.records.race import ALPHA, FEWEST_ROUNDS, MIN_UNITS, Block, Subject

_FEWEST_UNITS = 3
"""Two differ by chance so much or so little that they show nothing of their spread."""


def timed(subject: Subject) -> Subject:
    """The subject with what was measured, as it was measured."""
    if not subject.blocks:
        return subject
    of_blocks = np.array([block.per_call_ns for block in subject.blocks])
    singles = np.array(subject.call_ns, dtype=np.float64) if subject.call_ns else of_blocks
    low, high = _interval_of_mean(subject.blocks) or (None, None)
    return replace(
        subject,
        mean_ns=_mean(subject.blocks),
        mean_low_ns=low,
        mean_high_ns=high,
        deviation_ns=float(of_blocks.std(ddof=1)) if len(of_blocks) > 1 else None,
        min_ns=float(singles.min()),
        median_ns=float(np.median(singles)),
        p90_ns=st.percentile(subject.call_ns, 0.90),
        p99_ns=st.percentile(subject.call_ns, 0.99),
        max_ns=float(singles.max()),
        cpu_ns=_cpu_time(subject.blocks),
    )


def numbered(keys: Sequence[Hashable]) -> st.Ints:
    """The same number for the same key, from 0 in the order of their first appearance."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _mean(blocks: Sequence[Block]) -> float:
    return sum(max(block.duration_ns, 1) for block in blocks) / sum(block.calls for block in blocks)


def _cpu_time(blocks: Sequence[Block]) -> float | None:
    """CPU time of a call: each other thread may move that of a block by a tick of the kernel, but not that of all."""
    known = [block.cpu_ns for block in blocks if block.cpu_ns is not None]
    return sum(known) / sum(block.calls for block in blocks) if len(known) == len(blocks) else None


def period_of(blocks: Sequence[Block]) -> float | None:
    """From the start of a call to that of the next; None where calls had no pauses."""
    spans = [block.span_ns for block in blocks if block.span_ns is not None]
    return sum(spans) / sum(block.calls for block in blocks) if spans and len(spans) == len(blocks) else None


def _interval_of_mean(blocks: Sequence[Block]) -> tuple[float, float] | None:
    """The 95 % interval of the mean, by Student over launches, or over set-ups where those are few."""
    units: dict[Hashable, list[Block]] = {}
    by_launch = len({block.launch for block in blocks}) >= MIN_UNITS
    for block in blocks:
        units.setdefault(block.launch if by_launch else (block.launch, block.set_up), []).append(block)
    if len(blocks) < FEWEST_ROUNDS or len(units) < _FEWEST_UNITS:
        return None
    means = np.array([_mean(each) for each in units.values()])
    error = float(means.std(ddof=1)) / math.sqrt(len(means))
    low, high = st.Estimate(_mean(blocks), error, len(means) - 1).interval(ALPHA)
    return max(low, 0.0), high
