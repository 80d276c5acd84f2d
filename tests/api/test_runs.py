"""`onnxperf.runs`, `onnxperf.load_run` and what commands use to keep their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.api._keeping import kept_runs as api
from onnxperf.api.compare_runs import compare_runs
from onnxperf.api.delete_run import delete_run
from onnxperf.api.export_runs import export_runs
from onnxperf.api.import_runs import import_runs
from onnxperf.api.load_run import load_run
from onnxperf.api.runs import runs
from onnxperf.api.waiting_runs import waiting_runs
from onnxperf.errors import BadInput, BadOption
from onnxperf.results.bench import BenchResult
from tests.api.kept import PLAN, check, result_of
from tests.render import examples

BENCH = examples.bench()


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    monkeypatch.setenv("ONNXPERF_STORE", str(path))
    return path


def test_what_was_kept_is_listed_and_loaded() -> None:
    run = api.keep(BenchResult(BENCH))
    assert run is not None
    (listed,) = runs()
    assert (listed.id, listed.kind, listed.answer) == (run, "bench", BENCH.cases[0].answer)
    assert load_run(run).record == BENCH
    assert load_run(run[:3]).run == run
    assert load_run().record == BENCH
    assert load_run(run[:3], store=True).record == BENCH


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (BENCH, "ok"),
        (examples.bench(examples.case(), examples.case(status="oom")), "oom"),
        (examples.bench(examples.case(status="skipped")), "ok"),
        (examples.bench(examples.case(interrupted=True, status="failed")), "interrupted"),
        (check(True), "ok"),
        (check(False), "differs"),
        (PLAN, "ok"),
    ],
)
def test_the_list_says_how_a_run_ended(record: Any, status: str) -> None:
    run = api.keep(result_of(record))
    (listed,) = runs()
    assert (listed.id, listed.status) == (run, status)
    result = load_run("last")
    assert (result.run, result.record) == (run, record)


@pytest.mark.parametrize(
    ("about", "top", "kinds"), [("no", None, []), ("IJ,JK", None, ["einsum"]), ("linear", 1, ["bench"])]
)
def test_runs_are_found_by_a_part_of_what_they_are_about(about: str, top: int | None, kinds: list[str]) -> None:
    for record in (BENCH, PLAN, BENCH):
        api.keep(result_of(record))
    assert [run.kind for run in runs(about=about, top=top)] == kinds


def test_the_list_is_a_table_and_a_sequence(store: Path) -> None:
    names = [api.keep(result_of(record)) for record in (BENCH, PLAN, BENCH)]
    listed = runs()
    table = listed.to_df()
    assert list(table["id"]) == names[::-1]
    assert str(table["started"].dtype.tz) == "UTC"  # type: ignore[union-attr]
    assert [run.id for run in listed[:2]] == names[:0:-1]
    assert listed[-1].id == names[0]
    assert str(names[1]) in repr(listed)
    assert str(names[1]) in listed._repr_html_()
    assert [run.kind for run in runs(top=1)] == ["bench"]
    assert [run.id for run in runs(kind="einsum")] == [names[1]]
    assert len(runs(store=store.with_name("other.sqlite"))) == 0


def test_looking_makes_no_file(store: Path) -> None:
    assert len(runs()) == 0
    assert list(runs().to_df()["id"]) == []
    assert repr(runs()) == "No run was saved yet."
    with pytest.raises(BadOption, match="does not exist yet"):
        load_run("last")
    assert not store.exists()


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (BENCH, BENCH.cases[0].answer),
        (examples.bench(examples.case(), examples.case()), "ort-values wins 2 of 2 cases."),
        (check(False), "ort and numpy differ in Y."),
        (PLAN, "MatMul is fastest."),
    ],
)
def test_the_list_has_the_answer_where_there_is_one(record: Any, answer: str) -> None:
    api.keep(result_of(record))
    assert runs()[0].answer == answer


def test_nothing_is_kept_without_a_store(store: Path) -> None:
    assert api.keep(BenchResult(BENCH), store=False) is None
    assert not store.exists()


def test_a_store_that_fails_is_a_line_and_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert api.keep(BenchResult(BENCH), store=tmp_path) is None
    said = capsys.readouterr().err
    assert said.startswith("onnxperf: this run was not saved: ")
    assert said.count("\n") == 1


def test_a_run_that_cannot_be_kept_waits_until_its_store_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "no" / "runs.sqlite"
    first = api.keep(BenchResult(BENCH), store=where)
    said = capsys.readouterr().err
    assert "its folder does not exist" in said
    assert said.count("\n") == 1
    (line,) = waiting_runs()
    assert line.startswith("1 result in ")
    assert f"waits for the store {where}" in line
    where.parent.mkdir()
    second = api.keep(BenchResult(BENCH), store=where)
    assert f"1 result that waited was written to {where}" in capsys.readouterr().err
    assert [run.id for run in runs(store=where)] == [second, first]
    assert waiting_runs() == []


def test_even_our_own_mistakes_do_not_cost_the_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(api, "RunWriter", broken)
    assert api.keep(BenchResult(BENCH)) is None
    assert "unexpected ZeroDivisionError: two lines" in capsys.readouterr().err


def test_a_run_of_another_kind_is_compared_with_nothing() -> None:
    api.keep(result_of(PLAN))
    with pytest.raises(BadOption, match=r"is not a race \(record: EinsumPlan\)"):
        compare_runs("last", "last")


def test_a_deleted_run_is_gone() -> None:
    run = api.keep(BenchResult(BENCH))
    assert delete_run("last") == run
    assert len(runs()) == 0


def test_runs_are_compared_by_their_ids() -> None:
    case = replace(BENCH.cases[0], fingerprint={"linear.onnx": "f00"})
    labelled = replace(case, subjects=tuple(replace(s, model="linear.onnx") for s in case.subjects))
    first, second = (api.keep(BenchResult(replace(BENCH, cases=(labelled,)))) for _ in range(2))
    comparison = compare_runs(str(first), "last").record
    assert (comparison.first, comparison.second) == (first, second)
    assert comparison.rows[0].verdict == "baseline"
    assert comparison.rows[1].reason == "4 rounds are too few: use `time=2`"


@pytest.mark.parametrize("record", [BENCH, PLAN, check(False)], ids=lambda record: type(record).__name__)
def test_a_file_is_loaded_as_a_run_is(record: Any, tmp_path: Path) -> None:
    result_of(record).save(tmp_path / "result.json")
    for path in (tmp_path / "result.json", str(tmp_path / "result.json")):
        assert load_run(path).record == record
        assert load_run(path).to_df().equals(result_of(record).to_df())


@pytest.mark.parametrize("chosen", ["all", "last", ["last"]], ids=str)
def test_runs_move_to_another_store_in_a_bundle(chosen: str | list[str], tmp_path: Path) -> None:
    name = api.keep(BenchResult(BENCH))
    assert export_runs(chosen, tmp_path / "runs.zip").written == 1
    other = tmp_path / "other.sqlite"
    assert import_runs(tmp_path / "runs.zip", store=other).names == [name]
    assert import_runs(tmp_path / "runs.zip", store=other).there == 1
    assert load_run("last", store=other).record == BENCH


@pytest.mark.parametrize(
    ("chosen", "path", "said"),
    [
        ([], "runs.zip", "name the runs for the bundle, or all"),
        (["all", "last"], "runs.zip", "name the runs for the bundle, or all"),
        ("last", "runs.json", "ends with .zip"),
        ("nothing", "runs.zip", "no run 'nothing'"),
    ],
    ids=str,
)
def test_what_cannot_be_exported_is_refused(chosen: str | list[str], path: str, said: str, tmp_path: Path) -> None:
    api.keep(BenchResult(BENCH))
    with pytest.raises(BadOption, match=said):
        export_runs(chosen, tmp_path / path)
    assert not (tmp_path / path).exists()


@pytest.mark.parametrize(("content", "said"), [(None, "cannot read"), (b"{}", "is no result of onnxperf")])
def test_what_is_no_result_is_refused_in_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "other.json").write_bytes(content)
    with pytest.raises(BadInput, match=said):
        load_run(tmp_path / "other.json")
