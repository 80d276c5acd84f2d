"""Cases are kept as they finish: in a real store, with cases that take no time."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxperf.api._shared.cells import Cell, run_cells
from onnxperf.api._shared.requests import BenchKeywords, parse
from onnxperf.api._shared.run_recorder import RunRecorder
from onnxperf.errors import BadInput, BadOption, StoreError
from onnxperf.measure.machine.describe import describe_machine
from onnxperf.measure.race import Progress
from onnxperf.measure.worker_group import Launch
from onnxperf.records.base import Status
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.store import Store, open_store
from tests.api.kept import check
from tests.render import examples

Run = Callable[[Progress, Launch | None], Case]
SETTINGS = parse({}, BenchKeywords)


class Killed(BaseException):
    """What SIGKILL is to a process: nothing may catch it."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "runs.sqlite") as opened:
        yield opened


def quiet(_done: float, _text: str) -> None:
    """Progress that is not shown."""


def case_of(key: str, status: Status = "ok", *, interrupted: bool = False) -> Case:
    subject = Subject(name="ort", status=status, blocks=examples.blocks(1000.0))
    return Case(model=key, status=status, subjects=(subject,), interrupted=interrupted)


def cell(key: str, status: Status = "ok", run: Run | None = None) -> Cell:
    return Cell(key, key, {}, SETTINGS, run or (lambda _progress, _launch: case_of(key, status)))


def raising(error: BaseException) -> Run:
    def run(_progress: Progress, _launch: Launch | None) -> NoReturn:
        raise error

    return run


def interrupted(key: str) -> Run:
    return lambda _progress, _launch: case_of(key, interrupted=True)


def kept(store: Store, cells: Sequence[Cell], resume: str | None = None, retry: Sequence[str] = ()) -> Bench:
    with RunWriter(store.place) as writer:
        return run_cells(cells, quiet, RunRecorder(writer, "a sweep", resume, retry))


def models(bench: Bench) -> list[str]:
    return [case.model for case in bench.cases]


# ---------------------------------------------------------------- what is kept when


def test_a_finished_sweep_is_one_run_with_all_of_its_cases(store: Store) -> None:
    bench = kept(store, [cell("a"), cell("b")])
    (run,) = store.runs()
    assert (run.kind, run.command, run.status, run.cases, run.cases_done) == ("sweep", "a sweep", "ok", 2, 2)
    assert store.load(run.id) == bench
    assert bench.cases[0] == case_of("a")


def test_a_case_is_in_the_store_before_the_next_one_begins(store: Store) -> None:
    seen: list[dict[str, Status]] = []

    def look(_progress: Progress, _launch: Launch | None) -> Case:
        seen.append(store.cases_of(store.find("last").id))
        return case_of("b")

    kept(store, [cell("a"), cell("b", run=look), cell("c")])
    assert seen == [{"a": "ok", "b": "running", "c": "pending"}]


def test_a_case_that_cannot_be_run_is_kept_as_failed_and_the_others_go_on(store: Store) -> None:
    bench = kept(store, [cell("a", run=raising(BadInput("no such file"))), cell("b")])
    assert [(case.model, case.status, case.answer) for case in bench.cases] == [
        ("a", "failed", "no such file"),
        ("b", "ok", ""),
    ]
    assert store.runs()[0].status == "failed"


def test_an_interrupted_case_ends_the_sweep_and_is_run_when_it_is_resumed(store: Store) -> None:
    bench = kept(store, [cell("a"), cell("b", run=interrupted("b")), cell("c")])
    (run,) = store.runs()
    assert run.status == "interrupted"
    assert store.cases_of(run.id) == {"a": "ok", "b": "pending", "c": "pending"}
    assert models(bench)[0] == "a"
    assert models(kept(store, [cell("a"), cell("b"), cell("c")], "last")) == ["a", "b", "c"]


def test_an_interrupted_sweep_shows_what_was_measured(store: Store) -> None:
    bench = kept(store, [cell("a"), cell("b", run=interrupted("b"))])
    assert [(case.model, case.interrupted) for case in bench.cases] == [("a", False), ("b", True)]


# ---------------------------------------------------------------- resume and retry


def test_a_resumed_sweep_runs_what_is_missing_and_nothing_else(store: Store) -> None:
    with pytest.raises(Killed):
        kept(store, [cell("a"), cell("b", run=raising(Killed())), cell("c")])
    again = [cell("a", run=raising(AssertionError("a was finished"))), cell("b"), cell("c")]
    assert models(kept(store, again, "last")) == ["a", "b", "c"]
    (run,) = store.runs()
    assert (run.status, run.cases_done) == ("ok", 3)


