"""What a result means, in one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from onnxperf.records.base import is_busy
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import MIN_ROUNDS, Case, Measurement, Subject
from onnxperf.wording.busy import busy_text
from onnxperf.wording.names import listed, name_of
from onnxperf.wording.numbers import Ends, count, duration, durations, interval, ratio, significant, time_text
from onnxperf.wording.spans import in_one, kind_of

_LARGE_PART = 0.25
"""Smallest share of a call for which a part other than computing is mentioned."""
_PARTS_MAY_MISS = 0.2
"""Share of a call by which its parts, which are timed in other calls, may miss its time."""
_LONG_S = 15.0
"""A race that lasts longer is announced with its length."""
_FEW_SLOW = 1
"""Launches that may be slow as a whole by accident."""


def answer(subjects: Sequence[Subject], baseline: str | None, min_effect: float) -> str:
    """Which subject is faster, and by how much; times of other outputs are not compared."""
    base = next((subject for subject in subjects if subject.name == baseline), None)
    if base is None or base.time_ns is None:
        return "No subject could be measured."
    comparable = [s for s in subjects if s.status == "ok" and s.speedup is not None]
    rivals = [s for s in comparable if s is not base] if base.status != "differs" else []
    differing = [s.name for s in subjects if s.status == "differs"]
    lost = [s.name for s in subjects if s is not base and s.status not in ("ok", "differs") and s.blocks]
    sentences = [_about_all(rivals, base, min_effect)]
    if differing:
        sentences.append(f"Not compared in speed, as outputs differ: {listed(differing)}.")
    if lost:
        sentences.append(f"Not compared in speed, as not measured to the end: {listed(lost)}.")
    return " ".join(sentences)


def _about_all(rivals: Sequence[Subject], base: Subject, min_effect: float) -> str:
    if not rivals:
        ends = (
            f" (95 % CI {durations(base.time_low_ns, base.time_high_ns)})"
            if base.time_low_ns and base.time_high_ns
            else ""
        )
        return f"{base.name} takes {duration(base.time_ns or 0.0)} per call{ends}."
    if len(rivals) == 1:
        return _about_one(rivals[0], base, min_effect)
    return _about_many(rivals, base, min_effect)


def before_the_race(rounds: int, needed: int, seconds: float, seconds_for_all: float) -> str:
    """What a plan cannot show, or how long it takes if that is long; empty otherwise.

    `needed` rounds decide a large difference; all that a small one needs take `seconds_for_all`.
    """
    if rounds < MIN_ROUNDS:
        shows = "too few for a verdict" if rounds < needed else "enough only for a large difference"
        return f"{count(rounds, 'round')}: {shows}; {MIN_ROUNDS} take about {time_text(1e9 * seconds_for_all)}"
    return f"about {time_text(1e9 * seconds)} in all" if seconds > _LONG_S else ""


def note_on_others(share: float | None) -> tuple[str, ...]:
    """A warning where other programs used the processors during a race."""
    if share is None or not is_busy(share):
        return ()
    return (busy_text(share),)


def notes_on_readings(case: Case) -> list[str]:
    """Rows that are not as simple as they look: calls that vary, two speeds, launches that were slow as a whole."""
    found = {
        "calls vary: compared by means": [each.name for each in case.subjects if each.varies],
        "unsteady, as its own time differs from the one that its speedup gives": [
            each.name for each in case.subjects if each.unsteady
        ],
        "some launches were slower as a whole by more than 8 %": [
            f"{each.name} ({each.slow_launches} of {each.units})"
            for each in case.subjects
            if (each.slow_launches or 0) > _FEW_SLOW and each.units
        ],
    }
    return [f"{what}: {listed(map(name_of, names))}" for what, names in found.items() if names]


def about_parts(subjects: Sequence[Subject], casts: Mapping[str, str]) -> str:
    """For divided calls: which subjects spend much of their time on something other than computing, and on what.

    `casts` has, by the label of a model, what is cast in its calls.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for subject in subjects:
        if subject.split is None or not _parts_add_up(subject):
            continue
        work, time_ns = max(
            (("preparing inputs", subject.split.prepare_ns), ("fetching outputs", subject.split.fetch_ns)),
            key=lambda part: part[1],
        )
        if time_ns and time_ns >= min(_LARGE_PART * subject.split.total_ns, subject.split.compute_ns):
            cause = casts.get(subject.model or "") if work == "preparing inputs" else None
            where = f"{work}: {cause}" if cause else work
            found.setdefault(where, []).append((subject.name, time_ns / subject.split.total_ns))
    return " ".join(f"{_shares(of_subjects)} goes into {where}." for where, of_subjects in found.items())


