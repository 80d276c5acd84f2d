"""What was found about memory, in plain words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.memory import memory_answer
from onnxperf.records.memory import ArenaTrial, Growth, GrowthKind, MemorySubject
from onnxperf.records.options import ArenaSetting
from tests.render.memory import examples as made


def lean(name: str, needs_mb: float, **changes: Any) -> MemorySubject:
    return made.function(name, steps=made.steps(needs_mb, 0, load=False), **changes)


def fed(*copies: Any, keeps_mb: float = 60) -> MemorySubject:
    return made.subject("ort", steps=made.steps(300, keeps_mb), breakdown=made.breakdown(copies=copies))


@pytest.mark.parametrize(
    ("subjects", "sentence"),
    [
        ((made.failed(),), "No subject could be measured; numpy: needed more than 2 GB."),
        ((lean("skl", 54),), "skl needs 54 MB above its data in a steady call."),
        (
            (made.subject("ort"), lean("skl", 54), made.failed()),
            "ort needs 300 MB above model and inputs in a steady call, 240 MB of it for casting X from float64 to "
            "float32 and 60 MB of it kept between calls by onnxruntime's arena; skl needs the least, 54 MB.",
        ),
        (
            (lean("a", 54), lean("b", 300)),
            "a needs 54 MB above its data in a steady call; b needs 300 MB.",
        ),
        (
            (lean("a", 54), lean("b", 300), lean("c", 60)),
            "a needs the least, 54 MB above its data in a steady call; b needs the most, 300 MB.",
        ),
        (
            (lean("a", 300), lean("b", 301)),
            "a and b need about the same in a steady call, 300 MB to 301 MB above their data.",
        ),
        (
            (lean("a", 3.81), lean("b", 1.81)),
            "a needs 3.81 MB above its data in a steady call; b needs the least, 1.81 MB (a difference below 2.1 MB "
            "may be rounding to huge pages).",
        ),
        (
            (lean("a", 1.81), lean("b", 3.81)),
            "a needs 1.81 MB above its data in a steady call; b needs 3.81 MB (a difference below 2.1 MB "
            "may be rounding to huge pages).",
        ),
        (
            (made.subject("a"), made.subject("b"), made.subject("c")),
            "All 3 subjects need about the same in a steady call, 300 MB above model and inputs.",
        ),
    ],
)
def test_the_need_is_told_with_its_causes_and_the_least(subjects: tuple[MemorySubject, ...], sentence: str) -> None:
    assert memory_answer(made.case(*subjects)) == sentence


@pytest.mark.parametrize(
    ("subject", "causes"),
    [
        (fed(), ", 60 MB of it kept between calls by onnxruntime's arena."),
        (replace(fed(), runtime="callable"), ", 60 MB of it kept between calls."),
        (
            replace(fed(), runtime="numpy"),
            ", 60 MB of it kept between calls by the buffer pools of BLAS and the workspace of the numpy runtime.",
        ),
        (fed(made.cast("A", 100), made.cast("B", 20)), ", 120 MB of it for copies of 2 inputs and 60 MB of it kept"),
        (fed(made.cast("X", 5)), ", 60 MB of it kept between calls by onnxruntime's arena."),
        (
            fed(replace(made.cast("X", 100), reason="layout")),
            ", 100 MB of it for a contiguous copy of X and 60 MB of it",
        ),
        (fed(made.cast("X", 240), keeps_mb=200), ", 200 MB of it kept between calls by onnxruntime's arena."),
        (fed(made.cast("X", 240), keeps_mb=300), ", all of it kept between calls by onnxruntime's arena."),
    ],
    ids=[
        "no copy",
        "a callable",
        "numpy",
        "two copies",
        "a small copy",
        "another layout",
        "a copy in what is kept",
        "nothing is added",
    ],
)
def test_the_causes_of_a_need_do_not_overlap(subject: MemorySubject, causes: str) -> None:
    assert f"in a steady call{causes}" in memory_answer(made.case(subject))


def test_loading_is_told_where_it_takes_more_than_a_call() -> None:
    steps = (made.step("load", 50, 594, 513), *made.steps(2, 0)[1:])
    assert memory_answer(made.case(made.subject(steps=steps, breakdown=None))) == (
        "ort needs 2 MB above model and inputs in a steady call.\nLoading takes 544 MB; 463 MB of it stay."
    )


def test_loading_that_gives_memory_back_keeps_nothing() -> None:
    steps = (made.step("load", 600, 700, 500), *made.steps(2, 0)[1:])
    answer = memory_answer(made.case(made.subject(steps=steps, breakdown=None)))
    assert answer.endswith("Loading takes 100 MB; none of it stays.")


def test_a_copy_is_never_more_than_what_the_call_added() -> None:
    copied = made.breakdown(copies=(made.cast("X", 5),), unexplained_bytes=None)
    answer = memory_answer(made.case(made.subject("ort", steps=made.steps(4, 0), breakdown=copied)))
    assert answer.startswith("ort needs 4 MB above model and inputs in a steady call, 4 MB of it for casting X from")


def test_a_leak_is_named_with_its_bytes_per_call_and_has_no_part_in_the_comparison() -> None:
    leaking = lean("leak", 5, growth=made.growth("leak", 1.5))
    assert memory_answer(made.case(lean("skl", 54), leaking)) == (
        "skl needs 54 MB above its data in a steady call.\nleak leaks 1.5 MB per call over 64 calls."
    )
    assert memory_answer(made.case(leaking)).startswith("leak needs 5 MB")


def stepped(kind: GrowthKind) -> Growth:
    return replace(made.growth(kind), step_calls=32, step_bytes=40 * made.MB)


@pytest.mark.parametrize(
    ("growth", "sentence"),
    [
        (made.growth("arena", 0.2), "The arena of ort grew by 12.8 MB over 64 calls, 0.2 MB per call."),
        (
            replace(made.growth("arena", 0.2), bytes_per_call=0.0),
            "The arena of ort grew by 12.8 MB over 64 calls.",
        ),
        (stepped("arena"), "The arena of ort grew once, in a step of 40 MB after call 32."),
        (stepped("step"), "ort grew once, in a step of 40 MB after call 32."),
        (made.growth("settling"), "kept between calls by onnxruntime's arena."),
        (made.growth("none"), "kept between calls by onnxruntime's arena."),
    ],
    ids=["throughout", "in several steps", "in one step", "not its arena", "settled", "not at all"],
)
def test_growth_is_named_with_a_rate_only_where_every_call_grows(growth: Growth, sentence: str) -> None:
    assert memory_answer(made.case(made.subject("ort", growth=growth))).endswith(sentence)


def puzzling(*needs_mb: float | None, arena_mb: float | None = 268) -> MemorySubject:
    """A subject that needs 300 MB, 200 MB of it unexplained, and what other settings of the arena needed."""
    settings: tuple[ArenaSetting, ...] = ("off", "same-as-requested", "shrinkage")
    needs = [None if each is None else int(each * made.MB) for each in needs_mb]
    trials = tuple(
        ArenaTrial(setting=setting, needed_bytes=need) for setting, need in zip(settings, needs, strict=False)
    )
    held = None if arena_mb is None else int(arena_mb * made.MB)
    breakdown = made.breakdown(unexplained_bytes=200 * made.MB, arena_held_bytes=held, copies=())
    return made.subject("ort", breakdown=breakdown, trials=trials)


@pytest.mark.parametrize(
    ("subject", "cause"),
    [
        (
            puzzling(80, 90, 120),
            "onnxruntime's arena keeps 200 MB of it (arena off: 80 MB, extend strategy kSameAsRequested: 90 MB, "
            "shrinkage after each call: 120 MB).",
        ),
        (puzzling(None, 250), "onnxruntime's arena keeps 50 MB of it (extend strategy kSameAsRequested: 250 MB)."),
        (
            puzzling(290, 300),
            "likely separate results and scratch memory of kernels, as no other setting of the arena needs much less "
            "(arena off: 290 MB, extend strategy kSameAsRequested: 300 MB).",
        ),
        (
            puzzling(),
            "likely what onnxruntime's arena keeps; to try: arena off, extend strategy kSameAsRequested and shrinkage "
            "after each call.",
        ),
        (puzzling(None), "to try: arena off, extend strategy kSameAsRequested and shrinkage after each call."),
        (puzzling(arena_mb=None), "likely the scratch memory of its kernels."),
        (
            replace(puzzling(arena_mb=None), runtime="numpy"),
            "likely the scratch memory of its kernels, and the buffer pools of BLAS.",
        ),
    ],
    ids=["the arena", "one trial failed", "not the arena", "not tried", "all trials failed", "no arena", "numpy"],
)
def test_what_is_unexplained_has_its_likely_cause_and_what_other_settings_need(
    subject: MemorySubject, cause: str
) -> None:
    answer = memory_answer(made.case(subject))
    assert "200 MB of what ort needs are not in the planned minimum: " in answer
    assert answer.endswith(cause)
