"""Document 002: where does the time of a converted KMeans go, and which graph computes an einsum fastest?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime import InferenceSession, SessionOptions

import onnxperf
from examples.documents.prepare import source_of
from examples.documents.step import Sizes, Step, expect, expect_picture, expect_sum, record

EQUATION = "bsnh,btnh->bnts"
ORDERS = 120
"""Of its five letters; one is the equation as written."""
OTHERS = ("numpy.einsum", "opt_einsum", "torch.einsum")


def bare_trace(sizes: Sizes) -> onnxperf.ProfileResult:
    """A session of onnxruntime that profiles itself, without onnxperf; its trace is read afterwards."""
    options = SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = "bare"
    session = InferenceSession("kmeans.onnx", options, providers=["CPUExecutionProvider"])
    X = np.load("points.npy").astype(np.float32)
    for _ in range(sizes.iterations):
        session.run(None, {"X": X})
    return onnxperf.profile(Path(session.end_profiling()).rename("trace.json"))


def three_ways(sizes: Sizes) -> onnxperf.CheckResult:
    """numpy, onnxruntime's Einsum and its decomposition compute the same; writes both models."""
    shape = (sizes.letter,) * 4
    operands = [np.random.default_rng(0).standard_normal(shape).astype(np.float32) for _ in range(2)]
    expected = np.einsum(EQUATION, *operands)
    for decompose in (False, True):
        values = onnxperf.einsum(EQUATION, *operands, optimize=False, decompose=decompose)
        np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-4)
    plan = onnxperf.optimize_einsum(EQUATION, [shape, shape], search=False)
    onnx.save(einsum_node(), "einsum.onnx")
    onnx.save(plan.unoptimized_onnx, "decomposed.onnx")
    return onnxperf.check(["einsum.onnx", "decomposed.onnx"], shapes={"X0": shape, "X1": shape}, atol=1e-4)


