"""What was found for an einsum equation, or in a model with Einsum nodes, in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from onnxperf.analyze.judges.einsum import (
    chosen_in,
    graphs_in,
    is_faster,
    is_gain,
    libraries_in,
    outcome_of,
    time_ratio,
    winner_in,
)
from onnxperf.records.einsum import EinsumPlan, RewrittenSite
from onnxperf.records.race import Case, Subject
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import Ends, count, duration, grouped, interval, plain, ratio, significant, time_text

# ---------------------------------------------------------------- an equation


def estimate_answer(graph: str, cost_us: float) -> str:
    """Answer which graph the cost model chose."""
    return f"{graph} is the cheapest by estimate: {duration(cost_us * 1e3)} per call."


def partial_answer(graph: str, equation: str, time_ns: float) -> str:
    """Answer which graph led when the search was interrupted."""
    lead = f"{graph} had the lowest time so far in the search for {equation}: {duration(time_ns)} per call"
    return f"{lead}; nothing was raced, so nothing is decided."


def left_out_note(untimed: int, candidates: int, seconds: float) -> str:
    """Which candidates the time of a search did not suffice for."""
    were = "candidate was" if untimed == 1 else "candidates were"
    few = f"{grouped(untimed)} of {grouped(candidates)} {were} not timed"
    return f"{few}: `time={plain(seconds)}` is too short for all, and they are the slowest by estimate"


def finalists_note(raced: int, finalists: int) -> str:
    """How many finalists a race had no time for."""
    return f"only the best {raced} of {finalists} finalists were raced: a longer `time` has room for all"


def no_time_for(names: Sequence[str], call_ns: float | None = None) -> list[str]:
    """A note on libraries whose start, or whose calls, would leave the graphs too few rounds."""
    if not names:
        return []
    what = "starting takes" if call_ns is None else f"a call takes about {time_text(call_ns)},"
    return [f"{_left_out(names)}: {what} too long for this `time`"]


def no_memory_for(names: Sequence[str]) -> list[str]:
    """A note on libraries that there is no memory for next to the graphs."""
    return [f"{_left_out(names)}: not enough free memory"] if names else []


def no_limit_note(limit: str, faster: str) -> str:
    """Why the bare product is not shown."""
    return f"the {limit} is not shown: {faster} takes less time, so it is no limit here"


def _left_out(names: Sequence[str]) -> str:
    return f"{listed(names)} {'was' if len(names) == 1 else 'were'} left out"


def for_the_whole(reason: str, before_s: float) -> str:
    """A reason that proposes a `time` for the race, with one for the whole command, which also searches."""
    return re.sub(r"`time=(\d+)`", lambda found: f"`time={int(found[1]) + math.ceil(before_s)}`", reason)


def race_answer(case: Case, limit: str | None, equation: str) -> str:
    """Answer which graph the verdicts of a race call for, by how much, and how far it is from the limit."""
    winner = winner_in(case, limit)
    if winner is None:
        return _undecided(case, limit, equation)
    rivals = [each for each in graphs_in(case, limit) if each is not winner]
    about = _about_faster if winner.verdict == "faster" else _about_baseline
    times = time_ratio(case, winner.name, limit)
    limited = "" if times is None else f"; it takes {ratio(times)} as long as the {limit}"
    return f"{about(case, winner, rivals, equation, limited)}{_faster_still(case, winner)}"


def _about_faster(case: Case, winner: Subject, rivals: Sequence[Subject], equation: str, limited: str) -> str:
    near = sum(not is_faster(winner, each) for each in rivals)
    gain = f"{_times_as_fast(winner)} as {case.baseline}{_interval(winner)}"
    if near:
        return f"For {equation}, {winner.name} is {gain}{limited}; {count(near, 'other graph')} may be as fast."
    return f"{winner.name} is the fastest graph for {equation}: {gain}{limited}."


def _about_baseline(case: Case, winner: Subject, rivals: Sequence[Subject], equation: str, limited: str) -> str:
    if not rivals:
        return f"{winner.name} is the only graph for {equation} that was raced{limited}."
    near = sum(not is_faster(winner, each) for each in rivals)
    if near:
        equal = f"{count(near, 'graph differs', 'graphs differ')} from it by less than"
        none = f"No graph for {equation} is measurably faster than {winner.name}{limited}"
        return f"{none}; {equal} {significant(100 * case.min_effect)} %."
    return f"{winner.name} is already the fastest graph for {equation}{limited}."


def _faster_still(case: Case, winner: Subject) -> str:
    names = [each.name for each in libraries_in(case) if is_faster(each, winner)]
    return f" {listed(names)} {'is' if len(names) == 1 else 'are'} faster still." if names else ""


def _undecided(case: Case, limit: str | None, equation: str) -> str:
    """What is known where no graph is proven faster, and what becomes of the plan."""
    chosen = chosen_in(case, limit)
    if chosen is None:
        return f"No graph for {equation} could be measured."
    than = f"faster than {case.baseline}" if chosen.name == case.baseline else "the fastest"
    none = f"No graph for {equation} is measurably {than}{_in_doubt(graphs_in(case, limit))}"
    return f"{none}. {chosen.name} is used, and nothing is saved for later calls."


def _in_doubt(graphs: Sequence[Subject]) -> str:
    """How many graphs are undecided, and what is known about the most promising of them."""
    doubtful = [each for each in graphs if each.verdict in ("undecided", None)]
    if not doubtful:
        return ""
    first = max(doubtful, key=lambda each: each.speedup or 0.0)
    known = ", ".join(filter(None, [_figures(first), first.reason])) or "not compared"
    among = "among them " if len(doubtful) > 1 else ""
    return f"; {count(len(doubtful), 'graph is', 'graphs are')} undecided, {among}{first.name} ({known})"


# ---------------------------------------------------------------- a model


def einsum_reason(plan: EinsumPlan) -> str:
    """Why the Einsum of a site stays before anything is tried in its model."""
    if not plan.searched:
        return "onnxruntime's Einsum is the cheapest by estimate"
    return "by itself, no graph is proven faster than onnxruntime's Einsum in its best order"


def rewrite_answer(
    model: str, sites: Sequence[RewrittenSite], rival: Subject | None, output: str, interrupted: bool = False
) -> str:
    """Answer how many Einsum nodes were replaced and what the model gains, or why nothing was written.

    `sites` are those before the last race: a site that is rewritten there was replaced in the `rival`. `output` is
    empty if it could not be written.
    """
    nodes = sum(len(site.nodes) for site in sites)
    if not nodes:
        return f"{model} has no Einsum node; nothing was written."
    replaced = sum(len(site.nodes) for site in sites if site.outcome == "rewritten")
    of_all = f"{replaced} of {count(nodes, 'Einsum node')}"
    if rival is not None and is_gain(rival) and not interrupted:
        gain = f"{_times_as_fast(rival)}{_interval(rival)}"
        written = f"written to {output}" if output else "the file could not be written"
        return f"{of_all} rewritten; {model} is {gain}; {written}."
    return f"Nothing was written: {_why_not(sites, rival, of_all, interrupted)}."


def _why_not(sites: Sequence[RewrittenSite], rival: Subject | None, of_all: str, interrupted: bool) -> str:
    if interrupted:
        return "the rewriting was interrupted"
    if rival is not None:
        figures, reason = _figures(rival), rival.reason
        found = f"{outcome_of(rival)[1]}{f' ({figures})' if figures else ''}{f': {reason}' if reason else ''}"
        return f"with {of_all} replaced, {found}"
    if all(site.outcome == "skipped" for site in sites):
        return f"none of {count(sum(len(site.nodes) for site in sites), 'Einsum node')} could be tried"
    return "no replacement keeps the outputs and makes the whole model measurably faster"


def _times_as_fast(subject: Subject) -> str:
    return f"{ratio(subject.speedup or 1.0, _bounds(subject))} as fast"


def _interval(subject: Subject) -> str:
    return f" ({ends})" if (ends := _ends(subject)) else ""


def _figures(subject: Subject) -> str:
    speedup = "" if subject.speedup is None else f"speedup {ratio(subject.speedup, _bounds(subject))}"
    return ", ".join(filter(None, [speedup, _ends(subject)]))


def _ends(subject: Subject) -> str:
    ends = _bounds(subject)
    return "" if ends is None else f"95 % CI {interval(*ends)}"


def _bounds(subject: Subject) -> Ends | None:
    low, high = subject.speedup_low, subject.speedup_high
    return None if low is None or high is None else (low, high)
