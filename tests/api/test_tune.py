"""Tunings of real models, by what does not depend on time; and everything that is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import onnxperf
from onnxperf.api._shared.requests import BenchKeywords, parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning.facts import facts_of
from onnxperf.cli.main import run
from onnxperf.cli.present import exit_code
from onnxperf.errors import BadOption
from onnxperf.records.tune import Tuning
from onnxperf.results.tune import TuneResult
from onnxperf.tuning import knobs

# Casts to whole numbers and back are a chain, but leaving them out changes the values.
_CASTS = """
<ir_version: 8, opset_import: ["" : 17]>
casts (float[rows, 64] X) => (float[rows, 64] Y)
{ A = Cast <to = 7> (X)  B = Cast <to = 1> (A)  C = Mul(X, B)  Y = Relu(C) }
"""
# Casts to 16 bits and back take most of the time, and leaving them out changes no value by more than the tolerance.
_STORM = """
<ir_version: 8, opset_import: ["" : 17]>
storm (float[256, 1024] X) => (float[256, 1024] Y)
{{ B0 = Relu(X)  {layers}  Y = Relu(B12) }}
"""
CHAIN = "enable_cast_chain_elimination=1"


@pytest.fixture
def casts(tmp_path: Path) -> Path:
    path = tmp_path / "casts.onnx"
    onnx.save(onnx.parser.parse_model(_CASTS), path)
    return path


@pytest.fixture
def one_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only chains of casts are tried."""
    monkeypatch.setattr(knobs, "KNOBS", [each for each in knobs.KNOBS if each.name == "casts"])


def row_of(record: Tuning, name: str) -> Any:
    return next(row for row in record.rows if row.choice.name == name)


@pytest.mark.usefixtures("one_knob")
def test_a_choice_with_other_outputs_is_shown_and_not_chosen(casts: Path, tmp_path: Path) -> None:
    saved = tmp_path / "tuned.json"
    found = onnxperf.tune(casts, dims={"rows": 64}, call="run", time=60.0, save=saved)
    row = row_of(found.record, CHAIN)
    assert row.status == "differs"
    assert row.reason.startswith("output Y")
    assert found.record.winner is None or CHAIN not in found.record.winner.name
    assert any(note.startswith(f"{CHAIN}: outputs differ") for note in found.record.notes)
    assert found.ok
    assert not saved.exists()
    assert f"{saved} was not written: there is no winner" in found.record.notes
    frame = found.to_df()
    assert frame.name.tolist()[0] == CHAIN
    assert set(found.table_names()) == {"choices", "race", "pareto"}
    for suffix in (".json", ".png", ".csv", ".md"):
        found.save(tmp_path / f"tune{suffix}")
    assert CHAIN in repr(found)
    assert "<table" in found._repr_html_()


@pytest.mark.slow
@pytest.mark.usefixtures("one_knob")
def test_a_cause_is_found_proven_saved_and_used_again(tmp_path: Path) -> None:
    layers = " ".join(f"A{n} = Cast <to = 10> (B{n})  B{n + 1} = Cast <to = 1> (A{n})" for n in range(12))
    path, saved = tmp_path / "storm.onnx", tmp_path / "tuned.json"
    onnx.save(onnx.parser.parse_model(_STORM.format(layers=layers)), path)
    found = onnxperf.tune(path, call="run", time=10.0, save=saved)
    record = found.record
    if not found:  # on a machine that is too busy for a proof
        assert record.outcome in ("defaults", "unanswered")
        return
    assert row_of(record, CHAIN).status == "ok"
    assert record.verdict == "faster"
    assert record.confirmation is not None
    assert record.gain == record.confirmation.subjects[1].speedup
    assert saved.exists()
    assert found.settings.get("call") == "run"
    assert onnxperf.load(path, options=saved).run({"X": np.ones((256, 1024), dtype=np.float32)})["Y"].shape == (
        256,
        1024,
    )
    names: dict[str, Any] = {"inputs": {"X": np.ones((256, 1024), dtype=np.float32)}}
    exec(found.snippet, names)
    assert names["outputs"][0].shape == (256, 1024)


@pytest.mark.slow
def test_a_rewritten_model_is_saved_beside_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs, "KNOBS", [each for each in knobs.KNOBS if each.name == "rewrite"])
    text = """<ir_version: 8, opset_import: ["" : 17]>
    e (float[64, 64, 64] A, float[64, 64, 64] B) => (float[64] Y)
    { S = Einsum <equation = "bij,bij->b"> (A, B)  Y = Relu(S) }"""
    path, saved = tmp_path / "e.onnx", tmp_path / "tuned.json"
    onnx.save(onnx.parser.parse_model(text), path)
    found = onnxperf.tune(path, call="run", time=25.0, save=saved)
    if not found:  # on a machine that is too busy for a proof
        assert not saved.exists()
        return
    assert found.record.winner is not None
    assert found.record.winner.rewrite == "einsum"
    assert found.record.saved_model == str(tmp_path / "tuned.onnx")
    assert all(node.op_type != "Einsum" for node in onnx.load(tmp_path / "tuned.onnx").graph.node)
    assert "'tuned.onnx'" in found.snippet
    arrays = {name: np.ones((64, 64, 64), dtype=np.float32) for name in "AB"}
    outputs = onnxperf.load(tmp_path / "tuned.onnx", options=saved).run(arrays)
    np.testing.assert_allclose(outputs["Y"], np.full(64, 4096, dtype=np.float32))


