"""Models read into the record that is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from onnxperf.errors import BadModel
from onnxperf.measure.memory import peak_bytes, reset_peak
from onnxperf.model.cost import infer_shapes
from onnxperf.model.load import open_model
from onnxperf.model.view import view_of
from onnxperf.records.view import GraphView

HEAD = '<ir_version: 8, opset_import: ["" : 18]>'


def viewed(text: str, **more: object) -> GraphView:
    return view_of(open_model(parser.parse_model(HEAD + text)), **more)  # type: ignore[arg-type]


def test_types_and_shapes_inside_the_graph_are_inferred() -> None:
    view = viewed(
        "g (float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {1,2,3,4,5,6,7,8}> { h = MatMul(x, w) y = Relu(h) }"
    )
    assert view.graph.types["h"].type == "float32"
    assert view.graph.types["h"].shape == ("N", 2)
    assert view.graph.initializers[0].shape == (4, 2)


def test_shapes_that_are_given_settle_those_inside() -> None:
    view = viewed("g (float[N, 4] x) => (float[N, 4] y) { h = Relu(x) y = Relu(h) }", shapes={"x": (8, 4)})
    assert view.graph.inputs[0].shape == (8, 4)
    assert view.graph.types["h"].shape == (8, 4)


def test_sizes_that_were_not_given_stay_as_they_are() -> None:
    view = viewed("g (float[N, M, ?] x) => (float[N, M, ?] y) { y = Relu(x) }", shapes={"x": (8, "M", None)})
    assert view.graph.inputs[0].shape == (8, "M", None)
    assert view.free_dims == ("M",)


def test_a_size_that_is_given_counts_wherever_it_is_named() -> None:
    view = viewed(
        "g (int64 n, bool c, float[N, 2] x) => (float[N, 2] y) { y = Loop(n, c, x)"
        "<body = b (int64 i, bool c1, float[N, 2] v) => (bool c2, float[N, 2] w)"
        "{ c2 = Identity(c1) t = Transpose(v) q = MatMul(v, t) w = Identity(v) }> }",
        shapes={"x": (8, 2)},
    )
    assert view.graph.outputs[0].shape == (8, 2)
    assert view.totals.macs == 8 * 2 * 8


def test_multiply_adds_in_a_body_that_repeats_are_only_the_least() -> None:
    view = viewed(
        "g (int64 n, bool c, float[2, 2] x) => (float[2, 2] y) { y = Loop(n, c, x)"
        "<body = b (int64 i, bool c1, float[2, 2] v) => (bool c2, float[2, 2] w)"
        "{ c2 = Identity(c1) w = MatMul(v, v) }> }"
    )
    assert view.totals.macs == 8
    assert view.totals.macs_unknown == 1


def test_multiply_adds_are_counted_with_free_sizes_of_one() -> None:
    view = viewed("g (float[N, 4] x, float[4, 3] w) => (float[N, 3] y) { y = MatMul(x, w) }")
    assert view.graph.nodes[0].macs == view.totals.macs == 12
    assert view.free_dims == ("N",)


def test_an_unknown_size_leaves_the_multiply_adds_unknown() -> None:
    view = viewed("g (float[?, 4] x, float[4, 3] w) => (float[?, 3] y) { y = MatMul(x, w) }")
    assert view.totals.macs is None
    assert view.totals.macs_unknown == 1


def test_depth_is_the_longest_way() -> None:
    view = viewed("g (float[1] x) => (float[1] y) { a = Relu(x) b = Relu(a) c = Exp(x) y = Add(b, c) }")
    assert [node.depth for node in view.graph.nodes] == [0, 1, 0, 2]


def test_bodies_have_keys_of_their_own_and_count_in_the_totals() -> None:
    view = viewed(
        "g (bool c, float[1] x) => (float[1] y) { h = Relu(x) y = If(c)"
        "<then_branch = t () => (float[1] a) { a = Abs(h) }, else_branch = e () => (float[1] b) { b = Neg(h) }> }"
    )
    choice = view.graph.nodes[1]
    assert choice.depth == 1
    assert {name: body.nodes[0].key for name, body in choice.subgraphs.items()} == {
        "then_branch": "1/then_branch/0",
        "else_branch": "1/else_branch/0",
    }
    assert view.totals.nodes == 4


def test_a_call_of_a_local_function_leads_to_it() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "own" : 1]> g (float[1] x) => (float[1] y) { y = own.F(x) }'
        '<domain: "own", opset_import: ["" : 18]> F (a) => (b) { b = Relu(a) }'
    )
    view = view_of(open_model(model))
    assert view.graph.nodes[0].function == view.functions[0].key == "f0"
    assert view.functions[0].graph.nodes[0].key == "f0/0"


def test_nodes_without_names_and_with_the_same_name_get_labels_of_their_own() -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { a = Relu(x) b = Relu(a) y = Relu(b) }")
    model.graph.node[1].name = model.graph.node[2].name = "same"
    nodes = view_of(open_model(model)).graph.nodes
    assert [node.name for node in nodes] == ["", "same", "same"]
    assert [node.label for node in nodes] == ["Relu_0", "same", "same_1"]


@pytest.mark.parametrize(
    ("array", "dtype", "size_bytes", "preview"),
    [
        (np.float32(0.1), "float32", 4, "0.1"),
        (np.array([-1, 1]), "int64", 16, "[-1, 1]"),
        (np.array([[True], [False]]), "bool", 2, "[[True], [False]]"),
        (np.array(["a", 'b"\n'], dtype=object), "string", 4, "['a', 'b\"\\n']"),
        (np.zeros(11, np.float16), "float16", 22, ""),
        (np.zeros(0, np.float32), "float32", 0, "[]"),
        (np.zeros((20_000, 0), np.float32), "float32", 0, "[]"),
    ],
)
def test_small_tensors_show_their_values(array: object, dtype: str, size_bytes: int, preview: str) -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), "w"))
    tensor = view_of(open_model(model)).graph.initializers[0]
    assert (tensor.dtype, tensor.size_bytes, tensor.preview, tensor.values) == (dtype, size_bytes, preview, None)


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(name="w", data_type=TensorProto.UNDEFINED, dims=[1], raw_data=b"1234"),
        TensorProto(name="w", data_type=99, dims=[1], raw_data=b"1234"),
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1] * 100, raw_data=b"1234"),
    ],
    ids=["no type", "no such type", "too many axes"],
)
def test_a_tensor_that_cannot_be_read_is_called_damaged(tensor: TensorProto, values: bool) -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.graph.initializer.append(tensor)
    model.graph.node[0].attribute.append(onnx.AttributeProto(name="a", type=onnx.AttributeProto.TENSOR, t=tensor))
    graph = view_of(open_model(model), values=values).graph
    assert (graph.initializers[0].preview, graph.initializers[0].values) == ("damaged", None)
    assert graph.nodes[0].attributes[0][1].endswith(" damaged")


def test_a_tensor_with_a_negative_size_is_refused_in_one_line() -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-1], raw_data=b"1234"))
    with pytest.raises(BadModel, match=r"tensor 'w' has the shape \[-1\]"):
        view_of(open_model(model))


def test_values_that_are_asked_for_come_whole_and_fit_into_json() -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([*range(20), np.nan, np.inf]), "w"))
    values = view_of(open_model(model), values=True).graph.initializers[0].values
    assert values is not None
    assert values[:3] == (0.0, 1.0, 2.0)
    assert values[-2:] == ("nan", "inf")


def test_weights_in_another_file_are_only_read_if_asked_for(tmp_path: Path) -> None:
    model = parser.parse_model(HEAD + "g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    path = tmp_path / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    tensor = view_of(open_model(path)).graph.initializers[0]
    assert (tensor.external, tensor.preview, tensor.size_bytes) == (True, "", 8)
    assert view_of(open_model(path), values=True).graph.initializers[0].values == (1.0, 2.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.1, "0.1"),
        ("it's\n", '"it\'s\\n"'),
        ([1, 2], "[1, 2]"),
        (list(range(100)), f"[{', '.join(map(str, range(32)))}, … 100 values]"),
        (["a", "b"], "['a', 'b']"),
        (helper.make_tensor("t", TensorProto.INT64, [2], [3, 4]), "int64[2] [3, 4]"),
        (helper.make_tensor("t", TensorProto.FLOAT, [2, 8], [0.0] * 16), "float32[2, 8]"),
        (helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 3]), "float32[N, 3]"),
    ],
)
def test_attributes_read_as_they_were_written(value: object, text: str) -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    model.graph.node[0].attribute.append(helper.make_attribute("a", value))
    assert view_of(open_model(model)).graph.nodes[0].attributes == (("a", text),)


def test_long_texts_are_cut_unless_everything_is_wanted() -> None:
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    attributes = [helper.make_attribute("one", "x" * 5000), helper.make_attribute("two", ["y" * 5000])]
    model.graph.node[0].attribute.extend(attributes)
    model.graph.initializer.append(numpy_helper.from_array(np.array(["z" * 5000], dtype=object), "w"))
    short, whole = (view_of(open_model(model), values=values).graph for values in (False, True))
    assert [text[-20:] for _, text in short.nodes[0].attributes] == ["xx… 5,002 characters", "y… 5,002 characters]"]
    assert len(short.initializers[0].preview) < 1100
    assert [len(text) for _, text in whole.nodes[0].attributes] == [5002, 5004]


@pytest.mark.parametrize("value", [3, 0.5, "s", [1, 2], [0.5], ["a"], helper.make_tensor("t", 7, [1], [3])])
def test_an_attribute_of_an_old_model_does_not_say_its_type(value: object) -> None:
    texts = []
    for field in ("doc_string", "type"):
        model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) { y = Relu(x) }")
        attribute = helper.make_attribute("a", value)
        attribute.ClearField(field)
        model.graph.node[0].attribute.append(attribute)
        texts.append(view_of(open_model(model)).graph.nodes[0].attributes)
    assert texts[0] == texts[1]


def test_a_cast_names_its_type_and_defaults_are_marked() -> None:
    view = viewed("g (float[1, 2] x) => (int64[1, 1] y) { h = ArgMax<axis = 1, keepdims = 1>(x) y = Cast<to = 7>(h) }")
    first, second = view.graph.nodes
    assert first.defaults == ("keepdims",)
    assert second.attributes == (("to", "int64"),)


def test_padding_and_strides_that_do_nothing_count_as_defaults() -> None:
    view = viewed(
        "g (float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float[1, 1, 2, 2] y)"
        "{ y = Conv<strides = [1, 1], pads = [0, 0, 0, 0], kernel_shape = [3, 3]>(x, w) }"
    )
    assert view.graph.nodes[0].defaults == ("strides", "pads")


def test_a_graph_that_shape_inference_refuses_is_shown_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise onnx.shape_inference.InferenceError("no\nway")

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", refuse)
    view = viewed("g (float[1] x) => (float[1] y) { y = Relu(x) }")
    assert view.totals.nodes == 1
    assert "shape inference failed (no way)" in view.notes[0]


def test_metadata_opsets_and_other_types_are_kept() -> None:
    model = parser.parse_model(HEAD + "g (seq(float[N]) x) => (seq(float[N]) y) { y = Identity(x) }")
    helper.set_model_props(model, {"author": "</script>"})
    view = view_of(open_model(model, "m"))
    assert view.opsets == {"ai.onnx": 18}
    assert view.metadata == {"author": "</script>"}
    assert view.graph.inputs[0].type == "sequence(float32[N])"


def test_a_function_that_calls_itself_is_shown_without_shapes() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "own" : 1]> g (float[1] x) => (float[1] y) { y = own.F(x) }'
        '<domain: "own", opset_import: ["" : 18, "own" : 1]> F (a) => (b) { b = own.F(a) }'
    )
    view = view_of(open_model(model))
    assert view.totals.nodes == 2
    assert "must not be recursive" in view.notes[0]
    assert infer_shapes(model, {})["x"] == (1,)


# ---------------------------------------------------------------- long vectors

LONG = """
g (float[3000000] x, float[3000000] w, float[N] n) => (y, z)
{ a = Add(x, w)  y = Mul(a, a)  z = Add(n, x) }
"""


def test_long_vectors_keep_their_sizes() -> None:
    view = viewed(LONG)
    assert {name: value.shape for name, value in view.graph.types.items()} == {
        **dict.fromkeys("xwayz", (3_000_000,)),
        "n": ("N",),
    }
    assert view.free_dims == ("N",)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel shows the highest mark of memory")
def test_long_vectors_take_no_memory_when_shapes_are_inferred() -> None:
    model = parser.parse_model(HEAD + LONG)
    assert reset_peak()
    before = peak_bytes() or 0
    infer_shapes(model, {})
    assert (peak_bytes() or 0) - before < 64 << 20


def test_a_model_that_cannot_be_inferred_keeps_the_sizes_of_its_long_vectors() -> None:
    view = viewed("g (float[3000000] x, float[2,3] m) => (y) { a = MatMul(m, m)  y = Add(x, x) }")
    assert view.graph.inputs[0].shape == (3_000_000,)


def test_more_multiply_adds_than_there_can_be_are_unknown() -> None:
    view = viewed("g (float[4000000000, 4000000000] x) => (y) { y = MatMul(x, x) }")
    assert (view.graph.nodes[0].macs, view.totals.macs_unknown) == (None, 1)
