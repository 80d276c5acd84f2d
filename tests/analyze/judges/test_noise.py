"""The noise of a machine, and what the doctor says about it."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.doctor import conclusion, doctor_answer, race_text, warnings, why_not_kept
from onnxperf.analyze.judges.noise import noise_band
from onnxperf.records.base import Status
from onnxperf.records.race import Block, Subject
from tests.render import examples


def subject(name: str, times_ns: list[int], status: Status = "ok", launches: int = 1) -> Subject:
    blocks = tuple(
        Block(round=n, position=0, launch=n * launches // len(times_ns), calls=1, start_ns=0, duration_ns=time)
        for n, time in enumerate(times_ns)
    )
    return Subject(name=name, status=status, blocks=blocks, looks=1, looks_planned=1)


def later(name: str, times_ns: list[int]) -> Subject:
    """In rounds of its own."""
    made = subject(name, times_ns)
    return replace(made, blocks=tuple(replace(block, round=block.round + len(times_ns)) for block in made.blocks))


@pytest.mark.parametrize(
    ("second", "expected"),
    [(1000, 0.0), (1100, 1 - 1000 / 1100), (1000 / 1.1, 0.1)],
    ids=["equal", "slower", "faster"],
)
def test_the_band_reaches_from_1_to_the_far_end_of_the_interval(second: float, expected: float) -> None:
    pair = [subject("A", [1_000_000] * 30, launches=3), subject("A again", [round(second * 1000)] * 30, launches=3)]
    assert noise_band(pair) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("spread", "narrower_than"), [(0.005, 0.005), (0.2, 0.2)])
def test_noise_widens_the_band(spread: float, narrower_than: float) -> None:
    noise = random.Random(0)
    times = [[int(1e7 * math.exp(noise.gauss(0, spread))) for _ in range(120)] for _ in range(2)]
    band = noise_band([subject("A", times[0], launches=6), subject("A again", times[1], launches=6)])
    assert band is not None
    assert spread / 20 < band < narrower_than


@pytest.mark.parametrize(
    ("subjects", "interrupted"),
    [
        ([subject("A", [9] * 30), subject("B", [9] * 30)], True),
        ([subject("A", [9] * 30), subject("B", [9] * 30, "crashed")], False),
        ([subject("A", [9] * 19), subject("B", [9] * 19)], False),
        ([subject("A", []), subject("B", [], "failed")], False),
        ([subject("A", [9] * 30), later("B", [9] * 30)], False),
    ],
    ids=["interrupted", "crashed", "too few rounds", "never started", "never in the same round"],
)
def test_an_incomplete_race_has_no_band(subjects: list[Subject], interrupted: bool) -> None:
    assert noise_band(subjects, interrupted) is None


# ---------------------------------------------------------------- the words


@pytest.mark.parametrize(
    ("band", "time", "expected"),
    [
        (0.0, 6, "a race of 6 s on this machine shows differences of 0 % and more; 1 % needs nothing special."),
        (0.00801, 6, "a race of 6 s on this machine shows differences of 0.81 % and more; 1 % needs nothing special."),
        (0.01, 6, "a race of 6 s on this machine shows differences of 1 % and more; 1 % needs nothing special."),
        (0.02, 6, "a race of 6 s on this machine shows differences of 2 % and more; 1 % needs about 30 s (`time`)."),
        (
            0.0204,
            2.5,
            "a race of 2.5 s on this machine shows differences of 2.1 % and more; 1 % needs about 20 s (`time`).",
        ),
        (
            0.12,
            6,
            "differences of 12 % and more; 1 % would need about 900 s (`time`).\nThat is a lot: close other programs",
        ),
        (0.12, 6, "1 % would need about 900 s (`time`)."),
    ],
)
def test_the_sentence_says_how_small_a_difference_can_be_seen(band: float, time: float, expected: str) -> None:
    assert expected in conclusion(band, time)


@pytest.mark.parametrize(
    ("subjects", "stopped", "expected"),
    [
        ([subject("A", [9])], True, "The race was interrupted"),
        (
            [subject("A", [9]), subject("B", [], "crashed")],
            False,
            "The race failed, so the noise of this machine is not",
        ),
        ([subject("A", [9])], False, "it needs 20 rounds; give it more `time`."),
    ],
)
def test_an_unknown_noise_has_a_reason(subjects: list[Subject], stopped: bool, expected: str) -> None:
    quiet = examples.machine(load_before=0.1)
    assert expected in doctor_answer(quiet, None, 6, subjects, stopped)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({"load_before": None}, []),
        ({"cores": 2, "load_before": 1.0}, []),
        ({"cores": 2, "load_before": 1.5}, ["is 1.5 on 2 cores"]),
        ({"cores": 1, "load_before": 0.6}, ["is 0.6 on 1 core."]),
        ({"load_before": 0, "throttled_before": 3, "throttled_after": 3}, []),
        ({"load_before": 0, "throttled_before": 3, "throttled_after": 4}, ["overheated"]),
        ({"load_before": 0, "frozen": False}, ["cannot be frozen"]),
        ({"load_before": 0, "others_share": 0.05}, []),
        ({"load_before": 9.0, "others_share": 0.01}, []),
        ({"load_before": 9.0, "others_share": 0.342}, ["processes used 34 % of the processors during the race"]),
    ],
)
def test_a_bad_moment_is_warned_of(machine: dict[str, Any], expected: list[str]) -> None:
    found = warnings(examples.machine(**{"throttled_before": None, "throttled_after": None, **machine}))
    assert len(found) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, found, strict=True))


def test_warnings_stand_below_the_answer() -> None:
    busy = examples.machine(cores=2, load_before=4.0)
    answer, warning = doctor_answer(busy, 0.001, 6, [], stopped=False).splitlines()
    assert answer.startswith("Now, a race of 6 s")
    assert warning.startswith("Something else is running")


@pytest.mark.parametrize(
    ("band", "time", "threads", "reason"),
    [
        (0.01, 2, 1, "a bench takes 6 s and sees more than a shorter race"),
        (0.01, 6, 2, "with several threads it is the noise of a thread pool"),
        (0.031, 6, 1, "above 3 % it describes this moment rather than this machine"),
        (0.03, 6, 1, ""),
    ],
)
def test_a_band_that_would_mislead_a_bench_is_not_kept(band: float, time: float, threads: int, reason: str) -> None:
    assert why_not_kept(band, time, 6.0, threads) == reason


def test_the_race_is_described_by_its_effort() -> None:
    pair = [subject("A", [25_000, 25_000, 26_000, 25_000], launches=2)] * 2
    assert race_text("a model", 1, pair) == "a model of 25.0 µs a call against itself on 1 thread, 4 rounds, 2 launches"
    assert race_text("a model", 3, [subject("A", [])]) == "a model against itself on 3 threads, nothing measured"