def einsum_node() -> onnx.ModelProto:
    """onnxruntime's own operator."""
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
        einsum (float[b, s, n, h] X0, float[b, t, n, h] X1) => (float[b, n, t, s] Y)
        {{ Y = Einsum<equation = "{EQUATION}">(X0, X1) }}"""
    return onnx.parser.parse_model(text)


def seen_conversion(folder: Path) -> str:
    result = record(folder / "kmeans.json")
    checks = [output for check in result["checks"] for output in check["outputs"]]
    expect(checks and all(output["equal"] for output in checks), "the labels differ")
    source, target = result["casts"]["X"]
    return f"{result['nodes']} nodes from {source}, called with {target}; labels equal at {len(result['checks'])} sizes"


def seen_view(folder: Path) -> str:
    nodes = record(folder / "view.json")["graph"]["nodes"]
    expect_picture(folder / "view.svg")
    return f"{len(nodes)} nodes, drawn and as JSON"


def seen_profile(folder: Path) -> str:
    return shares_of(record(folder / "kmeans_profile.json"), folder / "kmeans_profile.png")


def seen_trace(folder: Path) -> str:
    return shares_of(record(folder / "trace_profile.json"), folder / "trace_profile.png")


def shares_of(result: Any, picture: Path) -> str:
    """The most costly operators, whose times add up."""
    added = expect_sum((row["usual_us"] for row in result["operators"]), result["nodes_us"], "operators")
    expect_picture(picture)
    most = sorted(result["operators"], key=lambda row: -row["usual_us"])[:2]
    parts = ", ".join(f"{row['op_name']} {row['usual_us'] / result['nodes_us']:.0%}" for row in most)
    return f"{result['iterations']} iterations of {result['nodes_us'] / 1000:.2f} ms: {parts}; {added}"


def seen_agreement(folder: Path) -> str:
    outputs = record(folder / "agree.json")["outputs"]
    expect(all(output["equal"] for output in outputs), f"they differ: {outputs}")
    return f"Einsum and its decomposition agree, largest difference {outputs[0]['max_absolute']:.1e}"


def seen_search(folder: Path) -> str:
    result = record(folder / "search.json")
    subjects = {each["name"]: each for each in result["race"]["subjects"]}
    expect(all(each["status"] == "ok" for each in subjects.values()), "not all subjects are ok")
    expect(len(result["orders"]) == ORDERS, f"{len(result['orders'])} letter orders")
    named = [*subjects, *result["notes"]]  # what there was no time for is named in a note
    missing = [each for each in (*OTHERS, "decomposed as written") if not any(each in text for text in named)]
    expect(not missing, f"missing are {missing}")
    expect_picture(folder / "orders.png")
    chosen = next((each for each in subjects.values() if each["name"] == result["winner"]), None)
    others = ", ".join(f"{name} {subjects[name]['speedup']:.2f}x" for name in OTHERS if name in subjects)
    won = f"{chosen['speedup']:.2f}x as fast as Einsum as written" if chosen else "no graph proven faster than Einsum"
    graphs = len({order["graph"] for order in result["orders"]})
    return f"{ORDERS} letter orders, {graphs} graphs: {won}; {others}"


def seen_sides(folder: Path) -> str:
    result = record(folder / "sides.json")
    before, after = (
        expect_sum((row["usual_us"] for row in result[side]["nodes"]), result[side]["nodes_us"], "nodes")
        for side in ("before", "after")
    )
    expect_picture(folder / "sides.png")
    times = [result[side]["nodes_us"] for side in ("before", "after")]
    return f"{times[0]:.0f} us and {times[1]:.0f} us; {before} before, {after} after"


SHAPE = "{letter}x{letter}x{letter}x{letter}"
STEPS = (
    Step(
        *("002", "convert", "A KMeans fitted on float64 becomes an ONNX model."),
        lambda _: onnxperf.convert(*source_of("kmeans.py")["make_model"]()),
        "convert kmeans.py:make_model -o kmeans.onnx -o kmeans.json",
        seen_conversion,
    ),
    Step(
        *("002", "view and JSON", "Draw the graph, and show it as JSON."),
        lambda _: onnxperf.view("kmeans.onnx"),
        "view kmeans.onnx -o view.json -o view.svg",
        seen_view,
    ),
    Step(
        *("002", "profile", "Which operators of the KMeans take the time of 111 calls?"),
        lambda sizes: onnxperf.profile("kmeans.onnx", {"X": np.load("points.npy")}, cast=True, calls=sizes.iterations),
        "profile kmeans.onnx --input X=points.npy --cast --calls {iterations} -o kmeans_profile.json "
        "-o kmeans_profile.png",
        seen_profile,
    ),
    Step(
        *("002", "bare trace", "The same from the trace of a session without onnxperf."),
        bare_trace,
        "profile trace.json -o trace_profile.json -o trace_profile.png",
        seen_trace,
    ),
    Step(
        *("002", "three einsums", "Do Einsum, its decomposition and numpy agree?"),
        three_ways,
        f"check einsum.onnx decomposed.onnx --shape X0={SHAPE} --shape X1={SHAPE} --atol 1e-4 -o agree.json",
        seen_agreement,
    ),
    Step(
        *("002", "einsum search", "Which letter order, and which graph, is the fastest?"),
        lambda sizes, **shorter: onnxperf.optimize_einsum(EQUATION, [(sizes.letter,) * 4] * 2, **shorter),
        f"einsum '{EQUATION}' --shape {SHAPE} --shape {SHAPE} -o best.onnx -o search.json -o orders.png",
        seen_search,
        {"again": True},
    ),
    Step(
        *("002", "both graphs", "Why is it faster: both graphs, profiled side by side."),
        lambda sizes, **shorter: onnxperf.diff(
            "decomposed.onnx", "best.onnx", shapes=dict.fromkeys(("X0", "X1"), (sizes.letter,) * 4), **shorter
        ),
        f"diff decomposed.onnx best.onnx --shape X0={SHAPE} --shape X1={SHAPE} -o sides.json -o sides.png",
        seen_sides,
        {"calls": 33, "time": 2.0},
    ),
)
