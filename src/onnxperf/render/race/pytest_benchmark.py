"""Races in the JSON of pytest-benchmark, which its `compare` and actions that draw histories read."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean, median, quantiles, stdev
from typing import Any

from onnxperf.records.base import Machine
from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.documents import to_json
from onnxperf.wording.names import dims_text

SUFFIX = ".pytest-benchmark.json"
_VERSION = "5.1.0"
"""Of pytest-benchmark, whose format this is."""
_REACH = 1.5
"""Interquartile ranges beyond a quartile from which on a time is an outlier."""


def pytest_benchmark_json(cases: Sequence[Case], machine: Machine | None, without: Sequence[str] = ()) -> bytes:
    """Every measured subject; a round is a block, and its time that of one call in seconds."""
    now = datetime.now(UTC).isoformat()
    rows = [(case, each) for case in cases for each in case.subjects if each.blocks and each.name not in without]
    document = {
        "machine_info": {} if machine is None else _machine(machine),
        "commit_info": {
            "id": "unversioned",
            "time": None,
            "author_time": None,
            "dirty": False,
            "project": "onnxperf",
            "branch": "(unknown)",
        },
        "benchmarks": [_benchmark(case, subject) for case, subject in rows],
        "datetime": now,
        "version": _VERSION,
    }
    return to_json(document)


def _machine(machine: Machine) -> dict[str, Any]:
    system, _, release = machine.system.partition(" ")
    return {
        "node": "",
        "processor": machine.cpu,
        "machine": machine.system.rpartition(" ")[2],
        "python_implementation": platform.python_implementation(),
        "python_version": machine.python,
        "release": release,
        "system": system,
        "cpu": {"brand_raw": machine.cpu, "count": machine.logical_cpus, "flags": list(machine.vector_extensions)},
    }


def _benchmark(case: Case, subject: Subject) -> dict[str, Any]:
    place = dims_text(case.dims)
    name = f"{case.model} {subject.name}" + (f"[{place}]" if place else "")
    return {
        "group": case.model,
        "name": name,
        "fullname": name,
        "params": dict(case.dims) or None,
        "param": place or None,
        "extra_info": {"runtime": subject.runtime, "call": subject.call, "status": subject.status},
        "options": {
            "disable_gc": True,
            "timer": "perf_counter_ns",
            "min_rounds": 1,
            "max_time": 0.0,
            "min_time": 0.0,
            "warmup": True,
        },
        "stats": _stats(subject),
    }


def _stats(subject: Subject) -> dict[str, Any]:
    times = sorted(block.per_call_ns / 1e9 for block in subject.blocks)
    mean = fmean(times)
    deviation = stdev(times) if len(times) > 1 else 0.0
    first, middle, third = quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    low, high = first - _REACH * (third - first), third + _REACH * (third - first)
    near = [each for each in times if low <= each <= high]
    outliers = len(times) - len(near), sum(abs(each - mean) > deviation for each in times)
    return {
        "min": times[0],
        "max": times[-1],
        "mean": mean,
        "stddev": deviation,
        "rounds": len(times),
        "median": middle,
        "iqr": third - first,
        "q1": first,
        "q3": third,
        "iqr_outliers": outliers[0],
        "stddev_outliers": outliers[1],
        "outliers": f"{outliers[1]};{outliers[0]}",
        "ld15iqr": near[0],
        "hd15iqr": near[-1],
        "ops": 1 / mean,
        "total": sum(times),
        "iterations": round(median(block.calls for block in subject.blocks)),
    }
