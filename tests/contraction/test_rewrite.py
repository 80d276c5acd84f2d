"""Einsum nodes found in models, and models with other graphs in their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxperf.contraction.candidates import Candidate, candidates
from onnxperf.contraction.equation import Shape, parse
from onnxperf.contraction.rewrite import UNKNOWN_SHAPES, Site, fixed, opset_of, replaced, sites
from onnxperf.errors import BadModel
from onnxperf.model.cost import infer_shapes, work_of_nodes
from tests.contraction.running import Array

OPSET = 17
ATTENTION = "bsnh,btnh->bnts"
Size = int | str


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[Size] | None],
    outputs: Sequence[str],
    initialisers: Mapping[str, Array] | None = None,
    element: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """Outputs of unknown shape, inputs of the given ones."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(name, element, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, element, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (initialisers or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def einsum(equation: str, inputs: Sequence[str], output: str, name: str = "") -> onnx.NodeProto:
    return helper.make_node("Einsum", inputs, [output], name=name, equation=equation)


def run(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(each) for each in session.run(None, dict(feeds))]


def whole_numbers(shape: Shape, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)


def feeds_of(proto: onnx.ModelProto) -> dict[str, Array]:
    shapes = infer_shapes(proto, {})
    return {value.name: whole_numbers(shapes[value.name], seed) for seed, value in enumerate(proto.graph.input)}


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def definitions(proto: onnx.ModelProto) -> list[str]:
    """Every name that something gives to a tensor, once per time."""
    found: list[str] = []
    for graph in graphs_of(proto.graph):
        constants = [tensor.name for tensor in graph.initializer]
        found += constants
        found += [value.name for value in graph.input if value.name not in constants]
        found += [name for node in graph.node for name in node.output]
    return found


def assert_sound(proto: onnx.ModelProto) -> None:
    checked = onnx.ModelProto()
    checked.CopyFrom(proto)
    for graph in graphs_of(checked.graph):
        for value in graph.output:
            value.type.tensor_type.shape.SetInParent()  # the checker wants one, and onnxruntime none
    onnx.checker.check_model(checked)
    names = [node.name for graph in graphs_of(proto.graph) for node in graph.node if node.name]
    for each in (names, definitions(proto)):
        assert [name for name, count in Counter(each).items() if count > 1] == []


def graphs_for(site: Site, opset: int = OPSET) -> list[Candidate]:
    assert site.shapes is not None
    return candidates(parse(site.equation, site.shapes), site.dtype, opset)


def assert_equal(found: onnx.ModelProto, original: onnx.ModelProto, feeds: Mapping[str, Array]) -> None:
    assert_sound(found)
    assert [value.name for value in found.graph.output] == [value.name for value in original.graph.output]
    for ours, theirs in zip(run(found, feeds), run(original, feeds), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- models


def attention() -> onnx.ModelProto:
    """Two different Einsum nodes in a chain of others; the second makes an output that is used again."""
    sizes = {"B": 2, "S": 8, "N": 3, "H": 4}
    shape = tuple(sizes.values())
    nodes = [
        helper.make_node("Add", ["q", "bias"], ["qb"], name="shift"),
        einsum(ATTENTION, ["qb", "k"], "scores", "scores"),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        einsum("bnts,bsnh->btnh", ["weights", "v"], "context"),
        helper.make_node("MatMul", ["context", "w"], ["out"]),
    ]
    weights = {"bias": whole_numbers((4,), 5), "w": whole_numbers((4, 6), 6)}
    return model(nodes, dict.fromkeys("qkv", shape), ["out", "context"], weights)


def equals() -> onnx.ModelProto:
    """Four Einsum nodes of one equation: three of one shape, one of them fed twice by the same, one by a constant."""
    nodes = [
        einsum("ij,jk->ik", ["a", "b"], "e0"),
        einsum("ij,jk->ik", ["e0", "e0"], "e1", "twice"),
        einsum("ij,jk->ik", ["e1", "w"], "e2", "weighted"),
        einsum("ij,jk->ik", ["e2", "c"], "e3"),
        helper.make_node("Relu", ["e3"], ["y"]),
    ]
    return model(nodes, {"a": (4, 4), "b": (4, 4), "c": (4, 7)}, ["y", "e2"], {"w": whole_numbers((4, 4), 9)})


def nested() -> onnx.ModelProto:
    """One Einsum in a branch of an If that also reads the result of one outside."""
    branches = {
        f"{side}_branch": helper.make_graph(
            [*nodes], side, [], [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)]
        )
        for side, nodes in {
            "then": [einsum("ij->ji", ["e"], "flipped", "hidden")],
            "else": [helper.make_node("Relu", ["e"], ["kept"])],
        }.items()
    }
    nodes = [
        einsum("ij,jk->ik", ["a", "b"], "e"),
        helper.make_node("ReduceSum", ["e"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], name="choice", **branches),
    ]
    return model(nodes, {"a": (3, 3), "b": (3, 3)}, ["y"], {"zero": np.zeros((), np.float32)})


