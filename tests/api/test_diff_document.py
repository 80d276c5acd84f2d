"""`onnxperf.diff` pairs what the document's own labelling pairs, and more, for models, profiles and traces."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pandas
import pytest

import onnxperf

Node = tuple[str, str, str, str, int]
"""Operator, outputs, inputs, provider, and how many equal nodes came before it in its inference."""

ATTENTION = """<ir_version: 9, opset_import: ["" : 18]> attention (float[1, 3, 32, 32] X) => (float[1, 64, 16, 16] Y) {
    [n0] stem = Conv <pads = [1, 1, 1, 1]> (X, w0, b64)
    [n1] bent = PRelu(stem, slope)
    [n2] normed = BatchNormalization(bent, b64, b64, b64, ones)
    [n3] wide = Conv <pads = [1, 1, 1, 1]> (normed, w3, b64)
    [n4] active = PRelu(wide, slope)
    [n5] mean = ReduceMean <keepdims = 1> (active, axis)
    [n6] most = ReduceMax <keepdims = 1> (active, axis)
    [n7] both = Concat <axis = 1> (mean, most)
    [n8] mask = Conv <pads = [3, 3, 3, 3]> (both, w8)
    [n9] soft = Sigmoid(mask)
    [n10] seen = Mul(soft, active)
    [n11] small = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (seen, w3, b64)
    [n12] short = Conv <strides = [2, 2]> (normed, w12, b64)
    [n13] Y = Add(small, short)
}"""
"""The shape of the document's network: attention over an image, and a shortcut around it."""
BLOCKS = """<ir_version: 9, opset_import: ["" : 18]> blocks (float[1, 3, 32, 32] X) => (float[1, 10] Y) {
    [n0] c0 = Conv <pads = [1, 1, 1, 1]> (X, w0, b64)
    [n1] m0 = BatchNormalization(c0, b64, b64, b64, ones)
    [n2] r0 = Relu(m0)
    [n3] c1 = Conv <pads = [1, 1, 1, 1]> (r0, w3, b64)
    [n4] m1 = BatchNormalization(c1, b64, b64, b64, ones)
    [n5] r1 = Relu(m1)
    [n6] p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r1)
    [n7] c2 = Conv <pads = [1, 1, 1, 1]> (p1, w3, b64)
    [n8] r2 = Relu(c2)
    [n9] s2 = Add(r2, p1)
    [n10] p2 = GlobalAveragePool(s2)
    [n11] flat = Flatten(p2)
    [n12] out = Gemm(flat, w10)
    [n13] Y = Softmax(out)
}"""
"""Convolutions whose activations become attributes of theirs."""


def cnn(text: str) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    shapes = {
        "w0": (64, 3, 3, 3), "w3": (64, 64, 3, 3), "w8": (1, 2, 7, 7), "w12": (64, 64, 1, 1), "w10": (64, 10),
        "b64": (64,), "slope": (64, 1, 1),
    }  # fmt: skip
    weights = {name: rng.standard_normal(shape, np.float32) / 8 for name, shape in shapes.items()}
    weights |= {"ones": np.ones(64, np.float32), "axis": np.array([1], np.int64)}
    model = onnx.parser.parse_model(text)
    used = {name for node in model.graph.node for name in node.input}
    for name in sorted(used & weights.keys()):
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights[name], name))
    return model


def nodes_of_the_document(profile: onnxperf.ProfileResult) -> set[Node]:
    """The nodes of one inference as the document labels them; it starts to count anew with every event of a session."""
    seen: Counter[tuple[str, ...]] = Counter()
    found = set()
    for event in profile.to_df(names="ort").to_dict("records"):
        if event["cat"] == "Session":
            seen.clear()
        elif event["cat"] == "Node" and str(event["name"]).endswith("_kernel_time"):
            shapes = (str(event["args_output_type_shape"]), str(event["args_input_type_shape"]))
            call = (str(event["args_op_name"]), *shapes, str(event["args_provider"]))
            found.add((*call, seen[call]))
            seen[call] += 1
    return found


def sides_of(rows: pandas.DataFrame) -> tuple[int, int, int]:
    return tuple(int((rows["side"] == side).sum()) for side in ("both", "before", "after"))  # type: ignore[return-value]


@pytest.mark.parametrize("text", [ATTENTION, BLOCKS], ids=["attention", "blocks"])
def test_models_profiles_and_traces_pair_at_least_what_the_document_pairs(text: str, tmp_path: Path) -> None:
    levels: list[Literal["disable", "all"]] = ["disable", "all"]
    model = cnn(text)
    traces = [tmp_path / f"{level}.trace.json" for level in levels]
    profiles = [onnxperf.profile(model, opt_level=level, threads=1, calls=3) for level in levels]
    for profile, trace in zip(profiles, traces, strict=True):
        profile.save(trace)
    before, after = map(nodes_of_the_document, profiles)
    compared = {
        "models": onnxperf.diff(model, opt_level=levels, threads=1, calls=3, race=False),
        "profiles": onnxperf.diff(*profiles),
        "traces": onnxperf.diff(*traces),
    }
    for name, result in compared.items():
        rows = result.merged()
        equal, gone, new = sides_of(rows)
        assert (equal + gone, equal + new) == (len(before), len(after)), name
        assert equal >= len(before & after), name
        alike = ["op_name", "outputs", "inputs", "provider"]
        left = [
            set(map(tuple, rows[rows["side"] == side][alike].astype(str).to_numpy())) for side in ("before", "after")
        ]
        assert left[0].isdisjoint(left[1]), name  # nothing is left that the document would pair
    for name in ("models", "profiles"):  # where it is known which node became which
        rows = compared[name].merged()
        assert set(rows[rows["op_name"] == "Conv"]["side"]) == {"both"}
        for side, operators in (("before", "op_name"), ("after", "after_op_name")):
            sums = rows[rows[f"{side}_us"].notna()].groupby(operators)[f"{side}_us"].sum().to_dict()
            profiled = {each.op_name: each.usual_us for each in getattr(compared[name].record, side).operators}
            assert sums == pytest.approx(profiled)  # so that charts of nodes and of operators have the same ratios


def test_an_optimized_file_is_compared_by_the_nodes_of_its_original(tmp_path: Path) -> None:
    model = cnn(BLOCKS)
    onnxperf.optimize(model, tmp_path / "optimized.onnx", opt_level="extended")
    result = onnxperf.diff(model, tmp_path / "optimized.onnx", opt_level="disable", threads=1, calls=3, race=False)
    rows = result.by_source()
    block = rows[rows["sources"] == ("n3", "n4", "n5")]
    assert block["source_ops"].tolist() == [("Conv", "BatchNormalization", "Relu")]
    assert block["before_executed"].tolist() == [("n3", "n4", "n5")]
    assert [len(names) for names in block["after_executed"]] == [1]
    assert rows["before_us"].sum() == pytest.approx(result.record.before.nodes_us)
    assert rows["after_us"].sum() == pytest.approx(result.record.after.nodes_us)
    assert set(result.merged().query("op_name == 'Conv'")["side"]) == {"both"}
