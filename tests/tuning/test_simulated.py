"""Whole tunings on a simulated machine with noise and effects that are known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.tune import USELESS, SimulatedMeasure, claims_a_gain, simulated_search
from benchmarks.tune_rivals import quiet
from onnxperf.analyze.judges.tuning import Confirmation, Sample
from onnxperf.api._tuning.search import TuneSearch
from onnxperf.measure.race import Progress
from onnxperf.records.comparison import Comparison
from onnxperf.records.tune import DEFAULTS, TuneChoice
from onnxperf.tuning.halving import FEWEST_LAUNCHES, Budget


@pytest.mark.slow
def test_of_20_tunings_for_which_nothing_helps_at_most_one_claims_a_gain() -> None:
    assert sum(claims_a_gain(seed) for seed in range(20)) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_what_helps_alone_and_together_is_found_and_proven(seed: int) -> None:
    search = simulated_search(seed, {**USELESS, "one": 1.1, "two": 1.2})
    assert search.winner is not None
    assert set(search.winner.knobs) == {"one", "two"}
    assert search.confirmed is not None
    assert search.confirmed.found.ratio == pytest.approx(1.32, rel=0.05)
    slower = [row for name, row in search.rows.items() if name.startswith("slower")]
    assert all(row.dropped and row.launches == FEWEST_LAUNCHES for row in slower)


def test_gains_that_are_too_small_to_be_seen_alone_are_found_together() -> None:
    measure = Scripted({"big": 1.2, **dict.fromkeys("abcd", 1.008)})
    search = searched(measure, dict.fromkeys(["big", *"abcd"], False))
    assert search.best is not None
    assert search.best.choice.name == "big, a, b, c, d"
    assert {name: row.stage for name, row in search.rows.items() if len(row.choice.knobs) == 1}["big"] == "longer"
    assert search.rows[search.best.choice.name].stage == "together"


def test_what_harms_a_combination_is_left_out_of_it() -> None:
    class Clashing(Scripted):
        """Two choices that help alone and harm each other."""

        def _sample(self, choice: TuneChoice) -> Sample:
            sample = super()._sample(choice)
            clash = {"a", "b"} <= set(choice.name.split(", "))
            return sample._replace(speedup=(sample.speedup or 1.0) * 0.8) if clash else sample

    search = searched(Clashing({"a": 1.05, "b": 1.1, "c": 1.2, "d": 1.15}), dict.fromkeys("abcd", False))
    assert search.best is not None
    assert search.best.choice.name == "b, c, d"


def test_a_combination_that_takes_very_long_does_not_take_the_time_of_the_others() -> None:
    class Clashing(Scripted):
        """Two choices that help alone and take a hundred times as long together."""

        def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
            self.now += 20 * sum({"a", "b"} <= set(each.name.split(", ")) for each in choices)
            return super().lap(choices, progress)

        def _sample(self, choice: TuneChoice) -> Sample:
            clash = {"a", "b"} <= set(choice.name.split(", "))
            return Sample("ok", "", 0.01, 10_000.0) if clash else super()._sample(choice)

    search = searched(Clashing({"a": 1.1, "b": 1.2, "c": 1.3}), dict.fromkeys("abc", False), time_s=200.0)
    assert search.rows["a, b, c"].launches == 1
    assert search.best is not None
    assert search.best.choice.name == "b, c"


def test_a_tuning_ends_in_its_time() -> None:
    search = simulated_search(1, {**USELESS, "one": 1.1}, time_s=20.0)
    assert isinstance(search.measure, SimulatedMeasure)
    assert search.measure.machine.now_ns <= 22e9


class Scripted:
    """A measure whose choices have the same ratio in every launch, and that takes a second for each of them."""

    def __init__(self, speedups: dict[str, float], stop_after: int | None = None) -> None:
        self.speedups, self.stop_after = speedups, stop_after
        self.now, self.laps, self.raced = 0.0, 0, [0]
        self.errors: dict[str, float] = {}
        self.finalists: list[str] = []

    def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
        progress(0.5, "a round")
        if self.laps == self.stop_after:
            raise KeyboardInterrupt
        self.laps += 1
        self.now += 1 + len(choices)
        self.raced.append(len(choices))
        found = {DEFAULTS: Sample("ok", "", 1.0, 100.0)}
        return found | {each.name: self._sample(each) for each in choices}

    def _sample(self, choice: TuneChoice) -> Sample:
        if choice.name == "wrong":
            return Sample("differs", "output Y differs", 3.0, 30.0)
        if choice.name == "broken":
            return Sample("failed", "it cannot be loaded")
        speedup = 1.0
        for name in choice.name.split(", "):
            speedup *= self.speedups[name]
        return Sample("differs" if choice.approximate else "ok", "", speedup, 100 / speedup)

    def confirm(self, choices: Sequence[TuneChoice], time_s: float, progress: Progress) -> Confirmation:
        progress(0.5, "a round")
        self.now += time_s
        self.finalists = [each.name for each in choices]
        return Confirmation(choices[-1], Comparison(verdict="faster", ratio=self._sample(choices[-1]).speedup))

    def error(self, choice: TuneChoice) -> float | None:
        return max((self.errors.get(name, 0.0) for name in choice.name.split(", ")), default=None)


def searched(measure: Scripted, names: dict[str, bool], time_s: float = 1000.0, **more: object) -> TuneSearch:
    """`names` are choices, and whether each is approximate."""
    choices = [TuneChoice(name=name, knobs=(name,), approximate=each) for name, each in names.items()]
    clock = lambda: measure.now  # noqa: E731
    search = TuneSearch(measure, choices, Budget(0.0, time_s), 0.01, clock, quiet, **more)  # type: ignore[arg-type]
    search.run()
    return search


# ---------------------------------------------------------------- every setting earns its place


class Flattered(Scripted):
    """What has the part `lucky` looks better by 3 % in its first launches, as the best of many does."""

    def __init__(self, speedups: dict[str, float], lucky_launches: int = 11) -> None:
        super().__init__(speedups)
        self.left = dict.fromkeys(["a, lucky", "lucky"], lucky_launches)

    def _sample(self, choice: TuneChoice) -> Sample:
        sample = super()._sample(choice)
        self.left[choice.name] = self.left.get(choice.name, 0) - 1
        return sample._replace(speedup=(sample.speedup or 1.0) * 1.03) if self.left[choice.name] >= 0 else sample


def test_a_part_that_only_looked_good_in_the_search_is_left_out_and_the_whole_is_raced_beside_the_rest() -> None:
    measure = Flattered({"a": 1.2, "lucky": 1.0})
    search = searched(measure, dict.fromkeys(["a", "lucky"], False))
    assert search.best is not None
    assert search.best.choice.name == "a, lucky"
    assert measure.finalists == ["a, lucky", "a"]
    assert search.winner is not None
    assert search.winner.name == "a"
    assert [each.name for each in search.left_out] == ["lucky"]


@pytest.mark.parametrize(
    ("part", "gain", "finalists"),
    [
        ("ordinary", 1.008, ["a, ordinary"]),
        ("dimensions", 1.008, ["a"]),  # half of what matters is not enough for what asks something of the caller
        ("denormals", 1.008, ["a"]),
        ("dimensions", 1.03, ["a, dimensions"]),
    ],
)
def test_what_changes_numbers_or_what_a_caller_may_do_needs_a_gain_of_its_own(
    part: str, gain: float, finalists: list[str]
) -> None:
    measure = Scripted({"a": 1.2, part: gain})
    search = searched(measure, dict.fromkeys(["a", part], False))
    assert search.best is not None
    assert search.best.choice.name == f"a, {part}"
    assert measure.finalists == finalists


def test_of_parts_that_do_the_same_one_is_enough() -> None:
    class Substitutes(Scripted):
        """Either of two does it."""

        def _sample(self, choice: TuneChoice) -> Sample:
            lucky = 1.03 if len(choice.knobs) > 1 and self.laps < 15 else 1.0
            return Sample("ok", "", 1.2 * lucky, 100 / 1.2)

    measure = Substitutes({})
    search = searched(measure, dict.fromkeys("ab", False))
    assert search.best is not None
    assert search.best.choice.name == "a, b"
    assert measure.finalists == ["a, b", "a"]


# ---------------------------------------------------------------- time


@pytest.mark.parametrize(("slow_s", "from_lap", "tried"), [(7, 0, True), (500, 0, False), (500, 2, False)])
def test_a_launch_that_takes_too_long_is_stopped_and_the_time_is_kept(slow_s: int, from_lap: int, tried: bool) -> None:
    class Slow(Scripted):
        """One of the choices takes long, step by step."""

        def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
            is_slow = self.laps >= from_lap and any("slow" in each.name for each in choices)
            for _ in range(slow_s if is_slow else 0):
                self.now += 1
                progress(0.5, "a step")
            return super().lap(choices, progress)

    measure = Slow({"a": 1.2, "slow": 1.1})
    search = searched(measure, {"a": False, "slow": False}, time_s=60.0)
    assert measure.now <= 60
    assert not search.interrupted
    assert search.rows["slow"].was_tried is tried


@pytest.mark.parametrize(("start_s", "begun"), [(0.5, True), (30.0, False), (100.0, False)])
def test_what_does_not_fit_is_not_begun(start_s: float, begun: bool) -> None:
    class Costly(Scripted):
        """Every session takes long to open."""

        def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
            self.now += start_s * (1 + len(choices))
            return super().lap(choices, progress)

    measure = Costly({"a": 1.2, "b": 1.0})
    search = searched(measure, dict.fromkeys("ab", False), time_s=40.0)
    assert any(measure.raced) is begun
    assert any(row.was_tried for row in search.rows.values()) is begun
    assert measure.now <= max(40.0, start_s + 1)


def test_a_winner_of_the_search_that_there_is_no_time_to_confirm_is_not_called_better() -> None:
    class Endless(Scripted):
        """The confirming race does not come to an end."""

        def confirm(self, choices: Sequence[TuneChoice], time_s: float, progress: Progress) -> Confirmation:
            while True:
                self.now += 1
                progress(0.5, "a round")

    search = searched(Endless({"a": 1.2}), {"a": False}, time_s=60.0)
    assert not search.interrupted
    assert search.winner is None
    assert search.confirmed is not None
    assert search.confirmed.found.reason == "no time was left to confirm it; increase `time`"


# ---------------------------------------------------------------- the rest


def test_what_differs_or_fails_is_shown_and_not_tried_again() -> None:
    measure = Scripted({"good": 1.1})
    search = searched(measure, dict.fromkeys(["wrong", "broken", "good"], False))
    assert {name: (row.status, row.launches) for name, row in search.rows.items() if name != "good"} == {
        "wrong": ("differs", 1),
        "broken": ("failed", 0),
    }
    assert search.rows["wrong"].reason == "output Y differs"
    assert search.best is not None
    assert search.best.choice.name == "good"


@pytest.mark.parametrize(("max_error", "winner"), [(None, "exact"), (0.01, "exact"), (0.1, "exact, int8")])
def test_approximate_choices_are_measured_and_win_only_within_their_error(max_error: float | None, winner: str) -> None:
    measure = Scripted({"exact": 1.1, "int8": 3.0})
    measure.errors["int8"] = 0.05
    search = searched(measure, {"exact": False, "int8": True}, max_error=max_error)
    assert search.rows["int8"].error == 0.05
    assert search.rows["int8"].status == "ok"
    assert search.best is not None
    assert search.best.choice.name == winner


def test_what_there_is_no_time_for_is_skipped_and_said() -> None:
    names = {f"{number}": False for number in range(30)}
    search = searched(Scripted(dict.fromkeys(names, 1.0)), names, time_s=100.0)
    skipped = [row for row in search.rows.values() if row.status == "skipped"]
    assert skipped
    assert all("no time" in row.reason for row in skipped)
    assert len(search.rows) == 30


def test_where_nothing_is_to_be_confirmed_its_time_is_for_what_was_skipped() -> None:
    names = {f"{number}": False for number in range(8)}
    speedups = {name: 1.3 if name == "7" else 1.0 for name in names}
    search = searched(Scripted(speedups), names, time_s=50.0)
    assert search.rows["7"].launches == FEWEST_LAUNCHES
    assert search.best is not None
    assert search.best.choice.name == "7"
    assert search.confirmed is not None
    assert not any(row.status == "skipped" for row in search.rows.values())


def test_ctrl_c_leaves_the_best_until_then_and_a_resumed_search_keeps_what_was_measured() -> None:
    names = dict.fromkeys(["a", "b", "better"], False)
    speedups = {"a": 1.0, "b": 0.9, "better": 1.2}
    stopped = searched(Scripted(speedups, stop_after=5), names)
    assert stopped.interrupted
    assert stopped.best is not None
    assert stopped.best.choice.name == "better"
    assert stopped.confirmed is None
    again = Scripted(speedups)
    resumed = searched(again, names, rows=dict(stopped.rows))
    assert not resumed.interrupted
    assert resumed.rows["b"] == stopped.rows["b"]
    assert resumed.rows["better"].launches > stopped.rows["better"].launches
    assert max(again.raced) == 1  # the others were dropped before
    assert resumed.confirmed is not None


def test_progress_names_the_best_so_far() -> None:
    texts: list[str] = []
    measure = Scripted({"a": 1.0, "better": 1.25})
    choices = [TuneChoice(name=name, knobs=(name,)) for name in ("a", "better")]
    report = lambda done, text: texts.append(f"{0 <= done <= 1} {text}")  # noqa: E731
    TuneSearch(measure, choices, Budget(0.0, 500.0), 0.01, lambda: measure.now, report).run()
    assert texts[0] == "True each alone: a round"
    assert "True the better ones: a round; best so far better: 1.25×" in texts
    assert texts[-1].startswith("True confirming better: a round")


def test_where_nothing_helps_the_time_of_combinations_goes_to_what_was_skipped() -> None:
    names = {f"{number}": False for number in range(30)}
    useless = searched(Scripted(dict.fromkeys(names, 1.0)), names, time_s=100.0)
    helped = searched(Scripted(dict.fromkeys(names, 1.1)), names, time_s=100.0)
    tried = [sum(search.rows[name].launches > 0 for name in names) for search in (useless, helped)]
    assert tried[0] > tried[1]
