"""Tunings of real models, by what does not depend on time; and everything that is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import onnxperf
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._shared.variants import session_of
from onnxperf.api._tuning.candidates import changed
from onnxperf.api._tuning.facts import facts_of
from onnxperf.api._tuning.request import Aim, aim_of, for_files, note_on_start, starts_alike
from onnxperf.cli.main import run
from onnxperf.cli.present import exit_code
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.options.functions import TUNE
from onnxperf.records.options import SessionOptions
from onnxperf.records.tune import TuneChoice, Tuning
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
    saved = tmp_path / "tuned.settings.json"
    found = onnxperf.tune(casts, dims={"rows": 64}, call="run", time=60.0)
    row = row_of(found.record, CHAIN)
    assert row.status == "differs"
    assert row.reason.startswith("output Y")
    assert found.record.winner is None or CHAIN not in found.record.winner.name
    assert any(note.startswith(f"{CHAIN}: outputs differ") for note in found.record.notes)
    assert found.ok
    with pytest.raises(FileNotWritten, match="there is no winner"):
        found.save(saved)
    assert not saved.exists()
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
    path, saved = tmp_path / "storm.onnx", tmp_path / "tuned.settings.json"
    onnx.save(onnx.parser.parse_model(_STORM.format(layers=layers)), path)
    found = onnxperf.tune(path, call="run", time=10.0)
    record = found.record
    if not found:  # on a machine that is too busy for a proof
        assert record.outcome in ("defaults", "unanswered")
        return
    assert row_of(record, CHAIN).status == "ok"
    assert record.verdict == "faster"
    assert record.confirmation is not None
    assert record.gain == record.confirmation.subjects[1].speedup
    found.save(saved)
    assert found.settings.get("call") == "run"
    assert onnxperf.load(path, variants=saved).run({"X": np.ones((256, 1024), dtype=np.float32)})["Y"].shape == (
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
    path, saved = tmp_path / "e.onnx", tmp_path / "tuned.settings.json"
    onnx.save(onnx.parser.parse_model(text), path)
    found = onnxperf.tune(path, call="run", time=25.0)
    if not found:  # on a machine that is too busy for a proof
        return
    found.save(saved)
    assert found.record.winner is not None
    assert found.record.winner.rewrite == "einsum"
    assert any("NAME.settings.json is written with NAME.onnx next to it" in note for note in found.record.notes)
    assert all(node.op_type != "Einsum" for node in onnx.load(tmp_path / "tuned.onnx").graph.node)
    assert "'tuned.onnx'" in found.snippet
    arrays = {name: np.ones((64, 64, 64), dtype=np.float32) for name in "AB"}
    outputs = onnxperf.load(tmp_path / "tuned.onnx", variants=saved).run(arrays)
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
    linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def approximate_models(
        entry: Any, _settings: Any, folder: Path, calls: Any, _goes_on: Any
    ) -> list[tuple[str, Path]]:
        asked.extend(calls)
        proto = onnx.load(entry.model.path)
        for weight in proto.graph.initializer:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.1), weight.name))
        onnx.save(proto, folder / "int8.onnx")
        return [("int8 dynamic", folder / "int8.onnx")]

    module = ModuleType("approximations")
    module.approximate_models = approximate_models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onnxperf.api._tuning.approximations", module)
    monkeypatch.setattr("onnxperf.api.tune.choices_for", lambda *_wanted: [])
    data = tmp_path / "data.npz"
    np.savez(data, X=np.ones((4, 10), dtype=np.float32))
    found = onnxperf.tune(linear_path, allow="approx", calibrate=data, time=60.0)
    row = row_of(found.record, "int8 dynamic")
    assert [call["X"].shape for call in asked] == [(1, 10)] * 4
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
        ({"max_error": 0.1}, "does nothing with exact candidates"),
        ({"calibrate": "data.npz"}, "does nothing with exact candidates"),
        ({"allow": "approx", "max_error": -1.0}, "at least 0"),
        ({"allow": "approx", "max_error": "much"}, "0.01 or 1%"),
        ({"allow": "approx", "calibrate": "missing.npz"}, "missing.npz"),
        ({"allow": "approx", "calibrate": {"Y": np.ones((4, 10))}}, "no array for input 'X'"),
        ({"time": 0}, "more than 0"),
        ({"threads": [1, 2]}, "threads has several values"),
        ({"options": {"arena": ["on", "off"]}}, "arena has several values"),
        ({"variants": {"a": {}, "b": {}}}, "variants has several values"),
        ({"variants": {"a": {"runtime": "numpy"}}}, "not of numpy"),
        ({"variants": {"a": {"call": "run,run-c"}}}, "one call style"),
        ({"variants": {"a": {"call": "run-c"}}, "call": "run"}, "another call style"),
        ({"options": {"session.no_such_key": "1"}}, "session.no_such_key"),
        ({"resume": "last"}, "needs the store"),
        ({"save": "tuned.settings.json"}, "unknown option 'save'"),
        ({"calibration": {}}, "unknown option 'calibration'"),
    ],
)
def test_what_cannot_be_tuned_is_refused(linear_path: Path, keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises(onnxperf.BadInput, match=problem):
        onnxperf.tune(linear_path, **keywords)


def test_a_run_that_does_not_exist_is_not_resumed(linear_path: Path, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="no run 'last'"):
        onnxperf.tune(linear_path, resume="last", store=tmp_path / "runs.sqlite")


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
    settings = parse({"dims": {"n": 4}}, TUNE)
    facts = facts_of(open_entries(path, settings.inputs, None)[0], 2, Aim())
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


# ---------------------------------------------------------------- the session that a search starts from


@pytest.mark.parametrize(
    ("given", "session", "fixed"),
    [
        ({}, SessionOptions(), ()),
        ({"threads": 1}, SessionOptions(threads=1), ("threads",)),
        ({"opt_level": "all"}, SessionOptions(), ("opt_level",)),
        ({"options": {"arena": "off"}}, SessionOptions(arena="off"), ("arena",)),
        ({"options": {"arena": "default"}}, SessionOptions(), ("arena",)),
        (
            {"variants": {"lean": {"arena": "off"}}, "threads": 2},
            SessionOptions(threads=2, arena="off"),
            ("threads", "arena"),
        ),
        ({"options": {"enable_cpu_mem_arena": "1"}}, SessionOptions(), ("arena",)),
        (
            {"options": {"disable_prepacking": "0"}},
            SessionOptions(options={"session.disable_prepacking": "0"}),
            ("session.disable_prepacking",),
        ),
        (
            {"options": {"session.intra_op.allow_spinning": "1"}},
            SessionOptions(options={"session.intra_op.allow_spinning": "1"}),
            ("session.intra_op.allow_spinning",),
        ),
    ],
)
def test_settings_that_were_given_are_the_start_of_the_search_and_are_not_varied(
    given: dict[str, Any], session: SessionOptions, fixed: tuple[str, ...]
) -> None:
    settings = parse(given, TUNE)
    assert settings.given[0].session == session
    assert set(aim_of(settings, given).fixed) == set(fixed)


def test_a_variant_may_fix_the_call_style() -> None:
    given = {"variants": {"bound": {"call": "io-binding"}}}
    assert aim_of(parse(given, TUNE), given).call == "io-binding"


@pytest.mark.parametrize(
    ("fixed", "has_runtimes"), [((), True), (("threads",), True), (("arena",), False), (("env", "threads"), False)]
)
def test_other_runtimes_are_tried_only_if_they_have_the_settings_that_were_given(
    linear_path: Path, fixed: tuple[str, ...], has_runtimes: bool
) -> None:
    entry = open_entries(linear_path, parse({}, TUNE).inputs, None)[0]
    assert bool(facts_of(entry, 2, Aim(fixed=fixed)).runtimes) == has_runtimes


def test_candidates_change_single_settings_of_the_session_as_given() -> None:
    given = {"threads": 2, "arena": "off", "session.dynamic_block_base": "4", "disabled_optimizers": "ReshapeFusion"}
    start = session_of(given)
    assert changed(start, {}) == start
    assert changed(start, {"opt_level": "basic"}) == session_of({**given, "opt_level": "basic"})


def test_a_run_goes_on_only_from_the_settings_that_it_started_from() -> None:
    plain, lean = (note_on_start(parse(given, TUNE)) for given in ({}, {"options": {"arena": "off"}}))
    assert plain == ""
    assert "arena=off" in lean
    assert starts_alike(["another note"], plain)
    assert starts_alike([lean, "another note"], lean)
    assert not starts_alike([lean], plain)
    assert not starts_alike([], lean)


def test_files_of_settings_name_no_environment_provider_or_library() -> None:
    settings = {"threads": "1", "env": "onnxruntime==1.20.1", "provider": "cuda", "custom_ops": "a.so", "arena": "off"}
    kept, others = for_files(settings)
    assert kept == {"threads": "1", "arena": "off"}
    assert others == ["env", "provider", "custom_ops"]


@pytest.mark.usefixtures("one_knob")
def test_the_answer_says_what_the_defaults_are_if_settings_were_given(casts: Path) -> None:
    record = onnxperf.tune(casts, dims={"rows": 8}, call="run", threads=1, options={"arena": "off"}, time=2.0).record
    assert record.threads == 1
    assert "the defaults are the session as given: threads=1, arena=off; these settings were not varied" in record.notes


# ---------------------------------------------------------------- files of settings


def tuned(**choice: Any) -> Tuning:
    winner = TuneChoice(name="arena=off", knobs=("arena",), **{"settings": {"arena": "off"}, **choice})
    return Tuning(model="m", fingerprint="f", dims={"n": 4}, outcome="tuned", winner=winner, call="run-c")


def test_the_settings_of_the_winner_are_written_by_the_longest_suffix(tmp_path: Path) -> None:
    result = TuneResult(tuned())
    result.save(tmp_path / "tuned.settings.json")
    result.save(tmp_path / "record.json")
    saved, record = (json.loads((tmp_path / name).read_text()) for name in ("tuned.settings.json", "record.json"))
    assert (saved["settings"], saved["call"], saved["dims"]) == ({"arena": "off"}, "run-c", {"n": 4})
    assert record["outcome"] == "tuned"
    assert list(tmp_path.glob("*.onnx")) == []


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (Tuning(model="m", outcome="defaults"), "there is no winner"),
        (Tuning(model="m", outcome="unconfirmed", winner=tuned().winner), "there is no winner"),
        (tuned(rewrite="einsum"), "a rewritten model .einsum., which is not saved with a run; tune again"),
    ],
)
def test_there_are_no_settings_without_a_winner_and_its_model(tmp_path: Path, record: Tuning, problem: str) -> None:
    with pytest.raises(FileNotWritten, match=problem):
        TuneResult(record).save(tmp_path / "tuned.settings.json")
    assert list(tmp_path.iterdir()) == []


def fake_tuning(record: Tuning) -> Callable[..., TuneResult]:
    def write(place: Path) -> None:
        place.write_bytes(b"model")

    return lambda *_args, **_keywords: TuneResult(record, write if record.winner and record.winner.rewrite else None)


@pytest.mark.parametrize(
    ("record", "name", "code", "files"),
    [
        (tuned(), "t.settings.json", 0, {"t.settings.json"}),
        (tuned(rewrite="einsum"), "t.settings.json", 0, {"t.settings.json", "t.onnx"}),
        (tuned(rewrite="einsum"), "record.json", 0, {"record.json"}),
        (Tuning(model="m", outcome="defaults"), "t.settings.json", 3, set()),
        (Tuning(model="m", outcome="defaults"), "record.json", 0, {"record.json"}),
        (tuned(rewrite="einsum"), "-.settings.json", 3, set()),
    ],
)
def test_the_command_writes_settings_with_the_model_that_they_are_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: Tuning, name: str, code: int, files: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(onnxperf, "tune", fake_tuning(record))
    assert run(["tune", "m.onnx", "-o", name, "--quiet"]) == code
    assert {each.name for each in tmp_path.iterdir()} == files
