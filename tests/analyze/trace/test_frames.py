"""The events of a trace as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from onnxperf.analyze.trace.events import lay_out
from onnxperf.analyze.trace.frames import events_frame, ort_frame
from onnxperf.measure.trace.read import trace_of_events
from onnxperf.records.trace import Trace
from tests.analyze.made_traces import Ran, events_of

POOL = {
    "main_thread": {"thread_pool_name": "intra", "block_size": [4, 2], "core": 1, "Run": 7, "Wait": 3},
    "sub_threads": {"11": {"num_run": 2}, "12": {"num_run": 3}},
}


def trace_with(**arguments: Any) -> Trace:
    """A loop around a node about which the profiler has more."""
    events = events_of([[Ran("l", "Loop", bodies=[[Ran("n", "Neg")]])]])
    node = next(each for each in events if each["name"].startswith("n_"))
    node["args"] |= {"output_type_shape": [{"float": [2, 3]}], "output_size": "24", **arguments}
    return trace_of_events(events)


def row_of(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    [row] = frame[frame["name"] == name].to_dict("records")
    return {str(column): value for column, value in row.items()}


def test_every_event_is_a_row_in_the_order_of_the_file() -> None:
    trace = trace_with()
    for frame in (events_frame(trace, lay_out(trace)), ort_frame(trace, lay_out(trace))):
        assert frame["name"].tolist() == [trace.names.values[code] for code in trace.names.codes]


def test_our_names_show_where_an_event_lies() -> None:
    trace = trace_with()
    frame = events_frame(trace, lay_out(trace))
    inner, outer = row_of(frame, "n_kernel_time"), row_of(frame, "l_kernel_time")
    assert (inner["node_name"], inner["op_name"], inner["kind"], inner["iteration"]) == ("n", "Neg", "kernel", 0)
    assert (inner["depth"], frame.loc[inner["parent"], "name"]) == (1, "l_kernel_time")
    assert inner["outputs"] == (("float", (2, 3)),)
    assert inner["output_size"] == 24
    assert outer["self_us"] == outer["duration_us"] - inner["duration_us"]
    assert pd.isna(outer["parent"])
    assert pd.isna(row_of(frame, "session_initialization")["self_us"])
    assert not [column for column in frame if str(column).startswith("pool_")]


def test_onnxruntimes_names_are_those_of_its_file() -> None:
    trace = trace_with(thread_scheduling_stats=POOL)
    row = row_of(ort_frame(trace, lay_out(trace)), "n_kernel_time")
    assert (row["op_name"], row["args_op_name"], row["args_provider"]) == ("n", "Neg", "CPUExecutionProvider")
    event = next(each for each in range(len(trace)) if trace.names.at(each, "") == "n_kernel_time")
    figures = {"pid": trace.processes, "tid": trace.threads, "dur": trace.duration_us, "ts": trace.start_us}
    assert {name: row[name] for name in figures} == {name: column[event] for name, column in figures.items()}
    assert (row["args_output_size"], row["args_output_type_shape"]) == (24, [{"float": [2, 3]}])
    assert row["args_input_type_shape"] is None
    assert row["args_thread_scheduling_stats"] == POOL


def test_the_thread_pool_has_columns_of_its_own() -> None:
    trace = trace_with(thread_scheduling_stats=POOL)
    frame = events_frame(trace, lay_out(trace))
    row = row_of(frame, "n_kernel_time")
    assert {column: value for column, value in row.items() if column.startswith("pool_")} == {
        "pool_name": "intra",
        "pool_block_sizes": (4, 2),
        "pool_core": 1,
        "pool_distribution_us": 0,
        "pool_enqueue_us": 0,
        "pool_run_us": 7,
        "pool_wait_us": 3,
        "pool_revoke_us": 0,
        "pool_sub_threads": 2,
        "pool_sub_runs": 5,
    }
    assert pd.isna(row_of(frame, "l_kernel_time")["pool_core"])


@pytest.mark.parametrize("statistics", [{"main_thread": 3}, {"sub_threads": [1]}], ids=json.dumps)
def test_statistics_of_another_shape_are_left_out_of_the_columns(statistics: object) -> None:
    trace = trace_with(thread_scheduling_stats=statistics)
    assert pd.isna(row_of(events_frame(trace, lay_out(trace)), "n_kernel_time")["pool_core"])
    assert row_of(ort_frame(trace, lay_out(trace)), "n_kernel_time")["args_thread_scheduling_stats"] == statistics


def test_statistics_that_cannot_be_read_are_left_out() -> None:
    trace = trace_with(thread_scheduling_stats=POOL)
    damaged = replace(trace, thread_statistics=tuple(text[:-1] for text in trace.thread_statistics))
    assert row_of(ort_frame(damaged, lay_out(damaged)), "n_kernel_time")["args_thread_scheduling_stats"] is None
