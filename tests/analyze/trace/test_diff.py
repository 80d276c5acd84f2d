"""Two profiles, aligned."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.answers.diff import diff_answer
from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.analyze.trace.diff import align, common_order
from onnxperf.analyze.trace.diff_sums import by_call, by_row, row_changed_most
from onnxperf.records.comparison import Verdict
from onnxperf.records.diff import Diff, DiffRow
from onnxperf.records.profile import NodeTime, Profile, usual
from onnxperf.records.race import Case, Subject
from onnxperf.records.trace import TensorType
from tests.analyze.steps import lines_executed

SHAPES = ((TensorType("float", (1, 8)),), (TensorType("float", (2,)), TensorType("int64", ())))


def node(op: str = "Add", name: str = "", us: tuple[int, ...] = (10, 10), **fields: Any) -> NodeTime:
    types = {"inputs": SHAPES[0], "outputs": SHAPES[0], "provider": "CPUExecutionProvider"}
    fields = {"op_name": op, "name": name, "self_us": us, "total_us": us, "calls": len(us), **types, **fields}
    time = usual(fields["self_us"])
    return NodeTime(usual_us=time, usual_total_us=time, **fields)


def chain(text: str, known: bool = False) -> list[NodeTime]:
    """A node per letter, unnamed; with `known`, a number after each letter is its tensor."""
    if known:
        return [node(text[i], tensors=(text[i + 1],)) for i in range(0, len(text), 2)]
    return [node(letter) for letter in text]


def drawing(rows: tuple[DiffRow, ...]) -> str:
    return " ".join(row.side + row.op_name for row in rows)


nodes = st.lists(
    st.builds(
        node,
        st.sampled_from(["Add", "Conv", "MatMul"]),
        st.sampled_from(["", "a", "b", "Add_1", "Conv_2", "a_nchwc"]),
        st.tuples(st.integers(0, 50), st.integers(0, 50)),
        inputs=st.sampled_from(SHAPES),
        tensors=st.sampled_from([(), ("x",), ("y", ""), ("z",)]),
        path=st.sampled_from([(), ("loop",), ("if",)]),
        provider=st.sampled_from(["CPUExecutionProvider", "CPUOther", ""]),
    ),
    max_size=12,
)


# ---------------------------------------------------------------- alignment


@given(nodes, nodes)
def test_every_node_is_in_exactly_one_row_and_no_time_is_lost(before: list[NodeTime], after: list[NodeTime]) -> None:
    rows = align(before, after)
    assert [row.before_name for row in rows if row.side != "+"] == [n.name for n in before]  # in their order
    assert [row.before_us for row in rows if row.side != "+"] == [n.self_us for n in before]
    assert Counter((r.after_name, r.after_us) for r in rows if r.side != "-") == Counter(
        (n.name, n.self_us) for n in after
    )
    assert sum(sum(row.before_us) for row in rows) == sum(sum(n.self_us) for n in before)
    assert sum(sum(row.after_us) for row in rows) == sum(sum(n.self_us) for n in after)
    assert len({row.label for row in rows}) == len(rows)
    assert all(not row.before_us for row in rows if row.side == "+")
    assert all(not row.after_us for row in rows if row.side == "-")


@given(nodes, nodes)
def test_no_two_equal_nodes_are_left_on_different_sides(before: list[NodeTime], after: list[NodeTime]) -> None:
    def key(row: DiffRow) -> tuple[object, ...]:
        return len(row.path), row.op_name, row.provider, row.inputs, row.outputs

    rows = align(before, after)
    gone = {key(row) for row in rows if row.side == "-"}
    assert not any(key(row) in gone for row in rows if row.side == "+")


@given(nodes)
def test_a_profile_aligned_with_itself_is_all_equal(before: list[NodeTime]) -> None:
    numbered = [replace(n, calls=number) for number, n in enumerate(before)]
    rows = align(numbered, numbered)
    assert {row.side for row in rows} <= {"="}
    assert [row.after_us for row in rows] == [n.self_us for n in before]


@given(st.integers(0, 20), st.data())
def test_one_inserted_node_shifts_nothing_when_tensors_are_known(length: int, data: st.DataObject) -> None:
    before = [node(us=(number, number), tensors=(f"t{number}",)) for number in range(length)]
    place = data.draw(st.integers(0, length))
    after = [*before[:place], node(us=(99, 99), tensors=("new",)), *before[place:]]
    rows = align(before, after)
    assert [row.side for row in rows] == ["="] * place + ["+"] + ["="] * (length - place)
    assert all(row.before_us == row.after_us for row in rows if row.side == "=")


@given(nodes, st.data())
def test_one_inserted_node_of_a_new_kind_shifts_nothing_without_tensors(
    before: list[NodeTime], data: st.DataObject
) -> None:
    before = [replace(n, name="", tensors=(), self_us=(number,)) for number, n in enumerate(before)]
    place = data.draw(st.integers(0, len(before)))
    rows = align(before, [*before[:place], node("New"), *before[place:]])
    assert [row.side for row in rows].count("+") == 1
    assert rows[place].op_name == "New"
    assert all(row.before_us == row.after_us for row in rows if row.side == "=")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", ""),
        ("AB", "", "-A -B"),
        ("", "AB", "+A +B"),
        ("ABC", "AXC", "=A -B +X =C"),
        ("ABCD", "AXD", "=A -B -C +X =D"),  # what is replaced comes before what replaces it
        ("BA", "XYA", "-B +X +Y =A"),
        ("AAAA", "AAA", "=A =A =A -A"),
        ("ABABAB", "ABXABAB", "=A =B +X =A =B =A =B"),
        ("AB", "BA", "=A =B"),  # another order, the same nodes
    ],
)
def test_rows_are_in_the_order_of_execution(before: str, after: str, expected: str) -> None:
    assert drawing(align(chain(before), chain(after))) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("A1A2A3", "A1A3", "=A -A =A"),
        ("A1A2A3", "A3A2A1", "=A =A =A"),
        ("A1B2", "B1A2", "=A =B"),  # a tensor of that name, from another operator, is not the same node
        ("A1A2A3", "A1A9A3", "=A =A =A"),  # a renamed tensor between known ones
    ],
)
def test_tensors_decide_before_the_order(before: str, after: str, expected: str) -> None:
    rows = align(chain(before, known=True), chain(after, known=True))
    assert drawing(rows) == expected


def test_a_name_of_its_own_decides_where_tensors_do_not() -> None:
    before = [node(name="first", us=(1,)), node(name="second", us=(2,))]
    after = [node(name="second_nchwc", us=(2,)), node(name="first", us=(1,))]
    assert [(row.before_us, row.after_us) for row in align(before, after)] == [((1,), (1,)), ((2,), (2,))]


def test_a_number_that_onnxruntime_gave_is_no_name() -> None:
    before = [node("Conv", "Conv_0"), node("Relu", "Relu_1"), node("Conv", "Conv_2")]
    after = [node("Cast", "Cast_0"), node("Conv", "Conv_1"), node("Relu", "Relu_2"), node("Conv", "Conv_0")]
    rows = align(before, after)
    assert drawing(rows) == "+Cast =Conv =Relu =Conv"
    assert [row.after_name for row in rows] == ["Cast_0", "Conv_1", "Relu_2", "Conv_0"]


def test_equal_names_in_two_branches_do_not_cross() -> None:
    branches = [node(path=(body,), name="n", tensors=("t",), us=(us,)) for body, us in [("then", 1), ("else", 2)]]
    rows = align(branches, branches[::-1])
    assert [(row.before_us, row.after_us) for row in rows] == [((1,), (1,)), ((2,), (2,))]


def test_numbers_count_equal_nodes_of_both_sides() -> None:
    rows = align(chain("A1A2A3", known=True), [*chain("A1A3A4", known=True)[:2], node("A", path=("loop",))])
    assert [row.label for row in rows] == [
        "[=CPU]A(f-1x8)->f-1x8[0]",
        "[-CPU]A(f-1x8)->f-1x8[1]",
        "[=CPU]A(f-1x8)->f-1x8[2]",
        "[+CPU]A(f-1x8)->f-1x8[3]",
    ]
    assert [row.idx for row in rows] == [0, 1, 2, 3]
    assert [row.idx for row in align(chain("ABA"), [])] == [0, 0, 1]


@pytest.mark.parametrize("kinds", [1, 2, 10])
def test_the_work_grows_with_the_nodes_and_not_with_their_square(kinds: int) -> None:
    rng = np.random.default_rng(kinds)

    def work(length: int) -> int:
        before, after = ([node(f"Op{k}") for k in rng.integers(0, kinds, length)] for _ in "ab")
        return lines_executed(lambda: align(before, after))

    assert work(2000) < 5 * work(500)


symbols = st.lists(st.integers(0, 3), max_size=12)


@given(symbols, symbols)
def test_the_common_order_is_as_long_as_can_be(first: list[int], second: list[int]) -> None:
    pairs = common_order(first, second)
    assert all(first[i] == second[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))
    lengths = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            lengths[i + 1, j + 1] = lengths[i, j] + 1 if a == b else max(lengths[i, j + 1], lengths[i + 1, j])
    assert len(pairs) == lengths[-1, -1]


def test_a_table_that_would_be_too_large_leaves_equal_nodes_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxperf.analyze.trace.diff.LARGEST_TABLE", 0)
    assert drawing(align(chain("ABC"), chain("AXBC"))) == "=A +X =B =C"
    assert common_order([1, 2, 3], [1, 9, 2, 3]) == [(0, 0)]


# ---------------------------------------------------------------- sums and sentences


def profile(model: str, nodes: Sequence[NodeTime], launches: int = 5) -> Profile:
    """The iterations of the nodes in each launch; of one process, nothing is known about launches."""
    steady = max((len(each.self_us) for each in nodes), default=1) - 1
    again = [replace(each, self_us=(*each.self_us, *each.self_us[1:] * (launches - 1))) for each in nodes]
    sizes = (steady + 1, *[steady] * (launches - 1)) if launches > 1 else ()
    return Profile(model=model, events=9, iterations=1, launches=sizes, nodes=tuple(again))


def diff(before: Sequence[NodeTime], after: Sequence[NodeTime], race: Case | None = None, launches: int = 5) -> Diff:
    sides = profile("A", before, launches), profile("B", after, launches)
    return Diff(before=sides[0], after=sides[1], rows=compared_rows(*sides), race=race)


BEFORE = [node("Conv", "conv1", (900, 310, 310)), node("Relu", "relu1", (9, 40, 40)), node("Add", "add", (2, 2, 2))]
AFTER = [node("Conv", "conv1", (700, 120, 120)), node("FusedAdd", "fused", (1, 20, 20)), node("Add", "add", (2, 2, 2))]


def race(verdict: Verdict | None, speedup: float | None = 1.43) -> Case:
    before = Subject(name="run", status="ok", time_ns=1e6, verdict="baseline", speedup=1.0)
    low, high = (speedup - 0.03, speedup + 0.03) if speedup else (None, None)
    rival = Subject(name="r", status="ok", verdict=verdict, speedup=speedup, speedup_low=low, speedup_high=high)
    return Case(model="m", baseline="run", subjects=(before, rival))


@pytest.mark.parametrize(
    ("verdict", "speedup", "expected"),
    [
        (
            "faster",
            1.43,
            "B is 1.43× as fast as A (95 % CI 1.40–1.46).\n1 node was removed and 1 added; of the nodes "
            "that both have, the largest proven change is Conv conv1, from 310 µs to 120 µs per iteration.",
        ),
        (
            "slower",
            0.5,
            "B takes 2.00× as long as A (95 % CI 1.89–2.13).\n1 node was removed and 1 added; "
            "of the nodes that both have, the largest proven change is Conv conv1, from 310 µs to 120 µs per "
            "iteration.",
        ),
        ("equivalent", 1.0, "B is as fast as A: they differ by less than 1 %.\n1 node was removed and 1 added."),
        (
            "undecided",
            1.02,
            "Undecided if B is faster than A (95 % CI 0.99–1.05).\n1 node was removed and 1 added.",
        ),
        (None, None, None),
    ],
)
def test_the_verdict_comes_from_the_race(verdict: Verdict | None, speedup: float | None, expected: str | None) -> None:
    answer = diff_answer(diff(BEFORE, AFTER, race(verdict, speedup)))
    assert answer == (expected or diff_answer(diff(BEFORE, AFTER)))


@pytest.mark.parametrize(("after_us", "compared"), [((700, 350, 350), True), ((700, 520, 520), False)])
def test_nodes_are_compared_only_where_the_profiles_fit_the_race(after_us: tuple[int, ...], compared: bool) -> None:
    made = diff(BEFORE, AFTER, race("faster", 1.43))
    made = replace(
        made, before=replace(made.before, run_us=(900, 500, 500)), after=replace(made.after, run_us=after_us)
    )
    text = diff_answer(made)
    assert ("largest proven change" in text) == compared
    assert ("took 500 µs and 520 µs, which contradicts the race" in text) == (not compared)


def test_an_undecided_race_without_an_interval_names_both_sides() -> None:
    case = race("undecided", 1.02)
    blurred = replace(case, subjects=(case.subjects[0], replace(case.subjects[1], speedup_low=None)))
    assert diff_answer(diff(BEFORE, AFTER, blurred)).startswith("Undecided if B is faster than A.")
    rival = replace(blurred.subjects[1], reason="2 rounds are too few")
    explained = diff_answer(diff(BEFORE, AFTER, replace(blurred, subjects=(case.subjects[0], rival))))
    assert explained.startswith("Undecided if B is faster than A: 2 rounds are too few.")


def test_without_a_race_there_is_no_verdict() -> None:
    assert diff_answer(diff(BEFORE, AFTER)) == (
        "With the profiler on, the nodes of A take 352 µs and those of B 142 µs per iteration, no verdict.\n1 node was "
        "removed and 1 added; of the nodes that both have, the largest proven change is Conv conv1, from 310 µs to "
        "120 µs per iteration."
    )


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("AB", "A", "1 node was removed"),
        ("A", "ABC", "2 nodes were added"),
        ("ABCD", "XY", "4 nodes were removed and 2 added"),
        ("AB", "AB", "he nodes are the same; no node that both have changed by more than the noise."),
        ("", "", "he nodes are the same"),
    ],
)
def test_the_sentence_counts_what_was_exchanged(before: str, after: str, words: str) -> None:
    assert words in diff_answer(diff(chain(before), chain(after)))


@pytest.mark.parametrize(
    ("launches", "interrupted", "words"),
    [
        (1, False, "1 process of each side cannot prove that a node changed: compare the models themselves, with "),
        (4, True, "4 processes of each side cannot prove that a node changed."),
        (
            5,
            False,
            "of the nodes that both have, the largest proven change is Add a, from 10 µs to 90 µs per iteration.",
        ),
    ],
)
def test_a_node_is_named_only_where_there_are_enough_launches(launches: int, interrupted: bool, words: str) -> None:
    made = diff([node("Add", "a", (9, 10, 10))], [node("Add", "a", (9, 90, 90))], launches=launches)
    made = replace(made, before=replace(made.before, interrupted=interrupted))
    assert f"he nodes are the same; {words}" in diff_answer(made)
    (shown,) = by_row(made, 0.0)
    assert shown.doubt == ("unproven" if launches < 5 else "")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (None, "No verdict; no inference of A and B was profiled completely."),
        ("faster", "B is 1.43× as fast as A (95 % CI 1.40–1.46); no inference of A and B was profiled"),
    ],
)
def test_sides_that_were_not_profiled_are_not_called_the_same(verdict: Verdict | None, words: str) -> None:
    sides = [Profile(model=name, events=0, iterations=0, interrupted=True) for name in "AB"]
    case = race(verdict) if verdict else None
    assert words in diff_answer(Diff(before=sides[0], after=sides[1], rows=(), race=case))


# ---------------------------------------------------------------- rows together


def test_the_row_that_an_answer_names_is_never_folded() -> None:
    large = node("Conv", "large", (9000,) * 9)
    small = [node("Add", f"n{number}", (9, *range(10 + number, 18 + number))) for number in range(4)]
    slower = [replace(small[0], self_us=tuple(us + 9 for us in small[0].self_us), usual_us=small[0].usual_us + 9)]
    made = diff([large, *small], [large, *slower, *small[1:]])
    named = row_changed_most(made.rows)
    assert named is not None
    assert "largest proven change is Add n0" in diff_answer(made)
    shown = by_row(made, 0.01, named)
    assert [each.rows[0].before_name for each in shown if not each.others] == ["large", "n0"]
    assert len(shown) == 3


def test_small_rows_together_get_the_same_test_as_single_ones() -> None:
    large = node("Conv", "large", (9000,) * 9)
    small = [node("Add", f"n{number}", (9, *range(10 + number, 18 + number))) for number in range(4)]
    slower = [replace(each, self_us=tuple(us + 9 for us in each.self_us), usual_us=each.usual_us + 9) for each in small]
    for after, noise in ((small, True), (slower, False)):
        kept, others = by_row(diff([large, *small], [large, *after]), 0.01)
        assert (kept.rows[0].before_name, others.name, others.others) == ("large", "4 others", True)
        assert others.noise is noise
        assert by_call(diff([large, *small], [large, *after]), 0.01, 9)[-1].noise is noise


@pytest.mark.parametrize(
    ("before", "after", "sides"),
    [
        ("Conv", "FusedConv", "="),
        ("Conv", "NhwcFusedConv", "="),
        ("MatMul", "FusedMatMul", "="),
        ("MatMul", "Gemm", "="),
        ("MaxPool", "NhwcMaxPool", "="),
        ("MaxPool", "AveragePool", "-+"),
        ("Conv", "ConvTranspose", "-+"),
        ("Conv", "QLinearConv", "-+"),
        ("Relu", "Clip", "-+"),
    ],
)
def test_work_on_the_same_data_is_the_same_node_under_other_names(before: str, after: str, sides: str) -> None:
    rows = align([node(before, "n", attributes="p")], [node(after, "n", attributes="q")])
    assert "".join(row.side for row in rows) == sides
    if sides == "=":
        assert (rows[0].op_name, rows[0].after_op_name) == (before, after)
        assert rows[0].label == f"[=CPU]{before}->{after}(f-1x8)->f-1x8[0]"


def test_attributes_decide_only_between_nodes_that_could_both_be_meant() -> None:
    before = [node("Conv", us=(1,), attributes="p"), node("Conv", us=(2,), attributes="q")]
    after = [node("Conv", us=(2,), attributes="q"), node("Conv", us=(1,), attributes="p and relu")]
    assert [(row.before_us, row.after_us) for row in align(before, after)] == [((1,), (1,)), ((2,), (2,))]


@pytest.mark.parametrize(("one_model", "sides"), [(True, "=-"), (False, "--+")])
def test_a_layout_that_pads_shapes_is_seen_through_where_one_model_is_executed(one_model: bool, sides: str) -> None:
    before = [node("Conv", "n3", sources=("n3",)), node("Relu", "n4", sources=("n4",))]
    after = [node("Conv", "r_nchwc", sources=("n3", "n4"), outputs=SHAPES[1])]
    assert "".join(row.side for row in align(before, after, one_model)) == sides


@pytest.mark.parametrize(
    ("before", "after", "sides"),
    [("p", "p", "="), ("p", "q", "-+"), (None, None, "="), ("p", None, "="), ("", "", "="), ("", "p", "-+")],
)
def test_nodes_are_the_same_only_if_their_attributes_agree(before: str | None, after: str | None, sides: str) -> None:
    pair = [node("Transpose", "t", attributes=attributes) for attributes in (before, after)]
    assert "".join(row.side for row in align(pair[:1], pair[1:])) == sides
