"""Which inputs index a table, and how far they may go."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from onnxperf.model.graph import all_nodes
from onnxperf.model.index_limits import index_limits

HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3, "com.microsoft" : 1, "own" : 1]>'


def main(body: str, head: str = "(int64[n] i) => (float[m] y)") -> onnx.ModelProto:
    proto = onnx.parser.parse_model(f"{HEAD}\ng {head} {{ {body} }}")
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros((30, 8), np.float32), "E"))
    return proto


CASES = {
    "directly": ("y = Gather(E, i)", {"i": 30}),
    "along another axis": ("y = Gather <axis = 1> (E, i)", {"i": 8}),
    "along a negative axis": ("y = Gather <axis = -1> (E, i)", {"i": 8}),
    "an axis that does not exist": ("y = Gather <axis = 7> (E, i)", {}),
    "by elements": ("y = GatherElements <axis = 1> (E, i)", {"i": 8}),
    "columns": ("y = ai.onnx.ml.ArrayFeatureExtractor(E, i)", {"i": 8}),
    "smallest of two": ("a = Gather(E, i) \n y = Gather <axis = 1> (E, i)", {"i": 8}),
    "through a cast": ("a = Cast <to = 6> (i) \n y = Gather(E, a)", {"i": 30}),
    "through reshapes": (
        "s = Constant <value_ints = [-1, 1]> () \n a = Reshape(i, s) \n b = Squeeze(a) \n c = Flatten(b) \n"
        "d = Transpose(c) \n y = Gather(E, d)",
        {"i": 30},
    ),
    "through concat": (
        "z = Constant <value_ints = [0]> () \n a = Concat <axis = 0> (z, i) \n y = Gather(E, a)",
        {"i": 30},
    ),
    "gathered itself": ("z = Constant <value_int = 0> () \n a = Gather(i, z) \n y = Gather(E, a)", {"i": 30}),
    "condition of a where": ("c = Cast <to = 9> (i) \n a = Where(c, i, i) \n y = Gather(E, a)", {"i": 30}),
    "not through arithmetic": ("a = Add(i, i) \n y = Gather(E, a)", {}),
    "not as numbers": ("a = Cast <to = 1> (i) \n y = Mul(a, a)", {}),
    "table is a constant": ("t = Constant <value = float[5] {1, 2, 3, 4, 5}> () \n y = Gather(t, i)", {"i": 5}),
    "table is transposed": ("t = Transpose(E) \n y = Gather(t, i)", {"i": 8}),
    "table is permuted": ("t = Transpose <perm = [0, 1]> (E) \n y = Gather(t, i)", {"i": 30}),
    "table is wrongly permuted": ("t = Transpose <perm = [0, 5]> (E) \n y = Gather(t, i)", {}),
    "table is cast": ("t = Cast <to = 10> (E) \n y = Gather(t, i)", {"i": 30}),
    "table is computed": ("t = Mul(E, E) \n y = Gather(t, i)", {}),
    "too few inputs": ("y = Gather(E)", {}),
    "fused by onnxruntime": ("y = com.microsoft.EmbedLayerNormalization(i, i, E, E, E)", {"i": 30}),
}


@pytest.mark.parametrize(("body", "limits"), CASES.values(), ids=CASES)
def test_an_input_is_bounded_by_the_table_it_indexes(body: str, limits: dict[str, int]) -> None:
    assert index_limits(main(body)) == limits


def test_an_input_of_fixed_size_is_a_table_too() -> None:
    proto = main("y = Gather(X, i)", "(float[7, k] X, int32[n] i) => (float[m] y)")
    assert index_limits(proto) == {"i": 7}


def test_an_input_of_free_size_bounds_nothing() -> None:
    proto = main("y = Gather(X, i)", "(float[k, 7] X, int32[n] i) => (float[m] y)")
    assert index_limits(proto) == {}


def test_floats_are_never_indices() -> None:
    assert index_limits(main("a = Cast <to = 7> (i) \n y = Gather(E, a)", "(float[n] i) => (float[m] y)")) == {}


def test_a_branch_sees_the_values_around_it() -> None:
    body = """
    a = Identity(i)
    y = If (c) <
        then_branch = t () => (float[m] p) { p = Gather(E, a) },
        else_branch = e () => (float[m] q) <float[4] F = {1, 2, 3, 4}> { q = Gather(F, a) }
    >
    """
    proto = main(body, "(int64[n] i, bool c) => (float[m] y)")
    assert index_limits(proto) == {"i": 4}
    assert [n.op_type for n in all_nodes(proto)] == ["Identity", "If", "Gather", "Gather"]


def test_a_loop_hands_its_inputs_to_its_body() -> None:
    body = """
    y, z = Loop (n, c, i) <
        body = b (int64 k, bool d, int64[n] v) => (bool d, int64[n] v, float[m] s) { s = Gather(E, v) }
    >
    """
    assert index_limits(main(body, "(int64 n, bool c, int64[n] i) => (float[m] z)")) == {"i": 30}


FUNCTION = """
<domain: "own", opset_import: ["" : 21]>
embed <axis> (table, at) => (out) { out = Gather <axis: int = @axis> (table, at) }
"""


def test_a_function_is_entered_with_its_arguments_and_attributes() -> None:
    proto = main("y = own.embed <axis = 1> (E, i)")
    proto.functions.append(onnx.parser.parse_function(FUNCTION))
    assert index_limits(proto) == {"i": 8}


def test_a_function_that_calls_itself_ends() -> None:
    proto = main("y = own.embed <axis = 1> (E, i)")
    function = onnx.parser.parse_function(FUNCTION)
    function.node.add(domain="own", op_type="embed", input=["table", "at"], output=["again"])
    proto.functions.append(function)
    assert index_limits(proto) == {"i": 8}
