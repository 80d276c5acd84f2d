"""Runs kept and found again, in SQLite and in PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from msgspec.structs import replace

from onnxperf.errors import BadOption, DamagedRun, StoreError
from onnxperf.records.base import Machine
from onnxperf.records.check import Check, Difference
from onnxperf.records.decode import newest_version
from onnxperf.records.race import Bench
from onnxperf.store import Store, Trouble, open_store, rows
from onnxperf.store.documents import to_document
from onnxperf.store.owner import Owner, state_of, this_process
from tests.render import examples
from tests.store.examples import BENCHES, sql
from tests.store.writing import finish_run, keep_case, mark_running, start_run

CHECK = Check(
    model="m\udcff.onnx", first="ort", second="numpy", rtol=1e-3, atol=1e-5, outputs=(Difference(name="Y", equal=True),)
)


def sweep(store: Store, *keys: str) -> str:
    return start_run(store, "onnxperf sweep plan.toml", "sweep", examples.machine(), keys=keys)


# ---------------------------------------------------------------- whole records


@given(BENCHES)
def test_a_bench_comes_back_exactly_as_it_was(tmp_path_factory: pytest.TempPathFactory, bench: Bench) -> None:
    # One file for all examples: they must not disturb each other either.
    with open_store(tmp_path_factory.getbasetemp() / "property.sqlite") as store:
        assert store.load(store.keep(bench, "bench")) == bench


def test_a_bench_comes_back_from_any_database(store: Store) -> None:
    nasty = tuple(examples.subject(name, reason="\0", load_ns=10**18) for name in examples.NASTY_NAMES)
    bench = examples.bench(examples.case(*nasty, fingerprint={"a\0": "\udcff"}), examples.case(), examples.case())
    assert store.load(store.keep(bench, "bench")) == bench


@pytest.mark.parametrize(
    "changes",
    [{"p99_ns": float("nan")}, {"p99_ns": float("inf")}, {"p99_ns": -1.0}, {"load_ns": 10**400}, {"load_ns": -1}],
)
def test_numbers_that_no_measurement_has_are_refused_and_the_other_runs_can_be_read(
    store: Store, changes: dict[str, Any]
) -> None:
    good = store.keep(examples.bench(examples.case(examples.subject(p99_ns=-0.0))), "bench")
    bad = store.keep(examples.bench(examples.case(examples.subject(**changes))), "bench")
    with pytest.raises(DamagedRun, match=rf"run {bad} cannot be read: damaged: not the record of a Subject"):
        store.load(bad)
    assert {each.id for each in store.runs()} == {good, bad}
    assert repr(store.load(good).cases[0].subjects[0].p99_ns) == "-0.0"


def test_other_records_come_back_whole(store: Store) -> None:
    run = store.keep(CHECK, "check", "differs", answer="no")
    assert store.load_record(run) == CHECK
    assert (store.find(run).command, store.find(run).status, store.find(run).answer) == ("", "differs", "no")
    with pytest.raises(BadOption, match=rf"run {run} is not a race \(record: Check\)"):
        store.load(run)


def test_a_record_that_has_no_place_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="a Machine cannot be saved"):
        store.keep(examples.machine(), "bench")
    assert store.runs() == []


def test_a_run_of_a_newer_format_is_refused(store: Store) -> None:
    run = store.keep(examples.bench(version=newest_version(Bench) + 1), "bench")
    with pytest.raises(StoreError, match=r"format version \d+, but this onnxperf reads up to"):
        store.load(run)


def test_summaries_can_be_queried_with_sql(store: Store) -> None:
    store.keep(examples.bench(), "bench")
    rows = sql(store, "SELECT name, status, verdict, mean_ns FROM subjects ORDER BY mean_ns LIMIT 1")
    assert rows == [("ort-values", "ok", "faster", 7010.0)]


def test_rows_hold_what_identifies_a_subject_and_each_time_once(store: Store) -> None:
    subjects = (
        examples.subject("a", model="m.onnx", runtime="ort", call="run-c", call_ns=(7, 8)),
        examples.subject("b", model=None, runtime="callable", call=None),
    )
    store.keep(examples.bench(examples.case(*subjects, fingerprint={"m.onnx": "f00"})), "bench")
    assert sql(store, "SELECT name, model, fingerprint, runtime, call FROM subjects ORDER BY position") == [
        ("a", "m.onnx", "f00", "ort", "run-c"),
        ("b", None, None, "callable", None),
    ]
    for (record,) in sql(store, "SELECT record FROM subjects"):
        kept = json.loads(str(record))
        assert (kept["blocks"], kept["call_ns"]) == ([], [])
    [(record, machine)] = sql(store, "SELECT record, machine FROM attempts")
    assert json.loads(str(record))["subjects"] == []
    assert machine == to_document(examples.machine())


def test_subjects_come_back_in_their_order_whatever_that_of_the_rows(store: Store) -> None:
    run = store.keep(examples.bench(examples.case(examples.subject("a"), examples.subject("b"))), "bench")
    sql(store, "UPDATE subjects SET position = position + 10")
    sql(store, "UPDATE subjects SET position = 11 - position")
    assert [subject.name for subject in store.load(run).cases[0].subjects] == ["b", "a"]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process is fixed there")
def test_times_of_day_are_kept_in_utc_wherever_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        before = datetime.now(UTC)
        text = rows.time_of_day()
        assert text.endswith("+00:00")
        assert before <= datetime.fromisoformat(text) <= datetime.now(UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


# ---------------------------------------------------------------- the list


def test_the_list_is_newest_first_and_says_how_it_went(store: Store) -> None:
    began = rows.time_of_day()
    old = store.keep(examples.bench(), "bench", answer="fast")
    new = sweep(store, "a", "b")
    keep_case(store, new, "a", examples.case(status="oom"), examples.machine())
    newest, oldest = store.runs()
    assert (newest.id, newest.kind, newest.status, newest.cases, newest.cases_done) == (new, "sweep", "running", 2, 1)
    assert (oldest.id, oldest.command, oldest.answer) == (old, examples.bench().command, "fast")
    assert began <= oldest.started <= str(oldest.finished) <= rows.time_of_day()
    assert datetime.fromisoformat(oldest.started).tzinfo == UTC
    assert (newest.finished, newest.record, oldest.record) == (None, "Bench", "Bench")
    assert [run.id for run in store.runs(1)] == [new]
    assert [run.id for run in store.runs(kind="bench")] == [old]


def test_an_id_is_short_and_can_be_typed(store: Store) -> None:
    assert re.fullmatch("([bdfghjklmnprstvz][aiou]){3}", store.keep(CHECK, "check"))


def test_an_id_may_be_cut_and_last_is_the_newest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("lonukilonukabafido")
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    for _ in range(3):
        store.keep(CHECK, "check")
    assert [store.find(text).id for text in ("lonuki", "b", "BAFI", "last")] == ["lonuki", "bafido", "bafido", "bafido"]
    with pytest.raises(BadOption, match="several run ids start with 'lo': lonuka, lonuki"):
        store.find("lo")


@pytest.mark.parametrize("unknown", ["zzz", "", "%", "_", "\0", "\udcff"])
def test_an_unknown_id_is_refused(store: Store, unknown: str) -> None:
    store.keep(CHECK, "check")
    with pytest.raises(BadOption, match="no run"):
        store.find(unknown)
    with pytest.raises(BadOption, match="no run"):
        store.load(unknown)


def test_last_of_an_empty_store_is_refused(store: Store) -> None:
    with pytest.raises(BadOption, match="no run 'last'"):
        store.find("last")


def test_a_taken_name_leads_to_a_longer_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.choice", lambda letters: letters[0])
    assert [store.keep(CHECK, "check") for _ in range(3)] == ["bababa", "babababa", "bababababa"]


def test_equal_cases_are_numbered_and_a_bench_is_kept_without_them(store: Store) -> None:
    store.keep(replace(examples.bench(), cases=(examples.case(),) * 3), "bench")
    first, *others = [key for (key,) in sql(store, "SELECT key FROM cases ORDER BY id")]
    assert others == [f"{first} 2", f"{first} 3"]
    [(record,)] = sql(store, "SELECT record FROM runs")
    assert "cases" not in str(record)


def test_what_was_written_can_be_read_while_another_writes(store: Store, where: str) -> None:
    run = store.keep(examples.bench(), "bench")
    with open_store(where) as other, store.writing():
        assert [kept.id for kept in other.runs()] == [run]


def test_a_run_of_this_process_or_of_one_that_ended_can_be_deleted(store: Store) -> None:
    ended = sweep(store, "a")
    own(store, ended, Owner(host=this_process().host, pid=PARENT, started=1.0))  # another process has its number now
    for run in (sweep(store, "a"), ended):
        store.delete(run)
    assert store.runs() == []


def test_a_deleted_run_leaves_nothing_behind(store: Store) -> None:
    run, other = store.keep(examples.bench(), "bench"), store.keep(examples.bench(), "bench")
    store.delete(run)
    assert [kept.id for kept in store.runs()] == [other]
    counts = sql(store, "SELECT (SELECT count(*) FROM cases), (SELECT count(*) FROM attempts)")
    assert counts == [(1, 1)]
    assert sql(store, "SELECT count(*) FROM subjects") == [(len(examples.CALL_STYLES),)]


# ---------------------------------------------------------------- case by case


def test_cases_are_kept_one_by_one_in_the_order_of_the_plan(store: Store) -> None:
    run = sweep(store, "a", "b", "c")
    first, second = examples.case(dims={"batch": 1}), examples.case(dims={"batch": 2}, status="failed")
    mark_running(store, run, "b")
    keep_case(store, run, "b", second, examples.machine(), Trouble(reason="gone", signal=9, stderr_tail="\0tail"))
    mark_running(store, run, "a")
    assert store.cases_of(run) == {"a": "running", "b": "failed", "c": "pending"}
    keep_case(store, run, "a", first, examples.machine())
    finish_run(store, run, "interrupted", examples.machine(load_after=3.0))
    loaded = store.load(run)
    assert loaded.cases == (first, second)
    assert loaded.machine.load_after == 3.0
    assert sql(store, "SELECT reason, signal, stderr_tail FROM attempts WHERE status = 'failed'") == [
        ("gone", 9, "\\x00tail")
    ]
    assert (store.find(run).status, store.find(run).answer) == ("interrupted", "")


def test_a_run_has_the_machine_of_its_start_until_it_ends(store: Store) -> None:
    run = sweep(store, "a")
    keep_case(store, run, "a", examples.case())
    assert store.load(run).machine == examples.machine()
    assert store.find(run).status == "running"


def test_a_case_is_kept_in_its_own_attempt_that_began_last(store: Store) -> None:
    run = sweep(store, "a", "b")
    for key in ("a", "a", "b", "b", "b"):
        mark_running(store, run, key)
    attempts = 'SELECT key, number, a.status FROM attempts a JOIN cases ON cases.id = "case" ORDER BY a.id'
    keep_case(store, run, "a", examples.case())
    assert sql(store, attempts)[:2] == [("a", 1, "running"), ("a", 2, "ok")]
    assert {status for *_, status in sql(store, attempts)[2:]} == {"running"}
    for status in ("failed", "ok"):  # nothing of it is running: an attempt each
        keep_case(store, run, "c", examples.case(status=status))
    assert sql(store, attempts)[-2:] == [("c", 1, "failed"), ("c", 2, "ok")]


def test_an_attempt_has_no_output_and_no_versions_before_it_ends(store: Store) -> None:
    run = sweep(store, "a")
    mark_running(store, run, "a")
    row = "SELECT reason, stderr_tail, versions, machine, record FROM attempts"
    assert sql(store, row) == [("", "", "{}", None, None)]
    keep_case(store, run, "a", examples.case())
    assert sql(store, "SELECT versions, machine FROM attempts") == [("{}", None)]


def test_another_attempt_takes_the_place_of_the_last_one(store: Store) -> None:
    run = sweep(store, "a")
    failed, good = examples.case(status="failed"), examples.case()
    keep_case(store, run, "a", failed)
    mark_running(store, run, "a")
    assert store.load(run).cases == (failed,)  # until there is a better one
    keep_case(store, run, "a", good)
    assert store.load(run).cases == (good,)
    assert store.cases_of(run) == {"a": "ok"}
    assert sql(store, "SELECT number, status FROM attempts ORDER BY number") == [(1, "failed"), (2, "ok")]


# ---------------------------------------------------------------- owners


def own(store: Store, run: str, owner: Owner) -> None:
    sql(store, "UPDATE runs SET owner = :owner WHERE name = :run", owner=to_document(owner), run=run)


DEAD = Owner(host=this_process().host, pid=os.getpid(), started=1.0)
PARENT = os.getppid()


def test_what_a_dead_process_left_running_waits_again(store: Store) -> None:
    run = sweep(store, "a", "b")
    keep_case(store, run, "a", examples.case())
    mark_running(store, run, "b")
    own(store, run, DEAD)
    assert store.cases_of(run) == {"a": "ok", "b": "pending"}
    assert store.find(run).status == "interrupted"
    store.resume_run(run)
    assert store.cases_of(run) == {"a": "ok", "b": "pending"}
    assert store.find(run).status == "running"
    mark_running(store, run, "b")
    assert store.cases_of(run) == {"a": "ok", "b": "running"}
    assert sql(store, "SELECT status FROM attempts ORDER BY id") == [("ok",), ("crashed",), ("running",)]


def test_a_run_of_a_living_process_is_left_alone(store: Store) -> None:
    import psutil

    run = sweep(store, "a")
    started = psutil.Process(PARENT).create_time()
    own(store, run, Owner(host=this_process().host, pid=PARENT, started=started))
    with pytest.raises(StoreError, match=f"process {PARENT}"):
        store.resume_run(run)
    with pytest.raises(StoreError, match="still running"):
        store.delete(run)


def test_a_run_of_another_host_is_not_resumed(store: Store) -> None:
    run = sweep(store, "a")
    mark_running(store, run, "a")
    own(store, run, Owner(host="elsewhere.example", pid=1, started=1.0))
    assert store.cases_of(run) == {"a": "running"}
    with pytest.raises(StoreError, match=r"on elsewhere\.example"):
        store.resume_run(run)
    assert store.cases_of(run) == {"a": "running"}


def test_what_a_lost_process_had_begun_is_an_attempt_that_crashed_in_its_own_run_only(store: Store) -> None:
    lost, other = sweep(store, "a"), sweep(store, "a")
    for run in (lost, other):
        mark_running(store, run, "a")
        own(store, run, DEAD)
    own(store, other, this_process())
    store.resume_run(lost)
    assert (store.cases_of(lost), store.cases_of(other)) == ({"a": "pending"}, {"a": "running"})
    attempts = sql(store, "SELECT status, reason, finished IS NULL FROM attempts ORDER BY id")
    assert attempts == [("crashed", "its process ended without a message", False), ("running", "", True)]


@pytest.mark.parametrize(
    ("owner", "state"),
    [
        (this_process(), "alive"),
        (DEAD, "dead"),
        (Owner(host=DEAD.host, pid=2**22 + 1, started=1.0), "dead"),
        (Owner(host="elsewhere", pid=1, started=1.0), "elsewhere"),
        (None, "dead"),
    ],
)
def test_owners_are_known_by_host_number_and_start(owner: Owner | None, state: str) -> None:
    assert state_of(owner) == state


def test_the_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = this_process()

    def refuse(_: psutil.Process) -> float:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "create_time", refuse)
    assert state_of(owner) == "alive"


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE subjects SET blocks = substr(blocks, 1, 20)",
        "UPDATE subjects SET call_times = blocks",
        "UPDATE subjects SET record = '{'",
        "UPDATE subjects SET record = '[]'",
        "UPDATE attempts SET record = '{\"model\": 1}'",
        "UPDATE runs SET record = 'x', machine = NULL",
        "UPDATE runs SET machine = NULL",
        "UPDATE runs SET record_type = 'Novelty'",
    ],
)
def test_a_damaged_run_is_one_clear_line_that_names_it(store: Store, statement: str) -> None:
    run = store.keep(examples.bench(), "bench")
    sql(store, statement)
    with pytest.raises(StoreError, match=f"run {run} cannot be read: ") as caught:
        store.load_record(run)
    assert "\n" not in str(caught.value)
    assert ("subject 'run': " in str(caught.value)) == ("substr" in statement or "call_times" in statement)


def test_a_row_of_another_type_than_its_column_is_one_clear_line(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "runs.sqlite")) as store:
        store.keep(CHECK, "check")
        sql(store, "UPDATE runs SET command = x'00ff'")  # SQLite keeps bytes in columns of text
        with pytest.raises(StoreError, match=r"row 1 of the table of runs is damaged: .*command"):
            store.runs()


def test_versions_and_machine_of_every_attempt_are_kept(store: Store) -> None:
    machine: Machine = examples.machine(versions={"onnx": "1.99"})
    run = sweep(store, "a")
    keep_case(store, run, "a", examples.case(), machine)
    assert sql(store, "SELECT versions FROM attempts") == [('{"onnx":"1.99"}',)]


def test_a_closed_store_can_be_opened_again(where: str) -> None:
    with open_store(where) as store:
        run = store.keep(CHECK, "check")
    with open_store(Path(where) if "://" not in where else where) as store:
        assert store.find(run).id == run
