"""Which module of the source framework a node comes from."""

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

from onnxperf.model.modules import modules_of

ROOT = ": __main__.M"


def model_of(name: str, namespace: str | None) -> ModelProto:
    node = helper.make_node("Relu", ["x"], ["y"], name=name)
    if namespace is not None:
        node.metadata_props.add(key="namespace", value=namespace)
    return helper.make_model(helper.make_graph([node], "g", [], []))


@pytest.mark.parametrize(
    ("name", "namespace", "module"),
    [
        ("node_relu", f"{ROOT}/relu: aten.relu.default", ""),
        ("node_relu", f"{ROOT}/enc: torch.nn.Sequential/enc.0: __main__.Block/relu: aten.relu.default", "enc.0"),
        ("n", "model: M/encoder.layer.0: Layer/gelu: aten.gelu.default", "encoder.layer.0"),
        ("n", "", ""),
        ("/layer1/layer1.0/conv1/Conv", None, "layer1.0.conv1"),
        ("/encoder/layer.0/attention/self/query/MatMul", None, "encoder.layer.0.attention.self.query"),
        ("/Softmax", None, ""),
        ("/enc/Softmax", f"{ROOT}/fc: Linear/linear: aten.linear.default", "fc"),
        ("node_relu", None, None),
    ],
)
def test_the_module_is_what_the_exporter_wrote(name: str, namespace: str | None, module: str | None) -> None:
    assert modules_of(model_of(name, namespace)).get(name) == module