def notes_on_parts(case: Case) -> list[str]:
    """For divided calls: subjects whose parts do not add up to the time of a call."""
    if not any(subject.split for subject in case.subjects):
        return []
    return [
        f"{name_of(subject.name)}: {note}"
        for subject in case.subjects
        if subject.median_ns is not None and (note := _note_on_parts(subject))
    ]


def _note_on_parts(subject: Subject) -> str:
    if subject.split is None:
        return "a callable is only timed as a whole"
    if _parts_add_up(subject):
        return ""
    takes = duration(subject.median_ns)
    made_once = subject.call == "ort-values" or "framework" in subject.conditions
    if made_once and subject.split.total_ns > (subject.median_ns or 0):
        return f"its {takes} are on tensors made once; a caller with arrays also pays for preparing and fetching"
    total = duration(subject.split.total_ns)
    return f"its parts add up to {total}, but a call takes {takes}: they are not shares of it"


def _parts_add_up(subject: Subject) -> bool:
    if subject.split is None or subject.median_ns is None:
        return False
    return abs(subject.split.total_ns - subject.median_ns) <= _PARTS_MAY_MISS * subject.median_ns


def _shares(of_subjects: Sequence[tuple[str, float]]) -> str:
    names = [name for name, _ in of_subjects]
    shown = sorted({significant(round(100 * share)) for _, share in of_subjects}, key=int)
    range_text = shown[0] if len(shown) == 1 else f"{shown[0]} to {shown[-1]}"
    return f"{range_text} % of the time of {listed(names)}"


def cast_text(types: Mapping[str, tuple[str, str]]) -> str:
    """Which inputs are cast from which type to which, as in `X is cast from float64 to float32`."""
    by_types: dict[tuple[str, str], list[str]] = {}
    for name, change in types.items():
        by_types.setdefault(change, []).append(name)
    return ", ".join(
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} cast from {given} to {wanted}"
        for (given, wanted), names in by_types.items()
    )


def _about_one(rival: Subject, base: Subject, min_effect: float) -> str:
    if rival.verdict in ("faster", "slower"):
        return f"{rival.name} {_how_much(rival, base)}."
    if rival.verdict == "equivalent":
        least = significant(100 * min_effect)
        return f"{rival.name} is as fast as {base.name}: they differ by less than {least} %."
    within = "" if rival.speedup_low is None else f" (95 % CI {interval(rival.speedup_low, rival.speedup_high)})"
    found = f"Undecided if {rival.name} is faster than {base.name}{within}"
    return ": ".join(filter(None, [found, rival.reason])) + "."


def _about_many(rivals: Sequence[Subject], base: Subject, min_effect: float) -> str:
    by_verdict = {verdict: [s for s in rivals if s.verdict == verdict] for verdict in get_args(Verdict)}
    faster = sorted(by_verdict["faster"], key=lambda s: -(s.speedup or 0))
    sentences = [_about_best(faster[0], rivals, base)] if faster else []
    if not faster and by_verdict["slower"]:
        sentences.append(_about_slower(by_verdict["slower"], rivals, base))
    if by_verdict["equivalent"]:
        equal = listed([s.name for s in by_verdict["equivalent"]])
        verb = "differs" if len(by_verdict["equivalent"]) == 1 else "differ"
        sentences.append(f"{equal} {verb} from {base.name} by less than {significant(100 * min_effect)} %.")
    for undecided in _by_reason(by_verdict["undecided"]):
        reason = in_one([s.reason for s in undecided]) or "no reason is known"
        sentences.append(f"Undecided: {', '.join(s.name for s in undecided)} ({reason}).")
    return " ".join(sentences)


