"""The doctor, with workers that only pretend to compute, and once with real ones."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from onnxperf.api import doctor as doctoring
from onnxperf.errors import BadOption, MissingExtra, SubjectError
from onnxperf.measure.machine import noise
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.race import RaceEnd
from onnxperf.records import Block, Status, Subject
from tests.measure.fakes import FakeMachine, raising
from tests.render import examples

CALL_NS = 25_000.0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """A machine on which a call takes CALL_NS, give or take 1 %."""
    machine = FakeMachine(call_ns=dict.fromkeys(("A", "A again"), CALL_NS), slowdown=noisy(0.01), load_ns=1)
    quiet = examples.machine(load_before=0.1, load_after=0.1)
    monkeypatch.setattr(doctoring, "ProcessWorker", lambda spec, timeout_s: machine.launch(spec))
    monkeypatch.setattr(doctoring, "take_inventory", lambda _machine: [("providers", "some")])
    monkeypatch.setattr("onnxperf.measure.machine.describe.describe_machine", lambda: quiet)
    monkeypatch.setattr("onnxperf.measure.machine.describe.after_the_race", lambda machine: machine)
    return machine


def noisy(spread: float) -> Callable[[str, int], float]:
    gauss = random.Random(1).gauss
    return lambda _subject, _block: math.exp(gauss(0, spread))


def specs_of(machine: FakeMachine) -> list[WorkerSpec]:
    return [worker.spec for worker in machine.workers]


def remembered() -> float | None:
    known = noise.recall(examples.machine().cpu)
    return known.band if known else None


# ---------------------------------------------------------------- the race


def test_a_complete_race_gives_a_band_that_is_remembered(fake: FakeMachine) -> None:
    result = doctoring.doctor()
    assert result.noise_band is not None
    assert 0 < result.noise_band < 0.01
    assert remembered() == result.noise_band
    assert dict(result.rows)["noise kept for bench"].startswith("yes")
    assert result.sentence.endswith("; 1 % needs nothing special.")


def test_the_same_model_races_twice_on_one_thread_in_six_launches(fake: FakeMachine) -> None:
    doctoring.doctor()
    assert [spec.subjects[0].name for spec in specs_of(fake)] == ["A", "A again"] * 6
    assert {spec.threads for spec in specs_of(fake)} == {1}
    assert {spec.runtime for spec in specs_of(fake)} == {"ort"}
    assert len({tuple(spec.feeds["X"].data) for spec in specs_of(fake)}) == 1


@pytest.mark.parametrize(("spread", "narrower_than"), [(0.005, 0.005), (0.2, 0.2)])
def test_noise_widens_the_band(fake: FakeMachine, spread: float, narrower_than: float) -> None:
    fake.slowdown = noisy(spread)
    band = doctoring.doctor().noise_band
    assert band is not None
    assert spread / 20 < band < narrower_than


def test_threads_can_be_chosen(fake: FakeMachine) -> None:
    rows = dict(doctoring.doctor(threads=3).rows)
    assert {spec.threads for spec in specs_of(fake)} == {3}
    assert "on 3 threads" in rows["A/A race"]


@pytest.mark.parametrize(
    ("asked", "spread", "reason"),
    [({"time": 2}, 0.01, "shorter race"), ({"threads": 2}, 0.01, "thread pool"), ({}, 0.5, "above 3 %")],
    ids=["shorter than a bench", "several threads", "very noisy"],
)
def test_a_band_that_would_mislead_a_bench_is_shown_but_not_remembered(
    fake: FakeMachine, asked: dict[str, Any], spread: float, reason: str
) -> None:
    fake.slowdown = noisy(spread)
    result = doctoring.doctor(**asked)
    assert result.noise_band is not None
    assert remembered() is None
    assert reason in dict(result.rows)["noise kept for bench"]


def test_a_race_too_short_for_a_verdict_has_no_band(fake: FakeMachine) -> None:
    result = doctoring.doctor(time=0.1)
    assert result.noise_band is None
    assert "give it more --time" in result.sentence


def test_ctrl_c_leaves_the_facts_and_no_band(fake: FakeMachine) -> None:
    fake.troubles["time_block", "A", 50] = raising(KeyboardInterrupt())
    result = doctoring.doctor()
    assert result.noise_band is None
    assert remembered() is None
    assert "interrupted" in result.sentence
    assert ("providers", "some") in result.rows


def test_a_race_that_cannot_start_says_why(fake: FakeMachine) -> None:
    broken = raising(SubjectError("failed", "the library is broken"))
    fake.troubles |= {("load", "ort", 0): broken, ("load", "ort", 1): broken}
    result = doctoring.doctor()
    assert result.noise_band is None
    assert "the library is broken" in result.sentence
    assert "nothing measured" in dict(result.rows)["A/A race"]


def test_without_onnxruntime_numpy_races_and_it_is_said(fake: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise MissingExtra("onnxruntime", "cpu")

    monkeypatch.setattr(doctoring, "chosen_calls", missing)
    result = doctoring.doctor()
    assert result.noise_band is not None
    assert {spec.runtime for spec in specs_of(fake)} == {"callable"}
    assert "numpy's matmul (onnxruntime is not installed)" in dict(result.rows)["A/A race"]


@pytest.mark.parametrize("asked", [{"time": 0.0}, {"time": -1.0}, {"threads": 0}, {"threads": -2}])
def test_impossible_wishes_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(BadOption):
        doctoring.doctor(**asked)


@pytest.mark.slow
def test_a_real_race_runs_from_end_to_end() -> None:
    told: list[str] = []
    result = doctoring.doctor(time=1.0, progress=lambda _done, text: told.append(text))
    assert "failed" not in result.sentence
    assert "us a call against itself on 1 thread" in dict(result.rows)["A/A race"]
    assert "CPUExecutionProvider" in dict(result.rows)["providers"]
    assert told[0] == "looking at the machine"


# ---------------------------------------------------------------- the band


def subject(name: str, times_ns: list[int], status: Status = "ok") -> Subject:
    blocks = tuple(
        Block(round=n, position=0, launch=0, calls=1, start_ns=0, duration_ns=time) for n, time in enumerate(times_ns)
    )
    return Subject(name=name, status=status, blocks=blocks, looks=1, looks_planned=1)


def end(*subjects: Subject, interrupted: bool = False) -> RaceEnd:
    return RaceEnd(subjects=subjects, batches=1, interrupted=interrupted)


@pytest.mark.parametrize(
    ("second", "expected"),
    [(1000, 0.0), (1100, 1 - 1000 / 1100), (1000 / 1.1, 0.1)],
    ids=["equal", "slower", "faster"],
)
def test_the_band_reaches_from_1_to_the_far_end_of_the_interval(second: float, expected: float) -> None:
    race_end = end(subject("A", [1_000_000] * 30), subject("A again", [round(second * 1000)] * 30))
    assert doctoring.noise_band(race_end) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "race_end",
    [
        end(subject("A", [9] * 30), subject("B", [9] * 30), interrupted=True),
        end(subject("A", [9] * 30), subject("B", [9] * 30, "crashed")),
        end(subject("A", [9] * 19), subject("B", [9] * 19)),
        end(subject("A", []), subject("B", [], "failed")),
    ],
    ids=["interrupted", "crashed", "too few rounds", "never started"],
)
def test_an_incomplete_race_has_no_band(race_end: RaceEnd) -> None:
    assert doctoring.noise_band(race_end) is None


# ---------------------------------------------------------------- the words


@pytest.mark.parametrize(
    ("band", "time", "expected"),
    [
        (0.0, 6, "a race of 6 s shows differences of 0 % and more; 1 % needs nothing special."),
        (0.00801, 6, "a race of 6 s shows differences of 0.81 % and more; 1 % needs nothing special."),
        (0.01, 6, "a race of 6 s shows differences of 1 % and more; 1 % needs nothing special."),
        (0.02, 6, "a race of 6 s shows differences of 2 % and more; 1 % needs about 30 s (--time)."),
        (0.0204, 2.5, "a race of 2.5 s shows differences of 2.1 % and more; 1 % needs about 20 s (--time)."),
        (0.12, 6, "differences of 12 % and more. That is a lot: close other programs"),
        (0.12, 6, "1 % would need about 900 s (--time)."),
    ],
)
def test_the_sentence_says_how_small_a_difference_can_be_seen(band: float, time: float, expected: str) -> None:
    assert expected in doctoring.conclusion(band, time, end())


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({"load_before": None}, []),
        ({"cores": 2, "load_before": 1.0}, []),
        ({"cores": 2, "load_before": 1.5}, ["was 1.50 on 2 cores"]),
        ({"cores": 1, "load_before": 0.6}, ["was 0.60 on 1 core."]),
        ({"load_before": 0, "throttled_before": 3, "throttled_after": 3}, []),
        ({"load_before": 0, "throttled_before": 3, "throttled_after": 4}, ["too hot"]),
        ({"load_before": 0, "frozen": False}, ["cannot be frozen"]),
    ],
)
def test_a_bad_moment_is_warned_of(machine: dict[str, Any], expected: list[str]) -> None:
    said = doctoring.warnings(examples.machine(**{"throttled_before": None, "throttled_after": None, **machine}))
    assert len(said) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, said, strict=True))


def test_warnings_come_first(fake: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = examples.machine(cores=2, load_before=4.0)
    monkeypatch.setattr("onnxperf.measure.machine.describe.describe_machine", lambda: busy)
    assert doctoring.doctor().sentence.startswith("Something else is running")


def test_json_has_the_machine_the_rows_the_band_and_the_sentence(fake: FakeMachine) -> None:
    result = doctoring.doctor()
    written = json.loads(result.to_json())
    assert list(written) == ["version", "machine", "rows", "noise_band", "sentence"]
    assert written["machine"]["cpu"] == result.machine.cpu
    assert written["rows"]["providers"] == "some"
    assert written["noise_band"] == result.noise_band
    assert written["sentence"] == result.sentence
