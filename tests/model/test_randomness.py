"""Random operators are found wherever they stand, and only where an output depends on them."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper, parser

from onnxperf.model.randomness import random_operators

GRAPH = """<ir_version: 8, opset_import: ["" : {opset}, "own" : 1, "com.microsoft" : 1]>
g (float[2, 3] X, bool B) => (float[2, 3] Y) {{ {text} }}"""


def model(text: str, functions: str = "", opset: int = 17) -> ModelProto:
    return parser.parse_model(f"{GRAPH.format(text=text, opset=opset)}\n{functions}")


TRUE, FALSE = "t = Constant<value = bool {1}>()", "t = Constant<value = bool {0}>()"
RATIO = "r = Constant<value_float = 0.5>()"


@pytest.mark.parametrize(
    ("text", "opset", "found"),
    [
        ("Y = Abs(X)", 17, ()),
        ("R = RandomNormalLike(X) Y = Add(X, R)", 17, ("RandomNormalLike",)),
        ("R = RandomUniformLike<seed = 1.0>(X) Y = Add(X, R)", 17, ("RandomUniformLike",)),
        ("R = RandomNormal<shape = [2, 3]>() Y = Add(X, R)", 17, ("RandomNormal",)),
        ("R = RandomUniform<shape = [2, 3]>() S = Bernoulli(R) Y = Add(X, S)", 17, ("RandomUniform", "Bernoulli")),
        ("M = Multinomial(X) Y = Cast<to = 1>(M)", 17, ("Multinomial",)),
        ("Y = Add(X, R) R = RandomNormalLike(X)", 17, ("RandomNormalLike",)),  # nodes in any order
        ("R = RandomNormalLike(X) Y = Abs(X)", 17, ()),  # no output depends on it
        ("R = RandomNormalLike(X) S = Shape(R) Y = Reshape(X, S)", 17, ()),  # only on its shape
        (f"{TRUE} {RATIO} Y = Dropout(X, r, t)", 17, ("Dropout",)),
        (f"{FALSE} {RATIO} Y = Dropout(X, r, t)", 17, ()),
        (f"{RATIO} Y = Dropout(X, r, B)", 17, ()),  # only a call can tell
        ("Y = Dropout(X)", 17, ()),
        ("Y = Dropout(X)", 10, ()),
        ("Y = Dropout(X)", 6, ("Dropout",)),
        ("Y = Dropout<is_test = 1>(X)", 6, ()),
        (f"{TRUE} {RATIO} Y = com.microsoft.BiasDropout(X, X, X, r, t)", 17, ("BiasDropout",)),
        ("Y = own.RandomNormal(X)", 17, ()),  # of another domain
    ],
)
def test_operators_that_draw_are_named(text: str, opset: int, found: tuple[str, ...]) -> None:
    assert random_operators(model(text, opset=opset)) == found


IF = """Y = If (B) <then_branch = a () => (float[2, 3] T) {{ {then} }},
else_branch = b () => (float[2, 3] E) {{ E = Abs(X) }}>"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (IF.format(then="R = RandomNormalLike(X) T = Add(X, R)"), ("RandomNormalLike",)),
        (IF.format(then="R = RandomNormalLike(X) T = Abs(X)"), ()),
        (f"R = RandomNormalLike(X) {IF.format(then='T = Abs(R)')}", ("RandomNormalLike",)),
        (f"{TRUE} {RATIO} {IF.format(then='T = Dropout(X, r, t)')}", ("Dropout",)),
        (IF.format(then=IF.replace("Y =", "T =").format(then="T = RandomNormalLike(X)")), ("RandomNormalLike",)),
        (IF.format(then="T = own.noisy(X)"), ("RandomNormalLike",)),
    ],
)
def test_bodies_draw_too(text: str, found: tuple[str, ...]) -> None:
    noisy = """<domain: "own", opset_import: ["" : 17]> noisy (x) => (y) { y = RandomNormalLike(x) }"""
    assert random_operators(model(text, noisy)) == found


def test_a_function_counts_only_where_it_is_called() -> None:
    function = """<domain: "own", opset_import: ["" : 17]> noisy (x) => (y) { y = RandomNormalLike(x) }"""
    assert random_operators(model("Y = own.noisy(X)", function)) == ("RandomNormalLike",)
    assert random_operators(model("Y = Abs(X)", function)) == ()


@pytest.mark.parametrize(("count", "calls"), [(24, 2), (3000, 1)])
def test_functions_that_call_functions_are_each_looked_at_once(count: int, calls: int) -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]

    def function(number: int) -> object:
        names = [f"v{place}" for place in range(calls)]
        called = ("RandomNormalLike", "") if number == count - 1 else (f"f{number + 1}", "own")
        nodes = [helper.make_node(called[0], ["x"], [name], domain=called[1]) for name in names]
        return helper.make_function(
            "own", f"f{number}", ["x"], ["y"], [*nodes, helper.make_node("Sum", names, ["y"])], imports
        )

    value = helper.make_tensor_value_info("X", TensorProto.FLOAT, [2]), helper.make_tensor_value_info("Y", 1, [2])
    graph = helper.make_graph([helper.make_node("f0", ["X"], ["Y"], domain="own")], "g", [value[0]], [value[1]])
    proto = helper.make_model(graph, functions=[function(number) for number in range(count)], opset_imports=imports)
    assert random_operators(proto) == ("RandomNormalLike",)
