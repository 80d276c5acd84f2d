"""Which trials race how long: all of them first, then those that may help; what is dropped claims nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from onnxperf.analyze.judges.advice import Attempt, judged_trials, with_repeat
from onnxperf.analyze.judges.comparison import compare
from onnxperf.api._advice import trials as module
from onnxperf.api._advice.budget import AdviceBudget
from onnxperf.api._advice.trials import RemedyTrials, TrialRaces
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning.candidates import RunCandidate
from onnxperf.options.functions import ADVISE
from onnxperf.records.advice import Goal, Hazard, Trial, Tried
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.records.race import Block, Case, Subject
from tests.api.models import make_model

CALL_NS = 1e5
NAMES = ("fast", "slow", "slower", "same", "same too")


class FakeRaces:
    """Races whose subjects have speedups that are known, with noise between launches."""

    def __init__(self, speedups: dict[str, float], noise: float = 0.003, call_ns: float = CALL_NS) -> None:
        self.speedups, self.noise, self.call_ns = speedups, noise, call_ns
        self.random = np.random.default_rng(3)
        self.raced: list[tuple[list[str], float]] = []
        self.rounds = {True: 24, False: 40}
        """Of the first race and of the second."""
        self.interrupted = False
        self.now = 0.0
        self.blocks: list[int | None] = []

    def clock(self) -> float:
        return self.now

    def __call__(
        self, _entry: Any, candidates: Sequence[RunCandidate], _settings: Any, options: RaceOptions, _progress: Any
    ) -> Case:
        names = [each.name for each in candidates]
        rounds = self.rounds[not self.raced]
        self.raced.append((names, options.time or 0.0))
        self.now += options.time or 0.0
        self.blocks.append(options.blocks)
        measured = [self._subject(name, rounds) for name in names]
        subjects = compare(measured, names[0], options.min_effect, options.alpha_share)
        return Case(model="m", baseline=names[0], subjects=subjects, interrupted=self.interrupted)

    def _subject(self, name: str, rounds: int) -> Subject:
        launches = np.exp(self.random.normal(0, self.noise, rounds // 4 + 1))
        call_ns = self.call_ns / self.speedups.get(name, 1.0)
        blocks = tuple(
            Block(
                round=number,
                position=0,
                launch=number // 4,
                calls=100,
                start_ns=number * 10**9,
                duration_ns=round(100 * call_ns * launches[number // 4]),
                quickest_ns=call_ns * launches[number // 4],
                cpu_ns=round(100 * call_ns),
            )
            for number in range(rounds)
        )
        status: Any = "failed" if name == "broken" else "ok"
        return Subject(name=name, status=status, looks=1, looks_planned=1, median_ns=call_ns, blocks=blocks)


@pytest.fixture
def trials(tmp_path: Path) -> RemedyTrials:
    path = tmp_path / "m.onnx"
    onnx.save(make_model(2), path)
    settings = parse({"threads": 1}, ADVISE)
    entry = open_entries(path, settings.inputs, None)[0]
    budget = AdviceBudget(75.0, 0.0, lambda: 0.0)  # of which the races have 60
    return RemedyTrials(entry, settings, SessionOptions(threads=1), tmp_path, lambda *_args: None, budget)


def add(trials: RemedyTrials, *names: str, goal: Goal = "time") -> None:
    several = [Trial(name=name, settings={"mem_pattern": "off"} | {f"session.x{name}": "1"}) for name in names]
    hazard = Hazard(kind=goal, title=goal, evidence="", remedy="", goal=goal, trials=tuple(several))
    trials.attempts += [Attempt(hazard, each, each.name) for each in several]
    trials.candidates += [RunCandidate(name, SessionOptions(threads=1)) for name in names]


def raced(trials: RemedyTrials, races: FakeRaces, monkeypatch: pytest.MonkeyPatch) -> TrialRaces:
    monkeypatch.setattr(module, "race_candidates", races)
    trials.budget.clock = races.clock
    return trials.race(races.call_ns, lambda _done, _text: None)


def judged(trials: RemedyTrials, found: TrialRaces) -> dict[str, Tried]:
    tried = judged_trials(trials.attempts, found.final, {}, found.screening)
    return {each.trial.name: each for each in tried}


def test_all_trials_race_first_and_those_that_may_help_for_the_rest_of_the_time(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *NAMES)
    races = FakeRaces({"fast": 1.1, "slow": 0.9, "slower": 0.5})
    found = judged(trials, raced(trials, races, monkeypatch))
    assert races.raced[0][0] == ["defaults", *NAMES]
    assert races.raced[0][1] == pytest.approx(21.0)
    assert races.raced[1][0][:2] == ["defaults", "fast"]
    assert not {"slow", "slower"}.intersection(races.raced[1][0])
    assert found["fast"].outcome == "gain"
    assert found["fast"].speedup == pytest.approx(1.1, rel=0.01)
    assert [found[name].outcome for name in ("slow", "slower")] == ["none", "none"]
    assert found["slower"].speedup == pytest.approx(0.5, rel=0.01)
    assert found["slower"].speedup_high is not None
    assert found["slower"].speedup_high < 0.55
    assert found["slower"].reason == "slower in every launch: dropped after screening"


def test_a_gain_rests_on_the_second_race_alone(trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch) -> None:
    add(trials, *NAMES)
    races = FakeRaces({"fast": 1.2})
    monkeypatch.setattr(module, "race_candidates", races)

    def flattering(*arguments: Any) -> Case:
        races.speedups = {"fast": 1.2 if not races.raced else 1.0}
        return races(*arguments)

    monkeypatch.setattr(module, "race_candidates", flattering)
    found = judged(trials, trials.race(CALL_NS, lambda _done, _text: None))
    assert found["fast"].outcome != "gain"
    assert found["fast"].speedup == pytest.approx(1.0, abs=0.01)


def test_of_slow_calls_only_as_many_race_on_as_can_be_decided(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *NAMES)
    races = FakeRaces({"fast": 1.1, "slow": 1.05, "slower": 1.03}, call_ns=4.5e8)
    races.rounds[True] = 3
    found = judged(trials, raced(trials, races, monkeypatch))
    assert races.raced[0][1] == pytest.approx(3.5 * 6 * 2.3 * 0.45)
    assert races.raced[1][0] == ["defaults", "fast"]
    assert races.blocks == [3, 20]
    assert found["fast"].outcome == "gain"
    assert found["slow"].outcome == "undecided"
    assert "there was no time left for a longer race; increase `time`" in found["slow"].reason
    assert found["slow"].speedup == pytest.approx(1.05, abs=0.02)


def test_what_saves_cpu_time_or_memory_is_not_dropped_for_being_slower(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *NAMES)
    add(trials, "asleep", goal="cpu")
    add(trials, "lean", goal="memory")
    races = FakeRaces({"slow": 0.9, "asleep": 0.8, "lean": 0.8})
    raced(trials, races, monkeypatch)
    assert {"asleep", "lean"}.issubset(races.raced[1][0])
    assert "slow" not in races.raced[1][0]


def test_where_nothing_may_help_there_is_no_second_race(trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch) -> None:
    add(trials, *NAMES, "broken")
    races = FakeRaces(dict.fromkeys(NAMES, 0.8))
    found = raced(trials, races, monkeypatch)
    assert found.final is None
    assert {each.outcome for name, each in judged(trials, found).items() if name != "broken"} == {"none"}
    assert (judged(trials, found)["broken"].status, judged(trials, found)["broken"].outcome) == ("failed", "untried")


def test_few_trials_race_once_for_all_of_the_time(trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch) -> None:
    add(trials, "fast", "slow")
    races = FakeRaces({"fast": 1.1, "slow": 0.9})
    found = raced(trials, races, monkeypatch)
    assert found.screening is None
    assert races.raced == [(["defaults", "fast", "slow"], 60.0)]


def test_a_gain_that_is_too_large_races_once_more_against_the_defaults_alone(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *NAMES)
    races = FakeRaces({"fast": 1.2})
    found = raced(trials, races, monkeypatch)
    assert found.final is not None
    races.speedups = {"fast": 1.0}
    repeat = trials.repeat(["fast"], found.final, lambda _done, _text: None)
    assert repeat is not None
    assert races.raced[-1][0] == ["defaults", "fast"]
    assert races.raced[-1][1] == pytest.approx(15.0)  # what is left
    doubted = [replace_share(each, 0.01) for each in trials.attempts]
    (again,) = [
        each
        for each in with_repeat(doubted, judged_trials(doubted, found.final, {}, found.screening), repeat)
        if each.trial.name == "fast"
    ]
    assert again.outcome != "gain"
    assert again.speedup == pytest.approx(1.0, abs=0.01)


def replace_share(attempt: Attempt, share: float) -> Attempt:
    return attempt._replace(hazard=replace(attempt.hazard, share=share))


def test_a_first_race_that_was_interrupted_is_all_there_is(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *NAMES)
    races = FakeRaces({"fast": 1.1})
    races.interrupted = True
    found = raced(trials, races, monkeypatch)
    assert found.screening is None
    assert found.final is not None
    assert len(races.raced) == 1


def test_the_time_that_would_decide_includes_that_of_the_first_race() -> None:
    base = Subject(name="defaults", status="ok", speedup=1.0, verdict="baseline")
    open_ = Subject(
        name="x", status="ok", speedup=1.01, speedup_high=1.1, verdict="undecided", reason="`time=65` would decide"
    )
    race = Case(model="m", baseline="defaults", subjects=(base, open_))
    hazard = Hazard(kind="k", title="t", evidence="e", remedy="r")
    attempt = Attempt(hazard, Trial(name="x"), "x")
    assert judged_trials([attempt], race, {}, race)[0].reason == "`time=100` would decide"
    assert judged_trials([attempt], race, {})[0].reason == "`time=65` would decide"


@pytest.mark.slow
def test_of_many_advices_on_a_model_for_which_nothing_helps_few_claim_a_gain(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *(f"t{number}" for number in range(12)))
    races = FakeRaces({}, noise=0.03)
    monkeypatch.setattr(module, "race_candidates", races)
    claims = 0
    for _ in range(100):
        races.raced.clear()
        found = judged(trials, trials.race(CALL_NS, lambda _done, _text: None))
        claims += any(each.outcome in ("gain", "trade") for each in found.values())
    assert claims <= 8  # 3.5 % are expected at most; 9 or more of 100 happen once in a hundred times


def test_a_race_option_of_the_user_holds_for_both_races(trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch) -> None:
    add(trials, *NAMES)
    seen: list[RaceOptions] = []
    races = FakeRaces({"fast": 1.1})

    def remembered(*arguments: Any) -> Case:
        seen.append(arguments[3])
        return races(*arguments)

    monkeypatch.setattr(module, "race_candidates", remembered)
    race = replace(trials.settings.race, min_effect=0.02)
    trials.settings = dataclasses.replace(trials.settings, race=race)
    trials.race(CALL_NS, lambda _done, _text: None)
    assert [each.min_effect for each in seen] == [0.02, 0.02]


# ---------------------------------------------------------------- the time of everything


@pytest.mark.parametrize(
    ("facts_s", "opening_s", "candidates", "races_s"),
    [
        (0.0, 0.0, 10, 48.0),
        (10.0, 0.0, 10, 40.0),
        (10.0, 0.5, 10, 30.0),
        (10.0, 5.0, 10, 20.0),
        (59.5, 0.5, 10, 1.0),
        (90.0, 0.5, 10, 1.0),
    ],
    ids=["no facts", "facts", "sessions", "slow sessions", "hardly any time left", "no time left"],
)
def test_races_have_what_facts_and_opening_sessions_leave(
    facts_s: float, opening_s: float, candidates: int, races_s: float
) -> None:
    budget = AdviceBudget(60.0, 0.0, lambda: facts_s, opening_s)
    assert budget.begin_races(candidates) == pytest.approx(races_s)


@pytest.mark.parametrize(
    ("now_s", "weighed", "time_s"), [(50.0, 0, 9.0), (50.0, 2, 4.0), (58.5, 0, 0.0), (70.0, 0, 0.0)]
)
def test_what_is_doubted_races_again_in_the_time_that_is_left(now_s: float, weighed: int, time_s: float) -> None:
    budget = AdviceBudget(60.0, 0.0, lambda: now_s, 0.5)
    assert budget.repeat_s(2, weighed) == pytest.approx(time_s)


def test_without_time_left_nothing_is_repeated_and_no_memory_is_measured(
    trials: RemedyTrials, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(trials, *NAMES)
    add(trials, "lean", goal="memory")
    races = FakeRaces({"fast": 1.2})
    found = raced(trials, races, monkeypatch)
    assert found.final is not None
    races.now, trials.budget.opening_s = 80.0, 1.0
    assert trials.repeat(["fast"], found.final, lambda _done, _text: None) is None
    assert trials.needs(found.final, lambda _done, _text: None) == {}
    assert trials.notes == ["memory was not compared for lack of time: increase `time`"]


@pytest.mark.parametrize(
    ("total_s", "races_s", "reason", "expected"),
    [
        (60.0, 40.0, "`time=100` would probably decide", "`time=150` would probably decide"),
        (60.0, 40.0, "slower in every launch", "slower in every launch"),
        (60.0, 0.0, "`time=100` would probably decide", "`time=100` would probably decide"),
        (0.3, 1.0, "`time=2` would probably decide", "`time=2` would probably decide"),
    ],
)
def test_a_time_that_would_decide_is_one_for_the_whole_command(
    total_s: float, races_s: float, reason: str, expected: str
) -> None:
    assert AdviceBudget(total_s, 0.0, races_s=races_s).of_whole(reason) == expected


@pytest.mark.parametrize(("spent_s", "noted"), [(59.0, False), (65.0, False), (75.0, True)])
def test_a_time_that_is_far_too_short_is_noted(spent_s: float, noted: bool) -> None:
    note = AdviceBudget(60.0, 0.0, lambda: spent_s).note
    assert ("it took 15 s longer than `time`" in note) == noted
