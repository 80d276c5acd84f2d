"""A race as a page: its subjects, their samples, what their calls are made of, answer and notes."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.base import Machine
from onnxperf.records.race import Bench, Subject
from onnxperf.render.kit.machine import cpu_text, thread_texts, used_versions
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.render.race.sections import race_sections
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import interval, ratio


def bench_page(bench: Bench, more_notes: Sequence[str] = ()) -> list[Part]:
    """A bench of one race: its tables, its charts, the answer and notes."""
    (case,) = bench.cases
    return [
        Heading(case.model, [dims_text(case.dims), *race_facts(case.subjects, bench.machine)]),
        *race_sections(case, on="all"),
        *closing(case.answer, [*case.notes, *more_notes], case.interrupted),
    ]


def race_facts(subjects: Sequence[Subject], machine: Machine) -> list[str]:
    """The processor, the number of threads where it is the same for all, and versions of what was raced."""
    raced = {subject.runtime for subject in subjects}
    versions = machine.versions.items()
    others = [f"{name} {text}" for name, text in versions if name in raced]
    return [cpu_text(machine), *thread_texts(subjects), *used_versions(subjects, machine), *others]


def speedup_text(subject: Subject) -> str:
    """What a race found about a subject that has a speedup."""
    low, high = subject.speedup_low, subject.speedup_high
    within = "" if low is None else f" (95 % CI {interval(low, high)})"
    return f"speedup {ratio(subject.speedup)}{within}, {subject.verdict or 'no verdict'}"


def status_text(subject: Subject) -> str:
    """How a subject ended, and why."""
    return ", ".join(filter(None, [subject.status, subject.reason]))
