"""The doctor, with workers that only pretend to compute, and once with real ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.api import doctor as doctoring
from onnxperf.errors import BadOption, MissingExtra, SubjectError
from onnxperf.measure.machine import noise
from onnxperf.measure.machine.load import Snapshot
from onnxperf.measure.race import Tools
from tests.headrooms import PEAKS
from tests.measure.fakes import FakeMachine, raising
from tests.render import examples

CALL_NS = 25_000


def others_using(share: float) -> Callable[[], Snapshot]:
    """What the kernel would count if others used this part of the processors, 10 s from one look to the next."""
    ends = itertools.count(start=10, step=10)
    return lambda: Snapshot(total_s=(end := next(ends)), idle_s=end * (1 - share) / 2, own_s=end * (1 - share) / 2)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """Where the doctor's workers are launched, on a quiet machine; the second subject is 0.4 % slower."""
    fake = FakeMachine(call_ns={"A": CALL_NS, "A again": CALL_NS * 1004 // 1000}, start_ns=400_000_000)
    quiet = examples.machine(load_before=0.1, load_after=0.1)
    monkeypatch.setattr(doctoring, "start_of", lambda _limits: fake.launch)
    monkeypatch.setattr(doctoring, "Tools", partial(Tools, clock=fake.clock))
    monkeypatch.setattr(doctoring, "measured_peaks", lambda threads, _progress: replace(PEAKS, threads=threads))
    monkeypatch.setattr(doctoring, "take_inventory", lambda _machine: [("providers", "some")])
    monkeypatch.setattr("onnxperf.measure.machine.load.snapshot", others_using(0.01))
    monkeypatch.setattr("onnxperf.measure.machine.describe.describe_machine", lambda: quiet)
    monkeypatch.setattr("onnxperf.measure.machine.describe.after_the_race", lambda machine: machine)
    return fake


def remembered() -> float | None:
    known = noise.recall(examples.machine().cpu)
    return known.band if known else None


@pytest.mark.usefixtures("fake")
def test_a_complete_race_gives_a_band_that_is_remembered() -> None:
    result = doctoring.doctor()
    assert result.record.noise_band == pytest.approx(1 - 1 / 1.004)
    assert remembered() == result.record.noise_band
    assert result.record.rows["noise kept for bench"].startswith("yes")
    assert result.answer.endswith("; 1 % needs nothing special.")
    assert result.status == "ok"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("share", "warned"), [(0.01, ""), (0.4, "\nOther processes used 40 % of the processors during the race:")]
)
def test_what_others_used_during_the_race_is_kept_and_warned_of(
    monkeypatch: pytest.MonkeyPatch, share: float, warned: str
) -> None:
    monkeypatch.setattr("onnxperf.measure.machine.load.snapshot", others_using(share))
    result = doctoring.doctor()
    assert result.record.machine.others_share == pytest.approx(share)
    assert result.answer.startswith("Now, a race of 9 s on this machine shows differences of")
    assert ("\nOther processes" in result.answer, warned in result.answer) == (bool(warned), True)


def test_the_same_model_races_twice_on_one_thread_in_launch_after_launch(fake: FakeMachine) -> None:
    doctoring.doctor()
    specs = [worker.spec for worker in fake.workers]
    assert [spec.subjects[0].name for spec in specs] == ["A", "A again"] * 8
    assert {spec.threads for spec in specs} == {1}
    assert {spec.runtime for spec in specs} == {"ort"}
    assert len({str(spec.feeds["X"].data) for spec in specs}) == 1


def test_threads_can_be_chosen(fake: FakeMachine) -> None:
    rows = doctoring.doctor(threads=3).record.rows
    assert {worker.spec.threads for worker in fake.workers} == {3}
    assert "on 3 threads" in rows["A/A race"]


@pytest.mark.parametrize(
    ("asked", "second_ns", "reason"),
    [
        ({"time": 2}, 25_100, "shorter race"),
        ({"threads": 2}, 25_100, "thread pool"),
        ({}, 30_000, "above 3 %"),
    ],
    ids=["shorter than a bench", "several threads", "very noisy"],
)
def test_a_band_that_would_mislead_a_bench_is_shown_but_not_remembered(
    fake: FakeMachine, asked: dict[str, Any], second_ns: int, reason: str
) -> None:
    fake.call_ns["A again"] = second_ns
    result = doctoring.doctor(**asked)
    assert result.record.noise_band is not None
    assert remembered() is None
    assert reason in result.record.rows["noise kept for bench"]


@pytest.mark.usefixtures("fake")
def test_a_race_too_short_for_a_verdict_has_no_band() -> None:
    result = doctoring.doctor(time=0.1)
    assert result.record.noise_band is None
    assert "give it more `time`" in result.answer


def test_ctrl_c_leaves_the_facts_and_no_band(fake: FakeMachine) -> None:
    fake.troubles["time_block", "A", 50] = raising(KeyboardInterrupt())
    result = doctoring.doctor()
    assert result.record.noise_band is None
    assert remembered() is None
    assert "interrupted" in result.answer
    assert result.record.rows["providers"] == "some"
    assert result.status == "interrupted"


def test_a_race_that_cannot_start_says_why(fake: FakeMachine) -> None:
    broken = raising(SubjectError("failed", "the library is broken"))
    fake.troubles |= {("load", "ort", number): broken for number in range(20)}
    result = doctoring.doctor()
    assert result.record.noise_band is None
    assert "the library is broken" in result.answer
    assert "nothing measured" in result.record.rows["A/A race"]


def test_without_onnxruntime_numpy_races_and_it_is_said(fake: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise MissingExtra("onnxruntime", "cpu")

    monkeypatch.setattr(doctoring, "only_setup", missing)
    result = doctoring.doctor()
    assert result.record.noise_band is not None
    assert {worker.spec.runtime for worker in fake.workers} == {"callable"}
    assert "numpy's matmul (onnxruntime is not installed)" in result.record.rows["A/A race"]


@pytest.mark.parametrize("asked", [{"time": 0.0}, {"time": -1.0}, {"threads": 0}, {"threads": -2}])
def test_impossible_wishes_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(BadOption):
        doctoring.doctor(**asked)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_real_race_runs_from_end_to_end() -> None:
    steps: list[str] = []
    result = doctoring.doctor(time=1.0, progress=lambda _done, text: steps.append(text))
    assert "failed" not in result.answer
    assert "µs a call against itself on 1 thread" in result.record.rows["A/A race"]
    assert "CPUExecutionProvider" in result.record.rows["providers"]
    assert steps[0] == "looking at the machine"


@pytest.mark.usefixtures("fake")
def test_peaks_are_measured_with_one_thread_and_with_one_for_each_core() -> None:
    record = doctoring.doctor().record
    assert [each.threads for each in record.peaks] == [1, record.machine.cores]
    assert record.rows["peak on 1 thread"] == "100 GFLOP/s (int8: 200 GOP/s), 10 GB/s from memory, 100 from a cache"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("error", "rows", "status"),
    [
        (SubjectError("oom", "no memory left"), {"peaks": "not measured: no memory left"}, "ok"),
        (KeyboardInterrupt(), {}, "interrupted"),
    ],
)
def test_without_peaks_the_rest_of_the_report_is_there(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, rows: dict[str, str], status: str
) -> None:
    monkeypatch.setattr(doctoring, "measured_peaks", lambda _threads, _progress: raising(error)())
    result = doctoring.doctor()
    assert {name: text for name, text in result.record.rows.items() if "peak" in name} == rows
    assert result.record.noise_band is not None
    assert result.status == status


def test_quick_describes_the_machine_and_races_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctoring, "race", None)
    monkeypatch.setattr(doctoring, "measured_peaks", None)
    monkeypatch.setattr(doctoring, "take_inventory", lambda _machine, quick: [("providers", f"some {quick}")])
    result = doctoring.doctor(quick=True)
    assert result.record.rows == {"providers": "some True", "A/A race": "left out (quick)"}
    assert (result.record.noise_band, result.record.peaks, result.status) == (None, (), "ok")
    assert "The noise of this machine is not known: `onnxperf doctor` measures it." in result.answer
    for changes in ({"time": 3.0}, {"threads": 2}):
        with pytest.raises(BadOption, match="does nothing with `quick`, which races nothing"):
            doctoring.doctor(quick=True, **changes)
