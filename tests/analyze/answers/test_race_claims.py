"""Whatever a race measured, no answer claims what its table does not show, and no row contradicts itself."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from onnxperf.analyze.answers.race import answer
from onnxperf.analyze.judges.comparison import baseline_of, compare
from onnxperf.records.base import Status
from onnxperf.records.race import FEWEST_ROUNDS, Block, Case, Measurement, Subject
from onnxperf.wording.numbers import ratio

_STATUSES: list[Status] = ["ok", "ok", "ok", "ok", "differs", "crashed", "failed"]
STATUSES = st.sampled_from(_STATUSES)
SPEEDS = st.sampled_from([1.0, 1.0, 1.005, 1.03, 1.3, 2.0, 11.0, 0.5])
NOISES = st.sampled_from([0.0, 0.001, 0.02, 0.3, 2.0])
EFFECTS = st.sampled_from([0.001, 0.01, 0.05])


@st.composite
def measurements(draw: st.DrawFn, name: str, planned: int, launches: int) -> Measurement:
    """A subject of a race of so many rounds: lost early, noisy or steady, with or without single calls."""
    status = draw(STATUSES)
    rounds = planned if status in ("ok", "differs") else draw(st.integers(0, planned))
    # An interrupt leaves some subjects a round behind.
    rounds -= draw(st.integers(0, 1)) if status == "ok" and rounds else 0
    speed, noise = draw(SPEEDS), draw(NOISES)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    blocks = tuple(
        Block(
            round=number,
            position=0,
            launch=number * launches // planned,
            calls=100,
            start_ns=number * 10**8,
            duration_ns=int(100 * 10_000 / speed * (1 + noise) ** rng.normal()),
        )
        for number in range(rounds)
    )
    singles = draw(st.sampled_from([0, 1, 63, 64, 700])) if blocks else 0
    call_ns = tuple(int(10_000 / speed * (1 + noise) ** rng.normal()) for _ in range(singles))
    return Measurement(name=name, status=status, blocks=blocks, call_ns=call_ns, looks=1, looks_planned=1)


@st.composite
def races(draw: st.DrawFn) -> list[Measurement]:
    planned = draw(st.sampled_from([1, 2, 5, 6, 7, 13, 19, 20, 24]))
    launches = draw(st.integers(1, min(planned, 3)))
    return [draw(measurements(f"s{number}", planned, launches)) for number in range(draw(st.integers(1, 5)))]


def names_in(text: str) -> list[str]:
    return re.findall(r"s\d", text)


def judged(subjects: list[Measurement], min_effect: float) -> Case:
    baseline = baseline_of(subjects, None)
    rows = compare(subjects, baseline, min_effect)
    return Case(
        model="m",
        baseline=baseline,
        min_effect=min_effect,
        subjects=rows,
        answer=answer(rows, baseline, min_effect),
    )


# Every sentence that may stand in an answer, with the verdict that its subjects must have.
CLAIMS = (
    (r"^(s\d) is fastest: [\d.]+(?:× as fast as| % faster than) s\d", "faster"),
    (r"^(s\d) is [\d.]+(?:× as fast as| % faster than) s\d", "faster"),
    (r"^(?:s\d is fastest: )?(s\d),? (?:the next, )?takes [\d.]+× as long as s\d", "slower"),
    (r"^(?:s\d is fastest: )?(s\d),? (?:the next, )?is [\d.]+ % slower than s\d", "slower"),
    (r"^([s\d, and]+?) (?:is|are) slower than s\d\.", "slower"),
    (r"^(s\d) is as fast as s\d", "equivalent"),
    (r"^([s\d, and]+?) differs? from s\d by less than", "equivalent"),
    (r"^Undecided if (s\d) is faster", "undecided"),
    (r"^Undecided: ([s\d, ]+) \(", "undecided"),
)
OTHERS = (
    r"^(s\d) takes ",
    r"^No subject could be measured",
    r"^Not compared in speed, as ",
)


@given(races(), EFFECTS)
def test_every_sentence_of_an_answer_has_its_verdict_in_the_table(subjects: list[Measurement], effect: float) -> None:
    case = judged(subjects, effect)
    rows = {row.name: row for row in case.subjects}
    for sentence in re.split(r"(?<=[.)])\s+(?=[A-Z]|s\d)", case.answer):
        found = [(re.match(pattern, sentence), verdict) for pattern, verdict in CLAIMS]
        claims = [(match, verdict) for match, verdict in found if match]
        assert claims or any(re.match(pattern, sentence) for pattern in OTHERS), sentence
        for match, verdict in claims[:1]:
            for name in names_in(match.group(1)):
                assert (rows[name].verdict, rows[name].status) == (verdict, "ok"), sentence


@given(races(), EFFECTS)
def test_the_fastest_is_proven_against_all_others(subjects: list[Measurement], effect: float) -> None:
    case = judged(subjects, effect)
    if not (match := re.search(r"(s\d) is fastest", case.answer)):
        return
    best = next(row for row in case.subjects if row.name == match.group(1))
    for row in case.subjects:
        if row is best or row.status != "ok" or row.speedup is None or row.verdict in ("slower", "baseline"):
            continue
        assert best.verdict == "faster"
        if best.speedup_low is None:
            assert row.verdict == "equivalent"
        else:
            assert row.speedup_high is not None
            assert row.speedup_high < best.speedup_low


@given(races(), EFFECTS)
def test_no_row_contradicts_itself(subjects: list[Measurement], effect: float) -> None:
    for row in judged(subjects, effect).subjects:
        times = [row.min_ns, row.median_ns, row.p90_ns, row.p99_ns, row.max_ns]
        known = [each for each in times if each is not None]
        assert known == sorted(known)
        assert bool(known) == bool(row.blocks) == (row.mean_ns is not None)
        set_ups = {(block.launch, block.set_up) for block in row.blocks}
        carries = len(row.blocks) >= FEWEST_ROUNDS and len(set_ups) > 1
        has_mean = len(row.blocks) >= FEWEST_ROUNDS and len(set_ups) > 2
        assert (row.mean_low_ns is not None) == (row.mean_high_ns is not None) == has_mean
        assert (row.unit is None) == (row.units is None) == (row.speedup_low is None)
        if not carries:
            assert (row.speedup_low, row.speedup_high) == (None, None)
        if row.mean_low_ns is not None and row.mean_high_ns is not None:
            assert row.mean_low_ns <= (row.mean_ns or 0) <= row.mean_high_ns
        assert_verdict_fits(row)


def assert_verdict_fits(row: Subject) -> None:
    if row.verdict == "faster":
        assert (row.speedup or 0) > 1
        assert (row.speedup_low or 2) > 1
    if row.verdict == "slower":
        assert (row.speedup or 2) < 1
        assert (row.speedup_high or 0) < 1
    if row.verdict == "equivalent":
        assert row.speedup_low is not None
    if row.verdict == "undecided" and row.status == "ok":
        assert row.reason


@given(races(), EFFECTS)
@example([], 0.01)
def test_numbers_in_the_answer_are_those_of_the_table(subjects: list[Measurement], effect: float) -> None:
    case = judged(subjects, effect)
    shown = re.findall(r"(s\d) is (?:fastest: )?([\d.]+×) as fast as", case.answer)
    rows = {row.name: row for row in case.subjects}
    for name, number in shown:
        row = rows[name]
        ends = None if row.speedup_low is None or row.speedup_high is None else (row.speedup_low, row.speedup_high)
        assert number == ratio(row.speedup, ends)
