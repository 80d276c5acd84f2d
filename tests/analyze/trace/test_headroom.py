"""Limits of nodes, and their sums over operators, sources and modules."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.modules import module_times
from onnxperf.analyze.trace.headroom import judged_limits, memory_time_us, node_limit
from onnxperf.analyze.trace.profile import operator_times
from onnxperf.analyze.trace.work import Work
from onnxperf.records.profile import NodeTime, Profile
from onnxperf.records.trace import TensorType
from tests.headrooms import MB, PEAKS, with_limits
from tests.render.examples import machine

SQUARE = TensorType("float", (500, 500))
"""1 MB; a product of two has 0.25 GFLOP, which takes 2500 us."""


def node(name: str, op_name: str = "MatMul", us: float = 5000, **more: Any) -> NodeTime:
    times = {"self_us": (int(us),), "total_us": (int(us),), "usual_us": us, "usual_total_us": us}
    inputs = (SQUARE,) if op_name in ("Relu", "Reshape") else (SQUARE, SQUARE)
    return NodeTime(name=name, op_name=op_name, calls=1, inputs=inputs, outputs=(SQUARE,), **{**times, **more})


def profile(*nodes: NodeTime) -> Profile:
    return Profile(
        model="m",
        events=9,
        iterations=1,
        nodes=nodes,
        operators=operator_times(nodes),
        modules=module_times(nodes),
    )


@pytest.mark.parametrize(
    ("work", "limit_us", "bound", "counted"),
    [
        (Work(1e8, 1e3, 0), 1000.0, "compute", True),
        (Work(1e8, 1e3, 0, "double"), 2000.0, "compute", True),
        (Work(1e8, 1e3, 0, "int8"), 500.0, "compute", True),
        (Work(1e3, 1 * MB, 0), 1 * MB / 75 / 1e3, "memory", True),
        (Work(0, 0, 0), 0.0, "nothing", True),
    ],
)
def test_the_limit_is_the_longer_of_arithmetic_and_moving(
    work: Work, limit_us: float, bound: str, counted: bool
) -> None:
    found = node_limit(node("n", us=9000), [(work, 1.0)], PEAKS, 0.0)
    assert found.limit_us == pytest.approx(limit_us)
    assert (found.bound, found.counted) == (bound, counted)
    assert found.could_win_us == pytest.approx(9000 - limit_us)


@pytest.mark.parametrize("work", [Work(1e9, 1 * MB, 0, "int8"), Work(None, 1 * MB, 0)])
def test_where_the_arithmetic_is_not_known_nothing_is_known_to_be_won(work: Work) -> None:
    found = node_limit(node("n"), [(work, 1.0)], replace(PEAKS, int8_gop_per_s=None), 0.0)
    assert (found.counted, found.bound, found.could_win_us) == (False, "unknown", 0.0)
    assert found.moved_bytes == 1 * MB


def test_weights_come_from_memory_where_all_of_them_do_not_fit_into_a_cache() -> None:
    work = Work(0, 0, 1 * MB)
    assert memory_time_us(work, PEAKS, 1 * MB) == pytest.approx(1 * MB / 75 / 1e3)
    assert memory_time_us(work, PEAKS, 1000 * MB) == pytest.approx(1 * MB / 10 / 1e3)


def test_executions_of_different_sizes_add_up() -> None:
    found = node_limit(node("n"), [(Work(1e8, 0, 0), 2.0), (Work(3e8, 0, 0), 0.5)], PEAKS, 0.0)
    assert found.limit_us == pytest.approx(2 * 1000 + 0.5 * 3000)
    assert found.flop == pytest.approx(3.5e8)


def test_nodes_of_another_provider_have_no_limit_and_win_nothing() -> None:
    found = node_limit(node("n", provider="CUDAExecutionProvider"), [(Work(1e8, 0, 0), 1.0)], PEAKS, 0.0)
    assert (found.bound, found.could_win_us, found.counted) == ("unknown", 0.0, False)


def test_sums_agree_with_the_times_of_the_profile_and_with_each_other() -> None:
    made = with_limits(
        profile(
            node("a", us=5000.0, module="m.x"),
            node("b", us=2000.0, module="m.y"),
            node("c", "Relu", 100.0, module="m.y"),
            node("d", "Reshape", 3.0),
        )
    )
    headroom = made.headroom
    assert headroom is not None
    assert [each.time_us for each in headroom.nodes] == [each.usual_us for each in made.nodes]
    assert headroom.whole.time_us == pytest.approx(made.usual_nodes_us)
    for field in ("time_us", "limit_us", "best_us", "could_win_us", "flop", "moved_bytes"):
        whole = getattr(headroom.whole, field)
        assert sum(getattr(each, field) for each in headroom.nodes) == pytest.approx(whole), field
        assert sum(getattr(each, field) for each in headroom.operators) == pytest.approx(whole), field
    names = [each.module for each in made.modules]
    outer, inner = names.index("m"), [names.index("m.x"), names.index("m.y")]
    limits = headroom.modules
    assert limits[outer].could_win_us == pytest.approx(sum(limits[place].could_win_us for place in inner))
    assert [each.time_us for each in limits] == pytest.approx([each.usual_total_us for each in made.modules])


def test_a_node_that_was_faster_than_its_limit_is_at_it_and_near() -> None:
    headroom = with_limits(profile(node("fast", us=2000.0), node("slow", us=8000.0))).headroom
    assert headroom is not None
    fast, slow = headroom.nodes
    assert (fast.ratio, fast.could_win_us) == (1.0, 0.0)
    assert fast.gflop_per_s == pytest.approx(PEAKS.gflop_per_s)
    assert slow.ratio == pytest.approx(3.2)
    assert headroom.near_share == pytest.approx(0.2)


def test_a_profile_without_nodes_has_limits_of_nothing() -> None:
    headroom = with_limits(profile()).headroom
    assert headroom is not None
    assert (headroom.whole.time_us, headroom.near_share, headroom.nodes) == (0, 0, ())


QUIET, BUSY = 0.01, 0.6
FREE, WAITING = (None, 0, 0, 0, 0), (None, 900, 900, 900, 900)


@pytest.mark.parametrize(
    ("others_share", "waited", "self_us", "overhead", "is_judged"),
    [
        (QUIET, WAITING, (9, 5000, 5000, 5000, 5000), 1.1, True),
        (None, (), (9, 5000, 5000, 5000, 5000), None, True),
        (QUIET, FREE, (9, 5000, 5000, 5000, 5000), 3.0, False),
        (BUSY, FREE, (9, 5000, 5000, 5000, 5000), 1.1, True),
        (BUSY, WAITING, (9, 5000, 5000, 5000, 5000), 1.1, False),
        (BUSY, (), (9, 5000, 5000, 5000, 5000), 1.1, False),
        (BUSY, (None, 0, 900, 900, 900), (9, 5000, 5000, 5000, 5000), 1.1, False),
        (BUSY, (None, 0, 0, 900, 900), (9, 5000, 5000, 9000, 9000), 1.1, True),
        (BUSY, (None, 0, 0, 900, 900), (9, 3000, 3000, 9000, 9000), 1.1, False),
    ],
    ids=[
        "threads that wait for each other on a quiet machine",
        "nothing is known of others",
        "the profiler takes most of the time",
        "others left all processors to it",
        "threads waited in every iteration",
        "the kernel does not tell",
        "one free iteration is too few",
        "as long as in free iterations",
        "longer than in free iterations",
    ],
)
def test_a_node_is_judged_only_where_its_time_is_its_own(
    others_share: float | None,
    waited: tuple[int | None, ...],
    self_us: tuple[int, ...],
    overhead: float | None,
    is_judged: bool,
) -> None:
    made = replace(
        profile(node("a", self_us=self_us)),
        machine=machine(others_share=others_share),
        waited_us=waited,
        run_us=(10_000,) * 5,
        profiled_ns=overhead,
        unprofiled_ns=1.0,
    )
    limits = with_limits(made).headroom
    assert limits is not None
    (found,) = judged_limits(made, limits.nodes)
    assert found.is_judged == is_judged
    if is_judged:
        assert found == limits.nodes[0]
    else:
        assert (found.bound, found.could_win_us, found.gflop_per_s) == ("disturbed", 0, None)


def test_a_node_without_a_limit_stays_so_however_disturbed_it_is() -> None:
    made = replace(profile(node("t", "TopK")), machine=machine(others_share=BUSY))
    limits = with_limits(made).headroom
    assert limits is not None
    assert judged_limits(made, limits.nodes) == limits.nodes
