"""Stacks on the terminal, as a flame graph and for speedscope."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from onnxperf.analyze.trace.stack import kind_of
from onnxperf.records.stack import Stack
from onnxperf.render.kit.console import print_page
from onnxperf.render.kit.page import Verbatim
from onnxperf.render.stack import flame
from onnxperf.render.stack.page import stack_page
from tests.render import drawn_pages
from tests.render.stack import examples as made


def printed(record: Stack, tree: Verbatim | None = None, width: int = 100, top: int = 15) -> str:
    return drawn_pages.printed(stack_page(record, tree, top), width)


def test_the_tree_stands_above_functions_memory_and_answer() -> None:
    record = made.stack(allocations=made.ALLOCATIONS, notes=("a note",))
    text = printed(record, tree=Verbatim("0.1 run\n└─ 0.05 \x1b]take"))
    parts = [
        "0.1 run",
        "\\x1b]take",
        "6.00 µs",
        "each library",
        "FLOAT_add",
        "most memory",
        "[red]g",
        "a.py:7",
        "Most of it",
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
    print_page(stack_page(made.stack(), tree), Console(file=terminal, width=100, force_terminal=True))
    terminal.seek(0)
    assert "|- 0.1\x1b[0m gr\\xf6\\xdfe" in terminal.read()


def test_a_record_from_a_store_shows_its_functions_in_place_of_the_tree() -> None:
    text = printed(made.stack())
    assert text.splitlines()[0] == "sgd · numpy · run · 1,000 calls · 8.00 µs per call"
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


def test_the_flame_graph_is_well_formed_and_coloured_by_what_frames_do() -> None:
    picture = ElementTree.fromstring(flame.flame_svg(made.SAMPLES, "a & b", kind_of))
    titles = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert f"FLOAT_add ({made.UMATH}): 60.0 %, 30 samples" in titles
    assert "<script>&\\x1b (a.py:3): 20.0 %, 10 samples" in titles
    colours = {element.get("fill") for element in picture.iter("{http://www.w3.org/2000/svg}rect")}
    assert {flame.COLOURS["python"], flame.COLOURS["kernels"], flame.COLOURS[None]} <= colours


def test_speedscope_gets_every_stack_with_its_weight() -> None:
    written = json.loads(flame.speedscope(made.SAMPLES, "sgd"))
    names, profile = [frame["name"] for frame in written["shared"]["frames"]], written["profiles"][0]
    stacks = [
        (tuple(names[place] for place in stack), weight)
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    ]
    assert stacks == made.SAMPLES
    assert profile["endValue"] == 50


def test_an_empty_flame_graph_is_still_a_picture() -> None:
    assert ElementTree.fromstring(flame.flame_svg([], "nothing", kind_of)) is not None
