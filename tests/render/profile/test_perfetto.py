"""A trace as a file for Perfetto."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxperf.measure.trace.read import parse_trace, trace_of_events
from onnxperf.records.trace import MISSING, TensorType, Trace
from onnxperf.render.profile.perfetto import MOST_LANES, perfetto_json
from tests.render import examples


def event(name: str = "n0_kernel_time", ts: int = 0, dur: int = 10, **changes: Any) -> dict[str, Any]:
    args = {
        "op_name": "Conv",
        "provider": "CPUExecutionProvider",
        "node_index": "3",
        "input_type_shape": [{"float": [1, 3, 8, 8]}, {"int64": []}],
        "output_type_shape": [{"float": [1, 4, 8, 8]}],
        "thread_scheduling_stats": {"main_thread": {"thread_pool_name": "pool"}},
    }
    fields = {"cat": "Node", "pid": 7, "tid": 1, "ts": ts, "dur": dur, "ph": "X", "name": name, "args": args}
    return fields | changes


def session(name: str = "model_run", ts: int = 0, dur: int = 100, **changes: Any) -> dict[str, Any]:
    return event(name, ts, dur, cat="Session", args={}, **changes)


def written(*events: dict[str, Any], label: str = "m.onnx") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(perfetto_json(trace_of_events(events), label))
    return document


def whole(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in document["traceEvents"] if each["ph"] == "X"]


def metadata(document: dict[str, Any], name: str) -> dict[tuple[int, int], str]:
    found = [each for each in document["traceEvents"] if each["ph"] == "M" and each["name"] == name]
    return {(each["pid"], each["tid"]): each["args"].get("name", "") for each in found}


def crossings(events: list[dict[str, Any]]) -> int:
    """What Perfetto would drop: events that start inside another on their track, and end after it."""
    tracks: dict[tuple[int, int], list[int]] = defaultdict(list)
    dropped = 0
    for each in sorted(events, key=lambda each: each["ts"]):  # stable, as Perfetto's sorter
        ends = tracks[each["pid"], each["tid"]]
        end = each["ts"] + each["dur"]
        while ends and ends[-1] <= each["ts"]:
            ends.pop()
        if ends and end > ends[-1]:
            dropped += 1
        else:
            ends.append(end)
    return dropped


def test_events_keep_their_names_and_tell_operator_provider_and_shapes() -> None:
    document = written(event(ts=5))
    assert document["displayTimeUnit"] == "ms"
    (only,) = whole(document)
    assert (only["name"], only["cat"], only["ts"], only["dur"]) == ("n0_kernel_time", "Node", 5, 10)
    assert only["args"]["op_name"] == "Conv"
    assert only["args"]["inputs"] == "f-1x3x8x8,i64"
    assert only["args"]["node_index"] == 3
    assert only["args"]["thread_scheduling_stats"]["main_thread"] == {"thread_pool_name": "pool"}


def test_every_thread_has_a_track_with_a_name() -> None:
    document = written(event(tid=1), event(tid=2), session(tid=1, ts=20))
    assert metadata(document, "process_name") == {(7, 0): "m.onnx"}
    assert metadata(document, "thread_name") == {(7, 1): "thread 1", (7, 2): "thread 2"}
    assert [each["args"] for each in whole(document) if each["cat"] == "Session"] == [{}]


def test_kernels_on_a_device_have_tracks_of_their_own() -> None:
    kernel = {"cat": "Kernel", "args": {"stream": "7", "parent_name": "n0_kernel_time"}}
    overlapping = [event("gemm", 2, 30, **kernel), event("relu", 20, 30, **kernel)]
    document = written(event(), *overlapping)
    assert metadata(document, "thread_name") == {(7, 1): "thread 1", (7, 2): "device 1", (7, 3): "device 1 (2)"}
    assert [each["tid"] for each in whole(document)] == [1, 2, 3]
    assert whole(document)[1]["args"]["parent_name"] == "n0_kernel_time"


def test_a_body_that_ends_after_its_node_is_cut_by_the_tolerance_of_the_clock() -> None:
    document = written(event("inner_kernel_time", 4, 7), event("loop_kernel_time", 0, 10), session(ts=0, dur=10))
    assert [(each["name"], each["dur"]) for each in whole(document)] == [
        ("model_run", 10),
        ("loop_kernel_time", 10),
        ("inner_kernel_time", 6),
    ]
    assert crossings(whole(document)) == 0


def counters(document: dict[str, Any]) -> list[tuple[str, int, int, dict[str, int]]]:
    found = [each for each in document["traceEvents"] if each["ph"] == "C"]
    return [(each["name"], each["pid"], each["ts"], each["args"]) for each in found]


def test_the_memory_of_the_arena_is_a_counter_after_each_node() -> None:
    figures = [{"mem_bytes_in_use": "4096", "mem_arena_held": "8192"}, {"mem_bytes_in_use": "1024"}]
    events = [event(ts=20, args=figures[1]), event(ts=5, args=figures[0]), session(ts=0)]
    assert counters(written(*events)) == [
        ("arena in use", 7, 15, {"bytes": 4096}),
        ("arena in use", 7, 30, {"bytes": 1024}),
        ("arena held", 7, 15, {"bytes": 8192}),
    ]
    data = perfetto_json(trace_of_events(events), "m")
    again = parse_trace(data, "again")
    assert (len(again), again.notes) == (3, ())  # counters are neither events nor a loss
    assert perfetto_json(again, "m") == data


def test_a_trace_of_an_older_onnxruntime_has_no_counters() -> None:
    assert counters(written(event(), session())) == []


TIMES = st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(1, 2), st.sampled_from(["Node", "Kernel"]))


@settings(deadline=None)
@given(st.lists(TIMES, min_size=1, max_size=30))
def test_perfetto_drops_nothing(times: list[tuple[int, int, int, str]]) -> None:
    events = [event(f"n{i}", ts, dur, tid=tid, cat=cat) for i, (ts, dur, tid, cat) in enumerate(times)]
    document = written(*events)
    assert crossings(whole(document)) == 0
    assert sorted(each["name"] for each in whole(document)) == sorted(each["name"] for each in events)
    by_name = {each["name"]: each for each in whole(document)}
    assert all(0 <= each["dur"] - by_name[each["name"]]["dur"] <= 1 for each in events)


def test_events_that_all_overlap_need_no_more_than_a_few_tracks() -> None:
    document = written(*(event(f"n{i}", i, 1000) for i in range(100)))
    assert len(metadata(document, "thread_name")) == MOST_LANES
    assert crossings(whole(document)) == 0


@settings(deadline=None)
@given(st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text()))
def test_any_name_is_written_and_read_again(name: str) -> None:
    trace = trace_of_events([event(name, args={"op_name": name or "x", "provider": name or "x"})])
    data = perfetto_json(trace, name)
    document = json.loads(data)
    assert whole(document)[0]["name"] == trace.names.values[0]
    assert metadata(document, "process_name")[7, 0].encode() == name.encode("utf-8", "backslashreplace")
    assert parse_trace(data, "again").names.values == trace.names.values


def test_our_own_reader_reads_it_again() -> None:
    events = [event(f"n{i}_kernel_time", 20 * i, 10) for i in range(50)]
    first = trace_of_events([*events, session(ts=0, dur=2000)])
    again = parse_trace(perfetto_json(first, "m.onnx"), "again")
    assert again.notes == ()
    assert len(again) == len(first)
    assert sorted(again.names.rows(), key=str) == sorted(first.names.rows(), key=str)
    assert again.duration_us.sum() == first.duration_us.sum()
    assert again.inputs.values == ((TensorType("float", (1, 3, 8, 8)), TensorType("int64", ())),)
    assert set(again.numbers) == set(first.numbers)
    assert set(again.thread_statistics) == {b"", first.thread_statistics[0]}


@pytest.mark.parametrize("statistics", [b"{", b'{"a": 1}, {', b"\xff", b"nonsense"])
def test_statistics_that_are_not_json_do_not_break_the_file(statistics: bytes) -> None:
    trace = trace_of_events([event()])
    fields = {name: getattr(trace, name) for name in Trace.__dataclass_fields__}
    broken = Trace(**(fields | {"thread_statistics": (statistics,)}))
    assert "thread_scheduling_stats" not in whole(json.loads(perfetto_json(broken, "m")))[0]["args"]


def test_numbers_that_are_missing_are_left_out() -> None:
    trace = trace_of_events([{"cat": "Node", "name": "a", "ts": 0, "dur": 1}, event()])
    assert np.any(trace.processes == MISSING)
    first, second = whole(json.loads(perfetto_json(trace, "m")))[::-1]
    assert (first["pid"], first["tid"], first["args"]) == (0, 0, {})
    assert second["args"]["node_index"] == 3
