"""Charts of einsum plans."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from onnxperf.errors import BadOption
from onnxperf.records.einsum import OrderTime
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.race.einsum_chart import MAX_ORDERS, orders_plot, race_plot
from onnxperf.wording.names import name_of, shortened, visible
from tests.render import einsum_examples as einsums
from tests.render.examples import NASTY_NAMES


def names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def widths(ax: Axes) -> list[float]:
    return [patch.get_width() for patch in ax.patches]  # type: ignore[attr-defined]


def colours(ax: Axes) -> list[str]:
    return [to_hex(patch.get_facecolor()).upper() for patch in ax.patches]


def title(ax: Axes) -> str:
    return str(fg.figure_of(ax)._suptitle.get_text())  # type: ignore[attr-defined]


def test_every_order_has_a_bar_and_the_fastest_is_on_top() -> None:
    plan = einsums.plan()
    ax = orders_plot(plan)
    assert title(ax) == f"Time per letter order\nbsnh,btnh->bnts, fastest in the search: {names(ax)[0]}"
    assert len(names(ax)) == len(widths(ax)) == 120
    assert widths(ax) == sorted(widths(ax))
    assert set(names(ax)) == {order.equation for order in plan.orders}
    assert "not timed" not in ax.get_xlabel()


def test_orders_that_share_a_graph_look_alike_and_neighbouring_graphs_do_not() -> None:
    ax = orders_plot(einsums.plan())
    by_width: dict[float, set[str]] = {}
    for width, colour in zip(widths(ax), colours(ax), strict=True):
        by_width.setdefault(width, set()).add(colour)
    found = [group - {fg.ORANGE} for group in by_width.values()]
    assert all(len(group) == 1 for group in found)
    assert found[0] == {fg.GREEN}
    assert fg.GREEN not in set.union(*found[1:])
    assert all(a != b for a, b in pairwise(found))


def test_the_fastest_the_written_and_the_raced_order_say_so() -> None:
    plan = einsums.plan(graph=einsums.GRAPHS[3])
    words = [text.get_text() for text in orders_plot(plan).texts]
    assert words[0].startswith("176 µs · fastest")
    assert sum("as written" in each for each in words) == 1
    assert any(each.endswith("won the final race") for each in words)


@pytest.mark.parametrize(
    ("graph_ns", "place"), [(100e3, 0), (200e3, 8), (9e9, 120)], ids=["fastest", "in between", "slowest"]
)
@pytest.mark.parametrize(("winner", "words"), [("a name", "won the final race"), (None, "chosen")])
def test_the_chosen_graph_has_a_bar_where_no_letter_order_leads_to_it(
    graph_ns: float, place: int, winner: str | None, words: str
) -> None:
    ax = orders_plot(einsums.plan(graph="Einsum ij,jk->ik", graph_ns=graph_ns, winner=winner))
    assert names(ax).index("Einsum ij,jk->ik") == place
    assert widths(ax) == sorted(widths(ax))
    assert len(names(ax)) == 121
    assert [i for i, text in enumerate(ax.texts) if text.get_text().endswith(words)] == [place]
    assert title(ax) == f"Time per letter order\nbsnh,btnh->bnts, fastest in the search: {names(ax)[0]}"


def test_the_chosen_graph_has_no_second_bar() -> None:
    plan = einsums.plan(graph=einsums.GRAPHS[3], graph_ns=1.0)
    assert len(names(orders_plot(plan))) == 120


@pytest.mark.parametrize("graph", ["graph 199", "of no order"])
def test_the_chosen_graph_stays_where_the_slowest_are_left_out(graph: str) -> None:
    graphs = tuple(f"graph {number}" for number in range(200))
    orders = einsums.orders(letters="bsnhtu", graphs=graphs)
    ax = orders_plot(einsums.plan(orders=orders, graph=graph, graph_ns=9e9))
    assert len(names(ax)) == MAX_ORDERS
    assert ax.texts[-1].get_text().endswith("won the final race")


def test_orders_without_a_time_are_left_out_with_a_note() -> None:
    ax = orders_plot(einsums.plan(orders=einsums.orders(untimed=20)))
    assert len(names(ax)) == 100
    assert "20 of 120 orders were not timed and are left out" in ax.get_xlabel()


@pytest.mark.parametrize("orders", [(), einsums.orders(untimed=120)], ids=["none", "none timed"])
def test_a_plan_that_timed_nothing_says_so(orders: tuple[OrderTime, ...]) -> None:
    assert "nothing was timed" in orders_plot(einsums.plan(orders=orders)).get_xlabel()


def test_too_many_orders_share_the_bar_of_their_graph() -> None:
    ax = orders_plot(einsums.plan(orders=einsums.orders(letters="bsnhtu")))
    assert len(names(ax)) == len(einsums.GRAPHS)
    assert names(ax)[0] == "bsnhtu and 22 more"
    assert "720 orders" in ax.get_xlabel()


def test_too_many_graphs_lose_the_slowest() -> None:
    graphs = tuple(f"graph {number}" for number in range(200))
    ax = orders_plot(einsums.plan(orders=einsums.orders(letters="bsnhtu", graphs=graphs)))
    assert len(names(ax)) == MAX_ORDERS
    assert "the 50 slowest graphs are left out" in ax.get_xlabel()


@pytest.mark.parametrize(
    "orders", [einsums.orders(), einsums.orders(untimed=117), einsums.orders(letters="bsnhtu")], ids=["all", "3", "720"]
)
def test_no_words_are_cut_or_meet_others(orders: tuple[OrderTime, ...]) -> None:
    ax = orders_plot(einsums.plan(orders=orders))
    figure = fg.figure_of(ax)
    figure.draw_without_rendering()
    legend, right = ax.get_legend(), ax.child_axes[0]
    assert legend is not None
    shown = [*ax.texts, *ax.get_yticklabels(), *right.get_yticklabels(), *legend.get_texts(), ax.xaxis.label]
    boxes = [text.get_window_extent().padded(-1.5) for text in shown]
    boxes.append(figure._suptitle.get_window_extent())  # type: ignore[attr-defined]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_an_axes_of_the_user_gets_the_title_and_no_names_at_its_right() -> None:
    own = Figure(figsize=(8, 25)).subplots()
    ax = orders_plot(einsums.plan(), own)
    assert ax is own
    assert ax.get_title() == f"bsnh,btnh->bnts, fastest in the search: {names(ax)[0]}"
    assert not ax.child_axes


def test_nasty_text_is_drawn_as_it_is() -> None:
    orders = [
        OrderTime(order=name, equation=name, graph=name, time_ns=1e3 + number)
        for number, name in enumerate(NASTY_NAMES)
    ]
    orders[0] = OrderTime(order="a", equation="a\ud800\n\x1b", graph=NASTY_NAMES[0], time_ns=1e3)
    plan = einsums.plan(equation="$x$ \\frac", orders=tuple(orders))
    ax = orders_plot(plan)
    assert title(ax).partition("\n")[2] == r"$x$ \frac, fastest in the search: a\ud800\n\x1b"
    assert names(ax)[1:] == [shortened(name_of(name), 28) for name in NASTY_NAMES[1:]]
    graphs = [label.get_text() for label in ax.child_axes[0].get_yticklabels()]
    assert graphs == [shortened(visible(name), 100) for name in NASTY_NAMES]
    drawn = fg.figure_bytes(ax, "svg")
    for character in "\x1b\u202e":
        assert character.encode() not in drawn


def test_the_race_is_a_chart_of_its_own_where_there_was_one() -> None:
    assert len(race_plot(einsums.plan()).get_yticklabels()) == len(einsums.RACE)
    with pytest.raises(BadOption, match="nothing was raced"):
        race_plot(einsums.plan(race=None))
