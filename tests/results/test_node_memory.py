"""Views on the memory of an inference, node by node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.profile import node_memory_answer
from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.render.kit.old_chart import figure_of
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
    peak = RECORD.nodes[1]
    ax = NodeMemoryResult(replace(RECORD, nodes=(*others, peak))).plot()
    assert [text.get_text() for text in ax.texts] == ["loop/$n[red]$: 6.00 MB"]
    assert (ax.get_xticklabels()[-1].get_text() == "loop/$n[red]$") == (count <= 24)
    assert ax.get_ylabel() == "MB"
    figure_of(ax).draw_without_rendering()


def test_the_words_of_the_legend_say_what_is_there() -> None:
    legend = NodeMemoryResult(RECORD).plot().get_legend()
    assert legend is not None
    assert [text.get_text().strip() for text in legend.get_texts()] == [
        "held by the arena",
        "in use",
        "packed weights + live set",
        "taken in advance",
        "packed weights",
    ]
