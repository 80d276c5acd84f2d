"""Which subject is faster where in a bench of many cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from onnxperf.analyze.judges.crossover import (
    cases_of,
    crossover_map,
    duel,
    first_of_case,
    panels_of,
    sweep_models,
    two_dims,
    usual_rival,
)
from onnxperf.analyze.judges.reasons import Evidence, what_is_missing
from onnxperf.errors import BadOption
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Case, Subject
from onnxperf.wording.names import encodable
from tests.render import examples, sweeps


def plain(lines: Sequence[str]) -> list[str]:
    return [encodable(line, "ascii") for line in lines]


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
    assert first_of_case(sweeps.case(*subjects, dims={})) == {"ort", "run-c"}


def test_outputs_that_differ_never_win() -> None:
    wrong = sweeps.ms("torch", 1.0, "faster", 10.0, status="differs", reason="off by 0.02")
    assert first_of_case(sweeps.case(sweeps.ms("ort", 10.0), wrong, dims={"batch": 1})) == set()


def test_nothing_wins_where_nothing_has_a_time() -> None:
    assert first_of_case(sweeps.case(examples.failed("ort", "oom"), dims={})) == set()


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
    assert model.reasons == [f"batch=2 to 4: torch oom: {sweeps.OOM}"]


def test_every_case_has_its_best_rival() -> None:
    (model,) = sweep_models(several_rivals())
    assert [(row.rival, row.duel.speedup, row.duel.verdict) for row in model.rows] == [("subject-1", 0.9, "slower")] * 2
    assert (model.baseline, model.rivals) == ("ort", ["subject-0", "subject-1"])


def test_only_a_comparison_that_the_case_made_has_an_interval() -> None:
    case = sweeps.case(*sweeps.pair(2.0), dims={})
    assert duel(case, "ort", "torch").low == pytest.approx(1.97)
    assert duel(case, "torch", "ort").low is None


# ---------------------------------------------------------------- a winner per size


@pytest.mark.parametrize(
    ("speedups", "lines"),
    [
        (
            [0.5, 0.5],
            ["batch=1 to 2: ort is fastest: torch is 0.50x as fast (95 % CI within 0.49-0.51)."],
        ),
        ([1.6], ["batch=1: torch is 1.60x as fast as ort (95 % CI 1.58-1.62)."]),
        ([2.0, 4.0], ["batch=1 to 2: torch is 2.00x to 4.00x as fast as ort (95 % CI within 1.97-4.06)."]),
        (
            [0.5, 2.0, 2.0, 0.5],
            [
                "batch=1: ort is fastest: torch is 0.50x as fast (95 % CI 0.49-0.51).",
                "batch=2 to 4: torch is 2.00x as fast as ort (95 % CI within 1.97-2.03).",
                "batch=8: ort is fastest: torch is 0.50x as fast (95 % CI 0.49-0.51).",
            ],
        ),
        ([1.0, 1.0], []),
        (["oom", "oom"], []),
    ],
)
def test_every_stretch_of_sizes_has_its_winner(speedups: list[float | str], lines: list[str]) -> None:
    (model,) = sweep_models(sweeps.line(speedups).cases)
    assert plain(model.winners) == lines


@pytest.mark.parametrize(
    ("speedups", "lines"),
    [
        ([1.0, 1.0], ["No winner at batch=1 to 2: torch is undecided: the 95 % CI includes 1."]),
        ([1.0, 2.0, 1.0], ["No winner at batch=1, batch=4: torch is undecided: the 95 % CI includes 1."]),
        ([0.5, 2.0, "oom"], []),
    ],
)
def test_one_line_has_the_sizes_without_a_winner(speedups: list[float | str], lines: list[str]) -> None:
    (model,) = sweep_models(sweeps.line(speedups).cases)
    assert model.undecided == lines


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"reason": "2 rounds are too few"}, "2 rounds are too few"),
        ({"reason": "2 rounds are too few.", "speedup_low": None}, "2 rounds are too few"),
        ({"speedup_low": None, "speedup_high": None}, "too few rounds for an interval"),
        ({"speedup_low": 0.5, "speedup_high": 3.0}, "the 95 % CI includes 1"),
        ({"speedup_low": 1.001, "speedup_high": 1.02}, "the difference may be below the minimum effect"),
    ],
)
def test_the_reason_without_a_winner_is_that_of_the_subject(more: dict[str, Any], reason: str) -> None:
    undecided = sweeps.ms("torch", 5000.0, "undecided", 0.002, **more)
    (model,) = sweep_models([sweeps.case(sweeps.ms("ort", 10.0), undecided, dims={"batch": 1})])
    assert (plain(model.winners), model.undecided) == ([], [f"No winner at batch=1: torch is undecided: {reason}."])


def test_a_winner_without_an_interval_has_none_in_its_line() -> None:
    few = sweeps.ms("torch", 1.0, "faster", 10.0, speedup_low=None, speedup_high=None)
    (model,) = sweep_models([sweeps.case(sweeps.ms("ort", 10.0), few, dims={"batch": 1})])
    assert plain(model.winners) == ["batch=1: torch is 10.0x as fast as ort."]


def test_a_rival_that_is_proven_faster_comes_before_one_that_only_seems_so() -> None:
    subjects = [
        sweeps.ms("ort", 10.0),
        sweeps.ms("tf", 8.0, "faster", 1.25),
        sweeps.ms("torch", 5.0, "undecided", 2.0, speedup_low=0.5, speedup_high=8.0),
    ]
    (model,) = sweep_models([sweeps.case(*subjects, dims={"batch": 1})])
    assert (model.rows[0].rival, model.rows[0].winner) == ("tf", "tf")
    assert plain(model.winners) == ["batch=1: tf is 1.25x as fast as ort (95 % CI 1.23-1.27); torch may be as fast."]
    assert model.reasons == ["batch=1: torch undecided: the 95 % CI includes 1"]


def test_a_baseline_wins_only_where_every_rival_is_slower() -> None:
    slower = sweeps.ms("tf", 20.0, "slower", 0.5)
    cases = [
        sweeps.case(sweeps.ms("ort", 10.0), slower, sweeps.ms("torch", 12.0, "slower", 0.8), dims={"batch": 1}),
        sweeps.case(sweeps.ms("ort", 10.0), sweeps.ms("tf", 11.0, "slower", 0.9), dims={"batch": 2}),
        sweeps.case(sweeps.ms("ort", 10.0), slower, sweeps.ms("torch", 10.0, "undecided", 0.99), dims={"batch": 4}),
    ]
    (model,) = sweep_models(cases)
    assert plain(model.winners) == [
        "batch=1 to 2: ort is fastest: the best rival is 0.80x to 0.90x as fast (95 % CI within 0.79-0.91)."
    ]
    assert model.undecided == ["No winner at batch=4: torch is undecided: the 95 % CI includes 1."]


def test_subjects_that_are_equally_fast_have_a_line_of_their_own() -> None:
    cases = [
        sweeps.case(sweeps.ms("ort", 10.0), sweeps.ms("torch", 10.0, "equivalent", 1.001), dims={"batch": batch})
        for batch in (1, 2)
    ]
    (model,) = sweep_models(cases)
    assert (plain(model.winners), model.undecided) == (["batch=1 to 2: torch and ort are equally fast."], [])


def test_a_case_without_the_usual_baseline_has_its_winner_against_its_own() -> None:
    cases = [*several_rivals()]
    lost = [examples.failed("ort", "oom"), sweeps.ms("subject-0", 9.0), sweeps.ms("subject-1", 3.0, "faster", 3.0)]
    (model,) = sweep_models([*cases, sweeps.case(*lost, dims={"batch": 4}, baseline="subject-0")])
    assert plain(model.winners)[-1] == "batch=4: subject-1 is 3.00x as fast as subject-0 (95 % CI 2.96-3.04)."


def test_cells_of_a_grid_with_the_same_winner_make_rectangles() -> None:
    cases = [
        sweeps.case(
            *sweeps.pair(2.0 if seq == 30 and batch > 1 else 0.5), dims={"batch": batch, "seq": seq, "fixed": 7}
        )
        for batch in (1, 2, 4)
        for seq in (10, 20, 30)
    ]
    (model,) = sweep_models(cases)
    assert [line.partition(" is ")[0] for line in model.winners] == [
        "batch=1 seq=30: ort",
        "batch=1 to 4 seq=10 to 20: ort",
        "batch=2 to 4 seq=30: torch",
    ]


def test_a_hole_of_a_grid_parts_its_neighbours() -> None:
    cases = [sweeps.case(*sweeps.pair(2.0), dims={"a": a, "b": b}) for a, b in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 3)]]
    (model,) = sweep_models(cases)
    assert [line.partition(":")[0] for line in model.winners] == ["a=1 b=2", "a=1 to 2 b=1", "a=1 to 2 b=3"]


def test_more_dimensions_make_boxes() -> None:
    cases = [
        sweeps.case(*sweeps.pair(2.0 if a == 1 else 0.5), dims={"a": a, "b": b, "c": c})
        for a in (1, 2)
        for b in (1, 2)
        for c in (1, 2)
    ]
    (model,) = sweep_models(cases)
    assert [line.partition(" is ")[0] for line in model.winners] == [
        "a=1 b=1 to 2 c=1 to 2: torch",
        "a=2 b=1 to 2 c=1 to 2: ort",
    ]
    assert len(panels_of(examples.bench(*cases))) == 2


def test_a_case_that_lacks_a_dimension_is_named_by_the_others() -> None:
    cases = [sweeps.case(*sweeps.pair(2.0), dims=dims) for dims in ({"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 2}, {})]
    (model,) = sweep_models(cases)
    assert [line.partition("torch")[0] for line in model.winners] == ["", "a=1 b=1: ", "a=2: ", "a=2 b=2: "]


# ---------------------------------------------------------------- a reason per cell


def test_undecided_rivals_beside_the_best_have_their_reasons_per_cell() -> None:
    def undecided(name: str, reason: str) -> Subject:
        return sweeps.ms(name, 12.0, "undecided", 0.8, reason=reason)

    cases = [
        sweeps.case(
            sweeps.ms("ort", 10.0),
            sweeps.ms("best", 5.0, "faster", 2.0),
            undecided("tf", "only 2 rounds"),
            undecided("torch", "only 2 rounds" if seq < 30 else "one set-up"),
            dims={"batch": 8, "seq": seq},
        )
        for seq in (10, 20, 30)
    ]
    (model,) = sweep_models(cases)
    assert model.reasons == [
        "seq=10 to 30: tf undecided: only 2 rounds",
        "seq=10 to 20: torch undecided: only 2 rounds",
        "seq=30: torch undecided: one set-up",
    ]


def test_rivals_that_share_a_reason_and_its_cells_share_a_line() -> None:
    rivals = [sweeps.ms(name, 12.0, "undecided", 0.8, reason="only 2 rounds") for name in ("a", "b", "c")]
    cases = [sweeps.case(sweeps.ms("ort", 10.0), *rivals, dims={"batch": batch}) for batch in (1, 2)]
    (model,) = sweep_models(cases)
    assert model.reasons == ["batch=1 to 2: b and c undecided: only 2 rounds"]
    assert model.undecided == ["No winner at batch=1 to 2: a is undecided: only 2 rounds."]


NARROW = (-0.02, 0.03)


@pytest.mark.parametrize(
    ("evidence", "bounds", "counted"),
    [
        (Evidence(1, 1, 1, 0.0), None, True),
        (Evidence(2, 1, 1, 4.0), None, True),
        (Evidence(13, 3, 3, 4.0), NARROW, True),
        (Evidence(40, 1, 1, 4.0), None, False),  # one set-up
        (Evidence(40, 1, 2, 4.0), (0.02, 0.03), False),  # one launch
        (Evidence(40, 3, 3, 4.0), NARROW, False),
        (Evidence(40, 3, 3, 400.0), (-1.0, 1.0), False),
    ],
)
def test_cases_that_lack_rounds_are_counted_once(
    evidence: Evidence, bounds: tuple[float, float] | None, counted: bool
) -> None:
    reason = what_is_missing(evidence, bounds, 0.01)
    rivals = [sweeps.ms(name, 20.0, "undecided", 0.5, reason=reason) for name in ("a", "b")]
    cases = [sweeps.case(sweeps.ms("ort", 10.0), *rivals, dims={"batch": batch}) for batch in (1, 2)]
    (model,) = sweep_models([*cases, sweeps.case(*sweeps.pair(0.5), dims={"batch": 4})])
    short = "2 of 3 cases (batch=1 to 2) had no time for the rounds of a verdict: give each more `time`."
    assert list(model.notes) == ([short] if counted else [])


@pytest.mark.parametrize(
    ("reasons", "line"),
    [
        (
            ["2 rounds are too few: use `time=45`", "13 rounds are too few: use `time=7`"],
            ["No winner at batch=0 to 1: torch is undecided: 2 to 13 rounds are too few: use `time=45`."],
        ),
        (["`time=8` would decide"] * 2, ["No winner at batch=0 to 1: torch is undecided: `time=8` would decide."]),
        (
            ["rounds differ (0.9 to 1.3)", "rounds differ (0.8 to 1.3)"],
            [
                "No winner at batch=0: torch is undecided: rounds differ (0.9 to 1.3).",
                "No winner at batch=1: torch is undecided: rounds differ (0.8 to 1.3).",
            ],
        ),
    ],
)
def test_reasons_that_differ_only_in_numbers_share_a_line(reasons: list[str], line: list[str]) -> None:
    cases = [
        sweeps.case(sweeps.ms("ort", 1.0), sweeps.ms("torch", 2.0, "undecided", 0.5, reason=text), dims={"batch": n})
        for n, text in enumerate(reasons)
    ]
    (model,) = sweep_models(cases)
    assert model.undecided == line


# ---------------------------------------------------------------- two subjects in one case


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [
        (("faster", 2.0, 1.9, 2.1), ("slower", 0.5, 0.4, 0.6), "slower"),
        (("faster", 9.0, None, None), ("slower", 0.5, None, None), "slower"),
        (("faster", 2.0, 1.9, 2.1), ("faster", 4.0, 3.9, 4.1), "faster"),
        (("faster", 2.0, 1.9, 2.1), ("undecided", 1.0, 0.9, 1.1), "slower"),
        (("faster", 2.0, 1.9, 2.1), ("undecided", 4.0, 3.9, 4.1), "undecided"),
        (("undecided", 1.0, 0.9, 1.1), ("slower", 0.5, 0.4, 0.6), "slower"),
        (("undecided", 0.9, 0.8, 0.95), ("undecided", 1.2, 1.1, 1.3), "undecided"),
        (("faster", 2.0, None, None), ("faster", 9.0, None, None), "undecided"),
        (("faster", 2.0, 1.999, 2.001), ("faster", 2.005, 2.004, 2.006), "undecided"),
    ],
)
def test_subjects_meet_through_a_third_only_by_its_verdicts(
    one: tuple[Verdict, float, float | None, float | None],
    two: tuple[Verdict, float, float | None, float | None],
    found: Verdict,
) -> None:
    subjects = [
        sweeps.ms(name, 10.0 / speedup, verdict, speedup, speedup_low=low, speedup_high=high)
        for name, (verdict, speedup, low, high) in (("one", one), ("two", two))
    ]
    met = duel(sweeps.case(sweeps.ms("ort", 10.0), *subjects, dims={}), "one", "two")
    assert met.verdict == found
    assert met.speedup == pytest.approx(two[1] / one[1])
    assert bool(met.reason) == (found == "undecided")


def test_a_speedup_through_a_third_is_that_of_the_pairs_and_not_of_the_times() -> None:
    subjects = [sweeps.ms("one", 3.0, "faster", 2.0), sweeps.ms("two", 3.0, "faster", 4.0)]
    assert duel(sweeps.case(sweeps.ms("ort", 10.0), *subjects, dims={}), "one", "two").speedup == 2.0


def test_subjects_without_speedups_are_not_decided_by_their_times() -> None:
    case = sweeps.case(*(Subject(name=n, status="ok", time_ns=ns) for n, ns in (("one", 1.0), ("two", 2.0))), dims={})
    assert duel(case, "one", "two")[:2] == (0.5, "undecided")


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
        with pytest.raises(BadOption, match=f"but this sweep has {found}"):
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
        ("ort", "ort", "needs two different subjects"),
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
