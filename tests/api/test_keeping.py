"""Cases are kept as they finish: in a real store, with cases that take no time."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.api._keeping import run_writer
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.api._shared.cells import Cell, run_cells
from onnxperf.api._shared.requests import parse
from onnxperf.errors import BadInput, BadOption, StoreError
from onnxperf.measure.machine.describe import describe_machine
from onnxperf.measure.pool import Launches
from onnxperf.measure.race import Progress
from onnxperf.options.functions import BENCH
from onnxperf.records.base import Status
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.store import Store, open_store, waiting, whole_run
from tests.api.kept import check
from tests.render import examples
from tests.store.writing import start_run

Run = Callable[[Progress, Launches | None], Case]
SETTINGS = parse({}, BENCH)


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
    def run(_progress: Progress, _launches: Launches | None) -> NoReturn:
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

    def look(_progress: Progress, _launches: Launches | None) -> Case:
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
    start_run(store, "a sweep", "sweep", examples.machine(cpu="another"), keys=["a"])
    with RunWriter(store.place) as writer:
        recorder = RunRecorder(writer, "a sweep", "last")
        run_cells([cell("a")], quiet, recorder)
    assert len(recorder.notes) == 1
    assert "another machine or with other versions" in recorder.notes[0]


def test_the_same_machine_is_no_news(store: Store) -> None:
    start_run(store, "a sweep", "sweep", describe_machine(), keys=["a"])
    with RunWriter(store.place) as writer:
        recorder = RunRecorder(writer, "a sweep", "last")
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


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the writes that fail, counted from 0; nothing waits in vain."""
    numbers: list[int] = []
    calls = itertools.count()
    merge = Store.merge

    def fail_sometimes(self: Store, *arguments: Any) -> str:
        if next(calls) in numbers:
            raise StoreError("the store is full")
        return merge(self, *arguments)

    monkeypatch.setattr(Store, "merge", fail_sometimes)
    monkeypatch.setattr(run_writer, "REST_S", 0.0)
    return numbers


THREE = [cell("a"), cell("b", "oom"), cell("c")]
FOUND = {"a": "ok", "b": "oom", "c": "ok"}
STEPS = ["start", "begin a", "finish a", "begin b", "finish b", "begin c", "finish c", "end"]


@pytest.mark.parametrize("step", range(len(STEPS)), ids=STEPS)
def test_a_write_that_fails_waits_and_is_written_before_the_next(
    store: Store, failing: list[int], step: int, capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(step)
    bench = kept(store, THREE)
    assert [(case.model, case.status) for case in bench.cases] == list(FOUND.items())
    if STEPS[step] == "end":  # nothing comes after it: the next command is what writes it
        assert store.runs()[0].status == "running"
        with RunWriter(store.place) as writer:
            writer.opened()
    (run,) = store.runs()
    assert (run.status, store.cases_of(run.id)) == ("oom", FOUND)
    assert store.load(run.id) == bench
    assert waiting() == []
    lines = capsys.readouterr().err.splitlines()
    assert ["the store is full" in line for line in lines] == ([] if "begin" in STEPS[step] else [True]) + [False] * (
        "finish" in STEPS[step]
    )


def test_a_sweep_whose_store_stays_away_waits_as_a_whole_and_is_resumed(
    store: Store, failing: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.extend(range(1000))
    bench = kept(store, [cell("a"), cell("b", run=interrupted("b")), cell("c")])
    assert [(case.model, case.status) for case in bench.cases][1:] == [("b", "pending"), ("c", "pending")]
    assert store.runs() == []
    assert capsys.readouterr().err.count("\n") == 1
    failing.clear()
    assert models(kept(store, [cell("a"), cell("b"), cell("c")], "last")) == ["a", "b", "c"]
    (run,) = store.runs()
    assert (run.status, run.cases_done) == ("ok", 3)
    assert "1 result that waited was written to" in capsys.readouterr().err


def test_a_resumed_sweep_shows_all_of_its_cases_while_they_wait(store: Store, failing: list[int]) -> None:
    with pytest.raises(Killed):
        kept(store, [cell("a"), cell("b", run=raising(Killed())), cell("c")])
    failing.extend(range(4, 1000))
    again = [cell("a", run=raising(AssertionError("a was finished"))), cell("b"), cell("c")]
    assert models(kept(store, again, "last")) == ["a", "b", "c"]
    assert store.runs()[0].cases_done == 1


def test_after_a_failure_the_store_is_left_alone_for_a_while(
    store: Store, failing: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    tried: list[float] = []
    merge = Store.merge
    monkeypatch.setattr(run_writer, "REST_S", 10.0)

    def note(self: Store, *arguments: Any) -> str:
        tried.append(now[0])
        return merge(self, *arguments)

    monkeypatch.setattr(Store, "merge", note)
    failing.extend(range(2))
    with RunWriter(store.place, clock=lambda: now[0]) as writer:
        for now[0] in (0.0, 5.0, 11.0, 12.0, 22.0):  # the second try is that of the file that waits
            writer.write(*whole_run(examples.bench(), "bench"))
    assert tried == [0.0, 11.0, *[22.0] * 5]
    assert len(store.runs()) == 5


def test_where_not_even_the_spool_can_be_written_the_sweep_goes_on(
    store: Store,
    failing: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ONNXPERF_SPOOL", str(tmp_path / "file"))
    failing.extend(range(1000))
    assert models(kept(store, THREE)) == list(FOUND)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the sweep continues, but is not saved: the store is full; the spool" in said


def test_cases_may_begin_together_and_finish_in_any_order(store: Store) -> None:
    with RunWriter(store.place) as writer:
        recorder = RunRecorder(writer, "a sweep")
        recorder.plan(["a", "b", "c"], examples.machine())
        for key in "abc":
            recorder.begin(key)
        assert set(store.cases_of(recorder.run).values()) == {"running"}
        for key in "cab":
            recorder.finish(key, case_of(key))
        whole = recorder.result([], examples.machine())
    assert whole is not None
    assert models(whole) == ["a", "b", "c"]
    assert store.load(recorder.run) == whole
