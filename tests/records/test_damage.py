"""Records of strangers: refused in one line where they are decoded, or shown in every way."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.errors import BadInput, OnnxperfError, StoreError
from onnxperf.records.base import Document
from onnxperf.records.rules import is_time
from onnxperf.render.kit.documents import from_json, to_json
from onnxperf.store import Store, open_store
from onnxperf.store.documents import from_document, kinds, to_document
from tests.depth import often
from tests.records.damage import bench, damaged, gate, profile, records, show
from tests.render.memory import examples as memories
from tests.render.stack import examples as stacks
from tests.store.examples import sql

RECORDS = {f"{type(each).__name__} {number}": each for number, each in enumerate(records())}
SHOWN = often(16)
"""Damaged records of each kind that are shown, of all that are decoded: a page takes its time."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "runs.sqlite") as opened:
        yield opened


def test_there_is_an_example_of_every_kind() -> None:
    assert {type(each).__name__ for each in RECORDS.values()} == {"Bench", *kinds()}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_comes_back_as_it_was_from_both_decoders(name: str) -> None:
    record = RECORDS[name]
    assert from_document(to_document(record), type(record)) == record
    read = from_json(to_json(record), type(record))  # in which infinity is null
    assert from_json(to_json(read), type(record)) == read


@pytest.mark.parametrize("name", RECORDS)
def test_a_damaged_record_is_refused_or_can_be_shown_in_every_way(name: str) -> None:
    kind = type(RECORDS[name])
    accepted: list[tuple[str, Document]] = []
    for where, text in damaged(RECORDS[name]):
        try:
            accepted.append((where, from_document(text, kind)))
        except StoreError:
            continue
    chosen = random.Random(name).sample(accepted, min(SHOWN, len(accepted)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, about numbers as large as a record may have
        for where, record in chosen:
            try:
                show(record)
            except Exception as error:
                raise AssertionError(f"{kind.__name__}: {where}") from error


PROFILE, MEMORY, STACK = profile(), memories.memory(memories.case(memories.subject())), stacks.stack()


@pytest.mark.parametrize(
    ("record", "path", "value", "problem"),
    [
        (bench(), "cases.0.subjects.0.blocks.0.calls", 0, ">= 1"),
        (bench(), "cases.0.yardstick.blocks.0.duration_ns", -1, ">= 0"),
        (bench(), "cases.0.subjects.0.median_ns", 1e300, "<= 1e+18"),
        (bench(), "cases.0.subjects.1.name", "run", "subjects are not unique"),
        (gate(), "races.0.subjects.0.blocks.0.calls", 0, ">= 1"),
        (gate(), "limits.0.new", True, "got `bool`"),
        (PROFILE, "nodes.0.self_us", [1], "times of iterations have different lengths"),
        (PROFILE, "operators.0.total_us", [], "times of iterations have different lengths"),
        (PROFILE, "alike", [0], "alike have different lengths"),
        (PROFILE, "timeline.threads", [0], "columns have different lengths"),
        (PROFILE, "timeline.live_bytes", [0], "columns have different lengths"),
        (PROFILE, "timeline.nodes.0", 99, "timeline.nodes has index 99"),
        (PROFILE, "headroom.nodes", [], "headroom.nodes have different lengths"),
        (PROFILE, "headroom.peaks.bandwidths", [], "sizes of bandwidths are not increasing"),
        (PROFILE, "operators.0.op_name", "Other", "missing from the operators"),
        (MEMORY, "cases.0.subjects.0.sample_ns", [1], "samples have different lengths"),
        (MEMORY, "cases.0.subjects.0.growth.calls", [1], "points have different lengths"),
        (MEMORY, "cases.0.subjects.0.started_s", 1e12, "<= 8000000000.0"),
        (STACK, "frames.1.parent", 1, "has index 1, but the length is 1"),
        (STACK, "frames.0.parent", 0, "may be the root"),
        (STACK, "calls", 0, ">= 1"),
        (RECORDS["KeptRuns 25"], "runs.0.started", "2026-99-99", "not a timestamp"),
    ],
)
def test_what_contradicts_itself_is_refused_in_one_line_by_both_decoders(
    record: Document, path: str, value: Any, problem: str
) -> None:
    fields = json.loads(to_document(record))
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = fields
    for part in way:
        place = place[part]
    place[last] = value
    text = json.dumps(fields)
    ways: Any = ((from_document, text), (from_json, text.encode()))
    for decode, data in ways:
        with pytest.raises(OnnxperfError) as refused:
            decode(data, type(record))
        assert problem in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"version": 1e999}', b"[" * 10**5, b"\xff", b'{"version": []}'])
def test_what_is_no_record_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"^not a Bench document of onnxperf: ") as refused:
        from_json(data, type(bench()))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("2026-01-31T10:00:00.000000+00:00", True),
        ("2026-01-31T10:00:00+02:00", True),
        ("2026-02-31T10:00:00+00:00", False),
        ("2026-01-31T10:00:00", False),
        ("1066-01-31T10:00:00+00:00", False),
        ("2400-01-31T10:00:00+00:00", False),
        ("now", False),
        ("", False),
    ],
)
def test_a_time_of_day_is_one_that_there_is(text: str, valid: bool) -> None:
    assert is_time(text) is valid


def test_blocks_of_a_store_are_checked_with_their_case(store: Store) -> None:
    first = bench()
    twice = replace(first.cases[0], subjects=(first.cases[0].subjects[0],) * 2)
    for damage in (replace(first, cases=(twice,)), _without_calls(first)):
        run = store.keep(damage, "bench")
        with pytest.raises(StoreError, match=f"run {run} cannot be read: .*(not unique|>= 1)"):
            store.load_record(run)


def test_a_run_whose_time_is_no_time_costs_no_list(store: Store) -> None:
    run = store.keep(bench(), "bench")
    sql(store, "UPDATE runs SET started = '2026-19-39T10:00:00+00:00'")
    (found,) = store.runs()
    assert (found.id, found.started[:4]) == (run, "1970")
    assert store.histories(["bert.onnx"]) == []


def _without_calls(first: Any) -> Any:
    case = first.cases[0]
    subject = case.subjects[0]
    none = replace(subject, blocks=(replace(subject.blocks[0], calls=0), *subject.blocks[1:]))
    return replace(first, cases=(replace(case, subjects=(none, *case.subjects[1:])),))
