"""A graph becomes one Python function that computes the same, and changes nothing that is not its own."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, parser
from onnx.reference import ReferenceEvaluator

import onnxperf
from onnxperf.errors import BadModel, BadOption
from onnxperf.runtimes.numpy import lower
from onnxperf.runtimes.numpy.session import NumpySession

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '


def session_of(body: str) -> NumpySession:
    return NumpySession(parser.parse_model(HEAD + body))


def run(session: NumpySession, **feeds: Any) -> list[Any]:
    return list(session.bind("run", feeds, {})())


def test_the_source_reads_as_one_line_per_node_and_releases_what_is_no_longer_read() -> None:
    session = session_of("g (float[n, 3] X) => (float[n, 3] Y) { A = Exp(X)  B = Neg(A)  Y = Abs(B) }")
    assert session.source.splitlines() == [
        "def run(v0):",
        "    v1 = k0(v0)",
        "    v2 = k1(v1, v1)",
        "    del v1",
        "    v3 = k2(v2, v2)",
        "    del v2",
        "    return [v3]",
    ]


def test_no_name_of_the_model_is_in_the_source() -> None:
    evil = "x\n    import os"
    node = helper.make_node("Exp", [evil], ["__import__('os')"], name="evil")
    graph = helper.make_graph(
        [node],
        "exec",
        [helper.make_tensor_value_info(evil, 1, ["os", 2])],
        [helper.make_tensor_value_info("__import__('os')", 1, ["os", 2])],
    )
    source = NumpySession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)).source
    assert source == "def run(v0):\n    v1 = k0(v0)\n    return [v1]\n"


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("g () => (float[2] Y) <float[2] C = {1, 2}> { A = Exp(C)  Y = Neg(A) }", 0),
        ("g (float[2] X) => (float[2] Y) <float[2] C = {1, 2}> { A = Exp(C)  Y = Add(X, A) }", 1),
        ("g () => (float[2] Y) { Y = RandomNormal <shape = [2]> () }", 1),
        (
            "g () => (float[1] Y) <bool C = {1}> { Y = If (C) <then_branch = t () => (float[1] P)"
            " { P = RandomNormal <shape = [1]> () },"
            " else_branch = e () => (float[1] Q) { Q = Constant <value_floats = [1.0]> () }> }",
            1,
        ),
    ],
)
def test_what_is_known_is_computed_once_unless_it_is_random(body: str, steps: int) -> None:
    assert session_of(body).source.count(" = ") == steps


@pytest.mark.parametrize(("elements", "steps"), [(250, 0), (251, 1)])
def test_what_is_known_is_computed_in_every_call_where_it_is_too_large(
    elements: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lower.FOLD_LIMIT_BYTES == 512 << 20
    monkeypatch.setattr(lower, "FOLD_LIMIT_BYTES", 1000)
    body = f"g () => (float[N] Y) <int64[1] S = {{{elements}}}> {{ Y = ConstantOfShape(S) }}"
    assert session_of(body).source.count(" = ") == steps


def test_an_initialiser_that_is_an_input_can_be_overridden() -> None:
    model = parser.parse_model(
        HEAD + "g (float[2] X) => (float[2] Y) <float[2] W = {1, 2}> { A = Exp(W)  Y = Add(X, A) }"
    )
    model.graph.input.append(helper.make_tensor_value_info("W", 1, [2]))
    session = NumpySession(model)
    X, W = np.zeros(2, np.float32), np.zeros(2, np.float32)
    np.testing.assert_allclose(run(session, X=X)[0], np.exp([1, 2]), rtol=1e-6)
    np.testing.assert_allclose(run(session, X=X, W=W)[0], [1, 1])
    np.testing.assert_allclose(run(session, X=X)[0], np.exp([1, 2]), rtol=1e-6)


NEVER_OVERWRITTEN = {
    "a feed": "g (float[2, 2] X) => (float[2, 2] Y) { Y = Neg(X) }",
    "a view of a feed": "g (float[2, 2] X) => (float[2, 2] Y) { A = Transpose(X)  Y = Neg(A) }",
    "an initialiser": "g (float[2, 2] X) => (float[2, 2] Y) <float[2, 2] W = {1, 2, 3, 4}> { Y = Add(W, X) }",
    "an output": "g (float[2, 2] X) => (float[2, 2] A, float[2, 2] Y) { A = Exp(X)  Y = Neg(A) }",
    "what an output is a view of": (
        "g (float[2, 2] X) => (float[2, 2] T, float[2, 2] Y) { A = Exp(X)  T = Transpose(A)  Y = Neg(A) }"
    ),
    "what a view still shows": (
        "g (float[2, 2] X) => (float[2, 2] Y) { A = Exp(X)  T = Transpose(A)  B = Neg(A)  Y = Add(B, T) }"
    ),
    "what is read again": "g (float[2, 2] X) => (float[2, 2] Y) { A = Exp(X)  B = Neg(A)  Y = Add(A, B) }",
    "what is smaller than the result": (
        "g (float[2, 1] X) => (float[2, 2] Y) <float[2] W = {1, 2}> { A = Exp(X)  Y = Add(A, W) }"
    ),
    "what a subgraph captured": (
        "g (float[2, 2] X, bool C) => (float[2, 2] Y, float[2, 2] Z) { A = Exp(X)"
        "  Z = If (C) <then_branch = t () => (float[2, 2] P) { P = Identity(A) },"
        " else_branch = e () => (float[2, 2] Q) { Q = Neg(A) }>  Y = Neg(A) }"
    ),
}


@pytest.mark.parametrize("case", NEVER_OVERWRITTEN)
def test_memory_that_somebody_else_sees_is_never_overwritten(case: str) -> None:
    model = parser.parse_model(HEAD + NEVER_OVERWRITTEN[case])
    shapes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim] for value in model.graph.input}
    feeds: dict[str, Any] = {"X": np.arange(np.prod(shapes["X"]), dtype=np.float32).reshape(shapes["X"]) / 7}
    if "C" in shapes:
        feeds["C"] = np.array(True)
    before = {name: value.copy() for name, value in feeds.items()}
    session = NumpySession(model)
    for _ in range(2):
        expected: Any = ReferenceEvaluator(model).run(None, feeds)
        for theirs, ours in zip(expected, run(session, **feeds), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    for name, value in feeds.items():
        np.testing.assert_array_equal(value, before[name])


OPERATORS = ("Add", "Mul", "Neg", "Abs", "Tanh", "Transpose", "Identity", "Relu", "Sigmoid")


@st.composite
def graphs(draw: st.DrawFn) -> onnx.ModelProto:
    """Random graphs of element-wise operators and views on 2 x 2 matrices, with several outputs."""
    names, nodes = ["X", "W"], []
    for index in range(draw(st.integers(1, 12))):
        operator = draw(
            st.sampled_from(["Add", "Mul", "Neg", "Abs", "Tanh", "Transpose", "Identity", "Relu", "Sigmoid"])
        )
        arity = 2 if operator in ("Add", "Mul") else 1
        inputs = [draw(st.sampled_from(names)) for _ in range(arity)]
        names.append(f"t{index}")
        nodes.append(helper.make_node(operator, inputs, [names[-1]]))
    outputs = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=3, unique=True))
    return helper.make_model(
        helper.make_graph(
            nodes,
            "random",
            [helper.make_tensor_value_info("X", 1, [2, 2])],
            [helper.make_tensor_value_info(name, 1, [2, 2]) for name in outputs],
            [helper.make_tensor("W", 1, [2, 2], [0.5, -1.0, 2.0, -0.25])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


@given(graphs())
def test_random_graphs_compute_what_onnx_says_again_and_again(model: onnx.ModelProto) -> None:
    feeds = {"X": np.array([[0.5, -0.5], [1.5, -2.0]], np.float32)}
    expected: Any = ReferenceEvaluator(model).run(None, feeds)
    session = NumpySession(model)
    for _ in range(2):
        for theirs, ours in zip(expected, run(session, **feeds), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert feeds["X"].tolist() == [[0.5, -0.5], [1.5, -2.0]]


def test_every_tensor_is_returned_on_request_and_outputs_are_the_same() -> None:
    model = (
        HEAD + "g (float[n, 2] X) => (float[n, 2] Y) <float[2] W = {1, 2}> { A = Exp(X)  B = Add(A, W)  Y = Neg(B) }"
    )
    runner = onnxperf.load(parser.parse_model(model), runtime="numpy")
    X = np.ones((3, 2), np.float32)
    tensors = runner.run({"X": X}, intermediate=True)
    assert list(tensors) == ["X", "A", "B", "Y"]
    np.testing.assert_array_equal(tensors["Y"], runner.run({"X": X})["Y"])


def test_the_time_per_node_is_a_table() -> None:
    runner = onnxperf.load(
        parser.parse_model(HEAD + "g (float[2] X) => (float[2] Y) { A = Exp(X)  Y = Neg(A) }"), runtime="numpy"
    )
    table = runner.node_times({"X": np.ones(2, np.float32)}, repeat=3)
    assert table["op_type"].tolist() == ["Exp", "Neg"]
    assert table["share"].sum() == pytest.approx(1)


def test_operators_without_a_kernel_run_in_the_reference_evaluator_and_are_named() -> None:
    runner = onnxperf.load(parser.parse_model(HEAD + "g (float[2, 2] X) => (float Y) { Y = Det(X) }"), runtime="numpy")
    assert runner.fallbacks == ("Det",)
    assert runner.run({"X": np.eye(2, dtype=np.float32) * 3})["Y"] == pytest.approx(9)


def test_an_unknown_operator_is_named_with_its_domain_and_opset() -> None:
    with pytest.raises(BadModel, match=r"operator Root of domain ai\.onnx does not exist in opset 17"):
        session_of("g (float[2] X) => (float[2] Y) { Y = Root(X) }")


def test_outputs_without_axes_are_arrays() -> None:
    (result,) = run(session_of("g (float X) => (float Y) { Y = Exp(X) }"), X=np.array(0, np.float32))
    assert isinstance(result, np.ndarray)
    assert result.shape == ()


def test_other_runtimes_have_no_source() -> None:
    runner = onnxperf.load(parser.parse_model(HEAD + "g (float[2] X) => (float[2] Y) { Y = Exp(X) }"))
    with pytest.raises(BadOption, match="runtime='numpy'"):
        _ = runner.source


def test_the_peak_memory_of_a_run_is_the_live_set() -> None:
    body = "g (float[n, 1000] X) => (float[n, 1000] Y) { A = Exp(X)  B = Neg(A)  C = Transpose(B)  D = Abs(B)"
    model = parser.parse_model(HEAD + body + "  E = Tanh(D)  Y = Relu(E) }")
    call = NumpySession(model).bind("run", {"X": np.ones((1000, 1000), np.float32)}, {})
    call()
    tracemalloc.start()
    try:
        call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    live_set = 1000 * 1000 * 4  # one tensor beside the caller's own at every node: all others are overwritten
    assert peak <= 1.1 * 2 * live_set


def test_a_body_in_the_reference_evaluator_sees_constants_of_the_outer_graph() -> None:
    body = (
        "g (int64[1] l, float[1, 1] s, float[1, 3, 1] x) => (float[1, 1] y, float[1, 3, 1] o) <float[1] k = {3.0}>"
        " { y, o = Scan <num_scan_inputs = 1, body = b (float[1] p, float[1] e) => (float[1] r, float[1] q)"
        " { r = Add(e, k)  q = Identity(r) }> (l, s, x) }"
    )
    model = parser.parse_model('<ir_version: 3, opset_import: ["" : 8]> ' + body)
    feeds = {"l": np.array([3]), "s": np.zeros((1, 1), np.float32), "x": np.ones((1, 3, 1), np.float32)}
    expected: Any = ReferenceEvaluator(model).run(None, feeds)
    for theirs, ours in zip(expected, run(NumpySession(model), **feeds), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_outputs_that_are_constants_are_among_all_tensors() -> None:
    session = session_of("g (float[2] X) => (float[2] Y, float[2] Z) <float[2] W = {1, 2}> { Z = Exp(W)  Y = Neg(X) }")
    tensors = session.intermediates({"X": np.zeros(2, np.float32)})
    assert list(tensors) == ["X", "Y", "Z"]
    np.testing.assert_allclose(tensors["Z"], np.exp([1, 2]), rtol=1e-6)


def test_local_functions_become_part_of_the_function() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[2] X) => (float[2] Y) { Y = local.twice(X) }
        <domain: "local", opset_import: ["" : 17]> twice (a) => (b) { b = Add(a, a) }"""
    )
    session = NumpySession(model)
    assert session.fallbacks == ()
    assert run(session, X=np.array([1, 2], np.float32))[0].tolist() == [2, 4]
