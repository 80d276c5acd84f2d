"""What a result means, in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from onnxperf.records.race import Case, Subject
from onnxperf.wording.names import listed, name_of
from onnxperf.wording.numbers import count, duration, factor, significant, time_text

_LARGE_PART = 0.25
"""Share of a call from which on a part beside computing is worth a word."""
_PARTS_MAY_MISS = 0.2
"""Share of a call by which its parts, which are timed in other calls, may miss its time."""


def answer(subjects: Sequence[Subject], baseline: str | None, min_effect: float, time_s: float) -> str:
    """Which subject is faster, and by how much."""
    base = next((subject for subject in subjects if subject.name == baseline), None)
    if base is None or base.median_ns is None:
        return "No subject could be measured."
    rivals = [subject for subject in subjects if subject is not base and subject.speedup is not None]
    if not rivals:
        return f"{base.name} takes {time_text(base.median_ns)} per call (median of {count(len(base.blocks), 'block')})."
    if len(rivals) == 1:
        return _about_one(rivals[0], base, min_effect, time_s)
    return _about_many(rivals, base, min_effect)


def about_parts(subjects: Sequence[Subject], casts: Mapping[str, str]) -> str:
    """Where calls were divided: which subjects spend much of their time beside computing, and on what.

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
    """Where calls were divided: subjects whose parts are not the time of a call."""
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
        return f"its {takes} are on tensors made once; a caller with arrays pays for preparing and fetching on top"
    total = duration(subject.split.total_ns)
    return f"its parts add up to {total}, and a call takes {takes}: they are not shares of it"


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


def _about_one(rival: Subject, base: Subject, min_effect: float, time_s: float) -> str:
    if rival.verdict in ("faster", "slower"):
        return f"{rival.name} is {_how_much(rival, base)}."
    if rival.verdict == "equivalent":
        least = significant(100 * min_effect)
        return f"{rival.name} and {base.name} are equally fast: they differ by less than {least} %."
    return (
        f"Undecided: the speedup of {rival.name} over {base.name} lies between {factor(rival.speedup_low)} and "
        f"{factor(rival.speedup_high)}; {_more_time(rival, min_effect, time_s)}."
    )


def _about_many(rivals: Sequence[Subject], base: Subject, min_effect: float) -> str:
    faster = sorted((s for s in rivals if s.verdict == "faster"), key=lambda s: -(s.speedup or 0))
    undecided = [s.name for s in rivals if s.verdict == "undecided"]
    doubt = f" Undecided: {', '.join(undecided)}." if undecided else ""
    if faster:
        best = faster[0]
        peers = [s.name for s in faster[1:] if (s.speedup_high or 0) >= (best.speedup_low or 0)]
        near = f" {', '.join(peers)} may be as fast." if peers else ""
        return f"{best.name} is the fastest: {_how_much(best, base)}.{near}{doubt}"
    equal = [s.name for s in rivals if s.verdict == "equivalent"]
    same = f" {', '.join(equal)} differ from it by less than {significant(100 * min_effect)} %." if equal else ""
    return f"None is measurably faster than {base.name}.{same}{doubt}"


def _how_much(subject: Subject, base: Subject) -> str:
    """The difference with its interval, in the words that suit its size and direction."""
    speedup, low, high = (value or 1.0 for value in (subject.speedup, subject.speedup_low, subject.speedup_high))
    if speedup >= 1.1:
        ends = f"95 % interval {significant(low)} to {significant(high)}"
        return f"{significant(speedup)} times as fast as {base.name} ({ends})"
    if speedup >= 1:
        return f"{_percent(speedup)} faster than {base.name} (95 % interval {_percent(low)} to {_percent(high)})"
    slower, least, most = 1 / speedup, 1 / high, 1 / low
    if slower < 1.1:
        return f"{_percent(slower)} slower than {base.name} (95 % interval {_percent(least)} to {_percent(most)})"
    takes = f"slower: it takes {significant(slower)} times as long as {base.name}"
    return f"{takes} (95 % interval {significant(least)} to {significant(most)})"


def _percent(ratio: float) -> str:
    return f"{significant(100 * (ratio - 1), digits=2)} %"


def _more_time(subject: Subject, min_effect: float, time_s: float) -> str:
    """How long a race would have to be for its interval to fit into the minimum effect."""
    width = math.log((subject.speedup_high or 1) / (subject.speedup_low or 1))
    needed = time_s * max(2.0, (width / math.log1p(min_effect)) ** 2) if min_effect > 0 else math.inf
    if needed > 600:
        return (
            "this machine is too noisy now for so small a difference; close other programs or set a larger `min_effect`"
        )
    return f"`time={math.ceil(needed)}` would probably decide"
