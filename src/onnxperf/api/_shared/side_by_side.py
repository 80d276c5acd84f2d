"""Models under different sessions, profiled in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.api._shared.racing import start_of
from onnxperf.api._shared.recordings import (
    RecordingPlan,
    iterations_that_fit,
    launches_that_count,
    plan_recording,
    result_of_recording,
    spec_of,
    subject_errors_as_bad_input,
    time_of_calls,
)
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.subjects import Entry
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import load
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.profiling import Progress, take_launches
from onnxperf.records.base import Machine
from onnxperf.records.options import WorkerLimits
from onnxperf.records.profile import COMPARED_LAUNCHES
from onnxperf.results.profile import ProfileResult


@dataclass(frozen=True)
class Side:
    """A model that can be run, under one variant, with the name of its profile."""

    entry: Entry
    setup: Setup
    label: str


class ProfiledPlans(NamedTuple):
    """Profiles of several plans."""

    results: list[ProfileResult]
    interrupted: bool
    """Stopped by the user; the profiles have what ran until then."""


def profiles_in_turns(
    sides: Sequence[Side],
    machine: Machine,
    calls: int | None,
    limits: WorkerLimits,
    progress: Progress,
    launches: int = COMPARED_LAUNCHES,
    with_unprofiled: bool = False,
) -> list[ProfileResult]:
    """A profile of each; their iterations alternate, so that all meet the same conditions.

    With `with_unprofiled`, sessions without the profiler take part, so that its cost is known.
    """
    before = load.snapshot()
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        plans = [
            plan_recording(each.entry, each.setup.session, Path(folder), f"side{number}", each.setup.calls)
            for number, each in enumerate(sides)
        ]
        unprofiled = [spec_of(each.entry, each.setup) for each in sides] if with_unprofiled else []
        results, interrupted = profile_plans(plans, calls, limits, progress, launches, unprofiled)
    machine = load.machine_since(before, machine)
    for each, result in zip(sides, results, strict=True):
        result.record = replace(
            result.record, machine=machine, session=each.setup.session, model=each.label, interrupted=interrupted
        )
    return results


def profile_plans(
    plans: Sequence[RecordingPlan],
    calls: int | None,
    limits: WorkerLimits,
    progress: Progress,
    launches: int = COMPARED_LAUNCHES,
    unprofiled: Sequence[WorkerSpec] = (),
) -> ProfiledPlans:
    """Profile plans in turn, in several launches where their nodes are to be compared; `unprofiled` has the same
    sessions without the profiler, or nothing."""
    fitting = [iterations_that_fit(plan, calls, limits, progress) for plan in plans]
    most = min((each for each in fitting if each is not None), default=None)
    specs = [*(plan.spec for plan in plans), *unprofiled]
    with subject_errors_as_bad_input():
        ends = take_launches(specs, calls, start_of(limits), machines.processors(), progress, most, launches)
    counted = launches_that_count(ends)
    results = []
    for index, plan in enumerate(plans):
        result = result_of_recording(plan.recorded, *(end.turns[index].trace for end in counted))
        beside = time_of_calls(counted, len(plans) + index) if unprofiled else None
        result.record = replace(result.record, profiled_ns=time_of_calls(counted, index), unprofiled_ns=beside)
        results.append(result)
    return ProfiledPlans(results, ends[-1].interrupted)
