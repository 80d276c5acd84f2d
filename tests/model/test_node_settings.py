"""What an executed graph says about its nodes beyond a trace."""

from __future__ import annotations

import onnx.parser
import pytest

from onnxperf.model.node_settings import answer_settings, decode_settings
from onnxperf.records.headroom import LEFT_OUT, NodeSettings
from onnxperf.records.trace import TensorType

MODEL = """
<ir_version: 9, opset_import: ["" : 18]>
g (float[1, 1, 8, 8] X, bool c) => (float[1, 2, 8, 8] Y)
<float[2, 1, 3, 3] W = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, float half = {0.5}, float[1] low = {0}>
{
  [conv] P = Conv <pads = [1, 1, 1, 1], auto_pad = "NOTSET"> (X, W)
  [clip] Q = Clip (P, , half)
  [if] Y = If (c) <
    then_branch = yes () => (float[1, 2, 8, 8] a) { [mul] a = Mul(Q, half) },
    else_branch = no () => (float[1, 2, 8, 8] b) <float[2] half = {1, 2}> { [add] b = Add(Q, half) }
  >
}
"""


@pytest.fixture(scope="module")
def settings() -> dict[tuple[tuple[str, ...], str], NodeSettings]:
    found = decode_settings(answer_settings(onnx.parser.parse_model(MODEL), b""))
    return {(each.path, each.name): each for each in found}


def test_weights_attributes_and_inputs_that_are_left_out(
    settings: dict[tuple[tuple[str, ...], str], NodeSettings],
) -> None:
    conv, clip = settings[(), "conv"], settings[(), "clip"]
    assert conv.constants == (None, TensorType("float", (2, 1, 3, 3)))
    assert conv.numbers == {"pads": (1, 1, 1, 1)}
    assert conv.texts == {"auto_pad": "NOTSET"}
    assert conv.op_name == "Conv"
    assert clip.constants == (None, LEFT_OUT, TensorType("float", ()))


def test_a_body_sees_the_weights_outside_unless_it_has_its_own(
    settings: dict[tuple[tuple[str, ...], str], NodeSettings],
) -> None:
    assert settings[("if",), "mul"].constants == (None, TensorType("float", ()))
    assert settings[("if",), "add"].constants == (None, TensorType("float", (2,)))


def test_long_lists_are_left_out_and_floats_are_counted() -> None:
    nodes = [
        onnx.helper.make_node(
            "LinearRegressor", ["X"], ["Y"], name="n", coefficients=[0.5] * 30, post=[1] * 30, t="x" * 300
        )
    ]
    proto = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], []))
    only = decode_settings(answer_settings(proto, b""))[0]
    assert only.numbers == {"coefficients": (30,)}
    assert only.texts == {}
