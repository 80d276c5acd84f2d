"""Einsum plans and rewritten models as pages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxperf.records.einsum import EinsumPlan, Rewrite
from onnxperf.render.kit.page import Page
from onnxperf.render.race.einsum import limit_ratio, plan_page, search_text, shapes_words, winner_of
from onnxperf.render.race.rewrite import nodes_text, rewrite_page, whole_race_text
from onnxperf.wording.names import name_of
from tests.render import einsum_examples as einsums
from tests.render import examples
from tests.render.drawn_pages import TAGS, Markup, cells, line_with, printed

WIDTHS = [60, 80, 100, 120, 200]
NAMES = st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text(max_size=40))


def page_of(record: EinsumPlan | Rewrite) -> Page:
    return plan_page(record) if isinstance(record, EinsumPlan) else rewrite_page(record)


def with_failure(**changes: Any) -> EinsumPlan:
    return einsums.plan(race=einsums.race(examples.failed("torch.einsum", "failed", "out of luck")), **changes)


# ---------------------------------------------------------------- a plan


def test_a_plan_shows_the_search_the_race_and_the_answer() -> None:
    text = printed(plan_page(with_failure()), 160)
    assert text.startswith("bsnh,btnh->bnts · 20x20x20x20, 20x20x20x20 · float32 · 2 threads · Intel Xeon Platinum")
    assert "onnxruntime 1.31.1" in text
    assert "151 candidates, 63 distinct after onnxruntime's optimiser, 32 of them from 120 letter orders" in text
    assert cells(line_with(text, "subject")) == [
        "subject",
        "time",
        "speedup",
        "95 % interval",
        "× limit",  # noqa: RUF001
        "verdict",
    ]
    assert cells(line_with(text, "decomposed")) == [
        "decomposed as written",
        "419 µs",
        "1.580×",  # noqa: RUF001
        "1.548…1.612",
        "3.30×",  # noqa: RUF001
        "faster",
    ]
    assert "The best graph is 3.76 times" in text
    assert "finalists were raced again" in text
    assert "torch.einsum: out of luck" in text
    assert cells(line_with(text, "torch.einsum"))[-1] == "failed"


def test_the_reason_of_an_undecided_row_is_left_to_the_answer() -> None:
    undecided = einsums.subject("opt_einsum", "callable", 600_000.0, "undecided", reason="2 rounds are too few")
    assert "too few" not in printed(plan_page(einsums.plan(race=einsums.race(undecided))), 160)


def test_below_the_race_stands_where_its_figures_come_from() -> None:
    text = printed(plan_page(einsums.plan(), ["a note on a row"]), 160)
    legend, note = line_with(text, "paired by launch"), line_with(text, "a note on a row")
    assert legend == "time: undisturbed time of a call · speedup: paired by launch"
    assert text.index("bare MatMul") < text.index(legend) < text.index(note) < text.index("The best graph is")
    assert "paired by launch" not in printed(plan_page(einsums.plan(race=None)), 160)


def test_the_winner_is_bold_with_a_mark_and_the_limit_is_dim() -> None:
    text = printed(plan_page(einsums.plan()), 200, colour=True)
    winner = line_with(text, "176 µs")
    assert winner.startswith("\x1b[1m*")
    assert line_with(text, "127 µs").startswith("\x1b[2m")
    assert cells(line_with(printed(plan_page(einsums.plan()), 200), "127 µs"))[-1] == "limit"


@pytest.mark.parametrize(
    ("changes", "name"),
    [({}, einsums.BEST_GRAPH), ({"winner": "numpy.einsum"}, "numpy.einsum"), ({"race": None}, None)],
)
def test_the_winner_is_the_subject_of_that_name(changes: dict[str, Any], name: str | None) -> None:
    winner = winner_of(einsums.plan(**changes))
    assert (winner.name if winner else None) == name


def test_the_limit_has_a_column_only_where_there_is_one() -> None:
    assert "limit" not in printed(plan_page(einsums.plan(limit=None)), 160)
    assert limit_ratio(einsums.plan(limit="another"), einsums.race().subjects[0]) is None
    assert limit_ratio(einsums.plan(), einsums.race().subjects[-1]) == 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"searched": False}, "151 candidates; chosen by the cost model, nothing was timed"),
        ({"searched": False, "candidates": 0}, "chosen by the cost model, nothing was timed"),
        ({"orders": ()}, "151 candidates, 63 distinct after onnxruntime's optimiser"),
        ({"executed": 9}, "151 candidates, 9 distinct after onnxruntime's optimiser; 120 letter orders"),
        ({"candidates": 1, "executed": 1, "orders": ()}, "1 candidate, 1 distinct after onnxruntime's optimiser"),
    ],
)
def test_one_line_describes_the_search(changes: dict[str, Any], text: str) -> None:
    assert search_text(einsums.plan(**changes)) == text


def test_without_a_race_there_is_the_graph_and_the_answer() -> None:
    plan = einsums.plan(race=None, searched=False, limit=None, answer="146 µs by estimate.")
    text = printed(plan_page(plan))
    assert f"Chosen graph: {einsums.BEST_GRAPH}" in text
    assert "146 µs by estimate." in text
    assert "subject" not in text


def test_a_long_name_goes_on_in_the_next_lines() -> None:
    lines = printed(plan_page(einsums.plan()), 80).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("*"))
    names = [cells(line[3:])[0] for line in lines[start:]]
    assert " ".join(names).startswith(einsums.BEST_GRAPH)


@pytest.mark.parametrize("record", [einsums.plan(interrupted=True), einsums.rewrite(interrupted=True)])
def test_what_was_interrupted_is_marked(record: EinsumPlan | Rewrite) -> None:
    assert "Interrupted" in printed(page_of(record))


@pytest.mark.parametrize(("shapes", "text"), [(((2, 3), (3,)), "2x3, 3"), (((), (4,)), "scalar, 4"), ((), "")])
def test_shapes_are_words(shapes: tuple[tuple[int, ...], ...], text: str) -> None:
    assert shapes_words(shapes) == text


# ---------------------------------------------------------------- a rewrite


def test_a_rewrite_shows_every_group_of_nodes_and_why() -> None:
    text = printed(rewrite_page(einsums.rewrite()), 200)
    assert cells(line_with(text, "Einsum_3"))[0] == "Einsum_3 and 11 more"
    assert cells(line_with(text, "Einsum_3"))[3:] == [
        "rewritten",
        "3.10×",  # noqa: RUF001
        "1.214×",  # noqa: RUF001
        "1.200…1.230",
    ]
    assert "Einsum_3 and 11 more: the whole model is faster" in text
    assert line_with(text, "Einsum_40:").endswith("absorbed the transposes")
    assert "(no name): its shapes are unknown; give them with `dims`" in text
    raced = "Raced: original 662 µs, rewritten 545 µs: speedup 1.215× (95 % interval 1.190…1.239), faster"  # noqa: RUF001
    assert raced in text
    assert "Written to faster.onnx" in text
    assert "12 of 14 Einsum nodes" in text


def test_a_rewrite_shows_the_notes_of_its_race() -> None:
    race = examples.case(notes=("others used the processors",), subjects=())
    assert "others used the processors" in printed(rewrite_page(einsums.rewrite(race=race)), 160)


def test_a_model_without_einsum_has_no_table() -> None:
    text = printed(rewrite_page(einsums.rewrite(sites=(), race=None, output="", answer="There is no Einsum node.")))
    assert "There is no Einsum node." in text
    assert "Raced" not in text
    assert "Written" not in text


@pytest.mark.parametrize(
    ("subjects", "text"),
    [
        ((), ""),
        ((examples.subject("original"),), ""),
        (
            (examples.subject("original"), examples.failed("rewritten", "crashed", "a signal")),
            "Raced: rewritten crashed, a signal",
        ),
        (
            (examples.subject("original"), examples.subject("rewritten", verdict=None, speedup=None)),
            "Raced: original 8.43 µs, rewritten 8.43 µs",
        ),
    ],
)
def test_the_race_of_the_models_is_one_line(subjects: Any, text: str) -> None:
    assert whole_race_text(examples.case(subjects=subjects, baseline="original") if subjects else None) == text


@pytest.mark.parametrize(("nodes", "text"), [((), "(no name)"), (("a",), "a"), (("a", "b"), "a and 1 more")])
def test_many_nodes_are_a_number(nodes: tuple[str, ...], text: str) -> None:
    assert nodes_text(einsums.site(nodes=nodes)) == text


# ---------------------------------------------------------------- any width, any text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
@pytest.mark.parametrize("record", [with_failure(), einsums.rewrite()], ids=["plan", "rewrite"])
def test_no_line_is_wider_than_the_console(record: EinsumPlan | Rewrite, encoding: str, width: int) -> None:
    text = printed(page_of(record), width, encoding)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    if encoding == "ascii":
        assert text.isascii()


def hostile(name: str) -> tuple[EinsumPlan, Rewrite]:
    bad = examples.failed(name, "failed", name)
    plan = einsums.plan(
        equation=name, best_equation=name, graph=name, dtype=name, notes=(name,), answer=name, race=einsums.race(bad)
    )
    site = einsums.site(nodes=(name,), equation=name, dtype=name, reason=name, outcome="kept")
    return plan, einsums.rewrite(model=name, output=name, sites=(site,), notes=(name,), answer=name)


@given(NAMES, st.sampled_from(WIDTHS), st.sampled_from(["utf-8", "ascii"]))
def test_no_text_steers_the_terminal(name: str, width: int, encoding: str) -> None:
    for record in hostile(name):
        text = printed(page_of(record), width, encoding)
        assert all(character.isprintable() or character == "\n" for character in text if ord(character) < 160)
        assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width


@given(NAMES)
def test_no_text_becomes_markup(name: str) -> None:
    for record in hostile(name):
        markup = Markup(page_of(record))
        assert markup.tags <= TAGS
        assert markup.attributes == {"style"}
        assert name_of(name) in "\n".join(markup.words)


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        (with_failure(), ["151 candidates", "1.386", "limit", "3.76 times", "out of luck", "2 threads"]),
        (einsums.rewrite(), ["Einsum_3 and 11 more", "absorbed", "Raced: original", "faster.onnx"]),
        (einsums.plan(race=None), ["Chosen graph: Transpose"]),
    ],
)
def test_a_notebook_shows_tables_answers_and_notes(record: EinsumPlan | Rewrite, parts: list[str]) -> None:
    words = "\n".join(Markup(page_of(record)).words)
    for part in parts:
        assert part in words
