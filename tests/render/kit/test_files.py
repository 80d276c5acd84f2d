"""Files, and what their names say."""

from __future__ import annotations

import json
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
