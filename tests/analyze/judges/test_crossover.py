"""Which subject is faster where in a bench of many cases."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onnxperf.analyze.judges.crossover import (
    cases_of,
    crossover_map,
    duel,
    panels_of,
    sweep_models,
    two_dims,
    usual_rival,
    winners,
)
from onnxperf.errors import BadOption
from onnxperf.records.race import Case
from tests.render import examples, sweeps


def crossovers(cases: Sequence[Case]) -> Sequence[str]:
    (model,) = sweep_models(cases)
    return model.crossovers


def several_rivals() -> list[Case]:
    rivals = [sweeps.ms("subject-0", 11.0, "slower", 0.8), sweeps.ms("subject-1", 10.0, "slower", 0.9)]
    return [sweeps.case(sweeps.ms("ort", 9.0), *rivals, dims={"batch": batch}) for batch in (1, 2)]


# ---------------------------------------------------------------- winners and reasons


def test_those_that_share_the_first_place_all_win() -> None:
    subjects = [
        sweeps.ms("ort", 10.0),
        sweeps.ms("run-c", 9.9, "equivalent", 1.01),
        sweeps.ms("torch", 20, "slower", 0.5),
    ]
    assert winners(sweeps.case(*subjects, dims={})) == {"ort", "run-c"}


def test_outputs_that_differ_never_win() -> None:
    wrong = sweeps.ms("torch", 1.0, "faster", 10.0, status="differs", reason="off by 0.02")
    assert winners(sweeps.case(sweeps.ms("ort", 10.0), wrong, dims={"batch": 1})) == set()


def test_nothing_wins_where_nothing_has_a_time() -> None:
    assert winners(sweeps.case(examples.failed("ort", "oom"), dims={})) == set()


def test_a_case_without_subjects_has_a_reason_too() -> None:
    cases = [
        Case(model="m", dims={"batch": 1}, status="failed", answer="no memory"),
        Case(model="m", dims={"batch": 2}, status="oom"),
        Case(model="m", dims={"batch": 3}),
    ]
    (model,) = sweep_models(cases)
    assert model.reasons == ["batch=1: failed: no memory", "batch=2: oom"]


def test_equal_reasons_share_a_line() -> None:
    (model,) = sweep_models(sweeps.line([0.5, "oom", "oom"]).cases)
    assert model.reasons == [f"batch=2, batch=4: torch oom: {sweeps.OOM}"]


def test_every_case_has_its_best_rival() -> None:
    (model,) = sweep_models(several_rivals())
    assert [(row.rival, row.duel.speedup, row.duel.verdict) for row in model.rows] == [("subject-1", 0.9, "slower")] * 2
    assert (model.baseline, model.rivals, model.rate_dim) == ("ort", ["subject-0", "subject-1"], "batch")


def test_only_a_comparison_that_the_case_made_has_an_interval() -> None:
    case = sweeps.case(*sweeps.pair(2.0), dims={})
    assert duel(case, "ort", "torch").low == pytest.approx(1.97)
    assert duel(case, "torch", "ort").low is None


# ---------------------------------------------------------------- where the winner changes


@pytest.mark.parametrize(
    ("speedups", "sentence"),
    [
        ([0.5, 0.6, 0.7, 0.8, 0.9], "ort is faster throughout."),
        ([2.0, 2.0], "torch is faster throughout."),
        ([1.0, 1.0], "undecided throughout."),
        ([2.0], "torch is faster than ort."),
        (
            [0.5, 0.9, 1.0, 2.0, 2.0],
            "ort is faster up to batch=2, torch is faster from batch=8 on; undecided at batch=4.",
        ),
        ([1.0, 1.0, 1.0, 2.0, 2.0], "torch is faster from batch=8 on; undecided up to batch=4."),
        ([0.5, 0.5, "oom", 2.0], "ort is faster up to batch=2, torch is faster at batch=8; oom at batch=4."),
        (
            [0.5, 2.0, 2.0, 0.5],
            "ort is faster at batch=1, torch is faster from batch=2 to 4, ort is faster at batch=8.",
        ),
    ],
)
def test_a_sentence_says_where_the_winner_changes(speedups: list[float | str], sentence: str) -> None:
    assert crossovers(sweeps.line(speedups).cases) == [sentence]


def test_subjects_that_never_met_have_no_sentence() -> None:
    assert crossovers(sweeps.line(["oom", "oom"]).cases) == []


def test_a_grid_has_a_sentence_for_rows_that_are_alike() -> None:
    cases = [
        sweeps.case(*sweeps.pair(2.0 if seq == 30 and batch > 1 else 0.5), dims={"batch": batch, "seq": seq})
        for batch in (1, 2, 4)
        for seq in (10, 20, 30)
    ]
    assert crossovers(cases) == [
        "seq=10, 20: ort is faster throughout.",
        "seq=30: ort is faster at batch=1, torch is faster from batch=2 on.",
    ]


def test_more_dimensions_are_counted() -> None:
    cases = [
        sweeps.case(*sweeps.pair(2.0 if a == 1 else 0.5), dims={"a": a, "b": b, "c": c})
        for a in (1, 2)
        for b in (1, 2)
        for c in (1, 2)
    ]
    assert crossovers(cases) == ["torch is faster in 4, ort is faster in 4 of 8 cases."]
    assert len(panels_of(examples.bench(*cases))) == 2


def test_several_rivals_are_named() -> None:
    assert crossovers(several_rivals())[0] == "subject-0 against ort: ort is faster throughout."


def test_several_sentences_about_one_of_several_rivals_stand_below_its_name() -> None:
    cases = [
        sweeps.case(
            *sweeps.pair(2.0 if seq == 20 and batch == 2 else 0.5),
            sweeps.ms("tf", 20.0, "slower", 0.5),
            dims={"batch": batch, "seq": seq},
        )
        for batch in (1, 2)
        for seq in (10, 20)
    ]
    assert crossovers(cases) == [
        "torch against ort:",
        "  seq=10: ort is faster throughout.",
        "  seq=20: ort is faster at batch=1, torch is faster at batch=2.",
        "tf against ort: ort is faster throughout.",
    ]


def test_rows_of_a_grid_that_are_all_alike_share_a_sentence() -> None:
    cases = [
        sweeps.case(*sweeps.pair(0.5 if batch == 1 else 2.0), dims={"batch": batch, "seq": seq})
        for batch in (1, 2)
        for seq in (10, 20)
    ]
    assert crossovers(cases) == ["ort is faster at batch=1, torch is faster at batch=2."]


# ---------------------------------------------------------------- two subjects in one case


def test_a_duel_can_be_turned_round_or_go_through_a_third() -> None:
    subjects = [sweeps.ms("ort", 10.0), sweeps.ms("tf", 20.0, "slower", 0.5), sweeps.ms("torch", 5.0, "faster", 2.0)]
    case = sweeps.case(*subjects, dims={})
    assert duel(case, "torch", "ort")[:2] == (0.5, "slower")
    assert duel(case, "tf", "ort")[:2] == (2.0, "faster")
    assert duel(case, "tf", "torch")[:2] == (4.0, "faster")
    assert duel(case, "torch", "tf")[:2] == (0.25, "slower")
    assert duel(case, "ort", "ort")[:2] == (1.0, "baseline")
    assert duel(case, "ort", "absent").word == "not run"


def test_an_indirect_duel_with_overlapping_intervals_is_undecided() -> None:
    subjects = [sweeps.ms("ort", 10.0), sweeps.ms("tf", 5.1, "faster", 1.96), sweeps.ms("torch", 5.0, "faster", 2.0)]
    assert duel(sweeps.case(*subjects, dims={}), "tf", "torch").verdict == "undecided"


def test_the_usual_rival_has_another_runtime() -> None:
    subjects = [sweeps.ms("ort", 1.0), sweeps.ms("run-c", 1.0, runtime="ort"), sweeps.ms("torch", 1.0)]
    assert usual_rival([sweeps.case(*subjects, dims={})], "ort") == "torch"
    assert usual_rival([sweeps.case(*subjects[:2], dims={})], "ort") == "run-c"
    assert usual_rival([sweeps.case(*subjects[:1], dims={})], "ort") is None


# ---------------------------------------------------------------- models, dimensions and panels


def test_the_model_must_be_named_where_there_are_several() -> None:
    one, other = sweeps.line([0.5], "a.onnx").cases, sweeps.line([2.0], "b.onnx").cases
    assert cases_of(examples.bench(*one), None) == list(one)
    assert cases_of(examples.bench(*one, *other), "b.onnx") == list(other)
    with pytest.raises(BadOption, match=r"unknown model of the sweep 'None'; choose from: a\.onnx, b\.onnx"):
        cases_of(examples.bench(*one, *other), None)


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([(1, 10, 5), (2, 20, 5)], ["a", "b"]),
        ([(1, 10), (1, 20)], ["a", "b"]),
        ([(1, 10, 5), (2, 10, 5)], r"1 \(a\)"),
        ([(1, 10, 5), (2, 20, 6)], r"3 \(a, b, c\)"),
        ([(1,)], "none"),
    ],
)
def test_a_map_needs_two_dimensions(sizes: list[tuple[int, ...]], found: list[str] | str) -> None:
    cases = [sweeps.case(*sweeps.pair(0.5), dims=dict(zip("abc", each, strict=False))) for each in sizes]
    if isinstance(found, list):
        assert two_dims(cases) == found
    else:
        with pytest.raises(BadOption, match=f"are needed, and here are {found}"):
            two_dims(cases)


@pytest.mark.parametrize(
    ("baseline", "rival", "pair"),
    [
        (None, None, ("ort", "torch")),
        ("torch", None, ("torch", "ort")),
        (None, "ort", ("torch", "ort")),
        (None, "torch", ("ort", "torch")),
    ],
)
def test_a_map_compares_the_subjects_that_were_named(
    baseline: str | None, rival: str | None, pair: tuple[str, str]
) -> None:
    panel = crossover_map(sweeps.square(), baseline, rival, None)
    assert (panel.title, panel.dims, panel.pair) == ("bert.onnx", ["batch", "seq"], pair)
    assert len(panel.duels) == 30
    assert panel.duels[16, 500].word == "oom"


@pytest.mark.parametrize(
    ("baseline", "rival", "message"),
    [
        ("ort", "ort", "two different subjects are needed"),
        ("ort", "absent", "unknown subject 'absent'; choose from: ort, torch"),
    ],
)
def test_a_map_needs_two_subjects_that_exist(baseline: str, rival: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        crossover_map(sweeps.square(), baseline, rival, None)


def test_a_panel_of_one_subject_or_one_dimension_has_no_duels() -> None:
    alone = [sweeps.case(sweeps.ms("ort", 1.0), dims={"batch": batch}) for batch in (1, 2)]
    (panel,) = panels_of(examples.bench(*alone))
    assert (panel.dims, panel.pair, panel.duels) == (["batch"], None, {})
    (panel,) = panels_of(sweeps.line([0.5, 2.0]))
    assert (panel.dims, panel.pair, panel.duels) == (["batch"], ("ort", "torch"), {})
