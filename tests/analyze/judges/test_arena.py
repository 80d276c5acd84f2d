"""What is unexplained of a need, and which settings of the arena are tried."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.judges.arena import settings_to_try, trial_of, unexplained_bytes
from onnxperf.records.memory import MemorySubject
from tests.render.memory import examples as made

MB = made.MB


@pytest.mark.parametrize(
    ("need_mb", "planned_mb", "copied_mb", "left_mb"),
    [
        (268, 71, 0, 197),
        (268, 71, 150, None),
        (268, 71, 50, 147),
        (85, 71, 0, None),
        (30, 11, 0, None),
        (1000, 900, 0, None),
        (None, 71, 0, None),
        (268, None, 0, None),
    ],
    ids=[
        "an arena",
        "copies explain it",
        "copies in part",
        "little",
        "few bytes",
        "a small part",
        "no need",
        "no plan",
    ],
)
def test_what_is_neither_planned_nor_copied_is_unexplained_where_it_is_much(
    need_mb: int | None, planned_mb: int | None, copied_mb: int, left_mb: int | None
) -> None:
    planned = None if planned_mb is None else planned_mb * MB
    breakdown = made.breakdown(planned_bytes=planned, copies=(made.cast("X", copied_mb),))
    need = None if need_mb is None else need_mb * MB
    assert unexplained_bytes(need, breakdown) == (None if left_mb is None else left_mb * MB)


def puzzling(**changes: Any) -> MemorySubject:
    return made.subject(**{"breakdown": made.breakdown(unexplained_bytes=100 * MB), **changes})


@pytest.mark.parametrize(
    ("subject", "settings"),
    [
        (puzzling(), ("off", "same-as-requested", "shrinkage")),
        (puzzling(call="io-binding"), ("off", "same-as-requested")),
        (puzzling(breakdown=made.breakdown()), ()),
        (puzzling(breakdown=None), ()),
        (puzzling(steps=tuple(replace(each, duration_ns=9 * 10**9) for each in made.steps())), ()),
    ],
    ids=["called with run", "another call", "all is explained", "no breakdown", "long calls"],
)
def test_settings_are_tried_where_they_may_help_and_take_little_time(
    subject: MemorySubject, settings: tuple[str, ...]
) -> None:
    assert settings_to_try(subject) == settings


def test_a_trial_keeps_the_need_and_the_time_of_a_call() -> None:
    trial = trial_of("off", made.subject())
    assert (trial.setting, trial.needed_bytes, trial.steady_ns) == ("off", 300 * MB, 20 * made.MS)
    assert trial_of("off", made.failed()).needed_bytes is None
