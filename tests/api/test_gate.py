"""Gates of real models; which of them is faster is given, so that nothing here depends on this machine."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from statistics import median
from typing import Any

import onnx
import pytest
from onnx import parser

import onnxperf
from onnxperf.analyze.judges.gate_record import RecordedRun, RecordedSide
from onnxperf.analyze.judges.weighing import PROCESSES
from onnxperf.api import gate as module
from onnxperf.api._shared import yardstick
from onnxperf.cli.main import run
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.records.gate import Gate, GateControl, GateLimit, GateOutcome
from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.documents import from_json, to_json

MEASURE_LAUNCHES = yardstick.measure_launches
SHORT: dict[str, Any] = {"time": 0.5, "warmup": 0.01, "threads": 1}


def saved(path: Path, body: str, name: str = "g") -> Path:
    onnx.save(
        parser.parse_model(
            f'<ir_version: 9, opset_import: ["" : 18]> {name} (float[n, 4] X) => (float[n, 4] Y) {{ {body} }}'
        ),
        path,
    )
    return path


@pytest.fixture
def models(tmp_path: Path) -> tuple[Path, Path]:
    return saved(tmp_path / "old.onnx", "Y = Relu(X)"), saved(tmp_path / "new.onnx", "Y = Relu(X)")


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the race says is given: the time of the new model, and whether the control passed."""

    def decide(ratio: float, control: bool = True) -> None:
        outcome: GateOutcome = "passed" if ratio <= 1.05 else "failed"

        def limits(cases: Any, max_slowdown: float) -> list[GateLimit]:
            ends: Any = {"ratio": ratio, "ratio_low": ratio - 0.001, "ratio_high": ratio + 0.001, "outcome": outcome}
            return [GateLimit(measure="time", dims=case.dims, limit=1 + max_slowdown, **ends) for case in cases]

        monkeypatch.setattr(module, "limits_in", limits)
        monkeypatch.setattr(
            module,
            "control_in",
            lambda case: GateControl(dims=case.dims, passed=control, reason="" if control else "noisy"),
        )

    return decide


@pytest.mark.parametrize(
    ("ratio", "control", "options", "code"),
    [
        (1.0, True, [], 0),
        (1.2, True, [], 1),
        (1.2, False, [], 3),
        (1.0, False, ["--undecided", "pass"], 0),
        (1.0, False, ["--undecided", "fail"], 1),
    ],
    ids=["passed", "failed", "control", "counts as passed", "counts as failed"],
)
def test_the_exit_code_says_what_ci_needs_to_know(
    models: tuple[Path, Path], decided: Any, ratio: float, control: bool, options: list[str], code: int
) -> None:
    decided(ratio, control)
    old, new = map(str, models)
    words = ["gate", new, "--baseline", old, "--time", "0.5", "--threads", "1", "--dim", "n=2", "--no-store"]
    assert run([*words, *options]) == code


def test_a_gate_is_written_for_ci_kept_and_shown(
    models: tuple[Path, Path], decided: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decided(1.2)
    old, new = map(str, models)
    files = [word for name in ("gate.md", "gate.xml", "gate.html", "gate.csv") for word in ("-o", str(tmp_path / name))]
    store = ["--store", str(tmp_path / "runs.sqlite")]
    words = ["gate", new, "--baseline", old, "--time", "0.5", "--threads", "1", "--dim", "n=1,2", *files, *store]
    assert run(words) == 1
    suite = ET.fromstring((tmp_path / "gate.xml").read_bytes())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "0")
    assert "time: new / baseline is 1.200 (1.199–1.201), and the limit is 1.05" in (tmp_path / "gate.xml").read_text()
    assert "FAIL: new takes 1.200× as long as old for n=1 (95 % CI 1.199–1.201)" in (tmp_path / "gate.md").read_text()
    assert "Ratios and limits" in (tmp_path / "gate.html").read_text()
    assert run(["runs", "show", "last", *store]) == 0
    assert "FAIL: new takes 1.200×" in capsys.readouterr().out


