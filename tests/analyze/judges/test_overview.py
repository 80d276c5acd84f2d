"""The overview of all models: the leading series, its trend, and what needs attention."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.analyze.judges.overview import concerns_of, histories_by_model, models_now
from onnxperf.records.history import StoredSubject
from onnxperf.records.overview import GateNow
from tests.histories import noisy
from tests.render.history_examples import INTEL, STEP, stored


def subject(times: list[float], model: str = "m", **more: object) -> StoredSubject:
    return stored(times, **{"model": model, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "trend", "level_us"),
    [
        (STEP, "slower", 110),
        (STEP[::-1], "faster", 100),
        (noisy({40: 100e3}), "equivalent", 100),
        ([100e3] * 5, "undecided", 100),
        ([*noisy({40: 100e3}), 900e3, *noisy({20: 100e3})], "equivalent", 100),
    ],
)
def test_the_trend_is_that_of_the_last_change_point(times: list[float], trend: str, level_us: int) -> None:
    histories = histories_by_model([subject(times)], 0.01, None)
    (now,) = models_now(histories)
    assert now.trend == trend
    assert now.time_ns is not None
    assert now.time_ns / 1e3 == pytest.approx(level_us, rel=0.02)
    assert now.change == (now.series.changes[-1] if now.series.changes else None)


def test_the_series_measured_last_leads_and_others_are_counted() -> None:
    old = subject([1e5] * 3)
    new = subject([2e5] * 9, origin=replace(INTEL, cpu="Apple M2"))
    wide = subject([3e5] * 3, origin=replace(INTEL, dims={"batch": 8}))
    histories = histories_by_model([old, new, wide], 0.01, None)
    rows = {tuple(each.series.dims.items()): each for each in models_now(histories)}
    assert rows.keys() == {(), (("batch", 8),)}
    assert (rows[()].series.machine.split(",")[0], rows[()].others) == ("Apple M2", 1)


def test_a_model_with_several_slower_series_needs_attention_once() -> None:
    several = [subject(STEP, origin=replace(INTEL, dims={"batch": n})) for n in (1, 2, 3)]
    histories = histories_by_model([*several, subject(STEP[::-1], "faster"), subject([1e5] * 9, "same")], 0.01, None)
    (concern,) = concerns_of(histories, [])
    assert (concern.what, concern.model, concern.run) == ("slower", "m", "run30")
    assert concern.text.endswith("and 2 other series")


def test_a_failure_needs_attention_until_the_next_run() -> None:
    points = subject([1e5] * 4).points
    for place, expected in ((3, ["failed"]), (2, [])):
        changed = [replace(each, status="crashed") if n == place else each for n, each in enumerate(points)]
        histories = histories_by_model([replace(subject([1e5]), points=tuple(changed))], 0.01, None)
        assert [each.what for each in concerns_of(histories, [])] == expected


def test_only_the_latest_gate_of_a_model_counts() -> None:
    def gate(model: str, outcome: object, day: int) -> GateNow:
        return GateNow(run=f"g{day}", started=f"2026-01-{day:02}", model=model, outcome=outcome)  # type: ignore[arg-type]

    gates = [
        gate("a", "passed", 9),
        gate("b", "failed", 8),
        gate("a", "failed", 7),
        gate("c", "undecided", 6),
        gate("d", None, 5),
    ]
    assert [(each.model, each.what) for each in concerns_of([], gates)] == [
        ("b", "gate failed"),
        ("c", "gate undecided"),
    ]
