"""The fields of a subject as text, one table that the console, Markdown and HTML share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxperf.records import P90_CALLS, P99_CALLS, Machine, Subject
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import UNICODE, Marks, duration, interval, percent, ratio, size


class Field(NamedTuple):
    """A heading, and what stands below it for one subject."""

    heading: str
    text: Callable[[Subject, Marks], str]


def _percentile(value: float | None, subject: Subject, needed: int, marks: Marks) -> str:
    missing = needed - len(subject.call_ns)
    if value is None and subject.mean_ns is not None and missing > 0:
        return f"needs {missing} more"
    return duration(value, marks)


def _deviation(subject: Subject, marks: Marks) -> str:
    text = duration(subject.deviation_ns, marks)
    return text if subject.deviation_ns is None else f"{marks.plus_minus}{text}"


FIELDS = {
    "name": Field("name", lambda s, _: name_of(s.name)),
    "status": Field("status", lambda s, _: s.status),
    "mean": Field("mean", lambda s, m: duration(s.mean_ns, m)),
    "deviation": Field("deviation", _deviation),
    "median": Field("median", lambda s, m: duration(s.median_ns, m)),
    "min": Field("min", lambda s, m: duration(s.min_ns, m)),
    "max": Field("max", lambda s, m: duration(s.max_ns, m)),
    "p90": Field("p90", lambda s, m: _percentile(s.p90_ns, s, P90_CALLS, m)),
    "p99": Field("p99", lambda s, m: _percentile(s.p99_ns, s, P99_CALLS, m)),
    "load": Field("load", lambda s, m: duration(s.load_ns, m)),
    "first": Field("first call", lambda s, m: duration(s.first_call_ns, m)),
    "speedup": Field("speedup", lambda s, m: ratio(s.speedup, m)),
    "interval": Field("95 % interval", lambda s, m: interval(s.speedup_low, s.speedup_high, m)),
    "verdict": Field("verdict", lambda s, m: s.verdict or m.nothing),
}


def machine_facts(machine: Machine, marks: Marks = UNICODE) -> list[tuple[str, str]]:
    """What is known about a machine, as pairs of a name and a text; what is unknown is left out."""
    versions = ", ".join(f"{library} {version}" for library, version in machine.versions.items())
    facts = {
        "CPU": machine.cpu,
        "vector extensions": ", ".join(machine.vector_extensions) or "none known",
        "cores": f"{machine.cores} physical, {machine.logical_cpus} logical",
        "memory": f"{size(machine.memory_bytes, marks)}, {size(machine.available_bytes, marks)} available",
        "system": machine.system,
        "Python": machine.python,
        "libraries": versions,
        "governor": machine.governor,
        "turbo": {True: "on", False: "off", None: None}[machine.turbo],
        "load": None if machine.load_before is None else f"{machine.load_before:.2f}",
        "throttling events": None if machine.throttled_before is None else str(machine.throttled_before),
        "idle workers": "frozen" if machine.frozen else "waiting (they cannot be frozen here)",
    }
    return [(name, text) for name, text in facts.items() if text]


def noise_text(band: float, marks: Marks = UNICODE) -> str:
    """The relative noise of a machine."""
    return f"{marks.plus_minus}{percent(band, marks)}"
