"""Results wait in the spool: each file is whole or not there, holds no password, and blocks no other."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.errors import StoreError
from onnxperf.store import Spool, Store, location, open_store, place_of, waiting, whole_run
from onnxperf.store.private_files import open_own
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


# ---------------------------------------------------------------- other users of the machine

posix = pytest.mark.skipif(os.name != "posix", reason="has no such modes and owners")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("before", [None, 0o700, 0o755, 0o777])
def test_only_its_owner_may_look_into_the_spool(where: str, tmp_path: Path, before: int | None) -> None:
    spool = spool_of(where)
    if before is not None:
        for folder in (tmp_path / "spool", spool.folder):
            folder.mkdir()
            folder.chmod(before)
    mask = os.umask(0)
    try:
        spool.add(*whole_run(examples.bench(), "bench"))
    finally:
        os.umask(mask)
    assert (mode(tmp_path / "spool"), mode(spool.folder)) == (0o700, 0o700)
    assert {mode(path) for path in spool.folder.iterdir()} == {0o600}


@posix
@pytest.mark.parametrize(("before", "is_taken"), [(0o755, True), (0o775, False), (0o1777, False)])
def test_a_folder_with_other_uses_stays_as_it_is(where: str, tmp_path: Path, before: int, is_taken: bool) -> None:
    shared = tmp_path / "spool"
    shared.mkdir()
    (shared / "letters").mkdir()
    shared.chmod(before)
    if is_taken:
        spool_of(where).add(*whole_run(examples.bench(), "bench"))
        assert mode(spool_of(where).folder) == 0o700
    else:
        with pytest.raises(StoreError, match=r"^the spool \S+ is writable by other users; set ONNXPERF_SPOOL to"):
            spool_of(where).add(*whole_run(examples.bench(), "bench"))
    assert mode(shared) == before


@posix
@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_another_user_is_neither_read_nor_written_and_costs_a_line(
    where: str, tmp_path: Path, linked: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if linked:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "spool").symlink_to(tmp_path / "elsewhere")
    spool = spool_of(where)
    spool.add(*whole_run(examples.bench(), "bench"))
    files = spool.files()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert waiting() == []
    with RunWriter(where) as writer:
        writer.write(*whole_run(examples.bench(), "bench", answer="not lost"))
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith("onnxperf: results that wait are not read: the spool ")
    assert "belongs to another user; set ONNXPERF_SPOOL to a folder of your own" in said
    with open_store(where) as store:
        assert [run.answer for run in store.runs()] == ["not lost"]
    with pytest.raises(StoreError, match="belongs to another user"):
        spool.add(*whole_run(examples.bench(), "bench"))
    assert spool.files() == files


def _socket(path: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


PLANTED: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "socket": _socket,
}


@posix
@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_no_file_is_set_aside_and_lets_nobody_wait(
    where: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = spool_of(where)
    spool.add(*whole_run(examples.bench(), "bench"))
    (spool.folder / "store.txt").unlink()
    for name in ("store.txt", "0.result.zip"):
        PLANTED[kind](spool.folder / name)
    assert [each.results for each in waiting()] == [1]
    said = flushed_lines(where, capsys)
    assert [line for line in said if "1 result that waited was written" in line]
    assert [line for line in said if "cannot be read; set aside" in line]
    assert flushed_lines(where, capsys) == []


def test_a_file_of_another_user_is_not_read(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = spool_of(where)
    spool.add(*whole_run(examples.bench(), "bench"))
    found = os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, os.getuid() + 1, 0, 0, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _number: found)
    with pytest.raises(OSError, match="not a regular file of this user"):
        open_own(spool.files()[0])


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
