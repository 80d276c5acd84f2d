"""Runs of a model as series, and what they say."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.judges.history import judge_history, machine_text, version_order
from onnxperf.records.base import Scalar
from onnxperf.records.history import By, History, HistoryPoint, StoredSubject, TimeOrigin, timed_points
from tests.histories import noisy

INTEL = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.31.1", conditions={"threads": 2})
Times = Sequence[float | None] | tuple[HistoryPoint, ...]
APPLE = TimeOrigin(cpu="Apple M2", cores=8, logical_cpus=8, onnxruntime="1.31.1", conditions={"threads": 2})


def points(times: Sequence[float | None], **more: Any) -> tuple[HistoryPoint, ...]:
    """A run a day."""
    given: dict[str, Any] = {"version": "1.31.1", **more}
    return tuple(
        HistoryPoint(
            f"run{n}",
            f"2026-{1 + n // 28:02}-{1 + n % 28:02}T12:00:00.000000+00:00",
            ns,
            status="crashed" if ns is None else "ok",
            **given,
        )
        for n, ns in enumerate(times)
    )


def subject(
    times: Sequence[float | None] | tuple[HistoryPoint, ...], origin: TimeOrigin = INTEL, **more: Any
) -> StoredSubject:
    fields = {"name": "ort", "model": "m", "runtime": "ort", "call": "run", **more}
    made = times if isinstance(times, tuple) else points(times)
    return StoredSubject(**fields, origin=origin, points=made)


def judged(*stored: StoredSubject, by: By | None = None, limit: int | None = None) -> History:
    return judge_history("m", stored, by, 0.01, limit)


STEP = list(noisy({30: 100e3, 31: 110e3}))


def test_a_change_names_the_runs_beside_it_and_the_ratio() -> None:
    (series,) = judged(subject(STEP)).series
    (change,) = series.changes
    assert (change.index, change.last_before.run, change.first_after.run) == (30, "run29", "run30")
    assert change.ratio == pytest.approx(1.1, rel=0.02)
    assert change.ratio == pytest.approx(change.after_ns / change.before_ns)
    assert series.noise == pytest.approx(0.02, rel=0.3)
    assert series.answer == "slower by 9.92 % since run run30 (2026-02-03)"


def test_what_failed_is_no_point_of_the_trend() -> None:
    times: list[float | None] = [*STEP[:10], None, None, *STEP[10:]]
    (series,) = judged(subject(times)).series
    (change,) = series.changes
    timed = series.timed()
    assert len(series.points) == 63
    assert series.failures() == 2
    assert len(timed) == 61
    assert timed[change.index][0] == change.first_after


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (HistoryPoint("r", "", 5.0, 6.0), 5.0),
        (HistoryPoint("r", "", 5.0, status="differs"), 5.0),
        (HistoryPoint("r", "", 5.0, status="crashed"), None),
        *((HistoryPoint("r", "", ns), None) for ns in (0.0, -1.0, math.inf, math.nan)),
        (HistoryPoint("r", "", None, 6.0), None),
    ],
)
def test_only_what_was_measured_to_its_end_has_a_time(point: HistoryPoint, expected: float | None) -> None:
    assert [ns for _, ns in timed_points([point], "median")] == ([] if expected is None else [expected])


def test_the_mean_is_taken_where_older_runs_have_no_median() -> None:
    old = tuple(HistoryPoint(f"o{n}", f"2025-01-{n:02}T00:00:00+00:00", None, 9.0) for n in range(1, 10))
    new = tuple(HistoryPoint(f"n{n}", f"2026-01-{n:02}T00:00:00+00:00", 8.0, 9.0) for n in range(1, 4))
    record = judged(subject(old + new))
    assert record.series[0].measure == "mean"
    assert record.series[0].changes == ()
    assert "mean times of calls, as most of these runs have no undisturbed time" in record.notes


def test_a_change_has_an_interval() -> None:
    (change,) = judged(subject(STEP)).series[0].changes
    assert change.ratio_low is not None
    assert change.ratio_high is not None
    assert 1.05 < change.ratio_low < change.ratio < change.ratio_high < 1.15
    assert change.ratio_low < 1.1 < change.ratio_high


def daily(deviation: float, days: int = 20, runs: int = 5, **more: Any) -> tuple[HistoryPoint, ...]:
    """Several runs a day, which share what the day does to the machine."""
    rng = random.Random(7)
    levels = [100e3 * rng.gauss(1, deviation) for _ in range(days)]
    return tuple(
        HistoryPoint(
            f"run{day}.{n}", f"2026-03-{1 + day:02}T{8 + n:02}:00:00+00:00", level * rng.gauss(1, 0.01), **more
        )
        for day, level in enumerate(levels)
        for n in range(runs)
    )


def test_runs_of_one_day_are_one_value_and_stay_visible() -> None:
    (series,) = judged(subject(daily(0.02))).series
    assert (len(series.points), series.averages, series.changes) == (100, 20, ())
    assert series.answer == "no change point in 100 runs, 20 averages per day, commit, version and model file"
    slower = [replace(each, median_ns=1.3 * (each.median_ns or 0)) for each in series.points[50:]]
    (changed,) = judged(subject((*series.points[:50], *slower))).series
    (change,) = changed.changes
    assert (change.index, change.last_before.run, change.first_after.run) == (50, "run9.4", "run10.0")
    (few,) = judged(subject(daily(0.02)[:30])).series
    assert few.answer == (
        "30 runs, 6 averages per day, commit, version and model file, too few to look for a change point (8 are needed)"
    )


@pytest.mark.parametrize("field", ["commit", "version", "fingerprint"])
def test_what_differs_in_its_source_is_averaged_apart(field: str) -> None:
    made = [replace(each, **{field: f"{n % 2}"}) for n, each in enumerate(daily(0.02, days=4))]
    (series,) = judged(subject(tuple(made))).series
    assert series.averages == 8
    assert [getattr(each, field) for each in series.points[:5]] == ["0", "0", "0", "1", "1"]


def paced(times: Sequence[float], paces: Sequence[float | None], median_ns: float = 9e9) -> tuple[HistoryPoint, ...]:
    """Undisturbed times on a machine of such paces, known by the yardstick; medians say something else."""
    return tuple(
        replace(each, median_ns=median_ns, time_ns=ns * (pace or 1.0), yardstick_ns=pace and 50e3 * pace)
        for each, ns, pace in zip(points([1.0] * len(times)), times, paces, strict=True)
    )


STILL = noisy({40: 100e3}, 0.01)


def test_times_are_relative_to_the_yardstick_of_their_run() -> None:
    record = judged(subject(paced(STILL, [1.0] * 20 + [1.2] * 20)))
    (series,) = record.series
    assert (series.measure, series.yardstick_ns, series.changes) == ("undisturbed", 55e3, ())
    assert [ns for _, ns in series.timed()] == pytest.approx([1.1 * ns for ns in STILL])
    assert record.notes[0] == (
        "times are undisturbed times of a call, relative to zoo:yardstick in the same run: they are shown as if it "
        "always took its median time, 55.0 µs"
    )
    assert record.notes[1].startswith("zoo:yardstick itself is slower by 20.0 % since run run20 (2026-01-21)")
    (change,) = judged(subject(paced(STEP, [1.1, 1.0] * 30 + [1.0]))).series[0].changes
    assert change.ratio == pytest.approx(1.1, rel=0.02)


@pytest.mark.parametrize(
    ("known", "measure", "relative", "shown"),
    [
        (40, "undisturbed", True, 40),
        (20, "undisturbed", True, 20),  # the others are left out
        (19, "undisturbed", False, 40),
        (0, "undisturbed", False, 40),
    ],
)
def test_a_series_is_relative_to_the_yardstick_if_half_of_it_is(
    known: int, measure: str, relative: bool, shown: int
) -> None:
    record = judged(subject(paced(STILL, [None] * (40 - known) + [1.0] * known)))
    (series,) = record.series
    assert (series.measure, series.yardstick_ns is not None, len(series.timed())) == (measure, relative, shown)
    left_out = [each for each in record.notes if "left out of the trend" in each]
    assert left_out == (["20 runs are left out of the trend, which have no such time or no yardstick"] * (known == 20))
    assert series.failures() == 0


@pytest.mark.parametrize(("older", "measure"), [(8, "undisturbed"), (9, "median")])
def test_older_runs_without_an_undisturbed_time_decide_if_they_are_most(older: int, measure: str) -> None:
    new = points([100e3] * 16)
    made = (*new[:older], *(replace(each, time_ns=90e3) for each in new[older:]))
    (series,) = judged(subject(made)).series
    assert series.measure == measure
    assert {ns for _, ns in series.timed()} == {90e3 if measure == "undisturbed" else 100e3}


def test_machines_are_compared_by_times_as_they_are() -> None:
    (series,) = judged(subject(paced(STILL, [2.0] * 40)), by="machine").series
    assert (series.measure, series.yardstick_ns) == ("undisturbed", None)
    assert series.groups[0].median_ns == pytest.approx(200e3, rel=0.02)


def test_machines_sizes_calls_and_settings_are_series_of_their_own() -> None:
    settings = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.31.1", conditions={"threads": 1})
    sized = TimeOrigin(
        cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.31.1", conditions={"threads": 2}, dims={"batch": 8}
    )
    record = judged(
        subject([1.0]),
        subject([2.0], APPLE),
        subject([3.0], settings),
        subject([4.0], sized),
        subject([5.0], call="run-c"),
    )
    assert [[point.median_ns for point in each.points] for each in record.series] == [[2.0], [1.0], [3.0], [5.0], [4.0]]
    assert [each.name for each in record.series] == [
        "ort run, threads=2",
        "ort run, threads=2",
        "ort run, threads=1",
        "ort run-c, threads=2",
        "ort run, threads=2",
    ]


def test_another_version_is_the_same_series_and_another_environment_is_not() -> None:
    newer = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.32.0", conditions={"threads": 2})
    conditions: dict[str, Scalar] = {"threads": 2, "onnxruntime": "1.20.0"}
    beside = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.32.0", conditions=conditions)
    record = judged(subject([1.0]), subject([2.0], newer), subject([3.0], beside))
    assert [each.name for each in record.series] == ["ort run", "ort run, onnxruntime 1.20.0"]
    assert len(judged(subject([1.0]), subject([2.0], newer), subject([3.0], beside), by="version").series) == 1


def test_subjects_that_differ_only_in_their_names_are_kept_apart() -> None:
    record = judged(subject([1.0, 2.0], name="first"), subject([3.0, 4.0], name="second"))
    assert [each.name for each in record.series] == ["ort run, first", "ort run, second"]
    renamed = judged(subject(points([1.0])), subject((points([1.0, 2.0])[1],), name="new name"))
    assert [len(each.points) for each in renamed.series] == [2]


def test_what_failed_before_it_was_loaded_is_in_the_series_of_its_like() -> None:
    nothing = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.31.1")
    beside: dict[str, Scalar] = {"threads": 2, "onnxruntime": "1.20.0"}
    env = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=4, onnxruntime="1.31.1", conditions=beside)
    record = judged(subject([3.0], env), subject([1.0]), subject([None], nothing))
    assert [(each.name, len(each.points)) for each in record.series] == [
        ("ort run, onnxruntime 1.20.0", 1),
        ("ort run", 2),
    ]
    (alone,) = judged(subject([None], nothing)).series
    assert alone.answer == "0 runs, too few to look for a change point (8 are needed)"


def test_only_the_newest_runs_are_looked_at_where_a_limit_is_given() -> None:
    (series,) = judged(subject(STEP), limit=20).series
    assert [point.run for point in series.points] == [f"run{n}" for n in range(41, 61)]
    assert series.changes == ()


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("version", ["1.9.0", "1.10.0"]),
        ("commit", ["b", "a"]),
        ("day", ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]),
        ("machine", ["Intel Xeon, 2 cores (4 logical)"]),
    ],
)
def test_runs_are_grouped(by: By, names: list[str]) -> None:
    made = points([1.0, 3.0, 2.0, None, 6.0])
    known = [("1.10.0", "b"), ("1.9.0", "a"), ("1.10.0", "b"), ("1.9.0", "a"), ("1.9.0", "b")]
    days = [1, 2, 3, 3, 4]
    placed = tuple(
        HistoryPoint(each.run, f"2026-01-{day:02}T12:00:00+00:00", each.median_ns, None, each.status, *more)
        for each, more, day in zip(made, known, days, strict=True)
    )
    (series,) = judged(subject(placed), by=by).series
    assert [each.name for each in series.groups] == names
    assert sum(each.runs for each in series.groups) == 4
    first, *_, last = (*series.groups, series.groups[-1])
    assert first.ratio == 1.0
    assert last.ratio == pytest.approx(last.median_ns / first.median_ns)


def test_a_group_has_the_median_and_the_ends_of_its_times() -> None:
    (group,) = judged(subject([3.0, 1.0, 8.0]), by="version").series[0].groups
    assert (group.runs, group.median_ns, group.min_ns, group.max_ns) == (3, 3.0, 1.0, 8.0)


def test_machines_are_compared_and_have_no_change_points() -> None:
    record = judged(subject(STEP), subject([60e3] * 9, APPLE), by="machine")
    (series,) = record.series
    assert series.changes == ()
    assert [each.name for each in series.groups] == ["Apple M2, 8 cores", "Intel Xeon, 2 cores (4 logical)"]
    assert record.answer == (
        "m: lowest median on Apple M2, 8 cores, 60.0 µs in 9 runs, of 2 machines, which were not measured in turn."
    )


@pytest.mark.parametrize(
    ("by", "more", "words"),
    [
        (None, {}, "since run run30 (2026-02-03)"),
        ("day", {}, "since 2026-02-03 (run run30)"),
        ("commit", {"commit": "1a2b3c"}, "since run run30 (commit 1a2b3c, 2026-02-03)"),
        (None, {"commit": "1a2b3c", "dirty": True}, "since run run30 (commit 1a2b3c with local changes, 2026-02-03)"),
    ],
)
def test_the_answer_says_since_when(by: By | None, more: dict[str, Any], words: str) -> None:
    record = judged(subject(points(list(STEP), **more)), by=by)
    assert words in record.answer


def test_the_answer_says_which_version_began_there_and_whether_the_file_is_another() -> None:
    before = points(list(STEP[:30]), version="1.30.0", fingerprint="a")
    after = points(list(STEP), version="1.31.1", fingerprint="b")[30:]
    record = judged(subject(before + after), by="version")
    assert "since onnxruntime 1.31.1 (run run30, onnxruntime 1.30.0 to 1.31.1, another model file" in record.answer
    assert "2 different files under this name" in record.notes


@pytest.mark.parametrize(
    ("stored", "answer"),
    [
        ([subject([1.0] * 3)], "m: 3 runs, too few to look for a change point (8 are needed)."),
        ([subject([1.0])], "m: 1 run, too few to look for a change point (8 are needed)."),
        ([subject([1.0] * 9)], "m: no change point in 9 runs."),
        ([subject([1.0] * 9), subject([1.0] * 12, APPLE)], "No change in 2 series of 9 to 12 runs."),
        (
            [subject([1.0] * 9), subject([1.0], APPLE)],
            "No change in 1 series of 9 runs; 1 series has too few runs to tell.",
        ),
        (
            [subject([1.0]), subject([1.0], APPLE)],
            "Too few runs to find a change: a series needs 8 of them.",
        ),
    ],
)
def test_nothing_found_is_said_as_such(stored: list[StoredSubject], answer: str) -> None:
    assert judged(*stored).answer == answer


def test_of_several_series_the_latest_change_is_told() -> None:
    record = judged(subject(STEP), subject([60e3] * 9, APPLE))
    assert record.answer.startswith("1 series of 2 changed; the latest, Intel Xeon, 2 cores (4 logical): slower by ")


@pytest.mark.parametrize(
    "ordered", [("1.9", "1.10"), ("1.10.dev1", "1.10.0"), ("1.10.0rc1", "1.10.1"), ("", "1.0"), ("1.2", "1.2.1")]
)
def test_versions_are_ordered_by_their_numbers(ordered: tuple[str, str]) -> None:
    assert version_order(ordered[0]) < version_order(ordered[1])


def test_a_machine_without_a_name_has_none() -> None:
    assert machine_text(TimeOrigin()) == ""


TIMES = st.none() | st.floats(0, 1e12)


@given(
    st.lists(st.lists(TIMES, max_size=30), max_size=3), st.sampled_from([None, "version", "commit", "machine", "day"])
)
def test_every_run_is_in_exactly_one_series(times: list[list[float | None]], by: By | None) -> None:
    stored = [subject(each, origin) for each, origin in zip(times, (INTEL, APPLE, TimeOrigin()), strict=False) if each]
    record = judged(*stored, by=by)
    assert sum(len(each.points) for each in record.series) == sum(map(len, times))
    for series in record.series:
        timed = series.timed()
        assert not by or sum(group.runs for group in series.groups) == len(timed)
        assert all(timed[each.index][0] == each.first_after for each in series.changes)
