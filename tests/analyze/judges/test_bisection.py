"""Which end a comparison is nearer to, given what is known of both ends."""

from __future__ import annotations

import pytest

from benchmarks import bisect_rates
from onnxperf.analyze.judges.bisection import enough_for, side_of
from onnxperf.records.bisect import BisectStep, Purpose
from tests.analyze.judges.test_advice import subject


def step(purpose: Purpose, ratio: float | None, low: float | None, high: float | None) -> BisectStep:
    return BisectStep(
        purpose=purpose,
        base="",
        candidate="",
        side="undecided",
        verdict="slower",
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
    )


@pytest.mark.parametrize(
    ("ends", "between", "side"),
    [
        ((1.44, 1.43, 1.45), (1.30, 1.26, 1.34), "bad"),
        ((1.44, 1.20, 1.73), (1.30, 1.26, 1.34), "undecided"),
        ((1.44, 1.43, 1.45), (1.10, 1.06, 1.14), "good"),
        ((1.44, 1.20, 1.73), (1.10, 1.06, 1.14), "undecided"),
        ((1.44, 1.20, 1.73), (1.44, 1.42, 1.46), "bad"),
        ((1.44, 1.20, 1.73), (1.00, 0.99, 1.01), "good"),
        ((1 / 1.44, 1 / 1.45, 1 / 1.43), (1 / 1.30, 1 / 1.34, 1 / 1.26), "bad"),
        ((1 / 1.44, 1 / 1.73, 1 / 1.20), (1 / 1.30, 1 / 1.34, 1 / 1.26), "undecided"),
        ((1.44, None, None), (1.44, 1.42, 1.46), "undecided"),
        ((1.44, 1.43, 1.45), (1.44, None, None), "undecided"),
    ],
    ids=[
        "beyond the half",
        "the half is not known well enough",
        "before the half",
        "nor on this side",
        "as the bad end",
        "as the good end",
        "the bad end is faster",
        "faster, and not known well enough",
        "ends without an interval",
        "a step without one",
    ],
)
def test_a_side_is_known_only_beyond_the_errors_of_the_step_and_of_the_ends(
    ends: tuple[float, float, float], between: tuple[float, float, float], side: str
) -> None:
    assert side_of(step("search", *between), "any", step("ends", *ends)) == side


@pytest.mark.parametrize("scene", bisect_rates.SCENES[-4:], ids=lambda scene: scene.text)
def test_wrong_sides_are_rare_however_badly_the_ends_are_known(scene: bisect_rates.Scene) -> None:
    counts = bisect_rates.drawn(scene, 150)["errors of both ends"]
    assert counts[scene.wrong] <= 0.05 * counts.total()


@pytest.mark.parametrize(
    ("call_ns", "enough"),
    [(2e5, True), (1.012e5, False), (1e5, True)],
    ids=["clear", "slower, but by how much is not known", "equivalent"],
)
def test_the_race_of_the_ends_goes_on_until_half_of_their_difference_is_known(call_ns: float, enough: bool) -> None:
    subjects = [subject("defaults", 1e5, 1e5), subject("x", call_ns, 1e5)]
    assert enough_for(("defaults", "x"), None, 0.01, 0.25)(subjects) == enough
