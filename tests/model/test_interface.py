"""Names of inputs, outputs and dimensions, changed in graphs that converters write."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from onnxperf.errors import BadOption
from onnxperf.model import interface
from onnxperf.model.graph import opset_of

BRANCHES = """<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[n, 2] X) => (float[n, 2] Y)
{
  Z = Abs(X)
  Y = If (c) <
    then_branch = t () => (float[n, 2] A) { A = Add(X, Z) },
    else_branch = e () => (float[n, 2] B) { B = Neg(X) }
  >
}"""
SYMBOLS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[s1, 4] X, float[s1, s2] M) => (float[s1, 4] Y, float[twice] Z, float[unk__7, 4] V)
{ Y = Abs(X)  Z = Flatten(M)  V = Neg(X) }"""


def dims_of(value: onnx.ValueInfoProto) -> list[int | str]:
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in value.type.tensor_type.shape.dim]


def run(proto: onnx.ModelProto, **feeds: object) -> list[float]:
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    outputs: Any = ReferenceEvaluator(proto).run(None, arrays)
    return list(np.ravel(outputs[0]))


def test_a_renamed_input_is_renamed_in_subgraphs_too() -> None:
    proto = parser.parse_model(BRANCHES)
    interface.rename_inputs(proto, ["condition", "features"])
    interface.rename_outputs(proto, ["result"])
    onnx.checker.check_model(proto)
    assert run(proto, condition=True, features=[[-1.0, 2.0]]) == [0.0, 4.0]
    assert [value.name for value in proto.graph.output] == ["result"]


def test_what_has_the_new_name_inside_of_the_graph_makes_way() -> None:
    proto = parser.parse_model(BRANCHES)
    interface.rename_inputs(proto, ["Z", "A"])
    onnx.checker.check_model(proto)
    assert run(proto, Z=True, A=[[-1.0, 2.0]]) == [0.0, 4.0]


def test_two_inputs_can_change_names() -> None:
    proto = parser.parse_model(BRANCHES)
    interface.rename_inputs(proto, ["X", "c"])
    assert run(proto, X=False, c=[[-1.0, 2.0]]) == [1.0, -2.0]


def test_an_output_that_is_an_input_too_gets_a_name_of_its_own() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] X) => (float[2] X, float[2] Y) { Y = Abs(X) }'
    proto = parser.parse_model(text)
    interface.rename_outputs(proto, ["same", "positive"])
    onnx.checker.check_model(proto)
    assert run(proto, X=[-1.0, 2.0]) == [-1.0, 2.0]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "1 name for 2 of the model: c, X"),
        (["a", "a"], "a is given twice"),
        (["a", ""], "is not a printable name"),
        (["a", "b\x1b[2J"], "is not a printable name"),
        (["a", "Y"], "belongs to another input or output"),
    ],
)
def test_names_that_cannot_be_given_are_refused(names: list[str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        interface.rename_inputs(parser.parse_model(BRANCHES), names)


def test_symbols_follow_the_names_of_the_inputs_also_in_expressions() -> None:
    proto = parser.parse_model(SYMBOLS)
    proto.graph.output[1].type.tensor_type.shape.dim[0].dim_param = "s1*s2"
    names = {("X", 0): "batch", ("M", 0): "batch", ("M", 1): "seq"}
    interface.name_input_axes(proto, names, {})
    assert [dims_of(value) for value in proto.graph.input] == [["batch", 4], ["batch", "seq"]]
    assert [dims_of(value) for value in proto.graph.output][:2] == [["batch", 4], ["batch*seq"]]


def test_axes_without_a_name_get_the_size_of_the_sample() -> None:
    proto = parser.parse_model(SYMBOLS)
    interface.name_input_axes(proto, {}, {"X": (3, 4), "M": (3, 5)})
    assert [dims_of(value) for value in proto.graph.input] == [[3, 4], [3, 5]]
    assert dims_of(proto.graph.output[0]) == [3, 4]


def test_outputs_are_named_after_the_dimensions_that_they_follow() -> None:
    proto = parser.parse_model(SYMBOLS)
    shapes = [{"Y": (3, 4), "Z": (9,), "V": (3, 4)}, {"Y": (4, 4), "Z": (20,), "V": (4, 4)}]
    interface.name_output_axes(proto, ({"batch": 3, "seq": 3}, {"batch": 4, "seq": 5}), shapes)
    assert [dims_of(value) for value in proto.graph.output] == [["batch", 4], [""], ["batch", 4]]


def test_symbols_that_mean_nothing_to_a_user_disappear() -> None:
    proto = parser.parse_model(SYMBOLS)
    interface.drop_foreign_symbols(proto, ["s1"])
    assert [dims_of(value) for value in proto.graph.output] == [["s1", 4], [""], ["", 4]]


def test_folders_of_the_machine_and_opsets_named_twice_are_taken_out() -> None:
    proto = parser.parse_model(BRANCHES)
    proto.opset_import.add(domain="", version=22)
    proto.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value="/home/me/secret.py")
    proto.graph.node[0].metadata_props.add(key="namespace", value="layer")
    interface.tidy(proto)
    interface.stamp(proto, {"onnxperf.framework": "torch"})
    interface.stamp(proto, {"onnxperf.framework": "keras"})
    assert b"/home/me" not in proto.SerializeToString()
    assert [each.key for each in proto.graph.node[0].metadata_props] == ["namespace"]
    assert [(each.domain, each.version) for each in proto.opset_import] == [("", 22)]
    assert opset_of(proto) == 22
    assert [each.value for each in proto.metadata_props] == ["keras"]
