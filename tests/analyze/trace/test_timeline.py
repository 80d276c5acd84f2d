"""The inference that a profile keeps: the one nearest to the printed node times, and of many executions the longest."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.trace.timeline import slowest_iteration, timeline_of, usual_iteration
from onnxperf.api._shared.recordings import result_of_trace
from onnxperf.records.profile import NodeTime, Profile


def events(*inferences: list[int]) -> list[dict[str, Any]]:
    """Inferences of nodes that take these times, one microsecond apart."""
    found: list[dict[str, Any]] = []
    at = 100
    for durations in inferences:
        begin = at
        for place, us in enumerate(durations):
            arguments = {"op_name": "Add", "node_index": str(place)}
            found.append(event("Node", f"n{place}_kernel_time", at, us, arguments))
            at += us + 1
        found.append(event("Session", "model_run", begin, at - begin, {}))
        at += 10
    return found


def event(category: str, name: str, start: int, us: int, arguments: dict[str, str]) -> dict[str, Any]:
    return {"cat": category, "pid": 1, "tid": 7, "ts": start, "dur": us, "ph": "X", "name": name, "args": arguments}


def test_the_inference_nearest_to_the_usual_one_is_kept() -> None:
    result = result_of_trace(events([90, 90], [10, 20], [80, 80], [11, 21], [10, 22]))
    timeline = result.record.timeline
    assert timeline is not None
    assert timeline.iteration == usual_iteration(result.record)
    assert timeline.iteration not in (0, 2)
    assert timeline.start_us[0] == 0
    assert timeline.nodes == (0, 1)
    assert timeline.threads == (0, 0)
    assert timeline.in_use_bytes == ()


def test_the_first_and_the_slowest_are_kept_too() -> None:
    record = result_of_trace(events([90, 90], [10, 20], [80, 80], [11, 21], [10, 22])).record
    assert [each.iteration for each in record.other_timelines] == [0, 2]
    assert [each.duration_us for each in record.other_timelines] == [(90, 90), (80, 80)]
    assert result_of_trace(events([5, 6])).record.other_timelines == ()


def profile(usual: tuple[float, ...], *inferences: tuple[int, ...]) -> Profile:
    """Nodes with these printed times, and what they took in each inference."""
    nodes = tuple(
        NodeTime(
            name=f"n{place}",
            op_name="Add",
            calls=len(times),
            self_us=times,
            total_us=times,
            usual_us=us,
            usual_total_us=us,
        )
        for place, (us, times) in enumerate(zip(usual, zip(*inferences, strict=True), strict=True))
    )
    return Profile(model="m", events=0, iterations=len(inferences), nodes=nodes, run_us=tuple(map(sum, inferences)))


@pytest.mark.parametrize(
    ("usual", "inferences", "nearest", "slowest"),
    [
        ((), [], 0, 0),
        ((10.0,), [(12,)], 0, 0),
        ((10.0, 20.0), [(10, 20), (12, 21), (90, 9)], 1, 2),  # the first is left out
        ((10.0, 20.0), [(50, 50), (25, 5), (13, 22), (80, 80)], 2, 3),  # the second adds up to the same whole
        ((10.0, 20.0), [(50, 50), (11, 21), (11, 21), (12, 22)], 1, 3),  # the earlier of equals
        ((0.0, 0.0), [(5, 5), (0, 1), (0, 0)], 2, 1),
        ((10.0, 20.0), [(11, 20), (30, 40)], 0, 1),  # two inferences both count
    ],
)
def test_the_typical_inference_is_the_nearest_over_all_nodes(
    usual: tuple[float, ...], inferences: list[tuple[int, ...]], nearest: int, slowest: int
) -> None:
    made = profile(usual, *inferences)
    assert usual_iteration(made) == nearest
    assert slowest_iteration(made) == slowest


def test_of_many_executions_the_longest_are_kept_and_the_others_counted() -> None:
    result = result_of_trace(events([5, 40, 3, 30, 1]))
    timeline = timeline_of(result.trace, result.layout, result.record, most=2)
    assert timeline is not None
    assert (timeline.nodes, timeline.duration_us, timeline.left_out) == ((1, 3), (40, 30), 3)
    assert timeline.start_us == (6, 51)


def test_a_trace_without_nodes_has_no_timeline() -> None:
    assert result_of_trace([event("Session", "model_run", 0, 5, {})]).record.timeline is None
