"""Whatever goes wrong while a model is compiled or run is one error of the package, in one line, with its node."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, parser

from onnxperf.errors import BadModel, OnnxperfError, SubjectError
from onnxperf.runtimes.numpy.session import NumpySession

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '


def one(operator: str, inputs: list[str], **attributes: Any) -> onnx.ModelProto:
    """A node that is not what its operator asks for."""
    graph = helper.make_graph(
        [helper.make_node(operator, inputs, ["Y"], name="odd", **attributes)],
        "g",
        [helper.make_tensor_value_info("X", 1, [2, 3])],
        [onnx.ValueInfoProto(name="Y")],
        [helper.make_tensor("W", 1, [2], [1, 2])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


NOT_COMPILED = {
    "an attribute is missing": (one("Cast", ["X"]), r"node 'odd' \(Cast\): \w+Error"),
    "an attribute has an unknown value": (
        one("ScatterND", ["X", "X", "X"], reduction="x"),
        r"\(ScatterND\): KeyError: 'x'",
    ),
    "an input is missing": (one("Conv", ["X"]), r"node 'odd' \(Conv\): IndexError: "),
    "all inputs are missing": (one("Reshape", []), r"node 'odd' \(Reshape\)|fail"),
    "the second operand is missing": (one("Div", ["X"]), r"node 'odd' \(Div\) failed in the numpy runtime: TypeError"),
    "a type does not exist": (one("Cast", ["X"], to=999), r"node 'odd' \(Cast\): KeyError: 999"),
    "an attribute has another type": (one("Transpose", ["X"], perm="ab"), r"node 'odd' \(Transpose\)"),
    "an attribute has no value": (
        one("Gemm", ["X", "W"], alpha="z"),
        r"node 'odd' \(Gemm\): ValueError: could not convert",
    ),
}


def run(model: onnx.ModelProto, **feeds: Any) -> None:
    NumpySession(model).bind("run", feeds, {})()


@pytest.mark.parametrize("case", NOT_COMPILED)
def test_an_error_names_the_node_the_operator_and_the_cause(case: str) -> None:
    model, message = NOT_COMPILED[case]
    with pytest.raises(OnnxperfError, match=message) as found:
        run(model, X=np.ones((2, 3), np.float32))
    assert "\n" not in str(found.value)


def test_an_initialiser_that_cannot_be_read_is_named() -> None:
    model = one("Neg", ["X"])
    model.graph.initializer.append(TensorProto(name="half", data_type=1, dims=[2**40], raw_data=b"12345678"))
    with pytest.raises(BadModel, match=r"^the numpy runtime cannot compile initializer 'half': ValueError: "):
        NumpySession(model)


def test_names_of_the_model_cannot_control_the_terminal_or_fill_it() -> None:
    model = one("Conv", ["X"])
    model.graph.node[0].name = "\x1b[31m\n" + "long" * 1000
    with pytest.raises(BadModel) as found:
        NumpySession(model)
    assert len(str(found.value)) < 300
    assert str(found.value).isprintable()


def test_an_error_of_a_body_names_the_node_in_it() -> None:
    text = (
        "g (float[2] X, bool C) => (float[2] Y) { Y = If (C) <then_branch = t () => (float[2] P) { P = Cast(X) },"
        " else_branch = e () => (float[2] R) { R = Identity(X) }> }"
    )
    model = parser.parse_model(HEAD + text)
    with pytest.raises(BadModel, match=r"cannot compile the node of 'P' \(Cast\)"):
        NumpySession(model)


FAILED = "g (float[n] X, float[m] Z) => (float[k] Y) { A = Neg(X)  B = Abs(A)  C = Add(B, Z)  Y = Exp(C) }"


@pytest.mark.parametrize(
    "call",
    [
        lambda session, feeds: session.bind("run", feeds, {})(),
        lambda session, feeds: session.caller("run", feeds)(feeds),
        lambda session, feeds: session.intermediates(feeds),
        lambda session, feeds: session.node_times(feeds, 1),
    ],
    ids=["bind", "caller", "intermediates", "node_times"],
)
def test_a_run_that_fails_names_the_node_the_operator_and_the_cause(
    call: Callable[[NumpySession, dict[str, Any]], object],
) -> None:
    session = NumpySession(parser.parse_model(HEAD + FAILED))
    feeds = {"X": np.ones(2, np.float32), "Z": np.ones(3, np.float32)}
    message = r"^the node of 'C' \(Add\) failed in the numpy runtime: ValueError: operands could not be broadcast"
    with pytest.raises(SubjectError, match=message) as found:
        call(session, feeds)
    assert found.value.status == "failed"
    assert isinstance(found.value.__cause__, ValueError)


def test_a_run_that_fails_in_a_body_names_the_node_in_it() -> None:
    text = (
        "g (float[n] X, float[m] Z, bool C) => (float[k] Y) { Y = If (C) <then_branch = t () => (float[k] P)"
        " { Q = Neg(X)  P = Add(Q, Z) }, else_branch = e () => (float[k] R) { R = Identity(X) }> }"
    )
    feeds = {"X": np.ones(2, np.float32), "Z": np.ones(3, np.float32), "C": np.array(True)}
    with pytest.raises(SubjectError, match=r"^the node of 'P' \(Add\) failed"):
        run(parser.parse_model(HEAD + text), **feeds)


def test_a_step_of_several_nodes_is_named_by_all_of_them() -> None:
    text = (
        "g (float[1, c, 3, 3] X) => (float[1, 1, 3, 3] Y) <float[1, 1, 1, 1] W = {1}> { A = Conv(X, W)  Y = Relu(A) }"
    )
    with pytest.raises(SubjectError, match=r"\(Conv \+ Relu\) failed"):
        run(parser.parse_model(HEAD + text), X=np.ones((1, 2, 3, 3), np.float32))


def test_a_run_without_memory_is_out_of_memory() -> None:
    text = "g (int64[1] S) => (float[n] Y) { Y = ConstantOfShape(S) }"
    with pytest.raises(SubjectError, match=r"\(ConstantOfShape\) ran out of memory in the numpy runtime") as found:
        run(parser.parse_model(HEAD + text), S=np.array([1 << 50]))
    assert found.value.status == "oom"


OPERATORS = (
    "Conv",
    "Slice",
    "Pad",
    "Gather",
    "Split",
    "Resize",
    "LSTM",
    "Einsum",
    "OneHot",
    "Scan",
    "Loop",
    "TopK",
    "LRN",
)


@given(
    operator=st.sampled_from(OPERATORS),
    count=st.integers(0, 5),
    attributes=st.dictionaries(
        st.sampled_from(["axis", "axes", "pads", "mode", "equation", "group", "size", "split", "direction"]),
        st.one_of(st.integers(-3, 3), st.text(max_size=3), st.lists(st.integers(-3, 3), min_size=1, max_size=4)),
        max_size=3,
    ),
)
def test_no_other_error_leaves_the_runtime(operator: str, count: int, attributes: dict[str, Any]) -> None:
    model = one(operator, ["X", "W", "X", "W", "X"][:count], **attributes)
    with np.errstate(all="ignore"), suppress(OnnxperfError):
        run(model, X=np.ones((2, 3), np.float32))
