"""DataFrames as CSV, Excel and Parquet files."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxperf.errors import BadInput, MissingExtra
from onnxperf.records.trace import TensorType
from onnxperf.render.kit import workbook as tables
from onnxperf.render.kit.frames import csv_bytes, parquet_bytes
from onnxperf.render.kit.workbook import workbook_bytes
from onnxperf.results.formats import COMMON
from onnxperf.wording.names import starts_formula, visible
from tests.render import examples
from tests.render.kit import toys

openpyxl = pytest.importorskip("openpyxl")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("xlsxwriter")

NAMES = st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text(max_size=50))
TYPES = (TensorType("float", (1, 3, 8, 8)), TensorType("int64", ()))
ONCE_PER_EXAMPLE = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def frame(**columns: Any) -> pd.DataFrame:
    """A table whose text is not checked: pandas' own type of text refuses half a surrogate pair."""
    texts = {name: pd.Series(values, dtype=object) for name, values in columns.items() if _is_text(values)}
    return pd.DataFrame(columns | texts, columns=pd.Index(list(columns), dtype=object))


def _is_text(values: Any) -> bool:
    return isinstance(values, list) and any(isinstance(value, str) for value in values)


def write_table(table: pd.DataFrame, path: Path) -> None:
    write = {".csv": csv_bytes, ".xlsx": lambda each: workbook_bytes([], {"table": each}), ".parquet": parquet_bytes}
    path.write_bytes(write[path.suffix](table))


def write_workbook(sheets: Mapping[str, pd.DataFrame], path: Path) -> None:
    path.write_bytes(workbook_bytes([], sheets))


def sample() -> pd.DataFrame:
    return frame(
        name=["n0", "n1", None],
        inputs=[TYPES, (), TYPES[:1]],
        path=[("loop", "inner"), (), ("loop",)],
        calls=[1, -2, 3],
        time=[1.5, float("nan"), -2.25],
        index=pd.array([1, None, 3], dtype="Int64"),
        noise=[True, False, True],
        kind=pd.Categorical(["a", "b", "a"]),
        statistics=[b"{}", b"", b"\xff"],
    )


def csv_rows(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def sheets_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    book = openpyxl.load_workbook(path)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}


def xml_of(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist() if "worksheets" in name)


# ---------------------------------------------------------------- what is written


def test_csv_has_labels_for_types_and_text_for_lists(tmp_path: Path) -> None:
    write_table(sample(), tmp_path / "t.csv")
    head, first, second, third = csv_rows(tmp_path / "t.csv")
    assert head == list(sample().columns)
    assert first == ["n0", "f-1x3x8x8,i64", "loop, inner", "1", "1.5", "1", "True", "a", "{}"]
    assert second == ["n1", "", "", "-2", "", "", "False", "b", ""]
    assert third == ["", "f-1x3x8x8", "loop", "3", "-2.25", "3", "True", "a", "\\xff"]


def test_excel_keeps_numbers_truth_and_text_apart(tmp_path: Path) -> None:
    write_table(sample(), tmp_path / "t.xlsx")
    head, first, second, _ = sheets_of(tmp_path / "t.xlsx")["table"]
    assert list(head) == list(sample().columns)
    assert first == ("n0", "f-1x3x8x8,i64", "loop, inner", 1, 1.5, 1, True, "a", "{}")
    assert second[3:7] == (-2, None, None, False)