MODELS = {"attention": attention, "equals": equals, "nested": nested}


# ---------------------------------------------------------------- sites


def test_nodes_with_the_same_equation_and_shapes_are_one_site() -> None:
    assert sites(equals(), {}) == [
        Site("ij,jk->ik", ((4, 4), (4, 4)), "float32", "", (0, 1, 2), ("Einsum_0", "twice", "weighted")),
        Site("ij,jk->ik", ((4, 4), (4, 7)), "float32", "", (3,), ("Einsum_3",)),
    ]


def test_an_einsum_in_a_body_is_a_site_with_a_reason() -> None:
    first, second = sites(nested(), {})
    assert (first.nodes, first.reason) == ((0,), "")
    assert second == Site("ij->ji", None, "", "inside the body of If 'choice'", (), ("hidden",))


def test_an_einsum_in_a_function_is_a_site_with_a_reason() -> None:
    imports = [helper.make_opsetid("", OPSET)]
    function = helper.make_function("own", "flip", ["x"], ["y"], [einsum("ij->ji", ["x"], "y")], imports)
    proto = model([helper.make_node("flip", ["a"], ["b"], domain="own")], {"a": (2, 3)}, ["b"])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    assert sites(proto, {}) == [Site("ij->ji", None, "", "inside the function 'flip'", (), ("Einsum_0",))]


def test_shapes_come_from_those_of_the_inputs() -> None:
    proto = model([einsum("ij,jk->ik", ["a", "b"], "y")], {"a": ("N", 3), "b": (3, "M")}, ["y"])
    assert [(site.shapes, site.reason) for site in sites(proto, {})] == [(None, UNKNOWN_SHAPES)]
    (site,) = sites(proto, {"a": (5, 3), "b": (3, 2)})
    assert (site.shapes, site.reason) == (((5, 3), (3, 2)), "")


@pytest.mark.parametrize("declared", [False, True])
def test_shapes_after_a_size_of_one_that_broadcasts_are_right(declared: bool) -> None:
    """onnx infers 1x3, and exporters write it down."""
    nodes = [
        einsum("ij,ij->ij", ["a", "b"], "e"),
        helper.make_node("Relu", ["e"], ["r"]),
        einsum("ij,ij->ij", ["a", "r"], "f"),
        einsum("ij,jk->ik", ["f", "r"], "y"),
    ]
    proto = model(nodes, {"a": (1, 3), "b": (3, 3)}, ["y"])
    proto = onnx.shape_inference.infer_shapes(proto) if declared else proto
    *_, last = sites(proto, {})
    assert last.shapes == ((3, 3), (3, 3))
    settled = fixed(proto, {"a": (1, 3), "b": (3, 3)})
    assert [dim.dim_value for dim in settled.graph.output[0].type.tensor_type.shape.dim] == [3, 3]


def test_broadcasting_is_seen_through_the_body_of_an_if() -> None:
    proto = nested()
    proto.graph.node[0].attribute[0].s = b"ij,ij->ij"
    proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("a", TensorProto.FLOAT, (1, 3)))
    proto.graph.node.append(einsum("ij->ji", ["y"], "z"))
    last = sites(proto, {})[-1]
    assert (last.names, last.shapes) == (("Einsum_4",), ((3, 3),))


