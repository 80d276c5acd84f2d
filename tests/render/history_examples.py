"""Histories with and without a step."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.judges.history import judge_history
from onnxperf.records.history import By, History, HistoryPoint, StoredSubject, TimeOrigin
from tests.histories import noisy

INTEL = TimeOrigin(cpu="Intel Xeon", cores=2, logical_cpus=2, onnxruntime="1.31.1", conditions={"threads": 2})


def stored(times: list[float], origin: TimeOrigin = INTEL, **more: Any) -> StoredSubject:
    found = tuple(
        HistoryPoint(
            f"run{n}",
            f"2026-{1 + n // 28 % 12:02}-{1 + n % 28:02}T12:{n // 336:02}:00+00:00",
            ns,
            version="1.31.1",
            commit=f"{n:012x}",
        )
        for n, ns in enumerate(times)
    )
    fields = {"name": "ort", "model": "m", "runtime": "ort", "call": "run", **more}
    return StoredSubject(**fields, origin=origin, points=found)


def history(*subjects: StoredSubject, by: By | None = None, model: str = "m.onnx") -> History:
    return judge_history(model, subjects, by, 0.01)


STEP = noisy({30: 100e3, 31: 110e3})


def two_machines(name: str = "ort") -> History:
    """A step on one machine and none on the other, by commit."""
    other = replace(INTEL, cpu=f"Apple M2 {name}", cores=8, logical_cpus=8)
    return history(stored(STEP, name=name), stored([6e4] * 9, other, name=name), by="commit", model=f"{name}.onnx")
