"""Einsum plans and rewritten models as pages and charts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxperf.records.einsum import EinsumPlan, OrderTime, Rewrite
from onnxperf.render.charts.bars import Bars
from onnxperf.render.charts.base import BLUE, GREEN, GREY, ORANGE
from onnxperf.render.kit.page import Page
from onnxperf.render.race.einsum import (
    MOST_BARS,
    limit_ratio,
    orders_charts,
    plan_page,
    search_text,
    shapes_words,
    winner_of,
)
from onnxperf.render.race.rewrite import nodes_text, rewrite_page
from onnxperf.wording.names import name_of
from tests.render import einsum_examples as einsums
from tests.render import examples
from tests.render.described import charts_of, column, labels_in, picture_of
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
    assert text.startswith("bsnh,btnh->bnts · 20×20×20×20, 20×20×20×20 · float32 · 2 threads")
    assert "onnxruntime 1.31.1" in text
    assert "151 candidates, 63 distinct after onnxruntime's optimizer, 32 of them from 120 letter orders" in text
    assert cells(line_with(text, "subject")) == [
        "subject",
        "time",
        "speedup",
        "95 % CI",
        "× limit",
    ]
    assert cells(line_with(text, "decomposed"))[:6] == [
        "decomposed as written",
        "419 µs",
        "1.58×",
        "1.55–1.61",
        "3.30×",
        "✓ faster",
    ]
    assert "The best graph is 3.76 times" in text
    assert "finalists were raced again" in text
    assert text.count("out of luck") == 1
    assert "⛔ failed" in line_with(text, "torch.einsum")


def test_the_reason_of_an_undecided_row_stands_below_unless_the_answer_has_it() -> None:
    undecided = einsums.subject("opt_einsum", "callable", 600_000.0, "undecided", reason="2 rounds are too few")
    race = einsums.race(undecided)
    assert printed(plan_page(einsums.plan(race=race)), 160).count("opt_einsum: 2 rounds are too few") == 1
    told = einsums.plan(race=race, answer="Nothing is proven: 2 rounds are too few.")
    assert printed(plan_page(told), 160).count("too few") == 1


def test_notes_on_rows_stand_below_the_race() -> None:
    text = printed(plan_page(einsums.plan(), ["a note on a row"]), 160)
    assert text.index("The best graph is") < text.index("bare MatMul") < text.index("a note on a row")


def test_the_winner_is_bold_with_a_mark_and_the_limit_is_dim() -> None:
    text = printed(plan_page(einsums.plan()), 200, colour=True)
    winner = line_with(text, "176 µs")
    assert winner.startswith("\x1b[1m*")
    assert line_with(text, "127 µs").startswith("\x1b[2m")
    assert cells(line_with(printed(plan_page(einsums.plan()), 200), "127 µs"))[5] == "limit"


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
        ({"orders": ()}, "151 candidates, 63 distinct after onnxruntime's optimizer"),
        ({"executed": 9}, "151 candidates, 9 distinct after onnxruntime's optimizer; 120 letter orders"),
        ({"candidates": 1, "executed": 1, "orders": ()}, "1 candidate, 1 distinct after onnxruntime's optimizer"),
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


@pytest.mark.parametrize(("shapes", "text"), [(((2, 3), (3,)), "2×3, 3"), (((), (4,)), "scalar, 4"), ((), "")])
def test_shapes_are_words(shapes: tuple[tuple[int, ...], ...], text: str) -> None:
    assert shapes_words(shapes) == text


# ---------------------------------------------------------------- charts of a plan


def bars_of(**changes: Any) -> Bars:
    (chart,) = orders_charts(einsums.plan(**changes))
    picture: Bars = picture_of(chart)
    return picture


def test_a_page_has_the_race_once_and_the_letter_orders() -> None:
    found = charts_of(plan_page(with_failure()))
    assert "5.21×" in column(found["Speedups"].table, "× limit")
    assert len(labels_in(found["Speedups"])) == len(einsums.RACE)
    assert labels_in(found["Speedups"])[-1].endswith("limit")
    assert len(found["Time per letter order"].table.rows) == 120
    assert "Percentiles" in found


def test_every_order_has_a_bar_the_fastest_on_top_with_the_graph_behind_it() -> None:
    orders = einsums.orders(letters="bsnh")
    picture = bars_of(orders=orders)
    times = picture.series[0].values
    assert times == sorted(times)
    assert set(picture.names) == {order.equation for order in orders}
    assert all(order.graph in " ".join(picture.series[0].words) for order in orders)


def test_the_fastest_the_written_and_the_chosen_order_say_so_and_have_colors_of_their_own() -> None:
    orders = einsums.orders(letters="bsnh")
    picture = bars_of(orders=(orders[1], orders[0], *orders[2:]), graph=orders[2].graph)
    words = picture.series[0].words
    named = {role: [text for text in words if role in text] for role in ("fastest", "won the final race", "as written")}
    assert [len(several) for several in named.values()] == [1, 1, 1]
    assert words[0].startswith("176 µs · fastest")
    places = [words.index(several[0]) for several in named.values()]
    assert [picture.series[0].colors[place] for place in places] == [GREEN, GREEN, ORANGE]
    assert set(picture.series[0].colors) == {GREEN, ORANGE, BLUE}
    assert [color for _, color in picture.legend] == [GREEN, ORANGE, BLUE]


@pytest.mark.parametrize(
    ("graph_ns", "place"), [(100e3, 0), (200e3, 2), (9e9, 24)], ids=["fastest", "in between", "slowest"]
)
@pytest.mark.parametrize(("winner", "words"), [("a name", "won the final race"), (None, "chosen")])
def test_the_chosen_graph_has_a_bar_where_no_letter_order_leads_to_it(
    graph_ns: float, place: int, winner: str | None, words: str
) -> None:
    graph = "Einsum ij,jk->ik"
    picture = bars_of(orders=einsums.orders(letters="bsnh"), graph=graph, graph_ns=graph_ns, winner=winner)
    assert (picture.names.index(graph), len(picture.names)) == (place, 25)
    assert [i for i, text in enumerate(picture.series[0].words) if words in text] == [place]


def test_the_chosen_graph_has_no_second_bar() -> None:
    assert len(bars_of(orders=einsums.orders(letters="bsnh"), graph=einsums.GRAPHS[7], graph_ns=1.0).names) == 24


def test_too_many_orders_share_the_bar_of_their_graph_and_keep_their_rows() -> None:
    (chart,) = orders_charts(einsums.plan(orders=einsums.orders(letters="bsnhtu")))
    assert len(picture_of(chart).names) == len(einsums.GRAPHS)
    assert picture_of(chart).names[0] == "bsnhtu and 22 more"
    assert chart.summary.startswith("720 of 720 letter orders were timed; they lead to 32 graphs.")
    assert len(chart.table.rows) == 720


@pytest.mark.parametrize("graph", ["graph 199", "of no order"])
def test_too_many_graphs_lose_the_slowest_but_not_the_chosen_one(graph: str) -> None:
    orders = einsums.orders(letters="bsnhtu", graphs=tuple(f"graph {number}" for number in range(200)))
    (chart,) = orders_charts(einsums.plan(orders=orders, graph=graph, graph_ns=9e9))
    assert len(picture_of(chart).names) == MOST_BARS
    assert "won the final race" in picture_of(chart).series[0].words[-1]
    assert re.search(r"16[01] slow graphs are only in the table\.", chart.summary)


def test_orders_without_a_time_have_no_bar_and_stand_last_in_the_table() -> None:
    (chart,) = orders_charts(einsums.plan(orders=einsums.orders(letters="bsnh", untimed=5)))
    assert len(picture_of(chart).names) == 19
    assert chart.summary.startswith("19 of 24 letter orders were timed")
    assert column(chart.table, "time")[19:] == ["–"] * 5


@pytest.mark.parametrize("orders", [(), einsums.orders(untimed=120)], ids=["none", "none timed"])
def test_a_plan_that_timed_nothing_has_no_chart(orders: tuple[OrderTime, ...]) -> None:
    assert not charts_of(plan_page(einsums.plan(orders=orders, race=None)))


def test_names_in_charts_hold_nothing_that_steers() -> None:
    orders = tuple(
        OrderTime(order=name, equation=name, graph=name, time_ns=1e3 + number)
        for number, name in enumerate(examples.NASTY_NAMES)
    )
    picture = bars_of(orders=orders)
    assert picture.names == [name_of(name) for name in examples.NASTY_NAMES]
    assert all(text.isprintable() for text in picture.series[0].words)


# ---------------------------------------------------------------- a rewrite


def test_a_rewrite_shows_every_group_of_nodes_and_why() -> None:
    text = printed(rewrite_page(einsums.rewrite()), 200)
    assert cells(line_with(text, "Einsum_3"))[0] == "Einsum_3 and 11 more"
    assert cells(line_with(text, "Einsum_3"))[3:7] == [
        "✓ rewritten",
        "3.10×",
        "1.21×",
        "1.20–1.23",
    ]
    assert "Einsum_3 and 11 more: the whole model is faster" in text
    assert line_with(text, "Einsum_40:").endswith("absorbed the transposes")
    assert "(no name): its shapes are unknown; give them with dims" in text
    row = cells(line_with(text, "rewritten  545"))
    assert {"rewritten", "545 µs", "1.21×", "1.19–1.24", "✓ faster"} <= set(row)
    assert "Written to faster.onnx" in text
    assert "12 of 14 Einsum nodes" in text


def test_a_rewrite_shows_the_notes_of_its_race() -> None:
    race = examples.case(notes=("others used the processors",), subjects=())
    assert "others used the processors" in printed(rewrite_page(einsums.rewrite(race=race)), 160)


def test_a_model_without_einsum_has_no_table() -> None:
    text = printed(rewrite_page(einsums.rewrite(sites=(), race=None, output="", answer="There is no Einsum node.")))
    assert "There is no Einsum node." in text
    assert "speedup" not in text
    assert "Written" not in text


def test_a_model_that_failed_in_its_race_says_why() -> None:
    race = examples.case(examples.subject("original"), examples.failed("rewritten", "crashed", "a signal"))
    text = printed(rewrite_page(einsums.rewrite(race=race)), 160)
    assert cells(line_with(text, "crashed"))[0] == "rewritten"
    assert "rewritten: a signal" in text


def test_replaced_nodes_show_what_they_gained_in_the_model() -> None:
    found = charts_of(rewrite_page(einsums.rewrite()))
    assert labels_in(found["Gain by node"]) == ["1.21× ✓ rewritten", "1.00× ✓ kept"]
    assert [mark.color for mark in picture_of(found["Gain by node"]).marks] == [GREEN, GREY]
    assert column(found["Gain by node"].table, "outcome") == ["✓ rewritten", "kept", "skipped"]
    assert labels_in(found["Speedups"])[0].startswith("1.21×")


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
        (with_failure(), ["151 candidates", "1.39", "limit", "3.76 times", "out of luck", "2 threads"]),
        (einsums.rewrite(), ["Einsum_3 and 11 more", "absorbed", "original", "faster.onnx"]),
        (einsums.plan(race=None), ["Chosen graph: Transpose"]),
    ],
)
def test_a_notebook_shows_tables_answers_and_notes(record: EinsumPlan | Rewrite, parts: list[str]) -> None:
    words = "\n".join(Markup(page_of(record)).words)
    for part in parts:
        assert part in words
