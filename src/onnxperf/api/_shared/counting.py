"""Instructions of subjects that have raced, counted one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.answers.instructions import before_counting, note_on_uncounted
from onnxperf.api._shared.racing import start_of
from onnxperf.errors import SubjectError
from onnxperf.measure.instructions import SLOWDOWN, START_S, Count, CountTools, calls_of, count_instructions
from onnxperf.measure.messages import ModelSubject, WorkerSpec
from onnxperf.measure.process import Worker
from onnxperf.measure.race import Progress, RaceEnd
from onnxperf.records.options import WorkerLimits
from onnxperf.records.race import Measurement

_PATIENCE = 10
"""Times the limit of a step without valgrind."""


class _Counted(NamedTuple):
    """A subject that was counted, without its name."""

    spec: WorkerSpec
    call: str
    result: Count


def counted(
    end: RaceEnd,
    specs: Sequence[WorkerSpec],
    limits: WorkerLimits,
    tools: CountTools,
    progress: Progress,
    launch: Callable[[WorkerSpec], Worker] | None = None,
) -> tuple[RaceEnd, tuple[str, ...]]:
    """A race with the instructions of its models, and notes on those that could not be counted."""
    launch = launch or start_of(WorkerLimits(timeout=_PATIENCE * limits.timeout))
    hosted = [(replace(spec, subjects=(each,)), each) for spec in specs for each in spec.subjects]
    waiting = [
        (index, spec, each)
        for index, (spec, each) in enumerate(hosted)
        if isinstance(each, ModelSubject) and end.subjects[index].blocks and each.model_path is None
    ]
    found = list(end.subjects)
    reasons: dict[str, str] = {}
    known: list[_Counted] = []
    try:
        for number, (index, spec, subject) in enumerate(waiting):
            call_ns = _call_ns(found[index], spec.threads)
            progress(number / len(waiting), before_counting(subject.name, number + 1, len(waiting), _seconds(call_ns)))
            bare = replace(spec, subjects=(), threads=1, session=replace(spec.session, threads=1))
            count = next((each.result for each in known if (each.spec, each.call) == (bare, subject.call)), None)
            try:
                count = count or count_instructions(spec, call_ns, tools, launch)
            except SubjectError as error:
                reasons[subject.name] = error.reason
                continue
            known.append(_Counted(bare, subject.call, count))
            found[index] = _with_count(found[index], count)
    except KeyboardInterrupt:
        end = replace(end, interrupted=True)
    return replace(end, subjects=tuple(found)), note_on_uncounted(reasons)


def _with_count(subject: Measurement, count: Count) -> Measurement:
    conditions = {**subject.conditions, "instruction_set": count.instruction_set}
    return replace(subject, instructions=count.per_call, conditions=conditions)


def _call_ns(subject: Measurement, threads: int) -> float:
    """Time of a call with one thread, at most."""
    return threads * min(block.per_call_ns for block in subject.blocks)


def _seconds(call_ns: float) -> float:
    """What counting a subject takes at most."""
    calls, warm = calls_of(call_ns)
    return START_S + SLOWDOWN * (calls + warm + 1) * call_ns / 1e9
