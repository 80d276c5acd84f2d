"""Counting after a race: which subjects, in what order, and what goes wrong; once for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

import onnxperf
from onnxperf.api._shared.counting import counted
from onnxperf.api._shared.requests import parse
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.race import RaceEnd
from onnxperf.options.functions import BENCH
from onnxperf.records.options import WorkerLimits
from onnxperf.records.race import Measurement
from tests.analyze.examples import blocks_of
from tests.measure.fakes import FakeMachine, lost, raising, solo, spec_of
from tests.measure.test_instructions import TOOLS, writing


def raced(*specs: WorkerSpec, missing: str = "") -> RaceEnd:
    names = [subject.name for spec in specs for subject in spec.subjects]
    subjects = (Measurement(name=name, blocks=() if name == missing else blocks_of([1e4] * 3)) for name in names)
    return RaceEnd(subjects=tuple(subjects), batches=1, interrupted=False)


def count(machine: FakeMachine, end: RaceEnd, *specs: WorkerSpec) -> tuple[RaceEnd, tuple[str, ...], list[str]]:
    steps: list[str] = []
    after, notes = counted(
        end, specs, WorkerLimits(), TOOLS, lambda _done, text: steps.append(text), launch=machine.launch
    )
    return after, notes, steps


def counts(end: RaceEnd) -> list[float | None]:
    return [subject.instructions for subject in end.subjects]


def test_every_model_that_was_measured_is_counted_alone_and_callables_are_not() -> None:
    specs = (spec_of("ort", "run", "run-c"), spec_of("numpy", "numpy"), solo("function"))
    machine = writing(1, 100, 5100)
    end, notes, steps = count(machine, raced(*specs, missing="numpy"), *specs)
    assert counts(end) == [500.0, 500.0, None, None]
    assert end.subjects[0].conditions == {"instruction_set": "AVX2"}
    assert notes == ()
    assert [each[: each.index(",")] for each in steps] == [
        "counting instructions of run: 1 of 2",
        "counting instructions of run-c: 2 of 2",
    ]
    assert [[each.name for each in worker.spec.subjects] for worker in machine.workers] == [["run"], ["run-c"]]


def test_variants_that_differ_in_threads_only_are_counted_once() -> None:
    one, two = (replace(spec_of("ort", "run"), threads=threads) for threads in (1, 2))
    two = replace(two, session=replace(two.session, threads=2), subjects=(replace(two.subjects[0], name="two"),))
    one = replace(one, session=replace(one.session, threads=1))
    machine = writing(1, 100, 5100)
    end, _, _ = count(machine, raced(one, two), one, two)
    assert counts(end) == [500.0, 500.0]
    assert len(machine.workers) == 1


def test_a_subject_that_cannot_be_counted_is_a_note_and_the_others_are_counted() -> None:
    specs = (spec_of("ort", "run", "run-c"),)
    machine = writing(1, 100, 5100)
    machine.troubles["prepare", "run", 0] = lost("timeout")
    end, notes, _ = count(machine, raced(*specs), *specs)
    assert counts(end) == [None, 500.0]
    assert notes == ("instructions of run not counted: timeout for a test",)
    assert machine.all_closed


def test_ctrl_c_keeps_the_race_and_what_was_counted() -> None:
    specs = (spec_of("ort", "run", "run-c"),)
    machine = writing(1, 100, 5100)
    machine.troubles["prepare", "run-c", 0] = raising(KeyboardInterrupt())
    end, _, _ = count(machine, raced(*specs), *specs)
    assert (counts(end), end.interrupted) == ([500.0, None], True)
    assert machine.all_closed


def test_only_instructions_can_be_counted() -> None:
    with pytest.raises(BadOption, match="unknown count 'cycles'; choose from: instructions"):
        parse({"count": "cycles"}, BENCH)


def test_functions_are_not_counted() -> None:
    with pytest.raises(BadOption, match="`count=instructions`: only models are counted"):
        onnxperf.bench(lambda: None, count="instructions")


def test_without_valgrind_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxperf.measure.instructions.find_program", lambda _name: None)
    with pytest.raises(BadInput, match="valgrind is not installed"):
        onnxperf.bench("missing.onnx", count="instructions")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.skipif(not shutil.which("cc") and not shutil.which("gcc"), reason="there is no C compiler")
def test_a_call_without_its_wrapper_takes_fewer_instructions(linear_path: Path) -> None:
    result = onnxperf.bench(linear_path, call="run,run-c", time=0.5, threads=1, timeout=60, count="instructions")
    run, run_c = result.subjects
    assert run.instructions is not None
    assert run_c.instructions is not None
    assert 5_000 < run_c.instructions < run.instructions < 500_000
    assert run_c.instruction_verdict == "fewer"
    assert "By instructions, run-c needs 0." in result.cases[0].answer
    assert list(result.to_df()["instruction_verdict"]) == ["baseline", "fewer"]
    assert "Instructions per call" in str(result)
