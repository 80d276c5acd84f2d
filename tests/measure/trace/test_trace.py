"""Traces of all versions, of other tools, and damaged ones."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.errors import BadInput
from onnxperf.measure.trace import columns as columns_module
from onnxperf.measure.trace import read as trace_module
from onnxperf.measure.trace.columns import NUMBER_ARGUMENTS
from onnxperf.measure.trace.read import parse_trace, read_trace, trace_of_events
from onnxperf.records.trace import MISSING, TensorType, Trace
from tests.measure.trace.traces import STATISTICS, Event, line_of, node, session, written, written_lines

CUT = "the trace is truncated: "
INCOMPLETE = CUT + "the last event is incomplete and was ignored"
UNFINISHED = CUT + "later events, if any, are missing"
FOREIGN = "not a complete event of onnxruntime (ph X with cat, name, ts and dur) and ignored"


def parse(data: bytes) -> Trace:
    return parse_trace(data, "it")


def rows_of(trace: Trace) -> list[dict[str, Any]]:
    """What a trace says of each event; statistics as values, since their text may be spaced in any way."""
    columns = {
        "cat": trace.categories.rows(),
        "name": trace.names.rows(),
        "ph": trace.phases.rows(),
        "op": trace.op_names.rows(),
        "provider": trace.providers.rows(),
        "parent": trace.parent_names.rows(),
        "inputs": trace.inputs.rows(),
        "outputs": trace.outputs.rows(),
        "pid": trace.processes.tolist(),
        "tid": trace.threads.tolist(),
        "ts": trace.start_us.tolist(),
        "dur": trace.duration_us.tolist(),
        "statistics": [json.loads(text or b"null") for text in trace.thread_statistics],
        **{name: column.tolist() for name, column in trace.numbers.items()},
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def with_arguments(**arguments: Any) -> Event:
    return node(args=node()["args"] | arguments)


# ---------------------------------------------------------------- what is read


def test_an_event_of_a_node_is_read_with_all_that_it_tells() -> None:
    trace = parse(written([node("conv"), session()]))
    first, second = rows_of(trace)
    assert first == {
        "cat": "Node",
        "name": "conv_kernel_time",
        "ph": "X",
        "op": "Conv",
        "provider": "CPUExecutionProvider",
        "parent": None,
        "inputs": (TensorType("float", (1, 3)), TensorType("int64", ())),
        "outputs": (TensorType("float", (1, 8)),),
        "pid": 7,
        "tid": 8,
        "ts": 10,
        "dur": 5,
        "statistics": STATISTICS,
        "node_index": 3,
        "mem_in_use_delta": -256,
    }
    assert (second["cat"], second["op"], second["inputs"], second["node_index"]) == ("Session", None, None, MISSING)
    assert second["statistics"] is None
    assert not trace.notes


def test_a_kernel_on_a_gpu_tells_its_node_and_its_grid() -> None:
    kernel = node(cat="Kernel", name="gemm<float>", args={"op_name": "MatMul", "parent_name": "n0_kernel_time"})
    kernel["args"] |= {"stream": "7", "grid_x": "12", "block_z": "1"}
    trace = parse(written([node(), kernel]))
    assert trace.parent_names.rows() == [None, "n0_kernel_time"]
    assert {name: trace.numbers[name].tolist() for name in ("stream", "grid_x", "block_z")} == {
        "stream": [MISSING, 7],
        "grid_x": [MISSING, 12],
        "block_z": [MISSING, 1],
    }


def test_an_older_version_has_fences_and_other_indices() -> None:
    arguments = {"op_name": "Conv", "graph_index": "4", "exec_plan_index": "2", "thread_scheduling_stats": ""}
    fence = session("n0_fence_before", cat="Node", args={"op_name": "Conv"})
    trace = parse(written([fence, node(args=arguments)]))
    assert trace.op_names.rows() == ["Conv", "Conv"]
    assert list(trace.numbers) == ["graph_index", "exec_plan_index"]
    assert trace.numbers["graph_index"].tolist() == [MISSING, 4]
    assert trace.thread_statistics == (b"", b"")


def test_the_order_of_the_file_is_kept() -> None:
    starts = [50, 10, 30, 20]
    assert parse(written([node(ts=start) for start in starts])).start_us.tolist() == starts


def test_values_that_repeat_are_kept_once() -> None:
    trace = parse(written([node("a"), node("b"), node("a")]))
    assert trace.names.values == ("a_kernel_time", "b_kernel_time")
    assert trace.names.codes.tolist() == [0, 1, 0]
    assert len(trace.inputs.values) == 1


def test_shapes_that_are_spaced_differently_are_the_same() -> None:
    spaced = line_of(node()).replace('{"float": [1, 3]}', '{ "float" :[1,3] }')
    assert len(parse(written_lines([line_of(node()), spaced, line_of(session())])).inputs.values) == 1


def test_statistics_are_the_text_of_the_trace_and_do_not_keep_it_alive() -> None:
    trace = parse(written([node()]))
    assert trace.thread_statistics == (json.dumps(STATISTICS).encode(),)
    assert type(trace.thread_statistics[0]) is bytes


def test_the_number_of_statistics_is_that_of_the_events() -> None:
    trace = parse(written([session(), node(), session(), node()]))
    assert len(trace.thread_statistics) == 4
    assert trace.thread_statistics[1:] == (json.dumps(STATISTICS).encode(), b"", json.dumps(STATISTICS).encode())
    assert trace.thread_statistics == list(trace.thread_statistics)
    assert hash(trace.thread_statistics) == hash(tuple(trace.thread_statistics))


NEWS: dict[str, Event] = {
    "name": node("another"),
    "operator": with_arguments(op_name="Relu"),
    "provider": with_arguments(provider="CUDAExecutionProvider"),
    "operator that is null": with_arguments(op_name=None),
    "category": node(cat="Api"),
    "argument that is a number": with_arguments(stream="7"),
    "argument that is a text": with_arguments(parent_name="n0_kernel_time"),
    "argument of other tools": with_arguments(colour="red"),
    "field of other tools": node(id=3),
    "number of 70 bits": with_arguments(node_index=str(2**70)),
}


@pytest.mark.parametrize("news", NEWS.values(), ids=list(NEWS))
@pytest.mark.parametrize("known", [1, 3, 40])
def test_what_is_new_in_a_later_chunk_is_read_as_if_it_had_been_first(
    news: Event, known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_module, "CHUNK_BYTES", 1 << 10)
    events = [*[node(), session()] * known, news, *[node("third"), news, session()] * known]
    text = json.dumps(events).encode()
    assert rows_of(parse(text)) == rows_of(trace_of_events(events))


def test_names_without_end_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(columns_module, "MANY_TEXTS", 8)
    names = [f"node{number}" for number in range(200)]
    assert parse(written([node(name) for name in names])).names.values == tuple(f"{name}_kernel_time" for name in names)


def test_columns_are_of_64_bits() -> None:
    trace = parse(written([node(), session()]))
    columns = [trace.start_us, trace.duration_us, trace.processes, trace.threads, trace.names.codes, trace.phases.codes]
    assert {column.dtype for column in [*columns, *trace.numbers.values()]} == {np.dtype(np.int64)}
    assert set(trace.numbers) <= set(NUMBER_ARGUMENTS)


FORMATS: dict[str, Callable[[list[Event]], bytes]] = {
    "as onnxruntime writes it": written,
    "on one line": lambda events: json.dumps(events).encode(),
    "without spaces": lambda events: json.dumps(events, separators=(",", ":")).encode(),
    "indented": lambda events: json.dumps(events, indent=2).encode(),
    "with line ends of Windows": lambda events: written(events).replace(b"\n", b"\r\n"),
    "with a byte order mark": lambda events: b"\xef\xbb\xbf" + written(events),
    "an object": lambda events: json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode(),
    "an indented object": lambda events: json.dumps(
        {"otherData": {"a": [1]}, "traceEvents": events}, indent=1
    ).encode(),
    "keys in another order": lambda events: json.dumps(events, sort_keys=True).encode(),
    "keys in changing order": lambda events: json.dumps(
        [dict(list(e.items())[::-1][i % 3 :]) | e for i, e in enumerate(events)]
    ).encode(),
    "numbers as strings": lambda events: json.dumps(
        [e | {"ts": str(e["ts"]), "dur": str(e["dur"])} for e in events]
    ).encode(),
    "fractions of microseconds": lambda events: json.dumps([e | {"ts": e["ts"] + 0.25} for e in events]).encode(),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("chunk", [64, 700, 1 << 17])
def test_every_format_tells_the_same(form: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [*(node(f"n{i} {{", ts=20 * i) for i in range(30)), session(ts=0, dur=700)]
    monkeypatch.setattr(trace_module, "CHUNK_BYTES", chunk)
    trace = parse(FORMATS[form](events))
    assert rows_of(trace) == rows_of(trace_of_events(events))
    assert not trace.notes


def test_a_file_gives_what_its_content_gives(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(written([node(str(i)) for i in range(1000)]))
    assert rows_of(read_trace(path)) == rows_of(parse(path.read_bytes()))


def test_metadata_of_other_tools_is_no_loss() -> None:
    metadata = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "x"}}
    trace = parse(json.dumps({"traceEvents": [metadata, node(), metadata]}).encode())
    assert len(trace) == 1
    assert trace.names.values == ("n0_kernel_time",)
    assert not trace.notes


# ---------------------------------------------------------------- what is wrong with single events


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ({"node_index": 3}, 3),
        ({"node_index": "-7"}, -7),
        ({"node_index": "2.5"}, 2),
        ({"node_index": 2**63 - 1}, 2**63 - 1),
        ({"node_index": 2**63}, MISSING),
        ({"node_index": "9" * 5000}, MISSING),
        ({"node_index": "many"}, MISSING),
        ({"node_index": None}, MISSING),
        ({"node_index": True}, MISSING),
        ({"node_index": [1]}, MISSING),
        ({"node_index": float("nan")}, MISSING),
        ({"node_index": float("inf")}, MISSING),
    ],
)
def test_a_number_that_is_none_is_missing(arguments: Event, numbers: int) -> None:
    events = [with_arguments(node_index="1"), with_arguments(**arguments), session()]
    for trace in (parse(written(events)), trace_of_events(events)):
        assert trace.numbers["node_index"].tolist() == [1, numbers, MISSING]
        assert not trace.notes


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([], ()),
        ([{"float": [2]}, {"float16": [0, -1]}], (TensorType("float", (2,)), TensorType("float16", (0, -1)))),
        (json.dumps([{"bool": [5]}]), (TensorType("bool", (5,)),)),
        ([{"float": list(range(200_000))}], (TensorType("float", tuple(range(200_000))),)),
        ([{"float": [2**70]}], None),
        ([{"float": ["a"]}], None),
        ([{"float": 3}], None),
        ([[[[[]]]]], None),
        ({"float": [1]}, None),
        ("", None),
        ("[{", None),
        ("\ud800", None),
        (None, None),
        (7, None),
    ],
)
def test_a_shape_that_is_none_is_left_out(shapes: Any, expected: Any) -> None:
    events = [node(), with_arguments(input_type_shape=shapes), session()]
    for trace in (parse(written(events)), trace_of_events(events)):
        assert trace.inputs.rows()[1] == expected
        assert trace.outputs.rows()[1] == (TensorType("float", (1, 8)),)
        assert not trace.notes


@pytest.mark.parametrize("statistics", ["", None, [], "{}", 5])
def test_statistics_that_are_not_an_object_are_left_out(statistics: Any) -> None:
    events = [with_arguments(thread_scheduling_stats=statistics), session()]
    assert parse(written(events)).thread_statistics == (b"", b"")
    assert trace_of_events(events).thread_statistics == (b"", b"")


@pytest.mark.parametrize(
    "other",
    [
        {"ph": "B"},
        {"ph": 5},
        {"ph": None},
        {"dur": None},
        {"dur": -1},
        {"dur": 2**60},
        {"dur": "long"},
        {"ts": 2**62},
        {"ts": []},
        {"cat": 3},
        {"name": None},
    ],
)
def test_what_is_no_whole_event_is_counted_and_left_out(other: Event) -> None:
    events = [node("a"), node("b") | other, node("c")]
    for trace in (parse(json.dumps(events).encode()), trace_of_events(events)):
        assert trace.names.values == ("a_kernel_time", "c_kernel_time")
        assert trace.notes == (f"1 entry was {FOREIGN}",)


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_arguments_that_are_no_object_are_none(arguments: Any) -> None:
    trace = parse(json.dumps([node(), node(args=arguments), session()]).encode())
    assert trace.op_names.rows() == ["Conv", None, None]
    assert not trace.notes


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"caf\xe9", "caf\ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("näme".encode(), "näme"),
        (b"half \\ud83d", "half ?"),
        (b"\\u0000\\u001b[31m", "\x00\x1b[31m"),
        (b"", ""),
    ],
)
def test_names_of_any_bytes_are_read(name: bytes, expected: str) -> None:
    data = written([node("a"), node("b"), node("c")]).replace(b"b_kernel_time", name)
    trace = parse(data)
    assert trace.names.rows() == ["a_kernel_time", expected, "c_kernel_time"]
    assert not trace.notes


@pytest.mark.parametrize("name", ['say "hi"', "a\\qb", "c:\\dir\\", "line\nbreak", "tab\there", '","x', '"', "\\"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_names_that_older_versions_do_not_escape_are_read(name: str, position: int) -> None:
    names = ["a", "b", "c"]
    names[position] = name
    trace = parse(written([session(each) for each in names], escape=False))
    assert trace.names.rows() == names
    assert not trace.notes


# ---------------------------------------------------------------- damaged and foreign files


@pytest.mark.parametrize("junk", ["garbage", "{", '{"cat" : "Node","pid" :1', "[" * 100_000, "null", '{"cat" : }'])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_unreadable_entry_is_counted_and_left_out(junk: str, position: int) -> None:
    lines = [line_of(node("a")), line_of(node("b"))]
    lines.insert(position, junk)
    trace = parse(written_lines(lines))
    assert trace.names.rows() == ["a_kernel_time", "b_kernel_time"]
    assert len(trace.notes) == 1
    assert trace.notes[0] in ("1 entry was unreadable and ignored", INCOMPLETE)


def test_damage_is_counted_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "CHUNK_BYTES", 1000)
    lines = [line_of(node(str(i))) for i in range(100)]
    lines[::10] = [line[: len(line) // 2] for line in lines[::10]]
    trace = parse(written_lines(lines))
    assert trace.names.rows() == [f"{i}_kernel_time" for i in range(100) if i % 10]
    assert trace.notes == ("10 entries were unreadable and ignored",)


def test_an_event_larger_than_several_chunks_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "CHUNK_BYTES", 100)
    events = [node("a"), with_arguments(input_type_shape=[{"float": list(range(5000))}]), node("b")]
    assert rows_of(parse(written(events))) == rows_of(trace_of_events(events))


def test_much_text_without_an_event_is_looked_at_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "CHUNK_BYTES", 100)
    monkeypatch.setattr(trace_module, "PATIENCE_BYTES", 200)
    assert len(parse(b"[" + b" " * 5000 + written([node()])[1:])) == 1
    with pytest.raises(BadInput, match="no event"):
        parse(b"[" + b"x" * 5000)
    others = [dict(sorted(node(str(i)).items(), reverse=i > 0)) for i in range(20)]
    assert len(parse(json.dumps(others).encode())) == 20


@pytest.mark.parametrize(
    ("ending", "note"),
    [
        ("", UNFINISHED),
        ("\n", UNFINISHED),
        (",\n", UNFINISHED),
        (',\n{"cat" : "No', INCOMPLETE),
        (",\n{", INCOMPLETE),
        (',\n{"cat" : "Node","name" :"\\', INCOMPLETE),
    ],
)
def test_a_cut_trace_keeps_what_could_be_read(ending: str, note: str) -> None:
    data = written([node("a"), node("b")]).removesuffix(b"\n]\n") + ending.encode()
    trace = parse(data)
    assert trace.names.rows() == ["a_kernel_time", "b_kernel_time"]
    assert trace.notes == (note,)


def test_a_second_list_is_left_out_with_a_note() -> None:
    trace = parse(written([node("a")]) + written([node("b")]))
    assert trace.names.rows() == ["a_kernel_time"]
    assert trace.notes == ("the file contains a second list of events, which was ignored",)


def test_a_full_trace_says_that_later_events_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "EVENT_CAP", 3)
    assert not parse(written([node()] * 2)).notes
    (note,) = parse(written([node()] * 3)).notes
    assert note == "the trace is full: onnxruntime stops recording at 3 events, so later ones are missing"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"[]", "contains no events"),
        (b"[\n]\n", "contains no events"),
        (b"[", "contains no events"),
        (b"[{", "contains no events"),
        (b'{"traceEvents": []}', "contains no events"),
        (b'{"traceEvents": [', "contains no events"),
        (b"[1, 2, 3]", "none of its 3 entries is an event"),
        (b'[{"name": "x"}]', "none of its 1 entries is an event"),
        (b'[{"ph": "M", "name": "x"}]', "contains no events"),
        (b'{"a": 1}', "neither a list of events nor an object with traceEvents"),
        (b"{", "neither a list of events nor an object with traceEvents"),
        (b"hello", "is not JSON"),
        (b"\x08\x07\x12\x05torch", "is not JSON"),
        (b"\x00" * 100, "is not JSON"),
        ("[]".encode("utf-16"), "is not JSON"),
        (gzip.compress(b"[]", mtime=0), "is gzip-compressed; unpack it"),
        (b"PK\x03\x04", "is a zip archive; unpack it"),
        (b"[" * 200_000, "event"),
        (b'[{"cat":' * 5_000, "event"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(BadInput) as error:
        parse(data)
    assert message in str(error.value)
    assert str(error.value).startswith("it ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"), [("", "is a folder"), ("missing.json", "no such file"), ("null\0byte", "no such file")]
)
def test_a_path_without_a_file_is_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        read_trace(tmp_path / name)


def test_a_list_without_events_is_refused() -> None:
    with pytest.raises(BadInput, match="the list of events contains no events"):
        trace_of_events([])


# ---------------------------------------------------------------- anything

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TIMES = st.integers(0, 2**43)
EVENTS = st.lists(
    st.builds(
        lambda name, ts, dur, tid, op, shapes: node(
            name=name, ts=ts, dur=dur, tid=tid, args={"op_name": op, "input_type_shape": shapes}
        ),
        NAMES,
        TIMES,
        TIMES,
        st.integers(-(2**63), 2**63 - 1),
        NAMES,
        st.lists(
            st.dictionaries(NAMES, st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3), max_size=2), max_size=2
        ),
    ),
    min_size=1,
    max_size=8,
)


def expected(event: Event) -> tuple[Any, ...]:
    types = tuple(TensorType(k, tuple(v)) for each in event["args"]["input_type_shape"] for k, v in each.items())
    return event["name"], event["ts"], event["dur"], event["tid"], event["args"]["op_name"] or None, types


def found(trace: Trace) -> list[tuple[Any, ...]]:
    keys = ("name", "ts", "dur", "tid", "op", "inputs")
    return [tuple(row[key] for key in keys) for row in rows_of(trace)]


@given(EVENTS)
def test_any_events_come_back_as_they_were_written(events: list[Event]) -> None:
    for trace in (parse(written(events)), parse(json.dumps(events).encode()), trace_of_events(events)):
        assert found(trace) == [expected(event) for event in events]
        assert not trace.notes


@given(EVENTS, st.data())
def test_a_cut_anywhere_loses_at_most_the_cut_event(events: list[Event], data: st.DataObject) -> None:
    text = written(events)
    ends = [len(written(events[:count])) - len("\n]\n") for count in range(1, len(events) + 1)]
    cut = data.draw(st.integers(0, len(text) - 1))
    whole = sum(end <= cut for end in ends)
    if not whole:
        with pytest.raises(BadInput):
            parse(text[:cut])
    else:
        trace = parse(text[:cut])
        assert found(trace) == [expected(event) for event in events[:whole]]
        assert bool(trace.notes) == (cut < len(text.rstrip()))


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_are_read_or_refused(junk: bytes, kind: int) -> None:
    head, tail = [(b"", b""), (b"[", b"]"), (b'{"traceEvents":[', b"]}"), (written([node()])[:-3], b"\n]\n")][kind]
    with contextlib.suppress(BadInput):
        trace = parse(head + junk + tail)
        assert len(trace.names.rows()) == len(trace)


@given(EVENTS, st.data())
def test_damage_costs_only_the_events_that_it_touches(events: list[Event], data: st.DataObject) -> None:
    text = written([node("first"), node("second"), *events])
    place = data.draw(st.integers(2, len(text) - 3))
    junk = data.draw(st.binary(max_size=5)).replace(b"]", b"")  # a bracket would end the list
    trace = parse(text[:place] + junk + text[place + data.draw(st.integers(0, 5)) :])
    assert len(trace) >= len(events)
