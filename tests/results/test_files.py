"""Results as files."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.errors import BadInput
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json, to_json
from onnxperf.results.bench import BenchResult
from tests.render import examples

NAMES = st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text(st.characters(exclude_categories=["Cs"])))


def to_csv(bench: Bench) -> str:
    return BenchResult(bench).encode(".csv").decode()


def to_markdown(bench: Bench) -> str:
    return BenchResult(bench).to_markdown()


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@given(NAMES.filter(lambda name: "\udcff" not in name))
def test_json_reads_back_what_was_written(name: str) -> None:
    bench = examples.bench(
        examples.case(examples.subject(name), examples.failed(f"{name} failed", reason=name), model=name)
    )
    assert from_json(to_json(bench), Bench) == bench


def test_json_has_the_documented_shape() -> None:
    document = json.loads(to_json(examples.bench()))
    assert {"version", "machine", "command", "cases"} == set(document)
    subject = document["cases"][0]["subjects"][1]
    assert {"name", "status", "mean_ns", "speedup_low", "verdict", "blocks", "call_ns"} <= set(subject)
    fields = ["round", "position", "launch", "set_up", "calls", "start_ns", "duration_ns", "quickest_ns"]
    fields += ["cpu_ns", "span_ns", "free_pieces"]
    assert list(subject["blocks"][0]) == fields


def test_blocks_that_were_written_before_there_were_set_ups_belong_to_the_first() -> None:
    document = json.loads(to_json(examples.bench()))
    for subject in document["cases"][0]["subjects"]:
        for block in subject["blocks"]:
            del block["set_up"]
    read = from_json(json.dumps(document).encode(), Bench)
    assert {block.set_up for subject in read.cases[0].subjects for block in subject.blocks} == {0}


def test_numbers_that_json_does_not_know_become_null() -> None:
    bench = examples.bench(examples.case(examples.subject(mean_ns=1.0, deviation_ns=math.nan, speedup=math.inf)))
    assert b"NaN" not in to_json(bench)
    subject = from_json(to_json(bench), Bench).cases[0].subjects[0]
    assert (subject.deviation_ns, subject.speedup) == (None, None)


def test_a_file_name_that_is_not_utf8_does_not_break_json() -> None:
    bench = examples.bench(examples.case(examples.subject("\udcff")))
    assert from_json(to_json(bench), Bench).cases[0].subjects[0].name == "\\udcff"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a Bench document"),
        (b"{", "not a Bench document"),
        (b"\xff\xfe", "not a Bench document"),
        (b"[]", "not a Bench document"),
        (b'{"cases": []}', "version"),
        (b'{"version": 1}', "machine"),
        (b'{"version": 99, "cases": {}}', "format version 99.*newer onnxperf"),
    ],
)
def test_a_document_of_another_kind_or_version_is_one_clear_line(data: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        from_json(data, Bench)
    assert "\n" not in str(caught.value)


def test_csv_has_one_row_per_subject_of_each_case() -> None:
    rows = csv_rows(to_csv(examples.bench(examples.case(), examples.case(examples.failed(), dims={}))))
    assert list(rows[0]) == ["model", "dims", "batch", *examples.SUBJECT_KEYS]
    assert [row["name"] for row in rows] == [row[0] for row in examples.CALL_STYLES] + ["io-binding"]
    assert rows[0]["mean_ns"] == "8430.0"
    assert rows[-1]["mean_ns"] == ""


@given(NAMES)
def test_no_text_in_csv_starts_a_formula_or_a_new_line(name: str) -> None:
    case = examples.case(examples.subject(name, reason=name, call=name), model=name, dims={name: 1})
    text = to_csv(examples.bench(case))
    assert text.count("\n") == 2
    cells = csv_rows(text)[0]
    assert not any(cells[column].startswith(("=", "+", "-", "@", "\t", "\r")) for column in ("name", "model", "dims"))


def test_negative_numbers_in_csv_stay_numbers() -> None:
    assert csv_rows(to_csv(examples.bench(examples.case(examples.subject(p99_ns=-1.5)))))[0]["p99_ns"] == "-1.5"


@given(NAMES)
def test_no_name_breaks_a_markdown_table(name: str) -> None:
    case = examples.case(examples.subject(name), examples.subject("b"), model=name, answer=name, notes=(name,))
    text = to_markdown(examples.bench(case))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 8
    bars = [len(re.findall(r"(?<!\\)\|", row.replace("\\\\", ""))) for row in rows]
    assert [len(set(bars[:4])), len(set(bars[4:]))] == [1, 1]
    assert "<" not in re.sub("</?details>|</?summary>", "", text)


def test_markdown_names_the_case_its_answer_and_what_failed() -> None:
    text = to_markdown(examples.bench(examples.case(examples.subject("run_c"), examples.failed(reason="a|b"))))
    assert text.startswith("**linear.onnx** · batch=1000 · 2 threads · onnxruntime")
    assert "\n\n| name | time | min | p50 |" in text
    assert "| run\\_c | 8.43 µs |" in text
    assert "ort-values is fastest" in text
    assert "- io-binding: a\\|b" in text