def test_other_outputs_fail_unless_they_are_not_compared(models: tuple[Path, Path], tmp_path: Path) -> None:
    old, other = models[0], saved(tmp_path / "other.onnx", "Y = Neg(X)")
    found = onnxperf.gate(other, old, dims={"n": 2}, **SHORT)
    assert not found
    assert (found.record.outcome, found.record.limits[0].measure) == ("failed", "outputs")
    unchecked = onnxperf.gate(other, old, dims={"n": 2}, check=False, **SHORT)
    assert {each.measure for each in unchecked.record.limits} == {"time"}


def test_memory_of_both_sides_is_measured_where_it_is_limited(models: tuple[Path, Path]) -> None:
    found = onnxperf.gate(models[1], models[0], dims={"n": 2}, max_memory=10.0, max_slowdown=10.0, **SHORT)
    (limit,) = [each for each in found.record.limits if each.measure == "memory"]
    assert limit.ratio is not None
    assert (len(limit.baseline_values), len(limit.new_values)) == (PROCESSES, PROCESSES)
    assert (limit.baseline, limit.new) == (median(limit.baseline_values), median(limit.new_values))


@pytest.mark.parametrize(
    ("new_values", "known"), [((90, 95, 100, 105, 110), (90, 95, 100, 105, 110)), ((), (100,))], ids=["all", "older"]
)
def test_a_record_brings_the_memory_of_every_process(new_values: tuple[int, ...], known: tuple[int, ...]) -> None:
    limit = GateLimit(measure="memory", dims={"n": 2}, new=100.0, new_values=new_values)
    gated = Gate(model="m", baseline="b", limits=(limit,))
    run = RecordedRun(name="gate.json", machine=None, cases=(), limits=from_json(to_json(gated), Gate).limits)
    side = RecordedSide(run=run, case=Case(model="m"), subject=Subject(name="new", status="ok"))
    assert module._recorded_memory([side]) == {(("n", 2),): known}


