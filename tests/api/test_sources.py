"""Sources of models, as something that can be called; real frameworks on their way to real workers."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser

import onnxperf
from onnxperf.api._shared.sources import as_callable, call_styles, load_source
from onnxperf.errors import BadOption
from onnxperf.frameworks.base import FrameworkModel, required

DOUBLED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 3] value) => (float[n, 3] doubled) { doubled = Add(value, value) }"""


def quiet(module: str, extra: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return required(module, extra)


def test_an_estimator_predicts_labels_and_scores() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    labels, scores = as_callable(LogisticRegression().fit(X, y))(X)
    assert labels.tolist() == y
    assert scores.shape == (4, 2)
    assert as_callable(StandardScaler().fit(X))(X).shape == (4, 1)


def test_a_function_is_what_it_is() -> None:
    assert as_callable(len) is len
    assert call_styles(len) == ("call",)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (3, {}, "`against`: expected an estimator, a model or a function, not int"),
        ("no/such/folder", {}, "`against=no/such/folder`: expected the folder of a tensorflow saved_model"),
        (len, {"call": "predict"}, "`call=predict`: only models of Keras have a choice"),
    ],
)
def test_what_is_no_source_is_refused(source: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        as_callable(source, **options)


def test_a_function_in_a_file_may_return_a_path(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    file = tmp_path / "naming_a_saved_model.py"
    file.write_text(f"def make():\n    return {str(tmp_path / 'saved')!r}\n")
    source = as_callable(load_source(f"{file}:make"), input_names=["a"])
    assert isinstance(source, FrameworkModel)
    assert source.framework == "tensorflow"
    assert source.input_names == ("a",)
    assert call_styles(source) == ("call",)
    renamed = as_callable(source, input_names=["b"])
    assert isinstance(renamed, FrameworkModel)
    assert renamed.input_names == ("b",)
    on_gpu = as_callable(renamed, device="cuda")
    assert isinstance(on_gpu, FrameworkModel)
    assert (on_gpu.device, on_gpu.input_names) == ("cuda", ("b",))


def test_a_torch_module_is_checked_in_a_worker() -> None:
    torch: Any = quiet("torch", "torch")

    class Doubled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, value: Any) -> Any:
            return value * self.factor

    model = parser.parse_model(DOUBLED)
    assert onnxperf.check(model, runtime="ort", against=Doubled(), dims={"n": 4})
    race = onnxperf.bench(model, against={"torch": Doubled()}, dims={"n": 4}, time=0.2, warmup=0.01)
    subject = race.record.cases[0].subjects[1]
    assert subject.status == "ok"
    assert subject.conditions["torch"] == torch.__version__
    assert subject.conditions["threads"] == race.record.cases[0].subjects[0].conditions["threads"]


@pytest.mark.slow
def test_a_keras_model_with_a_layer_of_ones_own_is_checked_in_a_worker() -> None:
    quiet("tensorflow", "tensorflow")
    keras: Any = quiet("keras", "tensorflow")

    class Factor(keras.layers.Layer):  # type: ignore[misc]
        def build(self, _shape: Any) -> None:
            self.factor = self.add_weight(initializer=keras.initializers.Constant(2.0))

        def call(self, value: Any) -> Any:
            return value * self.factor

    source = keras.Sequential([keras.Input((3,)), Factor()])
    source.compile("sgd", "mse")
    assert call_styles(source) == ("call", "predict", "predict_on_batch")
    against = as_callable(source, call="predict_on_batch", input_names=["value"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras' way of writing is not yet that of numpy 2
        assert onnxperf.check(parser.parse_model(DOUBLED), runtime="ort", against=against, dims={"n": 4})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("here", "'here': expected FILE.py:function"),
        ("nowhere.py:make", "no such file: 'nowhere.py'"),
        ("unusable_source.py:make", "unusable_source.py' cannot be loaded: ZeroDivisionError"),
        ("usable_source.py:take", "usable_source.py 'take'; choose from: make"),
    ],
)
def test_a_source_that_cannot_be_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "unusable_source.py").write_text("1 / 0\n")
    (tmp_path / "usable_source.py").write_text("def make():\n    return len\n")
    with pytest.raises(BadOption, match=re.escape(message)):
        load_source(text)