@pytest.mark.usefixtures("one_knob")
@pytest.mark.parametrize("goal", ["cpu", "memory"])
def test_other_goals_compare_cpu_time_and_memory(casts: Path, goal: Any) -> None:
    record = onnxperf.tune(casts, goal=goal, call="run", time=60.0).record
    assert record.goal == goal
    assert record.default_amount is not None
    assert row_of(record, CHAIN).status == "differs"
    assert record.outcome == "defaults"
    if goal == "memory":
        assert record.default_amount > 1e6
        assert record.confirmation is None


def test_approximate_models_have_an_error_and_do_not_win_without_permission(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def approximate_models(
        entry: Any, _settings: Any, folder: Path, calibration: Any, _goes_on: Any
    ) -> list[tuple[str, Path]]:
        asked.append(calibration)
        proto = onnx.load(entry.model.path)
        for weight in proto.graph.initializer:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.1), weight.name))
        onnx.save(proto, folder / "int8.onnx")
        return [("int8 dynamic", folder / "int8.onnx")]

    module = ModuleType("approximations")
    module.approximate_models = approximate_models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onnxperf.api._tuning.approximations", module)
    monkeypatch.setattr("onnxperf.api.tune.choices_for", lambda *_wanted: [])
    calibration = {"X": np.ones((4, 10), dtype=np.float32)}
    found = onnxperf.tune(linear_path, allow="approx", calibration=calibration, time=60.0)
    row = row_of(found.record, "int8 dynamic")
    assert asked == [calibration]
    assert row.status == "ok"
    assert row.choice.approximate
    assert row.error == pytest.approx(0.1, rel=0.01)
    assert found.record.outcome == "defaults"
    assert found.record.tried is None
    assert "int8 dynamic" in found.table("pareto").name.tolist()


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"goal": "joy"}, "joy"),
        ({"call": "shout"}, "shout"),
        ({"allow": "everything"}, "everything"),
        ({"max_error": 0.1}, "add `allow=approx`"),
        ({"calibration": {}}, "add `allow=approx`"),
        ({"allow": "approx", "max_error": -1.0}, "0 or more"),
        ({"save": "tuned.onnx"}, "ends with .json"),
        ({"save": "no/such/folder/tuned.json"}, "folder"),
        ({"time": 0}, "more than 0"),
        ({"threads": 2}, "threads"),
        ({"resume": "last"}, "no run"),
    ],
)
def test_what_cannot_be_tuned_is_refused(linear_path: Path, keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises(onnxperf.BadInput, match=problem):
        onnxperf.tune(linear_path, **keywords)


@pytest.mark.usefixtures("one_knob")
def test_the_command_keeps_a_run_that_is_shown_exported_and_not_resumed_when_it_is_complete(
    casts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "runs.sqlite")]
    words = ["tune", str(casts), "--dim", "rows=8", "--call", "run", "--time", "60", *store]
    assert run([*words, "-o", str(tmp_path / "tune.json")]) == 0
    shown = capsys.readouterr().out
    assert "Keep the defaults" in shown
    assert run(["runs", "show", "last", *store]) == 0
    assert "Keep the defaults" in capsys.readouterr().out
    assert run(["runs", "export", "last", "-o", str(tmp_path / "again.csv"), *store]) == 0
    assert CHAIN in (tmp_path / "again.csv").read_text()
    capsys.readouterr()
    assert run([*words, "--resume", "last"]) == 2
    assert "that run is complete; run it again without --resume" in capsys.readouterr().err
    assert run([*words, "--goal", "cpu", "--resume", "last"]) == 2
    assert "another goal" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "branches", "chain", "operators"),
    [
        ("A = MatMul(X, X)  Y = MatMul(A, A)", False, False, {"MatMul": 2}),
        ("A = MatMul(X, X)  B = MatMul(X, A)  Y = Add(A, B)", False, False, {"MatMul": 2, "Add": 1}),
        ("A = MatMul(X, X)  B = MatMul(X, X)  Y = Add(A, B)", True, False, {"MatMul": 2, "Add": 1}),
        ("A = Cast <to = 11> (X)  Y = Cast <to = 1> (A)", False, True, {"Cast": 2}),
        ("A = Cast <to = 11> (X)  B = Neg(A)  Y = Cast <to = 1> (B)", False, False, {"Cast": 2, "Neg": 1}),
    ],
)
def test_facts_are_read_from_the_graph(
    tmp_path: Path, body: str, branches: bool, chain: bool, operators: dict[str, int]
) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[n, n] X) => (float[n, n] Y) {{ {body} }}'
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    settings = parse({"dims": {"n": 4}}, BenchKeywords)
    facts = facts_of(open_entries(path, settings.inputs, None)[0], 2, "")
    assert (facts.branches, facts.cast_chain, facts.operators) == (branches, chain, operators)
    assert facts.symbolic == {"n": 4}
    assert facts.calls[0] == "run-c"
    assert "run" not in facts.calls


def test_a_run_that_is_no_tuning_is_not_resumed(linear_path: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "runs.sqlite")
    run(["bench", str(linear_path), "--time", "0.3", "--store", store])
    with pytest.raises(BadOption, match="not a tuning"):
        onnxperf.tune(linear_path, resume="last", store=store)


@pytest.mark.parametrize(("outcome", "code"), [("tuned", 0), ("defaults", 0), ("unanswered", 3)])
def test_a_tuning_that_tried_too_little_has_no_answer(outcome: Any, code: int) -> None:
    assert exit_code(TuneResult(Tuning(model="m", outcome=outcome))) == code
