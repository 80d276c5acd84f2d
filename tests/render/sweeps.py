"""Sweeps to render: onnxruntime against torch over batch sizes and sequence lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Bench, Case, Subject
from tests.render import examples

BATCHES = (1, 2, 4, 8, 16)
LENGTHS = (10, 50, 100, 200, 300, 500)
OOM = "needed 9.3 GiB of 8.0 GiB"


def ms(name: str, median_ms: float, verdict: Verdict | None = "baseline", speedup: float = 1.0, **more: Any) -> Subject:
    times = {
        "time_ns": median_ms * 1e6,
        "time_low_ns": None,
        "time_high_ns": None,
        "median_ns": median_ms * 1e6,
        "speedup": speedup,
        "runtime": name,
    }
    ends = {"speedup_low": speedup * 0.985, "speedup_high": speedup * 1.015}
    return examples.subject(name, median_ms * 1e6, verdict, **(times | ends | more))


def verdict_of(speedup: float) -> Verdict:
    """As a race with intervals of ± 1.5 % would judge."""
    if abs(speedup - 1) < 0.02:
        return "undecided"
    return "faster" if speedup > 1 else "slower"


def pair(speedup: float, base_ms: float = 10.0) -> tuple[Subject, Subject]:
    return ms("ort", base_ms), ms("torch", base_ms / speedup, verdict_of(speedup), speedup)


def case(*subjects: Subject, dims: dict[str, int], **more: Any) -> Case:
    fields: dict[str, Any] = {"model": "bert.onnx", "baseline": "ort", "answer": "", "notes": ()}
    return examples.case(*subjects, dims=dims, **(fields | more))


def line(speedups: Sequence[float | str], model: str = "resnet.onnx") -> Bench:
    """A case for each batch size; a word in place of a speedup is the status of torch."""
    cases = []
    for batch, speedup in zip(BATCHES, speedups, strict=False):
        if isinstance(speedup, str):
            subjects = (ms("ort", 10.0 * batch), examples.failed("torch", speedup, OOM))
        else:
            subjects = pair(speedup, 10.0 * batch)
        cases.append(case(*subjects, dims={"batch": batch}, model=model))
    return examples.bench(*cases)


def square(**more: Any) -> Bench:
    """Five by six cases: torch wins the large ones, one differs and one runs out of memory."""
    cases = []
    for batch in BATCHES:
        for seq in LENGTHS:
            base, rival = 0.15 * batch * seq + 4, 0.125 * batch * seq + 16
            subjects = pair(base / rival, base)
            if (batch, seq) == (8, 10):
                subjects = (subjects[0], ms("torch", rival, "slower", 0.6, status="differs", reason="off by 0.02"))
            if (batch, seq) == (16, 500):
                subjects = (subjects[0], examples.failed("torch", "oom", OOM))
            cases.append(case(*subjects, dims={"batch": batch, "seq": seq}, **more))
    return examples.bench(*cases)


def with_intervals(bench: Bench, spread: float = 0.08, without: Sequence[int] = ()) -> Bench:
    """The sweep with an interval around each time, but for the cases of these numbers."""
    cases = [case if at in without else _spread(case, spread) for at, case in enumerate(bench.cases)]
    return replace(bench, cases=tuple(cases))


def _spread(case: Case, spread: float) -> Case:
    ends = [
        replace(each, time_low_ns=each.time_ns * (1 - spread), time_high_ns=each.time_ns * (1 + spread))
        if each.time_ns
        else each
        for each in case.subjects
    ]
    return replace(case, subjects=tuple(ends))


def with_rival(bench: Bench, name: str = "numpy") -> Bench:
    """The same with a further subject, which is twice as fast as ort in its first cases, and half as fast in others."""
    cases = []
    for number, each in enumerate(bench.cases):
        base = (each.subjects[0].time_ns or 1.0) / 1e6
        speedup = 2.0 if number < len(bench.cases) // 3 else 0.5
        cases.append(replace(each, subjects=(*each.subjects, ms(name, base / speedup, verdict_of(speedup), speedup))))
    return replace(bench, cases=tuple(cases))


def many_subjects(count: int) -> Bench:
    """Two cases of so many rivals."""
    rivals = [ms(f"subject-{number}", 10.0 + number, "slower", 0.9) for number in range(count)]
    return examples.bench(*(case(ms("ort", 9.0), *rivals, dims={"batch": b}) for b in (1, 2)))
