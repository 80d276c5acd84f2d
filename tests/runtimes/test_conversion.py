"""Which framework a model is of, and what happens when its converter cannot go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from sklearn.linear_model import LinearRegression

from onnxperf.errors import BadFeed, BadInput, BadOption
from onnxperf.frameworks.base import ExportRequest, find_framework
from onnxperf.frameworks.export import export, framework_to_convert
from onnxperf.frameworks.torch import name_like_module


def test_the_framework_is_known_without_importing_any_other() -> None:
    script = (
        "import sys; from sklearn.linear_model import Ridge; from onnxperf.frameworks.export import *;"
        "print(framework_to_convert(Ridge()).name, *{'torch', 'tensorflow', 'keras', 'skl2onnx'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sklearn"]


class OwnEstimator:
    def fit(self, x: Any) -> None: ...


def test_whatever_can_be_fitted_is_left_to_skl2onnx() -> None:
    assert framework_to_convert(OwnEstimator()).name == "sklearn"


def test_a_folder_with_a_saved_model_is_one(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"contains no saved_model\.pb"):
        framework_to_convert(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    assert framework_to_convert(tmp_path).name == "tensorflow"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (onnx.ModelProto(), "already an ONNX model"),
        (3, "a int cannot be converted"),
        (
            "nowhere.tflite",
            "expected FILE.py:function, module:function, a .keras or .pt2 file, or a saved_model folder",
        ),
        ("nowhere.h5", "is in the old format before .keras"),
    ],
)
def test_what_is_no_model_is_refused(source: Any, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        framework_to_convert(source)


def test_a_converter_that_fails_is_one_line() -> None:
    request = ExportRequest(sample={"X": np.ones((2, 3), np.float32)})
    with pytest.raises(BadInput, match=r"^skl2onnx cannot convert this model: \w+: ") as caught:
        export(find_framework("sklearn"), OwnEstimator(), request)
    assert "\n" not in str(caught.value)


def test_an_estimator_needs_a_sample() -> None:
    with pytest.raises(BadFeed, match="needs a sample of its inputs"):
        export(find_framework("sklearn"), LinearRegression(), ExportRequest(sample=None))


def saved(folder: Path) -> Path:
    (folder / "saved_model.pb").touch()
    return folder


def test_an_option_that_tf2onnx_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="choose from: custom_ops"):
        export(find_framework("tensorflow"), saved(tmp_path), ExportRequest(sample=None, options={"zipmap": False}))


def test_a_converter_in_its_own_process_may_take_only_so_long(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"took longer than 0\.01 s"):
        export(find_framework("tensorflow"), saved(tmp_path), ExportRequest(sample=None, timeout=0.01))


def test_one_tensor_can_be_two_outputs_of_a_torch_module() -> None:
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x_orig) => (float[2] y, float[2] y, float[2] x) '
        "{ y = Abs(x_orig)  x = Neg(x_orig) }"
    )
    name_like_module(proto, ["x"], (1, 2, 3))
    onnx.checker.check_model(proto)
    assert [value.name for value in proto.graph.input] == ["x"]
    assert [value.name for value in proto.graph.output] == ["y", "y_1", "x_output"]
