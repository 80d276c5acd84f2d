"""A machine in a few facts, for the headings of pages and the report about it."""

from __future__ import annotations

from collections.abc import Iterable

from onnxperf.records.base import Machine
from onnxperf.records.memory import MemorySubject
from onnxperf.records.race import Subject
from onnxperf.wording.machines import cpu_name, extensions_text, widest_extension
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, hundredths, percent, sampled_percent, size

FROZEN = "frozen"
"""What idle workers usually are."""


def machine_texts(machine: Machine | None) -> list[str]:
    """The version of onnxruntime and the processor, if known."""
    return [] if machine is None else [*runtime_texts(machine.versions), cpu_text(machine)]


def cpu_text(machine: Machine) -> str:
    """The model of the processor without its trademark signs and frequency, with its widest vectors."""
    widest = widest_extension(machine.vector_extensions)
    return f"{cpu_name(machine.cpu)} ({widest})" if widest else cpu_name(machine.cpu)


def runtime_texts(versions: dict[str, str]) -> list[str]:
    """The version of onnxruntime, where known."""
    return [f"{name} {version}" for name, version in versions.items() if name.startswith("onnxruntime")]


def used_versions(subjects: Iterable[Subject | MemorySubject], machine: Machine) -> list[str]:
    """The versions of onnxruntime that subjects used, which may come from several environments."""
    used = dict.fromkeys(str(each.conditions["onnxruntime"]) for each in subjects if "onnxruntime" in each.conditions)
    return [f"onnxruntime {listed(used)}"] if used else runtime_texts(machine.versions)


def machine_facts(machine: Machine) -> list[tuple[str, str]]:
    """What is known about a machine, as pairs of a name and a text; what is unknown is left out."""
    versions = ", ".join(f"{library} {version}" for library, version in machine.versions.items())
    facts = {
        "CPU": cpu_name(machine.cpu),
        "vector extensions": extensions_text(machine.vector_extensions) or "none known",
        "cores": f"{machine.cores} physical, {machine.logical_cpus} logical",
        "memory": f"{size(machine.memory_bytes)}, {size(machine.available_bytes)} available",
        "system": machine.system,
        "Python": machine.python,
        "libraries": versions,
        "governor": machine.governor,
        "turbo": {True: "on", False: "off", None: None}[machine.turbo],
        "load": None if machine.load_before is None else hundredths(machine.load_before),
        "used by others": None if machine.others_share is None else _others_text(machine.others_share),
        "throttling events": None if machine.throttled_before is None else str(machine.throttled_before),
        "idle workers": FROZEN if machine.frozen else "waiting (they cannot be frozen here)",
    }
    return [(name, text) for name, text in facts.items() if text]


def _others_text(share: float) -> str:
    return f"{sampled_percent(share)} of the processors while this was measured"


def thread_texts(subjects: Iterable[Subject | MemorySubject]) -> list[str]:
    """The number of threads, if it is the same for all."""
    numbers = {number for subject in subjects if isinstance(number := subject.conditions.get("threads"), int)}
    return [count(number, "thread") for number in numbers] if len(numbers) == 1 else []


def noise_text(band: float) -> str:
    """The relative noise of a machine."""
    return f"±{percent(band)}"
