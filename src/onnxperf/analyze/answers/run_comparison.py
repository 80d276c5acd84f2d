"""What comparing two runs means, in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.race import YARDSTICK
from onnxperf.records.runs import ComparedSubject
from onnxperf.wording.numbers import count, ratio, ratio_within
from onnxperf.wording.verdicts import verdict_word

NOT_SHARED = "no verdict: the runs share no subject"
_ORDER = ("faster", "slower", "equivalent", "undecided")


def comparison_answer(names: tuple[str, str], rows: Sequence[ComparedSubject]) -> str:
    """What the second of two runs is in comparison with the first."""
    if not any(row.yardstick for row in rows):
        return f"{NOT_SHARED}."
    judged = [row for row in rows if row.verdict in _ORDER]
    if not judged:
        return "Only the yardstick is shared."
    if len(judged) == 1:
        return _about_one(names, judged[0])
    counts = {word: sum(row.verdict == word for row in judged) for word in _ORDER}
    words = ", ".join(f"{number} {verdict_word(word)}" for word, number in counts.items() if number)
    return f"Of {count(len(judged), 'subject')} in run {names[1]}: {words}."


def note_on_drift(drift: float, when: str) -> str:
    """How much the fixed model that both runs measured has changed."""
    took = f"it took {ratio(drift)} as long {when}"
    return f"compared by {YARDSTICK}, which was measured next to both: {took}, and all times were divided by its time"


def _about_one(names: tuple[str, str], row: ComparedSubject) -> str:
    subject = row.second if row.first == row.second else f"{row.second} (in place of {row.first})"
    low, high = row.speedup_low, row.speedup_high
    found, within = ratio_within(row.speedup or 0.0, None if low is None or high is None else (low, high))
    if row.verdict == "undecided":
        return f"Undecided if {subject} is faster in run {names[1]} than in run {names[0]}{within}: {row.reason}."
    word = verdict_word(row.verdict or "")
    than = f"{found} as fast as in run {names[0]}{within}, by the yardstick {row.yardstick}"
    return f"{subject} is {word} in run {names[1]}: {than}."
