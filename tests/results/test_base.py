"""What every result gets from the base, shown on a toy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.records.lines import MemoryLines
from onnxperf.records.stack import Stack
from onnxperf.render.kit.page import Page
from onnxperf.results.base import Result, result_classes, shows
from onnxperf.results.bench import BenchResult
from onnxperf.results.formats import COMMON, Format, Wanted
from onnxperf.results.stack import SHOW as STACK
from onnxperf.results.stack import StackResult
from tests.render import examples
from tests.results.toys import PLAIN, TOY, Plain, PlainResult, Toy, ToyResult

SUFFIXES = [".json", ".md", ".html", ".csv", ".parquet", ".xlsx", ".png", ".svg"]
STARTS = {
    ".json": b"{\n",
    ".md": b"**toy**",
    ".html": b"<!doctype html>",
    ".csv": b"name,size_bytes\nwheel,4\naxle,\ntotal,4\n",
    ".parquet": b"PAR1",
    ".xlsx": b"PK",
    ".png": b"\x89PNG",
    ".svg": b"<?xml",
    ".toy": b"It rolls.",
}


@pytest.fixture
def toy() -> ToyResult:
    return ToyResult(Toy())


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".toy"])
def test_a_result_is_written_in_every_format_that_it_has(toy: ToyResult, suffix: str, tmp_path: Path) -> None:
    toy.save(tmp_path / f"out{suffix}")
    assert (tmp_path / f"out{suffix}").read_bytes() == toy.encode(suffix) or suffix in (".xlsx", ".svg")
    assert toy.encode(suffix).startswith(STARTS[suffix])


def test_a_result_has_the_formats_of_what_it_has() -> None:
    assert list(TOY.formats()) == [*SUFFIXES, ".toy"]
    assert list(PLAIN.formats()) == [".json", ".md", ".html"]


def test_a_new_format_is_one_row_for_all_results(
    toy: ToyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are one file (here a lambda), its row in COMMON the other; nothing else changes."""

    def tex(result: Result[Any], wanted: Wanted) -> bytes:
        return result.table(wanted.table).to_html().encode()

    monkeypatch.setitem(COMMON, ".tex", Format("a table for another program", tex, "table"))
    toy.save(tmp_path / "t.tex", table="names")
    assert "<td>wheel</td>" in (tmp_path / "t.tex").read_text()
    assert ".tex" in shows()[MemoryLines].formats()
    assert ".tex" not in PLAIN.formats()
    assert STACK.formats()[".txt"] is STACK.own[".txt"]


def test_the_name_of_a_file_chooses_its_table_or_its_chart(toy: ToyResult, tmp_path: Path) -> None:
    toy.save(tmp_path / "all.names.csv")
    assert (tmp_path / "all.names.csv").read_text() == "name\nwheel\naxle\n"
    toy.save(tmp_path / "names.csv")
    assert (tmp_path / "names.csv").read_bytes() == toy.encode(".csv")
    toy.save(tmp_path / "all.sizes.png")
    assert (tmp_path / "all.sizes.png").read_bytes() == toy.encode(".png", Wanted(chart="sizes"))


def test_a_file_that_cannot_be_written_is_an_error_of_its_own(toy: ToyResult, tmp_path: Path) -> None:
    with pytest.raises(FileNotWritten, match="cannot write"):
        toy.save(tmp_path / "no" / "toy.json")


# ---------------------------------------------------------------- tables and charts


def test_tables_are_found_by_name_and_the_first_is_the_usual_one(toy: ToyResult, tmp_path: Path) -> None:
    assert list(toy.to_df().columns) == ["name", "size_bytes"]
    assert str(toy.to_df()["size_bytes"].dtype) == "Int64"
    assert toy.to_df()["name"].tolist() == ["wheel", "axle"]
    assert list(toy.table("names").columns) == ["name"]
    toy.save(tmp_path / "n.csv", table="names")
    assert (tmp_path / "n.csv").read_text() == "name\nwheel\naxle\n"
    toy.save(tmp_path / "t.xlsx")
    assert list(pd.read_excel(tmp_path / "t.xlsx", sheet_name=None)) == ["summary", "parts", "names"]


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: ToyResult(Toy()).table("wheels"), "unknown table 'wheels'; choose from: parts, names"),
        (lambda: ToyResult(Toy()).plot(chart="wheels"), "unknown chart 'wheels'; choose from: sizes"),
        (lambda: PlainResult(Plain()).to_df(), "unknown table ''; choose from: none"),
        (lambda: PlainResult(Plain()).plot(), "a result of plain has no chart"),
        (
            lambda: ToyResult(Toy()).save("out.pdf"),
            "`output=out.pdf`: expected a name that ends with .csv, .html, .json, .md",
        ),
    ],
)
def test_what_a_result_does_not_have_is_refused_with_what_it_has(attempt: Any, message: str) -> None:
    with pytest.raises(BadOption) as refused:
        attempt()
    assert message in str(refused.value)


def test_a_chart_is_drawn_on_axes_that_are_given(toy: ToyResult) -> None:
    axes = toy.plot()
    axes.clear()
    assert toy.plot(axes) is axes
    assert axes.patches


def test_a_result_with_nothing_to_draw_is_a_picture_that_says_so() -> None:
    assert ToyResult(Toy(parts=())).encode(".png").startswith(STARTS[".png"])


# ---------------------------------------------------------------- what it shows


def test_the_record_is_its_json(toy: ToyResult) -> None:
    assert json.loads(toy.to_json())["parts"][0] == {"name": "wheel", "size_bytes": 4}


def test_it_shows_its_page_everywhere(toy: ToyResult) -> None:
    for shown in (repr(toy), toy.to_markdown(), toy._repr_html_(), toy.to_html()):
        assert all(word in shown for word in ("toy", "wheel", "axle", "total", "It rolls."))
    assert "\x1b" not in repr(toy)


@pytest.mark.parametrize(
    ("record", "status", "ok", "interrupted"),
    [
        (Toy(), "ok", True, False),
        (Toy(status="oom"), "oom", False, False),
        (Toy(interrupted=True), "interrupted", False, True),
        (Toy(status="failed", interrupted=True), "interrupted", False, True),
    ],
)
def test_how_it_ended_is_read_from_the_record(record: Toy, status: str, ok: bool, interrupted: bool) -> None:
    result = ToyResult(record)
    assert (result.status, result.ok, result.interrupted) == (status, ok, interrupted)


# ---------------------------------------------------------------- how it is found


def test_a_record_is_shown_by_its_class_if_it_has_one_of_its_own() -> None:
    found = result_classes()
    assert found[Stack] is StackResult
    assert found[MemoryLines] is Result
    assert (shows()[Stack].kind, shows()[MemoryLines].kind, TOY.kind) == ("stack", "memory", "toy")


def test_a_subclass_inherits_the_page(toy: ToyResult) -> None:
    class Bigger(ToyResult):
        """The same toy."""

        def page(self) -> Page:
            """The page of the toy."""
            return super().page()

    assert repr(Bigger(toy.record)) == repr(toy)


def test_a_named_chart_with_nothing_to_draw_is_no_picture_that_says_nothing_was_measured() -> None:
    result = BenchResult(examples.bench(examples.case()))
    assert not result.charts("map")
    with pytest.raises(FileNotWritten, match="the chart map has nothing to draw"):
        result.encode(".png", Wanted(chart="map"))
