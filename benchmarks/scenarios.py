"""Simulated races whose truth is known: plain ones, and subjects, machines and plans that are hard to judge."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Pool
from typing import NamedTuple, TypeVar

from msgspec import structs

from benchmarks.kept import share
from benchmarks.simulation import BASELINE, STEADY, Manner, Track, simulate, simulate_on
from onnxperf.analyze.judges.comparison import compare
from onnxperf.analyze.judges.gate import after_controls, all_told, control_in, limits_in, outcome_of
from onnxperf.records.gate import CONTROL, NEW
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Case, Subject

T = TypeVar("T")

ALARMS = ("faster", "slower")
PROCESSES = 1
"""That simulate at once."""
MAX_SLOWDOWN = 0.05
GATE_S = 20.0
"""The most that the race of a gate takes unless its user says otherwise."""
MIN_EFFECT = 0.01
MS, US = 1e6, 1e3


def repeated(task: Callable[[int], T], races: int) -> list[T]:
    """What a task returns for each seed."""
    with Pool(PROCESSES) as pool:
        return pool.map(task, range(races), chunksize=10)


# ---------------------------------------------------------------- plain


def _has_alarm(seed: int, rivals: int, slower: float, time_s: float) -> bool:
    subjects = simulate(seed, (slower,) * rivals, time_s)
    return any(subject.verdict in ALARMS for subject in subjects[1:])


def plain(races: int = 2000) -> list[str]:
    """Thousands of races through the real stopping rule, with known truth."""
    lines = []
    for title, rivals, slower, time_s, count in (
        ("A/A, 2 subjects, 3 s", 1, 0.0, 3.0, races),
        ("A/A, 2 subjects, 9 s", 1, 0.0, 9.0, races),
        ("A/A, 6 subjects, 9 s, any alarm", 5, 0.0, 9.0, races // 2),
        ("3 % slower, 2 subjects, 3 s, found", 1, 0.03, 3.0, races // 2),
    ):
        hits = sum(repeated(partial(_has_alarm, rivals=rivals, slower=slower, time_s=time_s), count))
        lines.append(f"- {title}: {share(hits, count)}")
    return [
        "Races through the real plan, looks and statistics, with noise that drifts, comes in bursts, has heavy tails,",
        "is autocorrelated, and differs between launches (0.4 %) and set-ups (0.5 %, heavy tails); goal: at most 5 % "
        "false alarms.",
        "",
        *lines,
    ]


# ---------------------------------------------------------------- hard to judge


@dataclass(frozen=True)
class Scenario:
    """A race that is hard to judge."""

    track: Track
    goal: str
    """What must be so."""
    is_kept: Callable[[Tally], bool]
    """Whether it is."""
    time_s: float = 9.0
    has_gate: bool = True

    @property
    def truth(self) -> float:
        """The speedup by means; all rivals of a scenario are alike."""
        base, rival = self.track.manners[:2]
        return base.mean / rival.mean


class Seen(NamedTuple):
    """What a race said of a rival."""

    verdict: str
    speedup: float
    is_inside: bool
    by_means: bool


@dataclass(frozen=True)
class Tally:
    """What the races of a scenario said."""

    truth: float
    races: Sequence[Sequence[Seen]]
    gates: Counter[str]

    @property
    def rivals(self) -> list[Seen]:
        """Of all races."""
        return [seen for race in self.races for seen in race]

    def said(self, *verdicts: str) -> float:
        """Share of races in which a rival has one of these verdicts."""
        return statistics.fmean(any(seen.verdict in verdicts for seen in race) for race in self.races)

    @property
    def inside(self) -> float:
        """Share of intervals that include the truth."""
        return statistics.fmean(seen.is_inside for seen in self.rivals)

    @property
    def by_means(self) -> float:
        """Share of rivals that are compared by means."""
        return statistics.fmean(seen.by_means for seen in self.rivals)

    @property
    def bias(self) -> float:
        """By how much the speedup in the middle of all is off."""
        return statistics.median(seen.speedup for seen in self.rivals) / self.truth - 1

    def gated(self, outcome: str) -> float:
        """Share of gates with this outcome."""
        return self.gates[outcome] / max(self.gates.total(), 1)

    def line(self) -> str:
        """All of it."""
        words = ("faster", "slower", "equivalent", "undecided")
        said = ", ".join(f"{word} {self.said(word):.1%}" for word in words if self.said(word))
        gates = ", ".join(f"{word} {self.gated(word):.0%}" for word in ("passed", "failed", "undecided"))
        return (
            f"truth {self.truth:.4g}; {said}; truth inside {self.inside:.1%}; bias {self.bias:+.2%}; "
            f"by means {self.by_means:.1%}" + (f"; gate at {MAX_SLOWDOWN:.0%}: {gates}" if self.gates else "")
        )


def _at_most_5_percent(tally: Tally) -> bool:
    return tally.said(*ALARMS) <= 0.05


def _is_never_flattered(tally: Tally) -> bool:
    return tally.said("faster", "equivalent") <= 0.05


def _fails_gates(tally: Tally) -> bool:
    return _is_never_flattered(tally) and tally.gated("failed") >= 0.9


def _is_found(tally: Tally) -> bool:
    return tally.said("slower") >= 0.95


def _is_read_right(tally: Tally) -> bool:
    return abs(tally.bias) <= 0.01


JITTER = Manner(jitter=0.04)
CALM = Manner(jitter=0.01)


def _pair(rival: Manner, call_ns: float, base: Manner = STEADY) -> Track:
    return Track((base, rival), call_ns=call_ns)


_ALARMS = ("at most 5 % faster or slower", _at_most_5_percent)
_FLATTERY = ("at most 5 % faster or equivalent", _is_never_flattered)
_GATES = ("at most 5 % faster or equivalent, 90 % of gates fail", _fails_gates)
_FOUND = ("slower 95 %", _is_found)
_RIGHT = ("bias within 1 %", _is_read_right)

SCENARIOS: Mapping[str, Scenario] = {
    "A/A, 100 us": Scenario(_pair(STEADY, 100 * US), *_ALARMS),
    "A/A, jitter 4 %, 1 ms": Scenario(_pair(JITTER, 1 * MS, JITTER), *_ALARMS),
    "2 % slower, 100 us": Scenario(_pair(Manner(length=1.02), 100 * US), *_FOUND),
    "3 % slower, 100 us": Scenario(_pair(Manner(length=1.03), 100 * US), *_FOUND),
    "frequency steps of 8 %": Scenario(replace(_pair(STEADY, 100 * US), step=0.08), *_ALARMS),
    "a ramp of 6 % within each launch": Scenario(_pair(Manner(ramp=0.06), 100 * US, Manner(ramp=0.06)), *_ALARMS),
    "5 or 6 launches": Scenario(replace(_pair(STEADY, 100 * US), start_ns=0.7e9), *_ALARMS),
    "five rivals": Scenario(Track((STEADY,) * 6, call_ns=100 * US), *_ALARMS, has_gate=False),
    "suffers 1.5 times as much from the host": Scenario(_pair(Manner(suffers=1.5), 100 * US), *_ALARMS),
    "jitter 4 % against 1 %, 1 ms": Scenario(_pair(JITTER, 1 * MS, CALM), *_ALARMS),
    "jitter 4 % against 1 %, 100 us": Scenario(_pair(JITTER, 100 * US, CALM), *_ALARMS),
    "1 in 50 calls 3x, 1 ms": Scenario(_pair(Manner(slow_calls=0.02), 1 * MS), *_FLATTERY),
    "1 in 10 calls 3x, 20 ms": Scenario(_pair(Manner(slow_calls=0.1), 20 * MS), *_GATES),
    "1 in 10 calls 3x, 1 ms": Scenario(_pair(Manner(slow_calls=0.1), 1 * MS), *_GATES),
    "half of the blocks +15 %, 1 ms": Scenario(_pair(Manner(slow_blocks=0.5), 1 * MS), *_GATES),
    "15 % of launches +20 %, 1 ms": Scenario(_pair(Manner(slow_launches=0.15), 1 * MS), *_FLATTERY),
    **{
        f"{times:,} times as fast, jitter 4 %, 1 ms": Scenario(
            _pair(replace(JITTER, length=1 / times), 1 * MS, JITTER), *_RIGHT, has_gate=False
        )
        for times in (10, 100, 1000)
    },
}


def _seen(subject: Subject, truth: float) -> Seen:
    low, high = subject.speedup_low or 0.0, subject.speedup_high or math.inf
    return Seen(str(subject.verdict), subject.speedup or math.nan, low <= truth <= high, subject.varies)


def _race(seed: int, name: str) -> list[Seen]:
    scenario = SCENARIOS[name]
    options = RaceOptions(baseline=BASELINE, time=scenario.time_s, min_effect=MIN_EFFECT, seed=seed)
    subjects = compare(simulate_on(scenario.track, seed, options), BASELINE, MIN_EFFECT)
    return [_seen(subject, scenario.truth) for subject in subjects[1:]]


def _gate(seed: int, name: str) -> str:
    """The outcome of a gate, whose race has the baseline once more as its control."""
    scenario = SCENARIOS[name]
    base, rival = scenario.track.manners
    track = replace(scenario.track, manners=(base, base, rival))
    options = RaceOptions(baseline=BASELINE, time=GATE_S, min_effect=MIN_EFFECT, seed=seed)
    enough = partial(all_told, baseline=BASELINE, min_effect=MIN_EFFECT, max_slowdown=MAX_SLOWDOWN)
    measured = zip((BASELINE, CONTROL, NEW), simulate_on(track, seed, options, enough), strict=True)
    subjects = compare([structs.replace(each, name=name) for name, each in measured], BASELINE, MIN_EFFECT)
    case = Case(model="", baseline=BASELINE, min_effect=MIN_EFFECT, subjects=subjects)
    return outcome_of(after_controls(limits_in([case], MAX_SLOWDOWN), [control_in(case)]))


def tally(name: str, races: int) -> Tally:
    """Simulate a scenario."""
    scenario = SCENARIOS[name]
    gates = repeated(partial(_gate, name=name), races // 4) if scenario.has_gate else []
    return Tally(scenario.truth, repeated(partial(_race, name=name), races), Counter(gates))


def scenarios(races: int = 400, only: str = "") -> list[str]:
    """All of them, or those whose name has a word in it."""
    lines = []
    for name, scenario in SCENARIOS.items():
        if only in name:
            found = tally(name, races)
            missed = "" if scenario.is_kept(found) else ", MISSED"
            lines.append(f"- {name}: {found.line()} (goal: {scenario.goal}{missed})")
            print(lines[-1], flush=True)
    return [
        f"{races} races of 9 s each, and {races // 4} gates with a control; call by call, noise as in the plain ones.",
        "Truth is by means of calls without other guests of the host. Verdicts: share of races with one such rival.",
        "",
        *lines,
    ]
