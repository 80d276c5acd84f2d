"""What quantising changed: layers, nodes to exclude, conversions that stayed, and the best way."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.quantize import notes_on, nothing_to_quantize, quantize_answer
from onnxperf.analyze.judges import quantization as judge
from onnxperf.records.graph import Graph, GraphNode
from onnxperf.records.profile import NodeTime, Profile
from onnxperf.records.quantize import LayerChange, OutputError, Quantization, QuantizationWay, TriedWay
from onnxperf.records.race import Case, Subject


def node(op_type: str, name: str, inputs: str, outputs: str) -> GraphNode:
    return GraphNode(op_type=op_type, name=name, inputs=tuple(inputs.split()), outputs=tuple(outputs.split()))


def graph(*nodes: GraphNode, constants: str = "W K") -> Graph:
    return Graph(inputs=("X",), outputs=("Y",), constants=frozenset(constants.split()), nodes=nodes)


def timed(op_name: str, name: str, tensor: str, sources: str, us: int) -> NodeTime:
    return NodeTime(
        name=name,
        op_name=op_name,
        provider="CPUExecutionProvider",
        calls=10,
        self_us=(us,) * 10,
        usual_us=us,
        total_us=(us,) * 10,
        usual_total_us=us,
        tensors=(tensor,),
        sources=tuple(sources.split()),
    )


def profile(*nodes: NodeTime) -> Profile:
    return Profile(model="m", events=0, iterations=10, launches=(2,) * 5, nodes=nodes)


ORIGINAL = graph(
    node("Conv", "conv", "X W", "c"),
    node("Relu", "relu", "c", "r"),
    node("Erf", "erf", "r", "e"),
    node("MatMul", "dense", "e K", "Y"),
)
WRITTEN = graph(
    node("QuantizeLinear", "X_Q", "X X_scale", "X_QuantizeLinear_Output"),
    node("DequantizeLinear", "X_DQ", "X_QuantizeLinear_Output X_scale", "X_DequantizeLinear_Output"),
    node("DequantizeLinear", "W_DQ", "W_quantized W_scale", "W_DequantizeLinear_Output"),
    node("Conv", "conv", "X_DequantizeLinear_Output W_DequantizeLinear_Output", "r"),
    node("QuantizeLinear", "r_Q", "r r_scale", "r_QuantizeLinear_Output"),
    node("DequantizeLinear", "r_DQ", "r_QuantizeLinear_Output r_scale", "r_DequantizeLinear_Output"),
    node("Erf", "erf", "r_DequantizeLinear_Output", "e"),
    node("QuantizeLinear", "e_Q", "e e_scale", "e_QuantizeLinear_Output"),
    node("DequantizeLinear", "e_DQ", "e_QuantizeLinear_Output e_scale", "e_DequantizeLinear_Output"),
    node("DequantizeLinear", "K_DQ", "K_quantized K_scale", "K_DequantizeLinear_Output"),
    node("MatMul", "dense", "e_DequantizeLinear_Output K_DequantizeLinear_Output", "Y_QuantizeLinear_Input"),
    node("QuantizeLinear", "Y_Q", "Y_QuantizeLinear_Input Y_scale", "Y_QuantizeLinear_Output"),
    node("DequantizeLinear", "Y_DQ", "Y_QuantizeLinear_Output Y_scale", "Y"),
    constants="W_quantized W_scale K_quantized K_scale X_scale r_scale e_scale Y_scale",
)
BEFORE = graph(
    node("Conv", "fused", "X W", "reorder"),
    node("ReorderOutput", "reorders", "reorder", "r"),
    node("Erf", "erf", "r", "e"),
    node("MatMul", "dense", "e K", "Y"),
)
AFTER = graph(
    node("QuantizeLinear", "X_Q", "X", "X_QuantizeLinear_Output"),
    node("QLinearConv", "conv", "X_QuantizeLinear_Output", "r_QuantizeLinear_Output"),
    node("DequantizeLinear", "r_DQ", "r_QuantizeLinear_Output", "r_DequantizeLinear_Output"),
    node("Erf", "erf", "r_DequantizeLinear_Output", "e"),
    node("QuantizeLinear", "e_Q", "e", "e_QuantizeLinear_Output"),
    node("QLinearMatMul", "dense", "e_QuantizeLinear_Output", "Y_QuantizeLinear_Output"),
    node("DequantizeLinear", "Y_DQ", "Y_QuantizeLinear_Output", "Y"),
)


@pytest.fixture
def sides() -> judge.Sides:
    return judge.Sides(
        original=ORIGINAL,
        prepared=ORIGINAL,
        quantized=WRITTEN,
        before=profile(
            timed("Conv", "fused", "reorder", "conv relu", 100),
            timed("ReorderOutput", "reorders", "r", "", 10),
            timed("Erf", "erf", "e", "erf", 20),
            timed("MatMul", "dense", "Y", "dense", 50),
        ),
        before_graph=BEFORE,
        after=profile(
            timed("QuantizeLinear", "X_Q", "X_QuantizeLinear_Output", "X_Q", 5),
            timed("QLinearConv", "conv", "r_QuantizeLinear_Output", "conv X_DQ W_DQ r_Q", 40),
            timed("DequantizeLinear", "r_DQ", "r_DequantizeLinear_Output", "r_DQ", 8),
            timed("Erf", "erf", "e", "erf", 20),
            timed("QuantizeLinear", "e_Q", "e_QuantizeLinear_Output", "e_Q", 7),
            timed("QLinearMatMul", "dense", "Y_QuantizeLinear_Output", "dense e_DQ K_DQ Y_Q", 70),
            timed("DequantizeLinear", "Y_DQ", "Y", "Y_DQ", 2),
        ),
        after_graph=AFTER,
        touched=frozenset({"conv", "relu", "erf", "dense"}),
    )


def test_every_microsecond_of_both_sides_belongs_to_a_layer(sides: judge.Sides) -> None:
    layers = judge.layers_of(sides)
    assert sum(layer.before_us for layer in layers) == sum(each.usual_us for each in sides.before.nodes)
    assert sum(layer.after_us for layer in layers) == sum(each.usual_us for each in sides.after.nodes)


def test_layers_have_the_conversions_around_what_stays_in_float32(sides: judge.Sides) -> None:
    found = {
        layer.nodes: (layer.before_us, layer.after_us, layer.convert_us, layer.outcome)
        for layer in judge.layers_of(sides)
    }
    # what onnxruntime reorders after the convolution is for the node that reads it
    assert found == {
        ("conv", "relu"): (100, 45, 5, "won"),
        ("erf",): (30, 35, 15, "lost"),
        ("dense",): (50, 72, 2, "lost"),
    }


def test_profiles_of_one_process_prove_nothing_about_layers(sides: judge.Sides) -> None:
    layers = judge.layers_of(replace(sides, before=replace(sides.before, launches=())))
    assert {layer.outcome for layer in layers} == {"same"}
    assert judge.to_exclude(layers) == ()


def test_conversions_name_the_node_that_breaks_the_fusion_and_why(sides: judge.Sides) -> None:
    found = {(each.op_name, each.tensor): (each.node, each.why) for each in judge.unfused_of(sides)}
    assert found == {
        ("DequantizeLinear", "r"): ("erf", "onnxruntime has no int8 kernel for this Erf"),
        ("QuantizeLinear", "e"): ("erf", "onnxruntime has no int8 kernel for this Erf"),
        ("QuantizeLinear", "X"): ("", "an input of the model is float32"),
        ("DequantizeLinear", "Y"): ("", "an output of the model is float32"),
    }
    assert [each.time_us for each in judge.unfused_of(sides)] == [8, 7, 5, 2]


def test_layers_that_lost_are_excluded_by_the_names_that_the_quantiser_knows(sides: judge.Sides) -> None:
    slower = judge.to_exclude(judge.layers_of(sides))
    assert {layer.nodes for layer in slower} == {("erf",), ("dense",)}
    assert judge.nodes_to_exclude(sides, slower) == ("erf", "dense")


@pytest.mark.parametrize(
    "layer",
    [
        {"outcome": "won", "before_us": 20.0, "after_us": 10.0},
        {"outcome": "lost", "quantized": False},
        {"outcome": "lost", "before_us": 10.0, "after_us": 10.1},
    ],
    ids=["faster", "not quantised", "not worth it"],
)
def test_other_layers_stay_quantised(layer: dict[str, Any]) -> None:
    settings = {"nodes": ("a",), "ops": ("A",), "before_us": 10.0, "after_us": 20.0, "quantized": True, **layer}
    assert judge.to_exclude([LayerChange(**settings), LayerChange(nodes=(), ops=(), before_us=0, after_us=100)]) == ()


def tried(name: str, speedup: float | None, error: float | None, status: str = "ok") -> TriedWay:
    way = QuantizationWay(name=name, mode="dynamic")
    acceptable = judge.is_acceptable(error, 0.1)
    return TriedWay(way=way, status=status, speedup=speedup, error=error, acceptable=acceptable)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ways", "best"),
    [
        ([tried("a", 1.5, 0.01), tried("b", 2.0, 0.05), tried("c", 3.0, 0.5)], "b"),
        ([tried("a", 1.5, 0.3), tried("b", 2.0, 0.5)], "a"),
        ([tried("a", 1.5, None), tried("b", 0.9, 0.05)], "b"),
        ([tried("a", None, 0.01, "failed"), tried("b", 0.5, 0.01)], "b"),
        ([tried("a", 1.5, None)], None),
        ([], None),
    ],
    ids=["fastest accepted", "none accepted", "not finite", "failed", "nothing finite", "nothing"],
)
def test_the_best_way_is_the_fastest_whose_error_is_accepted(ways: list[TriedWay], best: str | None) -> None:
    found = judge.best_way(ways)
    assert (found.way.name if found is not None else None) == best


# ---------------------------------------------------------------- answers


def record(speedup: float, low: float, high: float, verdict: Any, reason: str = "", **more: Any) -> Quantization:
    subjects = (
        Subject(name="float32", status="ok", time_ns=2e6),
        Subject(
            name="int8",
            status="ok",
            time_ns=1e6,
            speedup=speedup,
            speedup_low=low,
            speedup_high=high,
            verdict=verdict,
            reason=reason,
        ),
    )
    errors = (OutputError(name="Y", max_relative=0.031, max_abs=0.1, cosine=0.99, top1=0.992, rows=500, elements=5000),)
    race = Case(model="m", baseline="float32", subjects=subjects)
    settings: dict[str, Any] = {
        "calibrated": True,
        "choosing_inputs": 32,
        "held_out_inputs": 500,
        "errors": errors,
        **more,
    }
    return Quantization(model="m", best="dynamic S8", race=race, **settings)


@pytest.mark.parametrize(
    ("quantization", "words"),
    [
        (
            record(2.1, 2.0, 2.2, "faster", excluded=("a", "b", "c")),
            "int8 (dynamic S8) is 2.10× as fast as float32 (95 % CI 2.00–2.20): 1.00 ms against 2.00 ms per call.\n"
            "3 nodes stay in float32 because they were slower in int8: a, b, c.\n"
            "Top-1 agreement is 99.2 % on 500 held-out inputs; the largest error of an output is 3.1 %.",
        ),
        (
            record(0.5, 0.4, 0.625, "slower"),
            "int8 takes 2.00× as long as float32 (95 % CI 1.60–2.50): 1.00 ms against 2.00 ms per call, with dynamic "
            "S8, the best candidate. Nothing was chosen.\nTop-1 agreement is 99.2 % on 500 held-out inputs; the "
            "largest error of an output is 3.1 %.",
        ),
        (
            record(0.8, 0.7, 0.9, "undecided", "too few rounds"),
            "int8 seems to take 1.25× as long as float32 (95 % CI 1.11–1.43): 1.00 ms against 2.00 ms per call, with "
            "dynamic S8, the best candidate (undecided: too few rounds). Nothing was chosen.",
        ),
        (
            record(1.02, 0.9, 1.1, "undecided", output="x.onnx"),
            "int8 is not proven faster than float32 (more `time` may tell): dynamic S8, the best candidate, is 1.02× "
            "as fast (95 % CI 0.90–1.10).",
        ),
        (record(1.02, 0.9, 1.1, "undecided", output="x.onnx"), "as requested, although it is not proven faster."),
        (record(1.0, 0.995, 1.005, "equivalent"), "int8 is as fast as float32: dynamic S8"),
        (
            record(1.0, 0.995, 1.005, "equivalent", output="x.onnx", size_before_bytes=4096, size_after_bytes=1024),
            "It was written to x.onnx (1.02 kB instead of 4.10 kB), as requested, although it is not faster.",
        ),
        (record(2.1, 2.0, 2.2, "faster", errors=()), "Its errors on held-out inputs were not measured."),
        (
            record(2.1, 2.0, 2.2, "faster", max_error=0.02),
            "the largest error of an output is 3.1 %, more than the 2 % of `max_error`.",
        ),
    ],
    ids=[
        "faster",
        "slower",
        "not faster",
        "undecided",
        "undecided and written",
        "equivalent",
        "equivalent and written",
        "without errors",
        "too far off",
    ],
)
def test_the_answer_rests_on_the_confirming_race(quantization: Quantization, words: str) -> None:
    assert words in quantize_answer(quantization)


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({}, ""),
        (
            {"calibrated": False},
            "inputs are random, so the errors say little about real ones: give some with `calibrate`",
        ),
        (
            {"calibrated": False, "ways": (TriedWay(way=QuantizationWay(name="s", mode="static"), status="ok"),)},
            "static candidates were calibrated with random inputs, so ranges and errors say little about real ones: "
            "give some with `calibrate`",
        ),
        (
            {"choosing_inputs": 0, "overlap": True},
            "calibration, choice and errors share one input: give at least 3 to keep them apart",
        ),
        (
            {"choosing_inputs": 0},
            "calibration and choice share one input, errors are those of another one: give at least 3 to keep them "
            "apart",
        ),
    ],
    ids=["nothing", "random", "random calibration", "one input", "two inputs"],
)
def test_what_weakens_the_answer_is_noted(fields: dict[str, Any], note: str) -> None:
    assert notes_on(record(2.1, 2.0, 2.2, "faster", **fields)) == [note] * bool(note)


@pytest.mark.parametrize(
    ("confirmed", "searched", "against", "taken"),
    [
        (("faster", 1.2), "slower", "float32", "a"),
        (("equivalent", 1.005), "slower", "float32", "a"),
        (("undecided", 1.2), "slower", "float32", "a"),
        (("undecided", None), "slower", "float32", "a"),
        (("undecided", 0.9), "faster", "float32", ""),
        (("slower", 0.9), "faster", "float32", ""),
        (None, "slower", "float32", ""),
        (None, "slower", "b", "a"),
        (None, "faster", "float32", "a"),
        (None, None, "float32", "a"),
    ],
)
def test_a_way_that_is_slower_than_float32_is_not_taken(
    confirmed: Any, searched: Any, against: str, taken: str
) -> None:
    race = None
    if confirmed is not None:
        subject = Subject(name="int8", status="ok", speedup=0.8, speedup_high=confirmed[1], verdict=confirmed[0])
        race = Case(model="m", baseline="float32", subjects=(subject,))
    way = TriedWay(way=QuantizationWay(name="a", mode="static"), status="ok", verdict=searched, against=against)
    assert judge.way_to_take(Quantization(model="m", best="a", ways=(way,), race=race)) == taken


@pytest.mark.parametrize(
    ("ratios", "acceptable", "slow"),
    [
        ({"a": 0.6, "b": 1.4, "c": 3.0}, ["a", "b", "c"], {"c"}),
        ({"a": 0.6, "c": 3.0}, ["c"], set()),
        ({"a": 2.0, "b": 3.0}, ["a", "b"], {"b"}),
        ({"a": 2.0, "b": 3.0}, [], {"b"}),
        ({}, [], set()),
    ],
    ids=["far slower", "the only acceptable one", "all are slower", "none is acceptable", "nothing"],
)
def test_ways_that_are_far_slower_are_not_raced_unless_nothing_else_is_acceptable(
    ratios: dict[str, float], acceptable: list[str], slow: set[str]
) -> None:
    assert judge.too_slow_to_race(ratios, acceptable) == slow


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([tried("a", None, None, "skipped")], "m has nothing that onnxruntime can quantize: no MatMul"),
        ([tried("a", None, None, "failed")], "m cannot be quantized: "),
    ],
)
def test_a_model_that_cannot_be_quantised_is_one_line(rows: list[TriedWay], reason: str) -> None:
    assert reason in nothing_to_quantize("m", rows)
