"""The yardstick: always the same model, measured beside cases, never at their cost."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import onnxperf
from onnxperf.api._shared import yardstick as module
from onnxperf.api._shared.cells import Cell
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.errors import BadInput, BadOption
from onnxperf.options.functions import CASE
from onnxperf.records.options import WorkerLimits
from onnxperf.records.race import YARDSTICK, Case, Measurement
from onnxperf.zoo.build import zoo_model
from onnxperf.zoo.yardstick import yardstick_model
from tests.analyze.examples import blocks_of

REAL = module.measure_launches
SHA256 = "5ce0291f4404935990efb1b500302fac084f371d0c7e065bc20f6190f85c0ff5"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, to be set."""
    now = [1000.0]
    monkeypatch.setattr("onnxperf.api._shared.yardstick.time.monotonic", lambda: now[0])
    monkeypatch.setattr(module, "_readings", [])
    return now


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> list[float]:
    """When the yardstick was measured."""
    measured: list[float] = []

    def launches(_limits: object, _progress: object) -> tuple[Measurement, ...]:
        measured.append(clock[0])
        blocks = tuple(replace(block, quickest_ns=48e3) for block in blocks_of([50e3] * 4, launches=1))
        return tuple(Measurement(name=f"y{each}", status="ok", blocks=blocks, call_ns=(1,)) for each in range(3))

    monkeypatch.setattr(module, "measure_launches", launches)
    return measured


def quiet(_done: float, _text: str) -> None:
    """A bar that nobody sees."""


def case_after(clock: list[float], seconds: float, **fields: Any) -> Case:
    """A case that takes so long, run beside the yardstick."""

    def run(_progress: object, _launch: object) -> Case:
        clock[0] += seconds
        return Case(model="m", **fields)

    return module.with_yardstick(run, True, WorkerLimits())(quiet, lambda _spec: None)  # type: ignore[arg-type,misc]


def test_the_model_never_changes() -> None:
    """Stored runs are compared by it: a model with other bytes needs another name."""
    assert hashlib.sha256(yardstick_model().SerializeToString(deterministic=True)).hexdigest() == SHA256


def test_it_is_a_model_of_the_zoo_without_a_source(own_cache: Path) -> None:
    entry = zoo_model(YARDSTICK)
    assert hashlib.sha256(entry.onnx.read_bytes()).hexdigest() == SHA256
    assert onnxperf.load(YARDSTICK) is not None
    with pytest.raises(BadOption, match="was not converted from anything"):
        entry.subjects()


def test_it_is_measured_before_and_after_a_case_with_all_its_launches(
    clock: list[float], readings: list[float]
) -> None:
    case = case_after(clock, 10.0)
    assert readings == [1000.0, 1010.0]
    assert case.yardstick is not None
    assert case.yardstick.name == YARDSTICK
    assert {block.launch for block in case.yardstick.blocks} == set(range(6))
    assert [block.round for block in case.yardstick.blocks] == list(range(24))
    assert case.yardstick.call_ns == ()
    assert case.yardstick_ns == pytest.approx(48e3)


def test_a_sweep_measures_it_twice_a_minute(clock: list[float], readings: list[float]) -> None:
    cases = [case_after(clock, 10.0) for _ in range(60)]
    assert all(case.yardstick is not None and len(case.yardstick.blocks) == 24 for case in cases)
    assert len(readings) <= 2 * 10 + 2


def test_cases_of_minutes_have_one_before_and_one_after(clock: list[float], readings: list[float]) -> None:
    case_after(clock, 300.0)
    case_after(clock, 300.0)
    assert readings == [1000.0, 1300.0, 1600.0]


def test_what_was_measured_can_be_forgotten(clock: list[float], readings: list[float]) -> None:
    case_after(clock, 1.0)
    module.forget()
    case_after(clock, 1.0)
    assert len(readings) == 4


def test_a_yardstick_that_fails_costs_nothing(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_limits: object, _progress: object) -> tuple[Measurement, ...]:
        raise BadInput("no cache")

    monkeypatch.setattr(module, "measure_launches", fail)
    case = case_after(clock, 10.0)
    assert (case.status, case.yardstick, case.yardstick_ns) == ("ok", None, None)


def test_ctrl_c_after_the_race_keeps_what_was_raced(
    clock: list[float], readings: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_limits: object, _progress: object) -> tuple[Measurement, ...]:
        raise KeyboardInterrupt

    def run(_progress: object, _launch: object) -> Case:
        monkeypatch.setattr(module, "measure_launches", stop)
        return Case(model="m", answer="raced")

    case = module.with_yardstick(run, True, WorkerLimits())(quiet, lambda _spec: None)  # type: ignore[arg-type,misc]
    assert (case.answer, case.interrupted) == ("raced", True)


def test_it_survives_the_store_and_a_file(clock: list[float], readings: list[float], tmp_path: Path) -> None:
    settings = parse({"yardstick": True}, CASE)
    run = module.with_yardstick(lambda _progress, _launch: Case(model="m"), True, settings.limits)
    store = tmp_path / "runs.sqlite"
    kept = run_sweep([Cell("m", "m", {}, settings, run)], quiet, Keeping(store))
    (case,) = onnxperf.load_run("last", store=store).cases
    assert case.yardstick == kept.cases[0].yardstick
    assert case.yardstick is not None
    kept.save(tmp_path / "run.json")
    assert onnxperf.load_run(tmp_path / "run.json").cases[0].yardstick == case.yardstick


@pytest.mark.slow
def test_processes_of_the_yardstick_are_measured_with_one_thread(
    monkeypatch: pytest.MonkeyPatch, linear_path: Path
) -> None:
    monkeypatch.setattr(module, "measure_launches", REAL)
    monkeypatch.setattr(module, "_readings", [])
    result = onnxperf.bench(linear_path, dims={"batch": 2}, time=0.3, threads=1, yardstick=True)
    found = result.cases[0].yardstick
    assert found is not None
    assert (found.runtime, found.call, found.conditions["threads"]) == ("ort", "run", 1)
    assert {block.launch for block in found.blocks} == set(range(2 * module.LAUNCHES))
    assert YARDSTICK not in str(result)
