"""A model that was converted here races its source without naming it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxperf
from onnxperf.api._shared import origins
from onnxperf.cli.main import run
from onnxperf.errors import BadOption

SOURCE = """
import numpy as np
from sklearn.linear_model import LinearRegression

def make():
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    return LinearRegression().fit(X, X.sum(axis=1)), X
"""
SHORT: dict[str, Any] = {"blocks": 2, "calls_per_block": 1, "threads": 1, "dims": {"batch": 5}}


def by_command() -> None:
    assert run(["convert", "origin_train.py:make", "-o", "model.onnx", "--quiet"]) == 0


def by_function() -> None:
    onnxperf.convert("origin_train.py:make").save("model.onnx")


@pytest.mark.parametrize("convert", [by_command, by_function])
def test_a_converted_model_finds_its_source_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, convert: Callable[[], None]
) -> None:
    (tmp_path / "origin_train.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    convert()
    monkeypatch.chdir("/")  # the source is found from anywhere
    result = onnxperf.bench(str(tmp_path / "model.onnx"), against="sklearn", **SHORT)
    assert [(s.name, s.status) for s in result.subjects] == [("ort", "ok"), ("sklearn", "ok")]
    with pytest.raises(BadOption, match="choose from: sklearn"):
        onnxperf.bench(str(tmp_path / "model.onnx"), against="torch", **SHORT)


def test_a_model_cannot_name_code_that_is_run(linear_proto: onnx.ModelProto, tmp_path: Path) -> None:
    """Whatever its metadata say: only what was converted here has a source."""
    copy = onnx.ModelProto()
    copy.CopyFrom(linear_proto)
    onnx.helper.set_model_props(copy, {"source": "evil.py:run", "framework": "torch"})
    onnx.save(copy, tmp_path / "evil.onnx")
    with pytest.raises(BadOption, match="the source is known only of"):
        onnxperf.bench(str(tmp_path / "evil.onnx"), against="torch", **SHORT)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", None),
        ("train.py:make", "{here}/train.py:make"),
        ("package.module:make", "package.module:make"),
        ("model.keras", "{here}/model.keras"),
    ],
    ids=["an object", "a function of a file", "a function of a module", "a file"],
)
def test_an_origin_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, found: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.keras").touch()
    wanted = None if found is None else origins.Origin("torch", found.format(here=tmp_path))
    assert origins.origin_of("torch", source) == wanted


def test_a_damaged_record_is_as_good_as_none(linear_path: Path, own_cache: Path) -> None:
    origin = origins.Origin("torch", "train.py:make")
    origins.remember(linear_path, origin)
    (file,) = (own_cache / "onnxperf" / "origins").iterdir()
    assert origins.recall(file.stem) == origin
    file.write_bytes(b"{")
    assert origins.recall(file.stem) is None
