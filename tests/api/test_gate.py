"""Gates of real models; which of them is faster is given, so that nothing here depends on this machine."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

import onnxperf
from onnxperf.api import gate as module
from onnxperf.cli.main import run
from onnxperf.errors import BadOption
from onnxperf.records.gate import GateControl, GateLimit, GateOutcome

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

        def limits(case: Any, max_slowdown: float) -> list[GateLimit]:
            ends: Any = {"ratio": ratio, "ratio_low": ratio - 0.001, "ratio_high": ratio + 0.001}
            return [GateLimit(measure="time", dims=case.dims, limit=1 + max_slowdown, outcome=outcome, **ends)]

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
    assert "time: new / baseline is 1.200" in (tmp_path / "gate.xml").read_text()
    assert "new fails: it takes 1.200 times as long as old" in (tmp_path / "gate.md").read_text()
    assert "Ratios and limits" in (tmp_path / "gate.html").read_text()
    assert run(["runs", "show", "last", *store]) == 0
    assert "new fails" in capsys.readouterr().out


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
    assert (limit.baseline or 0) > 0
    assert (limit.new or 0) > 0


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
    ],
)
def test_what_makes_no_sense_is_refused(models: tuple[Path, Path], changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        onnxperf.gate(models[1], models[0], **changes)
