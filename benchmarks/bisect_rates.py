"""How often does a bisection take a candidate for the wrong end, and how often can it tell at all?

usage: python -m benchmarks.bisect_rates [draws=N] [races=N]

`draws`: comparisons with known noise between launches, judged by the package's own functions, next to the rule that
takes half of the measured difference of the ends as exact. `races`: whole races on a simulated machine, which stop as
real ones do.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.kept import keep, share
from benchmarks.simulation import CALL_NS, NoisyMachine, SimulatedWorker
from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.bisection import enough_for, raced, side_of
from onnxperf.analyze.judges.comparison import compare, rounds_to_units, settled
from onnxperf.bisection.base import error_share
from onnxperf.measure.messages import FunctionSubject, WorkerSpec
from onnxperf.measure.race import Tools, race
from onnxperf.records.bisect import BisectSide, BisectStep, Purpose
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import ALPHA, Case, Measurement

SIZE = 12
"""Candidates of a search: its comparisons share the error probability."""
NAMES = "baseline", "rival"
Rule = Callable[[BisectStep, BisectStep], BisectSide]


def of_today(step: BisectStep, ends: BisectStep) -> BisectSide:
    """The package's own rule."""
    return side_of(step, "any", ends)


def half_as_exact(step: BisectStep, ends: BisectStep) -> BisectSide:
    """The rule before: the measured half is taken as the truth."""
    assert ends.ratio is not None
    if step.ratio_low is None or step.ratio_high is None:
        return "undecided"
    low, high, half = math.log(step.ratio_low), math.log(step.ratio_high), math.log(ends.ratio) / 2
    return "bad" if low >= half else "good" if high < half else "undecided"


RULES: dict[str, Rule] = {"half as exact (before)": half_as_exact, "errors of both ends": of_today}


class Scene(NamedTuple):
    """What is true, and how noisy its comparisons are."""

    text: str
    ends: float
    """By how much the ends differ, as a log."""
    part: float
    """Part of that which the candidate has."""
    ends_launches: int
    step_launches: int
    spread: float
    """Standard deviation between launches, as a log."""

    @property
    def wrong(self) -> BisectSide:
        """The end that the candidate is not nearer to."""
        return "good" if self.part > 0.5 else "bad"


SCENES = (
    *(
        Scene(f"ends differ by 10 % (6 launches), candidate has {part:.0%}", 0.1, part, 6, 16, 0.02)
        for part in (0, 0.4, 0.48, 0.52, 0.6, 1)
    ),
    Scene("ends differ by 30 % (5 launches), candidate has 45%", math.log(1.3), 0.45, 5, 16, 0.03),
    Scene("ends differ by 3 % (16 launches), candidate has 45%", 0.03, 0.45, 16, 16, 0.008),
    Scene("ends differ by 3 % (16 launches), candidate has 100%", 0.03, 1.0, 16, 16, 0.008),
    *(
        Scene(f"ends known badly (5 launches), candidate well (60), has {part:.0%}", 0.1, part, 5, 60, 0.03)
        for part in (0.4, 0.48, 0.52)
    ),
    Scene("heavy tails: ends differ by 10 % (8 launches), candidate has 48%", 0.1, 0.48, 8, 16, -0.02),
)


def step_of(
    purpose: Purpose, log_ratio: float, launches: int, spread: float, random: np.random.Generator
) -> BisectStep:
    """A comparison of so many launches, as a race would judge it; a negative spread has heavy tails."""
    noise = random.standard_t(3, launches) * -spread if spread < 0 else random.normal(0, spread, launches)
    estimate = st.trimmed_mean(log_ratio + noise)
    low, high = estimate.interval(ALPHA * error_share(purpose, SIZE))
    verdict: Any = "slower" if low > 0 else "faster" if high < 0 else "undecided"
    return BisectStep(
        purpose=purpose,
        base="",
        candidate="",
        side="undecided",
        verdict=verdict,
        ratio=math.exp(estimate.value),
        ratio_low=math.exp(low),
        ratio_high=math.exp(high),
    )


