"""No sentence about a sweep claims what the verdicts of its cells do not, and its numbers are those of the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.answers.sweep import winner_lines
from onnxperf.analyze.judges.comparison import baseline_of, compare
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.records.base import Status
from onnxperf.records.comparison import Unit, Verdict
from onnxperf.records.race import Case, Subject
from onnxperf.records.sweep import SweepModel, SweepRow, subject_in
from onnxperf.render.kit.table import grid_of
from onnxperf.render.race.sweep import cases_table
from onnxperf.wording.names import encodable
from tests.analyze.examples import subject

NUMBER = r"[\d.]+(?:e-\d+)?"
SPEEDUPS = rf"(?P<least>{NUMBER})x(?: to (?P<most>{NUMBER})x)?"
UNITS = r"(?:(?:, each)? from (?:\d+ to )?\d+ (?:launch(?:es)?|sessions?|rounds?))?"
INTERVAL = rf"(?: \(95 % CI(?: within)? (?P<low>{NUMBER})-(?P<high>{NUMBER}){UNITS}\))?"
PLACE, RIVAL = r"(?:(?P<place>.*?): )?", r"(?P<rival>s\d|the best rival)"
WON = re.compile(rf"{PLACE}(?P<winner>s\d) is {SPEEDUPS} as fast as (?P<loser>s\d){INTERVAL}(?:; .*)?\.")
KEPT = re.compile(rf"{PLACE}(?P<winner>s\d) is fastest: {RIVAL} is {SPEEDUPS} as fast{INTERVAL}\.")
EQUAL = re.compile(rf"{PLACE}(?P<one>s\d) and (?P<other>s\d) are equally fast\.")
NO_WINNER = re.compile(
    r"No winner(?: at (?P<place>.*?))?: (?P<rival>s\d|the best rival) is undecided: (?P<reason>.+)\."
)
ROUNDS = (0, 1, 2, 5, 6, 13, 20, 40)
FAILURES: tuple[Status, ...] = ("failed", "oom", "timeout", "crashed", "skipped", "differs", "pending")
UNJUDGED: tuple[Verdict | None, ...] = ("equivalent", "undecided", None)


# ---------------------------------------------------------------- made sweeps


def sizes() -> st.SearchStrategy[dict[str, list[int]]]:
    values = st.lists(st.sampled_from([1, 2, 8, 64]), min_size=1, max_size=4, unique=True)
    return st.dictionaries(st.sampled_from(["batch", "seq"]), values, max_size=2)


def statuses() -> st.SearchStrategy[Status]:
    return st.sampled_from([*["ok"] * 4 * len(FAILURES), *FAILURES])


def cells_of(dims: dict[str, list[int]]) -> list[dict[str, int]]:
    cells: list[dict[str, int]] = [{}]
    for name, values in dims.items():
        cells = [cell | {name: value} for cell in cells for value in values]
    return cells


@st.composite
def raced(draw: st.DrawFn, dims: dict[str, int]) -> Case:
    """A case as the judges leave it: few rounds or many, wide or narrow, failed, interrupted, with any baseline."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    launches, noise = draw(st.sampled_from([1, 3])), draw(st.sampled_from([0.001, 0.05, 1.0]))
    subjects = []
    for number in range(draw(st.integers(2, 4))):
        status = draw(statuses())
        rounds = 0 if status in FAILURES[:-2] else draw(st.sampled_from(ROUNDS))
        median = 1000.0 * draw(st.sampled_from([1.0, 1.003, 1.04, 2.0, 11.0, 500.0]))
        times = median * np.exp(random.normal(0, noise, rounds))
        reason = "" if status == "ok" else f"it {status}"
        subjects.append(subject(f"s{number}", times.tolist(), min(launches, rounds) or 1, status=status, reason=reason))
    baseline = baseline_of(subjects, draw(st.sampled_from(["s0", "s0", "s1"])))
    judged = compare(subjects, baseline, 0.01)
    return Case(model="m", dims=dims, status="ok", baseline=baseline, subjects=judged, interrupted=draw(st.booleans()))


