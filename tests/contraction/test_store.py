"""Plans that were kept are found again, for exactly what they hold for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onnxperf.contraction import store
from onnxperf.contraction.store import Kept, Key, all_kept, keep, place, recall
from onnxperf.records.einsum import EinsumPlan

KEY = Key(
    canonical="ij,jk->ik",
    shapes=((2, 3), (3, 4)),
    dtype="float32",
    opset=18,
    portable=False,
    runtime="ort",
    threads=2,
    version="1.23.2",
    cpu="a fast one",
)
PLAN = EinsumPlan(
    equation="ij,jk",
    canonical="ij,jk->ik",
    best_equation="ij,jk->ik",
    shapes=KEY.shapes,
    dtype="float32",
    opset=18,
    graph="MatMul",
    notes=("a note",),
)
KEPT = Kept(PLAN, b"\x00model", b"\xffother", b"without")


@pytest.fixture(autouse=True)
def folder(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's plans lie; its memory is empty."""
    forget(monkeypatch)
    return own_cache / "onnxperf" / "einsum"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new process does."""
    monkeypatch.setattr(store, "in_memory", {})


def test_what_was_kept_is_recalled_from_memory_and_by_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert recall(KEY) is None
    keep(KEY, KEPT)
    assert recall(KEY) is KEPT
    forget(monkeypatch)
    assert recall(KEY) == KEPT
    assert recall(KEY) is recall(KEY)


@pytest.mark.parametrize(
    "other",
    [
        {"canonical": "ij,jk->ki"},
        {"shapes": ((2, 3), (3, 5))},
        {"shapes": ((2, 3),)},
        {"dtype": "float64"},
        {"opset": 17},
        {"portable": True},
        {"runtime": "numpy"},
        {"threads": 1},
        {"version": "1.24.0"},
        {"cpu": "a slow one"},
    ],
    ids=lambda other: next(iter(other)),
)
@pytest.mark.parametrize("fresh", [False, True])
def test_a_plan_is_not_found_for_anything_else(
    other: dict[str, Any], fresh: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(KEY, KEPT)
    if fresh:
        forget(monkeypatch)
    assert recall(msgspec.structs.replace(KEY, **other)) is None


def test_the_newer_plan_takes_the_place_of_the_older(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(KEY, KEPT)
    newer = KEPT._replace(model=b"newer")
    keep(KEY, newer)
    forget(monkeypatch)
    assert recall(KEY) == newer
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("cut", [0, 1, -1])
def test_a_file_that_was_cut_is_ignored_and_written_anew(
    cut: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(KEY, KEPT)
    forget(monkeypatch)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:cut])
    assert recall(KEY) is None
    assert list(all_kept()) == []
    keep(KEY, KEPT)
    forget(monkeypatch)
    assert recall(KEY) == KEPT


@pytest.mark.parametrize("junk", [b"\xff" * 100, b"\xa2\xff\xfe", b"junk", b"\xc0", msgspec.msgpack.encode({"key": 1})])
def test_a_damaged_file_is_ignored(junk: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(KEY, KEPT)
    forget(monkeypatch)
    (file,) = folder.iterdir()
    file.write_bytes(junk)
    assert recall(KEY) is None
    assert list(all_kept()) == []


def test_a_plan_that_was_kept_before_verdicts_decided_is_searched_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(KEY, KEPT)
    forget(monkeypatch)
    (file,) = folder.iterdir()
    entry = msgspec.msgpack.decode(file.read_bytes())
    del entry["decomposed"]
    file.write_bytes(msgspec.msgpack.encode(entry))
    assert recall(KEY) is None
    assert list(all_kept()) == []


def test_a_file_under_the_name_of_another_plan_is_not_taken_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(KEY, KEPT)
    (file,) = folder.iterdir()
    keep(msgspec.structs.replace(KEY, threads=1), KEPT)
    (other,) = set(folder.iterdir()) - {file}
    file.replace(other)
    forget(monkeypatch)
    assert recall(msgspec.structs.replace(KEY, threads=1)) is None


def test_all_that_is_on_disk_is_listed_once_and_what_was_deleted_is_forgotten(folder: Path) -> None:
    assert list(all_kept()) == []
    single = msgspec.structs.replace(KEY, threads=1)
    keep(KEY, KEPT)
    keep(single, KEPT)
    assert sorted(key.threads for key, _ in all_kept()) == [1, 2]
    for file in folder.iterdir():
        file.unlink()
    assert list(all_kept()) == []
    assert recall(KEY) is None


@pytest.mark.parametrize("how", ["replaced", "written over"])
def test_a_file_that_another_process_changed_is_read_again(how: str, folder: Path, tmp_path: Path) -> None:
    newer = KEPT._replace(model=b"newer")
    keep(KEY, newer)
    (file,) = folder.iterdir()
    data = file.read_bytes()
    keep(KEY, KEPT)
    was = place(KEY)
    assert was.is_current()
    if how == "replaced":
        (tmp_path / "other").write_bytes(data)
        (tmp_path / "other").replace(file)
    else:
        file.write_bytes(data)
    os.utime(file, ns=(0, 1))  # however coarse the clock of the file system is
    assert not was.is_current()
    assert recall(KEY) == newer


def test_where_nothing_can_be_written_memory_is_enough(own_cache: Path) -> None:
    (own_cache / "onnxperf").write_text("no folder", encoding="utf-8")
    keep(KEY, KEPT)
    assert recall(KEY) is KEPT
    assert dict(all_kept()) == {KEY: PLAN}
