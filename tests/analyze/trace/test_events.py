"""Iterations, nesting and self times, on traces whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onnxperf.analyze.trace.events import TOLERANCE_US, TraceLayout, combine, lay_out, number_distinct
from onnxperf.measure.trace.read import trace_of_events
from onnxperf.records.trace import Trace
from tests.analyze.made_traces import Clock, Ran, events_of, graphs, loading, run_model, run_nodes, trace_of

LOOP = Ran("loop", "Loop", bodies=[[Ran("add"), Ran("if", "If", bodies=[[Ran("mul", "Mul")]])], [Ran("add")]])
MODEL = [Ran("relu", "Relu"), LOOP, Ran("last", "Sigmoid")]


def names(trace: Trace, layout: TraceLayout) -> list[str]:
    return [layout.node_names.values[code] for code in layout.node_names.codes[layout.is_kernel].tolist()]


def parents(trace: Trace, layout: TraceLayout) -> dict[str, str | None]:
    rows = layout.node_names.rows()
    kernels = [row for row, is_kernel in enumerate(layout.is_kernel.tolist()) if is_kernel]
    return {str(rows[row]): None if layout.parent[row] < 0 else rows[layout.parent[row]] for row in kernels}


def test_nodes_of_a_body_lie_under_their_parent() -> None:
    trace = trace_of([MODEL])
    assert parents(trace, lay_out(trace)) == {
        "relu": None,
        "loop": None,
        "last": None,
        "add": "loop",
        "if": "loop",
        "mul": "if",
    }


def test_iterations_end_with_their_run_and_not_with_the_executors_of_bodies() -> None:
    trace = trace_of([MODEL, MODEL, MODEL])
    layout = lay_out(trace)
    assert layout.iterations == 3
    assert not layout.incomplete
    kernels = layout.iteration[layout.is_kernel].tolist()
    assert kernels == [0] * 7 + [1] * 7 + [2] * 7
    assert layout.iteration[:2].tolist() == [-1, -1]


def nested_by_a_stack(events: list[dict[str, Any]]) -> list[int]:
    """The node around each node, by one walk over events that are in the order of their ends, on one thread."""
    around = [-1] * len(events)
    pending: list[int] = []
    for row, event in enumerate(events):
        start, end = event["ts"], event["ts"] + event["dur"] + TOLERANCE_US
        while pending:
            last = events[pending[-1]]
            begins_inside, last_end = last["ts"] >= start, last["ts"] + last["dur"]
            if event["cat"] == "Node" and not (last["cat"] == "Session" and begins_inside and last_end <= end):
                break
            if event["cat"] == "Session" and not (begins_inside or last_end > start + TOLERANCE_US):
                break
            around[pending.pop()] = row
        pending.append(row)
    is_node = [event["cat"] == "Node" for event in events]
    return [around[claimer] if inner and claimer >= 0 else -1 for inner, claimer in zip(is_node, around, strict=True)]


NODE, EXECUTOR = ("Node", "n_kernel_time"), ("Session", "SequentialExecutor::Execute")
Span = tuple[tuple[str, str], int, int]
SPANS = st.lists(st.tuples(st.sampled_from([NODE, EXECUTOR]), st.integers(0, 30), st.integers(0, 12)), min_size=1)


def spans_as_events(spans: list[Span]) -> list[dict[str, Any]]:
    """Events of one thread, in the order of their ends."""
    return [
        {"cat": cat, "name": name, "ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": length, "args": {}}
        for (cat, name), start, length in sorted(spans, key=lambda span: span[1] + span[2])
    ]


@given(SPANS)
def test_any_overlap_is_nested_as_a_walk_with_a_stack_would(spans: list[Span]) -> None:
    events = spans_as_events(spans)
    layout = lay_out(trace_of_events(events))
    expected = nested_by_a_stack(events)
    found = [parent if is_kernel else -1 for parent, is_kernel in zip(layout.parent, layout.is_kernel, strict=True)]
    assert found == expected


@given(SPANS)
@example([(NODE, 0, 12), (EXECUTOR, 5, 10), (NODE, 5, 12), (EXECUTOR, 3, 17)])  # the body precedes its Loop
def test_a_node_has_a_smaller_number_than_its_body_whatever_starts_first(
    spans: list[Span],
) -> None:
    layout = lay_out(trace_of_events(spans_as_events(spans)))
    assert all(outer < inner for inner, outer in enumerate(layout.node_parents.tolist()))
    assert len(layout.places()) == len(layout.node_rows)


def test_bodies_within_bodies_are_followed_to_a_depth_that_no_model_has() -> None:
    def inside(depth: int) -> list[dict[str, Any]]:
        names = [("Node", f"n{depth}_kernel_time"), ("Session", "SequentialExecutor::Execute")]
        shared = {"ph": "X", "pid": 1, "tid": 1, "ts": 1000 - depth, "dur": 2 * depth, "args": {}}
        return [{"cat": cat, "name": name} | shared for cat, name in names]

    layout = lay_out(trace_of_events([event for depth in range(300) for event in inside(2 * depth)]))
    assert 10 < layout.depth.max() <= 100


def test_self_time_leaves_out_the_bodies() -> None:
    trace = trace_of([[Ran("if", "If", own_ns=10_000, bodies=[[Ran("a", own_ns=20_000), Ran("b", own_ns=30_000)]])]])
    layout = lay_out(trace)
    rows = dict(zip(names(trace, layout), layout.self_us[layout.is_kernel].tolist(), strict=True))
    assert rows["a"] == 20
    assert rows["b"] == 30
    assert rows["if"] == int(trace.duration_us[layout.is_kernel].max()) - 50


def test_a_node_met_in_several_iterations_has_one_number() -> None:
    layout = lay_out(trace_of([MODEL, MODEL]))
    assert len(layout.node_rows) == 6
    assert layout.node_parents.tolist() == [-1, -1, 1, 1, 3, -1]


def test_a_file_sorted_by_start_says_the_same() -> None:
    events = events_of([MODEL, MODEL])
    trace = trace_of_events(sorted(events, key=lambda each: each["ts"]))
    layout = lay_out(trace)
    assert parents(trace, layout) == parents(trace_of([MODEL]), lay_out(trace_of([MODEL])))
    assert layout.iterations == 2
    assert sorted(layout.iteration[layout.is_kernel].tolist()) == [0] * 7 + [1] * 7


def test_runs_on_two_threads_at_once_are_told_apart() -> None:
    first = [dict(each, tid=1) for each in run_model(Clock(), MODEL)]
    second = [dict(each, tid=2) for each in run_model(Clock(now_ns=5_004_000), MODEL)]
    mixed = sorted([*first, *second], key=lambda each: each["ts"] + each["dur"])
    layout = lay_out(trace_of_events([*loading(), *mixed]))
    assert layout.iterations == 2
    assert sorted(layout.iteration[layout.is_kernel].tolist()) == [0] * 7 + [1] * 7
    assert len(layout.node_rows) == 6


def test_an_inference_without_its_end_is_left_out_of_the_sums() -> None:
    events = events_of([MODEL, MODEL])[:-3]
    layout = lay_out(trace_of_events(events))
    assert layout.iterations == 1
    assert layout.incomplete
    assert layout.counted.sum() == 7


def test_without_any_complete_inference_the_part_that_is_there_counts() -> None:
    layout = lay_out(trace_of_events([*loading(), *run_nodes(Clock(), [Ran("a"), Ran("b")], 1)]))
    assert layout.iterations == 0
    assert layout.counted.sum() == 2


@pytest.mark.parametrize(
    ("name", "cat", "kind", "node"),
    [
        ("n0_fence_before", "Node", "fence_before", "n0"),
        ("n0_kernel_time", "Node", "kernel", "n0"),
        ("n0_fence_after", "Node", "fence_after", "n0"),
        ("_kernel_time_kernel_time", "Node", "kernel", "_kernel_time"),
        ("no suffix", "Node", "kernel", "no suffix"),
        ("model_loading_array", "Session", "loading", None),
        ("ParallelExecutor::Execute", "Session", "execute", None),
        ("gemm_128x64", "Kernel", "device", None),
        ("batch", "Api", "other", None),
    ],
)
def test_kinds_and_node_names(name: str, cat: str, kind: str, node: str | None) -> None:
    one: dict[str, Any] = {"cat": cat, "pid": 1, "tid": 1, "dur": 1, "ts": 1, "ph": "X", "name": name, "args": {}}
    layout = lay_out(trace_of_events([one]))
    assert layout.kinds.rows() == [kind]
    assert layout.node_names.rows() == [node]
    assert layout.node_names.values == (() if node is None else (node,))


def test_fence_events_are_in_their_iteration_and_count_for_nothing() -> None:
    events = events_of([[Ran("a")]])
    kernel = next(each for each in events if each["name"] == "a_kernel_time")
    place = events.index(kernel)
    before = dict(kernel, name="a_fence_before", dur=0, args={"op_name": "Add"})
    layout = lay_out(trace_of_events([*events[:place], before, *events[place:]]))
    assert layout.iteration[place] == 0
    assert layout.counted.sum() == 1


def test_kernels_on_a_device_belong_to_the_node_that_launched_them() -> None:
    events = events_of([[Ran("a"), Ran("b")]])
    place = next(i for i, each in enumerate(events) if each["name"] == "b_kernel_time")
    gemm = {"cat": "Kernel", "pid": -1, "tid": 7, "dur": 90, "ts": events[place]["ts"] + 1, "ph": "X", "name": "gemm"}
    gemm["args"] = {"op_name": "Add", "parent_name": "b_kernel_time", "stream": "7"}
    layout = lay_out(trace_of_events([*events[: place + 1], gemm, *events[place + 1 :]]))
    assert layout.parent[place + 1] == place
    assert layout.counted.sum() == 2


@given(graphs(st.integers(2_000, 40_000)), st.integers(1, 3), st.integers(1_001, 5_000))
def test_nesting_is_found_exactly_where_events_last_longer_than_the_clocks_tick(
    graph: list[Ran], iterations: int, gap_ns: int
) -> None:
    events = events_of([graph] * iterations, gap_ns)
    trace = trace_of_events(events)
    layout = lay_out(trace)
    expected = [int(each["args"]["expected_depth"]) for each in events if each["cat"] == "Node"]
    assert layout.depth[layout.is_kernel].tolist() == expected


@given(graphs(st.integers(0, 4_000)), st.integers(1, 3), st.sampled_from([0, 10, 900, 1_001]))
def test_self_times_add_up_and_never_exceed_their_iteration(graph: list[Ran], iterations: int, gap_ns: int) -> None:
    trace = trace_of([graph] * iterations, gap_ns)
    layout = lay_out(trace)
    top = layout.is_kernel & (layout.depth == 0)
    assert layout.self_us[layout.is_kernel].sum() == trace.duration_us[top].sum()
    runs = trace.duration_us[layout.kinds.codes == layout.kinds.values.index("run")]
    for number, run in enumerate(runs.tolist()):
        inside = layout.counted & (layout.iteration == number)
        assert layout.self_us[inside].sum() <= run + TOLERANCE_US * int(inside.sum())
        assert layout.self_us[inside].min() >= -TOLERANCE_US


# Close together, and so far apart that a table of them would not fit.
NUMBERS = st.lists(st.integers(-5, 5) | st.sampled_from([-(2**40), 2**40]), max_size=20)


@given(NUMBERS)
def test_distinct_values_are_numbered_in_order_and_found_in_their_first_row(values: list[int]) -> None:
    numbers, rows = number_distinct(np.array(values, dtype=np.int64))
    distinct = sorted(set(values))
    assert numbers.tolist() == [distinct.index(value) for value in values]
    assert rows.tolist() == [values.index(value) for value in distinct]


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([-(2**40), 0, 1, 2**40])), max_size=20))
def test_equal_pairs_and_no_others_get_one_number(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    numbers = combine(first, second).tolist()
    assert len(set(zip(numbers, pairs, strict=True))) == len(set(numbers)) == len(set(pairs))
