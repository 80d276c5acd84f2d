"""Nodes that are computed together give what they give one by one, and remain explained."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import onnxperf
from onnxperf.runtimes.numpy.compile import Compiler
from onnxperf.runtimes.numpy.session import NumpySession

Array = np.ndarray[Any, Any]
HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
IMAGE = "g (float[2, 4, 6, 5] X) => "
BN = "BatchNormalization(A, s, b, m, v)"
WEIGHTS: dict[str, tuple[int, ...]] = {
    "W": (4, 4, 3, 3),
    "P": (4, 4, 1, 1),
    "G": (4, 2, 3, 3),
    "D": (4, 1, 3, 3),
    "c": (4,),
    "s": (4,),
    "b": (4,),
    "m": (4,),
    "v": (4,),
    "k": (4, 1, 1),
    "j": (1, 4, 1, 1),
    "n": (1,),
    "full": (4, 6, 5),
    "five": (1, 1, 1, 1, 1),
}


def constant(name: str, *shape: int) -> Array:
    values = np.random.default_rng(sum(map(ord, name))).standard_normal(shape).astype(np.float32)
    return np.abs(values) + np.float32(0.5) if name == "v" else values


def model_of(body: str, **replaced: Array) -> onnx.ModelProto:
    """A graph whose free names are the constants above, or those given instead."""
    model = parser.parse_model(HEAD + body)
    used = {name for node in model.graph.node for name in node.input}
    arrays = {name: constant(name, *shape) for name, shape in WEIGHTS.items()} | replaced
    fed = {value.name for value in model.graph.input}
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in arrays.items() if name in used and name not in fed
    )
    return model


def image(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape or (2, 4, 6, 5)).astype(np.float32)


def operators(session: NumpySession) -> list[str]:
    return [step.node.op for step in session.lowered.steps]


def check_against_reference(model: onnx.ModelProto, feeds: dict[str, Array]) -> NumpySession:
    session = NumpySession(model)
    with np.errstate(all="ignore"):
        expected: Any = ReferenceEvaluator(model).run(None, feeds)
        got = session.bind("run", feeds, {})()
    for mine, theirs in zip(got, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
    return session


# graph, operators of the steps that it becomes
FUSED: dict[str, tuple[str, list[str]]] = {
    "a convolution and its normalisation": (
        f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  Y = {BN} }}",
        ["Conv + BatchNormalization"],
    ),
    "with a bias": (f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W, c)  Y = {BN} }}", ["Conv + BatchNormalization"]),
    "and an activation": (
        f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W, c)  B = {BN}  Y = Relu(B) }}",
        ["Conv + BatchNormalization + Relu"],
    ),
    "windows of one element": (
        f"(float[2, 4, 6, 5] Y) {{ A = Conv(X, P, c)  B = {BN}  Y = Relu(B) }}",
        ["Conv + BatchNormalization + Relu"],
    ),
    "groups": (
        f"(float[2, 4, 4, 3] Y) {{ A = Conv <group = 2> (X, G)  B = {BN}  Y = Relu(B) }}",
        ["Conv + BatchNormalization + Relu"],
    ),
    "one channel per group": (
        f"(float[2, 4, 4, 3] Y) {{ A = Conv <group = 4> (X, D)  B = {BN}  Y = Tanh(B) }}",
        ["Conv + BatchNormalization + Tanh"],
    ),
    "factors and shifts": (
        f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  B = {BN}  C = Mul(B, k)  Z = Add(j, C)  Y = Sigmoid(Z) }}",
        ["Conv + BatchNormalization + Mul + Add + Sigmoid"],
    ),
    "one number for all channels": (
        "(float[2, 4, 4, 3] Y) { A = Conv(X, W)  B = Mul(n, A)  Y = Add(B, n) }",
        ["Conv + Mul + Add"],
    ),
    "a normalisation alone": (
        "(float[2, 4, 6, 5] Y) { A = BatchNormalization(X, s, b, m, v)  B = Mul(A, k)  C = Add(B, k)  Y = Relu(C) }",
        ["BatchNormalization + Mul + Add + Relu"],
    ),
    "two activations: one of them": (
        "(float[2, 4, 4, 3] Y) { A = Conv(X, W)  B = Relu(A)  Y = Sigmoid(B) }",
        ["Conv + Relu", "Sigmoid"],
    ),
    "a normalisation after an activation stays": (
        f"(float[2, 4, 4, 3] Y) {{ Z = Conv(X, W)  A = Relu(Z)  Y = {BN} }}",
        ["Conv + Relu", "BatchNormalization"],
    ),
    "bounds": (
        "(float[2, 4, 4, 3] Y) <float low = {0.0}, float high = {0.5}> { A = Conv(X, W)  Y = Clip(A, low, high) }",
        ["Conv + Clip"],
    ),
    "one bound": (
        "(float[2, 4, 4, 3] Y) <float high = {0.5}> { A = Conv(X, W)  Y = Clip(A, , high) }",
        ["Conv + Clip"],
    ),
    "weights that are computed from constants": (
        f"(float[2, 4, 4, 3] Y) {{ E = Exp(W)  A = Conv(X, E)  Y = {BN} }}",
        ["Conv + BatchNormalization"],
    ),
    "two ends": (
        f"(float[2, 4, 4, 3] Y, float[2, 4, 4, 3] Z) {{ A = Conv(X, W)  Y = {BN}  B = Conv(X, W, c)  Z = Relu(B) }}",
        ["Conv + BatchNormalization", "Conv + Relu"],
    ),
}
APART: dict[str, tuple[str, list[str]]] = {
    "an output": (
        f"(float[2, 4, 4, 3] A, float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  Y = {BN} }}",
        ["Conv", "BatchNormalization"],
    ),
    "a second reader": (
        f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  B = {BN}  Y = Add(A, B) }}",
        ["Conv", "BatchNormalization", "Add"],
    ),
    "a reader that reads twice": ("(float[2, 4, 4, 3] Y) { A = Conv(X, W)  Y = Mul(A, A) }", ["Conv", "Mul"]),
    "a number per element": ("(float[2, 4, 6, 5] Y) { A = Conv(X, P)  Y = Mul(A, full) }", ["Conv", "Mul"]),
    "a factor that adds an axis": ("(float[1, 2, 4, 4, 3] Y) { A = Conv(X, W)  Y = Mul(A, five) }", ["Conv", "Mul"]),
    "what a body reads": (
        "(float[2, 4, 4, 3] Y) <bool C = {1}> { A = Conv(X, W)  R = RandomNormal <shape = [1]> ()"
        "  Q = Less(R, n)  Y = If (Q) <then_branch = t () => (float[2, 4, 4, 3] P1) { P1 = Relu(A) },"
        " else_branch = e () => (float[2, 4, 4, 3] P2) { P2 = Relu(A) }> }",
        ["Conv", "RandomNormal", "Less", "If"],
    ),
}


@pytest.mark.parametrize("case", [*FUSED, *APART])
def test_what_is_fused_agrees_with_the_reference(case: str) -> None:
    body, steps = (FUSED | APART)[case]
    session = check_against_reference(model_of(IMAGE + body), {"X": image()})
    assert operators(session) == steps


@pytest.mark.parametrize(
    ("shape", "weights"), [((2, 4, 9), (4, 4, 3)), ((1, 4, 5, 4, 6), (4, 4, 2, 2, 3))], ids=["1-D", "3-D"]
)
def test_convolutions_over_any_number_of_axes_are_fused(shape: tuple[int, ...], weights: tuple[int, ...]) -> None:
    sizes = ", ".join(map(str, shape))
    body = f"g (float[{sizes}] X) => (float[{', '.join('N' * len(shape))}] Y)"
    model = model_of(body + f" {{ A = Conv(X, W)  B = {BN}  Y = Relu(B) }}", W=constant("W", *weights))
    session = check_against_reference(model, {"X": image(*shape)})
    assert operators(session) == ["Conv + BatchNormalization + Relu"]


def test_a_large_result_is_normalised_in_parts_with_the_channels_in_their_places() -> None:
    for shape in ((1, 4, 200, 190), (90, 4, 20, 21), (2, 4, 1, 70000), (40000, 4)):
        sizes = ", ".join(map(str, shape))
        text = f"g (float[{sizes}] X) => (float[{sizes}] Y) {{ A = BatchNormalization(X, s, b, m, v)  Y = Relu(A) }}"
        session = check_against_reference(model_of(text), {"X": image(*shape)})
        assert operators(session) == ["BatchNormalization + Relu"]


@pytest.mark.parametrize("fed", ["W", "s", "v"])
def test_what_is_fed_is_not_folded(fed: str) -> None:
    sizes = ", ".join(map(str, WEIGHTS[fed]))
    text = f"g (float[2, 4, 6, 5] X, float[{sizes}] {fed}) => (float[2, 4, 4, 3] Y)"
    model = model_of(text + f" {{ A = Conv(X, W)  B = {BN}  Y = Relu(B) }}")
    session = check_against_reference(model, {"X": image(), fed: constant(fed, *WEIGHTS[fed]) + np.float32(1)})
    assert operators(session)[0] == "Conv"


def test_an_initialiser_that_is_overridden_counts() -> None:
    model = model_of(IMAGE + f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  B = {BN}  Y = Relu(B) }}")
    model.graph.input.append(helper.make_tensor_value_info("s", 1, [4]))
    session = check_against_reference(model, {"X": image()})
    feeds = {"X": image(), "s": np.array([3, -2, 0, 1], np.float32)}
    expected: Any = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(session.bind("run", feeds, {})()[0], expected[0], rtol=1e-4, atol=1e-4)


def test_convolutions_of_a_body_are_fused_too() -> None:
    body = (
        "g (float[2, 4, 6, 5] X, bool C) => (float[2, 4, 4, 3] Y) { Y = If (C)"
        " <then_branch = t () => (float[2, 4, 4, 3] P1) { A = Conv(X, W)  P1 = Relu(A) },"
        " else_branch = e () => (float[2, 4, 4, 3] P2) { B = Conv(X, W)  P2 = Neg(B) }> }"
    )
    model = model_of(body)
    model.graph.initializer.append(numpy_helper.from_array(constant("W", *WEIGHTS["W"]), "W"))
    for chosen in (True, False):
        check_against_reference(model, {"X": image(), "C": np.array(chosen)})


# Statistics with which folded weights would not mean the same.
KEPT_APART: dict[str, dict[str, Any]] = {
    "overflow": {"W": 1e30, "s": 1e30},
    "lost digits": {"W": 1e-30, "s": 1e-12},
    "a root that does not exist": {"v": -1},
    "a shift that is not a number": {"m": np.nan},
}


@pytest.mark.parametrize("case", KEPT_APART)
def test_weights_that_could_not_hold_the_factor_stay_as_they_are(case: str) -> None:
    replaced = {name: np.full(WEIGHTS[name], value, np.float32) for name, value in KEPT_APART[case].items()}
    model = model_of(IMAGE + f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  Y = {BN} }}", **replaced)
    session = check_against_reference(model, {"X": image()})
    assert operators(session) == ["Conv", "BatchNormalization"]


def test_channels_whose_factor_is_zero_are_folded() -> None:
    model = model_of(
        IMAGE + f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  Y = {BN} }}", s=np.array([1, 0, 2, 0], np.float32)
    )
    assert operators(check_against_reference(model, {"X": image()})) == ["Conv + BatchNormalization"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e-42, -0.0])
@pytest.mark.parametrize("case", FUSED)
def test_special_numbers_come_out_as_they_do_one_by_one(case: str, value: float) -> None:
    x = image()
    x[0, 1, 2, 2] = value
    check_against_reference(model_of(IMAGE + FUSED[case][0]), {"X": x})


def test_every_tensor_between_fused_nodes_is_returned_on_request() -> None:
    text = f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  B = {BN}  C = Relu(B)  D = Conv(C, P)  Y = Relu(D) }}"
    model = model_of(IMAGE + text)
    tensors = onnxperf.load(model, runtime="numpy").run({"X": image()}, intermediate=True)
    assert list(tensors) == ["X", "A", "B", "C", "D", "Y"]
    everything = onnx.ModelProto()
    everything.CopyFrom(model)
    everything.graph.output.extend(onnx.ValueInfoProto(name=name) for name in "ABCD")
    expected: Any = ReferenceEvaluator(everything).run(None, {"X": image()})
    for name, theirs in zip("YABCD", expected, strict=True):
        np.testing.assert_allclose(tensors[name], theirs, rtol=1e-4, atol=1e-4)


def test_the_time_per_node_and_the_source_name_what_was_fused() -> None:
    model = model_of(IMAGE + f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  B = {BN}  C = Relu(B)  Y = Neg(C) }}")
    for node, name in zip(model.graph.node, ("first", "", "third", "last"), strict=True):
        node.name = name
    runner = onnxperf.load(model, runtime="numpy")
    table = runner.node_times({"X": image()}, repeat=2)
    assert table["op_type"].tolist() == ["Conv + BatchNormalization + Relu", "Neg"]
    assert table["name"].tolist() == ["first + third", "last"]
    assert runner.source == (
        "def run(v0):\n    v1 = k0(v0)  # Conv + BatchNormalization + Relu\n"
        "    v2 = k1(v1, v1)\n    del v1\n    return [v2]\n"
    )
    fused = NumpySession(model).lowered.steps[0].fused
    assert [node.op_type for node in fused] == ["Conv", "BatchNormalization", "Relu"]


def test_without_the_passes_every_node_is_a_step() -> None:
    model = model_of(IMAGE + f"(float[2, 4, 4, 3] Y) {{ A = Conv(X, W)  B = {BN}  Y = Relu(B) }}")
    compiler = Compiler(model, fuse=False)
    assert [step.node.op for step in compiler.lowered.steps] == ["Conv", "BatchNormalization", "Relu"]
    (fused,) = NumpySession(model).bind("run", {"X": image()}, {})()
    np.testing.assert_allclose(compiler.program().function(image())[0], fused, rtol=1e-4, atol=1e-4)


def test_no_text_of_the_model_enters_the_source() -> None:
    model = model_of(IMAGE + "(float[2, 4, 4, 3] Y) { A = Conv(X, W)  Y = Relu(A) }")
    for node in model.graph.node:
        node.name = "x\nimport os"
        node.doc_string = "x\nimport os"
    assert NumpySession(model).source == "def run(v0):\n    v1 = k0(v0)  # Conv + Relu\n    return [v1]\n"


_CHAIN = {
    "Conv": ["W1"],
    "BatchNormalization": ["s", "b", "m", "v"],
    "Mul": ["k"],
    "Add": ["j"],
    "Relu": [],
    "Tanh": [],
    "Clip": ["low", "high"],
    "Neg": [],
}


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """Random graphs of what can be fused and what cannot, with several outputs."""
    names, nodes = ["X"], []
    for index in range(draw(st.integers(1, 10))):
        operator = draw(st.sampled_from(list(_CHAIN)))
        # Mostly the latest tensor, so that chains are common.
        read = draw(st.sampled_from([names[-1]] * 4 + names))
        names.append(f"t{index}")
        attributes: dict[str, Any] = {"pads": [1, 1, 1, 1]} if operator == "Conv" else {}
        nodes.append(helper.make_node(operator, [read, *_CHAIN[operator]], [names[-1]], **attributes))
    outputs = {names[-1], *draw(st.lists(st.sampled_from(names[1:]), max_size=2))}
    arrays = {name: constant(name, *WEIGHTS[name]) for name in ("s", "b", "m", "v", "k", "j")}
    arrays |= {"W1": constant("W", 4, 4, 3, 3) / np.float32(4)}
    arrays |= {"low": np.array(-0.5, np.float32), "high": np.array(2, np.float32)}
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info("X", 1, [1, 4, 5, 4])],
        [helper.make_tensor_value_info(name, 1, [1, 4, 5, 4]) for name in sorted(outputs)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@given(networks())
def test_random_networks_compute_what_onnx_says_and_earlier_results_stay(model: onnx.ModelProto) -> None:
    session = NumpySession(model)
    first = image(1, 4, 5, 4)
    earlier = session.bind("run", {"X": first}, {})()
    kept = [array.copy() for array in earlier]
    session.bind("run", {"X": first * -2}, {})()
    expected: Any = ReferenceEvaluator(model).run(None, {"X": first})
    for mine, before, theirs in zip(earlier, kept, expected, strict=True):
        np.testing.assert_array_equal(mine, before)
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(first, image(1, 4, 5, 4))
