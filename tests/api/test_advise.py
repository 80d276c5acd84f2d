"""Advice on real models, by what does not depend on time; and everything that is refused."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from msgspec.structs import replace

import onnxperf
from onnxperf.analyze.hazards.base import Facts
from onnxperf.analyze.judges.advice import Attempt
from onnxperf.api._advice import trials
from onnxperf.api._advice.budget import AdviceBudget
from onnxperf.api._advice.facts import KnownFacts
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.setups import Setup
from onnxperf.cli.main import run
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.model_reader import outline_of
from onnxperf.model.opened import Model
from onnxperf.options.functions import ADVISE
from onnxperf.records.advice import Hazard, Trial, Tried
from onnxperf.records.inspection import Inspection
from onnxperf.records.options import SessionOptions
from tests.analyze.hazards.made_facts import facts, node
from tests.api.models import make_model

TIME = 0.3
module = importlib.import_module("onnxperf.api.advise")
"""Its name in the package is that of the function."""
# The second node makes numbers that only exist as denormals.
_TINY = """
<ir_version: 8, opset_import: ["" : 17]>
tiny (float[64] X) => (float[64] Y)
<float two = {2.0}, float small = {1e-39}, float large = {1e38}>
{
    [double] A = Mul(X, two)
    [shrink] B = Mul(A, small)
    [grow] Y = Mul(B, large)
}
"""
REWRITING = "onnxperf.api._tuning.rewriting"


@pytest.fixture(autouse=True)
def rewriting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for rewrites where these are not there."""
    if importlib.util.find_spec(REWRITING) is not None:
        return
    fake: Any = ModuleType(REWRITING)
    fake.inspection_of = _inspection
    fake.rewritten = lambda _model, _name, _folder, _shapes: None
    monkeypatch.setitem(sys.modules, REWRITING, fake)


