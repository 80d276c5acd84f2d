"""Two profiles by the nodes of the original model."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.answers.diff import diff_answer
from onnxperf.analyze.graphs.attribution import source_times
from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.analyze.trace.diff_sources import by_source, changed_most, shown_sources
from onnxperf.records.diff import Diff, SourceChange
from onnxperf.records.profile import GroupKind, NodeTime, Profile, SourceGroup, usual
from onnxperf.results.diff import DiffResult

Spec = tuple[str, str, int]
"""Original nodes with their operators, as `n3:Conv n4:Relu`; executed nodes; microseconds of each of these."""
APART: list[Spec] = [("n3:Conv", "n3", 300), ("n4:BatchNormalization", "n4", 90), ("n5:Relu", "n5", 60)]
FUSED: list[Spec] = [("n3:Conv n4:BatchNormalization n5:Relu", "r1_nchwc", 200)]
REORDERS: list[Spec] = [("", "ReorderInput", 30), ("", "ReorderOutput", 20)]


def node(name: str, us: int) -> NodeTime:
    times = (us,) * 11
    op = name.partition("_")[0]
    spent = usual(times)
    return NodeTime(
        name=name, op_name=op, calls=11, self_us=times, total_us=times, usual_us=spent, usual_total_us=spent
    )


def profile(specs: list[Spec], fingerprint: str = "f", launches: int = 5, **fields: Any) -> Profile:
    nodes, groups = [], []
    for sources, executed, us in specs:
        pairs = [each.split(":") for each in sources.split()]
        names, ops = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        kind: GroupKind = "fused" if executed and pairs else "folded" if pairs else "inserted"
        made = executed.split()
        nodes += [node(name, us) for name in made]
        groups.append(
            SourceGroup(
                kind=kind, sources=tuple(names), source_ops=tuple(ops), executed=tuple(made), executed_ops=tuple(made)
            )
        )
    sizes = (3, *[2] * (launches - 1)) if launches > 1 else ()
    return Profile(
        model="m",
        fingerprint=fingerprint,
        events=9,
        iterations=11,
        launches=sizes,
        nodes=tuple(nodes),
        sources=source_times(groups, nodes),
        **fields,
    )


def diff(before: list[Spec], after: list[Spec], groups: tuple[SourceGroup, ...] = (), launches: int = 5) -> Diff:
    prints = ("one", "two") if groups else ("one", "one")
    first = replace(profile(before, prints[0], launches), model="A")
    second = replace(profile(after, prints[1], launches), model="B")
    return Diff(before=first, after=second, rows=compared_rows(first, second, groups), groups=groups)


def table(changes: list[SourceChange]) -> list[tuple[str, float, float]]:
    return [(each.label, each.before_us, each.after_us) for each in changes]


FULL = "n3 Conv + n4 BatchNormalization + n5 Relu"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (APART, FUSED, [(f"{FULL} → r1_nchwc", 450, 200)]),
        (FUSED, APART, [(f"{FULL}: r1_nchwc → as written", 200, 450)]),
        (FUSED, FUSED, [(f"{FULL} → r1_nchwc", 200, 200)]),
        (APART[:1], APART[:1], [("n3 Conv", 300, 300)]),
        ([FUSED[0]], [(FUSED[0][0], "r1", 250)], [(f"{FULL}: r1_nchwc → r1", 200, 250)]),
        (APART[:1], [("n3:Conv", "", 0)], [("n3 Conv → (folded)", 300, 0)]),
        (
            APART,
            [*FUSED, *REORDERS],
            [(f"{FULL} → r1_nchwc", 450, 200), ("not in the model (ReorderInput, ReorderOutput)", 0, 50)],
        ),
        (
            [("n1:A", "n1", 1), ("n2:B", "n2", 2), ("n3:C", "n3", 4)],
            [("n1:A n2:B", "x", 8), ("n2:B n3:C", "y", 16)],  # one original node in two groups
            [("n1 A + n2 B + n3 C → x + y", 7, 24)],
        ),
        (
            [(" ".join(f"n{i}:A" for i in range(9)), "all", 9)],
            [(" ".join(f"n{i}:A" for i in range(9)), "all", 9)],
            [("n0 A + n1 A + n2 A + 6 more → all", 9, 9)],
        ),
    ],
)
def test_a_row_says_which_nodes_became_what(
    before: list[Spec], after: list[Spec], expected: list[tuple[str, float, float]]
) -> None:
    assert table(by_source(diff(before, after))) == expected


@pytest.mark.parametrize("fingerprints", [("a", "b"), ("", "")])
def test_models_that_nothing_connects_have_no_such_rows(fingerprints: tuple[str, str]) -> None:
    before, after = (profile(APART, fingerprint=each) for each in fingerprints)
    made = Diff(before=before, after=after, rows=compared_rows(before, after))
    assert by_source(made) == []
    assert "sources" not in DiffResult(made).table_names()


def test_a_second_model_is_compared_by_the_nodes_of_the_first() -> None:
    became = (
        SourceGroup(kind="fused", sources=("n3", "n4"), source_ops=("Conv", "Relu"), executed=("c",)),
        SourceGroup(kind="inserted", executed=("extra",)),
    )
    after: list[Spec] = [("c:Conv", "c", 100), ("extra:Cast", "Cast_9", 5)]
    made = diff([("n3:Conv", "n3", 150), ("n4:Relu", "n4", 10)], after, became)
    assert table(by_source(made)) == [
        ("n3 Conv + n4 Relu → c", 160, 100),
        ("not in the first model (Cast)", 0, 5),
    ]


specs = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(
            lambda names: " ".join(f"{n}:Op" for n in names)
        ),
        st.sampled_from(["", "x", "x y", "Reorder"]),
        st.integers(0, 500),
    ),
    min_size=1,
    max_size=6,
).map(lambda found: [(sources, f"{executed}".strip(), us) for sources, executed, us in found])


@given(specs, specs, st.sampled_from([0.0, 0.01, 0.3, 1.1]), st.sampled_from([1, 5]))
def test_rows_add_up_to_the_nodes_of_each_side_and_the_answer_names_one_of_them(
    before: list[Spec], after: list[Spec], min_share: float, launches: int
) -> None:
    made = diff(before, after, launches=launches)
    changes = by_source(made)
    for shown in (changes, shown_sources(changes, min_share)):
        assert math.fsum(each.before_us for each in shown) == pytest.approx(made.before.usual_nodes_us)
        assert math.fsum(each.after_us for each in shown) == pytest.approx(made.after.usual_nodes_us)
        assert sum(not each.names and not each.others for each in shown) <= 1
        named = changed_most(shown)
        assert (named is None) == ("largest proven change" not in diff_answer(made))
        if named is not None:
            assert f"of the original nodes, the largest proven change is {named.label}" in diff_answer(made)
            assert launches == 5
    result = DiffResult(replace(made, answer=diff_answer(made)))
    frame, page = result.by_source(), repr(result)
    assert frame["label"].tolist() == [each.label for each in changes]
    assert not frame.empty or "Time per original node" not in page
    if len(frame):
        total = result.columns("sources").footers[-1].values
        assert total["before_us"] == pytest.approx(made.before.usual_nodes_us)
        assert total["after_us"] == pytest.approx(made.after.usual_nodes_us)
        assert "Time per executed node" not in page  # each list once


def test_small_groups_are_one_row_with_a_test_of_its_own() -> None:
    small: list[Spec] = [(f"a{i}:Add", f"a{i}", 10 + i) for i in range(4)]
    slower: list[Spec] = [(sources, executed, us + 9) for sources, executed, us in small]
    large: list[Spec] = [("big:Conv", "big", 90_000)]
    same, worse = (by_source(diff([*large, *small], [*large, *after])) for after in (small, slower))
    assert [(each.label, each.doubt) for each in shown_sources(same, 0.01)] == [
        ("big Conv", "noise"),
        ("4 others", "noise"),
    ]
    named, *_ = worse
    labels = [(each.label, each.verdict) for each in shown_sources(worse, 0.01)]
    assert labels == [(named.label, "slower"), ("big Conv", "undecided"), ("3 others", "slower")]
