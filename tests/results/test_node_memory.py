"""Views on the memory of an inference, node by node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.profile import node_memory_answer
from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.results.node_memory import NodeMemoryResult


def node(name: str, in_use: int | None, live: int | None = 3_000_000, is_peak: bool = False) -> NodeMemory:
    return NodeMemory(
        name=name,
        op_name="Add",
        path=("loop",),
        in_use_bytes=in_use,
        requested_bytes=in_use,
        held_bytes=8_000_000,
        output_bytes=1_000_000,
        live_bytes=live,
        is_peak=is_peak,
    )


RECORD = NodeMemories(
    model="<b>model",
    iteration=2,
    loaded_bytes=500_000,
    base_bytes=1_500_000,
    session_peak_bytes=7_000_000,
    nodes=(node("first", 2_000_000), node("$n[red]$", 6_000_000, is_peak=True), node("last", None, None)),
    notes=("a note",),
)
RECORD = replace(RECORD, answer=node_memory_answer(RECORD))


def test_it_prints_levels_the_largest_first_and_the_peak() -> None:
    shown = repr(NodeMemoryResult(RECORD))
    assert "packed weights 500 kB" in shown
    assert "in use before the first node 1.50 MB" in shown
    assert shown.index("loop/$n[red]$") < shown.index("loop/first") < shown.index("loop/last")
    assert "The most is in use at loop/$n[red]$ (Add): 6.00 MB; without reuse in place, results need 3.00 MB" in shown
    assert "a note" in shown


@pytest.mark.parametrize("suffix", [".json", ".md", ".csv", ".xlsx", ".parquet", ".png", ".svg"])
def test_it_is_saved_as_every_kind_of_file(suffix: str, tmp_path: Path) -> None:
    NodeMemoryResult(RECORD).save(tmp_path / f"memory{suffix}")
    assert (tmp_path / f"memory{suffix}").stat().st_size


def test_a_page_escapes_names() -> None:
    page = NodeMemoryResult(RECORD)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;model" in page


def test_without_live_sets_their_column_is_gone() -> None:
    nodes = tuple(replace(each, live_bytes=None) for each in RECORD.nodes)
    shown = repr(NodeMemoryResult(replace(RECORD, nodes=nodes)))
    assert "live set" not in shown
    assert "results need" not in node_memory_answer(replace(RECORD, nodes=nodes))


def test_views_have_a_row_per_node_and_the_peak() -> None:
    result = NodeMemoryResult(RECORD)
    frame = result.to_df()
    assert result.peak.name == "$n[red]$"
    assert frame["in_use_bytes"].dropna().tolist() == [2_000_000, 6_000_000]
    assert frame["path"].tolist() == ["loop"] * 3
    assert json.loads(result.to_json())["nodes"][1]["is_peak"]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_chart_marks_the_peak_and_names_few_nodes(count: int) -> None:
    others = tuple(node(f"n{at}", 1_000_000) for at in range(count - 1))
    result = NodeMemoryResult(replace(RECORD, nodes=(*others, RECORD.nodes[1])))
    (drawn,) = result.charts()
    picture: Any = drawn.layers[0].picture
    (mark,) = picture.marks
    assert (mark.text, mark.x, mark.y, mark.symbol) == ("loop/$n[red]$: 6.00 MB", count - 1, 6_000_000, "peak")
    assert ("loop/$n[red]$" in [text for _, text in picture.x.ticks]) == (count <= 24)
    assert picture.y.title == "memory (MB)"
    assert picture.y.low == 0
    assert result.plot().get_ylabel() == "memory (MB)"


def test_a_chart_has_a_step_per_node_and_the_levels_before_the_first_one() -> None:
    (drawn,) = NodeMemoryResult(RECORD).charts("curve")
    picture: Any = drawn.layers[0].picture
    assert {series.name: series.ys for series in picture.series} == {
        "in use": [2_000_000, 6_000_000, None],
        "packed weights + live set": [3_500_000, 3_500_000, None],
        "held by the arena": [8_000_000] * 3,
    }
    assert all(series.shape == "step" for series in picture.series)
    assert [(span.name, span.low, span.high, span.across) for span in picture.spans] == [
        ("taken in advance", 500_000, 1_500_000, True),
        ("packed weights", 0, 500_000, True),
    ]
    assert "the most in use is 6.00 MB, when loop/$n[red]$ ends. Packed weights take 500 kB" in drawn.summary


def test_an_arena_that_holds_much_more_is_not_drawn() -> None:
    large = tuple(replace(each, held_bytes=80_000_000) for each in RECORD.nodes)
    (drawn,) = NodeMemoryResult(replace(RECORD, nodes=large)).charts()
    assert [series.name for series in drawn.layers[0].picture.series] == ["in use", "packed weights + live set"]  # type: ignore[attr-defined]
    assert "the arena held 80.0 MB" in drawn.summary


def test_without_figures_of_the_arena_there_is_no_chart() -> None:
    nothing = tuple(replace(each, in_use_bytes=None) for each in RECORD.nodes)
    assert not NodeMemoryResult(replace(RECORD, nodes=nothing)).charts()
