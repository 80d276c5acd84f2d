"""Time that was measured, on the nodes of a view."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.analyze.graphs.view_metrics import memory_metrics, time_metrics, with_lines_of
from onnxperf.records.node_memory import NodeMemory
from onnxperf.records.profile import GroupKind, NodeTime, Profile, SourceGroup, SourceTime
from onnxperf.records.view import GraphView, Metrics, NodeMetric, ViewGraph
from tests.render.graph.examples import linear_view, node


def node_time(name: str, us: int) -> NodeTime:
    return NodeTime(name=name, op_name="Op", calls=1, self_us=(us,), total_us=(us,), usual_us=us, usual_total_us=us)


def source(
    kind: GroupKind,
    names: tuple[str, ...],
    usual_us: float,
    executed: tuple[str, ...] = (),
    path: tuple[str, ...] = (),
) -> SourceTime:
    group = SourceGroup(kind=kind, path=path, sources=names, executed=executed, executed_ops=executed)
    return SourceTime(group=group, calls=1, self_us=(1,), usual_us=usual_us)


def profile(nodes: tuple[NodeTime, ...], sources: tuple[SourceTime, ...] = ()) -> Profile:
    return Profile(model="m", events=1, iterations=1, nodes=nodes, sources=sources)


def loops_view() -> GraphView:
    """Two loops, and in each of them a node of the same name."""
    loops = (
        node(
            place,
            "Loop",
            (),
            (),
            name=name,
            subgraphs={"body": ViewGraph(nodes=(node(0, "Neg", (), (), name="inner", key=f"{place}/body/0"),))},
        )
        for place, name in enumerate(("first", "second"))
    )
    return GraphView(model="loops", graph=ViewGraph(nodes=tuple(loops)))


def test_nodes_that_were_fused_share_the_time_of_their_group() -> None:
    measured = profile(
        (node_time("gemm", 8), node_time("rs", 2)),
        (source("fused", ("mm", "add"), 8, ("Gemm",)), source("kept", ("rs",), 2, ("Reshape",))),
    )
    metrics = time_metrics(measured, linear_view())
    assert {key: metric.share for key, metric in metrics.nodes.items()} == {"0": 0.8, "1": 0.8, "2": 0.2}
    assert metrics.nodes["0"].lines == ("8 µs per inference", "executed as Gemm together with add")
    assert metrics.nodes["2"].lines == ("2 µs per inference",)
    assert metrics.title == "nodes, with their share of 10 µs per inference (m); fused nodes share one time"


def test_a_node_that_became_another_one_names_it() -> None:
    measured = profile((node_time("g", 8),), (source("fused", ("mm",), 8, ("FastGelu",)), source("kept", ("?",), 1)))
    metrics = time_metrics(measured, linear_view())
    assert {key: metric.lines for key, metric in metrics.nodes.items()} == {
        "0": ("8 µs per inference", "executed as FastGelu")
    }


def test_a_node_that_was_computed_in_advance_says_so() -> None:
    metrics = time_metrics(profile((node_time("rs", 2),), (source("folded", ("mm",), 0),)), linear_view())
    assert metrics.nodes["0"].share == 0
    assert metrics.nodes["0"].lines == ("computed once, when the model is loaded",)


def test_time_of_nodes_that_onnxruntime_added_is_in_a_note() -> None:
    measured = profile(
        (node_time("mm", 9), node_time("reorder", 1)),
        (source("kept", ("mm",), 9), source("inserted", (), 1, ("Reorder",))),
    )
    assert time_metrics(measured, linear_view()).notes == ("10.0 % of the time is in nodes that onnxruntime added",)


def test_a_trace_alone_is_matched_by_name_and_says_what_is_missing() -> None:
    metrics = time_metrics(profile((node_time("mm", 6), node_time("fused", 4))), linear_view())
    assert set(metrics.nodes) == {"0"}
    assert metrics.notes[0].startswith("40.0 % of the time is in nodes whose names are not in this model")


def test_nodes_of_one_name_in_several_bodies_keep_their_own_time() -> None:
    times = (replace(node_time("inner", 1), path=("first",)), replace(node_time("inner", 3), path=("second",)))
    bare = time_metrics(profile(times), loops_view())
    sources = tuple(source("kept", ("inner",), each.usual_us, ("inner",), each.path) for each in times)
    attributed = time_metrics(profile(times, sources), loops_view())
    for metrics in (bare, attributed):
        assert {key: metric.value for key, metric in metrics.nodes.items()} == {"0/body/0": 1, "1/body/0": 3}


def test_a_node_that_left_its_body_is_found_by_its_name() -> None:
    view = loops_view()
    alone = replace(view, graph=replace(view.graph, nodes=view.graph.nodes[:1]))
    assert set(time_metrics(profile((node_time("inner", 1),)), alone).nodes) == {"0/body/0"}


def test_repeated_names_of_a_trace_belong_to_no_node() -> None:
    view = linear_view()
    first, second, third = view.graph.nodes
    nodes = (first, replace(second, name="mm", label="mm_1"), third)
    repeated = replace(view, graph=replace(view.graph, nodes=nodes))
    metrics = time_metrics(profile((node_time("mm", 4), node_time("mm", 4), node_time("rs", 2))), repeated)
    assert set(metrics.nodes) == {"2"}
    assert metrics.notes[0].startswith("80.0 % of the time is in nodes whose names are not in this model, or repeated")


def test_a_profile_of_another_model_is_noted() -> None:
    view = replace(linear_view(), fingerprint="a")
    for fingerprint, notes in (("", 0), ("a", 0), ("b", 1)):
        measured = replace(profile((node_time("mm", 1),)), fingerprint=fingerprint)
        assert len(time_metrics(measured, view).notes) == notes
    assert time_metrics(measured, view).notes[0].startswith("the profile is of another model")


def test_a_profile_that_was_interrupted_says_so() -> None:
    measured = replace(profile((node_time("mm", 1),)), interrupted=True)
    memories = (NodeMemory(name="mm", op_name="MatMul", output_bytes=1),)
    for metrics in (time_metrics(measured, linear_view()), memory_metrics(memories, measured, linear_view())):
        assert metrics.notes == ("interrupted: the profile holds what ran until then",)


def test_a_profile_without_time_has_no_shares() -> None:
    assert time_metrics(profile((node_time("mm", 0),)), linear_view()).nodes["0"].share == 0


def test_memory_is_the_size_of_the_results_against_the_peak() -> None:
    measured = profile((), (source("fused", ("mm", "add"), 8, ("gemm",)),))
    memories = (
        NodeMemory(name="gemm", op_name="Gemm", in_use_bytes=400, output_bytes=100, is_peak=True),
        NodeMemory(name="rs", op_name="Reshape", in_use_bytes=200, output_bytes=40, live_bytes=90),
    )
    metrics = memory_metrics(memories, measured, linear_view())
    assert {key: (metric.value, metric.share) for key, metric in metrics.nodes.items()} == {
        "0": (100, 0.25),
        "1": (100, 0.25),
        "2": (40, 0.1),
    }
    assert metrics.nodes["0"].lines == ("results: 100 bytes", "in use when it ended: 400 bytes (the peak)")


def test_a_node_that_runs_often_has_the_memory_of_its_largest_execution() -> None:
    memories = [
        NodeMemory(name="inner", op_name="Neg", path=("first",), in_use_bytes=100, output_bytes=size)
        for size in (10, 30, 20)
    ]
    memories.append(NodeMemory(name="inner", op_name="Neg", path=("second",), in_use_bytes=60, output_bytes=5))
    metrics = memory_metrics(memories, profile(()), loops_view())
    assert {key: metric.value for key, metric in metrics.nodes.items()} == {"0/body/0": 30, "1/body/0": 5}
    assert metrics.nodes["0/body/0"].lines == ("results: 30 bytes", "in use when it ended: 100 bytes")


def test_a_group_has_the_memory_of_all_its_executed_nodes() -> None:
    measured = profile((), (source("fused", ("mm", "add"), 8, ("gemm", "cast")),))
    memories = [NodeMemory(name=name, op_name="Op", output_bytes=10) for name in ("gemm", "cast", "gemm")]
    assert memory_metrics(memories, measured, linear_view()).nodes["0"].value == 20


def test_a_trace_without_memory_says_so() -> None:
    metrics = memory_metrics((NodeMemory(name="mm", op_name="MatMul"),), profile(()), linear_view())
    assert metrics.nodes == {}
    assert metrics.notes == ("the trace has no memory of these nodes",)
    assert memory_metrics((), profile(()), linear_view()).title == metrics.title
    assert metrics.title == "nodes, with the size of their results against the 0 bytes in use at the peak (m)"


def test_the_nodes_of_metrics_tell_what_others_say_about_them() -> None:
    def metrics(**lines: tuple[str, ...]) -> Metrics:
        nodes = {key: NodeMetric(key=key, share=0.5, value=1.0, unit="us", lines=text) for key, text in lines.items()}
        return Metrics(by="time", title="t", nodes=nodes)

    both = with_lines_of(metrics(a=("8 µs",), b=("2 µs",)), metrics(a=("results: 4 bytes",), c=("none",)))
    assert {key: node.lines for key, node in both.nodes.items()} == {"a": ("8 µs", "results: 4 bytes"), "b": ("2 µs",)}
