"""Times of one model in all runs, in every kind of store."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.records.history import StoredSubject
from onnxperf.records.sweep import time_of
from onnxperf.store import Store
from onnxperf.store.histories import SeriesSearch
from tests.histories import MODEL, timed
from tests.render import examples
from tests.store.examples import sql
from tests.store.writing import keep_case, mark_running, start_run


def keep(store: Store, ns: float, tags: dict[str, str] | None = None, **changes: str) -> str:
    model, file = changes.pop("model", MODEL), changes.pop("file", "f1")
    subjects = timed(ns, model=model), replace(examples.failed("numpy"), model=model, runtime="numpy", call=None)
    case = examples.case(*subjects, model=model, dims={"batch": 1}, fingerprint={model: file})
    return store.keep(examples.bench(case, machine=examples.machine(**changes)), "bench", tags=tags or {})


def named(found: list[StoredSubject]) -> dict[str, StoredSubject]:
    return {each.name: each for each in found}


def test_points_have_what_a_history_needs(store: Store) -> None:
    first = keep(store, 5000.0, {"commit": "1a2b3c", "dirty": "yes", "branch": "main"})
    second = keep(store, 6000.0, {"commit": "4d5e6f"})
    found = named(store.histories([MODEL]))
    assert sorted(found) == ["numpy", "ort"]
    ort = found["ort"]
    assert (ort.model, ort.runtime, ort.call) == (MODEL, "ort", "run")
    assert ort.origin.cpu == examples.machine().cpu
    assert ort.origin.dims == {"batch": 1}
    assert ort.origin.conditions == {"threads": 2, "onnxruntime": "1.31.1"}
    assert [(each.run, each.commit, each.dirty) for each in ort.points] == [
        (first, "1a2b3c", True),
        (second, "4d5e6f", False),
    ]
    assert [each.status for each in found["numpy"].points] == ["failed", "failed"]
    assert found["numpy"].points[0].median_ns is None
    assert {(each.version, each.fingerprint) for each in ort.points} == {("1.31.1", "f1")}


def test_points_have_undisturbed_times_of_the_subject_and_the_yardstick(store: Store) -> None:
    subject = timed(5000.0)
    case = examples.case(subject, model=MODEL, yardstick_ns=50e3)
    store.keep(examples.bench(case, replace(case, yardstick_ns=None)), "bench")
    (ort,) = store.histories([MODEL])
    assert [each.time_ns for each in ort.points] == [time_of(subject)] * 2
    assert [each.yardstick_ns for each in ort.points] == [50e3, None]
    sql(store, "UPDATE subjects SET time_ns = NULL, yardstick_ns = NULL")  # as older versions kept them
    assert {(each.time_ns, each.yardstick_ns) for each in store.histories([MODEL])[0].points} == {(None, None)}


def test_machines_are_subjects_of_their_own(store: Store) -> None:
    keep(store, 5000.0)
    keep(store, 3000.0, cpu="Apple M2")
    assert len(store.histories([MODEL])) == 4


@pytest.mark.parametrize(
    ("labels", "file", "number"),
    [
        ([MODEL], None, 2),
        (["other"], None, 1),
        (["other", MODEL], None, 3),
        (["unknown"], None, 0),
        ([], "f1", 3),  # all runs under a label that this file has had
        ([], "f2", 2),
        ([], "f3", 0),
        (["a\0b", "'; DROP TABLE runs; --"], None, 0),
    ],
)
def test_models_are_found_by_label_and_by_file(store: Store, labels: list[str], file: str | None, number: int) -> None:
    keep(store, 1.0, file="f1")
    keep(store, 2.0, file="f2")
    keep(store, 3.0, model="other", file="f1")
    found = [each for each in store.histories(labels, file) if each.name == "ort"]
    assert sum(len(each.points) for each in found) == number


def test_only_runs_since_a_day_are_read(store: Store) -> None:
    first, second = keep(store, 1.0), keep(store, 2.0)
    sql(store, "UPDATE runs SET started = '2025-03-01T00:00:00.000000+00:00' WHERE name = :name", name=first)
    (ort,) = (each for each in store.histories([MODEL], since="2026-01-01") if each.name == "ort")
    assert [each.run for each in ort.points] == [second]
    assert [len(each.points) for each in store.histories([MODEL], since="2025-01-01")] == [2, 2]
    assert store.histories([MODEL], since="3000-01-01") == []


def test_rows_of_older_versions_are_read_from_their_records(store: Store) -> None:
    keep(store, 1.0)
    new = store.histories([MODEL])
    sql(store, "UPDATE subjects SET origin = NULL")
    assert store.histories([MODEL]) == new
    keep(store, 2.0)
    assert [len(each.points) for each in store.histories([MODEL])] == [2, 2]
    sql(store, "UPDATE attempts SET machine = NULL")
    sql(store, "UPDATE subjects SET origin = NULL")
    assert named(store.histories([MODEL]))["ort"].origin == named(new)["ort"].origin


def test_of_several_attempts_the_last_that_was_finished_counts(store: Store) -> None:
    machine = examples.machine()
    run = start_run(store, "", "sweep", machine, keys=["a"])
    for ns in (1.0, 2.0):
        mark_running(store, run, "a")
        keep_case(store, run, "a", examples.case(timed(ns), model=MODEL), machine)
    mark_running(store, run, "a")
    (ort,) = store.histories([MODEL])
    assert [each.median_ns for each in ort.points] == [timed(2.0).median_ns]


def test_a_deleted_run_is_in_no_history(store: Store) -> None:
    run = keep(store, 1.0)
    store.delete(run)
    assert store.histories([MODEL]) == []
    assert store.labels() == []


def test_labels_are_in_order(store: Store) -> None:
    for model in ("b", "a", "b"):
        keep(store, 1.0, model=model)
    assert store.labels() == ["a", "b"]


def test_runs_are_found_by_all_of_their_tags(store: Store) -> None:
    first = keep(store, 1.0, {"commit": "1a2b3c4d", "note": "100%_a"})
    keep(store, 1.0, {"commit": "ffffffff", "note": "100%_a"})
    assert [run.id for run in store.runs(tags={"commit": "1a2b", "note": "100%_a"})] == [first]
    assert store.runs(tags={"commit": "%"}) == []
    assert store.runs(tags={"note": "100"}) == []
    store.tag_run(first, {"note": "new", "more": "1"})
    assert store.find(first).tags == {"commit": "1a2b3c4d", "note": "new", "more": "1"}


def test_the_newest_runs_of_all_models_are_those_of_their_histories(store: Store) -> None:
    for number in range(4):
        for model in ("a.onnx", "b.onnx"):
            keep(store, 1000.0 + number, model=model, cpu=f"CPU {number % 2}")
    every = store.newest_histories(SeriesSearch())
    for model in ("a.onnx", "b.onnx"):
        ours = {(each.name, each.origin.cpu): each for each in every if each.model == model}
        assert ours == {(each.name, each.origin.cpu): each for each in store.histories([model])}
    newest = {(each.model, each.name, each.origin.cpu): each for each in store.newest_histories(SeriesSearch(newest=1))}
    assert {key: [point.time_ns for point in each.points] for key, each in newest.items() if key[1] == "ort"} == {
        (model, "ort", f"CPU {number % 2}"): [pytest.approx(1000.0 + number)]
        for model in ("a.onnx", "b.onnx")
        for number in (2, 3)
    }


@pytest.mark.parametrize(
    ("wanted", "times"),
    [
        (SeriesSearch(models=("b.onnx",)), [3000.0]),
        (SeriesSearch(machine="Apple M2"), [2000.0]),
        (SeriesSearch(branch="feature/x"), [2000.0, 3000.0]),
        (SeriesSearch(branch="feature"), []),
        (SeriesSearch(since="2999"), []),
        (SeriesSearch(models=("b.onnx\0",), machine='a"b%', branch="\0"), []),
    ],
)
def test_filters_choose_among_the_newest_runs(store: Store, wanted: SeriesSearch, times: list[float]) -> None:
    keep(store, 1000.0, {"branch": "main"}, model="a.onnx")
    keep(store, 2000.0, {"branch": "feature/x"}, model="a.onnx", cpu="Apple M2")
    keep(store, 3000.0, {"branch": "feature/x"}, model="b.onnx")
    found = [point.time_ns for each in store.newest_histories(wanted) if each.name == "ort" for point in each.points]
    assert sorted(each for each in found if each) == [pytest.approx(each) for each in times]


def test_only_the_last_attempt_of_a_case_is_among_the_newest(store: Store) -> None:
    run = start_run(store, "", "sweep", examples.machine(), keys=["a"])
    for ns in (9000.0, 5000.0):
        mark_running(store, run, "a")
        keep_case(store, run, "a", examples.case(timed(ns), model=MODEL), examples.machine())
    (found,) = store.newest_histories(SeriesSearch())
    assert [each.time_ns for each in found.points] == [pytest.approx(5000.0)]
    assert [found] == store.histories([MODEL])


@pytest.mark.parametrize("damage", ["origin = '{}x'", "origin = NULL, record = '['", "time_ns = 'text'"])
def test_a_damaged_subject_is_left_out_of_the_newest(store: Store, damage: str) -> None:
    keep(store, 1000.0, model="good.onnx")
    keep(store, 2000.0, model="bad.onnx")
    if "text" in damage and store.place.startswith("postgresql"):
        pytest.skip("PostgreSQL stores no text in a number")
    sql(store, f"UPDATE subjects SET {damage} WHERE model = 'bad.onnx'")
    assert {each.model for each in store.newest_histories(SeriesSearch())} == {"good.onnx"}


def test_the_models_measured_last_are_named_and_others_counted(store: Store) -> None:
    for model in ("a.onnx", "b.onnx", "c.onnx", "a.onnx"):
        keep(store, 1000.0, {"branch": model[0]}, model=model)
    assert store.newest_models(SeriesSearch(), 2) == (["a.onnx", "c.onnx"], 1)
    assert store.newest_models(SeriesSearch(branch="b"), 2) == (["b.onnx"], 0)
    assert store.newest_models(SeriesSearch(machine="none"), 2) == ([], 0)
