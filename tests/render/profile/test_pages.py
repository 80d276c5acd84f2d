"""Pages of profiles and optimisations, as the terminal shows them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxperf.analyze.graphs.modules import module_times
from onnxperf.records.profile import Optimization, Profile
from onnxperf.render.kit.figure import share_figure
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.optimization import optimization_page
from onnxperf.render.profile.page import profile_page
from onnxperf.wording.names import name_of
from tests.render import drawn_pages, examples
from tests.render.drawn_pages import cells, line_with
from tests.render.profile import examples as profiles

WIDTHS = [60, 80, 100, 120, 200]
NAMES = st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text(max_size=40))


def printed(
    record: Profile | Optimization, width: int = 120, encoding: str = "utf-8", colour: bool = False, **how: Any
) -> str:
    match record:
        case Profile():
            page: Page = profile_page(record, **how)
        case Optimization():
            page = optimization_page(record, **how)
    return drawn_pages.printed(page, width, encoding, colour)


@pytest.mark.parametrize(
    ("before", "own", "drawn"),
    [
        (0.0, 1.0, "████████████"),
        (0.0, 0.5, "██████"),
        (0.5, 0.5, "░░░░░░██████"),
        (0.99, 0.01, "░░░░░░░░░░░░"),
        (0.0, 9.9, "████████████"),
    ],
)
def test_a_bar_starts_where_the_one_above_ends(before: float, own: float, drawn: str) -> None:
    assert share_figure(before, own).text == drawn


# ---------------------------------------------------------------- a profile


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [profiles.profile, profiles.optimization])
def test_no_line_is_wider_than_the_console(make: Any, width: int, encoding: str) -> None:
    text = printed(make(), width, encoding)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "|--" not in text
    assert "+--" not in text


@pytest.mark.parametrize("width", WIDTHS)
def test_time_and_share_of_every_operator_are_whole_at_every_width(width: int) -> None:
    text = printed(profiles.profile(), width)
    for part in ["1.93 ms", "22.0 %", "1.44 ms", "16.5 %", "54 others", "37.5 %"]:
        assert part in text


def test_the_heading_and_the_session_come_first() -> None:
    lines = printed(profiles.profile(), 200).splitlines()
    assert lines[0] == ("resnet.onnx · 2 threads · onnxruntime 1.31.1 · Intel Xeon Platinum 8370C (AVX512)")
    text = " ".join(lines)
    assert "loading 3.21 ms · initialization 45.1 ms · first inference 27.0 ms" in text
    assert "measured inference 9.00 ms (1.03× its nodes)" in text
    assert "a call 8.70 ms, with the profiler 9.30 ms (1.07×)" in text


def test_a_bare_trace_shows_only_what_it_has() -> None:
    bare = Profile(model="trace.json", events=0, iterations=0)
    assert printed(bare) == "trace.json\n"


def test_the_row_of_an_operator_has_its_time_share_first_and_spread() -> None:
    nodes = (profiles.node("a", 100), profiles.node("b", 200), profiles.node("c", 100, op_name="Relu"))
    text = printed(profiles.profile(*nodes))
    assert cells(line_with(text, "Conv  ")) == [
        "Conv", "2", "2", "300 µs", "75.0 %", "█████████", "900 µs", "300…315 µs",
    ]  # fmt: skip
    assert cells(line_with(text, "Relu  ")) == [
        "Relu",
        "1",
        "1",
        "100 µs",
        "25.0 %",
        "░░░░░░░░░███",
        "300 µs",
        "100…105 µs",
    ]


def test_body_nodes_stand_under_the_node_that_has_the_body() -> None:
    text = printed(profiles.profile(), 160, top=64)
    rows = re.findall(r"^( *(?:Loop_12|Loop_in|inner|body/Add)) ", text, re.MULTILINE)
    assert rows == ["Loop_12", "  Loop_in", "    inner", "  body/Add"]
    assert "self" in text
    assert "total" in text


def test_a_costly_body_node_brings_the_nodes_around_it() -> None:
    inner = profiles.node("inner", 900, path=("loop",), op_name="Mul", calls=60)
    loop = profiles.node("loop", 1, op_name="Loop", total_us=profiles.times(901))
    text = printed(profiles.profile(profiles.node("conv", 300), inner, loop), top=1)
    nodes = text.split("The most costly nodes")[1].splitlines()
    assert [cells(line)[0] for line in nodes[3:6]] == ["loop", "inner", "1 other"]
    assert cells(nodes[4])[3] == "10"


def test_a_body_node_without_its_node_says_where_it_was() -> None:
    text = printed(profiles.profile(profiles.node("inner", path=("gone",))))
    assert "gone > inner" in text


def test_totals_and_providers_are_shown_only_where_they_differ() -> None:
    plain = printed(profiles.profile(profiles.node("a")), 200)
    assert "self" not in plain
    assert "provider" not in plain
    mixed = printed(profiles.profile(profiles.node("a"), profiles.node("b", provider="CUDAExecutionProvider")), 200)
    assert "CUDA" in mixed
    assert "CUDAExecutionProvider" not in mixed


def test_time_on_a_device_has_a_column_of_its_own() -> None:
    text = printed(profiles.profile(profiles.node("a", kernel_us=6_000)), 200)
    assert "device" in text
    assert "1.00 ms" in line_with(text, "a  ")


def test_shapes_are_labels_and_say_when_there_are_others() -> None:
    text = printed(profiles.profile(profiles.node("a", shapes=3)), 200)
    assert "1×64×112×112 (1 of 3)" in text


def test_lower_ranks_are_summed_up() -> None:
    text = printed(profiles.profile(), top=3)
    assert cells(line_with(text, "61 others"))[0] == "61 others"
    assert "The most costly nodes" not in printed(profiles.profile(), top=0)


def test_one_iteration_is_enough() -> None:
    node = profiles.node("a", calls=1, self_us=(7,), total_us=(7,))
    text = printed(profiles.profile(node, run_us=(9,), iterations=1))
    assert "first inference 9 µs" in text
    assert "usual inference" not in text
    assert "7 µs" in text


def test_nodes_that_took_no_time_have_no_share() -> None:
    node = profiles.node("a", self_us=(0, 0, 0), total_us=(0, 0, 0), calls=3)
    text = printed(profiles.profile(node, sources=()))
    assert "0 µs" in text
    assert "nan" not in text


def test_the_original_model_shows_what_was_fused_into_what() -> None:
    text = printed(profiles.profile())
    assert "In the original model" in text
    assert cells(line_with(text, "fused")) == [
        "Conv + BatchNormalization + Relu: n3, n4, n5", "fused", "FusedConv: n3", "900 µs", "10.3 %",
    ]  # fmt: skip
    assert cells(line_with(text, "inserted "))[:3] == ["(none)", "inserted", "ReorderInput: ReorderInput"]
    assert "Folded, computed once when the model is loaded: 12 nodes (Shape_0, Shape_1, " in text
    assert "and 7 more)" in text
    assert "Duplicates of another node: 1 node (n11 = n17)" in text
    assert "Removed, without effect: 1 node (drop)" in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_long_names_that_differ_in_one_number_are_told_apart(width: int) -> None:
    names = [f"/encoder/layer.{number}/attention/self/query/MatMul" for number in range(12)]
    text = printed(profiles.profile(*(profiles.node(name, op_name="MatMul") for name in names)), width, top=12)
    table = text.split("The most costly nodes")[1].split("\n\n")[0].splitlines()[3:]
    assert len({line.split()[0] for line in table if line.startswith("/enc")}) == 12


def test_every_table_ends_with_its_total_which_its_rows_add_up_to() -> None:
    nodes = (profiles.node("n3", 900, op_name="FusedConv"), profiles.node("n6", 400), profiles.node("mystery", 7))
    text = printed(profiles.profile(*nodes, sources=profiles.sources()[:2]), top=1)
    totals = [cells(line) for line in text.splitlines() if line.split()[:1] == ["total"]]
    assert totals == [
        ["total", "3", "1.31 ms", "100 %", "3.92 ms"],
        ["total", "1.31 ms", "100 %"],
        ["total", "1.30 ms", "99.5 %"],
    ]


@pytest.mark.parametrize(
    ("overhead", "heading"), [(None, "share"), (1.4, "share"), (2.9, "share"), (3.1, "profiled share")]
)
def test_shares_of_the_profiler_are_not_called_shares_of_the_model(overhead: float | None, heading: str) -> None:
    calls = {} if overhead is None else {"profiled_ns": overhead * 1e6, "unprofiled_ns": 1e6}
    (headings,) = [
        cells(line)
        for line in printed(profiles.profile(profiles.node(), **{"profiled_ns": None} | calls), 200).splitlines()
        if line.startswith("operator")
    ]
    assert heading in headings


def test_modules_stand_under_the_module_that_they_are_in() -> None:
    nodes = (
        profiles.node("a", 300, module="enc.layer.0.conv"),
        profiles.node("b", 200, module="enc.layer.0"),
        profiles.node("c", 400, module="enc.layer.1"),
        profiles.node("d", 50, module=""),
        profiles.node("e", 50),
    )
    text = printed(profiles.profile(*nodes, modules=module_times(nodes)), top=4)
    table = text.split("Time per module")[1].split("\n\n")[0].splitlines()[3:]
    assert [line[:20].rstrip() for line in table] == [
        "(outermost module)", "  enc.layer", "    0", "    1", "1 other", "(no module)", "total",
    ]  # fmt: skip
    assert cells(table[2]) == ["0", "2", "200 µs", "500 µs", "50.0 %"]
    assert cells(table[4]) == ["1 other", "300 µs"]
    assert cells(table[5]) == ["(no module)", "1", "50 µs", "50 µs", "5.00 %"]
    assert cells(table[6]) == ["total", "5", "1.00 ms", "1.00 ms", "100 %"]
    assert "module" not in printed(profiles.profile())


def test_equal_operators_of_a_group_are_counted() -> None:
    group = profiles.group(sources=("a", "b", "c"), source_ops=("MatMul", "Add", "MatMul"))
    text = printed(profiles.profile(sources=(profiles.source(group, (5, 5), calls=1),)))
    assert "2 MatMul + Add: a, b, c" in text


def test_a_model_that_was_not_changed_has_no_second_table() -> None:
    kept = tuple(source for source in profiles.sources() if source.group.kind == "kept")
    assert "In the original model" not in printed(profiles.profile(sources=kept))
    assert "In the original model" not in printed(profiles.profile(sources=()))


def test_the_answer_stands_below_the_heading_and_notes_at_the_end() -> None:
    lines = printed(profiles.profile()).splitlines()
    assert lines[1] == profiles.profile().answer
    assert lines[-3] == profiles.profile().notes[0]
    assert lines[-1] == "6 iterations · times: mean of the 2 quickest of 5 iterations"


def test_what_was_interrupted_says_so_before_its_answer() -> None:
    assert "Interrupted: showing what was measured so far.\n" in printed(profiles.profile(interrupted=True))
    assert "Interrupted" not in printed(profiles.profile())


# ---------------------------------------------------------------- an optimisation


def test_an_optimisation_counts_operators_and_tells_what_became_of_nodes() -> None:
    text = printed(profiles.optimization())
    assert text.startswith("resnet.onnx · 2 threads · onnxruntime 1.31.1\n")
    assert cells(line_with(text, "BatchNormalization "))[:4] == ["BatchNormalization", "53", "0", "-53"]
    assert cells(line_with(text, "total ")) == ["total", "173", "70", "-103"]
    for line in [
        "  n3 Conv + n4 BatchNormalization + n5 Relu → n3 FusedConv\n",
        "  ReorderInput ReorderInput\n",
        "  n11 = n17\n",
        "173 nodes became 70; 1 group fused; written to resnet.optimised.onnx.\n",
    ]:
        assert line in text


def test_long_lists_are_cut_unless_everything_is_asked_for() -> None:
    fused = tuple(profiles.group(sources=(f"s{i}",), source_ops=("Conv",)) for i in range(47))
    record = profiles.optimization(groups=(*fused, *profiles.groups()[3:4]))
    text = printed(record)
    assert "Fused (47)" in text
    assert "and 37 more" in text
    assert "Shape_9 and 2 more" in text
    everything = printed(record, everything=True)
    assert "more" not in everything
    assert "s46 Conv" in everything
    assert "Shape_11" in everything


# ---------------------------------------------------------------- hostile names


@given(NAMES, st.sampled_from([60, 100]), st.sampled_from(["utf-8", "ascii"]))
def test_no_name_steers_the_terminal_or_breaks_a_line(name: str, width: int, encoding: str) -> None:
    profile, _, optimization = profiles.hostile(name)
    for record in (profile, optimization):
        text = printed(record, width, encoding)
        assert max(map(cell_len, text.splitlines())) <= width
        assert not set(text) & {"\x1b", "\r", "\t", "\u202e", "\u2028"}


@pytest.mark.parametrize("name", [name for name in examples.NASTY_NAMES if len(name) < 40])
def test_names_are_shown_as_they_are_and_never_as_markup(name: str) -> None:
    profile, _, optimization = profiles.hostile(name)
    for record in (profile, optimization):
        assert printed(record, 400).startswith(name_of(name))


def test_an_old_console_gets_signs_that_it_has() -> None:
    text = printed(profiles.profile(), encoding="ascii")
    assert "900 us" in text
    assert " | " in text
    assert "..##" in text
