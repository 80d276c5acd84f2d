"""Files of settings: accepted wherever variants are, and refused where they could make other code run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxperf
from onnxperf.api._shared.variants import saved_settings, variants_in
from onnxperf.cli.main import run
from onnxperf.errors import BadInput, BadOption

GOOD = {
    "version": 1,
    "model": "linear",
    "fingerprint": "f",
    "dims": {"batch": 8},
    "settings": {"threads": "1", "arena": "off", "session.intra_op.allow_spinning": "0", "dim.batch": "3"},
    "call": "run-c",
    "runtime": "",
}


@pytest.fixture
def tuned(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.settings.json"
    path.write_text(json.dumps(GOOD))
    return path


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"settings": {"env": "onnxruntime==1.20.1"}}, "'env'"),
        ({"settings": {"custom_ops": "/tmp/evil.so"}}, "'custom_ops'"),
        ({"settings": {"provider": "evil"}}, "'provider'"),
        ({"settings": {"provider.library": "evil.so"}}, "'provider.library'"),
        ({"settings": {"run.memory.enable_memory_arena_shrinkage": "cpu:0"}}, "'run.memory"),
        ({"settings": {"session.optimized_model_filepath": "/etc/passwd"}}, "'session.optimized_model_filepath'"),
        ({"settings": {"session.model_external_initializers_file_folder_path": "/"}}, "'session.model_external"),
        ({"settings": {"session.no_such_key": "1"}}, "'session.no_such_key'"),
        ({"settings": {"ep.context_file_path": "x"}}, "'ep.context_file_path'"),
        ({"settings": {"shared_pool": "on"}}, "'shared_pool'"),
        ({"settings": {"threads": 1}}, "not a file of settings"),
        ({"runtime": "plugin"}, "runtime 'plugin'"),
        ({"library": "evil.so"}, "unknown field"),
        ({"version": 99}, "newer onnxperf"),
    ],
)
def test_a_file_that_names_more_than_settings_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    path = tmp_path / "tuned.settings.json"
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(BadInput, match=r"tuned\.settings\.json") as caught:
        saved_settings(path)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"[" * 100_000, b" " * (2 << 20)])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"other\.json"):
        saved_settings(path)


def test_a_missing_file_and_a_value_that_makes_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        saved_settings(tmp_path / "missing.json")
    path = tmp_path / "tuned.settings.json"
    path.write_text(json.dumps({**GOOD, "settings": {"threads": "many"}}))
    with pytest.raises(BadOption, match="a whole number"):
        saved_settings(path)


@pytest.mark.parametrize("form", ["@{}", "{}"])
def test_variants_are_read_from_files_by_name_or_one_by_one(tuned: Path, form: str) -> None:
    text = form.format(tuned)
    (only,) = variants_in({"variants": text})
    assert (only.name, only.call, only.session.threads, only.session.arena) == ("tuned", "run-c", 1, "off")
    assert only.session.options == {"session.intra_op.allow_spinning": "0"}
    assert only.session.fixed_dims == {"batch": 3}
    assert variants_in({"variants": [Path(tuned)]}) == (only,)
    named = variants_in({"variants": {"best": text, "plain": {}}})
    assert [each.name for each in named] == ["best", "plain"]
    assert named[0].session == only.session


@pytest.mark.parametrize("given", [3, [3], ["@a/tuned.json", "@b/tuned.json"]])
def test_variants_that_are_neither_settings_nor_files_are_refused(given: Any) -> None:
    with pytest.raises(BadOption):
        variants_in({"variants": given})


def test_a_model_is_loaded_with_the_settings_of_a_file(linear_path: Path, tuned: Path) -> None:
    runner = onnxperf.load(linear_path, variants=tuned)
    assert runner.call == "run-c"
    assert runner.session.conditions["threads"] == 1
    assert runner.session.conditions["arena"] == "off"
    assert runner.run({"X": np.ones((3, 10), dtype=np.float32)})["Y"].shape == (3, 4)


def test_the_command_line_takes_files_of_settings_as_variants(
    linear_path: Path, tuned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", str(linear_path), "--dim", "batch=3", "--time", "0.3", "--no-store"]
    assert run([*words, "--variant", f"@{tuned}", "--variant", "plain: threads=1"]) == 0
    assert "tuned" in capsys.readouterr().out
    tuned.write_text(json.dumps({**GOOD, "settings": {"custom_ops": "evil.so"}}))
    assert run([*words, "--variant", f"@{tuned}"]) == 2
    assert "names 'custom_ops'" in capsys.readouterr().err
