"""Files, and what their names say."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.render.kit.documents import to_json
from onnxperf.render.kit.files import check_folder, suffix_of, write

KNOWN = [".json", ".speedscope.json", ".csv", ".md"]


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.json", ".json"),
        ("A.JSON", ".json"),
        ("some/folder.csv/a.md", ".md"),
        ("a.speedscope.json", ".speedscope.json"),
        ("a.b.csv", ".csv"),
    ],
)
def test_the_longest_known_ending_says_what_a_file_holds(name: str, suffix: str) -> None:
    assert suffix_of(name, KNOWN) == suffix
    assert suffix_of(Path(name), KNOWN) == suffix


@pytest.mark.parametrize("name", ["a.pdf", "json", "-", "", "csv/a"])
def test_another_ending_is_refused_with_all_that_are_known(name: str) -> None:
    with pytest.raises(BadOption) as refused:
        suffix_of(name, KNOWN)
    assert refused.value.option == "output"
    assert refused.value.expected == "a name that ends with .csv, .json, .md, .speedscope.json"


@pytest.mark.parametrize(("path", "problem"), [("no/a.csv", "its folder does not exist"), (".", "it is a folder")])
def test_what_cannot_be_written_is_refused_before_anything_is_measured(path: str, problem: str) -> None:
    with pytest.raises(BadOption, match=f"^cannot write {path}: {problem}$"):
        check_folder(path)


def test_a_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", b"1")
    assert (tmp_path / "a.csv").read_bytes() == b"1"
    with pytest.raises(FileNotWritten, match=r"^cannot write .*: No such file or directory$"):
        write(tmp_path / "no\n" / "a.csv", b"1")


@contextlib.contextmanager
def disk_of(size_bytes: int) -> Iterator[None]:
    """Files can grow to this size only."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_file_that_cannot_be_written_whole_leaves_what_was_there(tmp_path: Path, before: bytes | None) -> None:
    file = tmp_path / "a.csv"
    if before is not None:
        file.write_bytes(before)
    with disk_of(1 << 16), pytest.raises(FileNotWritten, match=r"a\.csv: File too large$"):
        write(file, bytes(1 << 17))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if before is None else [before])


def test_links_rights_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_bytes(b"1")
    target.chmod(0o640)
    link.symlink_to(target)
    write(link, b"2")
    assert link.is_symlink()
    assert target.read_bytes() == b"2"
    assert target.stat().st_mode & 0o777 == 0o640
    write(Path(os.devnull), b"3")
    assert not Path(os.devnull).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "target.csv"]


class Named(Struct):
    """A record with a name."""

    name: str
    value: float = 0.0


@pytest.mark.parametrize(
    ("record", "document"),
    [
        (Named("größe"), {"name": "größe", "value": 0.0}),
        (Named("x", float("nan")), {"name": "x", "value": None}),
        (Named("\udcff.onnx"), {"name": "\\udcff.onnx", "value": 0.0}),
    ],
)
def test_json_can_always_be_written_and_read(record: Named, document: dict[str, object]) -> None:
    text = to_json(record).decode()
    assert json.loads(text) == document
    assert text.startswith("{\n  ")
    assert text.endswith("}\n")
