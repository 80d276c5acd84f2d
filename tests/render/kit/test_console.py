"""Pages on terminals of any width and any encoding."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from rich.cells import cell_len

from onnxperf.options.spelling import as_flags
from onnxperf.render.kit.console import PageConsole, page_text, print_page
from onnxperf.render.kit.page import (
    INTERRUPTED,
    Answer,
    Flow,
    Foot,
    Heading,
    Line,
    Note,
    Page,
    Verbatim,
    Warn,
    answered,
    with_foot,
)
from onnxperf.wording.busy import busy_text
from tests.render.kit import toys

LONG = "a_very_long_name_of_a_subject_with_an_end_that_differs"
WIDTHS = [40, 80, 120]


def printed(page: Page, width: int = 80, encoding: str = "utf-8", colours: bool = False) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = PageConsole(
        file=stream, width=width, color_system="standard" if colours else None, force_terminal=colours
    )
    print_page(page, console, as_flags)
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_fits_and_its_numbers_are_whole(width: int) -> None:
    text = printed([toys.table(LONG, "b")], width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert text.count("8.43 µs") == 2


@pytest.mark.parametrize(
    ("width", "headings"),
    [(59, ["name", "mean"]), (60, ["name", "mean", "p99"]), (80, ["name", "mean", "p99", "calls"])],
)
def test_the_least_important_columns_are_left_out_first(width: int, headings: list[str]) -> None:
    title, head, *_ = printed([toys.table(LONG)], width).strip().splitlines()
    assert (title, head.split()) == ("Times", headings)


@pytest.mark.parametrize(
    ("width", "shown"),
    [(40, "a_very_long_nam…nd_that_differs"), (60, "a_very_long_name_of_a…_an_end_that_differs"), (120, LONG)],
)
def test_a_long_name_loses_its_middle_where_there_is_no_room(width: int, shown: str) -> None:
    assert f"{shown} " in printed([toys.table(LONG)], width)


def test_a_terminal_without_unicode_gets_plain_signs_and_escapes() -> None:
    page: Page = [Heading("größe", ["± 3 %", "2.00×"]), toys.table("größe"), Verbatim("├─ größe…")]
    text = printed(page, 120, "ascii")
    for part in ["gr\\xf6\\xdfe | +- 3 % | 2.00x", "8.43 us", "----", "|- gr\\xf6\\xdfe.."]:
        assert part in text


@given(toys.HOSTILE)
def test_a_hostile_name_cannot_control_the_terminal_or_widen_a_table(name: str) -> None:
    text = printed(toys.page(name), 80)
    assert not [c for c in text.replace("\n", "") if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert max(map(cell_len, printed([toys.table(name)], 40).splitlines())) <= 40


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/]", "[link=file:///etc]y[/link]"])
def test_names_are_no_markup(name: str) -> None:
    assert printed(toys.page(name), 120).count(name) == 7


def test_colours_of_a_tree_are_for_terminals_only() -> None:
    tree = Verbatim("0.1 run", "\x1b[31m0.1\x1b[0m run")
    assert printed([tree]) == "0.1 run\n"
    assert "\x1b[31m0.1\x1b[0m run" in printed([tree], colours=True)


def test_text_without_colours_of_its_own_cannot_bring_any() -> None:
    assert printed([Verbatim("\x1b[31mred")], colours=True) == "\\x1b[31mred\n"


def test_verbatim_lines_are_neither_wrapped_nor_lost() -> None:
    text = "x" * 200 + "\n\n  end\u2028of line"
    assert printed([Verbatim(text)], 40) == "x" * 200 + "\n\n  end\\u2028of line\n"


def test_a_line_goes_on_below_its_beginning_on_a_terminal_and_is_whole_in_a_pipe() -> None:
    page: Page = [Verbatim("  57 %  Conv(x, weight, bias) -> y  # conv_1\nend", "", [10, 4])]
    broken = "  57 %  Conv(x, weight,\n          bias) -> y\n          # conv_1\nend\n"
    assert printed(page, 24, colours=True) == broken
    assert printed(page, 24) == "  57 %  Conv(x, weight, bias) -> y  # conv_1\nend\n"


def test_words_that_are_too_long_for_a_terminal_are_cut() -> None:
    page: Page = [Verbatim("a" * 30, "", [4])]
    assert printed(page, 20, colours=True) == f"{'a' * 20}\n    {'a' * 10}\n"


def test_options_are_spelled_as_the_command_line_does() -> None:
    page: Page = [
        Line("use `time=45`"),
        Flow(["set with `dims`"]),
        Verbatim("(`all` shows them)"),
        *answered("`calls`"),
    ]
    assert printed(page).splitlines() == ["--calls", "", "use --time 45", "set with --dim", "(--all shows them)"]
    assert page_text(page).splitlines() == ["calls=…", "", "use time=45", "set with dims=…", "(all=… shows them)"]


def test_facts_flow_onto_as_few_lines_as_they_need() -> None:
    assert printed([Flow(["a" * 20, "", "b" * 20, "c"])], 30) == f"{'a' * 20}\n{'b' * 20} · c\n"
    assert printed([Flow([])]) == ""


def test_lines_are_indented_and_wrapped_at_their_indent() -> None:
    assert printed([Line("word " * 12, indent=4)], 40).splitlines()[1].startswith("    word")


def test_an_answer_has_the_sign_of_its_verdict_its_sentences_and_notes_and_warnings() -> None:
    assert answered("") == []
    assert answered("yes\n\nno", ["a note"], verdict="faster") == [
        Answer("yes", "faster"),
        Answer("no"),
        Note("a note"),
    ]
    assert Answer("yes", "faster").shown == "✓ yes"
    assert answered("", interrupted=True) == [INTERRUPTED]
    assert answered("", [busy_text(0.5)]) == [
        Warn("busy machine: other programs used 50 % of the processors meanwhile")
    ]


def test_below_a_heading_come_the_answer_warnings_all_else_notes_and_facts() -> None:
    page: Page = [Heading("m"), Note("n"), Line("body"), Foot(["6 launches"]), Warn("w"), Answer("a"), Line("after")]
    assert printed(page).splitlines() == [*("m", "", "body", "", "n", "", "6 launches", "", "a", "⚠ w", "", "after")]


def test_facts_of_a_run_join_those_of_the_measurement() -> None:
    page: Page = [Line("body"), Foot(["6 launches"]), Line("after")]
    assert with_foot(page, ["saved"])[1] == Foot(["6 launches", "saved"])
    assert with_foot([Line("body")], ["saved"])[1] == Foot(["saved"])
    assert with_foot(page, []) == page
