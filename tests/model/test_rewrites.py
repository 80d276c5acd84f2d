"""Rewrites: outputs stay what they were, and nothing is done where nothing applies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from onnxperf.errors import BadOption
from onnxperf.model.inspection import inspect
from onnxperf.model.rewrites import fold_constants, opset
from onnxperf.model.rewrites.find import REWRITES, rewrite

HEAD = '<ir_version: {ir}, opset_import: ["" : {opset}]> g (float[4, 8] X) => (float[4, 8] Y)\n'
NUMBERS = """<float root = {1.41421356}, float inverse = {0.70710678}, float one = {1.0}, float half = {0.5},
float two = {2.0}, float three = {3.0}, float cubic = {0.044715}, float scale = {0.79788456}, float eps = {0.00001},
float minus = {-0.5},
float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] b = {8, 7, 6, 5, 4, 3, 2, 1}, int64[2] shape = {4, 8}>"""
MEAN = "m = ReduceMean<axes = [-1]>(X)  d = Sub(X, m)"
VARIANCE = "p = Pow(d, two)  v = ReduceMean<axes = [-1]>(p)  e = Add(v, eps)"


def model(body: str, opset_version: int = 17, ir: int = 8, numbers: str = NUMBERS) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD.format(ir=ir, opset=opset_version) + numbers + "\n{" + body + "}")


def run(proto: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]] | None = None) -> list[NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    if feeds is None:
        feeds = {"X": np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)}
    return list(session.run(None, feeds))


def operators(proto: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node)


def executed(proto: onnx.ModelProto, folder: Path) -> Counter[str]:
    """The operators that onnxruntime executes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "executed.onnx")
    onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return operators(onnx.load(folder / "executed.onnx"))


GELU = {
    "a factor in the wrong place": "a = Div(X, root) e = Erf(a) c = Add(e, one) h = Mul(c, half) Y = Mul(X, h)",
    "a multiplication by the inverse": "a = Mul(X, inverse) e = Erf(a) c = Add(e, one) d = Mul(X, c) Y = Mul(d, half)",
    "casts in between": """a = Div(X, root) e = Erf(a) f = Cast<to = 11>(e) g = Cast<to = 1>(f) c = Add(g, one)
        d = Mul(X, c) Y = Mul(d, half)""",
    "a reshape in between": """a = Div(X, root) e = Erf(a) f = Reshape(e, shape) c = Add(f, one) d = Mul(X, c)
        Y = Mul(d, half)""",
    "tanh with a power": """p = Pow(X, three) q = Mul(p, cubic) r = Add(X, q) s = Mul(r, scale) t = Tanh(s)
        u = Add(t, one) v = Mul(X, half) Y = Mul(v, u)""",
    "tanh with products": """p = Mul(X, X) q = Mul(p, cubic) r = Add(one, q) i = Mul(X, scale) s = Mul(i, r) t = Tanh(s)
        u = Add(one, t) v = Mul(u, X) Y = Mul(half, v)""",
}
LAYERNORM = {
    "squares by a product": f"{MEAN} p = Mul(d, d) v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) "
    "n = Div(d, s) k = Mul(n, w) Y = Add(k, b)",
    "a reciprocal": f"{MEAN} {VARIANCE} s = Sqrt(e) r = Reciprocal(s) n = Mul(d, r) k = Mul(n, w) Y = Add(k, b)",
    "a power": f"{MEAN} {VARIANCE} r = Pow(e, minus) n = Mul(d, r) k = Mul(n, w) Y = Add(k, b)",
    "no weights": f"{MEAN} {VARIANCE} s = Sqrt(e) Y = Div(d, s)",
    "no bias": f"{MEAN} {VARIANCE} s = Sqrt(e) n = Div(d, s) Y = Mul(n, w)",
    "casts in between": f"""{MEAN} p = Pow(d, two) v = ReduceMean<axes = [-1]>(p) f = Cast<to = 11>(v)
        g = Cast<to = 1>(f) e = Add(g, eps) s = Sqrt(e) n = Div(d, s) k = Mul(n, w) Y = Add(k, b)""",
}


@pytest.mark.parametrize("opset_version", [13, 17, 20])
@pytest.mark.parametrize("body", GELU.values(), ids=GELU.keys())
def test_a_gelu_that_is_not_fused_becomes_one_node(body: str, opset_version: int, tmp_path: Path) -> None:
    before = model(body, opset_version)
    after = rewrite(before, "gelu")
    assert after is not None
    np.testing.assert_allclose(run(after)[0], run(before)[0], rtol=1e-5, atol=1e-6)
    assert sum(executed(after, tmp_path).values()) == 1