def _about_best(best: Subject, rivals: Sequence[Subject], base: Subject) -> str:
    """The one with the largest speedup: the fastest only where the intervals of all others lie below its own."""
    peers = [s.name for s in rivals if s is not best and not _is_slower(s, best)]
    if not peers:
        return f"{best.name} is fastest: {_how_much(best, base).removeprefix('is ')}."
    return f"{best.name} {_how_much(best, base)}; {listed(peers)} may be as fast."


def _about_slower(slower: Sequence[Subject], rivals: Sequence[Subject], base: Subject) -> str:
    if len(slower) == len(rivals):
        nearest = max(slower, key=lambda s: s.speedup or 0)
        return f"{base.name} is fastest: {nearest.name}, the next, {_how_much(nearest, base)}."
    return f"{listed(s.name for s in slower)} {'is' if len(slower) == 1 else 'are'} slower than {base.name}."


def _is_slower(subject: Subject, best: Subject) -> bool:
    if subject.verdict == "slower":
        return True
    if best.speedup_low is None:
        return subject.verdict == "equivalent"
    return subject.speedup_high is not None and subject.speedup_high < best.speedup_low


def _by_reason(undecided: Sequence[Subject]) -> list[list[Subject]]:
    """Subjects whose reasons differ at most in numbers."""
    found: dict[str, list[Subject]] = {}
    for subject in undecided:
        found.setdefault(kind_of(subject.reason), []).append(subject)
    return list(found.values())


def _how_much(subject: Subject, base: Subject) -> str:
    """The difference with its interval, in the words that suit its size and direction."""
    speedup, low, high = subject.speedup or 1.0, subject.speedup_low, subject.speedup_high
    ends = (low, high) if low and high else None
    if speedup >= 1.1:
        return f"is {ratio(speedup, ends)} as fast as {base.name} ({_interval(ends, subject)})"
    if speedup >= 1:
        return f"is {_percent(speedup)} faster than {base.name} ({_percents(ends, subject)})"
    slower, ends = 1 / speedup, (1 / ends[1], 1 / ends[0]) if ends else None
    if slower < 1.1:
        return f"is {_percent(slower)} slower than {base.name} ({_percents(ends, subject)})"
    return f"takes {ratio(slower, ends)} as long as {base.name} ({_interval(ends, subject)})"


def _interval(ends: Ends | None, subject: Subject) -> str:
    return f"95 % CI {interval(*ends)}" if ends is not None else _no_interval(subject)


def _percents(ends: Ends | None, subject: Subject) -> str:
    """An interval of ratios near 1 as percentages above it: `2.1–4.3 %`."""
    if ends is None:
        return _no_interval(subject)
    low, high = (significant(100 * (end - 1), digits=2) for end in ends)
    return f"95 % CI {low} to {high} %" if ends[0] < 1 else f"95 % CI {low}–{high} %"


def _no_interval(subject: Subject) -> str:
    return f"no interval: {count(len(subject.blocks), 'round')} in one process"


def _percent(ratio: float) -> str:
    return f"{significant(100 * (ratio - 1), digits=2)} %"


def notes_on_retracing(subjects: Sequence[Measurement]) -> list[str]:
    """TensorFlow subjects whose calls are slow because they recompile, which is not a cost of the model."""
    names = [each.name for each in subjects if each.conditions.get("retraces")]
    why = "TensorFlow retraces its function while it is timed, so that calls include compiling it"
    remedy = "pass tensors instead of Python values, of one shape or with an input_signature"
    return [f"{listed(names)}: {why}; {remedy}"] if names else []
