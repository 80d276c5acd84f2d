"""Bisections of real models, by what does not depend on time; and everything that is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxperf
from onnxperf.api._bisection import rows
from onnxperf.api._shared.requests import parse
from onnxperf.cli.main import run
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.options.functions import BISECT

# The second node makes numbers that only exist as denormals, which a setting turns into zeros.
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
FLUSHES = "session.set_denormal_as_zero"
FEEDS = {"X": np.linspace(1, 2, 64, dtype=np.float32)}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.onnx"
    onnx.save(onnx.parser.parse_model(_TINY), path)
    return path


def by_accuracy(model: Path, **keywords: Any) -> onnxperf.BisectResult:
    return onnxperf.bisect(model, by="accuracy", feeds=FEEDS, threads=1, atol=0.0, opt_level="disable", **keywords)


def test_the_setting_that_changes_the_outputs_is_found(tiny: Path, tmp_path: Path) -> None:
    variants = {"plain": {}, "changed": {"arena": "off", FLUSHES: "1", "mem_pattern": "off", "mem_reuse": "off"}}
    found = by_accuracy(tiny, settings=True, variants=variants)
    assert found
    assert found.cause == f"{FLUSHES}=1"
    assert f"{FLUSHES}=1 changes the outputs: output Y: 64 of 64 elements differ" in found.answer
    assert len(found.record.steps) <= found.record.most_steps
    found.save(tmp_path / "found.json")
    assert found.to_df().purpose.tolist()[0] == "ends"
    assert "repeated" in repr(found)


def test_the_smallest_part_is_written_as_a_model_that_runs(tiny: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.onnx"
    found = by_accuracy(tiny, nodes=True, variants={"plain": {}, "flushed": {FLUSHES: "1"}}, output=part)
    assert found.record.causes == ("Mul shrink",)
    assert str(part) in found.answer
    assert [node.name for node in onnx.load(part).graph.node] == ["shrink"]


def test_what_was_found_is_not_lost_where_the_part_cannot_be_written(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_source: Path, path: Path) -> None:
        raise FileNotWritten(f"cannot write {path}: No space left on device")

    monkeypatch.setattr("onnxperf.api.bisect.copy", full)
    part = tmp_path / "part.onnx"
    found = by_accuracy(tiny, nodes=True, variants={"plain": {}, "flushed": {FLUSHES: "1"}}, output=part)
    assert found.record.causes == ("Mul shrink",)
    assert (found.record.output, found.unwritten) == ("", str(part))
    assert f"cannot write {part}: No space left on device" in found.record.notes


def test_nothing_is_named_where_nothing_changes(tiny: Path) -> None:
    found = by_accuracy(tiny, settings=True, variants={"a": {}, "b": {"arena": "off", "mem_reuse": "off"}})
    assert not found
    assert found.ok
    assert found.answer == "No difference: all settings and no settings give the same outputs."


def test_candidates_that_cannot_run_are_skipped_and_named(tiny: Path, tmp_path: Path) -> None:
    variants = {"a": {}, "b": {"custom_ops": str(tmp_path / "no.so"), "arena": "off"}}
    found = by_accuracy(tiny, settings=True, variants=variants)
    assert [each.status for each in found.record.candidates].count("failed") >= 1
    assert any(note.startswith("skipped: ") for note in found.record.notes)


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({}, "choose one of `releases`, `optimizers`, `settings` and `nodes`"),
        ({"optimizers": True, "releases": "onnxruntime==1.20..1.21"}, "choose one of"),
        ({"settings": True, "nodes": True}, "choose one of"),
        ({"settings": False}, "choose one of"),
        ({"nodes": True}, "compares two variants"),
        ({"settings": True, "variants": {"a": {}, "b": {}}}, "both ends are the same"),
        ({"settings": True, "variants": {"a": {}, "b": {}, "c": {}}}, "two ends"),
        ({"settings": True, "variants": {"a": {}, "b": {"runtime": "numpy"}}}, "not of numpy"),
        ({"settings": True, "variants": {"a": {}, "b": {"call": "run,run-c"}}}, "one call style"),
        ({"settings": True, "output": "part.onnx"}, "only a search among nodes"),
        ({"nodes": True, "by": "memory"}, "by time or accuracy"),
        ({"releases": "onnxruntime==1,onnxruntime==2", "env": "onnxruntime==3"}, "leave `env` out"),
        ({"releases": "onnxruntime==1,onnxruntime==2", "threads": [1, 2]}, "threads has several values"),
        ({"optimizers": True, "threads": [1, 2]}, "threads has several values"),
        ({"nodes": True, "by": "speed"}, "speed"),
        ({"settings": True, "by": "accuracy", "min_effect": 0.1}, "does nothing with `by=accuracy`"),
        ({"settings": True, "by": "memory", "warmup": 0.5}, "does nothing with `by=memory`"),
        ({"settings": True, "time": 0}, "more than 0"),
        ({"over": "options"}, "unknown option 'over'"),
    ],
)
def test_what_cannot_be_bisected_is_refused(tiny: Path, keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadOption, match=problem):
        onnxperf.bisect(tiny, **keywords)


def test_the_command_keeps_its_run_and_shows_it_again(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", FEEDS["X"])
    store = ["--store", str(tmp_path / "runs.sqlite")]
    sides = ["--variant", "a: arena=default", "--variant", f"b: arena=off, {FLUSHES}=1"]
    inputs = ["--input", f"X={tmp_path / 'x.npy'}", "--threads", "1", "--opt-level", "disable", "--atol", "0"]
    assert run(["bisect", str(tiny), "--settings", "--by", "accuracy", *sides, *inputs, *store]) == 0
    assert f"{FLUSHES}=1 changes the outputs" in " ".join(capsys.readouterr().out.split())
    assert run(["runs", "show", "last", *store]) == 0
    assert f"{FLUSHES}=1 changes the outputs" in " ".join(capsys.readouterr().out.split())


def test_the_command_wants_one_place_to_search(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", str(tiny)]) == 2
    assert "choose one of --releases, --optimizers, --settings and --nodes" in capsys.readouterr().err


def test_a_call_style_is_the_last_of_the_settings_in_which_variants_differ() -> None:
    given = {"variants": {"a": {"threads": 1}, "b": {"threads": 1, "arena": "off", "call": "run-c"}}}
    places = rows.settings_in(parse(given, BISECT))
    assert [each.candidate.name for each in places] == ["no settings", "settings up to arena=off", "all settings"]
    assert [each.call for each in places] == ["run", "run", "run-c"]
    assert places[-1].candidate.cause == "call=run-c"


def test_a_bisection_by_time_ends_within_its_time(tiny: Path) -> None:
    variants = {"a": {}, "b": {"arena": "off", "mem_reuse": "off", "mem_pattern": "off"}}
    begin_s = time.monotonic()
    found = onnxperf.bisect(tiny, settings=True, variants=variants, feeds=FEEDS, threads=1, time=3.0)
    assert found.record.steps
    assert time.monotonic() - begin_s < 20.0  # far less where the machine is not busy
