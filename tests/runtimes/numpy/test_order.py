"""Nodes are computed after what they read, in whatever order the model lists them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import parser

from onnxperf.errors import BadModel
from onnxperf.runtimes.numpy.session import NumpySession

HEAD = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]> '
X = np.array([1, 2], np.float32)


def run(model: onnx.ModelProto, **feeds: Any) -> list[Any]:
    return [value.tolist() for value in NumpySession(model).bind("run", feeds, {})()]


UNSORTED: dict[str, tuple[str, list[float]]] = {
    "the graph": ("g (float[2] X) => (float[2] Y) { Y = Neg(B)  B = Add(A, X)  A = Exp(Z)  Z = Sub(X, X) }", [-2, -3]),
    "a body": (
        "g (float[2] X) => (float[2] Y) <bool C = {1}> { Y = If (C)"
        " <then_branch = t () => (float[2] P) { P = Neg(Q)  Q = Add(X, X) },"
        " else_branch = e () => (float[2] R) { R = Identity(X) }> }",
        [-2, -4],
    ),
    "a node that a body reads from": (
        "g (float[2] X) => (float[2] Y) <bool C = {1}> { Y = If (C)"
        " <then_branch = t () => (float[2] P) { P = Neg(Q) },"
        " else_branch = e () => (float[2] R) { R = Identity(X) }>  Q = Add(X, X) }",
        [-2, -4],
    ),
    "a body that only returns an outer value": (
        "g (float[2] X) => (float[2] Y) <bool C = {1}> { Y = If (C)"
        " <then_branch = t () => (float[2] Q) { }, else_branch = e () => (float[2] R) { R = Identity(X) }>"
        "  Q = Add(X, X) }",
        [2, 4],
    ),
    "a function": (
        "g (float[2] X) => (float[2] Y) { Y = local.f(X) }"
        ' <domain: "local", opset_import: ["" : 17]> f (a) => (b) { b = Neg(c)  c = Add(a, a) }',
        [-2, -4],
    ),
    "a body in a function": (
        "g (float[2] X) => (float[2] Y) { Y = local.f(X) }"
        ' <domain: "local", opset_import: ["" : 17]> f (a) => (b) {'
        " b = If (k) <then_branch = t () => (float[2] P) { P = Neg(Q)  Q = Add(a, a) },"
        " else_branch = e () => (float[2] R) { R = Identity(a) }>"
        "  k = Constant <value = bool {1}> () }",
        [-2, -4],
    ),
}


@pytest.mark.parametrize("case", UNSORTED)
def test_nodes_in_any_order_are_sorted(case: str) -> None:
    body, expected = UNSORTED[case]
    model = parser.parse_model(HEAD + body)
    before = model.SerializeToString()
    assert run(model, X=X) == [expected]
    assert model.SerializeToString() == before


@given(seed=st.integers(0, 1000), count=st.integers(2, 30))
def test_any_order_gives_the_same_result(seed: int, count: int) -> None:
    chance = random.Random(seed)
    names = ["X"]
    lines = []
    for i in range(count):
        lines.append(f"t{i} = Add({chance.choice(names)}, {chance.choice(names)})")
        names.append(f"t{i}")
    text = f"g (float[2] X) => (float[2] t{count - 1}) {{ %s }}"
    expected = run(parser.parse_model(HEAD + text % "  ".join(lines)), X=X)
    chance.shuffle(lines)
    assert run(parser.parse_model(HEAD + text % "  ".join(lines)), X=X) == expected


def test_a_sorted_graph_keeps_its_order() -> None:
    text = "g (float[2] X) => (float[2] A, float[2] B, float[2] C) { C = Exp(X)  A = Neg(X)  B = Abs(A) }"
    steps = NumpySession(parser.parse_model(HEAD + text)).lowered.steps
    assert [step.node.op for step in steps] == ["Exp", "Neg", "Abs"]


CONTRADICTIONS = {
    "a cycle": (
        "g (float[2] X) => (float[2] Y) { A = Add(X, B)  B = Neg(A)  Y = Exp(B) }",
        r"the graph has a cycle: the node of 'A' \(Add\) reads from the node of 'B' \(Neg\) reads from the node of 'A'",
    ),
    "a node that reads its own result": (
        "g (float[2] X) => (float[2] Y) { Y = Add(X, Y) }",
        r"the graph has a cycle: the node of 'Y' \(Add\) reads from the node of 'Y' \(Add\)",
    ),
    "a cycle through a body": (
        "g (float[2] X, bool C) => (float[2] Y) { Y = If (C) <then_branch = t () => (float[2] P) { P = Neg(Z) },"
        " else_branch = e () => (float[2] R) { R = Identity(X) }>  Z = Exp(Y) }",
        "the graph has a cycle",
    ),
    "an input that nothing computes": (
        "g (float[2] X) => (float[2] Y) { Y = Add(X, Z) }",
        r"^the node of 'Y' \(Add\) reads 'Z', which is not an input, an initializer or the result of a node$",
    ),
    "an input of a body that nothing computes": (
        "g (float[2] X, bool C) => (float[2] Y) { Y = If (C) <then_branch = t () => (float[2] P) { P = Neg(Z) },"
        " else_branch = e () => (float[2] R) { R = Identity(X) }> }",
        r"^the node of 'P' \(Neg\) reads 'Z', which",
    ),
    "an output that nothing computes": (
        "g (float[2] X) => (float[2] Y) { A = Neg(X) }",
        "^the output of the graph reads 'Y', which is not an input",
    ),
    "a result of two nodes": (
        "g (float[2] X) => (float[2] Y) { Y = Neg(X)  Y = Exp(X) }",
        r"^the node of 'Y' \(Neg\) and the node of 'Y' \(Exp\) both compute 'Y'$",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_what_cannot_be_sorted_is_named(case: str) -> None:
    body, message = CONTRADICTIONS[case]
    with pytest.raises(BadModel, match=message):
        NumpySession(parser.parse_model(HEAD + body))


def test_an_input_without_a_type_does_not_reach_shape_inference() -> None:
    text = (
        '<ir_version: 9, opset_import: ["ai.onnx.ml" : 4]> g (string[2] X) => (int16[2] Y) { Y = '
        "ai.onnx.ml.LabelEncoder"
        ' <keys_strings = ["a"], values_tensor = int16[1] v {0}, default_tensor = int16[1] d {42}> (nope) }'
    )
    with pytest.raises(BadModel, match="reads 'nope', which is not an input"):
        NumpySession(parser.parse_model(text))  # the process would end there


def test_a_long_cycle_is_named_in_part() -> None:
    lines = [f"t{i} = Neg(t{(i + 1) % 5000})" for i in range(5000)]
    model = parser.parse_model(HEAD + f"g (float[2] X) => (float[2] t0) {{ {'  '.join(lines)} }}")
    with pytest.raises(BadModel, match=r"has a cycle: .* …$") as found:
        NumpySession(model)
    assert len(str(found.value)) < 300
