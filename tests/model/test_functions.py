"""Local functions that expand beyond all bounds."""

from __future__ import annotations

import pytest
from onnx import helper

from onnxperf.errors import BadModel
from onnxperf.model import functions
from onnxperf.model.functions import check_functions
from onnxperf.model.index_limits import index_limits
from onnxperf.model.load import open_model
from tests.bombs import call, function, model, nested

MANY = f"expand to more than {functions.MOST_NODES:,} nodes"
DEEP = f"more than {functions.DEEPEST} deep"


@pytest.mark.parametrize(
    ("levels", "calls", "reason"),
    [(24, 2, MANY), (19, 2, MANY), (3000, 1, DEEP), (functions.DEEPEST + 1, 1, DEEP), (3000, 2, DEEP)],
)
def test_functions_that_expand_beyond_all_bounds_are_refused(levels: int, calls: int, reason: str) -> None:
    with pytest.raises(BadModel, match=reason):
        check_functions(nested(levels, calls), "the model")


@pytest.mark.parametrize(("levels", "calls"), [(1, 1), (16, 2), (functions.DEEPEST, 1), (2, 300)])
def test_other_functions_are_not(levels: int, calls: int) -> None:
    check_functions(nested(levels, calls), "the model")


def test_calls_in_bodies_count() -> None:
    proto = nested(24, 2)
    body = helper.make_graph([call("F0", "x", "z")], "body", [], [proto.graph.output[0]])
    body.output[0].name = "z"
    del proto.graph.node[:]
    proto.graph.node.add().CopyFrom(helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body))
    with pytest.raises(BadModel, match=MANY):
        check_functions(proto, "the model")


def test_functions_that_call_each_other_in_a_circle_are_left_to_runtimes() -> None:
    around = (function("F", call("G", "a", "b")), function("G", call("F", "a", "b")))
    check_functions(model([call("F", "x", "y")], functions=around), "the model")


def test_a_function_that_is_called_alike_a_million_times_is_walked_once() -> None:
    proto = nested(24, 2)
    proto.graph.input[0].type.tensor_type.elem_type = 7
    assert index_limits(proto) == {}


def test_a_model_with_small_functions_opens() -> None:
    assert open_model(nested(3, 2)).outputs[0].name == "y"
