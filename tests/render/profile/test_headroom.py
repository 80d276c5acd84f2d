"""Headroom: tables in the order of what could be won, their sums, and nodes below the roofs of the machine."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import source_times
from onnxperf.errors import BadOption
from onnxperf.records.headroom import Limit
from onnxperf.records.profile import SourceGroup
from onnxperf.render.kit.console import page_text
from onnxperf.render.kit.table import Table, grid_of
from onnxperf.render.profile.headroom import headroom_tables, roofline_charts
from onnxperf.render.profile.page import profile_page
from onnxperf.results.profile import ProfileResult
from tests.analyze.trace.test_headroom import node, profile
from tests.headrooms import with_limits

NODES = [node("a", us=2600.0), node("b", us=9000.0), node("c", "Reshape", 30.0), node("d", us=1000.0)]


def column(table: Table[Any], heading: str) -> list[str]:
    grid = grid_of(table)
    place = [each.heading for each in grid.columns].index(heading)
    return [line.cells[place].text for line in grid.lines]


def test_nodes_are_ranked_by_what_they_could_win_and_the_others_are_summed() -> None:
    operators, screen = headroom_tables(with_limits(profile(*NODES)), 2)
    _, page = headroom_tables(with_limits(profile(*NODES)))
    assert column(operators, "operator") == ["MatMul", "Reshape", "total"]
    assert column(screen, "node") == ["b", "a", "2 others", "total"]
    assert column(screen, "could win") == ["6.50 ms", "100 µs", "30 µs", "6.63 ms"]
    assert column(page, "node") == ["b", "a", "c", "d", "total"]
    assert column(page, "× limit")[3] == "at limit"


def test_every_row_is_linked_with_its_node() -> None:
    _, page = headroom_tables(with_limits(profile(*NODES)))
    assert [line.link for line in grid_of(page).lines] == ["b", "a", "c", "d", ""]


def test_files_have_the_totals_of_the_whole() -> None:
    result = ProfileResult(with_limits(profile(*NODES)))
    assert result.record.headroom is not None
    whole: Limit = result.record.headroom.whole
    written = result.encode(".csv", result.named_in("all.headroom.csv", ".csv", _first())).decode().splitlines()
    total = dict(zip(written[0].split(","), written[-1].split(","), strict=True))
    assert total["node_name"] == "total"
    for name in ("flop", "moved_bytes", "limit_us", "could_win_us"):
        assert float(total[name]) == pytest.approx(getattr(whole, name))
    assert float(total["usual_us"]) == pytest.approx(whole.time_us)


def _first() -> Any:
    from onnxperf.results.formats import Wanted

    return Wanted()


def test_what_is_not_judged_could_win_nothing_that_is_known() -> None:
    limited = with_limits(profile(*NODES))
    assert limited.headroom is not None
    disturbed = tuple(replace(each, best_us=each.time_us, bound="disturbed") for each in limited.headroom.nodes)
    unjudged = replace(limited, headroom=replace(limited.headroom, nodes=disturbed))
    frame = ProfileResult(unjudged).by_headroom()
    assert frame["could_win_us"].isna().all()
    assert frame["times_limit"].isna().all()
    assert headroom_tables(unjudged, 2) == []
    assert "Could be won at best" not in [each.title for each in roofline_charts(unjudged)]


def test_a_roofline_has_a_point_per_node_with_counted_operations() -> None:
    limited = with_limits(profile(*NODES))
    (drawn, won) = roofline_charts(limited)
    picture: Any = drawn.layers[0].picture
    points = [each for each in picture.series if each.shape == "points"]
    assert [(each.name, each.keys) for each in points] == [("MatMul", ["b", "a", "d"])]
    assert points[0].sizes == pytest.approx([1.0, 2600 / 9000, 1000 / 9000])
    assert points[0].labels == ["b", "a", "d"]
    roofs = [each.name for each in picture.series if each.shape == "line"]
    assert roofs == ["arithmetic 100 GFLOP/s", "memory 10 GB/s", "cache 100 GB/s"]
    assert picture.x.is_log
    assert picture.y.is_log
    assert "1 node without counted operations" in drawn.summary
    assert list(won.layers[0].picture.names) == ["b", "a", "c"]  # type: ignore[attr-defined]


def test_without_limits_there_is_nothing_of_them() -> None:
    plain = profile(node("a"))
    assert "Headroom" not in page_text(profile_page(plain))
    assert roofline_charts(plain) == []
    with pytest.raises(BadOption, match="has no limits"):
        ProfileResult(plain).by_headroom()


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
    assert "what could be won at best" in text
    assert "The nodes that could win the most" in text
    assert "Transpose + MatMul: t, m" not in text  # a page has it
    assert "What could be won in the original model" in [table.title for table in headroom_tables(with_limits(made))]