@st.composite
def claimed(draw: st.DrawFn, dims: dict[str, int]) -> Case:
    """A case with any verdicts and any intervals, whatever the judges would make of them."""
    baseline = draw(st.sampled_from(["s0", "s0", "s1", "s2"]))
    subjects = []
    for number in range(draw(st.integers(2, 4))):
        name = f"s{number}"
        speedup = 1.0 if name == baseline else draw(st.sampled_from([0.002, 0.5, 0.97, 1.0, 1.05, 1.6, 40.0]))
        width = draw(st.sampled_from([1.001, 1.5, None, 30.0]))
        few = draw(st.sampled_from(["", "only 2 rounds; a verdict needs 20"]))
        decided: list[Verdict] = ["faster"] if speedup > 1 else ["slower"] if speedup < 1 else []
        verdict: Verdict | None = "baseline" if name == baseline else draw(st.sampled_from([*decided, *UNJUDGED]))
        subjects.append(
            Subject(
                name=name,
                status=draw(statuses()),
                mean_ns=1000 / speedup,
                time_ns=draw(st.sampled_from([None, 900 / speedup])),
                speedup=draw(st.sampled_from([speedup, speedup, speedup, None])),
                speedup_low=width and speedup / width,
                speedup_high=width and speedup * width,
                verdict=verdict,
                reason=few if verdict == "undecided" else "",
            )
        )
    return Case(model="m", dims=dims, status="ok", baseline=baseline, subjects=tuple(subjects))


@st.composite
def sweeps_of(draw: st.DrawFn, make: Callable[[dict[str, int]], st.SearchStrategy[Case]]) -> list[Case]:
    """Any grid; some of its cells failed as a whole."""
    failed = st.builds(Case, model=st.just("m"), status=st.just("failed"), answer=st.just("no memory"))
    cells = cells_of(draw(sizes()))
    return [replace(draw(failed), dims=cell) if draw(st.integers(0, 9)) == 9 else draw(make(cell)) for cell in cells]


# ---------------------------------------------------------------- what lines claim


def covered(rows: Sequence[SweepRow], place: str | None) -> list[SweepRow]:
    """The rows at a place such as `batch=1 to 8 seq=2`."""
    wanted = re.findall(r"(\w+)=(\d+)(?: to (\d+))?", place or "")
    return [
        row
        for row in rows
        if all(dim in row.case.dims and int(low) <= row.case.dims[dim] <= int(high or low) for dim, low, high in wanted)
    ]


def at_places(rows: Sequence[SweepRow], places: str | None) -> list[SweepRow]:
    return [row for place in (places or "").split(", ") for row in covered(rows, place)]


def proven(case: Case, winner: str, loser: str) -> bool:
    """Whether verdicts of the case itself say so: against each other, or on one side of its baseline."""
    one, two = subject_in(case, winner), subject_in(case, loser)
    if one is None or two is None or one.status != "ok" or two.status != "ok":
        return False
    if case.baseline == loser:
        return one.verdict == "faster"
    return two.verdict == "slower" or (case.baseline != winner and one.verdict == "faster")


def shown(model: SweepModel, rows: Sequence[SweepRow]) -> str:
    """What the table shows of these rows."""
    lines = zip(grid_of(cases_table([model])).lines, model.rows, strict=True)
    texts = [" ".join(cell.text for cell in line.cells) for line, row in lines if row in rows]
    return encodable("\n".join(texts), "ascii")


