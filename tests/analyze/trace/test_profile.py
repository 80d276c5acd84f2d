"""Sums over traces whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import source_times
from onnxperf.analyze.graphs.modules import module_times
from onnxperf.analyze.trace.events import lay_out
from onnxperf.analyze.trace.profile import node_times, operator_times, summarise, with_tensors
from onnxperf.measure.trace.read import trace_of_events
from onnxperf.records.graph import Graph, GraphNode
from onnxperf.records.profile import NodeTime, Profile, SourceGroup, Times, added
from tests.analyze.made_traces import Clock, Ran, events_of, graphs, loading, run_model, trace_of


def profile_of(iterations: list[list[Ran]], gap_ns: int = 1_500) -> Profile:
    trace = trace_of(iterations, gap_ns)
    return summarise(trace, lay_out(trace), "made")


def test_the_parts_of_a_session_are_told_apart() -> None:
    profile = profile_of([[Ran("a", own_ns=7_000)], [Ran("a", own_ns=3_000)]])
    assert profile.loading_us == 690
    assert profile.initialization_us == 3200
    assert profile.iterations == 2
    assert len(profile.run_us) == len(profile.executor_us) == 2
    assert [node.self_us for node in profile.nodes] == [(7, 3)]


def test_executions_in_bodies_are_counted_and_nothing_is_counted_twice() -> None:
    loop = Ran("loop", "Loop", own_ns=10_000, bodies=[[Ran("add", own_ns=5_000)]] * 3)
    profile = profile_of([[loop]] * 2)
    by_name = {node.name: node for node in profile.nodes}
    assert by_name["add"].calls == 6
    assert by_name["add"].path == ("loop",)
    assert by_name["add"].self_us == (15, 15)
    assert added([node.self_us for node in profile.nodes]) == by_name["loop"].total_us


def test_nodes_of_the_same_name_in_different_bodies_are_different_nodes() -> None:
    bodies = [Ran("if1", "If", bodies=[[Ran("x")]]), Ran("if2", "If", bodies=[[Ran("x")]])]
    profile = profile_of([bodies])
    assert [node.path for node in profile.nodes if node.name == "x"] == [("if1",), ("if2",)]


def test_only_chosen_executions_count_where_a_choice_is_made() -> None:
    trace = trace_of([[Ran("a", own_ns=20_000), Ran("b", own_ns=4_000)], [Ran("a", own_ns=5_000)]])
    nodes = node_times(trace, lay_out(trace), trace.duration_us >= 10)
    assert [(node.name, node.self_us, node.calls) for node in nodes] == [("a", (20, 0), 1)]


def test_different_shapes_of_a_node_are_counted() -> None:
    events = events_of([[Ran("a")]] * 3)
    kernels = [each for each in events if each["cat"] == "Node"]
    for kernel, size in zip(kernels, (1, 2, 1), strict=True):
        kernel["args"]["input_type_shape"] = [{"float": [size, 3]}]
    trace = trace_of_events(events)
    [node] = summarise(trace, lay_out(trace), "made").nodes
    assert node.shapes == 2
    assert node.inputs == (("float", (1, 3)),)
    assert (node.op_name, node.provider) == ("Add", "CPUExecutionProvider")


def test_one_disturbed_iteration_does_not_change_the_time_of_a_node() -> None:
    quiet = [Ran("a", own_ns=2_200_000), Ran("b", own_ns=1_000_000)]
    profile = profile_of([quiet, quiet, quiet, [Ran("a", own_ns=27_000_000), quiet[1]]])
    assert [node.usual_us for node in profile.nodes] == [2200, 1000]


def test_iterations_of_other_shapes_or_branches_are_told_apart() -> None:
    then, other = [Ran("if", "If", bodies=[[Ran("x", own_ns=9_000)]])], [Ran("if", "If", bodies=[[Ran("y")]])]
    profile = profile_of([then, other, then, other, then])
    assert len(set(profile.alike[::2])) == len(set(profile.alike[1::2])) == 1
    assert {node.name: node.usual_us for node in profile.nodes if node.path} == {"x": 4.5, "y": 1.5}
    assert any("differ in their shapes or nodes" in note for note in profile.notes)
    assert profile_of([then] * 3).alike == ()


@given(st.lists(graphs(st.integers(0, 300_000)), min_size=1, max_size=3), st.integers(1, 4), st.sampled_from([0, 700]))
def test_at_every_level_the_parts_add_up_to_the_whole(each: list[list[Ran]], repeat: int, gap_ns: int) -> None:
    profile = profile_of(each * repeat, gap_ns)
    whole = profile.usual_nodes_us
    nodes = [replace(node, module=node.op_name if number % 3 else None) for number, node in enumerate(profile.nodes)]
    modules = module_times(nodes)
    levels: dict[str, Sequence[Times]] = {
        "nodes": nodes,
        "operators": profile.operators,
        "sources": source_times(some_groups(nodes), nodes),
        "modules": [*modules, *(node for node in nodes if node.module is None)] if modules else nodes,
    }
    for name, parts in levels.items():
        assert math.fsum(part.usual_us for part in parts) == pytest.approx(whole, rel=1e-12), name
    assert profile.nodes_us == whole
    outer = [node.usual_total_us for node in nodes if not node.path]
    assert math.fsum(outer) == pytest.approx(whole, rel=1e-12)
    for node in nodes:  # self + bodies = total
        inner = [each.usual_total_us for each in nodes if each.path == (*node.path, node.name)]
        assert node.usual_us + math.fsum(inner) == pytest.approx(node.usual_total_us, rel=1e-12)
    for module in modules:
        inside = [
            each.usual_us for each in modules if f"{each.module}.".startswith(f"{module.module}.") or not module.module
        ]
        assert math.fsum(inside) == pytest.approx(module.usual_total_us, rel=1e-12)


def some_groups(nodes: Sequence[NodeTime]) -> list[SourceGroup]:
    """Groups of every second node; the others have none."""
    return [
        SourceGroup(
            kind="kept",
            path=node.path,
            sources=("s",),
            source_ops=("S",),
            executed=(node.name,),
            executed_ops=(node.op_name,),
        )
        for node in nodes[::2]
    ]


@pytest.mark.parametrize(
    ("events", "note"),
    [
        (
            events_of([[Ran("a")]] * 2)[:-1],
            "the last inference was not recorded completely and is excluded from the sums",
        ),
        (loading(), "no inference was recorded completely; the times cover the recorded part"),
        ([*loading(), *run_model(Clock(), [])], "the inferences contain no node events"),
        (
            [*loading(), *run_model(Clock(), [Ran("a")]), *run_model(Clock(), [Ran("a")], tid=2)],
            "nodes ran on several threads; their times may overlap",
        ),
        (events_of([[Ran("a")], [Ran("a")]]), None),
        (
            events_of([[Ran("a")], [Ran("b")]]),
            "the inferences differ in their shapes or nodes; a time is the mean over their kinds",
        ),
    ],
)
def test_what_is_missing_is_said(events: list[dict[str, object]], note: str | None) -> None:
    trace = trace_of_events(events)
    assert summarise(trace, lay_out(trace), "made").notes == (() if note is None else (note,))


def test_the_executor_of_a_body_is_no_executor_of_the_inference_wherever_its_node_stands_in_the_file() -> None:
    *inside, loop, outer, run = run_model(Clock(), [Ran("loop", "Loop", bodies=[[Ran("add")]])])
    assert loop["name"] == "loop_kernel_time"
    trace = trace_of_events([loop, *inside, outer, run])
    assert summarise(trace, lay_out(trace), "made").executor_us == (outer["dur"],)


def test_node_times_on_a_gpu_are_called_launch_cost_unless_the_device_tells_its_own() -> None:
    events = events_of([[Ran("a")]])
    kernel = next(each for each in events if each["cat"] == "Node")
    kernel["args"]["provider"] = "CUDAExecutionProvider"
    trace = trace_of_events(events)
    assert any("launch overhead" in note for note in summarise(trace, lay_out(trace), "made").notes)
    gemm = dict(kernel, cat="Kernel", name="gemm", dur=90, args={"parent_name": kernel["name"]})
    complete = trace_of_events([*events, gemm])
    profile = summarise(complete, lay_out(complete), "made")
    assert not any("launch overhead" in note for note in profile.notes)
    assert [node.kernel_us for node in profile.nodes] == [90]


def test_nodes_get_the_names_of_their_tensors_by_path_and_name() -> None:
    nodes = profile_of([[Ran("a"), Ran("l", "Loop", bodies=[[Ran("a"), Ran("b")]])]]).nodes
    body = Graph(nodes=(GraphNode(name="a", op_type="Relu", outputs=("y",)),))
    loop = GraphNode(name="l", op_type="Loop", subgraphs=(("body", body),))
    executed = Graph(nodes=(GraphNode(name="a", op_type="Relu", outputs=("x", "")), loop))
    named = with_tensors(nodes, executed)
    assert [(node.path, node.name, node.tensors) for node in named] == [
        ((), "a", ("x", "")),
        ((), "l", ()),
        (("l",), "a", ("y",)),
        (("l",), "b", ()),
    ]


@given(graphs(st.integers(0, 30_000)), st.integers(1, 4), st.sampled_from([0, 700, 1_500]))
def test_operators_nodes_and_sources_agree_to_the_microsecond(graph: list[Ran], iterations: int, gap_ns: int) -> None:
    profile = profile_of([graph] * iterations, gap_ns)
    by_node = added([node.self_us for node in profile.nodes])
    assert added([operator.self_us for operator in operator_times(profile.nodes)]) == by_node
    assert added([source.self_us for source in source_times(some_groups(profile.nodes), profile.nodes)]) == by_node
    assert sum(node.calls for node in profile.nodes) == sum(op.calls for op in profile.operators)
