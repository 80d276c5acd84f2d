"""The store of a team: 300 runs of months with changes, outliers, failures, gates, branches and machines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from unittest import mock

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.answers.gate import gate_answer
from onnxperf.analyze.judges.outcome import status_of
from onnxperf.records.base import Machine
from onnxperf.records.gate import Gate, GateControl, GateLimit
from onnxperf.records.race import Bench, Subject
from onnxperf.records.runs import RunStatus
from onnxperf.store import Store, rows
from tests.render import examples
from tests.render.profile import examples as profiles

NOW = datetime(2026, 11, 19, 18, tzinfo=UTC)
_HOURS = 14.4
"""Between two runs."""
_MACHINES = (
    ("AMD EPYC 7B13 64-Core Processor", 4, 8),
    ("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", 2, 4),
)


class _Model(NamedTuple):
    label: str
    ns: float
    noise: float
    steps: tuple[tuple[float, float], ...] = ()
    """From which part of all runs on, and by which factor its time changes."""
    dims: tuple[tuple[str, int], ...] = (("batch", 1),)


_MODELS = (
    _Model("resnet50.onnx", 8.4e6, 0.012, ((0.55, 1.062),)),
    _Model("bert-base.onnx", 21.3e6, 0.02, ((0.4, 0.86), (0.75, 1.04)), (("batch", 1), ("seq", 128))),
    _Model("bert-base.onnx", 96.0e6, 0.02, (), (("batch", 8), ("seq", 128))),
    _Model("yolo-v8n.onnx", 13.7e6, 0.035),
    _Model("whisper-encoder.onnx", 152.0e6, 0.015, ((0.7, 0.91),)),
    _Model("zoo:tiny-linear", 51e3, 0.02),
)


def fill_for_a_team(store: Store, runs: int = 300) -> list[str]:
    """Keep so many runs, the last one now; returns their ids."""
    dice = random.Random(7)
    names = []
    for place, record in enumerate(_records(runs, dice)):
        moment = (NOW - timedelta(hours=_HOURS * (runs - 1 - place))).isoformat(timespec="microseconds")
        with mock.patch.object(rows, "time_of_day", lambda moment=moment: moment):
            names.append(_keep(store, record, _tags(place, runs, dice)))
    return names


def _keep(store: Store, record: Any, tags: dict[str, str]) -> str:
    if isinstance(record, Bench):
        (case,) = record.cases
        return store.keep(record, "bench", status_of(record), case.answer, case.model, tags)
    kind = type(record).__name__.lower()
    status: RunStatus = "failed" if getattr(record, "outcome", "") == "failed" else "ok"
    return store.keep(record, kind, status, record.answer, record.model, tags)


def _tags(place: int, runs: int, dice: random.Random) -> dict[str, str]:
    branch = "main" if dice.random() < 0.8 else dice.choice(["feature/fuse-gelu", "feature/int8", "release-1.9"])
    return {"commit": f"{(place // 6 + 1) * 2654435761 % 2**48:012x}", "branch": branch}


def _records(runs: int, dice: random.Random) -> Iterator[Struct]:
    for place in range(runs):
        part = place / runs
        if place % 37 == 36:
            yield _gate(_MODELS[place % 3], ("passed", "failed", "passed", "undecided")[place // 37 % 4], place)
        elif place % 50 == 49:
            yield _profile(place, part)
        else:
            yield _bench(place, part, dice, runs - place)


def _machine(place: int) -> Machine:
    cpu, cores, logical = _MACHINES[_on(place)]
    versions = {"onnx": "1.23.2", "onnxruntime": _version(place)}
    return examples.machine(cpu=cpu, cores=cores, logical_cpus=logical, versions=versions)


def _on(place: int) -> int:
    """Every fifth week is that of the second machine."""
    return int(place // 12 % 4 == 3)


def _version(place: int) -> str:
    return "1.31.1" if place < 180 else "1.32.0"


def _bench(place: int, part: float, dice: random.Random, left: int) -> Bench:
    model = _MODELS[place % len(_MODELS)]
    pace = dice.gauss(1, model.noise) * (1.25 if _on(place) else 1.0)
    for begin, by in model.steps:
        pace *= by if part >= begin else 1.0
    pace *= 1.9 if dice.random() < 0.02 else 1.0
    fails = model.label.startswith("yolo") and left < 12
    subjects = list(_subjects(model, model.ns * pace, dice, _version(place), fails))
    rival = subjects[-1].verdict or "failed"
    answer = "run failed: cannot allocate 3 GB." if fails else f"run-c is {rival} than run."
    case = examples.case(
        *subjects,
        model=model.label,
        dims=dict(model.dims),
        fingerprint={model.label: f"{place % len(_MODELS) * 977:08x}{'a' if part < 0.5 else 'b'}"},
        status="failed" if fails else "ok",
        answer=answer,
    )
    dims = " ".join(f"--dim {name}={value}" for name, value in model.dims)
    command = f"onnxperf bench {model.label} --call run,run-c {dims}"
    return Bench(machine=_machine(place), command=command, cases=(case,))


def _subjects(model: _Model, ns: float, dice: random.Random, version: str, fails: bool) -> Iterator[Subject]:
    if fails:
        yield replace(examples.failed("run", "failed", "cannot allocate 3 GB"), model=model.label)
        return
    conditions = {"threads": 2, "onnxruntime": version}
    few: dict[str, Any] = {"model": model.label, "conditions": conditions, "blocks": examples.blocks(ns, 8, 10)}
    yield replace(examples.subject("run", ns, "baseline"), speedup=1.0, **few)
    speedup = dice.gauss(1.05, 0.02)
    ends = (speedup - 0.02, speedup + 0.02)
    verdict = "faster" if ends[0] > 1.01 else "equivalent"
    rival = examples.subject("run-c", ns / speedup, verdict)  # type: ignore[arg-type]
    yield replace(rival, speedup=speedup, speedup_low=ends[0], speedup_high=ends[1], **few)


def _gate(model: _Model, outcome: Any, place: int) -> Gate:
    ratio = {"passed": 1.004, "failed": 1.083, "undecided": 1.03}[outcome]
    limit = GateLimit(
        measure="time",
        dims=dict(model.dims),
        limit=1.05,
        ratio=ratio,
        ratio_low=ratio - 0.03 if outcome == "undecided" else ratio - 0.01,
        ratio_high=ratio + 0.03 if outcome == "undecided" else ratio + 0.01,
        outcome=outcome,
    )
    control = GateControl(dims=dict(model.dims), ratio=1.001, ratio_low=0.997, ratio_high=1.005, passed=True)
    gate = Gate(
        model=model.label,
        baseline=model.label.replace(".onnx", "-main.onnx"),
        limits=(limit,),
        controls=(control,),
        outcome=outcome,
        machine=_machine(place),
        command=f"onnxperf gate {model.label}",
    )
    return replace(gate, answer=gate_answer(gate))


def _profile(place: int, part: float) -> Struct:
    record = profiles.profile(model="resnet50.onnx", machine=_machine(place))
    return replace(record, answer="Conv takes 71 % of the time.", command="onnxperf profile resnet50.onnx")
