"""Tables of headroom: rows in the order of what could be won, sums below."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import source_times
from onnxperf.records.profile import SourceGroup
from onnxperf.render.kit.console import page_text
from onnxperf.render.profile.headroom import headroom_tables
from onnxperf.render.profile.page import profile_page
from onnxperf.render.profile.roofline_chart import roofline_plot
from tests.analyze.trace.test_headroom import node, profile
from tests.headrooms import with_limits


def test_nodes_are_ranked_by_what_they_could_win_and_the_others_are_summed() -> None:
    nodes = [node("a", us=2600.0), node("b", us=9000.0), node("c", "Reshape", 30.0), node("d", us=1000.0)]
    operators, ranked = headroom_tables(with_limits(profile(*nodes)), 2)
    assert [row.cells[0] for row in operators.rows] == ["MatMul", "Reshape"]
    assert [row.cells[0] for row in ranked.rows] == ["b", "a", "2 others"]
    assert [row.cells[-1] for row in ranked.rows] == ["6.50 ms", "100 µs", "30 µs"]
    assert "at limit" in headroom_tables(with_limits(profile(node("d", us=1000.0))), 2)[1].rows[0].cells


def test_without_limits_there_are_no_tables() -> None:
    assert headroom_tables(profile(node("a")), 10) == []
    with pytest.raises(ValueError, match="no roofline"):
        roofline_plot(profile(node("a")))


def test_the_page_of_a_changed_model_has_the_original_nodes_too() -> None:
    nodes = (node("fused", "FusedMatMul"), node("b"))
    groups = [
        SourceGroup(
            kind="fused",
            sources=("t", "m"),
            source_ops=("Transpose", "MatMul"),
            executed=("fused",),
            executed_ops=("FusedMatMul",),
        ),
        SourceGroup(kind="kept", sources=("b",), source_ops=("MatMul",), executed=("b",), executed_ops=("MatMul",)),
    ]
    made = replace(profile(*nodes), sources=source_times(groups, nodes))
    text = page_text(profile_page(with_limits(made)))
    assert "Headroom per operator" in text
    assert "The nodes that could win the most" in text
    assert "Headroom in the original model" in text
    assert "Transpose + MatMul: t, m" in text
