"""`onnxperf.einsum` returns what numpy does; `onnxperf.optimize_einsum` finds and keeps the fastest graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from msgspec.structs import replace

import onnxperf
from onnxperf.api import einsum as computing
from onnxperf.api._shared import einsum_plans as planning
from onnxperf.api._shared.einsum_peers import peers_of
from onnxperf.api._shared.einsum_race import LIMIT, CandidateRace, SearchEnd, finalists_within, joined
from onnxperf.contraction import store
from onnxperf.contraction.equation import Shape, parse
from onnxperf.contraction.search import Entrant, Found
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.race import Progress, RaceEnd
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Block, Case, Measurement, Subject
from tests.contraction.equations import CASES, DTYPES, NUMPYS, calls_of, opt_einsums
from tests.contraction.running import arrays_for, run
from tests.depth import all_or

WAYS: list[dict[str, Any]] = [
    {"runtime": "ort", "optimize": False},
    {"runtime": "ort", "optimize": "estimate"},
    {"runtime": "numpy", "optimize": False},
    {"runtime": "numpy", "optimize": "estimate"},
    {"runtime": "ort", "optimize": False, "decompose": False},
    {"runtime": "ort", "optimize": "estimate", "decompose": False},
]
DECOMPOSED = WAYS[:4]
SIZES = dict(zip("abcdefghij", [2, 3, 4, 3, 2, 3, 2, 2, 3, 2], strict=True))
ALL = 1000
"""Finalists of a search that leaves nothing out."""
ATTENTION = "bsnh,btnh->bnts"
A, B = arrays_for([(3, 4), (4, 5)], "float32")


def assert_same(result: Any, expected: Any, case: object = "") -> None:
    """Equal values, shape and type; whole numbers leave no room for a tolerance."""
    assert (np.shape(result), result.dtype) == (np.shape(expected), expected.dtype), case
    np.testing.assert_array_equal(result, expected, err_msg=str(case))


def check(text: str, arrays: Sequence[Any], ways: Iterable[dict[str, Any]] = WAYS) -> None:
    expected = np.einsum(text, *arrays, optimize=len(arrays) > 2)
    for way in ways:
        assert_same(onnxperf.einsum(text, *arrays, threads=1, **way), expected, (text, way))


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(("text", "shapes"), CASES)
def test_every_way_to_compute_gives_numpys_values(text: str, shapes: list[Shape]) -> None:
    check(text, arrays_for(shapes, "float32"))


@pytest.mark.slow
@pytest.mark.parametrize("name", all_or(NUMPYS[:2], NUMPYS))
def test_the_equations_of_numpys_own_tests_have_the_same_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_text: dict[str, list[tuple[Shape, ...]]] = {}
    for text, shapes in calls_of(name, monkeypatch):
        by_text.setdefault(text, []).append(shapes)
    assert by_text
    for text, sizes in by_text.items():
        for shapes in {sizes[0], sizes[-1]}:  # some are repeated for sixteen sizes
            check(text, arrays_for(shapes, "float32"), DECOMPOSED)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_other_equations_of_opt_einsums_tests_have_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    numpys = {text for name in NUMPYS for text, _ in calls_of(name, monkeypatch)}
    for text in set(opt_einsums()) - numpys:
        terms = text.split("->", maxsplit=1)[0].split(",")
        check(text, arrays_for([tuple(SIZES[letter] for letter in term) for term in terms], "float32"), DECOMPOSED)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("text", "shapes"),
    [(ATTENTION, [(2, 3, 4, 5), (2, 6, 4, 5)]), ("iij->j", [(3, 3, 4)]), ("i,i", [(7,), (7,)]), ("ij->ji", [(3, 4)])],
)
def test_every_type_is_kept(text: str, shapes: list[Shape], dtype: str) -> None:
    check(text, arrays_for(shapes, dtype))


@pytest.mark.parametrize("ways", [DECOMPOSED[:2], DECOMPOSED[2:], WAYS[4:]], ids=["ort", "numpy", "einsum"])
@pytest.mark.parametrize(
    "types",
    [("float32", "float64"), ("float16", "float32"), ("int32", "int64"), ("int32", "float32"), (">f4", "float32")],
    ids="-".join,
)
def test_mixed_types_are_promoted_as_numpy_does(types: tuple[str, str], ways: list[dict[str, Any]]) -> None:
    check("ij,jk->ik", [A.astype(types[0]), B.astype(types[1])], ways)


@pytest.mark.parametrize(
    ("text", "arrays"),
    [("i,i", [A[0], A[1]]), ("ij->", [A]), (",", [np.float32(2), np.float32(3)]), ("ii", [A[:3, :3]])],
    ids=["inner", "sum", "scalars", "trace"],
)
def test_a_single_number_is_a_scalar_and_no_array(text: str, arrays: list[Any]) -> None:
    check(text, arrays)
    assert isinstance(onnxperf.einsum(text, *arrays, optimize=False, threads=1), np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_scalar_is_of_the_class_that_numpy_returns(dtype: str) -> None:
    for way in WAYS:
        assert type(onnxperf.einsum("i,i", *arrays_for([(3,), (3,)], dtype), **way)) is np.dtype(dtype).type, way


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda array: array[::-1, ::-1],
        lambda array: np.repeat(np.repeat(array, 2, 0), 3, 1)[::2, ::3],
        lambda array: np.broadcast_to(array[:1], array.shape),
        lambda array: np.ascontiguousarray(array.T).T,
    ],
    ids=["fortran", "reversed", "strided", "broadcast", "transposed"],
)
def test_the_layout_of_operands_does_not_matter(change: Callable[[Any], Any]) -> None:
    check("ij,jk->ki", [change(A), change(B)])


def test_operands_may_be_lists_and_numbers() -> None:
    check("ij,jk->ik", [[[1.0, 2.0]], [[3.0], [4.0]]])
    check("i,->i", [[1, 2, 3], 2])


def test_operands_are_left_as_they_were_and_the_result_belongs_to_the_caller() -> None:
    first, second = A.copy(), B.copy()
    for way in WAYS:
        result = onnxperf.einsum("ij,jk->ik", first, second, threads=1, **way)
        kept = result.copy()
        onnxperf.einsum("ij,jk->ik", first + 1, second, threads=1, **way)
        assert_same(result, kept)
    assert_same(first, A)
    assert_same(second, B)


def test_with_optimize_the_graph_that_was_found_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, planning.estimated_plan)
    arrays = arrays_for([(2, 7), (7, 3)], "float32")
    for _ in range(3):
        assert_same(onnxperf.einsum("ij,jk->ik", *arrays, threads=1), np.einsum("ij,jk->ik", *arrays))
    assert len(searched) == 1


def test_a_value_is_planned_once_however_often_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[bool] = []

    def counted(request: Any, *, search: bool, **others: Any) -> Any:
        plans.append(search)
        return planning.plan_for(request, search=False, **others)

    monkeypatch.setattr(computing, "plan_for", counted)
    arrays = arrays_for([(2, 13), (13, 3)], "float32")
    for _ in range(3):
        onnxperf.einsum("ij,jk->ik", *arrays, threads=1, progress=lambda _done, _text: None)
    assert plans == [True]


@pytest.mark.parametrize(("true", "length"), [(1, 9), (np.True_, 10)])
def test_what_equals_true_optimises_as_true_does(true: Any, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, planning.estimated_plan)
    arrays = arrays_for([(2, length), (length, 3)], "float32")
    onnxperf.einsum("ij,jk->ik", *arrays, threads=1, optimize=true)
    assert len(searched) == 1


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "arrays", "keywords", "said"),
    [
        ("ij,jk", [A, B], {"optimize": "greedy"}, "unknown optimize 'greedy'; choose from: True, False, estimate"),
        ("ij,jk", [A, B], {"optimize": None}, "unknown optimize 'None'"),
        ("ij", [], {}, "no operands given"),
        ("ij,jk", [A.astype(complex), B], {}, "unknown einsum element type 'complex128'; choose from: float16"),
        ("ij,jk", [A > 0, B > 0], {}, "unknown einsum element type 'bool'"),
        ("ij,jk", [A.astype("int8"), B.astype("int8")], {}, "unknown einsum element type 'int8'"),
        ("ij,jk", [A, B], {"runtime": "torch"}, "unknown runtime 'torch'; choose from: ort, numpy"),
        ("ij,jk", [A, B], {"runtime": "numpy", "decompose": False}, "runtime 'numpy' has none"),
        ("ij,jk", [A, B], {"threads": 0}, "`threads=0`: expected at least 1"),
        ("ij,jk", [A, B], {"tine": 3}, "unknown option 'tine'; choose from: runtime, threads"),
        ("ij,jk", [A], {}, "2 terms for 1 operand"),
        ("ij,jk", [A, A], {}, "letter 'j' is 4 in operand 1 and 3 in operand 2"),
        ("ij,j*", [A, B], {}, "position 5"),
        ("ijk,jk", [A, B], {}, "operand 1 has 2 dimensions"),
    ],
)
def test_what_cannot_be_computed_is_one_line(text: str, arrays: list[Any], keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as caught:
        onnxperf.einsum(text, *arrays, **{"optimize": False, **keywords})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numpys_form_without_an_equation_is_refused_in_words() -> None:
    form: list[Any] = [A, [0, 1], B, [1, 2]]
    with pytest.raises(BadOption, match="equation"):
        onnxperf.einsum(*form, optimize=False)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"dtype": "float33"}, "`dtype=float33`"),
        ({"dtype": "complex64"}, "unknown einsum element type"),
        ({"opset": 3}, "an opset from 13"),
        ({"time": 0}, "`time=0`: expected more than 0 seconds"),
        ({"threads": -1}, "`threads=-1`"),
        ({"runtime": "jax"}, "unknown runtime"),
        ({"tine": 3}, "unknown option 'tine'"),
    ],
)
def test_wrong_options_of_a_plan_are_one_line(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as caught:
        onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)], search=False, **keywords)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- plans


def count_searches(monkeypatch: pytest.MonkeyPatch, instead: Callable[..., store.Kept] | None = None) -> list[Any]:
    """Every request that is really searched, from an empty memory on; `instead` answers in place of the search."""
    original = planning.searched_plan
    seen: list[Any] = []

    def counted(request: Any, *others: Any) -> store.Kept:
        seen.append(request)
        if instead is None:
            return original(request, *others)
        kept = instead(request)
        return kept._replace(plan=replace(kept.plan, searched=True))

    monkeypatch.setattr(store, "in_memory", {})
    monkeypatch.setattr(planning, "searched_plan", counted)
    return seen


def test_a_plan_by_estimate_times_nothing_and_gives_way_to_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, planning.estimated_plan)
    shapes = [(3, 4), (4, 5)]
    plan = onnxperf.optimize_einsum("ij, jk", shapes, search=False)
    assert not searched
    assert not plan.record.searched
    assert plan.timings.empty
    assert plan.record.race is None
    assert "by estimate" in plan.answer
    np.testing.assert_array_equal(run(plan.onnx, [A, B]), A @ B)
    np.testing.assert_array_equal(run(plan.unoptimized_onnx, [A, B]), A @ B)
    assert onnxperf.optimize_einsum("ij,jk->ik", shapes).record.searched
    assert onnxperf.optimize_einsum("ij,jk->ik", shapes, search=False).record.searched
    assert len(searched) == 1
    onnxperf.optimize_einsum("ij,jk->ik", shapes, again=True)
    assert len(searched) == 2


def test_a_kept_plan_bears_the_equation_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, planning.estimated_plan)
    texts = ["ij,jk", "ij,jk->ik", " ij , jk "]
    plans = [onnxperf.optimize_einsum(text, [(3, 4), (4, 5)]) for text in texts]
    assert [plan.equation for plan in plans] == texts
    assert len(searched) == 1


def test_other_options_are_other_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, planning.estimated_plan)
    ways: list[dict[str, Any]] = [{}, {"dtype": "float64"}, {"opset": 17}, {"portable": True}, {"threads": 1}]
    for way in [*ways, {"threads": 2}, {"runtime": "numpy"}]:
        onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)], **{"threads": 3, **way})
    assert len(searched) == len(onnxperf.cached_einsums()) == 7


def interrupted_plan(request: Any) -> store.Kept:
    kept = planning.estimated_plan(request)
    return kept._replace(plan=replace(kept.plan, interrupted=True))


def test_a_plan_that_was_interrupted_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, interrupted_plan)
    for _ in range(2):
        onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)])
    assert len(searched) == 2
    assert onnxperf.cached_einsums().empty


def test_a_value_needs_a_search_that_was_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = count_searches(monkeypatch, interrupted_plan)
    with pytest.raises(KeyboardInterrupt):
        onnxperf.einsum("ij,jk->ik", *arrays_for([(2, 11), (11, 3)], "float32"), threads=1)
    assert len(searched) == 1


# ---------------------------------------------------------------- searches that end early


def searching(monkeypatch: pytest.MonkeyPatch, finalists: int, interrupted: bool, case: Case | None = None) -> None:
    """A search that times some graphs, and a final race that ends as given, with the names of its graphs."""

    def search(contest: CandidateRace, _seconds: float, _progress: Progress) -> SearchEnd:
        entrants = [Entrant(graph.name, graph.cost_us, executed=str(i)) for i, graph in enumerate(contest.graphs)]
        last = list(range(len(entrants)))[:finalists]
        for number in last:
            entrants[number].time_ns = 1000.0 + number
        return SearchEnd(entrants, Found(last, len(entrants), interrupted), ["a note"])

    def race(_contest: CandidateRace, graphs: Any, _seconds: float, _start_s: float, _progress: Progress) -> Case:
        assert case is not None
        named = [replace(each, name=each.name or name) for name, each in zip(graphs, case.subjects, strict=False)]
        return replace(case, subjects=tuple(named), baseline=named[0].name if named else None)

    monkeypatch.setattr(store, "in_memory", {})
    monkeypatch.setattr(CandidateRace, "search", search)
    monkeypatch.setattr(CandidateRace, "race", race)


@pytest.mark.parametrize(
    ("finalists", "searched", "answer"),
    [
        (0, False, "is the cheapest by estimate"),
        (3, True, "had the lowest time so far in the search for ij,jk: 1.00 µs per call"),
    ],
)
def test_ctrl_c_in_the_search_returns_what_was_found_until_then(
    finalists: int, searched: bool, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching(monkeypatch, finalists, interrupted=True)
    plan = onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)])
    assert (plan.status, plan.record.searched, plan.record.race) == ("interrupted", searched, None)
    assert answer in plan.answer
    assert plan.record.notes == ("a note",)
    assert plan.timings["order"].is_unique
    np.testing.assert_array_equal(run(plan.onnx, [A, B]), A @ B)
    assert onnxperf.cached_einsums().empty


@pytest.mark.parametrize(
    ("medians", "answer"),
    [([], "had the lowest time so far"), ([3.0, 2.0], "No graph for ij,jk is measurably faster than")],
    ids=["before a block", "after some blocks"],
)
def test_ctrl_c_in_the_race_returns_what_was_measured_until_then(
    medians: list[float], answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subjects = tuple(Subject(name="", runtime="ort", status="ok", time_ns=median) for median in medians)
    searching(monkeypatch, 3, interrupted=False, case=Case(model="m", subjects=subjects, interrupted=True))
    plan = onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)])
    assert plan.interrupted
    assert answer in plan.answer
    assert onnxperf.cached_einsums().empty


def raced(*verdicts: Verdict, speedup: float = 2.0) -> Case:
    """A final race whose subjects have these verdicts."""
    subjects = tuple(
        Subject(
            name="",
            runtime="ort",
            status="ok",
            time_ns=1000.0,
            verdict=verdict,
            speedup=1.0 if verdict == "baseline" else speedup,
        )
        for verdict in verdicts
    )
    return Case(model="m", subjects=subjects)


@pytest.mark.parametrize(
    ("verdicts", "winner", "answer"),
    [
        (("baseline", "undecided", "slower"), None, "and nothing is saved for later calls."),
        (("baseline", "undecided", "faster"), 2, "may be as fast."),
        (("baseline", "slower", "faster"), 2, "is the fastest graph for ij,jk: 2.00× as fast"),
        (("baseline", "slower", "equivalent"), 0, "differs from it by less than 1 %."),
    ],
)
def test_only_a_decided_winner_is_kept(
    verdicts: tuple[Verdict, ...], winner: int | None, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching(monkeypatch, 3, interrupted=False, case=raced(*verdicts))
    plan = onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)])
    case = plan.record.race
    assert case is not None
    assert plan.record.winner == (None if winner is None else case.subjects[winner].name)
    assert answer in plan.answer
    assert len(onnxperf.cached_einsums()) == (winner is not None)
    np.testing.assert_array_equal(run(plan.onnx, [A, B]), A @ B)


def test_an_undecided_search_takes_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    searching(monkeypatch, ALL, interrupted=False, case=raced("baseline", "undecided"))
    plan = onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)])
    assert plan.record.race is not None
    assert plan.record.race.baseline == planning.EINSUM
    assert (plan.record.graph, plan.record.winner) == ("Einsum ij,jk->ik", None)
    assert [node.op_type for node in plan.onnx.graph.node] == ["Einsum"]
    assert f"{planning.EINSUM} is used" in plan.answer


def test_where_every_finalist_fails_the_reasons_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = ["out of memory", "no kernel", "no kernel"]
    subjects = tuple(Subject(name="", status="failed", reason=reason) for reason in reasons)
    searching(monkeypatch, 3, interrupted=False, case=Case(model="m", status="failed", subjects=subjects))
    with pytest.raises(BadInput) as caught:
        onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)])
    assert str(caught.value) == "no graph for ij,jk could be raced: no kernel; out of memory"


@pytest.mark.parametrize(
    ("text", "shapes", "time", "raced"),
    [
        (ATTENTION, [(20,) * 4] * 2, 5.0, True),
        (ATTENTION, [(20,) * 4] * 2, 1.0, False),
        ("ij,jk", [(500, 500)] * 2, 5.0, True),
        ("ij,jk", [(1000, 1000)] * 2, 5.0, False),
        ("ij,jk", [(1000, 1000)] * 2, 30.0, True),
        ("ij,jk,kl", [(400, 400), (400, 400), (400, 2)], 5.0, False),
    ],
)
def test_a_library_that_would_use_up_the_race_is_left_out_with_a_note(
    text: str, shapes: list[Shape], time: float, raced: bool
) -> None:
    peers, notes = peers_of(parse(text, shapes), time, start_s=0.4)
    assert ("numpy.einsum" in peers) == raced
    assert any("numpy.einsum" in note for note in notes) != raced
    assert all(note.endswith("too long for this `time`") for note in notes)
    assert ("opt_einsum" in peers) == (time > 1)


@pytest.mark.parametrize(
    ("seconds", "start_s", "call_ns", "finalists"),
    [
        (12.0, 0.5, 1e5, 4),
        (2.0, 0.4, 1e5, 2),
        (1.0, 0.4, 1e5, 1),
        (-3.0, 0.4, 1e5, 1),
        (12.0, 0.5, 1e8, 1),
        (60.0, 0.5, 1e8, 4),
    ],
)
def test_as_many_finalists_race_as_there_is_time_for(
    seconds: float, start_s: float, call_ns: float, finalists: int
) -> None:
    assert finalists_within(seconds, start_s, call_ns) == finalists


def test_what_time_cuts_off_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    searching(monkeypatch, 4, interrupted=False, case=raced("baseline", "slower", "slower"))
    plan = onnxperf.optimize_einsum(ATTENTION, [(2, 3, 4, 5), (2, 6, 4, 5)], time=0.5, threads=1)
    candidates = plan.record.candidates
    assert f"{candidates - 4} of {candidates} candidates were not timed: `time=0.5` is too short" in str(
        plan.record.notes
    )
    assert "only the best 1 of 4 finalists were raced" in str(plan.record.notes)


# ---------------------------------------------------------------- the limit


TORCH = Subject(name="torch.einsum", runtime="callable", status="ok", time_ns=1.0, verdict="faster", speedup=23.0)


def with_limit(speedup: float, *others: Subject) -> Case:
    """A race of the Einsum, a graph that is twice as fast, and the bare product."""
    case = raced("baseline", "faster")
    limit = replace(case.subjects[1], name=LIMIT, speedup=speedup)
    return replace(case, subjects=(*case.subjects, limit, *others))


@pytest.mark.parametrize(
    ("case", "beaten_by"),
    [
        (with_limit(2.1), ""),
        (with_limit(2.0), ""),
        (with_limit(1.9), planning.DECOMPOSED),
        (with_limit(2.1, TORCH), "torch.einsum"),
    ],
)
def test_what_something_else_beats_is_not_called_a_limit_and_not_shown(
    case: Case, beaten_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching(monkeypatch, ALL, interrupted=False, case=case)
    plan = onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)], threads=1)
    assert plan.record.race is not None
    shown = LIMIT in [subject.name for subject in plan.record.race.subjects]
    assert (plan.record.limit == LIMIT) == shown == (not beaten_by)
    assert any(f"the {LIMIT} is not shown: {beaten_by}" in note for note in plan.record.notes) == bool(beaten_by)
    assert plan.record.winner != LIMIT
    assert plan.to_df()["limit_ratio"].dropna().ge(1.0).all()


# ---------------------------------------------------------------- two races as one


def measured(name: str, rounds: Sequence[int], launch: int = 0) -> Measurement:
    blocks = [Block(round=number, position=0, launch=launch, calls=1, start_ns=0, duration_ns=7) for number in rounds]
    return Measurement(
        name=name, status="ok", blocks=tuple(blocks), call_ns=(7,) * len(rounds), call_launches=((launch, len(rounds)),)
    )


def test_libraries_that_race_later_share_only_the_baseline_with_the_graphs() -> None:
    graphs = (measured("base", range(4), 1), measured("graph", range(4), 1))
    libraries = (measured("base", range(3)), measured("numpy", range(3)))
    first = RaceEnd(subjects=graphs, batches=1, interrupted=False, others=0.1)
    second = RaceEnd(subjects=libraries, batches=1, interrupted=True, others=0.4)
    both = joined(first, second)
    base, graph, numpy = both.subjects
    assert [each.name for each in both.subjects] == ["base", "graph", "numpy"]
    assert [block.round for block in base.blocks] == list(range(7))
    assert [block.launch for block in base.blocks] == [1] * 4 + [2] * 3
    assert base.call_launches == ((1, 4), (2, 3))
    assert graph == first.subjects[1]
    assert [block.round for block in numpy.blocks] == [4, 5, 6]
    assert (both.interrupted, both.others) == (True, 0.4)


# ---------------------------------------------------------------- without an Einsum


def has_einsum(model: onnx.ModelProto) -> bool:
    return any(node.op_type == "Einsum" for node in model.graph.node)


@pytest.mark.parametrize(("text", "shapes"), CASES)
def test_every_plan_has_a_graph_without_an_einsum(text: str, shapes: list[Shape]) -> None:
    plan = onnxperf.optimize_einsum(text, shapes, search=False, threads=1)
    arrays = arrays_for(shapes, "float32")
    assert not has_einsum(plan.decomposed)
    np.testing.assert_array_equal(run(plan.decomposed, arrays), run(plan.onnx, arrays))
    assert has_einsum(plan.onnx) or plan.decomposed == plan.onnx


@pytest.mark.parametrize(
    ("verdicts", "winner_is_einsum"),
    [
        (("baseline", "slower", "slower", "slower"), True),
        (("baseline", "undecided", "undecided", "undecided"), True),
        (("baseline", "slower", "slower", "faster"), False),
    ],
)
def test_an_einsum_that_wins_has_the_next_graph_without_one(
    verdicts: tuple[Verdict, ...], winner_is_einsum: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching(monkeypatch, ALL, interrupted=False, case=raced(*verdicts, speedup=0.9))
    shapes = [(2, 3, 4, 5), (2, 6, 4, 5)]
    plan = onnxperf.optimize_einsum(ATTENTION, shapes, threads=1)
    assert has_einsum(plan.onnx) == winner_is_einsum
    assert not has_einsum(plan.decomposed)
    arrays = arrays_for(shapes, "float32")
    np.testing.assert_array_equal(run(plan.decomposed, arrays), np.einsum(ATTENTION, *arrays))


def test_a_graph_without_an_einsum_is_recalled_with_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    searching(monkeypatch, ALL, interrupted=False, case=raced("baseline", "slower", "slower"))
    first, again = (onnxperf.optimize_einsum("ij,jk", [(3, 4), (4, 5)], threads=1) for _ in range(2))
    assert has_einsum(again.onnx)
    assert again.decomposed == first.decomposed
    np.testing.assert_array_equal(run(again.decomposed, [A, B]), A @ B)


def test_where_only_einsums_were_raced_the_decomposition_as_written_is_the_graph_without_one() -> None:
    request = planning.request_for(parse("ij,jk", [(3, 4), (4, 5)]), "float32", "ort", 1, einsum_only=True)
    kept = planning.estimated_plan(request)
    assert kept.decomposed == planning.decomposed_model(request)
    assert not has_einsum(onnx.load_from_string(kept.decomposed))


@pytest.mark.slow
def test_the_fastest_graph_is_searched_once_and_shows_what_was_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = count_searches(monkeypatch)
    shapes = [(2, 3, 4, 5), (2, 6, 4, 5)]
    steps: list[float] = []
    plan = onnxperf.optimize_einsum(
        ATTENTION, shapes, time=9.0, threads=1, progress=lambda done, _text: steps.append(done)
    )
    assert steps == sorted(steps)
    assert 0.5 <= steps[-1] <= 1

    record = plan.record
    assert (plan.equation, record.canonical, record.dtype, record.searched) == (ATTENTION, ATTENTION, "float32", True)
    assert record.candidates >= record.executed > 10
    assert len(record.orders) == 120
    assert record.race is not None
    names = [subject.name for subject in record.race.subjects]
    assert names[0] == "ORT Einsum as written"
    assert (LIMIT in names) == (record.limit == LIMIT)
    left_out = " ".join(note for note in record.race.notes if "left out" in note)
    assert all((name in names) != (name in left_out) for name in ("numpy.einsum", "opt_einsum"))
    assert record.winner in (None, *names)
    assert {subject.status for subject in record.race.subjects} == {"ok"}
    assert record.graph
    assert ("times the time of the bare MatMul" in plan.answer) == bool(record.winner and record.limit)
    assert plan.to_df()["limit_ratio"].dropna().ge(1.0).all()

    timings = plan.timings
    assert list(timings.columns) == ["order", "equation", "graph", "time"]
    assert len(timings) == timings["order"].nunique() == timings["equation"].nunique() == 120
    assert timings["time"].dropna().is_monotonic_increasing
    assert (timings.groupby("graph")["time"].nunique() <= 1).all()
    assert set(plan.to_df()["name"]) == set(names)

    arrays = arrays_for(shapes, "float32")
    for model in (plan.onnx, plan.unoptimized_onnx):
        onnx.checker.check_model(model)
        np.testing.assert_array_equal(run(model, arrays), np.einsum(ATTENTION, *arrays))
    renamed = dict(zip(ATTENTION, plan.best_equation, strict=True))
    assert "".join(renamed[letter] for letter in ATTENTION) == plan.best_equation

    axes = plan.plot(Figure().subplots())
    assert isinstance(axes, Axes)
    assert ATTENTION in axes.get_title()
    for suffix in (".onnx", ".json", ".csv", ".png"):
        plan.save(tmp_path / f"plan{suffix}")
        assert (tmp_path / f"plan{suffix}").stat().st_size > 100
    assert record.graph.split(" > ")[0] in repr(plan)

    assert len(onnxperf.cached_einsums()) == (record.winner is not None)
    store.keep(searched[0].key, store.Kept(record, plan.model, plan.unoptimized, b"without"))  # whatever it decided
    monkeypatch.setattr(store, "in_memory", {})
    again = onnxperf.optimize_einsum(ATTENTION, shapes, threads=1)
    assert len(searched) == 1
    assert (again.record, again.model, again.unoptimized) == (record, plan.model, plan.unoptimized)
    assert_same(onnxperf.einsum(ATTENTION, *arrays, threads=1), np.einsum(ATTENTION, *arrays))
    assert len(searched) == 1
    (row,) = onnxperf.cached_einsums().to_dict("records")
    assert (row["canonical"], row["threads"], row["graph"], row["searched"]) == (ATTENTION, 1, record.graph, True)
    assert row["best_equation"] == plan.best_equation
