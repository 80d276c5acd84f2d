"""The zoo: every tiny model is built, and its ONNX file computes what its source does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import onnxperf
from onnxperf.errors import BadInput, BadOption, MissingExtra
from onnxperf.frameworks.base import framework_of
from onnxperf.frameworks.outputs import to_numpy
from onnxperf.model.inputs import make_feeds
from onnxperf.model.load import open_model
from onnxperf.records.options import InputOptions
from onnxperf.zoo import build as zoo_module
from onnxperf.zoo import models as zoo_models
from onnxperf.zoo.build import ZOO, ZooEntry, zoo_folder, zoo_model

TINY = [
    pytest.param(name, framework, marks=() if framework == "sklearn" else pytest.mark.thorough)
    for name, frameworks in ZOO.items()
    for framework in frameworks
    if name.startswith("tiny")
]


def outputs_of_onnx(entry: ZooEntry, feeds: dict[str, Any]) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(entry.onnx, providers=["CPUExecutionProvider"])
    return dict(zip((output.name for output in session.get_outputs()), session.run(None, feeds), strict=True))


@pytest.mark.parametrize(("name", "framework"), TINY)
def test_a_model_and_all_of_its_sources_agree(
    name: str, framework: str, built: Callable[[str, str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = built(name, framework)
    assert len(said) == 1
    entry = zoo_model(f"zoo:{name}", framework, said.append)
    model = open_model(entry.onnx)
    shapes = zoo_models.signature(name, framework)
    assert {each.name: each.shape for each in model.inputs} == {each.name: each.shape for each in shapes.inputs}
    sizes = {size: 3 + len(str(size)) for each in shapes.inputs for size in each.shape if isinstance(size, str)}
    feeds = dict(make_feeds(model, InputOptions(dims=sizes, ranges=entry.ranges), {}).arrays)
    expected = outputs_of_onnx(entry, feeds)
    assert list(expected) == [each.name for each in shapes.outputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # frameworks warn about themselves while they are imported
        found = {subject: to_numpy(call(*feeds.values())) for subject, call in entry.subjects().items()}
        found_in = framework_of(entry.load())
        assert found_in is not None
        assert found_in.name == framework
    for outputs in found.values():
        assert len(outputs) == len(expected)
        named = isinstance(outputs, dict) and set(outputs) == set(expected)
        values = list(outputs.values()) if isinstance(outputs, dict) else outputs
        theirs = [outputs[key] for key in expected] if named else values  # type: ignore[call-overload]
        for first, second in zip(expected.values(), theirs, strict=True):
            assert first.std() > 0
            np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-5)
    monkeypatch.setattr(zoo_module, "_build", None)
    assert zoo_model(name, framework, said.append) == entry
    assert len(said) == 1


def test_keras_comes_in_all_its_ways_and_as_a_saved_model() -> None:
    entry = ZooEntry("tiny-bert", "tensorflow", Path("folder"))
    ways = ("call", "predict", "predict_on_batch", "saved_model")
    assert list(entry.subjects()) == [f"tensorflow {way}" for way in ways]
    assert entry.saved_model == Path("folder/saved_model")
    assert entry.ranges == {"input_ids": (0, 99), "token_type_ids": (0, 1)}
    assert ZooEntry("tiny-bert", "torch", Path("folder")).saved_model is None


@pytest.mark.parametrize("name", ZOO)
def test_the_inputs_of_a_zoo_model_have_the_same_names_in_every_framework(name: str) -> None:
    first, *others = ({each.name for each in zoo_models.signature(name, framework).inputs} for framework in ZOO[name])
    assert all(first <= each for each in others)


def test_a_zoo_bert_takes_512_positions() -> None:
    assert {sizes["max_position_embeddings"] for sizes in zoo_models._BERT_SIZES.values()} == {512}


def test_a_zoo_model_is_taken_wherever_a_model_is(built: Callable[[str, str], list[str]], tmp_path: Path) -> None:
    built("tiny-linear", "sklearn")
    runner = onnxperf.load("zoo:tiny-linear", threads=1)
    assert runner.run({"X": np.ones((1, 10), np.float32)})["Y"].shape == (1, 4)
    assert onnxperf.optimize("zoo:tiny-linear", tmp_path / "fast.onnx").record.model == "zoo:tiny-linear"


@pytest.mark.parametrize(
    ("name", "framework", "message"),
    [
        ("zoo:resnet51", None, "unknown model of the zoo 'resnet51'; choose from: zoo:resnet50, zoo:bert-base"),
        ("../tiny-linear", None, "unknown model of the zoo"),
        ("tiny-linear", "torch", "unknown framework of zoo:tiny-linear 'torch'; choose from: sklearn"),
    ],
)
def test_what_the_zoo_does_not_have_is_refused(name: str, framework: str | None, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        zoo_model(name, framework)


def test_a_framework_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"torch is not installed; .*\[torch\]"):
        zoo_model("tiny-bert")


def test_a_build_that_fails_says_why_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(BadInput, match="zoo:tiny-linear cannot be built with sklearn: exit code 1"):
        zoo_model("tiny-linear")
    assert list(zoo_folder().iterdir()) == []


def test_a_cache_that_cannot_be_made_is_one_line_that_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(
        BadInput, match=r"zoo:tiny-linear cannot be built in .*; choose another cache folder: XDG_CACHE_HOME=FOLDER"
    ):
        zoo_model("tiny-linear")
