"""Hazards that a model's file shows: each has a model that triggers it, and one that does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import onnxperf
from onnxperf.analyze.hazards import (
    casts,
    constant_nodes,
    denormal_weights,
    dynamic_dims,
    einsums,
    float16,
    float64,
    old_opset,
    overridable_weights,
    transposes,
    unfused_attention,
    unfused_gelu,
    unfused_layernorm,
    unfused_qdq,
    unused_weights,
)
from onnxperf.analyze.hazards.base import Facts, Finder
from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.variants import session_of
from onnxperf.api._tuning.rewriting import inspection_of
from onnxperf.model.rewrites.find import check_name
from onnxperf.records.advice import Hazard
from onnxperf.records.options import SessionOptions

NUMBERS = """<float root = {1.41421356}, float inverse = {0.70710678}, float one = {1.0}, float half = {0.5},
float two = {2.0}, float eps = {0.00001}, float zero = {0.0}, int64[1] rest = {-1}, int64[1] first = {0},
int64[1] second = {1}, float[64] w = {1}, float[64] b = {2}>"""


def parsed(body: str, opset: int = 17, shape: str = "64, 64") -> onnx.ModelProto:
    head = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[{shape}] X) => (float[{shape}] Y)\n'
    proto = onnx.parser.parse_model(head + NUMBERS + "{" + body + "}")
    for tensor in proto.graph.initializer:
        if tensor.name in "wb":
            tensor.CopyFrom(numpy_helper.from_array(np.linspace(0.5, 1, 64, dtype=np.float32), tensor.name))
    used = {name for node in proto.graph.node for name in node.input}
    kept = [each for each in proto.graph.initializer if each.name in used]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(kept)
    return proto


def weighted(scale: float, opset: int = 17) -> onnx.ModelProto:
    proto = parsed("m = MatMul(X, W) Y = Relu(m)", opset)
    values = np.random.default_rng(0).random((64, 64)).astype(np.float32)
    proto.graph.initializer.append(numpy_helper.from_array((values * scale).astype(np.float32), "W"))
    return proto


def with_unused(size: int) -> onnx.ModelProto:
    proto = weighted(1)
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(size, np.float32), "forgotten"))
    return proto


def with_input(name: str) -> onnx.ModelProto:
    proto = parsed("k = Mul(w, b) m = Mul(X, k) Y = Relu(m)")
    if name:
        proto.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [64]))
    return proto


def transposed(perms: str) -> onnx.ModelProto:
    """Results that are X with its axes in other orders."""
    results = [f"Y{number}" for number in range(len(perms.split()))]
    nodes = [
        helper.make_node("Transpose", ["X"], [name], perm=[int(axis) for axis in perm])
        for name, perm in zip(results, perms.split(), strict=True)
    ]
    nodes.append(helper.make_node("Relu", ["X"], ["R"]))
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, [16, 32, 48])
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in [*results, "R"]]
    graph = helper.make_graph(nodes, "transposed", [x], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantised(complete: bool) -> onnx.ModelProto:
    """A convolution between DequantizeLinear and QuantizeLinear, or with a Tanh where that should be."""
    random = np.random.default_rng(0)
    weights: dict[str, NDArray[Any]] = {
        "scale": np.array(0.05, np.float32),
        "zero": np.array(0, np.int8),
        "wq": random.integers(-100, 100, (8, 8, 3, 3)).astype(np.int8),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["X", "scale", "zero"], ["q"], name="quantise"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["x"], name="dequantise"),
        helper.make_node("DequantizeLinear", ["wq", "scale", "zero"], ["w"], name="weights"),
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        *([] if complete else [helper.make_node("Elu", ["c"], ["t"], name="elu")]),
        helper.make_node("QuantizeLinear", ["c" if complete else "t", "scale", "zero"], ["r"], name="again"),
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["Y"], name="last"),
    ]
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 8, 32, 32])
    y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    stored = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "quantised", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


MEAN = "m = ReduceMean<axes = [-1]>(X) d = Sub(X, m)"
REST = "v = ReduceMean<axes = [-1]>(p) e = Add(v, eps) s = Sqrt(e) n = Div(d, s) k = Mul(n, w) Y = Add(k, b)"
MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "plain": lambda: weighted(1),
    "denormal": lambda: weighted(1e-39),
    "transposes": lambda: transposed("102 210 021 120"),
    "one transpose": lambda: transposed("102"),
    "casts": lambda: parsed(
        """a = Cast<to = 6>(X) c = Cast<to = 1>(a) d = Cast<to = 7>(c) e = Cast<to = 1>(d) f = Cast<to = 11>(e)
        Y = Cast<to = 1>(f)"""
    ),
    "einsum": lambda: parsed('Y = Einsum<equation = "ij,jk->ik">(X, X)'),
    "gelu": lambda: parsed("a = Mul(X, inverse) e = Erf(a) c = Add(e, one) d = Mul(X, c) Y = Mul(d, half)"),
    "gelu with a reshape": lambda: parsed(
        """s = Shape(X) a = Div(X, root) e = Erf(a) r = Reshape(e, s) c = Add(r, one) d = Mul(X, c)
        Y = Mul(d, half)"""
    ),
    "fused gelu": lambda: parsed("a = Div(X, root) e = Erf(a) c = Add(e, one) d = Mul(X, c) Y = Mul(d, half)"),
    "layernorm": lambda: parsed(f"{MEAN} p = Mul(d, d) {REST}"),
    "fused layernorm": lambda: parsed(f"{MEAN} p = Pow(d, two) {REST}"),
    "attention": lambda: parsed(
        """t = Transpose<perm = [1, 0]>(X) q = MatMul(X, t) r = Mul(q, half) a = Softmax(r) i = IsNaN(a)
        g = Where(i, zero, a) Y = MatMul(g, X)"""
    ),
    "softmax": lambda: parsed("a = Relu(X) Y = Softmax(a)"),
    "broken qdq": lambda: quantised(False),
    "whole qdq": lambda: quantised(True),
    "float64": lambda: parsed("d = Cast<to = 11>(X) e = Mul(d, d) f = Sqrt(e) g = MatMul(f, d) Y = Cast<to = 1>(g)"),
    "float16": lambda: parsed("d = Cast<to = 10>(X) e = Softmax(d) f = Mul(e, e) g = Softmax(f) Y = Cast<to = 1>(g)"),
    "dynamic": lambda: parsed(
        """s = Shape(X) c = Slice(s, first, second) r = Concat<axis = 0>(rest, c) t = Reshape(X, r)
        u = Relu(t) Y = Reshape(u, s)""",
        shape="rows, columns",
    ),
    "dynamic without shapes": lambda: parsed("a = Relu(X) Y = Softmax(a)", shape="rows, columns"),
    "constants that are inputs": lambda: with_input("w"),
    "constants": lambda: with_input(""),
    "unused": lambda: with_unused(1024),
    "little unused": lambda: with_unused(2),
    "old": lambda: weighted(1, 11),
}
CASES: list[tuple[Finder, str, str]] = [
    (denormal_weights.find, "denormal", "plain"),
    (transposes.find, "transposes", "one transpose"),
    (casts.find, "casts", "float64"),
    (einsums.find, "einsum", "plain"),
    (unfused_gelu.find, "gelu", "fused gelu"),
    (unfused_gelu.find, "gelu with a reshape", "plain"),
    (unfused_layernorm.find, "layernorm", "fused layernorm"),
    (unfused_attention.find, "attention", "softmax"),
    (unfused_qdq.find, "broken qdq", "whole qdq"),
    (float16.find, "float16", "plain"),
    (float64.find, "float64", "casts"),
    (dynamic_dims.find, "dynamic", "dynamic without shapes"),
    (constant_nodes.find, "constants that are inputs", "constants"),
    (overridable_weights.find, "constants that are inputs", "constants"),
    (unused_weights.find, "unused", "little unused"),
    (old_opset.find, "old", "plain"),
]
pytestmark = pytest.mark.slow  # each model is profiled in processes of its own
IDS = [f"{find.__module__.rpartition('.')[2]}: {trigger}" for find, trigger, _ in CASES]


@cache
def facts_of(name: str) -> Facts:
    proto = MODELS[name]()
    dims = {"rows": 64, "columns": 64} if name.startswith("dynamic") else {}
    profile = onnxperf.profile(proto, calls=3, threads=1, dims=dims).record
    session = profile.session or SessionOptions()
    return Facts(profile=profile, inspection=inspection_of(open_source(proto)), session=session, cores=1)


def only(find: Finder, name: str) -> Hazard:
    (found,) = find(facts_of(name))
    return found


@pytest.mark.parametrize(("find", "trigger", "other"), CASES, ids=IDS)
def test_a_hazard_is_found_where_it_is_and_nowhere_else(find: Finder, trigger: str, other: str) -> None:
    hazard = only(find, trigger)
    assert hazard.title
    assert hazard.remedy
    assert any(sign.isdigit() for sign in hazard.evidence)
    assert hazard.share is None or 0 <= hazard.share <= 1
    executed = {node.name for node in facts_of(trigger).profile.nodes}
    assert executed.issuperset(hazard.nodes)
    for trial in hazard.trials:
        assert bool(trial.settings) != bool(trial.rewrite)
        session_of(trial.settings)  # as users give them
        if trial.rewrite:
            check_name(trial.rewrite)
    assert list(find(facts_of(other))) == []


def test_a_plain_model_has_no_hazard() -> None:
    assert [hazard.kind for find, _, _ in CASES for hazard in find(facts_of("plain"))] == []


@pytest.mark.parametrize(
    ("find", "name", "words"),
    [
        (unfused_gelu.find, "gelu", "Mul 'Mul_0' is not what onnxruntime looks for"),
        (unfused_gelu.find, "gelu with a reshape", "Reshape 'Reshape_3' is in between"),
        (unfused_layernorm.find, "layernorm", "Mul 'Mul_2' is not what onnxruntime looks for"),
        (unfused_attention.find, "attention", "IsNaN 'IsNaN_4' is in between"),
        (unfused_qdq.find, "broken qdq", "Elu 'elu' is in between"),
    ],
)
def test_the_node_that_breaks_a_fusion_is_named(find: Finder, name: str, words: str) -> None:
    assert words in only(find, name).evidence


def test_dimensions_are_tried_with_the_sizes_of_the_profile() -> None:
    (trial,) = only(dynamic_dims.find, "dynamic").trials
    assert trial.settings == {"dim.rows": "64", "dim.columns": "64"}


def test_constants_that_the_session_does_not_fold_are_found() -> None:
    proto = MODELS["constants"]()
    profile = onnxperf.profile(proto, calls=3, threads=1, opt_level="disable").record
    facts = replace(facts_of("constants"), profile=profile)
    (hazard,) = constant_nodes.find(facts)
    assert [trial.rewrite for trial in hazard.trials] == ["fold-constants"]
    assert hazard.nodes == ("Mul_0",)


def test_approximate_trials_say_so() -> None:
    assert [trial.approximate for trial in only(float64.find, "float64").trials] == [True]
    assert [trial.approximate for trial in only(denormal_weights.find, "denormal").trials] == [False, False]


@pytest.mark.parametrize(("scalar", "approximate"), [(-3.4e38, False), (-math.inf, True)])
def test_a_test_for_nan_may_be_left_out_where_masks_are_finite(scalar: float, approximate: bool) -> None:
    facts = facts_of("attention")
    inspection = replace(facts.inspection, scalars={"mask": scalar})
    (hazard,) = unfused_attention.find(replace(facts, inspection=inspection))
    assert [trial.approximate for trial in hazard.trials] == [approximate]


def test_transposes_are_merged_only_where_one_follows_another() -> None:
    facts = facts_of("transposes")
    assert [trial.rewrite for trial in only(transposes.find, "transposes").trials] == [""]
    first, *others = facts.inspection.graph.nodes
    behind = replace(first, name="behind", inputs=first.outputs, outputs=("behind",))
    graph = replace(facts.inspection.graph, nodes=(first, behind, *others))
    (hazard,) = transposes.find(replace(facts, inspection=replace(facts.inspection, graph=graph)))
    assert [trial.rewrite for trial in hazard.trials] == ["merge-transposes", ""]


def test_evidence_counts_what_is_there() -> None:
    assert "4,096 of the 4,096 elements of 1 tensor (W)" in only(denormal_weights.find, "denormal").evidence
    assert "4 Transpose nodes executed" in only(transposes.find, "transposes").evidence
    assert "ij,jk->ik" in only(einsums.find, "einsum").evidence
    assert "2 of the model's 6 have no effect" not in only(casts.find, "casts").evidence
    assert "1 unused initializer with 4.10 kB" in only(unused_weights.find, "unused").evidence
