"""How many winners of a tuning hold a setting that does nothing, and how many of the settings that help do they keep?

usage: python -m benchmarks.tune_rates [tunings]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from multiprocessing import Pool
from typing import NamedTuple

from benchmarks.kept import keep, share
from benchmarks.tune import simulated_search

USELESS = {f"useless {number}": 1.0 for number in range(15)}
HELPERS: Mapping[str, Mapping[str, float]] = {
    "nothing helps": {},
    "one setting helps by 5 %": {"helps 0": 1.05},
    "three settings help by 8, 5 and 3 %": {"helps 0": 1.08, "helps 1": 1.05, "helps 2": 1.03},
}
"""Speedups of the settings that help, which multiply."""
TITLE = "tune: settings of the winner that do nothing"


class Winner(NamedTuple):
    """What the winner of one tuning holds."""

    useless: int
    helpers: int
    spent_s: float


def winner_of(seed: int, helpers: Mapping[str, float]) -> Winner | None:
    """The winner of a simulated tuning of 120 s with launches that differ by 1 %; None where the defaults stay."""
    search = simulated_search(seed, {**USELESS, **helpers})
    if search.winner is None:
        return None
    names = search.winner.name.split(", ")
    useless = sum(name in USELESS for name in names)
    return Winner(useless, len(names) - useless, search.clock())


def rates(tunings: int = 200) -> list[str]:
    """A line for every number of settings that help."""
    lines = [
        f"{len(USELESS)} settings without effect, launches differ by 1 %, {tunings} simulated tunings of 120 s each."
    ]
    with Pool(2) as pool:
        for name, helpers in HELPERS.items():
            found = pool.map(partial(winner_of, helpers=helpers), range(tunings), chunksize=5)
            lines += ["", *_lines(name, [each for each in found if each is not None], tunings, len(helpers))]
    return lines


def _lines(name: str, winners: list[Winner], tunings: int, helpers: int) -> list[str]:
    lines = [f"- {name}: a winner in {share(len(winners), tunings)}"]
    if not helpers:
        return lines
    number = len(winners)
    kept = sum(each.helpers for each in winners) / number
    return [
        *lines,
        f"- {name}: a useless setting in the winner in {share(sum(each.useless > 0 for each in winners), number)}",
        f"- {name}: settings that help and were kept: {kept:.2f} of {helpers}",
        f"- {name}: time of a tuning {sum(each.spent_s for each in winners) / number:.0f} s",
    ]


if __name__ == "__main__":
    keep(TITLE, rates(*map(int, sys.argv[1:2])))