def _inspection(model: Model) -> Inspection:
    return Inspection(graph=outline_of(model, named=True).graph, opset=18)


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("advise") / "layers.onnx"
    onnx.save(make_model(6), path)
    return path


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of the model is not measured again: these tests bring hazards of their own."""
    known = facts([node("mul0", "MatMul", 20)], SessionOptions(threads=1), denormals={})
    monkeypatch.setattr(module, "facts_of", lambda _entry, _settings, setup, _progress: _of(known, setup))


def _of(known: Facts, setup: Setup) -> KnownFacts:
    return KnownFacts(replace(known, session=setup.session))


def with_hazards(monkeypatch: pytest.MonkeyPatch, *found: Trial) -> None:
    """Let a hazard with these trials be all that is found."""
    hazard = Hazard(kind="made", title="Made", evidence="for a test", remedy="Nothing", trials=found)
    monkeypatch.setattr(module, "hazards_in", lambda _facts: [hazard])


def by_name(result: onnxperf.AdviseResult) -> dict[str, Tried]:
    return {each.trial.name: each for each in result.record.tried}


@pytest.mark.slow
def test_the_command_prints_keeps_and_writes_what_was_tried(
    layers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.linspace(0, 1, 8 * 32).reshape(8, 32))
    store = ["--store", str(tmp_path / "runs.sqlite")]
    files = [word for suffix in ("json", "csv", "md", "png") for word in ("-o", str(tmp_path / f"advice.{suffix}"))]
    given = ["--input", f"x0={tmp_path / 'x.npy'}", "--cast", "--threads", "1", "--time", str(TIME)]
    assert run(["advise", str(layers), *given, *store, *files]) == 0
    printed = capsys.readouterr().out
    assert "Converted inputs: in every call, x0 is cast from float64 to float32 (1.02 kB)." in printed
    assert "inputs converted once" in printed
    assert all((tmp_path / f"advice.{suffix}").stat().st_size for suffix in ("json", "csv", "md", "png"))
    assert run(["runs", "show", "last", *store]) == 0
    assert "Converted inputs" in capsys.readouterr().out


@pytest.mark.slow
def test_denormal_numbers_on_the_way_are_found_and_tried(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    onnx.save(onnx.parser.parse_model(_TINY), path)
    result = onnxperf.advise(path, feeds={"X": np.linspace(1, 2, 64, dtype=np.float32)}, threads=1, time=TIME)
    hazard = next(each for each in result.record.hazards if each.kind == "denormal-activations")
    assert "1 tensor with denormal numbers: B (100 % of its elements)" in hazard.evidence
    assert by_name(result)["session.set_denormal_as_zero=1"].speedup is not None


@pytest.mark.slow
def test_inputs_that_every_call_casts_are_tried_as_arrays_that_need_no_cast(layers: Path) -> None:
    feeds = {"x0": np.asfortranarray(np.linspace(0, 1, 8 * 32).reshape(8, 32))}
    result = onnxperf.advise(layers, feeds=feeds, cast=True, threads=1, time=TIME)
    hazard = next(each for each in result.record.hazards if each.kind == "converted-inputs")
    assert "x0 is cast from float64 to float32" in hazard.evidence
    tried = by_name(result)["inputs converted once"]
    assert tried.status == "ok"
    assert tried.speedup is not None
    assert result.record.races[0].baseline == "defaults"


@pytest.mark.usefixtures("calm")
def test_a_trial_of_two_hazards_is_one_subject_and_all_are_judged_in_one_race(
    layers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = Trial(name="arena=off", settings={"arena": "off"})
    hazards = [
        Hazard(kind=kind, title=kind, evidence="", remedy="", goal="memory", trials=(lean,)) for kind in ("a", "b")
    ]
    monkeypatch.setattr(module, "hazards_in", lambda _facts: hazards)
    monkeypatch.setattr(trials, "PROCESSES", 2)
    # there is time for the memory, too, however slow this machine is
    monkeypatch.setattr(module, "AdviceBudget", lambda total_s, _start_s: AdviceBudget(total_s, 0.0, lambda: 0.0))
    result = onnxperf.advise(layers, threads=1, time=TIME)
    assert [each.name for each in result.record.races[0].subjects] == ["defaults", "arena=off"]
    assert [each.hazard for each in result.record.tried] == ["a", "b"]
    assert all(each.memory_ratio is not None for each in result.record.tried)


@pytest.mark.usefixtures("calm")
def test_a_rewrite_with_other_outputs_is_shown_and_not_recommended(
    layers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_model(6)
    other.graph.initializer[0].raw_data = bytes(len(other.graph.initializer[0].raw_data))

    def rewritten(_model: Model, name: str, folder: Path, _shapes: object) -> Path | None:
        if name == "nothing":
            return None
        onnx.save(other, folder / "other.onnx")
        return folder / "other.onnx"

    fake: Any = ModuleType(REWRITING)
    fake.inspection_of, fake.rewritten = _inspection, rewritten
    monkeypatch.setitem(sys.modules, REWRITING, fake)
    with_hazards(monkeypatch, Trial(name="zeros", rewrite="zeros"), Trial(name="nothing", rewrite="nothing"))
    tried = by_name(onnxperf.advise(layers, threads=1, time=TIME))
    assert (tried["zeros"].status, tried["zeros"].outcome) == ("differs", "untried")
    assert (tried["nothing"].status, tried["nothing"].reason) == ("failed", "there is nothing to rewrite")


@pytest.mark.usefixtures("calm")
def test_the_rewrite_that_gains_most_is_written_and_without_one_there_is_no_answer(
    layers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def rewritten(_model: Model, name: str, folder: Path, _shapes: object) -> Path:
        (folder / f"{name}.onnx.0.data").write_bytes(b"weights")
        return Path(shutil.copyfile(layers, folder / f"{name}.onnx"))

    def judged(attempts: Sequence[Attempt], *_args: object) -> tuple[Tried, ...]:
        speedups = {"good": 1.2, "better": 1.5}
        return tuple(
            Tried(hazard="made", trial=each.trial, status="ok", speedup=speedup, verdict="faster", outcome="gain")
            for each in attempts
            for speedup in [speedups[each.trial.rewrite]]
        )

    fake: Any = ModuleType(REWRITING)
    fake.inspection_of, fake.rewritten = _inspection, rewritten
    monkeypatch.setitem(sys.modules, REWRITING, fake)
    with_hazards(monkeypatch, Trial(name="good", rewrite="good"), Trial(name="better", rewrite="better"))
    monkeypatch.setattr(trials.RemedyTrials, "race", lambda *_args: trials.TrialRaces(None, None))
    output = tmp_path / "out.onnx"
    assert not onnxperf.advise(layers, threads=1, output=output).has_answer
    assert not output.exists()
    monkeypatch.setattr(module, "judged_trials", judged)
    result = onnxperf.advise(layers, threads=1, output=output)
    assert result.has_answer
    assert f"The model with better is in {output}." in result.answer
    assert output.read_bytes() == layers.read_bytes()
    assert [each.name for each in tmp_path.glob("*.data")] == ["better.onnx.0.data"]
    again = onnxperf.advise(layers, threads=1, output=output)
    assert not again.has_answer
    assert any("exists already" in note for note in again.record.notes)


@pytest.mark.usefixtures("calm")
def test_trials_that_cannot_run_are_rows_with_a_reason(layers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_hazards(
        monkeypatch,
        Trial(name="bad", settings={"arena": "sideways"}),
        Trial(name="unknown", call="telepathy"),
        Trial(name="fine", settings={"mem_pattern": "off"}),
    )
    tried = by_name(onnxperf.advise(layers, threads=1, time=TIME))
    assert "sideways" in tried["bad"].reason
    assert "telepathy" in tried["unknown"].reason
    assert tried["fine"].status == "ok"


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(
    ("place", "found"), [("facts_of", None), ("race", "Interrupted before anything was tried"), ("needs", "")]
)
def test_ctrl_c_gives_what_is_there(
    layers: Path, monkeypatch: pytest.MonkeyPatch, place: str, found: str | None
) -> None:
    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    with_hazards(monkeypatch, Trial(name="lean", settings={"arena": "off"}))
    if found is None:
        usual: Callable[..., Any] = module.facts_of
        monkeypatch.setattr(module, "facts_of", lambda *args: usual(*args)._replace(interrupted=True))
    else:
        monkeypatch.setattr(trials.RemedyTrials, place, interrupt)
    result = onnxperf.advise(layers, threads=1, time=TIME)
    assert result.interrupted
    assert [each.title for each in result.record.hazards] == ["Made"]
    assert (found or "") in result.answer
    assert "Interrupted" in repr(result)


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"threads": [1, 2]}, "threads has several values"),
        ({"time": 0}, "time"),
        ({"variants": {"a": {}, "b": {}}}, "variants has several values"),
        ({"variants": {"a": {"runtime": "numpy"}}}, "not of numpy"),
        ({"output": "no/such/folder/m.onnx"}, "folder does not exist"),
        ({"dims": {"no": 3}}, "no"),
    ],
)
def test_what_makes_no_sense_is_refused(layers: Path, keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises((BadOption, BadInput), match=problem):
        onnxperf.advise(layers, **keywords)


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(
    ("keywords", "baseline", "arena", "call"),
    [
        ({}, "defaults", "default", "run"),
        ({"options": {"arena": "off"}}, "as given", "off", "run"),
        ({"variants": {"lean": {"arena": "off"}}}, "as given", "off", "run"),
        ({"variants": {"bound": {"call": "io-binding"}}}, "as given", "default", "io-binding"),
    ],
)
def test_a_session_that_is_set_up_by_hand_is_the_baseline(
    layers: Path, monkeypatch: pytest.MonkeyPatch, keywords: dict[str, Any], baseline: str, arena: str, call: str
) -> None:
    with_hazards(monkeypatch, Trial(name="one", settings={"mem_pattern": "off"}))
    record = onnxperf.advise(layers, threads=1, time=TIME, **keywords).record
    assert record.races[0].baseline == baseline
    assert record.session.arena == arena
    assert {each.call for each in record.races[0].subjects} == {call}


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({}, "onnxperf tune m.onnx"),
        ({"dims": {"batch": 8}, "time": 30.0}, "onnxperf tune m.onnx --dim batch=8"),
        ({"threads": 1}, "onnxperf profile m.onnx --roofline --threads 1"),
        (
            {"variants": {"lean": {"arena": "off", "threads": 2}}},
            "onnxperf profile m.onnx --roofline --threads 2 --option arena=off",
        ),
    ],
)
def test_the_next_command_has_the_inputs_and_settings_of_this_one(given: dict[str, Any], command: str) -> None:
    assert module._next_command("m.onnx", None, given, parse(given, ADVISE)) == command
