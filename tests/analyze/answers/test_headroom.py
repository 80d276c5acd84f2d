"""Sentences about what could be won."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.headroom import headroom_answer, headroom_notes, peak_rows
from onnxperf.analyze.trace.headroom import summed_up
from onnxperf.records.profile import NodeTime, Profile
from tests.analyze.trace.test_headroom import node, profile
from tests.headrooms import PEAKS, with_limits
from tests.render.examples import machine

LIMITS = "limits: 100 GFLOP/s (int8: 200 GOP/s), 10 GB/s from memory, 100 from a cache, with 1 thread"


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([], ""),
        (
            [node("a", us=2600.0), node("r1", "Relu", 400.0), node("r2", "Relu", 400.0)],
            "76 % of the time is within 1.5× of what this machine can do; the 2 Relu nodes could win up to 741 µs of "
            "3.4 ms.",
        ),
        (
            [node("a", us=5000.0)],
            "No node is within 1.5× of what this machine can do; a (MatMul) could win up to 2.5 ms of 5 ms.",
        ),
        (
            [node("MatMul_7", us=5000.0)],
            "No node is within 1.5× of what this machine can do; MatMul_7 could win up to 2.5 ms of 5 ms.",
        ),
        (
            [node("a", us=2510.0)],
            "100 % of the time is within 1.5× of what this machine can do; no operator is known to win 3 %.",
        ),
        (
            [node("t", "TreeEnsembleRegressor", 9000.0), node("a", us=3000.0)],
            "25 % of the time is within 1.5× of what this machine can do, the limit of 75 % is not known; a (MatMul) "
            "could win up to 500 µs of 12 ms.",
        ),
        ([node("t", "TopK")], "Headroom unknown: no limit of these nodes is known."),
    ],
)
def test_the_answer_names_the_operator_that_could_win_the_most(nodes: list[NodeTime], sentence: str) -> None:
    assert headroom_answer(with_limits(profile(*nodes))) == sentence


def test_without_limits_nothing_is_said() -> None:
    assert headroom_answer(profile(node("a"))) == ""
    assert list(headroom_notes(profile(node("a")))) == []


@pytest.mark.parametrize(
    ("made", "notes"),
    [
        (profile(node("a")), []),
        (
            profile(node("a", us=1000.0)),
            [
                "1 node was faster than its limit, and counts as being at it: the peaks are measured, and small "
                "times are whole microseconds"
            ],
        ),
        (
            profile(node("t", "TopK")),
            ["the arithmetic of TopK (100 % of the time) is not counted"],
        ),
        (
            profile(node("a"), node("g", provider="CUDAExecutionProvider")),
            ["1 node runs on another provider, whose limits are not known"],
        ),
    ],
)
def test_notes_say_what_the_limits_leave_open(made: Profile, notes: list[str]) -> None:
    assert list(headroom_notes(with_limits(made))) == [LIMITS, *notes]


def test_rows_of_a_report_say_why_peaks_are_missing() -> None:
    assert list(peak_rows([PEAKS, replace(PEAKS, threads=2)], "")) == ["peak on 1 thread", "peak on 2 threads"]
    assert peak_rows([], "no memory left") == {"peaks": "not measured: no memory left"}


def disturbed(*names: str, profiled_ns: float = 1.1) -> Profile:
    """A profile on a busy machine, of two products, in which the named ones are not judged."""
    made = replace(
        profile(node("a", us=6000.0), node("b", us=4000.0)),
        machine=machine(others_share=0.62),
        profiled_ns=profiled_ns,
        unprofiled_ns=1.0,
    )
    limits = with_limits(made).headroom
    assert limits is not None
    nodes = [
        replace(limit, best_us=limit.time_us, bound="disturbed") if each.name in names else limit
        for each, limit in zip(made.nodes, limits.nodes, strict=True)
    ]
    return replace(made, headroom=summed_up(made, tuple(nodes), PEAKS))


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            disturbed("b"),
            "No node is within 1.5× of what this machine can do, 40 % was disturbed by other programs and is "
            "not judged; the 2 MatMul nodes could win up to 3.5 ms of 10 ms.",
        ),
        (
            disturbed("a"),
            "The machine was too busy to judge what could be won: other programs used 62 % of the processors, and 60 % "
            "of the time in nodes was disturbed.",
        ),
        (
            disturbed("a", "b", profiled_ns=20.0),
            "What could be won is not judged.",
        ),
    ],
)
def test_what_was_disturbed_is_not_said_to_be_won(made: Profile, sentence: str) -> None:
    assert headroom_answer(made) == sentence


def test_limits_from_a_busy_machine_are_not_what_it_can_do() -> None:
    made = with_limits(profile(node("a", us=5000.0)), replace(PEAKS, disturbed=True))
    assert "within 1.5× of what this machine reached while other programs used it" in headroom_answer(made)
    again = "the limits were measured on a busy machine and may be too low: the next `roofline` measures them again"
    assert list(headroom_notes(made)) == [LIMITS, again]
