"""Models under different sessions, profiled in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from onnxperf.api._shared import recordings
from onnxperf.api._shared.subjects import Entry
from onnxperf.measure.profiling import Progress
from onnxperf.records.base import Machine
from onnxperf.records.options import SessionOptions, WorkerLimits
from onnxperf.results.profile import ProfileResult


@dataclass(frozen=True)
class Side:
    """A model that can be run, with its session and the name of its profile."""

    entry: Entry
    session: SessionOptions
    label: str


def profiles_in_turns(
    sides: Sequence[Side], machine: Machine, repeat: int | None, limits: WorkerLimits, progress: Progress
) -> list[ProfileResult]:
    """A profile of each; their iterations alternate, so that all meet the same conditions."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        plans = [
            recordings.plan_recording(each.entry, each.session, Path(folder), f"side{number}")
            for number, each in enumerate(sides)
        ]
        fitting = [recordings.iterations_that_fit(plan, repeat, limits, progress) for plan in plans]
        most = min((each for each in fitting if each is not None), default=None)
        end = recordings.run_in_turns([plan.spec for plan in plans], repeat, most, limits, progress)
        results = [
            recordings.result_of_recording(plan.recorded, turns.trace)
            for plan, turns in zip(plans, end.turns, strict=True)
        ]
    for each, result in zip(sides, results, strict=True):
        result.record = replace(
            result.record, machine=machine, session=each.session, model=each.label, interrupted=end.interrupted
        )
    return results
