"""What a bisection says about what it found."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.bisect import bisect_answer, notes_on
from onnxperf.analyze.judges.bisection import operators_behind, weighed
from onnxperf.records.bisect import BisectCandidate, Bisection, BisectStep, OperatorChange
from onnxperf.records.diff import Diff, DiffRow
from onnxperf.records.profile import Profile
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.race.bisect import bisect_page

ENDS = BisectStep(
    purpose="ends",
    base="ort 1.20",
    candidate="ort 1.23",
    side="bad",
    verdict="slower",
    ratio=2.0,
    ratio_low=1.9,
    ratio_high=2.1,
    base_amount=1e6,
    amount=2e6,
)
LAST = replace(ENDS, purpose="repeat", base="ort 1.21", candidate="ort 1.22")
FOUND = Bisection(
    model="m",
    over="releases",
    outcome="found",
    steps=(ENDS, LAST),
    good="ort 1.21",
    bad="ort 1.22",
    causes=("ort 1.22",),
)
REDUCED = OperatorChange(op_name="ReduceL1", before_us=100.0, after_us=500.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "ort 1.22 is the first release that is slower: it takes 2.00× as long as ort 1.21 (95 % CI 1.90–2.10)."),
        (
            {"operators": (REDUCED,)},
            "ReduceL1 (100 µs before, 500 µs after) accounts for it, in profiles of one inference.",
        ),
        ({"by": "memory"}, "that needs more memory: it needs 2.00× the memory of ort 1.21 (2 MB against 1 MB)."),
        ({"over": "settings", "causes": ("arena=off",)}, "arena=off makes the model slower: it takes 2.00× as long"),
        (
            {"outcome": "range", "causes": ("a", "b")},
            "The release that is slower is one of a, b; ort 1.22 takes 2.00×",
        ),
        ({"outcome": "unconfirmed", "steps": (ENDS, replace(LAST, side="good"))}, "showed no difference when repeated"),
        (
            {"outcome": "same", "steps": (replace(ENDS, side="good"),)},
            "No difference: ort 1.23 and ort 1.20 take the same",
        ),
        ({"outcome": "other way", "change": "better"}, "No change for the better: ort 1.23 takes 2.00× as long"),
        (
            {"outcome": "undecided", "steps": (replace(ENDS, side="undecided"),)},
            "Undecided if ort 1.20 and ort 1.23 differ.",
        ),
        ({"outcome": "too few", "steps": ()}, "Nothing was compared"),
        ({"interrupted": True, "steps": (ENDS,)}, "the change is after ort 1.21, at ort 1.22 or before"),
        (
            {
                "outcome": "range",
                "over": "optimizers",
                "causes": ("a", "b"),
                "good": "no optimizers",
                "bad": "those up to b",
            },
            "makes the model slower is one of a, b; with those up to b, it takes 2.00× as long as with no optimizers",
        ),
        ({"over": "nodes", "output": "p.onnx"}, "It is in p.onnx, with random weights."),
        ({"steps": (replace(ENDS, differs="output Y: …"), LAST)}, "`by=accuracy` finds where"),
    ],
)
def test_every_outcome_has_its_sentence(changes: dict[str, Any], said: str) -> None:
    assert said in bisect_answer(replace(FOUND, **changes))


def test_a_cause_that_accounts_for_a_part_only_says_so() -> None:
    part = replace(LAST, ratio=1.41, ratio_low=1.4, ratio_high=1.42)
    answer = bisect_answer(replace(FOUND, steps=(ENDS, part)))
    assert "That is 50 % of the difference: ort 1.23 takes 2.00× as long as ort 1.20" in answer


def test_skipped_candidates_are_named_with_their_reasons() -> None:
    failed = BisectCandidate(name="ort 1.19", status="failed", reason="no wheel")
    assert notes_on(replace(FOUND, candidates=(failed,))) == ["skipped: ort 1.19 (no wheel)"]


def test_a_page_has_a_row_per_comparison() -> None:
    page = page_markdown(bisect_page(replace(FOUND, answer="the answer")))
    assert page.count("ort 1.2") >= 4
    assert "the answer" in page


@pytest.mark.parametrize(
    ("base", "candidate", "verdict"),
    [
        ([100, 101, 102, 100], [120, 121, 122, 120], "slower"),
        ([120, 121, 122, 120], [100, 101, 102, 100], "faster"),
        ([1000, 1001], [1000, 1001], "equivalent"),
        ([100, 150], [120, 160], "undecided"),
    ],
)
def test_memory_differs_where_all_processes_of_a_side_need_more(
    base: list[int], candidate: list[int], verdict: str
) -> None:
    assert weighed("ends", ("a", "b"), base, candidate, 0.01).verdict == verdict


def test_operators_behind_a_change_are_those_that_change_in_its_direction() -> None:
    def row(op_name: str, before: float, after: float) -> DiffRow:
        return DiffRow(
            side="=",
            label="",
            op_name=op_name,
            provider="",
            inputs=(),
            outputs=(),
            idx=0,
            before_usual_us=before,
            after_usual_us=after,
            before_launch_us=(before,) * launches,
            after_launch_us=tuple(after * factor for factor in factors[:launches]),
        )

    launches, factors = 5, (1.0, 1.01, 0.99, 1.02, 0.98)
    profile = Profile(model="m", events=0, iterations=1)

    def behind(*rows: DiffRow) -> tuple[OperatorChange, ...]:
        return operators_behind(Diff(before=profile, after=profile, rows=rows))

    (found,) = behind(row("A", 10, 100), row("B", 10, 12), row("C", 50, 20), row("A", 10, 20))
    assert found == OperatorChange(op_name="A", before_us=20, after_us=120)
    factors = (1.0, 3.0, 0.2, 0.1, 5.0)
    assert behind(row("A", 10, 100)) == ()  # launches differ as much among themselves
    launches, factors = 4, (1.0,) * 5
    assert behind(row("A", 10, 100)) == ()  # too few
