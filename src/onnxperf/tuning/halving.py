"""The schedule of a tuning: which candidates continue, are dropped or are combined, and when each stage ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import geometric_mean, median

from msgspec import Struct

from onnxperf.records.tune import TuneChoice, TuneRow, TuneStage
from onnxperf.tuning.base import can_join, is_part, joined

FEWEST_LAUNCHES = 3
"""Minimum number of launches before dropping: one launch in five may contradict all others."""
_HOPELESS = 0.25
"""Candidates slower than this get no second launch, which could use up the time of all others."""
ENOUGH_LAUNCHES = 8
"""Launches after which a candidate is known well enough for the search; the confirming race decides."""
MOST_TOGETHER = 4
"""Number of combinations tested at a time."""
_HARDLY = 0.5
"""Fraction of the minimum effect below which an additional setting is not worthwhile; several of them add up."""
_LONG_CALL_NS = 5e6
"""For calls of this length or more, the call style matters less than 1 %, except with large inputs and outputs."""
_FINALISTS = 4
"""So few candidates are no longer halved."""
_RIDING = 0.35
"""Relative cost of a call style that shares the process and session of the defaults."""
_CHUNK = 8
"""Candidates that race together in the first stage, in addition to call styles."""
_ENDS: dict[TuneStage, float] = {"alone": 0.55, "longer": 0.75, "together": 1.0}
"""Fraction of the search time after which each stage ends."""
_CONFIRMATION = 0.28
"""Fraction of the time reserved for the confirming race; more if launches are expensive…"""
LAUNCHES_TO_CONFIRM = 6
_MOST_TO_CONFIRM = 0.6
"""… up to this."""
_OVERDRAFT = 0.4
"""Fraction of that time available to a candidate that takes longer than all before it."""


class TimeIsUp(KeyboardInterrupt):
    """Stops the search when time is up, like Ctrl-C: workers end, and the measurements are kept."""


class Budget(Struct, frozen=True):
    """Time budget of a tuning."""

    start_s: float
    total_s: float

    def end_of(self, stage: TuneStage, each_s: float) -> float:
        """When a stage should end, if one launch of a candidate takes `each_s` seconds."""
        return self.start_s + _ENDS[stage] * (self.total_s - self._reserved_s(each_s))

    def latest(self, each_s: float) -> float:
        """When the search is stopped in any case."""
        return self.end_s - (1 - _OVERDRAFT) * self._reserved_s(each_s)

    @property
    def end_s(self) -> float:
        """When everything must end."""
        return self.start_s + self.total_s

    def _reserved_s(self, each_s: float) -> float:
        launches_s = 2 * LAUNCHES_TO_CONFIRM * each_s
        return min(max(_CONFIRMATION * self.total_s, launches_s), _MOST_TO_CONFIRM * self.total_s)

    def left(self, now_s: float) -> float:
        """Remaining seconds of the budget."""
        return self.end_s - now_s


# ---------------------------------------------------------------- one candidate


def why_dropped(row: TuneRow, min_effect: float) -> str:
    """Why a candidate is dropped; empty if it continues."""
    if row.launches and max(row.launch_speedups) < _HOPELESS:
        return "slower"
    if row.launches < FEWEST_LAUNCHES:
        return ""
    if row.speedup_high is not None and row.speedup_high < 1:
        return "slower"
    if max(row.launch_speedups) < 1:
        return "slower in every launch"
    if max(row.launch_speedups) < 1 + min_effect:
        return "no gain in any launch"
    if row.launches >= 2 * FEWEST_LAUNCHES and usual(row) < 1:
        return "no gain in most launches"
    return ""


def usual(row: TuneRow) -> float:
    """Median of its launches, which a few outliers do not affect."""
    return median(row.launch_speedups) if row.launch_speedups else 0.0


def _mean(row: TuneRow) -> float:
    """Mean of its launches, which outliers affect: candidates that are occasionally harmful are not combined."""
    return geometric_mean(row.launch_speedups)


def has_gain(row: TuneRow, min_effect: float) -> bool:
    """Whether it seems better by at least the minimum effect, in most launches."""
    alive = row.status == "ok" and not row.dropped and row.launches >= FEWEST_LAUNCHES
    return alive and usual(row) >= 1 + min_effect


def ranked(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """Rows sorted by a cautious estimate of their gain, best first."""
    return sorted(rows, key=lambda row: (-_expected(row), row.choice.name))


def _expected(row: TuneRow) -> float:
    """Median of its launches minus their median deviation: high ratios of inconsistent launches count little."""
    logs = [math.log(each) for each in row.launch_speedups]
    if not logs:
        return -math.inf
    middle = median(logs)
    return middle - median(abs(each - middle) for each in logs)


# ---------------------------------------------------------------- stages


def won_clearly(row: TuneRow, min_effect: float) -> bool:
    """Whether a candidate is proven alone, if there is no time to test it as part of a combination."""
    return has_gain(row, min_effect) and row.speedup_low is not None and row.speedup_low > 1


def processes(choices: Sequence[TuneChoice]) -> float:
    """Cost of launching these candidates and the defaults, relative to the defaults alone."""
    riding = sum(map(shares_process, choices))
    return 1 + len(choices) - riding + _RIDING * riding


def in_order(choices: Sequence[TuneChoice], call_ns: float) -> list[TuneChoice]:
    """Candidates in order: call styles of the same session first, since they are cheap; with long calls last, since
    they gain little."""
    first = call_ns < _LONG_CALL_NS
    return sorted(choices, key=lambda each: shares_process(each) is not first)


def side_by_side(choices: Sequence[TuneChoice]) -> int:
    """How many of the first candidates race together."""
    shared = len(list(itertools.takewhile(shares_process, choices)))
    return min(len(choices), shared + _CHUNK)


def shares_process(choice: TuneChoice) -> bool:
    """Whether it only changes how the session of the defaults is called."""
    return bool(choice.call) and not (choice.settings or choice.runtime or choice.rewrite)


def halved(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """The better half of the remaining candidates, or all if there are few."""
    order = ranked(rows)
    return order[: max(_FINALISTS, math.ceil(len(order) / 2))]


def need_more(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """Rows that need more launches."""
    return [row for row in rows if row.launches < ENOUGH_LAUNCHES]


def all_at_once(singles: Sequence[TuneRow], min_effect: float) -> list[TuneChoice]:
    """Combinations of all that won alone, and of all that did not lose: gains too small to detect alone add up."""
    order = [row for row in ranked(singles) if row.launches >= FEWEST_LAUNCHES and not row.choice.runtime]
    found = {}
    for least in (1 + min_effect, 1.0):
        parts = _compatible([row.choice for row in order if usual(row) > least and _mean(row) > least])
        if len(parts) > 1:
            whole = whole_of(parts, singles)
            found[whole.name] = whole
    return list(found.values())


def neighbours(best: TuneChoice, singles: Sequence[TuneRow], min_effect: float) -> list[TuneChoice]:
    """Combinations close to the best: with one more candidate that won alone, then without one of its parts."""
    order = ranked(singles)
    parts = parts_of(best, order)
    won = [row.choice for row in order if has_gain(row, min_effect) and row.choice not in parts]
    more = [[each, *(part for part in parts if can_join(part, each))] for each in won]
    fewer = [[part for part in parts if part is not least] for least in reversed(parts)]
    return [whole_of(each, singles) for each in (*more, *fewer) if len(each) > 1]


def _compatible(choices: Sequence[TuneChoice]) -> list[TuneChoice]:
    """The candidates that can be combined; earlier ones take precedence."""
    found: list[TuneChoice] = []
    for each in choices:
        if all(can_join(each, other) for other in found):
            found.append(each)
    return found


def parts_of(whole: TuneChoice, singles: Sequence[TuneRow]) -> list[TuneChoice]:
    """The single candidates in a combination."""
    return [row.choice for row in singles if is_part(row.choice, whole)]


def whole_of(parts: Sequence[TuneChoice], singles: Sequence[TuneRow]) -> TuneChoice:
    """The combination of these, in the order first tested, so that equal parts give equal names."""
    return joined([row.choice for row in singles if row.choice in parts])


def best_of(rows: Sequence[TuneRow], min_effect: float) -> TuneRow | None:
    """The best; among nearly equal ones, the one that changes least and demands least of a caller."""
    order = ranked(rows)
    close = [row for row in order if usual(row) * (1 + _HARDLY * min_effect) >= usual(order[0])]
    return min(close, key=lambda row: (len(row.choice.knobs), len(row.choice.demands)), default=None)


def may_win(row: TuneRow, max_error: float | None) -> bool:
    """Whether a candidate may be the answer."""
    return may_be_part(row, max_error) and not row.dropped


def may_be_part(row: TuneRow, max_error: float | None) -> bool:
    """Whether a candidate may be part of the answer: its outputs are equal, or its error is allowed."""
    if row.status != "ok":
        return False
    if not row.choice.approximate:
        return True
    return max_error is not None and row.error is not None and row.error <= max_error


def pareto_front(rows: Sequence[TuneRow]) -> set[str]:
    """Names of the candidates on the Pareto front of speed and error."""
    measured = [row for row in rows if row.status == "ok" and row.launches]
    return {
        row.choice.name for row in measured if not any(_dominates(other, row) for other in measured if other is not row)
    }


def _dominates(one: TuneRow, other: TuneRow) -> bool:
    ours, theirs = (one.error or 0.0, other.error or 0.0)
    at_least = usual(one) >= usual(other) and ours <= theirs
    return at_least and (usual(one) > usual(other) or ours < theirs)
