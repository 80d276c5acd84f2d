"""No sentence about an einsum or a rewritten model claims what the verdicts of its race do not."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.answers.einsum import race_answer, rewrite_answer
from onnxperf.analyze.judges.comparison import baseline_of, compare
from onnxperf.analyze.judges.einsum import graphs_in, is_decided, sites_written, winner_in
from onnxperf.records.einsum import RewrittenSite
from onnxperf.records.race import Block, Case, Measurement, Subject
from onnxperf.render.kit.table import grid_of
from onnxperf.render.race.einsum import WINNER, race_table
from onnxperf.render.race.rewrite import rewrite_page
from tests.render import einsum_examples as einsums
from tests.render.drawn_pages import printed

LIMIT = "bare MatMul"
STATUSES: st.SearchStrategy[Any] = st.sampled_from(["ok", "ok", "ok", "failed", "timeout", "crashed", "skipped"])
VERDICTS = st.sampled_from(["faster", "slower", "equivalent", "undecided", None])
NAMES = ("graph0", "graph1", "graph2", "graph3", LIMIT, "numpy.einsum", "torch.einsum")


@st.composite
def subjects(draw: st.DrawFn, name: str, verdicts: st.SearchStrategy[Any] = VERDICTS) -> Subject:
    """A subject of any standing, with an interval or too few rounds for one."""
    speedup = draw(st.floats(0.01, 100))
    low, high = (
        (speedup * draw(st.floats(0.5, 1)), speedup * draw(st.floats(1, 2))) if draw(st.booleans()) else (None,) * 2
    )
    fields = {
        "speedup": draw(st.sampled_from([speedup, None])),
        "speedup_low": low,
        "speedup_high": high,
        "verdict": draw(verdicts),
        "time_ns": draw(st.sampled_from([1e6 / speedup, None])),
        "reason": draw(st.sampled_from(["", "2 rounds are too few: use `time=45`"])),
    }
    status = draw(STATUSES)
    return Subject(
        name=name,
        runtime="callable" if "einsum" in name else "ort",
        status=status,
        **(fields if draw(st.booleans()) or status == "ok" else {}),
    )


@st.composite
def made_cases(draw: st.DrawFn) -> Case:
    """A final race as no machine may ever have run it."""
    base = draw(subjects("base", st.just("baseline")))
    rivals = [draw(subjects(name)) for name in draw(st.lists(st.sampled_from(NAMES), unique=True))]
    return Case(model="m", baseline="base", subjects=(base, *rivals), interrupted=draw(st.booleans()))


@st.composite
def judged_cases(draw: st.DrawFn) -> Case:
    """A final race of few rounds, judged as every race is."""
    rounds = draw(st.integers(1, 24))
    measured = [
        Measurement(
            name=name,
            runtime="callable" if "einsum" in name else "ort",
            status=draw(STATUSES),
            blocks=tuple(
                Block(
                    round=i,
                    position=0,
                    launch=i // 3,
                    calls=1,
                    start_ns=0,
                    duration_ns=draw(st.integers(1, 5) if wide else st.integers(100 * level, 101 * level)),
                )
                for i in range(draw(st.integers(0, rounds)))
            ),
        )
        for name in ("base", *draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4)))
        for level, wide in [(draw(st.sampled_from([1, 2, 3, 50])), draw(st.booleans()))]
    ]
    baseline = baseline_of(measured, "base")
    return Case(model="m", baseline=baseline, subjects=compare(measured, baseline, 0.01))


def beaten(winner: Subject, other: Subject) -> bool:
    """Whether the rows of a table show one as faster than the other."""
    ends = winner.speedup_low, other.speedup_high
    apart = ends[0] is not None and ends[1] is not None and ends[0] > ends[1]
    return other.verdict in ("baseline", "slower") or apart


def check_claims(case: Case) -> None:
    rows = {subject.name: subject for subject in case.subjects}
    graphs = graphs_in(case, LIMIT)
    winner = winner_in(case, LIMIT)
    plan = einsums.plan(race=case, limit=LIMIT, winner=winner.name if winner is not None else None)
    answer = race_answer(case, LIMIT, "E")

    for name in re.findall(r"(\w+) is the fastest graph", answer):
        assert (rows[name].status, rows[name].verdict) == ("ok", "faster")
        assert all(beaten(rows[name], other) for other in graphs if other.name != name)
    for name in re.findall(r"(\w+) is already the fastest graph", answer):
        assert (rows[name].status, name) == ("ok", case.baseline)
        assert {other.verdict for other in graphs if other.name != name} == {"slower"}
    for name in re.findall(r"(?:^|E, )(\w+) is (?:the fastest graph for E: )?\S+ times as fast", answer):
        assert (rows[name].status, rows[name].verdict) == ("ok", "faster")
    for names in re.findall(r"\. ([^.]+\.einsum(?: and [^.]+\.einsum)?) (?:is|are) faster still", answer):
        assert {rows[name].verdict for name in names.split(" and ")} == {"faster"}

    assert is_decided(plan) == (winner is not None) == ("nothing is saved" not in answer and bool(graphs))
    stars = [line.cells[1].text for line in grid_of(race_table(plan)).lines if line.cells[0].text == WINNER]
    assert stars == ([] if winner is None else [winner.name])
    assert all(rows[name].verdict in ("faster", "baseline") for name in stars)


@given(made_cases())
def test_no_answer_about_an_equation_claims_a_winner_without_its_verdict(case: Case) -> None:
    check_claims(case)


@given(judged_cases())
def test_nor_does_one_about_few_rounds(case: Case) -> None:
    check_claims(case)


SITES = st.lists(
    st.builds(
        RewrittenSite,
        nodes=st.sampled_from([("a",), ("b", "c")]),
        equation=st.just("ij->ji"),
        outcome=st.sampled_from(["rewritten", "kept", "skipped"]),
        reason=st.just("why"),
    ),
    max_size=3,
)


@given(SITES, st.none() | subjects("rewritten"), st.booleans())
def test_no_answer_about_a_model_claims_a_gain_or_a_file_without_its_verdict(
    tried: list[RewrittenSite], rival: Subject | None, interrupted: bool
) -> None:
    proven = rival is not None and rival.status == "ok" and rival.verdict == "faster" and not interrupted
    answer = rewrite_answer("m", tried, rival, "o.onnx", interrupted)
    sites = sites_written(tried, rival, interrupted)
    written = "written to o.onnx" in answer
    assert written == ("times as fast" in answer) == (proven and bool(tried))
    assert written == ("othing was written" not in answer)
    assert proven or not any(site.outcome == "rewritten" for site in sites)
    base = Subject(name="original", runtime="ort", status="ok", time_ns=1e6, verdict="baseline", speedup=1.0)
    case = None if rival is None else Case(model="m", baseline="original", subjects=(base, rival))
    page = printed(
        rewrite_page(einsums.rewrite(sites=sites, race=case, output="o.onnx" if written else "", answer=answer))
    )
    assert ("the whole model is faster" in page) <= proven
    assert ("Written to" in page) <= written