@pytest.mark.parametrize(
    ("node", "element", "reason"),
    [
        (einsum("ij->ji", ["a"], "y"), TensorProto.BFLOAT16, "its element type is bfloat16; graphs can be built for"),
        (einsum("ij->ji", ["a"], "y"), 999, "its element type is type 999"),
        (einsum("ij->ji", ["a"], "y"), TensorProto.UNDEFINED, "its element type is unknown"),
        (einsum("ij,ij->ij", ["a", "w"], "y"), TensorProto.DOUBLE, "its inputs have different element types"),
        (einsum("ij,j", ["a"], "y"), TensorProto.FLOAT, "2 terms for 1 operand"),
        (einsum("i\x1b->i", ["a"], "y"), TensorProto.FLOAT, "is not a letter"),
        (einsum("ij->ji", [""], "y"), TensorProto.FLOAT, "it is damaged"),
        (einsum("ij->ji", ["a"], ""), TensorProto.FLOAT, "it is damaged"),
        (einsum("ij->ji", ["nowhere"], "y"), TensorProto.FLOAT, UNKNOWN_SHAPES),
        (helper.make_node("Einsum", ["a"], ["y"]), TensorProto.FLOAT, "it is damaged"),
    ],
)
def test_a_node_that_cannot_be_replaced_says_why(node: onnx.NodeProto, element: int, reason: str) -> None:
    proto = model([node], {"a": (2, 3)}, ["y"], {"w": whole_numbers((2, 3))}, element)
    (site,) = sites(proto, {})
    assert reason in site.reason
    assert site.nodes == (0,)


def test_an_old_opset_is_a_reason() -> None:
    proto = attention()
    proto.opset_import[0].version = 12
    assert all("opset from 13" in site.reason for site in sites(proto, {}))


def test_an_einsum_of_another_domain_is_another_operator() -> None:
    proto = model([helper.make_node("Einsum", ["a"], ["y"], domain="own", equation="ij->ji")], {"a": (2, 3)}, ["y"])
    assert sites(proto, {}) == []


def test_external_and_large_weights_give_their_shapes_without_their_bytes() -> None:
    weights = {"large": whole_numbers((40, 40)), "far": whole_numbers((40, 3))}
    nodes = [einsum("ij,jk->ik", ["a", "large"], "e"), einsum("ij,jk->ik", ["e", "far"], "y")]
    proto = model(nodes, {"a": (2, 40)}, ["y"], weights)
    far = proto.graph.initializer[1]
    far.ClearField("raw_data")
    far.data_location = TensorProto.EXTERNAL
    far.external_data.add(key="location", value="nowhere.bin")
    assert [site.shapes for site in sites(proto, {})] == [((2, 40), (40, 40)), ((2, 40), (40, 3))]
    copy = replaced(proto, {1: graphs_for(sites(proto, {})[1])[0].model})
    assert copy.graph.initializer[1] == far


