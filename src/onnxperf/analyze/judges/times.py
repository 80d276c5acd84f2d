"""The times of a subject: single calls, blocks of calls, and the time displayed next to a speedup."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.records.race import ALPHA, MIN_ROUNDS, MIN_UNITS, Block, Measurement, Subject

_PERCENTILES = {"p90": 0.90, "p99": 0.99}
_FASTER_PART = 0.5
"""Share of the launches that count: other programs only ever slow down."""
_FEWEST_UNITS = 3
"""Minimum number of units: two say nothing about their spread."""


def timed(subject: Subject) -> Subject:
    """The subject with summaries of its raw measurements."""
    if not subject.blocks:
        return subject
    of_blocks = np.array([block.per_call_ns for block in subject.blocks])
    singles = _by_launch(subject) or [of_blocks]
    low, high = _interval_of_mean(subject.blocks) or (None, None)
    percentiles = {name: st.percentile(singles, share) for name, share in _PERCENTILES.items() if subject.call_ns}
    usual = st.percentile(singles, 0.5)
    return replace(
        subject,
        mean_ns=_mean(subject.blocks),
        mean_low_ns=low,
        mean_high_ns=high,
        deviation_ns=float(of_blocks.std(ddof=1)) if len(of_blocks) > 1 else None,
        min_ns=float(min(each.min() for each in singles)),
        max_ns=float(max(each.max() for each in singles)),
        cpu_ns=_cpu_time(subject.blocks),
        **_spelled("median", usual),
        **{field: value for name, each in percentiles.items() for field, value in _spelled(name, each).items()},
    )


def _spelled(name: str, found: st.Percentile) -> dict[str, float | None]:
    return {f"{name}_ns": found.value, f"{name}_low_ns": found.low, f"{name}_high_ns": found.high}


def _by_launch(subject: Measurement) -> list[st.Floats]:
    """Times of single calls, grouped by launch."""
    calls = np.array(subject.call_ns, dtype=np.float64)
    ends = np.cumsum([count for _, count in subject.call_launches], dtype=np.int64)
    if not len(ends) or ends[-1] != len(calls):
        return [calls] if len(calls) else []
    parts: dict[int, list[st.Floats]] = {}
    for (launch, _), part in zip(subject.call_launches, np.split(calls, ends[:-1]), strict=True):
        parts.setdefault(launch, []).append(part)
    return [found for each in parts.values() if len(found := np.concatenate(each))]


# ---------------------------------------------------------------- the time displayed next to a speedup


def own_time(subject: Measurement, time_of: Callable[[Block], float] | None = None) -> st.Estimate:
    """The log of its undisturbed time from its own blocks: that of a launch is its fastest piece.

    Launches slowed down as a whole by other programs would distort a mean, so only the faster half counts.
    """
    logs, units = np.log([(time_of or quickest_of)(block) for block in subject.blocks]), _units(subject.blocks)
    if len(logs) < MIN_ROUNDS or units.max() + 1 < _FEWEST_UNITS:
        return st.Estimate(float(np.median(logs)), math.inf, 1)
    times = np.sort(st.by_unit(np.min, logs, units))
    return st.mean_of(times[: max(_FEWEST_UNITS, math.ceil(_FASTER_PART * len(times)))])


def quickest_of(block: Block) -> float:
    """Time of a call in the fastest piece, if pieces were timed."""
    return max(block.quickest_ns or block.per_call_ns, 1e-3)


def _own_mean(subject: Measurement) -> st.Estimate:
    """The log of the mean time of its calls, with equal weight for launches."""
    of_blocks, units = np.array([block.per_call_ns for block in subject.blocks]), _units(subject.blocks)
    logs = np.log(st.by_unit(np.mean, of_blocks, units))
    return st.trimmed_mean(logs) if len(logs) > 1 else st.Estimate(float(logs[0]), math.inf, 1)


def with_fitted_times(subjects: Sequence[Subject], baseline: str | None, min_effect: float) -> tuple[Subject, ...]:
    """Subjects with times that match their speedups: log time = level - log speedup.

    The level is derived from all subjects' own times, so that no subject's time depends on a single other one. If the
    calls of all rivals, or of the baseline, vary, times are means like the speedups.
    """
    compared = [each for each in subjects if each.speedup and each.blocks]
    rivals = [each for each in compared if each.name != baseline]
    by_means = bool(rivals) and all(each.varies for each in rivals)
    trusted = [each for each in compared if each.name == baseline or (each.speedup_low and each.varies == by_means)]
    own = {each.name: (_own_mean if by_means else own_time)(each) for each in subjects if each.blocks}
    logs = [own[each.name].value + math.log(each.speedup or 1.0) for each in trusted]
    errors = [own[each.name].error for each in trusted]
    freedom = sum(own[each.name].freedom for each in trusted)
    level = st.Estimate(float(np.mean(logs)), math.hypot(*errors) / len(errors), freedom) if logs else None
    return tuple(_fitted(each, own[each.name], level, min_effect) if each.name in own else each for each in subjects)


def _fitted(subject: Subject, own: st.Estimate, level: st.Estimate | None, min_effect: float) -> Subject:
    if level is None or not subject.speedup:
        return replace(subject, **_interval(own.value, _reach(own)), own_time_ns=math.exp(own.value))
    value = level.value - math.log(subject.speedup)
    low, high = subject.speedup_low, subject.speedup_high
    of_speedup = math.log(high / low) / 2 if low and high else 0.0
    reach = math.hypot(_reach(level), of_speedup)
    limit = max(math.hypot(reach, _reach(own)), math.log1p(min_effect))
    return replace(
        subject,
        **_interval(value, reach),
        own_time_ns=math.exp(own.value),
        unsteady=not subject.varies and bool(subject.unit) and abs(own.value - value) > limit,
    )


def _reach(estimate: st.Estimate) -> float:
    return st.student_quantile(ALPHA, estimate.freedom) * estimate.error


def _interval(value: float, reach: float) -> dict[str, float | None]:
    ends = (math.exp(value - reach), math.exp(value + reach)) if math.isfinite(reach) else (None, None)
    return {"time_ns": math.exp(value), "time_low_ns": ends[0], "time_high_ns": ends[1]}


def _units(blocks: Sequence[Block]) -> st.Ints:
    """Units of blocks, numbered from 0: launches, or set-ups if there are few launches."""
    by_launch = len({block.launch for block in blocks}) >= MIN_UNITS
    return numbered([block.launch if by_launch else (block.launch, block.set_up) for block in blocks])


def numbered(keys: Sequence[Hashable]) -> st.Ints:
    """Number the keys from 0 in order of first appearance."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _mean(blocks: Sequence[Block]) -> float:
    return sum(max(block.duration_ns, 1) for block in blocks) / sum(block.calls for block in blocks)


def _cpu_time(blocks: Sequence[Block]) -> float | None:
    """CPU time per call over all blocks: in a single block it may be off by a kernel tick per thread."""
    known = [block.cpu_ns for block in blocks if block.cpu_ns is not None]
    return sum(known) / sum(block.calls for block in blocks) if len(known) == len(blocks) else None


def period_of(blocks: Sequence[Block]) -> float | None:
    """Time between the starts of consecutive calls; None if calls had no pauses."""
    spans = [block.span_ns for block in blocks if block.span_ns is not None]
    return sum(spans) / sum(block.calls for block in blocks) if spans and len(spans) == len(blocks) else None


def _interval_of_mean(blocks: Sequence[Block]) -> tuple[float, float] | None:
    """Student's 95 % interval of the mean over launches, or over set-ups if there are few launches."""
    units = _units(blocks)
    count = int(units.max()) + 1
    if count < _FEWEST_UNITS:
        return None
    means = [_mean([block for block, own in zip(blocks, units, strict=True) if own == unit]) for unit in range(count)]
    low, high = st.mean_of(np.array(means))._replace(value=_mean(blocks)).interval(ALPHA)
    return max(low, 0.0), high