@pytest.mark.parametrize("opset_version", [13, 17])
@pytest.mark.parametrize("body", LAYERNORM.values(), ids=LAYERNORM.keys())
def test_a_normalisation_that_is_not_fused_becomes_one_node(body: str, opset_version: int, tmp_path: Path) -> None:
    before = model(body, opset_version)
    after = rewrite(before, "layernorm")
    assert after is not None
    np.testing.assert_allclose(run(after)[0], run(before)[0], rtol=1e-4, atol=1e-5)
    assert dict(executed(after, tmp_path)) == {"LayerNormalization": 1}


def test_a_result_in_the_middle_stays_one() -> None:
    before = model(GELU["a factor in the wrong place"])
    before.graph.output.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, [4, 8]))
    after = rewrite(before, "gelu")
    assert after is not None
    for one, other in zip(run(after), run(before), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


CASTS = {
    "a pair": ("a = Cast<to = 11>(X) b1 = Cast<to = 1>(a) Y = Relu(b1)", {"Relu": 1}),
    "to the type that is there": ("a = Cast<to = 1>(X) Y = Relu(a)", {"Relu": 1}),
    "a chain": (
        "a = Cast<to = 11>(X) b1 = Cast<to = 10>(a) c = Cast<to = 1>(b1) d = Cast<to = 11>(c) f = Cast<to = 10>(d) "
        "Y = Cast<to = 1>(f)",
        {"Cast": 2},
    ),
}


@pytest.mark.parametrize(("body", "left"), CASTS.values(), ids=CASTS.keys())
def test_casts_without_effect_go(body: str, left: dict[str, int]) -> None:
    before = model(body)
    after = rewrite(before, "drop-casts")
    assert after is not None
    assert dict(operators(after)) == left
    np.testing.assert_array_equal(run(after)[0], run(before)[0])


TRANSPOSES = {
    "a pair that cancels": ("a = Transpose<perm = [1, 0]>(X) c = Transpose<perm = [1, 0]>(a) Y = Relu(c)", 0),
    "a chain": (
        "a = Transpose<perm = [1, 0]>(X) c = Transpose<perm = [1, 0]>(a) d = Transpose<perm = [1, 0]>(c) "
        "e = Relu(d) Y = Transpose<perm = [1, 0]>(e)",
        1,
    ),
    "an elementwise node in between": (
        "a = Transpose<perm = [1, 0]>(X) c = Relu(a) d = Transpose<perm = [1, 0]>(c) Y = Neg(d)",
        0,
    ),
}


@pytest.mark.parametrize(("body", "left"), TRANSPOSES.values(), ids=TRANSPOSES.keys())
def test_transposes_that_undo_each_other_go(body: str, left: int) -> None:
    before = model(body)
    after = rewrite(before, "merge-transposes")
    assert after is not None
    assert operators(after)["Transpose"] <= left
    np.testing.assert_array_equal(run(after)[0], run(before)[0])


def test_three_axes_in_a_row_become_one_permutation() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] X) => (float[a, b, c] Y)
    { p = Transpose<perm = [1, 2, 0]>(X)  Y = Transpose<perm = [0, 2, 1]>(p) }"""
    before = onnx.parser.parse_model(text)
    after = rewrite(before, "merge-transposes")
    assert after is not None
    assert dict(operators(after)) == {"Transpose": 1}
    feeds = {"X": np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)}
    np.testing.assert_array_equal(run(after, feeds)[0], run(before, feeds)[0])


def weighted(values: NDArray[Any], raw: bool = True) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4, 8] X) => (float[4, 8] Y) { Y = Mul(X, w) }'
    )
    tensor = numpy_helper.from_array(values, "w")
    if not raw:
        tensor = helper.make_tensor("w", tensor.data_type, values.shape, values.reshape(-1).tolist())
    proto.graph.initializer.append(tensor)
    return proto


@pytest.mark.parametrize("raw", [True, False])
def test_denormal_weights_become_zero_and_others_stay(raw: bool) -> None:
    values = np.array([1, 1e-40, -1e-41, 0, 1.2e-38, np.inf, 3, -2], np.float32)
    after = rewrite(weighted(values, raw), "flush-denormals")
    assert after is not None
    expected = np.array([1, 0, 0, 0, 1.2e-38, np.inf, 3, -2], np.float32)
    np.testing.assert_array_equal(numpy_helper.to_array(after.graph.initializer[0]), expected)


DOUBLE = """<ir_version: 8, opset_import: ["" : 17]> 
g (double[4, 8] X, float[4, 8] Z) => (double[4, 8] Y, float[4, 8] V)
<double[8] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{ z = Cast<to = 11>(Z)  a = Mul(X, w)  c = Add(a, z)  Y = Relu(c)  d = Sqrt(Y)  V = Cast<to = 1>(d) }"""


def test_float64_inside_becomes_float32_and_the_interface_stays() -> None:
    before = onnx.parser.parse_model(DOUBLE)
    after = rewrite(before, "float32")
    assert after is not None
    random = np.random.default_rng(0)
    feeds: dict[str, NDArray[Any]] = {"X": random.random((4, 8)), "Z": random.random((4, 8)).astype(np.float32)}
    for one, other in zip(run(after, feeds), run(before, feeds), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert {each.data_type for each in after.graph.initializer} == {TensorProto.FLOAT}


def test_float16_inside_becomes_float32_and_the_interface_stays() -> None:
    before = onnx.parser.parse_model(DOUBLE.replace("double", "float16").replace("to = 11", "to = 10"))
    after = rewrite(before, "widen-float16")
    assert after is not None
    random = np.random.default_rng(0)
    feeds: dict[str, NDArray[Any]] = {
        "X": random.random((4, 8)).astype(np.float16),
        "Z": random.random((4, 8)).astype(np.float32),
    }
    for one, other in zip(run(after, feeds), run(before, feeds), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-3)
    assert {each.data_type for each in after.graph.initializer} == {TensorProto.FLOAT}


def test_values_that_float32_does_not_have_are_left_in_float64() -> None:
    before = onnx.parser.parse_model(DOUBLE)
    before.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full(8, 1e300), "w"))
    assert rewrite(before, "float32") is None


def test_constant_nodes_are_computed_once() -> None:
    before = model("s = Shape(w) t = Add(w, b) k = Mul(t, w) r = Reshape(k, s) a = Mul(X, r) Y = Add(a, t)")
    after = rewrite(before, "fold-constants")
    assert after is not None
    assert dict(operators(after)) == {"Mul": 1, "Add": 1}
    np.testing.assert_allclose(run(after)[0], run(before)[0], rtol=1e-6)


def test_constants_that_would_become_huge_stay_nodes() -> None:
    proto = model("n = ConstantOfShape(big) s = ReduceSum(n) Y = Add(X, s)")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([2**40], np.int64), "big"))
    assert rewrite(proto, "fold-constants") is None


def test_all_constants_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_constants, "_MOST_BYTES_OF_ALL", 40)
    before = model("t = Add(w, b) k = Mul(t, w) a = Mul(X, k) Y = Add(a, t)")
    after = rewrite(before, "fold-constants")
    assert after is not None
    assert dict(operators(after)) == {"Mul": 2, "Add": 1}


def test_what_nothing_uses_goes() -> None:
    before = model("dead = Add(w, b) Y = Relu(X)")
    after = rewrite(before, "drop-unused")
    assert after is not None
    assert dict(operators(after)) == {"Relu": 1}
    assert not after.graph.initializer


def test_initialisers_that_are_inputs_become_constants() -> None:
    before = model("Y = Mul(X, w)")
    before.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [8]))
    after = rewrite(before, "fix-initialisers")
    assert after is not None
    assert [value.name for value in after.graph.input] == ["X"]
    np.testing.assert_array_equal(run(after)[0], run(before)[0])


@pytest.mark.parametrize("version", [7, 11, 13])
def test_an_old_opset_becomes_the_newest_that_onnxruntime_knows(version: int) -> None:
    before = model("a = Mul(X, w) c = Softmax<axis = 1>(a) Y = Relu(c)", version)
    after = rewrite(before, "opset")
    assert after is not None
    assert after.opset_import[0].version == opset.newest_opset()
    np.testing.assert_allclose(run(after)[0], run(before)[0], rtol=1e-6)


PLAIN = "a = Mul(X, w) c = Add(a, b) Y = Relu(c)"
FUSED_GELU = "a = Div(X, root) e = Erf(a) c = Add(e, one) d = Mul(X, c) Y = Mul(d, half)"
OTHER_FUSED_GELU = "a = Div(X, root) e = Erf(a) c = Add(e, one) d = Mul(X, half) Y = Mul(d, c)"
NOTHING = [
    *((name, PLAIN) for name in sorted({*REWRITES} - {"drop-unused", "opset"})),
    ("gelu", FUSED_GELU),
    ("gelu", OTHER_FUSED_GELU),
    ("gelu", "a = Div(X, two) e = Erf(a) c = Add(e, one) d = Mul(X, c) Y = Mul(d, half)"),
    ("gelu", "a = Mul(X, inverse) e = Erf(a) c = Add(e, one) d = Mul(a, c) Y = Mul(d, half)"),
    ("layernorm", f"{MEAN} {VARIANCE} s = Sqrt(e) n = Div(d, s) k = Mul(n, w) Y = Add(k, b)"),
    ("layernorm", "m = ReduceMean<axes = [0]>(X)  d = Sub(X, m) p = Mul(d, d) v = ReduceMean<axes = [0]>(p) "
     "e = Add(v, eps) s = Sqrt(e) n = Div(d, s) k = Mul(n, w) Y = Add(k, b)"),
    ("drop-casts", "a = Cast<to = 10>(X) c = Cast<to = 1>(a) Y = Relu(c)"),
    ("merge-transposes", "a = Transpose<perm = [1, 0]>(X) c = MatMul(X, a) d = MatMul(c, X) Y = Relu(d)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "body"), NOTHING)
def test_there_is_nothing_to_rewrite(name: str, body: str) -> None:
    assert rewrite(model(body), name) is None


def test_a_model_without_rest_and_of_the_newest_opset_stays() -> None:
    proto = model("Y = Relu(X)", opset.newest_opset(), numbers="")
    assert all(rewrite(proto, name) is None for name in REWRITES)


def test_an_unknown_rewrite_is_one_line() -> None:
    with pytest.raises(BadOption, match="unknown rewrite 'faster'; choose from: drop-casts"):
        rewrite(model(PLAIN), "faster")


UNSOUND = {
    "a cycle": "a = Add(X, c) c = Relu(a) Y = Neg(c)",
    "a missing input": "Y = Add(X, nowhere)",
    "a tensor made twice": "a = Relu(X) a = Neg(X) Y = Abs(a)",
    "a cycle of casts": "a = Cast<to = 1>(c) c = Cast<to = 1>(a) Y = Add(X, c)",
    "a cycle of transposes": "a = Transpose<perm = [1, 0]>(c) c = Transpose<perm = [1, 0]>(a) Y = Add(X, c)",
    "no such result": "a = Relu(X)",
}


@pytest.mark.parametrize("name", sorted(REWRITES))
@pytest.mark.parametrize("body", UNSOUND.values(), ids=UNSOUND.keys())
def test_a_graph_that_makes_no_sense_is_left_alone(name: str, body: str) -> None:
    inspect(model(body))
    assert rewrite(model(body), name) is None


# ---------------------------------------------------------------- random graphs

UNARY = ["Relu", "Neg", "Erf", "Tanh", "Sqrt", "Identity", "Sigmoid", "Abs"]
BINARY = ["Add", "Sub", "Mul", "Div", "Pow"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*UNARY, *BINARY, "Cast", "Transpose", "ReduceMean"]),
        st.integers(0, 100),
        st.integers(0, 100),
        st.integers(0, 100),
    ),
    min_size=1,
    max_size=14,
)


def drawn(steps: list[tuple[str, int, int, int]]) -> onnx.ModelProto:
    """A graph of square matrices; every node takes what is there before it."""
    random = np.random.default_rng(len(steps))
    weights = [
        numpy_helper.from_array(np.array(value, np.float32), name)
        for name, value in (("half", 0.5), ("one", 1), ("two", 2), ("root", 1.4142135), ("inverse", 0.70710678))
    ]
    weights.append(numpy_helper.from_array(random.random((4, 4)).astype(np.float32) * 1e-39, "w"))
    floats = ["X", *(each.name for each in weights)]
    nodes = []
    for number, (op_type, first, second, third) in enumerate(steps):
        made, one, other = f"t{number}", floats[first % len(floats)], floats[second % len(floats)]
        if op_type == "Cast":
            nodes.append(helper.make_node("Cast", [one], [f"c{number}"], to=[1, 10, 11][third % 3]))
            nodes.append(helper.make_node("Cast", [f"c{number}"], [made], to=1))
        elif op_type == "Transpose":
            one = "w" if third % 2 else "X"
            nodes.append(helper.make_node("Transpose", [one], [f"c{number}"], perm=[1, 0]))
            nodes.append(
                helper.make_node("Transpose", [f"c{number}"], [made], perm=[third // 2 % 2, 1 - third // 2 % 2])
            )
        elif op_type == "ReduceMean":
            nodes.append(helper.make_node("ReduceMean", ["X"], [made], axes=[-1]))
        else:
            nodes.append(helper.make_node(op_type, [one, other][: 1 if op_type in UNARY else 2], [made]))
        floats.append(made)
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, [4, 4])
    y = helper.make_tensor_value_info(floats[-1], TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "drawn", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.slow
@given(STEPS)
def test_rewrites_never_raise_and_never_change_results(steps: list[tuple[str, int, int, int]]) -> None:
    proto = drawn(steps)
    before = proto.SerializeToString(deterministic=True)
    feeds = {"X": np.random.default_rng(0).random((4, 4)).astype(np.float32)}
    wanted = run(proto, feeds)[0]
    inspect(proto)
    for name in REWRITES:
        after = rewrite(proto, name)
        assert proto.SerializeToString(deterministic=True) == before
        if after is not None and np.isfinite(wanted).all():
            np.testing.assert_allclose(run(after, feeds)[0], wanted, rtol=1e-3, atol=1e-4)
