"""Stacks on the terminal, as charts and for speedscope."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from onnxperf.analyze.trace.stack import Sample, functions, native_functions
from onnxperf.records.stack import FunctionShare, Stack, StackFrame
from onnxperf.render.charts.base import BLUE, GREY, ORANGE, SKY
from onnxperf.render.kit.console import PageConsole, print_page
from onnxperf.render.kit.page import Verbatim
from onnxperf.render.kit.table import grid_of
from onnxperf.render.stack.flame import speedscope, tree_charts
from onnxperf.render.stack.page import self_charts, stack_page
from onnxperf.render.stack.tables import native_table, tree_functions_table
from onnxperf.results.stack import StackResult
from tests.render import drawn_pages
from tests.render.described import charts_of, picture_of
from tests.render.stack import examples as made


def printed(record: Stack, tree: Verbatim | None = None, width: int = 100, top: int = 15) -> str:
    return drawn_pages.printed(stack_page(record, (), tree, top), width)


def test_the_answer_stands_above_functions_tree_and_memory() -> None:
    record = made.stack(allocations=made.ALLOCATIONS, notes=("a note",))
    text = printed(record, tree=Verbatim("0.1 run\n└─ 0.05 \x1b]take"))
    parts = [
        "Most of it",
        "6.00 µs",
        "0.1 run",
        "\\x1b]take",
        "each library",
        "FLOAT_add",
        "most memory",
        "[red]g",
        "a.py:7",
        "a note",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "memory at its peak 2.05 kB" in text
    assert "(2.05 kB per call)" in text
    assert "120 allocations (12 per call)" in text


def test_a_terminal_shows_the_colours_of_the_tree_in_the_characters_that_it_has() -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    tree = Verbatim("0.1 größe", "\x1b[31m├─ 0.1\x1b[0m größe")
    print_page(stack_page(made.stack(), (), tree), PageConsole(file=terminal, width=100, force_terminal=True))
    terminal.seek(0)
    assert "|- 0.1\x1b[0m gr\\xf6\\xdfe" in terminal.read()


def test_a_record_from_a_store_shows_its_functions_in_place_of_the_tree() -> None:
    text = printed(made.stack())
    assert text.splitlines()[0] == "sgd · numpy · run · 1,000 calls"
    assert "6.00 µs" in text
    assert "<built-in>" in text


def test_libraries_are_listed_with_python_by_their_share() -> None:
    record = made.stack(shares=replace(made.SHARES, libraries={"numpy": 0.6, "OpenBLAS": 0.062}))
    listed = printed(record).partition("Time in each library itself")[2].splitlines()[3:6]
    assert [line.split() for line in listed] == [
        ["60.0", "%", "numpy"],
        ["33.8", "%", "Python"],
        ["6.20", "%", "OpenBLAS"],
    ]
    assert "each library" not in printed(made.stack(native=()))


def test_functions_that_only_call_others_are_not_among_the_busiest() -> None:
    (busy,) = made.stack().native
    text = printed(made.stack(native=(busy, replace(busy, function="caller", self_share=0.0, total_share=1.0))))
    assert "FLOAT_add" in text
    assert "caller" not in text


def test_lines_that_take_memory_most_often_have_a_table_where_they_are_others() -> None:
    assert "most often" not in printed(made.stack(allocations=made.ALLOCATIONS))
    assert "most often" in printed(made.stack(allocations=made.ALLOCATIONS), top=1)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit(width: int) -> None:
    text = printed(made.stack(allocations=made.ALLOCATIONS), width=width)
    assert max(map(cell_len, text.splitlines())) <= width


# ---------------------------------------------------------------- charts


def test_the_bars_are_the_functions_of_the_table_the_busiest_first() -> None:
    (chart,) = self_charts(made.stack())
    (bars,) = picture_of(chart).series
    assert picture_of(chart).names == ["run  model.py", "take  <built-in>"]
    assert bars.words == ["6.00 µs, 75.0 %", "2.00 µs, 25.0 %"]
    assert bars.colors == [BLUE, SKY]


def test_of_very_many_functions_the_last_bar_is_the_sum_of_the_others() -> None:
    shares = tuple(FunctionShare(function=f"f{n}", file="f.py", share=1 / 40, python=1 / 40) for n in range(40))
    (chart,) = self_charts(made.stack(functions=shares))
    assert picture_of(chart).names[-1] == "20 others"
    assert picture_of(chart).series[0].values[-1] == 4000.0


def frame(function: str, total: int, own: int, parent: int | None) -> StackFrame:
    return StackFrame(function=function, file="a/b.py", line=1, self_ns=own, total_ns=total, parent=parent)


def test_frames_lie_within_their_callers_one_after_the_other() -> None:
    frames = (
        frame("run", 1000, 100, None),
        frame("one", 600, 600, 0),
        frame("two", 300, 200, 0),
        frame("in", 100, 100, 2),
    )
    (chart,) = tree_charts(made.stack(frames=frames, calls=1))
    flame = picture_of(chart)
    assert flame.lane == [0, 1, 1, 2]
    assert flame.starts == [0.0, 0.0, 600.0, 600.0]
    assert flame.widths == [1000.0, 600.0, 300.0, 100.0]
    assert flame.enlarges


def test_functions_and_frames_share_their_keys() -> None:
    record = made.stack()
    (chart,) = tree_charts(record)
    grid = grid_of(tree_functions_table(record, functions(record.frames)))
    assert {line.link for line in grid.lines} == {key for item in picture_of(chart).items for key in item.keys}


def test_samples_lie_below_their_callers_and_are_colored_by_what_they_do() -> None:
    (chart,) = StackResult(made.stack(), samples=made.SAMPLES).charts("native")
    flame = picture_of(chart)
    drawn = {flame.items[item].where: flame.words[said] for item, said in zip(flame.item, flame.said, strict=True)}
    assert drawn[f"FLOAT_add ({made.UMATH})"] == "60.0 %, 30 samples"
    assert drawn["<script>&\\x1b (a.py)"] == "20.0 %, 10 samples"
    assert {item.name: item.color for item in flame.items}["FLOAT_add"] == ORANGE
    assert flame.legend == [("Python", BLUE), ("kernels and other compiled libraries", ORANGE), ("system", GREY)]
    assert (
        sum(width for width, lane in zip(flame.widths, flame.lane, strict=True) if lane == 0) == flame.axis.high == 50
    )
    assert chart.summary.endswith("FLOAT_add is at work itself in 60.0 %.")


def test_compiled_functions_share_their_keys_with_their_frames_whatever_the_line() -> None:
    record = made.stack(native=native_functions(made.SAMPLES))
    (chart,) = StackResult(record, samples=made.SAMPLES).charts("native")
    grid = grid_of(native_table(record))
    assert {line.link for line in grid.lines} == {key for item in picture_of(chart).items for key in item.keys}


def test_a_page_has_each_flame_graph_that_there_are_frames_for() -> None:
    def titles(record: Stack, samples: Sequence[Sample] = ()) -> list[str]:
        return list(charts_of(StackResult(record, samples=samples).page()))

    assert titles(made.stack(), made.SAMPLES) == [
        *("Self time per function", "Flame graph", "Flame graph with compiled frames")
    ]
    assert titles(made.stack()) == ["Self time per function", "Flame graph"]
    assert titles(made.stack(frames=(), functions=())) == []


def test_speedscope_gets_every_stack_with_its_weight() -> None:
    written = json.loads(speedscope(made.SAMPLES, "sgd"))
    names, profile = [frame["name"] for frame in written["shared"]["frames"]], written["profiles"][0]
    stacks = [
        (tuple(names[place] for place in stack), weight)
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    ]
    assert stacks == made.SAMPLES
    assert profile["endValue"] == 50


def test_lines_of_one_function_below_the_same_caller_are_one_frame() -> None:
    samples = [(("run (a.py:1)", "f (b.py:2)"), 3), (("run (a.py:9)", "f (b.py:4)"), 5)]
    (chart,) = StackResult(made.stack(native=()), samples=samples).charts("native")
    flame = picture_of(chart)
    assert [(flame.items[item].where, width) for item, width in zip(flame.item, flame.widths, strict=True)] == [
        *(("run (a.py)", 8), ("f (b.py)", 8))
    ]
