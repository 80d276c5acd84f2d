"""Parts of a graph as models of their own."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from onnxperf.bisection.extract import TensorFacts, interface_of, node_names, part_of

WEIGHTS = np.linspace(0.5, 2.0, 40, dtype=np.float32).reshape(10, 4)
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
four (float[3, 10] X) => (float[3, 4] Y, float[3, 4] Z)
{
    A = MatMul(X, W)
    [second] S = Shape(A)
    [third] B = Reshape(A, S)
    C = Relu(B)
    Y = Sigmoid(C)
    Z = Neg(B)
}
"""
BRANCH = """
<ir_version: 8, opset_import: ["" : 17]>
branch (float[3] X, bool c) => (float[3] Y)
{
    A = Relu(X)
    Y = If(c) <
        then_branch = yes () => (float[3] T) { T = Neg(A) },
        else_branch = no () => (float[3] E) { E = Abs(X) }
    >
}
"""
FACTS = {
    "A": TensorFacts(TensorProto.FLOAT, (3, 4)),
    "S": TensorFacts(TensorProto.INT64, (2,), np.array([3, 4], np.int64).tobytes()),
    "B": TensorFacts(TensorProto.FLOAT, (3, 4)),
}


@pytest.fixture
def model() -> onnx.ModelProto:
    proto = onnx.parser.parse_model(MODEL)
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "W"))
    return proto


@pytest.mark.parametrize(
    ("start", "stop", "inputs", "outputs"),
    [
        (0, 6, ("X",), ("Y", "Z")),
        (0, 1, ("X",), ("A",)),
        (2, 4, ("A", "S"), ("B", "C")),
        (3, 6, ("B",), ("Y", "Z")),
    ],
)
def test_a_part_takes_and_returns_what_crosses_its_borders(
    model: onnx.ModelProto, start: int, stop: int, inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> None:
    found = interface_of(model.graph, start, stop)
    assert (found.inputs, found.outputs) == (inputs, outputs)


def test_bodies_take_values_from_outside() -> None:
    graph = onnx.parser.parse_model(BRANCH).graph
    assert interface_of(graph, 1, 2).inputs == ("c", "A", "X")


def test_weights_are_random_but_alike_and_always_the_same(model: onnx.ModelProto) -> None:
    parts = [part_of(model, 0, 1, FACTS, seed=0) for _ in range(2)]
    (weight,) = parts[0].graph.initializer
    values = numpy_helper.to_array(weight)
    assert values.shape == WEIGHTS.shape
    assert not np.array_equal(values, WEIGHTS)
    assert values.min() >= WEIGHTS.min()
    assert values.max() <= WEIGHTS.max()
    assert parts[0].SerializeToString() == parts[1].SerializeToString()


def test_shapes_between_nodes_become_constants_and_the_part_runs_alone(model: onnx.ModelProto) -> None:
    part = part_of(model, 2, 4, FACTS, seed=0)
    assert [each.name for each in part.graph.input] == ["A"]
    array = np.array([[-1.0, 2, 3, 4]] * 3, np.float32)
    _, output = ReferenceEvaluator(part).run(None, {"A": array})
    np.testing.assert_array_equal(output, np.maximum(array, 0))


def test_nodes_are_called_by_operator_and_name(model: onnx.ModelProto) -> None:
    assert node_names(model.graph)[:3] == ("MatMul", "Shape second", "Reshape third")
