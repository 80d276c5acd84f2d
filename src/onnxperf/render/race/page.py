"""A race as a page: its subjects, their samples, what their calls are made of, answer and notes."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.base import Machine
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.render.kit.machine import cpu_text, thread_texts, used_versions
from onnxperf.render.kit.page import Amount, Foot, Heading, Part, answered
from onnxperf.render.race.sections import race_sections
from onnxperf.render.race.subjects import ranked
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import duration
from onnxperf.wording.units import units_text


def bench_page(bench: Bench, more_notes: Sequence[str] = ()) -> list[Part]:
    """A bench of one race: its tables, its charts, the answer and notes."""
    (case,) = bench.cases
    return [
        Heading(case.model, [dims_text(case.dims), *race_facts(case.subjects, bench.machine)]),
        *race_sections(case, on="all"),
        *answered(
            case.answer, [*case.notes, *more_notes], case.interrupted, verdict_of(case), _quickest(case.subjects)
        ),
        Foot([units_text((each.unit, each.units) for each in case.subjects if each.unit)]),
    ]


def _quickest(subjects: Sequence[Subject]) -> Amount:
    """The time of the fastest subject."""
    first = next(iter(ranked(subjects)), None)
    if first is None or first.time_ns is None:
        return "", ""
    return duration(first.time_ns), name_of(first.name) if len(subjects) > 1 else "per call"


def verdict_of(case: Case) -> str:
    """What the answer about a race rests on: the verdict of its only rival, or the findings about several."""
    rivals = [each for each in case.subjects if each.speedup is not None and each.verdict != "baseline"]
    if not any(each.time_ns is not None for each in case.subjects):
        return "undecided" if case.interrupted else "failed"
    found = {each.verdict or "undecided" for each in rivals if each.status == "ok"}
    if "faster" in found or (len(rivals) > 1 and found == {"slower"}):
        return "fastest"
    differs = "differs" if any(each.status == "differs" for each in case.subjects) else ""
    return next((each for each in ("undecided", "slower", "equivalent") if each in found), differs)


def race_facts(subjects: Sequence[Subject], machine: Machine) -> list[str]:
    """The number of threads if it is the same for all, versions of the runtimes, and the processor."""
    raced = {subject.runtime for subject in subjects}
    versions = machine.versions.items()
    others = [f"{name} {text}" for name, text in versions if name in raced]
    return [*thread_texts(subjects), *used_versions(subjects, machine), *others, cpu_text(machine)]


def status_text(subject: Subject) -> str:
    """How a subject ended, and why."""
    return ", ".join(filter(None, [subject.status, subject.reason]))
