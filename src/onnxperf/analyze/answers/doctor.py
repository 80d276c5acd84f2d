"""How small a difference can be seen on a machine, in plain words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from onnxperf.analyze.judges.noise import COMMON_CLAIM, VERY_NOISY
from onnxperf.records.base import Machine, is_busy
from onnxperf.records.race import MIN_ROUNDS, Measurement
from onnxperf.wording.numbers import count, duration, percent_at_most, significant, whole_percent

BUSY_LOAD = 0.5
"""Load per core above which something else is at work."""


def doctor_answer(
    machine: Machine, band: float | None, time: float, subjects: Sequence[Measurement], stopped: bool
) -> str:
    """What makes this a bad moment to measure, and how small a difference can be seen."""
    seen = _why_unknown(subjects, stopped) if band is None else conclusion(band, time)
    return "\n".join([seen, *warnings(machine)])


def quick_answer(machine: Machine, band: float | None = None, date: str = "") -> str:
    """What makes this a bad moment to measure, and what an earlier race found out about the noise."""
    if band is None:
        seen = "The noise of this machine is not known: `onnxperf doctor` measures it."
    else:
        seen = f"The noise was {percent_at_most(band)} on {date[:10]}: `onnxperf doctor` measures it again."
    return "\n".join([seen, *warnings(machine)])


def warnings(machine: Machine) -> list[str]:
    """What makes this a bad moment to measure."""
    found = others_warnings(machine) if machine.others_share is not None else _load_warnings(machine)
    before, after = machine.throttled_before, machine.throttled_after
    if before is not None and after is not None and after > before:
        found.append("The CPU overheated during the race and lowered its clock.")
    if not machine.frozen:
        found.append("Idle workers cannot be frozen here, so they disturb each other a little.")
    return found


def others_warnings(machine: Machine) -> list[str]:
    """What other processes took from a race, where that disturbs it."""
    share = machine.others_share
    if share is None or not is_busy(share):
        return []
    used = f"Other processes used {whole_percent(share)} of the processors during the race"
    return [f"{used}: close them, or measure later."]


def _load_warnings(machine: Machine) -> list[str]:
    """The load of the last minute, which includes work that has ended: for want of what was used during the race."""
    load = machine.load_before
    if load is None or load <= BUSY_LOAD * machine.cores:
        return []
    busy = f"the load is {significant(load)} on {count(machine.cores, 'core')}"
    return [f"Something else is running, or was a minute ago: {busy}."]


def conclusion(band: float, time: float) -> str:
    """How small a difference can be seen here, and what to do when that is not small enough."""
    seen = f"Now, a race of {significant(time)} s on this machine shows differences of {percent_at_most(band)} and more"
    if band <= COMMON_CLAIM:
        return f"{seen}; 1 % needs nothing special."
    # The interval shrinks with the square root of the time, as long as the machine stays as it is.
    needed = f"about {_round_up(time * (band / COMMON_CLAIM) ** 2)} s (`time`)"
    if band <= VERY_NOISY:
        return f"{seen}; 1 % needs {needed}."
    remedies = "close other programs, set the governor to performance, keep the machine cool, or use a less busy one"
    return f"{seen}; 1 % would need {needed}.\nThat is a lot: {remedies}, then run the doctor again."


def why_not_kept(band: float, time: float, usual_time: float, threads: int) -> str:
    """Why later benches must not rely on a band; empty when they should.

    They call equivalent whatever differs by less than it, so a band that is too wide would hide real differences,
    whereas without a band their own intervals still decide: what is noisy stays undecided.
    """
    if time < usual_time:
        return f"a bench takes {significant(usual_time)} s and sees more than a shorter race"
    if threads > 1:
        return "with several threads it is the noise of a thread pool"
    if band > VERY_NOISY:
        return f"above {whole_percent(VERY_NOISY)} it describes this moment rather than this machine"
    return ""


def race_text(what: str, threads: int, subjects: Sequence[Measurement]) -> str:
    """What raced against itself, and how much was measured."""
    on_threads = f"against itself on {count(threads, 'thread')}"
    blocks = subjects[0].blocks
    if not blocks:
        return f"{what} {on_threads}, nothing measured"
    call = duration(statistics.median(block.duration_ns / block.calls for block in blocks))
    launches = count(len({block.launch for block in blocks}), "launch", "launches")
    return f"{what} of {call} a call {on_threads}, {count(len(blocks), 'round')}, {launches}"


def _why_unknown(subjects: Sequence[Measurement], stopped: bool) -> str:
    if stopped:
        return "The race was interrupted, so the noise of this machine is not known; run the doctor again."
    lost = next((each for each in subjects if each.status != "ok"), None)
    if lost is not None:
        return f"The race failed, so the noise of this machine is not known: {lost.reason or lost.status}."
    return (
        f"The race was too short to measure the noise of this machine: it needs {MIN_ROUNDS} rounds; "
        "give it more `time`."
    )


def _round_up(seconds: float) -> int:
    step = 10 if seconds < 300 else 60
    return math.ceil(seconds / step) * step
