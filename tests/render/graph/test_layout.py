"""Boxes and wires in rows: nothing overlaps, everything goes down."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxperf.render.graph import layers as graph_layers
from onnxperf.render.graph.columns import columns_of
from onnxperf.render.graph.layers import Net, layers_of
from onnxperf.render.graph.layout import Box, GraphLayout, Wire, lay_out


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Wire]]:
    """Boxes of any size; wires go from a box to later ones."""
    sizes = st.floats(10, 400)
    boxes = draw(st.lists(st.builds(Box, sizes, sizes), min_size=1, max_size=14))
    wires = []
    for source in range(len(boxes) - 1):
        for _ in range(draw(st.integers(0, 2))):
            targets = draw(st.sets(st.integers(source + 1, len(boxes) - 1), min_size=1, max_size=4))
            wires.append(Wire(source, tuple(sorted(targets)), draw(st.floats(0, 90))))
    return boxes, wires


def overlap(layout: GraphLayout, boxes: list[Box], one: int, other: int) -> bool:
    a, b = layout.spots[one], layout.spots[other]
    beside = a.x + boxes[one].width <= b.x or b.x + boxes[other].width <= a.x
    above = a.y + boxes[one].height <= b.y or b.y + boxes[other].height <= a.y
    return not beside and not above


@settings(deadline=None)
@given(graphs())
def test_no_two_boxes_overlap_and_all_are_on_the_canvas(graph: tuple[list[Box], list[Wire]]) -> None:
    boxes, wires = graph
    layout = lay_out(boxes, wires)
    assert not [pair for pair in combinations(range(len(boxes)), 2) if overlap(layout, boxes, *pair)]
    for box, spot in zip(boxes, layout.spots, strict=True):
        assert spot.x >= -1e-6
        assert spot.y >= -1e-6
        assert spot.x + box.width <= layout.width + 1e-6
        assert spot.y + box.height <= layout.height + 1e-6


@settings(deadline=None)
@given(graphs())
def test_every_wire_goes_down_from_its_box_to_the_others(graph: tuple[list[Box], list[Wire]]) -> None:
    boxes, wires = graph
    layout = lay_out(boxes, wires)
    reached: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(wires))}
    for route in layout.routes:
        ys = [y for run in route.runs for y in (run.top, run.bottom)]
        assert ys == sorted(ys)
        reached[route.wire].append((route.runs[-1].x, route.runs[-1].bottom))
    for number, wire in enumerate(wires):
        assert len(reached[number]) == len(wire.targets)
        for target in wire.targets:
            left, top = layout.spots[target]
            assert any(left <= x <= left + boxes[target].width and y == top for x, y in reached[number])


@settings(deadline=None)
@given(graphs())
def test_no_wire_runs_through_a_box(graph: tuple[list[Box], list[Wire]]) -> None:
    boxes, wires = graph
    layout = lay_out(boxes, wires)
    for route in layout.routes:
        for run in route.runs:
            for box, spot in zip(boxes, layout.spots, strict=True):
                within = spot.x < run.x < spot.x + box.width
                passed = run.top < spot.y + box.height - 1e-6 and spot.y + 1e-6 < run.bottom
                assert not (within and passed)


def test_an_empty_graph_has_no_size() -> None:
    assert lay_out([], []) == GraphLayout(0.0, 0.0, [], [], [])


def test_a_circle_is_cut_instead_of_followed_for_ever() -> None:
    layers = layers_of(3, [Net(0, (1,)), Net(1, (2,)), Net(2, (0,))])
    assert layers.rows == [[0], [1], [2]]
    assert layers.nets[2].targets == ()


def test_a_wire_to_many_rows_is_one_trunk() -> None:
    chain = [Net(i, (i + 1,)) for i in range(1, 5)]
    layers = layers_of(6, [Net(0, (1, 2, 3, 4, 5)), *chain])
    assert [len(bends or []) for bends in layers.bends] == [4, 0, 0, 0, 0]


def test_what_is_used_late_is_drawn_late() -> None:
    chain = [Net(i, (i + 1,)) for i in range(4)]
    layers = layers_of(6, [*chain, Net(5, (4,))])
    assert layers.rank[5] == 3


def test_branches_of_a_long_wire_sink_to_where_they_are_used() -> None:
    chain = [Net(i, (i + 1,)) for i in range(6)]
    # 7 and 8 both take what 0 makes, and are used by 5 and 6.
    layers = layers_of(9, [*chain, Net(0, (7, 8)), Net(7, (5,)), Net(8, (6,))])
    assert (layers.rank[7], layers.rank[8]) == (4, 5)


def test_crossings_that_can_be_avoided_are_avoided() -> None:
    layers = layers_of(4, [Net(0, (3,)), Net(1, (2,))])
    assert [layers.rows[0].index(i) for i in (0, 1)] == [layers.rows[1].index(i) for i in (3, 2)]


def test_beyond_the_budget_the_longest_wires_go_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_layers, "MOST_BENDS", 3)
    chain = [Net(i, (i + 1,)) for i in range(9)]
    layers = layers_of(10, [*chain, Net(0, (9,)), Net(1, (4,))])
    assert layers.bends[-2] is None
    assert len(layers.bends[-1] or []) == 2


def test_a_trunk_is_drawn_once_up_to_where_a_wire_turns_off() -> None:
    layout = lay_out([Box(50, 20)] * 4, [Wire(0, (1, 3)), Wire(1, (2,)), Wire(2, (3,))])
    whole, branch = (route.runs for route in layout.routes if route.wire == 0)
    assert len(whole) > len(branch)
    assert branch[0].top == branch[0].bottom


def test_boxes_in_a_row_of_single_wires_stand_below_each_other() -> None:
    boxes = [Box(width, 20) for width in (30, 200, 80)]
    layout = lay_out(boxes, [Wire(0, (1,), 60), Wire(1, (2,), 60)])
    middles = {spot.x + box.width / 2 for box, spot in zip(boxes, layout.spots, strict=True)}
    assert len(middles) == 1


def test_lines_that_push_each_other_aside_from_row_to_row_are_cut() -> None:
    # Stairs: every line begins right of the one before, two of them in a row, and forty in all.
    steps = 40
    rows = [[0], *([2 * i + 1, 2 * i + 2] for i in range(steps))]
    above = [[] if vertex % 2 == 0 else [vertex - 1] for vertex in range(2 * steps + 1)]
    columns = columns_of(rows, above, bends_from=2 * steps + 1, widths=[50.0] * len(above), gap=10.0)
    assert max(columns) + 25 <= 2 * 1.3 * (2 * 60)
    assert all(columns[right] - columns[left] >= 60 - 1e-6 for left, right in rows[1:])
