"""How often are gates wrong about models that are exactly at the limit, and how often do they tell what is clear?

usage: python -m benchmarks.gate_rates [gates]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from typing import NamedTuple
from unittest import mock

from msgspec.structs import replace

from benchmarks import simulation
from onnxperf.analyze.judges.gate import after_controls, all_told, control_in, limits_in, outcome_of
from onnxperf.records.gate import BASELINE, CONTROL, NEW
from onnxperf.records.race import Case

MAX_SLOWDOWN = 0.03
AT_LIMIT, EQUAL, SLOWER = MAX_SLOWDOWN, 0.0, 0.06


class Scenario(NamedTuple):
    """Gates of models that are slower by these parts, one for each size."""

    title: str
    slower: tuple[float, ...]
    time_s: float
    right: Sequence[str]
    """Outcomes that are not wrong; a model exactly at the limit may only be undecided."""
    goal: str


UNDECIDED = ("undecided",)
SCENARIOS = (
    Scenario("at the limit, 1 s", (AT_LIMIT,), 1.0, UNDECIDED, "at most 5 %"),
    Scenario("at the limit, 4 s", (AT_LIMIT,), 4.0, UNDECIDED, "at most 5 %"),
    Scenario("at the limit, 20 s", (AT_LIMIT,), 20.0, UNDECIDED, "at most 5 %"),
    Scenario("4 sizes at the limit, 4 s", (AT_LIMIT,) * 4, 4.0, UNDECIDED, "at most 5 %"),
    Scenario(
        "4 sizes, one at the limit and three equal, 4 s", (AT_LIMIT, *(EQUAL,) * 3), 4.0, UNDECIDED, "at most 5 %"
    ),
    Scenario("equal, 4 s", (EQUAL,), 4.0, ("passed",), "at most 10 %"),
    Scenario("4 sizes, all equal, 4 s", (EQUAL,) * 4, 4.0, ("passed",), "at most 10 %"),
    Scenario("6 % slower, 4 s", (SLOWER,), 4.0, ("failed",), "at most 10 %"),
    Scenario("4 sizes, one 6 % slower, 4 s", (SLOWER, *(EQUAL,) * 3), 4.0, ("failed",), "at most 10 %"),
)


def case_of(seed: int, slower: float, time_s: float, sizes: int, number: int) -> Case:
    """The race of one size, which ends as that of a gate does."""
    told = partial(all_told, max_slowdown=MAX_SLOWDOWN)
    with mock.patch.object(simulation, "settled", told):
        subjects = simulation.simulate(seed, (0.0, slower), time_s, alpha_share=1 / sizes)
    named = [replace(each, name=name) for name, each in zip((BASELINE, CONTROL, NEW), subjects, strict=True)]
    return Case(model="m", dims={"size": number}, baseline=BASELINE, subjects=tuple(named))


def outcome(seed: int, scenario: Scenario) -> str:
    """What a gate says; where it is wrong, in which way."""
    sizes = len(scenario.slower)
    cases = [
        case_of(sizes * seed + number, each, scenario.time_s, sizes, number)
        for number, each in enumerate(scenario.slower)
    ]
    controls = [control_in(case) for case in cases]
    limits = after_controls(limits_in(cases, MAX_SLOWDOWN), controls)
    is_at_limit = scenario.right == UNDECIDED
    judged = [each for each, part in zip(limits, scenario.slower, strict=True) if part == AT_LIMIT or not is_at_limit]
    return outcome_of(judged)


def rates(scenario: Scenario, gates: int, pool: object) -> str:
    """A line."""
    found = Counter(pool.map(partial(outcome, scenario=scenario), range(gates), chunksize=4))  # type: ignore[attr-defined]
    return found


def main() -> None:
    """All scenarios."""
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    with Pool(2) as pool:
        for scenario in SCENARIOS:
            print(scenario.title, rates(scenario, gates, pool), flush=True)


if __name__ == "__main__":
    main()
