"""A tuning against others in a small space: a race of everything, the mean of 20 calls, and Olive's tuner."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tuned_models import ORDINARY, Tuned
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning.candidates import race_candidates
from onnxperf.api._tuning.measures import USUAL, MeasuredModel, TimeMeasure
from onnxperf.api._tuning.search import TuneSearch
from onnxperf.options.functions import BENCH
from onnxperf.records.options import RaceOptions
from onnxperf.records.tune import DEFAULTS, TuneChoice
from onnxperf.tuning.base import joined
from onnxperf.tuning.halving import Budget

MIN_EFFECT = 0.01


def quiet(_done: float, _text: str) -> None:
    """Show nothing."""


SPACE = (
    TuneChoice(name="threads=1", knobs=("threads",), settings={"threads": "1"}),
    TuneChoice(name="spinning=0", knobs=("spinning",), settings={"session.intra_op.allow_spinning": "0"}),
    TuneChoice(name="arena=off", knobs=("arena",), settings={"arena": "off"}),
    TuneChoice(name="mem_pattern=off", knobs=("mem_pattern",), settings={"mem_pattern": "off"}),
    TuneChoice(name="opt_level=basic", knobs=("optimisation",), settings={"opt_level": "basic"}),
    TuneChoice(name="call=run-c", knobs=("call",), call="run-c"),
)
"""Six knobs with two values each: 64 combinations."""
LAUNCHES = 6
"""Of every combination in the exhaustive race."""
SMALL = {name: ORDINARY[name] for name in ("linear 1000x10", "forest of 50, 1 row", "light_shufflenet")}


def all_combinations() -> list[TuneChoice]:
    """All but the defaults themselves."""
    sets = (each for number in range(1, len(SPACE) + 1) for each in itertools.combinations(SPACE, number))
    return [joined(each) if len(each) > 1 else each[0] for each in sets]


def bench_of(case: Tuned) -> MeasuredModel:
    """A model, ready to be measured."""
    settings = parse(case.keywords, BENCH)
    entry = open_entries(case.source(), settings.inputs, None)[0]
    return MeasuredModel([entry], lambda: entry, settings, RaceOptions(), settings.session, "run")


def exhaustive_best(bench: MeasuredModel) -> tuple[TuneChoice | None, float]:
    """The best of all combinations by the median of its launches, and the seconds that it took."""
    begin, measure = time.monotonic(), TimeMeasure(bench)
    speedups: dict[str, list[float]] = {}
    choices = all_combinations()
    for start in range(0, len(choices), 8):
        for _ in range(LAUNCHES):
            for name, sample in measure.lap(choices[start : start + 8], quiet).items():
                if sample.speedup is not None and sample.status == "ok":
                    speedups.setdefault(name, []).append(sample.speedup)
    medians = {each.name: statistics.median(speedups[each.name]) for each in choices if each.name in speedups}
    best = max(choices, key=lambda each: medians.get(each.name, 0.0))
    return (best if medians.get(best.name, 0.0) > 1 + MIN_EFFECT else None), time.monotonic() - begin


def searched_best(
    bench: MeasuredModel, time_s: float, space: Sequence[TuneChoice] = SPACE
) -> tuple[TuneChoice | None, float]:
    """The best that a tuning finds and proves in so much time."""
    begin = time.monotonic()
    search = TuneSearch(TimeMeasure(bench), list(space), Budget(begin, time_s), MIN_EFFECT, time.monotonic, quiet)
    search.run()
    return search.winner, time.monotonic() - begin


def final_gains(bench: MeasuredModel, choices: Sequence[TuneChoice | None], time_s: float = 30.0) -> list[float]:
    """Gains over the defaults in one race of all of these, so that they can be compared with each other."""
    raced = {each.name: each for each in choices if each is not None}
    candidates = [bench.candidate(each) for each in (USUAL, *raced.values())]
    case = race_candidates(bench.fresh(), candidates, bench.settings, RaceOptions(time=time_s), quiet)
    gains = {each.name: each.speedup or 1.0 for each in case.subjects if each.status == "ok"}
    return [gains.get(each.name, 0.0) if each is not None else 1.0 for each in choices]


def _names(choices: Sequence[TuneChoice | None]) -> list[str]:
    return [each.name if each is not None else DEFAULTS for each in choices]


def exhaustive(models_tried: int = len(SMALL)) -> list[str]:
    """The search in a fifth of the time that a race of all 64 combinations takes, and both winners in one more race."""
    lines = []
    for name, case in itertools.islice(SMALL.items(), models_tried):
        bench = bench_of(case)
        best, all_s = exhaustive_best(bench)
        found, spent_s = searched_best(bench, all_s / 5)
        gains, names = final_gains(bench, [best, found]), _names([best, found])
        lines.append(
            f"- {name}: of all 64 {names[0]} ({gains[0]:.3f}) in {all_s:.0f} s; the search {names[1]} "
            f"({gains[1]:.3f}) in {spent_s:.0f} s ({spent_s / all_s:.0%}, goal at most 20 %); "
            f"{gains[1] / gains[0] - 1:+.1%} (goal at least -2 %)"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


# ---------------------------------------------------------------- Olive's strategy


def mean_of_20(bench: MeasuredModel, choice: TuneChoice) -> float:
    """What Olive's tuner believes: the mean of 20 calls after a few, in one process, one choice after the other."""
    from onnxperf.runtimes.find import find_runtime

    candidate, entry = bench.candidate(choice), bench.entries[0]
    session = find_runtime("ort").open_session(entry.model.path, candidate.session)
    call = session.bind(candidate.call, entry.feeds.arrays, {})
    for _ in range(5):
        call()
    begin = time.perf_counter()
    for _ in range(20):
        call()
    return (time.perf_counter() - begin) / 20


