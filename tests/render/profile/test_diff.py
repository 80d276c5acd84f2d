"""A diff as a terminal, an HTML page, charts and files show it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.records.diff import Diff
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile, link, operator_link
from onnxperf.render.charts.base import GREEN, GREY, colors_of
from onnxperf.render.charts.forest import Forest
from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.kit.table import Table, grid_of
from onnxperf.results.diff import DiffResult
from onnxperf.wording.names import name_of
from tests.render import drawn_pages, examples
from tests.render.described import picture_of
from tests.render.drawn_pages import TAGS, Markup, cells, line_with
from tests.render.profile import chart_examples as charted
from tests.render.profile import examples as profiles

WIDTHS = [60, 80, 100, 120, 200]
NAMES = st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text(max_size=40))
EMPTY = Profile(model="m", events=0, iterations=0)


def printed(diff: Diff, width: int = 120, encoding: str = "utf-8", colour: bool = False, **how: Any) -> str:
    return drawn_pages.printed(DiffResult(diff).page(**how), width, encoding, colour)


def one_model(launches: int = 5) -> Diff:
    """A model against itself with two nodes fused, whose original nodes are known."""
    before = profiles.profile(
        profiles.node("n3", 300), profiles.node("n4", 100, op_name="Relu"), fingerprint="f", model="disable"
    )
    after = profiles.profile(profiles.node("n3", 200, op_name="FusedConv"), fingerprint="f", model="all")
    apart = [
        profiles.group("kept", sources=(name,), source_ops=(op,), executed=(name,), executed_ops=(op,))
        for name, op in (("n3", "Conv"), ("n4", "Relu"))
    ]
    fused = profiles.group("fused", sources=("n3", "n4"), source_ops=("Conv", "Relu"), executed=("n3",))
    ran = (2, *[1] * (launches - 1)) if launches > 1 else ()
    before = replace(before, sources=tuple(profiles.source(each, (1,)) for each in apart), launches=ran)
    after = replace(after, sources=(profiles.source(fused, (1,)),), launches=ran)
    return Diff(before=before, after=after, rows=compared_rows(before, after))


# ---------------------------------------------------------------- a terminal


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_console(width: int, encoding: str) -> None:
    text = printed(profiles.diff(), width, encoding)
    assert max(map(cell_len, text.splitlines())) <= width


def test_a_diff_names_its_sides_and_their_sums() -> None:
    text = printed(profiles.diff(), 140)
    assert text.startswith("resnet.onnx (disable) against resnet.onnx (all) · 2 threads")
    assert "level" not in text.splitlines()[0]
    assert cells(line_with(text, "-  resnet.onnx (disable)")) == [
        "-", "resnet.onnx (disable)", "disable", "6", "11", "8.75 ms", "9.00 ms", "8.70 ms",
    ]  # fmt: skip
    assert "Raced without the profiler" not in text  # the answer has it


def test_rows_say_in_words_what_their_colors_say() -> None:
    text = printed(profiles.diff(), 140)
    assert cells(line_with(text, "MatMul"))[-1] == "? noise"
    assert cells(line_with(text, "BatchNormalization"))[-5:] == ["300 µs", "–", "-300 µs", "–", "gone"]
    assert cells(line_with(text, "ReorderInput"))[-5:] == ["–", "40 µs", "+40 µs", "–", "new"]
    assert cells(line_with(text, "Conv "))[-5:] == ["900 µs", "-900 µs", "2.00×", "1.80–2.20", "✓ faster"]
    assert "Loop_12 > a → b" in text


def test_small_rows_are_summed_up_by_sign_unless_there_is_only_one() -> None:
    text = printed(profiles.diff())
    assert cells(line_with(text, "5 others"))[:6] == ["=", "5 others", "10 µs", "15 µs", "+5 µs", "0.67×"]
    assert "drop" in text
    assert "others" not in printed(profiles.diff(), min_share=0.0)


def test_the_rows_add_up_to_the_total() -> None:
    (total,) = [cells(line) for line in printed(profiles.diff()).splitlines() if line.split()[:1] == ["total"]]
    assert total == ["total", "2.96 ms", "1.66 ms", "-1.30 ms", "1.79×"]


def test_gone_rows_are_red_new_ones_green_and_noise_is_dim() -> None:
    text = printed(profiles.diff(), colour=True)
    assert "\x1b[31m" in line_with(text, "BatchNormalization")
    assert "\x1b[32m" in line_with(text, "ReorderInput")
    assert "\x1b[2m" in line_with(text, "noise")


@pytest.mark.parametrize(
    ("race", "words"),
    [
        (examples.case(examples.subject("a"), examples.failed("b"), baseline="a"), "failed, X is not contig"),
        (examples.case(examples.subject("a"), baseline="a"), ""),
        (None, ""),
    ],
)
def test_a_race_without_a_speedup_says_why(race: Any, words: str) -> None:
    text = printed(profiles.diff(race=race))
    assert words in text
    assert ("Raced" in text) == bool(words)


def test_what_was_interrupted_says_so_before_its_answer() -> None:
    half = profiles.profile(interrupted=True)
    for text in (printed(profiles.diff(before=half)), printed(profiles.diff(after=half))):
        assert "Interrupted: showing what was measured so far.\n" in text
    assert "Interrupted" not in printed(profiles.diff())


def test_a_diff_without_rows_has_only_its_sides() -> None:
    assert "operator" not in printed(Diff(before=profiles.profile(), after=profiles.profile(), rows=()))


def test_original_nodes_stand_in_place_of_the_executed_ones() -> None:
    text = printed(one_model())
    assert "Time per original node" in text
    assert "Time per executed node" not in text
    assert cells(line_with(text, "n3 Conv + n4 Relu"))[:4] == ["n3 Conv + n4 Relu → n3", "400 µs", "200 µs", "-200 µs"]


@given(NAMES, st.sampled_from([60, 100]), st.sampled_from(["utf-8", "ascii"]))
def test_no_name_steers_the_terminal_or_breaks_a_line(name: str, width: int, encoding: str) -> None:
    _, diff, _ = profiles.hostile(name)
    text = printed(diff, width, encoding)
    assert max(map(cell_len, text.splitlines())) <= width
    assert not set(text) & {"\x1b", "\r", "\t", "\u202e", "\u2028"}


@pytest.mark.parametrize("name", [name for name in examples.NASTY_NAMES if len(name) < 40])
def test_names_are_shown_as_they_are_and_never_as_markup(name: str) -> None:
    _, diff, _ = profiles.hostile(name)
    assert name_of(name) in printed(diff, 400).splitlines()[0]


# ---------------------------------------------------------------- Markdown, notebooks and pages


@settings(deadline=None)
@given(NAMES)
def test_no_name_becomes_markup(name: str) -> None:
    _, diff, _ = profiles.hostile(name)
    reader = Markup(DiffResult(diff).page())
    assert reader.tags <= TAGS
    assert reader.attributes == {"style"}
    assert name_of(name) in unescape("\n".join(reader.words))


def test_tables_answers_and_notes_are_there() -> None:
    page = DiffResult(profiles.diff()).page()
    html, markdown = page_html(page), unescape(page_markdown(page)).replace("\\", "")
    for part in ["against", "noise", "gone", "5 others", "1.20 times"]:
        assert part in unescape(html)
        assert part in markdown
    assert "http" not in html


def changed(result: DiffResult) -> dict[str, Table[Any]]:
    """The tables that its page begins with."""
    (tabs,) = result.story().sections[0].parts
    return {each.title: each for each in tabs.parts}


def test_a_page_starts_with_paired_original_nodes_and_the_change_in_each_row() -> None:
    result = DiffResult(one_model())
    assert [each.title for each in result.story().sections][:2] == ["What changed", "Sides"]
    first, *_ = changed(result).values()
    grid = grid_of(first)
    assert first.title == "Original nodes"
    assert len(grid.brief(6)) <= 6
    places = {column.heading: place for place, column in enumerate(grid.columns)}
    assert {places[name] for name in ("original node", "change", "speedup")} <= set(grid.brief(6))
    assert all(line.cells[places["change"]].figure.marks for line in grid.lines[: len(first.rows)])
    assert grid.lines[0].cells[places["change"]].style == "green"


def test_every_table_of_changes_ends_with_its_total() -> None:
    tables = changed(DiffResult(profiles.diff()))
    totals = [grid_of(tables[title]).lines[-1].cells[0].text for title in ("Operators", "Executed nodes")]
    assert totals == ["total", "total"]


def test_unrelated_models_start_with_operators() -> None:
    assert "Original nodes" not in changed(DiffResult(charted.diff()))


def test_a_node_of_a_diff_belongs_to_its_operator() -> None:
    table = changed(DiffResult(profiles.diff()))["Executed nodes"]
    assert {group for line in grid_of(table).lines for group in line.groups} >= {operator_link("Conv")}


def test_a_page_has_every_node_and_a_link_for_each() -> None:
    result = DiffResult(profiles.diff())
    lines = grid_of(changed(result)["Executed nodes"]).lines
    assert [line.link for line in lines[:-1]] == [
        link(row.path, row.after_name or row.before_name) for row in result.record.rows
    ]


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    _, diff, _ = profiles.hostile(name)
    written, _, _ = DiffResult(diff).to_html().partition("<script")
    assert not re.search(r"<(b|img|i)[ >]", written)


# ---------------------------------------------------------------- charts


def test_kinds_of_nodes_have_a_bar_for_each_side_and_small_ones_are_together() -> None:
    diff = charted.diff()
    result = DiffResult(diff)
    time, number = result.charts("nodes")
    bars = picture_of(time)
    assert bars.names[0] == "[=CPU]Conv(f-1x64x112x112,f-64x64x3x3,f-64)->f-1x64x112x112"
    assert bars.names[1].startswith("[-CPU]Conv")
    assert bars.names[-1] == "9 others"
    for side, profile in enumerate((diff.before, diff.after)):
        assert sum(bars.series[side].values) == pytest.approx(profile.usual_nodes_us)
        assert sum(picture_of(number).series[side].values) == len(profile.nodes)
    assert bars.axis.title == "time per inference (ms)"
    assert "cnn.onnx" in time.summary


def test_bars_are_pale_where_no_difference_is_proven() -> None:
    same, changed = charted.diff(charted.before(), charted.before()), charted.diff()
    (time, _), (other, _) = (DiffResult(each).charts("nodes") for each in (same, changed))
    assert all(picture_of(time).series[0].pale)
    assert not picture_of(other).series[0].pale[0]
    assert "Pale: noise." in time.summary


def test_operators_of_both_sides_share_a_chart_and_its_table_has_the_change() -> None:
    time, executions = DiffResult(charted.diff()).charts("operators")
    bars = picture_of(time)
    reorders = bars.names.index("ReorderInput")
    assert [each.values[reorders] > 0 for each in bars.series] == [False, True]
    assert bars.keys[reorders] == operator_link("ReorderInput")
    assert [each.words[reorders] for each in picture_of(executions).series] == ["", "2"]
    first, *_ = grid_of(time.table).lines
    before, after, change = (first.cells[place].value for place in (1, 2, 3))
    assert change == pytest.approx(after - before)


def test_the_changes_of_operators_add_up_to_the_whole() -> None:
    (chart,) = DiffResult(profiles.diff()).charts("changes")
    *changes, whole = picture_of(chart).series[0].values
    assert sum(changes) == pytest.approx(whole, abs=1.0)


def test_sides_have_the_same_color_in_all_charts() -> None:
    charts = [chart for name in ("nodes", "operators") for chart in DiffResult(charted.diff()).charts(name)]
    found = {(each.name, each.color) for chart in charts for each in picture_of(chart).series if each.name}
    assert found == set(colors_of(("cnn.onnx", "cnn.opt.onnx")).items())


def test_levels_of_one_model_are_told_apart() -> None:
    levels = [replace(charted.before(), session=SessionOptions(opt_level=level)) for level in ("disable", "all")]
    time, _ = DiffResult(charted.diff(*levels)).charts("nodes")
    assert [each.name for each in picture_of(time).series] == ["cnn.onnx, disable", "cnn.onnx, all"]


def test_original_nodes_are_a_forest_if_launches_were_compared_and_bars_otherwise() -> None:
    (speedups,) = DiffResult(one_model()).charts("sources")
    (changes,) = DiffResult(one_model(launches=1)).charts("sources")
    forest = picture_of(speedups)
    assert isinstance(forest, Forest)
    assert [(mark.name, mark.label, mark.key) for mark in forest.marks] == [
        ("n3 Conv + n4 Relu → n3", "2.00× ✓ faster", "n3")
    ]
    assert forest.marks[0].color == GREEN != GREY
    assert "400 µs before, 200 µs after: -200 µs" in forest.marks[0].words
    (series,) = picture_of(changes).series
    assert (series.values, series.words, series.pale) == ([-200.0], ["-200 µs"], [True])


def test_a_diff_of_nothing_has_no_charts() -> None:
    result = DiffResult(Diff(before=EMPTY, after=EMPTY, rows=()))
    assert not any(result.charts(name) for name in result.shown.charts)


# ---------------------------------------------------------------- files


def test_files_have_words_for_signs_and_a_row_of_totals() -> None:
    result = DiffResult(profiles.diff())
    assert result.merged()["side"].value_counts().to_dict() == {"both": 8, "before": 3, "after": 1}
    lines = result.encode(".csv").decode().splitlines()
    assert len(lines) == 1 + len(result.record.rows) + 1
    assert lines[-1].startswith(",total,")


def test_one_sided_nodes_have_no_time_on_the_other_side() -> None:
    merged = DiffResult(profiles.diff()).merged()
    gone = merged[merged["side"] == "before"]
    assert gone["after_us"].isna().all()
    assert gone["verdict"].tolist() == ["gone"] * 3
    assert merged["change_us"].notna().all()


def test_labels_are_in_the_order_of_their_cost_and_small_ones_can_be_left_out() -> None:
    result = DiffResult(profiles.diff())
    labels = result.by_label()
    both = (labels["before_us"].fillna(0) + labels["after_us"].fillna(0)).tolist()
    assert both == sorted(both, reverse=True)
    assert len(result.by_label(min_share=0.1)) < len(labels) == len(result.record.rows)