def check(model: SweepModel) -> None:
    answered: list[SweepRow] = []
    for line in (encodable(line, "ascii") for line in model.winners):
        won, kept, equal = WON.fullmatch(line), KEPT.fullmatch(line), EQUAL.fullmatch(line)
        found = won or kept or equal
        assert found, line
        rows = covered(model.rows, found["place"])
        assert rows, line
        answered += rows
        for row in rows:
            timed = [each.name for each in row.case.subjects if row.duels.get(each.name, row.duel).speedup is not None]
            if won:
                assert proven(row.case, won["winner"], won["loser"]), line
            if kept:
                rivals = [name for name in timed if name != kept["winner"]]
                assert rivals, line
                assert all(proven(row.case, kept["winner"], rival) for rival in rivals), line
        table = shown(model, rows)
        if not equal:
            for number in filter(None, (found["least"], found["most"])):
                assert re.search(rf"(?<![\d.]){re.escape(number)}x", table), line
            if found["low"]:
                assert f"{found['low']}-" in table, line
                assert f"-{found['high']}" in table, line
    for line in model.undecided:
        none = NO_WINNER.fullmatch(line)
        assert none, line
        rows = at_places(model.rows, none["place"])
        answered += rows
        assert all(row.winner is None and row.duel.verdict == "undecided" for row in rows), line
    # Every case in which two subjects met has exactly one line.
    met = [id(row) for row in model.rows if row.rival is not None]
    assert sorted(map(id, answered)) == sorted(met)


def without_numbers(text: str) -> str:
    """Reasons that differ in whole numbers share a line."""
    return re.sub(r"\d+( to \d+)?", "#", text)


def check_reasons(model: SweepModel) -> None:
    """Every undecided rival has its reason, and every subject that failed."""
    text = "\n".join([*model.reasons, *model.undecided])
    for row in model.rows:
        for name, duel in row.duels.items():
            if duel.verdict == "undecided":
                assert duel.reason
                assert without_numbers(duel.reason.rstrip(".")) in without_numbers(text)
                assert name in text or "the best rival" in text
        for each in row.case.subjects:
            if each.status == "pending" and row.case.interrupted:
                assert "pending: interrupted before its end" in text
            elif each.status != "ok":
                assert f"{each.name} {each.status}" in text


@given(sweeps_of(raced))
def test_no_line_claims_what_the_judges_did_not_find(cases: list[Case]) -> None:
    for model in sweep_models(cases):
        check(model)
        check_reasons(model)


@given(sweeps_of(claimed))
def test_no_line_contradicts_its_table_whatever_the_verdicts(cases: list[Case]) -> None:
    for model in sweep_models(cases):
        check(model)
        check_reasons(model)


@pytest.mark.parametrize(
    ("units", "sentence"),
    [
        ([("launch", 9)], "b is 2.00x as fast as a (95 % CI 1.90-2.10 from 9 launches)."),
        (
            [("set-up", 9), ("set-up", 9)],
            "b is 2.00x as fast as a (95 % CI within 1.90-2.10, each from 9 sessions).",
        ),
        (
            [("set-up", 6), ("set-up", 9)],
            "b is 2.00x as fast as a (95 % CI within 1.90-2.10, each from 6 to 9 sessions).",
        ),
        ([("launch", 6), ("set-up", 9)], "b is 2.00x as fast as a (95 % CI within 1.90-2.10)."),
        ([(None, None)], "b is 2.00x as fast as a (95 % CI 1.90-2.10)."),
    ],
)
def test_an_interval_of_a_sweep_names_what_it_rests_on(
    units: list[tuple[Unit | None, int | None]], sentence: str
) -> None:
    base = Subject(name="a", status="ok", time_ns=10.0, speedup=1.0, verdict="baseline")
    rival = Subject(name="b", status="ok", time_ns=5.0, verdict="faster", speedup=2.0)
    rival = replace(rival, speedup_low=1.9, speedup_high=2.1)
    cases = [
        Case(model="m", baseline="a", dims={"batch": n}, subjects=(base, replace(rival, unit=unit, units=number)))
        for n, (unit, number) in enumerate(units, 1)
    ]
    (model,) = sweep_models(cases)
    assert [encodable(line.rpartition(": ")[2], "ascii") for line in winner_lines(model.rows)] == [sentence]