@pytest.mark.parametrize(
    ("retry", "expected"),
    [([], ["oom", "timeout", "ok"]), (["oom"], ["ok", "timeout", "ok"]), (["timeout", "oom"], ["ok", "ok", "ok"])],
)
def test_only_the_statuses_named_are_tried_again(store: Store, retry: list[str], expected: list[str]) -> None:
    kept(store, [cell("a", "oom"), cell("b", "timeout"), cell("c")])
    bench = kept(store, [cell("a"), cell("b"), cell("c")], "last", retry)
    assert models(bench) == ["a", "b", "c"]
    assert [case.status for case in bench.cases] == expected


def test_a_retried_case_that_is_killed_is_run_again_next_time(store: Store) -> None:
    kept(store, [cell("a", "oom")])
    with pytest.raises(Killed):
        kept(store, [cell("a", run=raising(Killed()))], "last", ["oom"])
    assert [case.status for case in kept(store, [cell("a")], "last").cases] == ["ok"]


def test_a_resumed_sweep_has_the_status_of_all_of_its_cases(store: Store) -> None:
    kept(store, [cell("a", "oom"), cell("b")])
    kept(store, [cell("a"), cell("b")], "last")
    assert store.runs()[0].status == "oom"


def test_every_attempt_leaves_its_machine_behind(store: Store, tmp_path: Path) -> None:
    kept(store, [cell("a")])
    with sqlite3.connect(tmp_path / "runs.sqlite") as connection:
        (machine,) = connection.execute("SELECT machine FROM attempts").fetchone()
    connection.close()
    assert machine is not None


def test_another_machine_or_version_is_said(store: Store) -> None:
    store.start_run("a sweep", "sweep", examples.machine(cpu="another"), keys=["a"])
    recorder = RunRecorder(store, "a sweep", "last")
    run_cells([cell("a")], quiet, recorder)
    assert len(recorder.notes) == 1
    assert "another machine or with other versions" in recorder.notes[0]


def test_the_same_machine_is_no_news(store: Store) -> None:
    store.start_run("a sweep", "sweep", describe_machine(), keys=["a"])
    recorder = RunRecorder(store, "a sweep", "last")
    run_cells([cell("a")], quiet, recorder)
    assert recorder.notes == []


def test_a_run_that_does_not_exist_cannot_be_resumed(store: Store) -> None:
    with pytest.raises(BadOption, match="no run"):
        kept(store, [cell("a")], "last")


@pytest.mark.parametrize("kind", ["check", "bench"])
def test_what_is_no_sweep_is_refused_and_stays_as_it_was(store: Store, kind: str) -> None:
    store.keep(examples.bench() if kind == "bench" else check(True), kind)
    before = store.runs()
    with pytest.raises(BadOption):
        kept(store, [cell("a")], "last")
    assert store.runs() == before


@given(
    statuses=st.lists(
        st.sampled_from(["ok", "failed", "oom", "timeout", "crashed", "differs"]), min_size=1, max_size=5
    ),
    moments=st.lists(st.integers(0, 4), max_size=4),
)
@settings(max_examples=40)  # each opens a store anew
def test_however_often_it_is_killed_every_case_is_there_once(
    statuses: list[Status], moments: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    keys = [f"case {number}" for number in range(len(statuses))]
    whole = [cell(key, status) for key, status in zip(keys, statuses, strict=True)]
    with open_store(tmp_path_factory.mktemp("store") / "runs.sqlite") as store:
        resume = None
        for moment in moments:
            cut = [cell(each.key, run=raising(Killed())) if at == moment else each for at, each in enumerate(whole)]
            with contextlib.suppress(Killed):
                kept(store, cut, resume)
            resume = "last"
        bench = kept(store, whole, resume)
        (run,) = store.runs()
        assert store.cases_of(run.id) == dict(zip(keys, statuses, strict=True))
        assert [(case.model, case.status) for case in bench.cases] == list(zip(keys, statuses, strict=True))


# ---------------------------------------------------------------- a store that fails


@pytest.mark.parametrize("step", ["start_run", "mark_running", "keep_case", "finish_run", "load"])
def test_a_store_that_fails_costs_one_line_and_no_case(
    store: Store, step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise StoreError("the store is full")

    monkeypatch.setattr(store, step, fail)
    bench = kept(store, [cell("a"), cell("b", "oom"), cell("c")])
    assert [(case.model, case.status) for case in bench.cases] == [("a", "ok"), ("b", "oom"), ("c", "ok")]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the store is full" in said


def test_what_was_kept_before_the_store_failed_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_case = store.keep_case

    def fail_for_b(run: str, key: str, case: Case, *more: Any, **others: Any) -> None:
        if key == "b":
            raise StoreError("the store is full")
        keep_case(run, key, case, *more, **others)

    with monkeypatch.context() as patch:
        patch.setattr(store, "keep_case", fail_for_b)
        assert models(kept(store, [cell("a"), cell("b"), cell("c")])) == ["a", "b", "c"]
    assert store.cases_of(store.find("last").id)["a"] == "ok"
    assert models(kept(store, [cell("a"), cell("b"), cell("c")], "last")) == ["a", "b", "c"]
