"""`onnxperf runs` as a user meets it."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._keeping.kept_runs import keep
from onnxperf.cli.main import run, typed
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json, to_json
from onnxperf.results.bench import BenchResult
from tests.api.kept import PLAN, check, result_of
from tests.render import examples, sweeps

BENCH = examples.bench()


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    monkeypatch.setenv("ONNXPERF_STORE", str(path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return path


def kept() -> str:
    return str(keep(BenchResult(BENCH)))


def test_the_list_names_every_run(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = kept(), str(keep(result_of(PLAN)))
    assert run(["runs"]) == 0
    out = capsys.readouterr().out
    assert out.index(second) < out.index(first)
    for options, listed in (
        (["--top", "1"], [second]),
        (["--all"], [second, first]),
        (["--kind", "bench"], [first]),
    ):
        assert run(["runs", "--quiet", *options]) == 0
        assert capsys.readouterr().out.split() == listed


def test_the_list_has_20_runs_unless_more_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    names = [kept() for _ in range(22)][::-1]
    for options, number in (([], 20), (["--top", "21"], 21), (["--all"], 22)):
        assert run(["runs", "--quiet", *options]) == 0
        assert capsys.readouterr().out.split() == names[:number]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--limit", "1"], "unknown option --limit"),
        (["--top", "0"], "--top 0: expected at least 1"),
        (["--top", "1", "--all"], "--top: it does nothing with --all"),
    ],
    ids=" ".join,
)
def test_a_list_that_makes_no_sense_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["runs", *options]) == 2
    assert said in capsys.readouterr().err


def test_the_list_of_a_store_that_is_not_there_is_empty(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs"]) == 0
    assert capsys.readouterr().out == "No run was saved yet.\n"
    assert not store.exists()


def test_a_run_is_shown_as_it_was_printed_first(capsys: pytest.CaptureFixture[str]) -> None:
    name = kept()
    assert run(["runs", "show", name[:4]]) == 0
    out = capsys.readouterr().out
    assert f"saved as run {name}" in out
    assert "io-binding-inplace" in out
    assert BENCH.cases[0].answer in out
    assert run(["runs", "show", "last", "--quiet"]) == 0
    assert capsys.readouterr().out == f"{BENCH.cases[0].answer}\n"


def test_the_password_of_a_database_is_in_no_file_and_in_no_output(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "postgresql://me:secret@localhost:1/db"
    monkeypatch.setattr("onnxperf.store.retry.PATIENCE_S", 0.0)
    keep(BenchResult(replace(BENCH, command=typed(["toy", "--store", url]))))
    assert run(["runs", "-o", "a.json", "-o", "a.csv"]) == 0
    assert run(["runs", "show", "last", "-o", "b.json"]) == 0
    for arguments in (["runs"], ["runs", "show", "last"], ["runs", "delete", "last"]):
        assert run([*arguments, "--store", url]) == 2
    captured = capsys.readouterr()
    assert "postgresql://me:***@localhost:1/db" in (tmp_path / "a.json").read_text()
    assert "postgresql+psycopg://me:***@localhost:1/db" in captured.err
    texts = [captured.out, captured.err, *(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir())]
    assert [text for text in texts if "secret" in text] == []


def test_a_sweep_is_shown_as_the_table_that_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    keep(BenchResult(sweeps.line([0.5, 2.0])))
    assert run(["runs", "show", "last"]) == 0
    out = capsys.readouterr().out
    assert "Time of a call, paired speedup of torch against ort" in out
    assert "batch=2: torch is 2.00" in out


@pytest.mark.parametrize(("record", "said"), [(PLAN, "MatMul is fastest."), (check(False), "differ in Y")])
def test_other_records_are_shown_too(record: Struct, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    keep(result_of(record))
    assert run(["runs", "show", "last"]) == 0
    assert said in capsys.readouterr().out


def test_a_run_is_exported_as_files(tmp_path: Path) -> None:
    kept()
    files = ["--json", "a.json", "-o", "a.csv", "-o", "a.md", "-o", "a.xlsx", "-o", "a.svg"]
    assert run(["runs", "export", "last", *files]) == 0
    assert from_json((tmp_path / "a.json").read_bytes(), Bench) == BENCH
    assert (tmp_path / "a.csv").read_bytes() == BenchResult(BENCH).encode(".csv")
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == BenchResult(BENCH).to_markdown()
    assert (tmp_path / "a.xlsx").read_bytes().startswith(b"PK")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_an_export_to_stdout_is_all_there_is_on_stdout(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    keep(result_of(PLAN))
    assert run(["runs", "export", "last", "--json", "-"]) == 0
    assert capsysbinary.readouterr().out == to_json(PLAN)


def test_runs_are_deleted_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = kept(), kept()
    assert run(["runs", "delete", first, "last"]) == 0
    assert capsys.readouterr().out == f"deleted {first}\ndeleted {second}\n"
    assert run(["runs", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_runs_without_a_shared_subject_get_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = kept(), kept()
    assert run(["runs", "compare", first, second]) == 0
    out = capsys.readouterr().out
    assert f"{second} against {first}" in out
    assert "no verdict: the runs share no subject." in out
    assert run(["runs", "compare", first, second, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["verdict"] is None
    assert run(["runs", "compare", first, second, "--quiet"]) == 0
    assert capsys.readouterr().out == "no verdict: the runs share no subject.\n"


def test_another_store_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = keep(BenchResult(BENCH), store=tmp_path / "other.sqlite")
    for arguments in (["runs"], ["runs", "show", "last"]):
        assert run([*arguments, "--store", "other.sqlite", "--quiet"]) == 0
    assert str(other) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "zzz"], "no run 'zzz'"),
        (["show"], "RUN"),
        (["export", "last"], "no file given"),
        (["export", "last", "--json", "no/a.json"], "its folder does not exist"),
        (["export", "last", "-o", "-.csv", "--json", "-"], "only one file can go to standard output"),
        (["delete"], "no run given"),
        (["delete", "zzz"], "no run 'zzz'"),
        (["compare", "last", "zzz"], "no run 'zzz'"),
        (["show", "last", "--store", "."], "is a folder"),
        (["show", "last", "--store", "missing.sqlite"], "does not exist yet"),
        (["--store", "mysql://host/db"], "expected a file"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept()
    assert run(["runs", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_a_comparison_is_written_as_files(tmp_path: Path) -> None:
    first, second = kept(), kept()
    assert run(["runs", "compare", first, second, "-o", "a.md", "-o", "a.csv"]) == 0
    assert f"**{second} against {first}**" in (tmp_path / "a.md").read_text(encoding="utf-8")
    assert (tmp_path / "a.csv").read_text().startswith("model,dims,first,second,first_ns,second_ns,speedup,")


def test_the_list_is_written_as_a_table(tmp_path: Path) -> None:
    name = kept()
    assert run(["runs", "-o", "runs.csv"]) == 0
    (row,) = csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())
    assert [row[column] for column in ("id", "kind", "record", "status")] == [name, "bench", "Bench", "ok"]


def test_a_kind_of_file_that_a_run_does_not_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    kept()
    assert run(["runs", "export", "last", "-o", "a.docx"]) == 2
    assert ".csv, .html, .json, .md" in capsys.readouterr().err


# ---------------------------------------------------------------- bundles and what waits


@pytest.mark.parametrize("arguments", [["all", "-o", "b.zip"], ["last", "-o", "b.onnxperf.zip"]])
def test_runs_move_to_another_store_in_a_bundle(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    name = kept()
    assert run(["runs", "export", *arguments]) == 0
    assert capsys.readouterr().out == f"1 run written to {arguments[-1]}\n"
    for said in ("imported 1 of 1 run\n", "imported 0 of 1 run; 1 already existed\n"):
        assert run(["runs", "import", arguments[-1], "--store", "other.sqlite"]) == 0
        assert capsys.readouterr().out == said
    assert run(["runs", "--quiet", "--store", "other.sqlite"]) == 0
    assert capsys.readouterr().out == f"{name}\n"
    assert run(["runs", "import", arguments[-1], "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_a_damaged_run_is_left_out_of_a_bundle_with_a_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = kept(), kept()
    with contextlib.closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE runs SET record = '{' WHERE name = ?", [bad])
    assert run(["runs", "export", "all", "-o", "b.zip"]) == 1
    said = capsys.readouterr()
    assert said.out == "1 run written to b.zip\n"
    assert said.err.startswith(f"onnxperf: run {bad} is damaged and was skipped: not the record of a ")
    assert run(["runs", "import", "b.zip", "--store", "other.sqlite"]) == 0
    assert run(["runs", "export", bad, "-o", "c.zip"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not Path("c.zip").exists()
    assert good


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "-o", "a.json"], "name one run"),
        (["export", "last", "last", "-o", "a.json"], "export several to a bundle"),
        (["export", "all", "-o", "a.json"], "export several to a bundle"),
        (["export", "--all", "-o", "a.zip"], "unknown option --all"),
        (["export", "-o", "a.zip"], "name the runs for the bundle, or all for every run"),
        (["export", "last", "all", "-o", "a.zip"], "or all for every run"),
        (["export", "last", "-o", "a.zip", "-o", "b.zip"], "the only file"),
        (["export", "last", "-o", "a.zip", "--json", "a.json"], "the only file"),
        (["export", "last", "-o", "nowhere/a.zip"], "its folder does not exist"),
        (["import", "nowhere.zip"], "nowhere.zip does not exist"),
        (["import", "runs.sqlite"], "is not a bundle of runs"),
    ],
)
def test_what_cannot_be_exported_or_imported_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept()
    before = sorted(tmp_path.iterdir())
    assert run(["runs", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_the_list_says_what_waits_and_for_which_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(BenchResult(BENCH), store=tmp_path / "away" / "runs.sqlite")
    capsys.readouterr()
    assert run(["runs"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "No run was saved yet.\n"
    assert captured.err.startswith("onnxperf: 1 result in ")
    assert f"waits for the store {tmp_path / 'away' / 'runs.sqlite'}" in captured.err
    assert run(["runs", "--store", str(tmp_path)]) == 2  # a store that cannot be read
    assert captured.err in capsys.readouterr().err
