"""Description of this machine and its state."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
from pathlib import Path

import psutil
from msgspec.structs import replace

from onnxperf.frameworks import base as frameworks
from onnxperf.limits import allowed_cpus, free_memory, read_text, usable_cpus
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.process import CAN_FREEZE
from onnxperf.records.base import Machine
from onnxperf.runtimes import find as runtimes

_VECTORS = re.compile(r"sse4_2|avx\w*|amx\w*|fma|f16c|neon|asimd\w*|sve\w*|i8mm|bf16")
_CPUS = Path("/sys/devices/system/cpu")


def describe_machine() -> Machine:
    """The machine and its current state."""
    return Machine(
        cpu=cpu_model(),
        vector_extensions=vector_extensions(),
        cores=usable_cores(),
        logical_cpus=usable_cpus(),
        memory_bytes=psutil.virtual_memory().total,
        available_bytes=available_memory(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        versions=_versions(),
        governor=read_text(_CPUS / "cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(),
        load_before=_load(),
        throttled_before=_throttled(),
        frozen=CAN_FREEZE,
    )


def vector_extensions() -> tuple[str, ...]:
    """Vector instruction sets of the processor."""
    return tuple(sorted(set(_VECTORS.findall(_cpu_field("flags") or _cpu_field("Features")))))


def cpu_model() -> str:
    """Processor model."""
    # Not `platform.processor`, which runs `uname`.
    return _cpu_field("model name") or os.environ.get("PROCESSOR_IDENTIFIER") or platform.machine()


def after_the_race(machine: Machine) -> Machine:
    """The same machine with its current state as the state after the race."""
    return replace(machine, load_after=_load(), throttled_after=_throttled())


def processors() -> tuple[int, ...]:
    """The processors that this process may use; empty if the system cannot bind a process to processors."""
    return allowed_cpus()


def available_memory() -> int:
    """Bytes available without swapping, within all limits of this process."""
    return free_memory().free_bytes


def _versions() -> dict[str, str]:
    found = {}
    for name in ("onnxperf", *runtimes.distributions(), *frameworks.distributions()):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _cpu_field(field: str) -> str:
    for line in (read_text(Path("/proc/cpuinfo")) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return ""


def _turbo() -> bool | None:
    no_turbo = read_text(_CPUS / "intel_pstate/no_turbo")
    boost = read_text(_CPUS / "cpufreq/boost")
    if no_turbo is not None:
        return no_turbo == "0"
    return boost == "1" if boost is not None else None


def _throttled() -> int | None:
    counts = [read_text(path) for path in _CPUS.glob("cpu*/thermal_throttle/core_throttle_count")]
    return sum(int(count) for count in counts if count) if counts else None


def _load() -> float | None:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