def test_parquet_keeps_the_types_of_columns(tmp_path: Path) -> None:
    write_table(sample(), tmp_path / "t.parquet")
    read = pd.read_parquet(tmp_path / "t.parquet")
    assert list(read.inputs) == ["f-1x3x8x8,i64", "", "f-1x3x8x8"]
    assert str(read["index"].dtype) == "Int64"
    assert read["index"].isna().tolist() == [False, True, False]
    assert [str(read[name].dtype) for name in ("calls", "time", "noise")] == ["int64", "float64", "bool"]
    schema = parquet.read_schema(tmp_path / "t.parquet")
    assert all("string" in str(schema.field(name).type) for name in ("name", "inputs", "path", "kind"))


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1, None, 3], [1, None, 3]),
        ([True, None], [True, None]),
        ([1.5, None], [1.5, None]),
        ([1, "a", None], ["1", "a", None]),
        ([True, 2], ["True", "2"]),
        ([2**70, 1], [str(2**70), "1"]),
        ([[1, 2], (3,), np.array([4, 5])], ["1, 2", "3", "4, 5"]),
        ([np.int64(3), np.float64(1.5)], ["3", "1.5"]),
        ([None, None], [None, None]),
        ([], []),
    ],
)
def test_parquet_takes_any_mixture_of_objects(tmp_path: Path, values: list[Any], written: list[Any]) -> None:
    cells = pd.Series(index=range(len(values)), dtype=object)
    for i, value in enumerate(values):
        cells.iat[i] = value
    write_table(frame(x=cells), tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").column("x").to_pylist() == written


def test_a_named_index_becomes_columns_and_an_unnamed_one_is_left_out(tmp_path: Path) -> None:
    grouped = frame(op=["a", "a", "b"], us=[1, 2, 3]).groupby("op").sum()
    write_table(grouped, tmp_path / "t.csv")
    assert csv_rows(tmp_path / "t.csv") == [["op", "us"], ["a", "3"], ["b", "3"]]
    write_table(frame(us=[1, 2]).iloc[1:], tmp_path / "t.csv")
    assert csv_rows(tmp_path / "t.csv") == [["us"], ["2"]]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_headings_are_one_text_each_and_all_different(tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame([[1, 2, 3]], columns=pd.Index(["a", "a", 7], dtype=object))
    write_table(table, tmp_path / f"t{suffix}")
    excel = partial(pd.read_excel, sheet_name="table")
    read = {".csv": pd.read_csv, ".xlsx": excel, ".parquet": pd.read_parquet}[suffix]
    names = [str(name) for name in read(tmp_path / f"t{suffix}").columns]  # type: ignore[operator]
    assert names == ["a", "a_2", "7"]
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("us", "sum"), ("us", "max")]))
    write_table(levels, tmp_path / f"t{suffix}")
    assert list(read(tmp_path / f"t{suffix}").columns) == ["us_sum", "us_max"]  # type: ignore[operator]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_the_table_that_was_given_stays_as_it_was(tmp_path: Path, suffix: str) -> None:
    given_table, before = sample(), sample()
    write_table(given_table, tmp_path / f"t{suffix}")
    pd.testing.assert_frame_equal(given_table, before)


# ---------------------------------------------------------------- hostile names


