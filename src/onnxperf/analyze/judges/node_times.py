"""Which nodes of two profiles differ, based on their times in each launch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.graphs.modules import of_first_model
from onnxperf.analyze.judges.statistics import Estimate, holm_levels, student_quantile, trimmed_mean
from onnxperf.analyze.trace.diff import align
from onnxperf.records.comparison import Comparison
from onnxperf.records.diff import DiffRow
from onnxperf.records.profile import COMPARED_LAUNCHES, Profile, SourceGroup, Times, undisturbed
from onnxperf.records.race import ALPHA, SMALL_CLAIM

CLOCK_US = 1
"""Onnxruntime truncates times to whole microseconds, so equal times may differ by one."""
_LARGEST_LOG = 40.0
"""Ratios are limited to this, because records cannot hold much larger ones."""

LaunchTimes = tuple[float, ...]


class TimedPair(NamedTuple):
    """A node, or a sum of several, on both sides: times of launches, and displayed times."""

    before_us: LaunchTimes
    after_us: LaunchTimes
    shown_us: tuple[float, float]

    @property
    def launches(self) -> int:
        """Number of launches on both sides."""
        return min(len(self.before_us), len(self.after_us))


# ---------------------------------------------------------------- times of launches


def launch_times(profile: Profile, self_us: Sequence[int]) -> LaunchTimes:
    """The undisturbed time in each launch; kinds of iterations are weighted by frequency."""
    values = profile.by_launch(self_us)
    kinds = profile.by_launch(profile.alike) if profile.alike else [()] * len(values)
    return tuple(map(undisturbed, values, kinds))


def launch_sums(profile: Profile, several: Iterable[Times]) -> LaunchTimes:
    """The sum of the undisturbed times of several nodes in each launch; zeros for none."""
    times = [launch_times(profile, each.self_us) for each in several]
    return added_launches(times) if times else (0.0,) * len(profile.launches)


def added_launches(several: Iterable[LaunchTimes]) -> LaunchTimes:
    """Times of several nodes added launch by launch."""
    return tuple(map(math.fsum, zip(*several, strict=False)))


# ---------------------------------------------------------------- verdicts


def compare_times(pairs: Sequence[TimedPair], other_tests: int = 0) -> list[Comparison]:
    """Judge each pair over launches, with Holm's correction for all pairs and `other_tests` additional tests.

    The ratio is that of the displayed times, for consistency with tables; its error comes from the launches.
    """
    estimates = [_estimate(pair) for pair in pairs]
    p_values = [1.0 if each is None else each.p_value for each in estimates]
    tested = len(p_values) + other_tests
    levels = holm_levels([*p_values, *[1.0] * other_tests], [ALPHA] * tested)
    quantile = cache(student_quantile)
    found = []
    for pair, estimate, p_value, level in zip(pairs, estimates, p_values, levels, strict=False):
        if estimate is None:
            found.append(Comparison(reason=f"fewer than {COMPARED_LAUNCHES} launches per side"))
            continue
        reach = quantile(level, estimate.freedom) * estimate.error
        shown = _log_ratio(*pair.shown_us)
        ratio, low, high = map(_ratio, (shown, shown - reach, shown + reach))
        is_proven = p_value <= level and not low <= 1 <= high and _is_large(pair, ratio)
        found.append(
            Comparison(
                ratio=ratio,
                low=low,
                high=high,
                verdict=("faster" if ratio > 1 else "slower") if is_proven else "undecided",
                unit="launch",
                units=pair.launches,
            )
        )
    return found


def is_different(comparison: Comparison) -> bool:
    """Whether the launches prove a difference."""
    return comparison.verdict in ("faster", "slower")


def _estimate(pair: TimedPair) -> Estimate | None:
    """The logarithm of first / second time with its error over launches; None if there are too few."""
    if pair.launches < COMPARED_LAUNCHES:
        return None
    both = zip(pair.before_us, pair.after_us, strict=False)  # launches with equal numbers ran in turn
    return trimmed_mean(np.array([_log_ratio(before, after) for before, after in both], dtype=np.float64))


def _log_ratio(before_us: float, after_us: float) -> float:
    return math.log(max(before_us, CLOCK_US) / max(after_us, CLOCK_US))


def _ratio(log: float) -> float:
    return math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG))


def _is_large(pair: TimedPair, ratio: float) -> bool:
    """Whether the change is large enough to claim, over launches and in displayed times, in one direction."""
    means = fmean(pair.before_us[: pair.launches]), fmean(pair.after_us[: pair.launches])
    return all(
        abs(first - second) > max(CLOCK_US, SMALL_CLAIM * min(first, second)) and (first > second) == (ratio > 1)
        for first, second in (means, pair.shown_us)
    )


# ---------------------------------------------------------------- rows of a diff


def compared_rows(before: Profile, after: Profile, groups: Sequence[SourceGroup] = ()) -> tuple[DiffRow, ...]:
    """The aligned nodes of two profiles, judged over launches; `groups` maps nodes between two models."""
    one_model = bool(before.fingerprint) and before.fingerprint == after.fingerprint
    nodes = of_first_model(after.nodes, groups) if groups else after.nodes
    rows = [_with_launches(row, before, after) for row in align(before.nodes, nodes, one_model or bool(groups))]
    both = [row for row in rows if row.side == "="]
    found = iter(compare_times([pair_of([row], (row.before_usual_us, row.after_usual_us)) for row in both]))
    return tuple(_judged(row, next(found)) if row.side == "=" else row for row in rows)


def pair_of(rows: Sequence[DiffRow], shown_us: tuple[float, float]) -> TimedPair:
    """The sum of several diff rows; a side without any of them takes no time."""
    sides = (
        [row.before_launch_us for row in rows if row.side != "+"],
        [row.after_launch_us for row in rows if row.side != "-"],
    )
    nothing = (0.0,) * max(len(launches) for side in sides for launches in side)
    before, after = (added_launches(side) if side else nothing for side in sides)
    return TimedPair(before, after, shown_us)


def _with_launches(row: DiffRow, before: Profile, after: Profile) -> DiffRow:
    return replace(
        row,
        before_launch_us=launch_times(before, row.before_us) if row.side != "+" else (),
        after_launch_us=launch_times(after, row.after_us) if row.side != "-" else (),
    )


def _judged(row: DiffRow, found: Comparison) -> DiffRow:
    return replace(row, **found.named("speedup"), verdict=found.verdict, noise=not is_different(found))
