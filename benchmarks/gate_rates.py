"""How often are gates wrong about models that are exactly at the limit, and how often do they tell what is clear?

usage: python -m benchmarks.gate_rates [gates]
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from multiprocessing import Pool
from typing import NamedTuple
from unittest import mock

from msgspec.structs import replace

from benchmarks import simulation
from benchmarks.kept import keep, share
from onnxperf.analyze.judges.gate import after_controls, all_told, control_in, limits_in, outcome_of
from onnxperf.records.gate import BASELINE, CONTROL, NEW, GateOutcome
from onnxperf.records.race import Case

MAX_SLOWDOWN = 0.03
AT_LIMIT, EQUAL, SLOWER = MAX_SLOWDOWN, 0.0, 0.06


class Scenario(NamedTuple):
    """Gates of models that are slower by these parts, one for each size."""

    title: str
    slower: tuple[float, ...]
    time_s: float
    right: GateOutcome
    """What is not wrong; where a size is exactly at the limit, only that it is undecided there."""


SCENARIOS = (
    Scenario("at the limit, 1 s", (AT_LIMIT,), 1.0, "undecided"),
    Scenario("at the limit, 4 s", (AT_LIMIT,), 4.0, "undecided"),
    Scenario("at the limit, 20 s", (AT_LIMIT,), 20.0, "undecided"),
    Scenario("4 sizes, all at the limit, 4 s", (AT_LIMIT,) * 4, 4.0, "undecided"),
    Scenario("4 sizes, all at the limit, 20 s", (AT_LIMIT,) * 4, 20.0, "undecided"),
    Scenario("4 sizes, one at the limit, 4 s", (AT_LIMIT, EQUAL, EQUAL, EQUAL), 4.0, "undecided"),
    Scenario("equal, 20 s", (EQUAL,), 20.0, "passed"),
    Scenario("4 sizes, all equal, 20 s", (EQUAL,) * 4, 20.0, "passed"),
    Scenario("6 % slower, 20 s", (SLOWER,), 20.0, "failed"),
    Scenario("4 sizes, one 6 % slower, 20 s", (SLOWER, EQUAL, EQUAL, EQUAL), 20.0, "failed"),
)


def race_of(seed: int, slower: float, time_s: float, sizes: int, number: int) -> Case:
    """The race of one size, which ends as that of a gate does."""
    told = partial(all_told, max_slowdown=MAX_SLOWDOWN)
    with mock.patch.object(simulation, "settled", told):
        subjects = simulation.simulate(seed, (0.0, slower), time_s, alpha_share=1 / sizes)
    named = [replace(each, name=name) for name, each in zip((BASELINE, CONTROL, NEW), subjects, strict=True)]
    return Case(model="m", dims={"size": number}, baseline=BASELINE, subjects=tuple(named))


def outcome(seed: int, scenario: Scenario) -> GateOutcome:
    """What a gate says, of the sizes at the limit where there are any."""
    sizes = len(scenario.slower)
    cases = [
        race_of(sizes * seed + number, each, scenario.time_s, sizes, number)
        for number, each in enumerate(scenario.slower)
    ]
    limits = after_controls(limits_in(cases, MAX_SLOWDOWN), [control_in(case) for case in cases])
    if AT_LIMIT not in scenario.slower:
        return outcome_of(limits)
    told = [
        each.outcome
        for each, part in zip(limits, scenario.slower, strict=True)
        if part == AT_LIMIT and each.outcome != "undecided"
    ]
    return told[0] if told else "undecided"


def line(scenario: Scenario, found: Counter[GateOutcome]) -> str:
    """How often it was wrong, and how often it told."""
    gates = found.total()
    words = ", ".join(f"{word} {found[word]}" for word in ("passed", "failed", "undecided"))
    if AT_LIMIT in scenario.slower:
        return f"- {scenario.title}: told {share(gates - found['undecided'], gates)} (goal at most 5 %); {words}"
    right = share(found[scenario.right], gates)
    return f"- {scenario.title}: {scenario.right} {right} (goal at least 90 %); {words}"


def main() -> None:
    """All scenarios."""
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    lines = [
        f"Gates at `--max-slowdown {MAX_SLOWDOWN:.0%}` through the real plan, looks and judges, with the noise of the",
        "simulated races. A model exactly at the limit should be undecided: everything else is wrong there.",
        "",
    ]
    with Pool(2) as pool:
        for scenario in SCENARIOS:
            found = Counter(pool.map(partial(outcome, scenario=scenario), range(gates), chunksize=4))
            lines.append(line(scenario, found))
            print(lines[-1], file=sys.stderr, flush=True)
    keep("gate: models at the limit, simulated", lines)


if __name__ == "__main__":
    main()