def drawn(scene: Scene, draws: int) -> dict[str, Counter[BisectSide]]:
    """Sides by rule, of searches whose ends differ beyond the noise."""
    random = np.random.default_rng(7)
    found: dict[str, Counter[BisectSide]] = {name: Counter() for name in RULES}
    for _ in range(draws):
        ends = step_of("ends", scene.ends, scene.ends_launches, scene.spread, random)
        if ends.verdict != "slower":
            continue
        step = step_of("search", scene.part * scene.ends, scene.step_launches, scene.spread, random)
        for name, rule in RULES.items():
            found[name][rule(step, ends)] += 1
    return found


# ---------------------------------------------------------------- whole races


def race_of(
    seed: int, log_ratio: float, purpose: Purpose, ends: BisectStep | None, sharp: bool, time_s: float = 9.0
) -> BisectStep:
    """A race on a simulated machine which stops as that of a bisection does, or as it did before."""
    machine = NoisyMachine(np.random.default_rng(seed))
    factors = dict(zip(NAMES, (1.0, math.exp(log_ratio)), strict=True))
    specs = [
        WorkerSpec(subjects=(FunctionSubject(name=name, function=b""),), threads=1, feeds={}, runtime=name)
        for name in NAMES
    ]

    def launch(spec: WorkerSpec) -> SimulatedWorker:
        return SimulatedWorker(spec, machine, CALL_NS * factors[spec.runtime], machine.rng.normal(0, 0.004))

    alpha = error_share(purpose, SIZE)
    usual: Callable[[Sequence[Measurement]], bool] = partial(
        settled, baseline=NAMES[0], min_effect=0.01, alpha_share=alpha
    )
    tools = Tools(
        launch=launch,
        settled=enough_for(NAMES, ends, 0.01, alpha) if ends is not None or sharp else usual,
        noise=partial(rounds_to_units, baseline=NAMES[0]),
        clock=lambda: int(machine.now_ns),
    )
    end = race(specs, RaceOptions(baseline=NAMES[0], time=time_s, min_effect=0.01, seed=seed), tools)
    subjects = compare(end.subjects, NAMES[0], 0.01, alpha)
    return raced(purpose, Case(model="m", baseline=NAMES[0], subjects=subjects), *NAMES)


RACES = ((0.1, 0.0), (0.1, 0.4), (0.1, 0.6), (0.1, 1.0), (0.03, 0.0), (0.03, 0.4), (0.03, 1.0), (0.3, 0.45))
"""Difference of the ends as a log, and the part of it that the candidate has."""


def of_races(ends_log: float, part: float, races: int) -> dict[str, Counter[BisectSide]]:
    """Sides by rule, of races that the package's own rule stops."""
    found: dict[str, Counter[BisectSide]] = {name: Counter() for name in RULES}
    for seed in range(races):
        for name, rule in RULES.items():
            ends = race_of(2 * seed, ends_log, "ends", None, rule is of_today)
            if ends.verdict == "slower":
                step = race_of(2 * seed + 1, part * ends_log, "search", ends, True)
                found[name][rule(step, ends)] += 1
    return found


def line(text: str, counts: dict[str, Counter[BisectSide]], wrong: BisectSide) -> list[str]:
    """One row per rule."""
    rows = []
    for name, each in counts.items():
        total, decided = each.total(), each.total() - each["undecided"]
        if total:
            of_decided = f"{each[wrong] / decided:.1%}" if decided else ""
            open_ = f"{each['undecided'] / total:.1%}"
            rows.append(f"| {text} | {name} | {share(each[wrong], total)} | {of_decided} | {open_} |")
    return rows


def main() -> None:
    """Count what was asked for."""
    wanted = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    head = ["| what is true | rule | wrong side | of the decided | undecided |", "|---|---|---|---|---|"]
    rows = [
        each
        for scene in SCENES
        for each in line(f"drawn: {scene.text}", drawn(scene, int(wanted.get("draws", 4000))), scene.wrong)
    ]
    for ends_log, part in RACES:
        counts = of_races(ends_log, part, int(wanted.get("races", 200)))
        text = f"raced: ends differ by {math.expm1(ends_log):.0%}, candidate has {part:.0%}"
        rows += line(text, counts, "good" if part > 0.5 else "bad")
    keep("The nearer end of a bisection", [*head, *rows])


if __name__ == "__main__":
    main()
