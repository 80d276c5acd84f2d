"""Made records of every kind: no part above its whole, no sentence without its figures."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.analyze.answers.memory import memory_answer
from onnxperf.analyze.graphs.live_set import live_sets
from onnxperf.analyze.judges.arena import unexplained_bytes
from onnxperf.analyze.judges.growth import judge_growth
from onnxperf.records.graph import Graph, GraphNode
from onnxperf.records.memory import ArenaTrial, Breakdown, MemoryCase, MemoryStep, MemorySubject, Resident
from onnxperf.render.memory.page import memory_page
from onnxperf.render.memory.tables import bytes_table
from onnxperf.wording.numbers import in_megabytes
from tests.render.drawn_pages import printed
from tests.render.memory import examples as made

SIZES = st.sampled_from([0, 1, *(mb * made.MB for mb in (1, 3, 4, 40, 240, 300))]) | st.integers(0, 600 * made.MB)
OPERATORS = st.sampled_from(["MatMul", "Relu", "Add", "Reshape", "Conv", "Unheard"])


@st.composite
def steps(draw: st.DrawFn) -> tuple[MemoryStep, ...]:
    """Loading and calls until some point: nothing, loading alone, one call, few calls."""
    names = ["load", "first call", *["steady call"] * draw(st.integers(0, 5))][: draw(st.integers(0, 7))]
    found = []
    for name in names:
        before, after, more = draw(SIZES), draw(SIZES), draw(SIZES)
        fields: dict[str, Any] = {"name": name, "exact": draw(st.booleans()), "duration_ns": 1}
        resident = [Resident(anonymous_bytes=each, file_bytes=0) for each in (before, after)]
        found.append(MemoryStep(before=resident[0], after=resident[1], peak_bytes=max(before, after) + more, **fields))
    return tuple(found)


@st.composite
def breakdowns(draw: st.DrawFn, need: int | None) -> Breakdown:
    """Of a chain of operators with tensors of any size."""
    count = draw(st.integers(1, 6))
    nodes = tuple(
        GraphNode(
            name=f"n{at}",
            op_type=draw(OPERATORS),
            inputs=(f"t{draw(st.integers(0, at))}", f"t{at}"),
            outputs=(f"t{at + 1}",),
        )
        for at in range(count)
    )
    tensors = {f"t{at}": draw(SIZES) for at in range(count + 1)}
    peak = live_sets(Graph(inputs=("t0",), outputs=(f"t{count}",), nodes=nodes), tensors).peak
    assert peak is not None
    found = made.breakdown(
        copies=draw(st.sampled_from([(), (made.cast("t0", 5),), (made.cast("t0", 240),)])),
        arena_held_bytes=draw(st.none() | SIZES),
        planned_bytes=draw(st.sampled_from([peak.live_bytes, None])),
        peak_node=peak.name,
        peak_op=peak.op_type,
        alive=peak.alive,
    )
    return replace(found, unexplained_bytes=unexplained_bytes(need, found))


@st.composite
def subjects(draw: st.DrawFn, name: str) -> MemorySubject:
    """Measured, failed or interrupted at any step, with or without growth, breakdown and trials."""
    probed = made.subject(name, steps=draw(steps()), sizes=draw(st.sampled_from([1, 3])), breakdown=None)
    status: Any = draw(st.sampled_from(["ok", "oom", "failed", "pending"]))
    points = draw(st.lists(SIZES, max_size=8))
    growth = judge_growth(list(enumerate(points, start=6)), draw(st.sampled_from([(), (0, 0), (0, 400 * made.MB)])))
    chosen: Any = draw(st.sampled_from([(), ("off", "shrinkage")]))
    trials = tuple(ArenaTrial(setting=each, needed_bytes=draw(st.none() | SIZES)) for each in chosen)
    breakdown = draw(st.none() | breakdowns(probed.needed_bytes))
    reason = "" if status == "ok" else "it was too much"
    return replace(probed, status=status, reason=reason, growth=growth, breakdown=breakdown, trials=trials)


@st.composite
def cases(draw: st.DrawFn) -> MemoryCase:
    found = [draw(subjects(name)) for name in ("ort", "numpy", "skl")[: draw(st.integers(1, 3))]]
    case = made.case(*found, interrupted=draw(st.booleans()), dims={"batch": draw(st.sampled_from([(1,), (1, 8)]))})
    return replace(case, answer=memory_answer(case))


@given(cases())
def test_no_part_of_a_breakdown_is_above_its_whole(case: MemoryCase) -> None:
    for subject in case.subjects:
        found, need = subject.breakdown, subject.needed_bytes
        if found is None:
            continue
        counted = sum(each.size_bytes for each in found.alive if each.role != "input" and not each.within)
        assert found.planned_bytes in (None, counted)
        assert all(each.within != each.name for each in found.alive)
        if found.unexplained_bytes is not None:
            assert need is not None
            assert found.planned_bytes is not None
            assert 0 < found.unexplained_bytes <= need - found.planned_bytes
        rows = {row.what for row in bytes_table(case, subject).rows}
        assert ("unexplained" in rows) == (found.unexplained_bytes is not None)


def _parts(answer: str) -> list[tuple[str, list[str]]]:
    """Each size that a sentence divides, and what it says are parts of it."""
    size = r"\d[\d.]* (?:[kMGT]B|B)"
    wholes = re.findall(rf"(?:needs|takes|the most,) ({size})([^:]*?)(?:\. |; \w+ needs|\.$)", answer)
    return [(whole, re.findall(rf"({size}) of it", rest)) for whole, rest in wholes]


def bytes_in(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


@given(cases())
def test_no_sentence_is_without_its_figures(case: MemoryCase) -> None:
    answer = case.answer
    assert answer.endswith(".")
    assert not re.search(r"None|nan|–|-\d|\{", answer)
    needs = {subject.name: subject.needed_bytes for subject in case.subjects}
    if all(need is None for need in needs.values()):
        assert answer.startswith("No subject could be measured")
        return
    for whole, parts in (each for line in answer.splitlines() for each in _parts(line)):
        assert all(bytes_in(part) <= bytes_in(whole) for part in parts), answer
    known = {in_megabytes(need) for need in needs.values() if need is not None}
    assert any(text in answer for text in known)
    sentences = re.split(r"\.\s", answer)
    for subject in case.subjects:
        about = " ".join(each for each in sentences if re.search(rf"\b{subject.name} (leaks|grew)", each))
        growth = subject.growth if needs[subject.name] is not None else None
        rate = growth is not None and growth.kind in ("leak", "arena") and growth.bytes_per_call > 0
        assert ("per call" in about) == rate
        assert ("in a step of" in about) == (growth is not None and growth.step_bytes is not None)


@given(cases())
def test_every_record_can_be_shown(case: MemoryCase) -> None:
    assert case.answer.split()[0] in printed(memory_page(made.memory(case)), 100)
