"""Models reduced to graph records, and names for nodes that have none."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.helper import make_node

from onnxperf.model.outline import outline, with_names
from onnxperf.records.graph import Graph

FLOAT = onnx.TensorProto.FLOAT


def tensor(name: str, *values: float) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.float32), name)


def info(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, FLOAT, [2])


def model(
    nodes: list[onnx.NodeProto],
    inputs: tuple[str, ...] = ("x",),
    initialisers: tuple[str, ...] = (),
    functions: tuple[onnx.FunctionProto, ...] = (),
    ir_version: int = 9,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "g", [info(name) for name in inputs], [info("y")], [tensor(name, 1, 2) for name in initialisers]
    )
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, functions=functions)


def branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
    return helper.make_graph(nodes, name, [], [info(nodes[-1].output[0])], [tensor(f"{name}_k", 1)])


def digest(node: onnx.NodeProto) -> str:
    return outline(model([node])).nodes[0].attributes


# ---------------------------------------------------------------- outline


def test_an_outline_has_names_operators_and_connections() -> None:
    graph = outline(
        model(
            [
                make_node("Clip", ["x", "", "w"], ["a"], name="first"),
                make_node("FusedConv", ["a", "w"], ["y"], domain="com.microsoft", activation="Relu"),
            ],
            initialisers=("w",),
        )
    )
    assert (graph.inputs, graph.outputs, graph.constants) == (("x",), ("y",), frozenset({"w"}))
    first, second = graph.nodes
    assert (first.name, first.op_type, first.domain, first.inputs, first.outputs) == (
        "first",
        "Clip",
        "",
        ("x", "", "w"),
        ("a",),
    )
    assert (second.name, second.domain, second.activation) == ("", "com.microsoft", "Relu")


@pytest.mark.parametrize(
    ("ir_version", "inputs", "constants"),
    [(3, ("x",), {"w", "k"}), (4, ("x", "w"), {"k"}), (9, ("x", "w"), {"k"})],
)
def test_initialisers_that_a_feed_can_override_are_inputs(
    ir_version: int, inputs: tuple[str, ...], constants: set[str]
) -> None:
    graph = outline(model([], ("x", "w"), ("w", "k"), ir_version=ir_version))
    assert graph.inputs == inputs
    assert graph.constants == constants


def test_sparse_initialisers_are_constants() -> None:
    proto = model([])
    indices = numpy_helper.from_array(np.array([0, 1]), "")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor("s", 1, 2), indices, [4]))
    assert outline(proto).constants == {"s"}


def test_bodies_are_outlined_under_the_names_of_their_attributes() -> None:
    yes, no = branch("yes", make_node("Neg", ["x"], ["t"])), branch("no", make_node("Abs", ["x"], ["t"]))
    node = outline(model([make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)])).nodes[0]
    bodies: dict[str, Graph] = dict(node.subgraphs)
    assert {name: body.nodes[0].op_type for name, body in bodies.items()} == {
        "then_branch": "Neg",
        "else_branch": "Abs",
    }
    assert bodies["then_branch"].constants == {"yes_k"}
    assert node.attributes == ""


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (make_node("Concat", [], ["y"], axis=1), make_node("Concat", [], ["y"], axis=1), True),
        (make_node("Concat", [], ["y"], axis=1), make_node("Concat", [], ["y"], axis=2), False),
        (make_node("Conv", [], ["y"], group=2, strides=[1]), make_node("Conv", [], ["y"], strides=[1], group=2), True),
        (make_node("Softmax", [], ["y"]), make_node("Softmax", [], ["y"], axis=-1), True),
        (make_node("Softmax", [], ["y"]), make_node("Softmax", [], ["y"], axis=0), False),
        (make_node("Mine", [], ["y"], domain="d", a=1), make_node("Mine", [], ["y"], domain="d", b=1), False),
        (make_node("Add", [], ["y"]), make_node("Add", [], ["y"], domain="ai.onnx"), True),
    ],
)
def test_digests_are_equal_for_equal_attributes(one: onnx.NodeProto, other: onnx.NodeProto, equal: bool) -> None:
    assert (digest(one) == digest(other)) is equal


def test_remarks_do_not_change_a_digest() -> None:
    plain, remarked = make_node("Concat", [], ["y"], axis=1), make_node("Concat", [], ["y"], axis=1)
    remarked.attribute[0].doc_string = "why not"
    assert digest(plain) == digest(remarked)


# ---------------------------------------------------------------- names


def names_of(proto: onnx.ModelProto) -> list[str]:
    return [node.name for node in proto.graph.node]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["", ""], ["Neg_0", "Neg_1"]),
        (["a", ""], ["a", "Neg_1"]),
        (["", "Neg_0"], ["Neg_0_1", "Neg_0"]),  # a name that was given stays
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "a", "a_1"], ["a", "a_2", "a_1"]),
    ],
)
def test_every_node_gets_a_name_of_its_own(given: list[str], expected: list[str]) -> None:
    proto = model([make_node("Neg", ["x"], [f"t{number}"], name=name) for number, name in enumerate(given)])
    before = proto.SerializeToString()
    named, changed = with_names(proto)
    assert changed
    assert names_of(named) == expected
    assert proto.SerializeToString() == before


def test_a_model_with_good_names_is_returned_as_it_is() -> None:
    proto = model([make_node("Neg", ["x"], ["y"], name="only")])
    assert with_names(proto) == (proto, False)
    assert with_names(proto)[0] is proto


def test_nodes_of_bodies_and_functions_are_named_too() -> None:
    function = helper.make_function(
        "d", "F", ["a"], ["b"], [make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    yes, no = branch("yes", make_node("Neg", ["x"], ["t"])), branch("no", make_node("Neg", ["x"], ["t"]))
    proto = model([make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)], functions=(function,))
    named, _ = with_names(proto)
    inner = [attribute.g.node[0].name for attribute in named.graph.node[0].attribute]
    assert names_of(named) == ["If_0"]
    assert [*inner, named.functions[0].node[0].name] == ["Neg_0", "Neg_0_1", "Neg_0_2"]
    assert with_names(named) == (named, False)