def test_the_baseline_races_itself_beside_the_new_model(models: tuple[Path, Path]) -> None:
    found = onnxperf.gate(models[1], models[0], dims={"n": 2}, **SHORT)
    (case,) = found.record.races
    assert [subject.name for subject in case.subjects] == ["baseline", "control", "new"]
    assert (found.record.model, found.record.baseline) == ("new", "old")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"max_slowdown": -0.1}, "max_slowdown"),
        ({"max_memory": -1.0}, "max_memory"),
        ({"undecided": "maybe"}, "undecided"),
        ({"threads": [1, 2]}, "several values"),
        ({"max_error": -1.0}, "max_error"),
        ({"baseline_subject": "run"}, "the baseline is a model"),
    ],
)
def test_what_makes_no_sense_is_refused(models: tuple[Path, Path], changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        onnxperf.gate(models[1], models[0], **changes)


# ---------------------------------------------------------------- errors and environments


@pytest.mark.parametrize(
    ("body", "max_error", "outcome"),
    [
        ("Y = Relu(X)", 0.0, "passed"),
        ("half = Constant <value_float = 0.5> ()  R = Relu(X)  Y = Mul(R, half)", 0.6, "passed"),
        ("half = Constant <value_float = 0.5> ()  R = Relu(X)  Y = Mul(R, half)", 0.4, "failed"),
    ],
    ids=["equal", "accepted", "too large"],
)
def test_an_error_of_outputs_may_be_accepted(
    models: tuple[Path, Path], tmp_path: Path, body: str, max_error: float, outcome: GateOutcome
) -> None:
    other = saved(tmp_path / "other.onnx", body)
    found = onnxperf.gate(other, models[0], dims={"n": 2}, max_error=max_error, max_slowdown=50.0, **SHORT)
    (error,) = [each for each in found.record.limits if each.measure == "error"]
    assert (error.outcome, error.limit) == (outcome, max_error)
    assert error.new == pytest.approx(0.0 if body == "Y = Relu(X)" else 0.5, abs=1e-6)
    assert "outputs" not in {each.measure for each in found.record.limits}
    if outcome == "failed":
        assert found.answer.startswith("FAIL: the largest error of other is 0.5; the limit is 0.4.\nControl, ")


def test_outputs_of_another_shape_have_no_error(models: tuple[Path, Path], tmp_path: Path) -> None:
    other = saved(tmp_path / "other.onnx", "A = ReduceSum <keepdims = 0> (X)  Y = Identity(A)")
    found = onnxperf.gate(other, models[0], dims={"n": 2}, max_error=1.0, max_slowdown=50.0, **SHORT)
    (error,) = [each for each in found.record.limits if each.measure == "error"]
    assert (error.outcome, error.new) == ("failed", None)
    assert "other types or shapes" in error.reason


def test_the_baseline_may_have_an_environment_of_its_own(models: tuple[Path, Path]) -> None:
    found = onnxperf.gate(models[1], models[1], dims={"n": 2}, baseline_env=sys.executable, **SHORT)
    (case,) = found.record.races
    assert [subject.status for subject in case.subjects] == ["ok", "ok", "ok"]
    assert found.record.baseline == f"new in {sys.executable}"


def test_an_environment_that_cannot_be_had_is_refused_before_anything_is_measured(models: tuple[Path, Path]) -> None:
    with pytest.raises(OnnxperfError):
        onnxperf.gate(models[1], models[0], baseline_env="/no/such/python", **SHORT)


# ---------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        ("nosuchrun", "'nosuchrun' is neither a file nor a run"),
        ("missing.json", "cannot be read"),
        ("broken.json", "is not JSON"),
        ("other.json", "is not a record of bench, sweep or gate"),
    ],
)
def test_a_baseline_that_is_nothing_is_refused(
    models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text('{"version": 1}')
    with pytest.raises(OnnxperfError, match=reason):
        onnxperf.gate(models[1], baseline, dims={"n": 2}, store=tmp_path / "runs.sqlite", **SHORT)


def test_a_bench_without_a_yardstick_decides_nothing(models: tuple[Path, Path], tmp_path: Path) -> None:
    onnxperf.bench(models[0], dims={"n": 2}, **SHORT).save(tmp_path / "base.json")
    found = onnxperf.gate(models[1], tmp_path / "base.json", dims={"n": 2}, **SHORT)
    (limit,) = found.record.limits
    assert (found.record.recorded, found.record.baseline, limit.outcome) == (True, "old of base.json", "undecided")
    assert "has no yardstick to compare by" in limit.reason
    assert [subject.name for subject in found.record.races[0].subjects] == ["new", "control"]
    assert "outputs were not compared: the baseline is a record" in found.record.notes


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"max_error": 0.1}, "holds no outputs"),
        ({"max_memory": 0.1}, "has no memory"),
        ({"baseline_env": "onnxruntime==1.20.1"}, "was measured already"),
        ({"baseline_subject": "nothing"}, "nothing"),
        ({"call": "io-binding"}, "0 subjects of base.json"),
    ],
)
def test_what_a_record_cannot_be_asked_is_refused(
    models: tuple[Path, Path], tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    onnxperf.bench(models[0], dims={"n": 2}, **SHORT).save(tmp_path / "base.json")
    with pytest.raises(BadOption, match=reason):
        onnxperf.gate(models[1], tmp_path / "base.json", **{**SHORT, **changes})


@pytest.mark.slow
def test_a_model_is_compared_with_a_file_a_run_and_a_gate(
    models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real measurements; whether they pass is left to the machine, but the ratio is there."""
    monkeypatch.setattr(yardstick, "measure_launches", MEASURE_LAUNCHES)
    monkeypatch.setattr(yardstick, "_readings", [])
    base, gated, store = tmp_path / "base.json", tmp_path / "gate.json", tmp_path / "runs.sqlite"
    old, new = map(str, models)
    inputs = ["--dim", "n=64", "--threads", "1", "--time", "1"]
    assert run(["bench", old, *inputs, "-o", str(base), "--store", str(store)]) == 0
    words = ["gate", new, *inputs, "--max-slowdown", "5000%", "--store", str(store)]
    assert run([*words, "--baseline", str(base), "-o", str(gated), "-o", str(tmp_path / "g.html")]) in (0, 3)
    assert run([*words, "--baseline", str(gated)]) in (0, 3)
    bench = onnxperf.runs(kind="bench", store=store).record.runs[0].id
    found = onnxperf.gate(new, bench, dims={"n": 64}, threads=1, time=1.0, store=store)
    (limit,) = found.record.limits
    assert found.record.baseline == f"old of run {bench}"
    assert limit.ratio is not None or "rests on too few" in limit.reason