def olive_best(bench: MeasuredModel, time_s: float) -> tuple[TuneChoice | None, float]:
    """The lowest mean of all combinations that the time allows, and the gain that it claims."""
    end, usual = time.monotonic() + time_s, TuneChoice(name=DEFAULTS, knobs=())
    means: dict[str, float] = {}
    for choice in (usual, *all_combinations()):
        if time.monotonic() < end:
            means[choice.name] = mean_of_20(bench, choice)
    lowest = min(means, key=lambda name: means[name])
    best = next((each for each in all_combinations() if each.name == lowest), None)
    return best, means[DEFAULTS] / means[lowest]


def mean_of_calls(seconds: int = 60) -> list[str]:
    """Olive's way to measure and the search, in the same space and the same time; both winners in one more race."""
    lines = []
    for name, case in SMALL.items():
        bench = bench_of(case)
        theirs, claimed = olive_best(bench, seconds)
        ours, _ = searched_best(bench, seconds)
        gains, names = final_gains(bench, [theirs, ours]), _names([theirs, ours])
        lines.append(
            f"- {name}: the mean of 20 calls chooses {names[0]} and claims {claimed:.3f}, which a race finds to be "
            f"{gains[0]:.3f}; the search chooses {names[1]}: {gains[1]:.3f}"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


OLIVE_PYTHON = "OLIVE_PYTHON"
"""Variable with the interpreter of an environment that has olive-ai."""
PARALLEL = {"execution_mode": "parallel", "inter_op_threads": "2"}
OLIVE_SPACE = (
    TuneChoice(name="threads=1", knobs=("threads",), settings={"threads": "1"}),
    TuneChoice(name="spinning=0", knobs=("spinning",), settings={"session.intra_op.allow_spinning": "0"}),
    TuneChoice(name="opt_level=extended", knobs=("optimisation",), settings={"opt_level": "extended"}),
    TuneChoice(name="opt_level=basic", knobs=("optimisation",), settings={"opt_level": "basic"}),
    TuneChoice(name="execution_mode=parallel", knobs=("execution",), settings=PARALLEL),
)
"""What Olive's tuner changes on a CPU: 24 combinations."""
_LEVELS = {1: "basic", 2: "extended"}


def olive_choice(bench: MeasuredModel, time_s: int) -> tuple[TuneChoice | None, float]:
    """What Olive's tuner of session parameters chooses, and the gain that it claims."""
    shapes = {name: array.shape for name, array in bench.entries[0].feeds.arrays.items()}
    command = [os.environ[OLIVE_PYTHON], str(Path(__file__).with_name("olive_tuner.py"))]
    command += [str(bench.entries[0].model.path), json.dumps(shapes), str(time_s), str(bench.session.threads)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    options = found["session_options"]
    chosen = {
        "threads=1": options.get("intra_op_num_threads") == 1,
        "spinning=0": bool(options.get("extra_session_config")),
        f"opt_level={_LEVELS.get(options.get('graph_optimization_level'))}": True,
        "execution_mode=parallel": options.get("execution_mode") == 1,
    }
    parts = [each for each in OLIVE_SPACE if chosen.get(each.name)]
    return (joined(parts) if parts else None), found["before_ms"] / found["after_ms"]


def olive(seconds: int = 60) -> list[str]:
    """Olive's tuner and the search, each with the settings that Olive changes and at most so much time."""
    if OLIVE_PYTHON not in os.environ:
        return [f"- not run: {OLIVE_PYTHON} names no interpreter with olive-ai"]
    lines = []
    for name, case in SMALL.items():
        bench = bench_of(case)
        theirs, claimed = olive_choice(bench, seconds)
        ours, _ = searched_best(bench, seconds, OLIVE_SPACE)
        gains, names = final_gains(bench, [theirs, ours]), _names([theirs, ours])
        lines.append(
            f"- {name}: Olive chooses {names[0]} and claims {claimed:.3f}, which a race finds to be {gains[0]:.3f}; "
            f"the search chooses {names[1]}: {gains[1]:.3f}"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines
