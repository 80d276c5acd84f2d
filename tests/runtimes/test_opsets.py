"""Models in an older opset than their exporter writes."""

from __future__ import annotations

import pytest
from onnx import parser

from onnxperf.errors import BadOption
from onnxperf.frameworks.opsets import lowered
from onnxperf.model.graph import opset_of

RELU = """<ir_version: 8, opset_import: ["" : 18]> g (float[N, 2] X) => (float[N, 2] Y) { Y = Relu(X) }"""
GELU = """<ir_version: 10, opset_import: ["" : 20]> g (float[N, 2] X) => (float[N, 2] Y) { Y = Gelu(X) }"""


def test_an_older_opset_is_reached_by_the_version_converter() -> None:
    model = parser.parse_model(RELU)
    assert opset_of(lowered(model, 15)) == 15
    assert lowered(model, 18) is model
    assert lowered(model, 21) is model


def test_what_cannot_be_lowered_is_refused_with_the_reason_of_the_converter() -> None:
    with pytest.raises(BadOption, match=r"^`opset=13`: torch's exporter writes opset 20, and .*: .+") as refused:
        lowered(parser.parse_model(GELU), 13)
    assert str(refused.value).endswith("No Previous Version of Gelu exists")
