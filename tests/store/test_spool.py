"""Results wait in the spool: each file is whole or not there, holds no password, and blocks no other."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.errors import StoreError
from onnxperf.store import Spool, Store, location, open_store, place_of, waiting, whole_run
from tests.render import examples


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONNXPERF_SPOOL", str(tmp_path / "spool"))
    return str(tmp_path / "runs.sqlite")


def spool_of(where: str) -> Spool:
    return Spool(location(where), place_of(where))


def flushed_lines(where: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with RunWriter(where) as writer:
        writer.opened()
    return capsys.readouterr().err.splitlines()


def test_what_waits_is_listed_and_written_in_its_order(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [whole_run(examples.bench(), "bench", answer=f"answer {number}") for number in range(3)]
    for run in runs:
        spool_of(where).add(*run)
    assert [(each.place, each.results) for each in waiting()] == [(where, 3)]
    assert flushed_lines(where, capsys) == [f"onnxperf: 3 results that waited were written to {where}"]
    with open_store(where) as store:
        assert [run.answer for run in store.runs()] == ["answer 2", "answer 1", "answer 0"]
        assert store.load(runs[0][0].name) == examples.bench()
    assert waiting() == []
    assert flushed_lines(where, capsys) == []


def test_the_same_write_may_wait_and_be_there_already(where: str) -> None:
    run = whole_run(examples.bench(), "bench")
    with open_store(where) as store:
        store.merge(*run)
        for _ in range(2):
            spool_of(where).add(*run)
        assert spool_of(where).flush(store).failure is None
        assert len(store.runs()) == 1
        assert store.load(run[0].name) == examples.bench()


@pytest.mark.parametrize(
    "damage", [b"", b"no zip", b"PK\x05\x06" + bytes(18)], ids=["empty", "no zip", "a zip without anything"]
)
def test_a_damaged_file_is_set_aside_and_blocks_no_other(
    where: str, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = spool_of(where)
    for _ in range(3):
        spool.add(*whole_run(examples.bench(), "bench"))
    spool.files()[1].write_bytes(damage)
    said = flushed_lines(where, capsys)
    assert said[0] == f"onnxperf: 2 results that waited were written to {where}"
    assert said[1].startswith("onnxperf: 1 result that waited cannot be read; set aside: ")
    assert len(said) == 2
    assert [path.read_bytes() for path in spool.folder.glob("*.damaged")] == [damage]
    assert flushed_lines(where, capsys) == []


def test_a_file_that_the_database_refuses_blocks_no_other(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("onnxperf.store.retry.PATIENCE_S", 0.0)
    (run, cases), other = whole_run(examples.bench(), "bench"), whole_run(examples.bench(), "bench")
    with open_store(where) as store:
        store.merge(*other)  # whose attempts have the same unique names as those of the first file
    spool_of(where).add(run, other[1])
    spool_of(where).add(*whole_run(examples.bench(), "bench"))
    said = flushed_lines(where, capsys)
    assert len(said) == 2
    assert "1 result that waited was written" in said[0]
    assert "set aside" in said[1]
    assert cases


def test_a_store_that_fails_in_the_middle_leaves_the_rest_waiting(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = spool_of(where)
    for _ in range(3):
        spool.add(*whole_run(examples.bench(), "bench"))
    merge = Store.merge
    with open_store(where) as store:

        def once(*arguments: object) -> str:
            monkeypatch.setattr(Store, "merge", fail)
            return merge(*arguments)  # type: ignore[arg-type]

        def fail(*_: object) -> str:
            raise StoreError("the server is gone")

        monkeypatch.setattr(Store, "merge", once)
        flushed = spool.flush(store)
        assert (flushed.results, str(flushed.failure)) == (1, "the server is gone")
        assert len(spool.files()) == 2


@pytest.mark.parametrize("password", [":secret@", "@", ":other@"])
def test_a_password_is_not_written_and_makes_no_difference(where: str, tmp_path: Path, password: str) -> None:
    spool = spool_of(f"postgresql://me{password}host/db")
    assert spool.folder == spool_of("postgresql://me:secret@host/db?password=hidden").folder
    assert spool.folder != spool_of("postgresql://me:secret@host/other").folder
    command = f"onnxperf bench --store postgresql://me{password}host/db"
    spool.add(*whole_run(examples.bench(command=command), "bench"))
    for path in (tmp_path / "spool").rglob("*"):
        assert "secret" not in str(path)
        assert path.is_dir() or b"secret" not in path.read_bytes()
    assert place_of(f"postgresql://me{password}host/db") == waiting()[0].place


def test_only_its_owner_may_look_into_the_spool(where: str) -> None:
    spool_of(where).add(*whole_run(examples.bench(), "bench"))
    if os.name == "posix":
        assert spool_of(where).folder.stat().st_mode & 0o077 == 0


def test_what_a_killed_process_did_not_finish_is_ignored_and_removed_later(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = spool_of(where)
    spool.add(*whole_run(examples.bench(), "bench"))
    fresh, old = (spool.folder / f".{name}.result.zip.part" for name in ("fresh", "old"))
    for path in (fresh, old):
        path.write_bytes(b"PK")
    os.utime(old, (time.time() - 10**6,) * 2)
    assert len(flushed_lines(where, capsys)) == 1
    assert (fresh.exists(), old.exists()) == (True, False)


def test_a_spool_that_cannot_be_written_is_one_line(where: str, tmp_path: Path) -> None:
    (tmp_path / "spool").touch()
    with pytest.raises(StoreError, match=r"^the spool .* cannot be written \(.*\)$"):
        spool_of(where).add(*whole_run(examples.bench(), "bench"))
    assert waiting() == []