@ONCE_PER_EXAMPLE
@given(NAMES)
def test_no_csv_cell_starts_a_formula_or_a_new_line(tmp_path: Path, name: str) -> None:
    write_table(frame(**{"n": [name], "t": [(name, name)], name or "x": [-1]}), tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_bytes()
    assert text.count(b"\n") == 2
    for cell in [cell for row in csv_rows(tmp_path / "t.csv") for cell in row if cell != "-1"]:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@ONCE_PER_EXAMPLE
@given(NAMES)
def test_excel_shows_every_name_as_text(tmp_path: Path, name: str) -> None:
    write_table(frame(n=[name, "x"], t=[[name], []]), tmp_path / "t.xlsx")
    assert "<f>" not in xml_of(tmp_path / "t.xlsx")
    read = sheets_of(tmp_path / "t.xlsx")["table"]
    if not {"\ufffe", "\uffff"} & set(name):
        assert (read[1][0] or "") == visible(name)


@pytest.mark.parametrize(
    "text",
    ["http://a.b", "mailto:a@b.c", "internal:Sheet1!A1", "12", "{=1+1}", "=1+1", " =1+1", "＝1+1", "@A1"],  # noqa: RUF001
)
def test_what_looks_like_a_link_a_number_or_a_formula_is_text_in_excel(tmp_path: Path, text: str) -> None:
    write_table(frame(n=[text]), tmp_path / "t.xlsx")
    cell = openpyxl.load_workbook(tmp_path / "t.xlsx")["table"]["A2"]
    assert cell.hyperlink is None
    assert cell.data_type in ("s", "inlineStr")
    assert cell.value == text
    assert cell.quotePrefix is starts_formula(text)  # it stays text when someone edits the cell
    assert "<f>" not in xml_of(tmp_path / "t.xlsx")


@ONCE_PER_EXAMPLE
@given(NAMES)
def test_parquet_takes_every_name(tmp_path: Path, name: str) -> None:
    heading = name.encode("utf-8", "replace").decode() + "!"  # pandas refuses half a surrogate pair in a heading
    write_table(frame(**{"n": [name], heading: [1]}), tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").column("n").to_pylist() == [visible(name)]


# ---------------------------------------------------------------- a workbook


def test_a_workbook_begins_with_a_summary_and_has_units_and_filters(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(workbook_bytes([("answer", "=1+1 is faster")], {"times": toys.table("a", "b")}))
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    assert [cell.value for cell in next(book["summary"].iter_rows())] == ["answer", "=1+1 is faster"]
    times = book["times"]
    assert [cell.value for cell in times[1]] == ["name", "mean_ns", "p99_ns", "calls"]
    assert [cell.value for cell in times[2]] == ["a", 8_430, 10_200, 12_345]
    assert times["B2"].number_format == '#,##0.0 "ns"'
    assert times["D2"].number_format == "#,##0"
    assert times.auto_filter.ref == "A1:D3"
    assert "<f>" not in xml_of(tmp_path / "t.xlsx")


# ---------------------------------------------------------------- limits of Excel


def test_numbers_that_excel_would_change_are_written_as_text(tmp_path: Path) -> None:
    write_table(frame(n=[2**53 + 1, 10**14], x=[float("inf"), -1.0]), tmp_path / "t.xlsx")
    _, first, second = sheets_of(tmp_path / "t.xlsx")["table"]
    assert first == (str(2**53 + 1), "inf")
    assert second == (10**14, -1)


def test_numpy_scalars_among_objects_stay_numbers_in_excel(tmp_path: Path) -> None:
    cells = pd.Series([np.int64(3), np.float32(0.5), np.bool_(True), np.float64("nan"), "x"], dtype=object)
    write_table(frame(n=cells), tmp_path / "t.xlsx")
    rows = sheets_of(tmp_path / "t.xlsx")["table"]
    assert [row[0] for row in rows[1:]] == [3, 0.5, True, None, "x"]


def test_a_long_text_is_cut_to_what_a_cell_holds(tmp_path: Path) -> None:
    write_table(frame(n=["a" * 40_000, "\N{ROCKET}" * 20_000]), tmp_path / "t.xlsx")
    _, (first,), (second,) = sheets_of(tmp_path / "t.xlsx")["table"]
    assert len(first) == 32_767
    assert first.endswith("…")
    assert len(second.encode("utf-16-le")) // 2 <= 32_767


def test_a_table_that_excel_cannot_hold_is_refused_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "EXCEL_ROWS", 4)
    long, short = frame(x=range(4)), frame(x=range(3))
    write_workbook({"events": long, "nodes": short}, tmp_path / "t.xlsx")
    read = sheets_of(tmp_path / "t.xlsx")
    assert len(read["nodes"]) == 4
    assert "the table events has 4 rows" in read["events"][0][0]
    with pytest.raises(BadInput, match=r"4 rows .* write it as \.parquet"):
        write_table(long, tmp_path / "u.xlsx")
    assert not (tmp_path / "u.xlsx").exists()


@pytest.mark.parametrize(
    ("names", "titles"),
    [
        (["a", "A"], ["a", "A_2"]),
        (["x" * 40, "x" * 41], ["x" * 27, "x" * 27 + "_2"]),
        (["[a]:*?/\\b"], ["_a______b"]),
        (["'quoted'"], ["quoted"]),
        (["", "History"], ["_", "History_"]),
        (["\x00\n"], ["_x00_n"]),
    ],
)
def test_names_of_sheets_become_what_excel_takes(tmp_path: Path, names: list[str], titles: list[str]) -> None:
    write_workbook({name: frame(x=[1]) for name in names}, tmp_path / "t.xlsx")
    assert list(sheets_of(tmp_path / "t.xlsx")) == ["summary", *titles]


@ONCE_PER_EXAMPLE
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_any_names_of_sheets_can_be_written(tmp_path: Path, names: list[str]) -> None:
    write_workbook({name: frame(x=[1]) for name in names}, tmp_path / "t.xlsx")
    titles = list(sheets_of(tmp_path / "t.xlsx"))
    assert len(titles) == len(names) + 1
    assert all(1 <= len(title) <= 31 for title in titles)


# ---------------------------------------------------------------- what cannot be done


@pytest.mark.parametrize(
    ("suffix", "module", "extra"), [(".xlsx", "xlsxwriter", "excel"), (".parquet", "pyarrow", "parquet")]
)
def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for attempt in (lambda: write_table(sample(), tmp_path / f"t{suffix}"), COMMON[suffix].requires):
        assert attempt is not None
        with pytest.raises(MissingExtra, match=rf"{module} is not installed; .*\[{extra}\]"):
            attempt()