# ---------------------------------------------------------------- replaced


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("start", range(3))
def test_models_with_all_their_nodes_replaced_give_the_same_values(name: str, start: int) -> None:
    proto = MODELS[name]()
    chosen: dict[int, onnx.ModelProto] = {}
    for site in sites(proto, {}):
        if not site.reason:
            ways = cycle(graphs_for(site)[start:])
            chosen |= {index: next(ways).model for index in site.nodes}
    copy = replaced(proto, chosen)
    assert len(copy.graph.node) >= len(proto.graph.node)
    assert_equal(copy, proto, feeds_of(proto))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        (ATTENTION, [(2, 8, 3, 4), (2, 8, 3, 4)]),
        ("ij->ij", [(3, 4)]),
        ("iij->ji", [(3, 3, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("...i,...i->...", [(1, 5, 3), (4, 1, 3)]),
        ("ij,ij->ij", [(1, 3), (3, 3)]),
        ("i,j->", [(3,), (4,)]),
    ],
)
def test_every_candidate_can_take_the_place_of_its_node(equation: str, shapes: list[Shape]) -> None:
    names = [f"i{number}" for number in range(len(shapes))]
    # twice the same node: their names must not clash
    nodes = [
        *(helper.make_node("Neg", [name], [f"X{name}"]) for name in names),
        einsum(equation, [f"X{name}" for name in names], "Y", "Scan_Y"),
        helper.make_node("Abs", ["Y"], ["v2"], name="Y_body"),
        einsum(equation, names, "Y_x0"),
        helper.make_node("Add", ["v2", "Y_x0"], ["sum"]),
    ]
    proto = fixed(model(nodes, dict(zip(names, shapes, strict=True)), ["sum", "Y"]), {})
    feeds = feeds_of(proto)
    exact = np.einsum(equation, *(-feeds[name].astype(np.float64) for name in names))
    plus = np.einsum(equation, *(feeds[name].astype(np.float64) for name in names))
    (site,) = sites(proto, {})
    found = graphs_for(site)
    assert (equation == ATTENTION) <= any("Scan" in each.name for each in found)
    for candidate in found:
        copy = replaced(proto, dict.fromkeys(site.nodes, candidate.model))
        assert_sound(copy)
        total, result = run(copy, feeds)
        np.testing.assert_array_equal(result, exact.astype(np.float32), err_msg=candidate.name)
        np.testing.assert_array_equal(total, (np.abs(exact) + plus).astype(np.float32), err_msg=candidate.name)


def test_a_body_keeps_its_own_constants_and_what_it_reads_from_outside() -> None:
    """Row by row times X1: one factor is a constant of the body, another one and X1 are outside."""
    steps = [
        helper.make_node("Mul", ["row", "half"], ["halved"], name="Mul_halved"),
        helper.make_node("Mul", ["halved", "two"], ["again"], name="Mul_again"),
        helper.make_node("MatMul", ["again", "X1"], ["product"], name="MatMul_product"),
    ]
    body = helper.make_graph(
        steps,
        "body",
        [helper.make_tensor_value_info("row", TensorProto.FLOAT, (4,))],
        [helper.make_tensor_value_info("product", TensorProto.FLOAT, (4,))],
        [numpy_helper.from_array(np.full(1, 0.5, np.float32), "half")],
    )
    scan = helper.make_node("Scan", ["X0"], ["Y"], name="Scan_Y", body=body, num_scan_inputs=1)
    candidate = model([scan], {"X0": (4, 4), "X1": (4, 4)}, ["Y"], {"two": np.full(1, 2, np.float32)})
    proto = equals()
    assert_equal(replaced(proto, dict.fromkeys((0, 1, 2), candidate)), proto, feeds_of(proto))


def test_equal_constants_are_there_once_and_names_tell_where_nodes_come_from() -> None:
    proto = equals()
    first, _ = sites(proto, {})
    reshaping = next(
        each for each in graphs_for(first) if len(each.model.graph.initializer) and len(each.model.graph.node) > 1
    )
    copy = replaced(proto, dict.fromkeys(first.nodes, reshaping.model))
    added = len(copy.graph.initializer) - len(proto.graph.initializer)
    assert added == len({tensor.raw_data for tensor in reshaping.model.graph.initializer})
    assert any(node.name.startswith("twice/") for node in copy.graph.node)
    assert "Einsum_0/" in " ".join(node.name for node in copy.graph.node)


def test_a_hostile_name_is_no_prefix() -> None:
    proto = model([einsum("ij,jk->ik", ["a", "b"], "y", "evil\x1b[2J")], {"a": (2, 3), "b": (3, 2)}, ["y"])
    (site,) = sites(proto, {})
    copy = replaced(proto, {0: graphs_for(site)[-1].model})
    assert all(node.name.startswith("Einsum_0/") for node in copy.graph.node)


def test_a_prefix_that_is_taken_gets_a_number() -> None:
    proto = equals()
    (site, _), label = sites(proto, {}), "twice"
    chosen = graphs_for(site)[0].model
    name = chosen.graph.node[-1].name
    proto.graph.node[4].name = f"{label}/{name}"
    copy = replaced(proto, {1: chosen})
    assert f"{label}_1/{name}" in {node.name for node in copy.graph.node}
    assert_equal(copy, proto, feeds_of(proto))


def test_the_original_is_left_as_it_was_and_nothing_to_replace_is_a_copy() -> None:
    proto = attention()
    before = proto.SerializeToString(deterministic=True)
    copy = replaced(proto, {1: graphs_for(sites(proto, {})[0])[0].model})
    assert replaced(proto, {}) == proto != copy
    fixed(proto, {"q": (2, 8, 3, 4)})
    assert proto.SerializeToString(deterministic=True) == before


def test_domains_are_joined() -> None:
    proto = attention()
    fused = next(each for each in graphs_for(sites(proto, {})[0]) if "FusedMatMul" in each.name)
    copy = replaced(proto, {1: fused.model})
    assert {(each.domain, each.version) for each in copy.opset_import} == {("", OPSET), ("com.microsoft", 1)}
    assert [each.domain for each in replaced(copy, {}).opset_import].count("com.microsoft") == 1


def test_a_graph_of_another_opset_is_refused() -> None:
    proto = attention()
    other = graphs_for(sites(proto, {})[0], OPSET + 1)[0].model
    with pytest.raises(BadModel, match="a graph of opset 18 cannot be inserted into a model of opset 17"):
        replaced(proto, {1: other})


def test_constants_in_a_model_of_ir_version_3_make_it_4_and_its_weights_stay_constants() -> None:
    proto = equals()
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (4, 4)))
    proto.ir_version = 3
    feeds = {name: value for name, value in feeds_of(proto).items() if name != "w"}
    first, _ = sites(proto, {})
    chosen = next(each.model for each in graphs_for(first) if len(each.model.graph.initializer))
    copy = replaced(proto, {2: chosen})
    assert copy.ir_version == 4
    assert [value.name for value in copy.graph.input] == ["a", "b", "c"]
    assert_equal(copy, proto, feeds)


