"""Traces of several processes as one."""

from __future__ import annotations

import numpy as np
import pytest

from onnxperf.analyze.trace.events import lay_out
from onnxperf.analyze.trace.launches import join_launches
from onnxperf.analyze.trace.profile import summarise
from onnxperf.measure.trace.read import trace_of_events
from onnxperf.records.trace import Trace
from tests.analyze.made_traces import Ran, events_of

LOOP = Ran("loop", "Loop", bodies=[[Ran("add"), Ran("if", "If", bodies=[[Ran("mul", "Mul")]])], [Ran("add")]])
MODEL = [Ran("relu", "Relu"), LOOP, Ran("last", "Sigmoid")]


def launch(iterations: int, thread: int, model: list[Ran] = MODEL, cut: int = 0) -> Trace:
    """The trace of a process, without its last `cut` events."""
    events = events_of([model] * iterations)
    return trace_of_events([{**each, "tid": thread, "pid": thread} for each in events][: len(events) - cut])


def test_later_launches_follow_without_their_first_inference() -> None:
    traces = [launch(3, 7), launch(4, 9), launch(2, 8)]
    joined, launches = join_launches(traces)
    assert launches == (3, 3, 1)
    layout = lay_out(joined)
    assert (layout.iterations, layout.incomplete) == (7, False)
    alone, together = (summarise(each, lay_out(each), "m") for each in (traces[0], joined))
    assert [(node.path, node.name, node.op_name) for node in together.nodes] == [
        (node.path, node.name, node.op_name) for node in alone.nodes
    ]
    assert [node.calls * 3 for node in together.nodes] == [node.calls * 7 for node in alone.nodes]
    later = [summarise(each, lay_out(each), "m") for each in traces[1:]]
    for number, node in enumerate(together.nodes):
        parts = [alone.nodes[number].self_us, *(each.nodes[number].self_us[1:] for each in later)]
        assert node.self_us == sum(parts, ())
    assert together.initialization_us == alone.initialization_us
    assert together.notes == ()  # threads of other processes are not threads beside the first
    assert np.all(
        np.diff(joined.start_us[lay_out(joined).kinds.codes == lay_out(joined).kinds.values.index("run")]) > 0
    )


@pytest.mark.parametrize(("second", "launches"), [((1, 0), (2, 0)), ((0, 0), (2, 0)), ((3, 1), (2, 1))])
def test_a_launch_without_complete_inferences_adds_nothing(second: tuple[int, int], launches: tuple[int, int]) -> None:
    iterations, cut = second
    joined = join_launches([launch(2, 7), launch(iterations, 9, cut=cut)])
    assert joined.launches == launches
    assert lay_out(joined.trace).iterations == sum(launches)


def test_nodes_that_only_a_later_launch_executes_are_there_too() -> None:
    joined, launches = join_launches([launch(2, 7), launch(3, 9, [*MODEL, Ran("more", "Tanh")])])
    nodes = {node.name: node.self_us for node in summarise(joined, lay_out(joined), "m").nodes}
    assert launches == (2, 2)
    assert nodes["more"][:2] == (0, 0)
    assert all(nodes["more"][2:])


def test_nodes_that_are_named_and_numbered_anew_in_each_process_meet() -> None:
    """The optimiser makes the reorderings; which of them is called what depends on the process."""
    first = [Ran("conv", "Conv"), Ran("made_1", "Reorder", 5_000), Ran("pool", "Pool"), Ran("made_2", "Cast", 9_000)]
    second = [Ran("conv", "Conv"), Ran("made_2", "Reorder", 5_000), Ran("made", "Cast", 9_000), Ran("pool", "Pool")]
    joined, _ = join_launches([launch(3, 7, first), launch(4, 9, second)])
    together = summarise(joined, lay_out(joined), "m")
    alone = summarise(launch(3, 7, first), lay_out(launch(3, 7, first)), "m")
    assert together.alike == ()
    assert [(each.name, each.calls, each.usual_us) for each in together.nodes] == [
        (each.name, 2 * each.calls, each.usual_us) for each in alone.nodes
    ]
