"""What counts of instructions say, and whether the times say the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from onnxperf.records.comparison import Verdict
from onnxperf.records.race import CountVerdict, Subject
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, magnitude, plain, ratio, rough_time

_AGREE = "both agree"
_NOT_BY_NUMBER = "the difference in time does not come from the number of instructions"
_NO_EFFECT = "the times are equal all the same"
_MEANINGS: Mapping[tuple[Verdict, CountVerdict], str] = {
    ("faster", "fewer"): _AGREE,
    ("slower", "more"): _AGREE,
    ("equivalent", "equal"): _AGREE,
    ("faster", "more"): "time and instructions disagree, as it is faster with more of them",
    ("slower", "fewer"): "time and instructions disagree, as it is slower with fewer of them",
    ("faster", "equal"): _NOT_BY_NUMBER,
    ("slower", "equal"): _NOT_BY_NUMBER,
    ("equivalent", "fewer"): _NO_EFFECT,
    ("equivalent", "more"): _NO_EFFECT,
    ("undecided", "fewer"): "the time is undecided",
    ("undecided", "more"): "the time is undecided",
    ("undecided", "equal"): "the time is undecided",
}
_MANY = 3
"""Subjects up to which a sentence has the figure of each."""


def about_counts(subjects: Sequence[Subject], baseline: str | None, min_effect: float) -> str:
    """How many instructions subjects take compared with the baseline, and where the times say something else."""
    base = next((each for each in subjects if each.name == baseline and each.instructions), None)
    if base is None:
        return ""
    rivals = [each for each in subjects if each is not base and each.status == "ok" and each.instruction_ratio]
    if not rivals:
        return f"A call of {base.name} takes {magnitude(base.instructions or 0.0)} instructions (one count)."
    found: dict[str, list[Subject]] = {}
    for rival in rivals:
        found.setdefault(_meaning(rival, min_effect), []).append(rival)
    return " ".join(_sentence(meaning, each, base.name) for meaning, each in found.items())


def _meaning(subject: Subject, min_effect: float) -> str:
    verdict, counted = subject.verdict, subject.instruction_verdict
    if verdict is None or counted is None:
        return ""
    small = abs(math.log(subject.instruction_ratio or 1.0)) <= math.log1p(min_effect)
    return _AGREE if verdict == "equivalent" and small else _MEANINGS.get((verdict, counted), "")


def _sentence(meaning: str, subjects: Sequence[Subject], base: str) -> str:
    if len(subjects) > _MANY:
        return f"By instructions and by time, {meaning} on {count(len(subjects), 'subject')} against {base}."
    needs = [f"{each.name} needs {ratio(each.instruction_ratio)}" for each in subjects]
    return (
        ": ".join(filter(None, [f"By instructions, {listed(needs)} those of {base} (one count each)", meaning])) + "."
    )


def note_on_counts(subjects: Sequence[Subject], vector_extensions: Sequence[str]) -> tuple[str, ...]:
    """How instructions were counted, and what this processor has that was not."""
    sets = sorted({str(each.conditions["instruction_set"]) for each in subjects if each.instructions})
    if not sets:
        return ()
    wider = any(each.startswith("avx512") for each in vector_extensions) and "AVX-512" not in sets
    knows = ", as Valgrind does not support AVX-512: this processor runs other code" if wider else ""
    return (f"instructions counted with 1 thread, without spinning, with {listed(sets)}{knows}",)


def note_on_uncounted(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Subjects whose instructions could not be counted, and why."""
    return tuple(f"instructions of {name} not counted: {reason}" for name, reason in reasons.items())


def before_counting(name: str, number: int, total: int, seconds: float) -> str:
    """Which subject is counted, and how long each takes, roughly, at most."""
    return f"counting instructions of {name}: {plain(number)} of {plain(total)}, up to about {rough_time(seconds)} each"
