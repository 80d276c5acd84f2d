"""The schedule of a tuning: who races on, who is dropped, which combinations grow, and when each stage has to end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import geometric_mean, median

from msgspec import Struct

from onnxperf.records.tune import TuneChoice, TuneRow, TuneStage
from onnxperf.tuning.base import can_join, is_part, joined

FEWEST_LAUNCHES = 3
"""Launches before anything is dropped: one launch in five may say the opposite of all others."""
_HOPELESS = 0.25
"""What is slower than this has no second launch, which could take the time of all others."""
ENOUGH_LAUNCHES = 8
"""Launches after which a choice is known as well as the search needs; the confirming race decides."""
MOST_TOGETHER = 4
"""Combinations that are tried at a time."""
_HARDLY = 0.5
"""Part of the smallest gain that matters for which no further setting is worth having: several of them add up."""
_LONG_CALL_NS = 5e6
"""From this length on, how a session is called makes a difference below 1 %, but for large inputs and outputs."""
_FINALISTS = 4
"""So many choices are not halved any more."""
_RIDING = 0.35
"""What a call style costs that shares the process and the session of the defaults, compared with one of its own."""
_CHUNK = 8
"""Choices that race side by side in the first stage, besides call styles."""
_ENDS: dict[TuneStage, float] = {"alone": 0.55, "longer": 0.75, "together": 1.0}
"""Part of the time of the search after which each stage ends."""
_CONFIRMATION = 0.28
"""Part of the time that is left for the confirming race, or more where launches are costly…"""
LAUNCHES_TO_CONFIRM = 6
_MOST_TO_CONFIRM = 0.6
"""… up to this."""
_OVERDRAFT = 0.4
"""Part of that time which a candidate may use up that takes longer than all before it."""


class TimeIsUp(KeyboardInterrupt):
    """Stops what takes too long, as Ctrl-C does: workers end, and what was measured is kept."""


class Budget(Struct, frozen=True):
    """The time of a tuning."""

    start_s: float
    total_s: float

    def end_of(self, stage: TuneStage, each_s: float) -> float:
        """When a stage should end, where one choice in one launch takes so many seconds."""
        return self.start_s + _ENDS[stage] * (self.total_s - self._reserved_s(each_s))

    def latest(self, each_s: float) -> float:
        """When the search is stopped wherever it is."""
        return self.end_s - (1 - _OVERDRAFT) * self._reserved_s(each_s)

    @property
    def end_s(self) -> float:
        """When everything has to end."""
        return self.start_s + self.total_s

    def _reserved_s(self, each_s: float) -> float:
        launches_s = 2 * LAUNCHES_TO_CONFIRM * each_s
        return min(max(_CONFIRMATION * self.total_s, launches_s), _MOST_TO_CONFIRM * self.total_s)

    def left(self, now_s: float) -> float:
        """Seconds until the end of everything."""
        return self.end_s - now_s


# ---------------------------------------------------------------- one choice


def why_dropped(row: TuneRow, min_effect: float) -> str:
    """Why a choice does not race on; empty where it does."""
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
    """The median of its launches: the few that lie far off do not move it."""
    return median(row.launch_speedups) if row.launch_speedups else 0.0


def _mean(row: TuneRow) -> float:
    """The mean of its launches, which one that lies far off moves: what may do harm at times is not joined."""
    return geometric_mean(row.launch_speedups)


def has_gain(row: TuneRow, min_effect: float) -> bool:
    """Whether it seems to be better by enough to go on with; most launches have to say so."""
    alive = row.status == "ok" and not row.dropped and row.launches >= FEWEST_LAUNCHES
    return alive and usual(row) >= 1 + min_effect


def ranked(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """The best first, with what is at least to be expected of each."""
    return sorted(rows, key=lambda row: (-_expected(row), row.choice.name))


def _expected(row: TuneRow) -> float:
    """The median of its launches less their median deviation: high ratios of launches that disagree count little."""
    logs = [math.log(each) for each in row.launch_speedups]
    if not logs:
        return -math.inf
    middle = median(logs)
    return middle - median(abs(each - middle) for each in logs)


# ---------------------------------------------------------------- stages


def won_clearly(row: TuneRow, min_effect: float) -> bool:
    """Whether a choice has earned its place alone, where there is no time to test it as part of a combination."""
    return has_gain(row, min_effect) and row.speedup_low is not None and row.speedup_low > 1


def processes(choices: Sequence[TuneChoice]) -> float:
    """What launches of these and of the defaults cost, compared with a launch of the defaults alone."""
    riding = sum(map(shares_process, choices))
    return 1 + len(choices) - riding + _RIDING * riding


def in_order(choices: Sequence[TuneChoice], call_ns: float) -> list[TuneChoice]:
    """Call styles of the same session come first, for they cost little; with long calls last, for they win little."""
    first = call_ns < _LONG_CALL_NS
    return sorted(choices, key=lambda each: shares_process(each) is not first)


def side_by_side(choices: Sequence[TuneChoice]) -> int:
    """How many of the first of them race side by side."""
    shared = len(list(itertools.takewhile(shares_process, choices)))
    return min(len(choices), shared + _CHUNK)


def shares_process(choice: TuneChoice) -> bool:
    """Whether it only calls the session of the defaults in another way."""
    return bool(choice.call) and not (choice.settings or choice.runtime or choice.rewrite)


def halved(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """The better half of those that race on, or all where they are few."""
    order = ranked(rows)
    return order[: max(_FINALISTS, math.ceil(len(order) / 2))]


def need_more(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """Those that are not known well enough."""
    return [row for row in rows if row.launches < ENOUGH_LAUNCHES]


def all_at_once(singles: Sequence[TuneRow], min_effect: float) -> list[TuneChoice]:
    """Everything that won alone, and everything that did not lose: gains that are too small to be seen alone add up."""
    order = [row for row in ranked(singles) if row.launches >= FEWEST_LAUNCHES and not row.choice.runtime]
    found = {}
    for least in (1 + min_effect, 1.0):
        parts = _compatible([row.choice for row in order if usual(row) > least and _mean(row) > least])
        if len(parts) > 1:
            whole = whole_of(parts, singles)
            found[whole.name] = whole
    return list(found.values())


def neighbours(best: TuneChoice, singles: Sequence[TuneRow], min_effect: float) -> list[TuneChoice]:
    """Combinations near the best: with one more that won alone, then without one of its parts."""
    order = ranked(singles)
    parts = parts_of(best, order)
    won = [row.choice for row in order if has_gain(row, min_effect) and row.choice not in parts]
    more = [[each, *(part for part in parts if can_join(part, each))] for each in won]
    fewer = [[part for part in parts if part is not least] for least in reversed(parts)]
    return [whole_of(each, singles) for each in (*more, *fewer) if len(each) > 1]


def _compatible(choices: Sequence[TuneChoice]) -> list[TuneChoice]:
    """Those that go together; the first ones have precedence."""
    found: list[TuneChoice] = []
    for each in choices:
        if all(can_join(each, other) for other in found):
            found.append(each)
    return found


def parts_of(whole: TuneChoice, singles: Sequence[TuneRow]) -> list[TuneChoice]:
    """The choices that a combination consists of."""
    return [row.choice for row in singles if is_part(row.choice, whole)]


def whole_of(parts: Sequence[TuneChoice], singles: Sequence[TuneRow]) -> TuneChoice:
    """These together, in the order in which they were first tried: the same parts have one name."""
    return joined([row.choice for row in singles if row.choice in parts])


def best_of(rows: Sequence[TuneRow], min_effect: float) -> TuneRow | None:
    """The best; of those that are hardly worse, the one that changes least, and asks least of a caller."""
    order = ranked(rows)
    close = [row for row in order if usual(row) * (1 + _HARDLY * min_effect) >= usual(order[0])]
    return min(close, key=lambda row: (len(row.choice.knobs), len(row.choice.demands)), default=None)


def may_win(row: TuneRow, max_error: float | None) -> bool:
    """Whether a choice may be the answer."""
    return may_be_part(row, max_error) and not row.dropped


def may_be_part(row: TuneRow, max_error: float | None) -> bool:
    """Whether a choice may be part of the answer: equal outputs, or an error that was allowed."""
    if row.status != "ok":
        return False
    if not row.choice.approximate:
        return True
    return max_error is not None and row.error is not None and row.error <= max_error


def pareto_front(rows: Sequence[TuneRow]) -> set[str]:
    """Names of choices than which no other is both at least as good and at least as exact."""
    measured = [row for row in rows if row.status == "ok" and row.launches]
    return {
        row.choice.name for row in measured if not any(_dominates(other, row) for other in measured if other is not row)
    }


def _dominates(one: TuneRow, other: TuneRow) -> bool:
    ours, theirs = (one.error or 0.0, other.error or 0.0)
    at_least = usual(one) >= usual(other) and ours <= theirs
    return at_least and (usual(one) > usual(other) or ours < theirs)