def test_shapes_after_operators_of_other_domains_stay_known() -> None:
    proto = attention()
    fused = next(each for each in graphs_for(sites(proto, {})[0]) if "FusedMatMul" in each.name)
    assert infer_shapes(replaced(proto, {1: fused.model}), {})["weights"] == (2, 3, 8, 8)


# ---------------------------------------------------------------- fixed


def test_a_fixed_model_has_the_given_sizes_and_no_stale_ones() -> None:
    nodes = [
        einsum("ij,jk->ik", ["a", "b"], "e"),
        helper.make_node("NonZero", ["e"], ["places"]),
        helper.make_node("Mystery", ["e"], ["m"], domain="own"),
    ]
    proto = model(nodes, {"a": ("N", 3), "b": (3, "M")}, [])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.graph.output.extend(
        [
            helper.make_tensor_value_info("places", TensorProto.INT64, (2, "found")),
            helper.make_tensor_value_info("m", TensorProto.FLOAT, ("N", "rest")),
        ]
    )
    proto.graph.value_info.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, ("N", "M")))
    settled = fixed(proto, {"a": (5, 3), "b": (3, 2)}).graph
    sizes = {
        value.name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for value in (*settled.input, *settled.output, *settled.value_info)
    }
    assert sizes == {"a": [5, 3], "b": [3, 2], "places": [2, "found"], "m": ["", "rest"], "e": [5, 2]}


def test_a_fixed_and_rewritten_model_runs_for_its_sizes_and_refuses_others() -> None:
    proto = model([einsum("ij,jk->ik", ["a", "b"], "y")], {"a": ("N", 3), "b": (3, 2)}, ["y"])
    shapes = {"a": (5, 3), "b": (3, 2)}
    (site,) = sites(proto, shapes)
    copy = replaced(fixed(proto, shapes), {0: graphs_for(site)[0].model})
    assert_equal(copy, proto, {name: whole_numbers(shape) for name, shape in shapes.items()})
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match="Got: 6 Expected: 5"):
        run(copy, {"a": whole_numbers((6, 3)), "b": whole_numbers((3, 2))})


def test_a_fixed_model_runs_where_onnxruntime_is_misled_by_a_size_of_one_that_broadcasts() -> None:
    nodes = [
        helper.make_node("Exp", ["a"], ["n"]),
        einsum("ij,ij->ij", ["n", "b"], "e"),
        helper.make_node("Abs", ["e"], ["f"]),
        helper.make_node("Add", ["e", "f"], ["y"]),
    ]
    proto = model(nodes, {"a": (1, 3), "b": (3, 3)}, ["y"])
    feeds = {"a": whole_numbers((1, 3)), "b": whole_numbers((3, 3))}
    product = np.exp(feeds["a"]) * feeds["b"]
    settled = fixed(proto, {})
    np.testing.assert_allclose(run(settled, feeds)[0], product + np.abs(product), rtol=1e-5)
    assert {name: infer_shapes(settled, {})[name] for name in "nefy"} == {"n": (1, 3)} | dict.fromkeys("efy", (3, 3))


# ---------------------------------------------------------------- the rest


def test_the_opset_is_that_of_the_default_domain_under_both_names() -> None:
    proto = attention()
    assert opset_of(proto) == OPSET
    proto.opset_import[0].domain = "ai.onnx"
    assert opset_of(proto) == OPSET
    proto.opset_import[0].domain = "own"
    with pytest.raises(BadModel, match="does not declare the opset"):
        opset_of(proto)


def test_work_is_known_where_weights_are_large() -> None:
    node = helper.make_node("MatMul", ["a", "w"], ["y"], name="product")
    proto = model([node], {"a": ("N", 64)}, ["y"], {"w": whole_numbers((64, 32))})
    assert work_of_nodes(proto, {"a": (2, 64)}) == {"product": 2 * 64 + 64 * 32 + 2 * 32 + 2 * 64 * 32 / 8}
