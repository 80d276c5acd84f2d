"""No sentence and no table of a profile or of a diff contradicts what it comes from, however little was measured."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.answers.diff import diff_answer
from onnxperf.analyze.answers.profile import profile_answer
from onnxperf.analyze.graphs.modules import module_times
from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.analyze.trace.diff_sums import by_call, by_row
from onnxperf.analyze.trace.profile import operator_times
from onnxperf.records.base import Status
from onnxperf.records.comparison import Verdict
from onnxperf.records.diff import Diff
from onnxperf.records.profile import NodeTime, Profile, added, usual
from onnxperf.records.race import Case, Subject
from onnxperf.results.diff import DiffResult
from onnxperf.results.profile import ProfileResult

EXACT = 1 + 1e-9
CLAIMS = {"× as fast as": {"faster"}, "× as long as": {"slower"}, "they differ by less than": {"equivalent"}}
"""Words of a claim, and the verdicts that they may come from."""


@st.composite
def profiles(draw: st.DrawFn, model: str = "m") -> Profile:
    """Few iterations or none, one of them disturbed, nodes of a few operators and modules."""
    iterations = draw(st.integers(0, 7))
    column = st.lists(st.integers(0, 200), min_size=iterations, max_size=iterations)
    nodes = []
    for number in range(draw(st.integers(0, 5)) if iterations else 0):
        us = draw(column)
        us[draw(st.integers(0, iterations - 1))] += draw(st.sampled_from([0, 27_000]))
        operator = draw(st.sampled_from(["Conv", "Add"]))
        module = draw(st.sampled_from([None, "", "enc", "enc.c3"]))
        nodes.append(_node(f"n{number}", operator, tuple(us), module))
    outside = draw(column)
    alike = tuple(draw(st.just([]) | st.lists(st.integers(0, 1), min_size=iterations, max_size=iterations)))
    nodes = [replace(each, usual_us=usual(each.self_us, alike)) for each in nodes]
    return Profile(
        model=model,
        events=9,
        iterations=iterations,
        run_us=added([outside, *(node.self_us for node in nodes)]),
        alike=alike,
        launches=draw(st.just(()) | st.just((iterations - 4, 1, 1, 1, 1))) if iterations > 4 else (),
        nodes=tuple(nodes),
        operators=operator_times(nodes),
        modules=module_times(nodes),
        interrupted=draw(st.booleans()),
    )


def _node(name: str, op_name: str, us: tuple[int, ...], module: str | None) -> NodeTime:
    times = usual(us)
    return NodeTime(
        name=name,
        op_name=op_name,
        calls=len(us),
        self_us=us,
        total_us=us,
        usual_us=times,
        usual_total_us=times,
        module=module,
    )


@st.composite
def races(draw: st.DrawFn) -> Case | None:
    """No race, one that was interrupted, a side that failed, every verdict, with an interval or without."""
    if draw(st.booleans()):
        return None
    speedup = draw(st.none() | st.floats(0.01, 100))
    known = draw(st.booleans()) and speedup is not None
    rival = Subject(
        name="b",
        status=draw(st.sampled_from(get_args(Status))),
        reason=draw(st.sampled_from(["", "2 rounds are too few"])),
        time_ns=None if speedup is None else 1e6 / speedup,
        verdict=draw(st.none() | st.sampled_from(get_args(Verdict)).filter(lambda verdict: verdict != "baseline")),
        speedup=speedup,
        speedup_low=speedup * 0.9 if speedup and known else None,
        speedup_high=speedup * 1.1 if speedup and known else None,
    )
    base = Subject(name="a", status="ok", time_ns=1e6, verdict="baseline", speedup=1.0)
    subjects = draw(st.sampled_from([(base, rival), (base,), (rival,)]))
    return Case(model="m", baseline="a", subjects=subjects, interrupted=draw(st.booleans()))


def assert_plain(text: str) -> None:
    """No share above the whole, and no number that is none."""
    assert not re.search(r"\b(nan|inf|None)\b", text)
    assert all(float(share) <= 100 for share in re.findall(r"([\d.]+) %", text))


@settings(deadline=None)
@given(profiles())
def test_a_profile_adds_up_to_its_whole(profile: Profile) -> None:
    assert_plain(profile_answer(profile))
    assert_plain(repr(ProfileResult(replace(profile, answer=profile_answer(profile)))))
    whole = profile.usual_nodes_us
    assert sum(node.usual_us for node in profile.nodes) == pytest.approx(whole)
    assert sum(operator.usual_us for operator in profile.operators) == pytest.approx(whole)
    assert all(module.usual_us <= module.usual_total_us * EXACT <= whole * EXACT**2 for module in profile.modules)
    for timed in profile.nodes:
        assert min(timed.steady_us) <= timed.usual_us * EXACT
        assert timed.usual_us <= max(timed.steady_us) * EXACT
    named = [name for name in ("Conv", "Add") if f"{name} takes" in profile_answer(profile)]
    assert set(named) <= {operator.op_name for operator in profile.operators}


@settings(deadline=None)
@given(profiles("a"), profiles("b"), races(), st.sampled_from([0.0, 0.01, 0.4]))
def test_a_diff_claims_only_what_its_verdicts_say(
    before: Profile, after: Profile, race: Case | None, min_share: float
) -> None:
    diff = Diff(before=before, after=after, rows=compared_rows(before, after), race=race)
    answer = diff_answer(diff)
    page = repr(DiffResult(replace(diff, answer=answer)))
    assert_plain(re.sub(r"95 % CI [^)]*", "", page))
    rival = next((subject for subject in race.subjects if subject.name == "b"), None) if race else None
    verdict = rival.verdict if rival is not None else None
    total = DiffResult(diff).columns("merged").footers[-1].values
    assert total["before_us"] == pytest.approx(before.usual_nodes_us)
    assert total["after_us"] == pytest.approx(after.usual_nodes_us)
    for words, verdicts in CLAIMS.items():
        assert words not in answer or verdict in verdicts
    assert ("Undecided" in answer) <= (verdict == "undecided")
    changed = [row for row in diff.rows if row.side == "=" and not row.noise]
    assert ("largest proven change" in answer) <= bool(changed)
    few = min(len(before.launches), len(after.launches)) < 5
    assert not (few and changed)
    if not before.iterations or not after.iterations:
        assert "the same" not in answer
    for sums in (by_row(diff, min_share), by_call(diff, min_share, 9)):
        assert sorted(row.label for each in sums for row in each.rows) == sorted(row.label for row in diff.rows)
        assert sum(each.before_usual_us for each in sums) == pytest.approx(before.usual_nodes_us)
        assert sum(each.after_usual_us for each in sums) == pytest.approx(after.usual_nodes_us)
        assert not any(not each.noise and few for each in sums if {row.side for row in each.rows} == {"="})
