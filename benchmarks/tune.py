"""Does a tuning find what helps, claim nothing where nothing helps, and need less time than trying everything?

usage: python -m benchmarks.tune [part[=number] ...]
parts: simulated, live, models, approximate, exhaustive, calls, olive; without one, all of them
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import Pool
from typing import Any
from unittest import mock

import numpy as np

import onnxperf
from benchmarks.kept import keep, share
from benchmarks.simulation import CALL_NS, NoisyMachine, SimulatedWorker
from benchmarks.tune_rivals import MIN_EFFECT, exhaustive, mean_of_calls, olive, quiet
from benchmarks.tuned_models import CAUSES, ORDINARY, PLANTED, Tuned, mlp
from onnxperf.analyze.judges.comparison import compare, rounds_to_units, settled
from onnxperf.analyze.judges.tuning import Confirmation, Sample, confirmed, samples_of
from onnxperf.api._tuning.search import TuneSearch
from onnxperf.measure.messages import FunctionSubject, WorkerSpec
from onnxperf.measure.race import Progress, Tools, race
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Case
from onnxperf.records.tune import DEFAULTS, TuneChoice, Tuning
from onnxperf.tuning import knobs
from onnxperf.tuning.halving import Budget

# ---------------------------------------------------------------- simulated


@dataclass
class SimulatedMeasure:
    """Choices on a noisy machine whose true effects are known: factors of single choices multiply."""

    machine: NoisyMachine
    factors: Mapping[str, float]
    """Speedup of each choice by its name."""
    laps: int = 0
    error_of: Mapping[str, float] = field(default_factory=dict)

    def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
        """One launch of each."""
        del progress
        self.laps += 1
        names = [DEFAULTS, *(each.name for each in choices)]
        case = self._race(names, RaceOptions(baseline=DEFAULTS, blocks=4, warmup=0.02, seed=self.laps))
        return samples_of(case, "latency")

    def confirm(self, choices: Sequence[TuneChoice], time_s: float, progress: Progress) -> Confirmation:
        """A whole race."""
        del progress
        options = RaceOptions(baseline=DEFAULTS, time=time_s, seed=self.laps)
        case = self._race([DEFAULTS, *(each.name for each in choices)], options)
        return confirmed(case, "latency", MIN_EFFECT, choices)

    def error(self, choice: TuneChoice) -> float | None:
        """What was given."""
        return self.error_of.get(choice.name)

    def _race(self, names: Sequence[str], options: RaceOptions) -> Case:
        specs = [
            WorkerSpec(subjects=(FunctionSubject(name=name, function=b""),), threads=1, feeds={}, runtime=name)
            for name in names
        ]
        tools = Tools(
            launch=self._launch,
            settled=partial(settled, baseline=DEFAULTS, min_effect=MIN_EFFECT),
            noise=partial(rounds_to_units, baseline=DEFAULTS),
            clock=lambda: int(self.machine.now_ns),
        )
        subjects = compare(race(specs, options, tools).subjects, DEFAULTS, MIN_EFFECT)
        return Case(model="", baseline=DEFAULTS, min_effect=MIN_EFFECT, subjects=subjects)

    def _launch(self, spec: WorkerSpec) -> SimulatedWorker:
        factor = math.prod(self.factors.get(name, 1.0) for name in spec.runtime.split(", "))
        effect = self.machine.rng.normal(0, 0.004)
        return SimulatedWorker(spec, self.machine, CALL_NS / factor, effect)


def simulated_search(seed: int, factors: Mapping[str, float], time_s: float = 120.0) -> TuneSearch:
    """A whole tuning on a machine of its own."""
    machine = NoisyMachine(np.random.default_rng(seed))
    choices = [TuneChoice(name=name, knobs=(name,)) for name in factors]
    measure = SimulatedMeasure(machine, factors)
    search = TuneSearch(measure, choices, Budget(0.0, time_s), MIN_EFFECT, lambda: machine.now_ns / 1e9, quiet)
    search.run()
    return search


USELESS = {f"useless {number}": 1.0 for number in range(12)} | {f"slower {number}": 0.9 for number in range(4)}


def claims_a_gain(seed: int) -> bool:
    """Whether a tuning for which nothing helps has a winner."""
    return simulated_search(seed, USELESS).winner is not None


def finds_a_gain(seed: int, gain: float) -> bool:
    """Whether a tuning for which one choice of many helps proves that it does."""
    winner = simulated_search(seed, {**USELESS, "helps": gain}).winner
    return winner is not None and "helps" in winner.name


def simulated(tunings: int = 1000) -> list[str]:
    """Tunings through the real schedule, races and judges, with known truth."""
    with Pool(2) as pool:
        false = sum(pool.map(claims_a_gain, range(tunings), chunksize=5))
        found = {
            gain: sum(pool.map(partial(finds_a_gain, gain=gain), range(tunings // 5), chunksize=5))
            for gain in (1.03, 1.1)
        }
    return [
        "16 choices, 12 without effect and 4 that are slower by 10 %, 120 s each, noise as in the simulated races.",
        "",
        f"- nothing helps, a gain is claimed: {share(false, tunings)} (goal at most 5 %)",
        *(
            f"- one more helps by {gain - 1:.0%}, found and proven: {share(hits, tunings // 5)}"
            for gain, hits in found.items()
        ),
    ]


# ---------------------------------------------------------------- models


def tuned(name: str, case: Tuned, **more: Any) -> Tuning:
    """One tuning, told on stderr."""
    record = onnxperf.tune(case.source(), time=case.time_s, progress=quiet, **{**case.keywords, **more}).record
    print(f"{name}: {record.answer}", file=sys.stderr, flush=True)
    return record


def gain_of(record: Tuning) -> float:
    """What somebody who follows the answer has: 1 where that is to keep the defaults."""
    return record.gain or 1.0 if record.outcome == "tuned" else 1.0


def _line(name: str, record: Tuning) -> str:
    winner = record.winner.name if record.winner is not None else "defaults"
    before, after = ((each or 0.0) / 1e3 for each in (record.before, record.after))
    raced = f"{before:.1f} us before, {after:.1f} us after" if record.before else "no confirming race"
    return f"- {name}: {winner}; gain {gain_of(record):.3f} ({record.verdict or 'nothing to confirm'}; {raced})"


def _group(cases: Mapping[str, Tuned], shorter: int, **more: Any) -> list[tuple[str, Tuning]]:
    found = []
    for name, case in cases.items():
        try:
            found.append((name, tuned(name, case.shorter(shorter), **more)))
        except onnxperf.OnnxperfError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
    return found


def models(shorter: int = 1) -> list[str]:
    """Gains in the confirming race, of ordinary models and of planted causes; `shorter` divides the time of each."""
    ordinary, planted = (_group(group, shorter) for group in (ORDINARY, PLANTED))
    gains = [gain_of(record) for _, record in ordinary]
    removed = [name for name, record in planted if _is_removed(record, CAUSES[name])]
    return [
        *_about_time(shorter),
        *(_line(*each) for each in ordinary),
        f"- ordinary models, geometric mean: {statistics.geometric_mean(gains):.3f} (goal at least 1.15), "
        f"smallest {min(gains):.3f} (goal none below 0.98)",
        *(_line(*each) for each in planted),
        f"- planted causes found and removed: {len(removed)} of {len(planted)}",
    ]


def _is_removed(record: Tuning, cause: str) -> bool:
    """Whether the winner changes what was planted, or is at least as good as changing it alone."""
    rows = [row for row in record.rows if cause in " ".join([row.choice.rewrite, *row.choice.settings])]
    alone = max((row.speedup or 0.0 for row in rows if row.status == "ok"), default=math.inf)
    is_part = record.winner is not None and record.winner in [row.choice for row in rows]
    return is_part or gain_of(record) >= 0.98 * alone > 1


def approximate(shorter: int = 1) -> list[str]:
    """The same with int8 and others allowed up to an error of 10 %; what has convolutions is calibrated."""
    cases = {name: ORDINARY[name] for name in ("BERT 1x10", "BERT 4x100")}
    cases |= {name: _calibrated(ORDINARY[name], *each) for name, each in IMAGES.items()}
    cases["MLP 6x1024, 16 rows"] = Tuned(partial(mlp, 1024, 16))
    found = _group(cases, shorter, allow="approx", max_error=0.1)
    return [*_about_time(shorter), *(f"{_line(*each)}; error {_error(each[1])}" for each in found)]


def _about_time(shorter: int) -> list[str]:
    return [f"The usual time of each, divided by {shorter}.", ""] if shorter > 1 else []


IMAGES = {
    "ResNet-50 1": ("pixel_values", 1),
    "ResNet-50 8": ("pixel_values", 8),
    "light_shufflenet": ("gpu_0/data_0", 1),
}
"""The input of each, and the images in a call."""


def _calibrated(case: Tuned, name: str, batch: int) -> Tuned:
    images = np.random.default_rng(0).standard_normal((4 * batch, 3, 224, 224), dtype=np.float32)
    return replace(case, keywords={**case.keywords, "calibration": {name: images}})


def _error(record: Tuning) -> str:
    name = record.winner.name if record.winner is not None else ""
    row = next((row for row in record.rows if row.choice.name == name), None)
    return f"{row.error:.2%}" if row is not None and row.error is not None else "none"


def live(tunings: int = 20) -> list[str]:
    """Tunings of 40 s of a model for which nothing helps; the call style is fixed, and other runtimes may well help."""
    case = Tuned(partial(mlp, 256, 64), {}, 40.0)
    with mock.patch.object(knobs, "KNOBS", [each for each in knobs.KNOBS if each.name != "runtime"]):
        records = [tuned("live", case, call="run", seed=10 * number) for number in range(tunings)]
    claims = sum(record.outcome == "tuned" for record in records)
    tried = sum(record.tried is not None for record in records)
    seconds = statistics.median(record.spent_s for record in records)
    return [
        f"- an MLP of 6 layers of 256, 64 rows: a gain is claimed in {share(claims, tunings)} (goal at most 1 of 20); "
        f"{tried} had something to confirm; {seconds:.0f} s a tuning (median)"
    ]


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "simulated": ("tune: simulated tunings", simulated),
    "live": ("tune: live tunings of a model for which nothing helps", live),
    "models": ("tune: gains over onnxruntime's defaults", models),
    "approximate": ("tune: gains with approximations", approximate),
    "exhaustive": ("tune: against a race of all combinations", exhaustive),
    "calls": ("tune: against the mean of 20 calls", mean_of_calls),
    "olive": ("tune: against Olive's tuner of session parameters", olive),
}


def main() -> None:
    """Run the parts that are named, each with the number that is given, or all."""
    for wanted in sys.argv[1:] or PARTS:
        name, _, number = wanted.partition("=")
        title, part = PARTS[name]
        keep(title, part(int(number)) if number else part())


if __name__ == "__main__":
    main()
