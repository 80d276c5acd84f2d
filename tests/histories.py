"""Stores with the runs of months, kept within a moment: a clock that is given, and times that are."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from onnxperf.records.race import Subject
from onnxperf.store import open_store, rows
from tests.render import examples

MODEL = "zoo:tiny-linear"
FIRST_DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)


def noisy(levels: Mapping[int, float], deviation: float = 0.02, seed: int = 1) -> list[float]:
    """So many times of each level, in nanoseconds."""
    rng = random.Random(seed)
    return [ns * rng.gauss(1, deviation) for count, ns in levels.items() for _ in range(count)]


def timed(ns: float, name: str = "ort", version: str = "1.31.1", **changes: Any) -> Subject:
    conditions = {"threads": 2, "onnxruntime": version, **changes.pop("conditions", {})}
    fields = {"model": MODEL, "call": "run", "blocks": (), "call_ns": (), "conditions": conditions, **changes}
    return examples.subject(name, ns, None, **fields)


def keep_runs(
    path: Path,
    runs: Iterable[Sequence[Subject]],
    tags: Sequence[Mapping[str, str]] = (),
    dims: Mapping[str, int] | None = None,
    **machine: Any,
) -> list[str]:
    """Keep a run a day; returns their ids."""
    names = []
    with open_store(path) as store:
        for day, subjects in enumerate(runs):
            moment = (FIRST_DAY + timedelta(days=day)).isoformat(timespec="microseconds")
            case = examples.case(
                *subjects, model=MODEL, dims=dict(dims or {"batch": 1}), fingerprint={MODEL: "8dd3a47e"}
            )
            bench = examples.bench(case, machine=examples.machine(load_before=day / 100, **machine))
            given = tags[day] if day < len(tags) else {}
            with mock.patch.object(rows, "time_of_day", lambda moment=moment: moment):
                names.append(store.keep(bench, "bench", tags=given))
    return names
