"""What was found about memory, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.memory import Growth, InputCopy, MemoryCase, MemorySubject
from onnxperf.wording.labels import ARENA_SETTINGS, KEEPERS
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, in_megabytes

SAME_SHARE = 0.02
SAME_BYTES = 100_000
"""Subjects that differ by less than this share, or by so few pages, need about the same."""
HUGE_PAGE_BYTES = 2 * 2**20
"""The kernel may hand out memory in pages of this size: a smaller difference may come from rounding up."""
WORTH_TELLING = 0.05
"""The part of a need from which on a cause is named."""
LARGE_LOAD_BYTES = 32 * 10**6
"""More than a library and a small model take: loading is worth a sentence."""


def memory_answer(case: MemoryCase) -> str:
    """Answer what a prediction costs in memory, and whether it grows."""
    needs = {subject.name: need for subject in case.subjects if (need := subject.needed_bytes) is not None}
    if not needs:
        reason = next((f"; {subject.name}: {subject.reason}" for subject in case.subjects if subject.reason), "")
        return f"No subject could be measured{reason}."
    measured = [subject for subject in case.subjects if subject.name in needs]
    # What leaks needs more with every call: its need has no place in a comparison.
    compared = [subject for subject in measured if not _leaks(subject)] or measured
    sentence = _about_one(compared[0], needs) if len(compared) == 1 else _about_many(compared, needs)
    growing = [_grows(each.name, each.growth) for each in measured if each.growth and each.growth.kind in _GROWING]
    unexplained = [text for each in measured for text in _unexplained(each)]
    return "\n".join([f"{sentence}.", *growing, *_loading(compared[0], needs), *unexplained])


def _about_one(subject: MemorySubject, needs: dict[str, int]) -> str:
    need = needs[subject.name]
    return f"{subject.name} needs {in_megabytes(need)} {_above(subject)} in a steady call{_causes(subject, need)}"


def _about_many(subjects: Sequence[MemorySubject], needs: dict[str, int]) -> str:
    ranked = sorted(subjects, key=lambda subject: needs[subject.name])
    least, most = ranked[0], ranked[-1]
    low, high = needs[least.name], needs[most.name]
    if high - low <= max(SAME_BYTES, SAME_SHARE * high):
        names = f"{subjects[0].name} and {subjects[1].name}" if len(subjects) == 2 else f"All {len(subjects)} subjects"
        sizes = " to ".join(dict.fromkeys([in_megabytes(low), in_megabytes(high)]))
        return f"{names} need about the same in a steady call, {sizes} {_above(*subjects)}"
    if subjects[0] is not least:
        rest = f"; {least.name} needs the least, {in_megabytes(low)}"
        return f"{_about_one(subjects[0], needs)}{rest}{_rounding(needs[subjects[0].name] - low)}"
    little, much = ("", "") if len(subjects) == 2 else ("the least, ", "the most, ")
    sentence = f"{least.name} needs {little}{in_megabytes(low)} {_above(least)} in a steady call"
    return f"{sentence}; {most.name} needs {much}{in_megabytes(high)}{_causes(most, high)}{_rounding(high - low)}"


def _rounding(difference: int) -> str:
    """What a difference of less than a huge page may be."""
    page = in_megabytes(HUGE_PAGE_BYTES)
    return f" (a difference below {page} may be rounding to huge pages)" if difference < HUGE_PAGE_BYTES else ""


def _above(*subjects: MemorySubject) -> str:
    if any(subject.model for subject in subjects):
        return "above model and inputs"
    return "above its data" if len(subjects) == 1 else "above their data"


def _loading(subject: MemorySubject, needs: dict[str, int]) -> list[str]:
    """What loading takes, if that is large and more than a call needs."""
    load = subject.step("load")
    if load is None or load.increment_bytes <= max(needs[subject.name], LARGE_LOAD_BYTES):
        return []
    kept = min(load.kept_bytes, load.increment_bytes)
    stays = f"{in_megabytes(kept)} of it stay" if kept > 0 else "none of it stays"
    return [f"Loading takes {in_megabytes(load.increment_bytes)}; {stays}."]


# ---------------------------------------------------------------- causes


def _causes(subject: MemorySubject, need: int) -> str:
    """What a need consists of: what earlier calls left, and within the rest, which a call adds, copies of inputs."""
    steady = subject.step("steady call")
    added = min(steady.increment_bytes, need) if steady is not None else 0
    parts = [*_copied(subject, added, need), *_kept(subject, need - added, need)]
    return f", {listed(parts)}" if parts else ""


def _copied(subject: MemorySubject, added: int, need: int) -> list[str]:
    copies = subject.breakdown.copies if subject.breakdown is not None else ()
    copied = sum(copy.copied_bytes for copy in copies)
    fits = copied <= added * (1 + SAME_SHARE) + HUGE_PAGE_BYTES  # else they lie in memory that earlier calls left
    if not fits or copied <= WORTH_TELLING * need:
        return []
    return [f"{in_megabytes(min(copied, added))} of it for {_copying(copies)}"]


def _copying(copies: Sequence[InputCopy]) -> str:
    names = {copy.name for copy in copies}
    if len(copies) > 1:
        return f"copies of {len(names)} inputs" if len(names) > 1 else f"copies of {copies[0].name}"
    copy = copies[0]
    if copy.reason == "cast":
        return f"casting {copy.name} from {copy.from_type} to {copy.to_type}"
    return f"a contiguous copy of {copy.name}"


def _kept(subject: MemorySubject, kept: int, need: int) -> list[str]:
    if kept <= max(WORTH_TELLING * need, HUGE_PAGE_BYTES):
        return []
    share = "all of it" if kept >= (1 - WORTH_TELLING) * need else f"{in_megabytes(kept)} of it"
    keeper = KEEPERS.get(subject.runtime)
    return [f"{share} kept between calls{f' by {keeper}' if keeper else ''}"]


def _unexplained(subject: MemorySubject) -> list[str]:
    """What tensors and copies do not explain, its likely cause, and what other settings of the arena would need."""
    breakdown = subject.breakdown
    if breakdown is None or breakdown.unexplained_bytes is None or subject.needed_bytes is None:
        return []
    left = f"{in_megabytes(breakdown.unexplained_bytes)} of what {subject.name} needs are not in the planned minimum"
    if breakdown.arena_held_bytes is None:
        also = "" if subject.runtime == "ort" else ", and the buffer pools of BLAS"
        return [f"{left}: likely the scratch memory of its kernels{also}."]
    needs = {ARENA_SETTINGS[each.setting]: each.needed_bytes for each in subject.trials}
    measured = {name: need for name, need in needs.items() if need is not None}
    if not measured:
        return [f"{left}: likely what onnxruntime's arena keeps; to try: {listed(list(ARENA_SETTINGS.values()))}."]
    saved = subject.needed_bytes - min(measured.values())
    cause = "likely separate results and scratch memory of kernels, as no other setting of the arena needs much less"
    if saved > max(HUGE_PAGE_BYTES, WORTH_TELLING * subject.needed_bytes):
        cause = f"onnxruntime's arena keeps {in_megabytes(min(saved, breakdown.unexplained_bytes))} of it"
    return [f"{left}: {cause} ({', '.join(f'{name}: {in_megabytes(need)}' for name, need in measured.items())})."]


# ---------------------------------------------------------------- growth


def _leaks(subject: MemorySubject) -> bool:
    return subject.growth is not None and subject.growth.kind == "leak"


_GROWING = ("leak", "arena", "step")


def _grows(name: str, growth: Growth) -> str:
    """A rate only for what grows throughout: a step that was taken once is not taken by every call."""
    whose = f"The arena of {name}" if growth.kind == "arena" else name
    if growth.step_bytes is not None and growth.step_calls is not None:
        return f"{whose} grew once, in a step of {in_megabytes(growth.step_bytes)} after call {growth.step_calls}."
    rate, calls = f"{in_megabytes(growth.bytes_per_call)} per call", count(growth.calls[-1], "call")
    if growth.kind == "leak":
        return f"{name} leaks {rate} over {calls}."
    total = in_megabytes(growth.resident_bytes[-1] - growth.resident_bytes[0])
    return f"{whose} grew by {total} over {calls}{f', {rate}' if growth.bytes_per_call else ''}."
