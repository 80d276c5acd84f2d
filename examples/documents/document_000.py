"""Document 000: which way of calling onnxruntime is fastest, against scikit-learn and a numpy runtime?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pandas import read_csv

import onnxperf
from examples.documents.prepare import source_of
from examples.documents.step import Sizes, Step, expect, expect_picture, expect_shares, record

STYLES = {"run", "run-c", "ort-values", "io-binding", "io-binding-fixed", "io-binding-inplace"}
COLUMNS = {"name", "average", "deviation", "min_exec", "max_exec", "repeat", "number", "ttime", "context_size"}
"""Of the document's table."""


def race(_: Sizes, **shorter: Any) -> onnxperf.BenchResult:
    """All call styles, two runtimes written in Python, and scikit-learn."""
    skl, X = source_of("linear.py")["make_model"]()
    result = onnxperf.bench(
        "linear.onnx",
        call="all",
        runtime=["ort", "numpy", "reference"],
        feeds={"X": X},
        against={"skl": skl},
        baseline="skl",
        threads=1,
        **shorter,
    )
    expect(set(result.to_df()) >= COLUMNS, "columns of the document are missing")
    return result


def seen_machine(folder: Path) -> str:
    facts = read_csv(folder / "machine.csv", index_col="fact")["value"]
    extensions, libraries = facts["vector extensions"].split(", "), facts["libraries"].split(", ")
    onnxruntime = next(each for each in libraries if each.startswith("onnxruntime "))
    return f"{len(extensions)} vector extensions, among them {extensions[1]}; {facts['cores']} cores; {onnxruntime}"


def seen_model(folder: Path) -> str:
    operators = [node["op_type"] for node in record(folder / "linear.json")["graph"]["nodes"]]
    expect(operators == ["MatMul", "Add", "Reshape"], f"the nodes are {operators}")
    expect_picture(folder / "linear.svg")
    return f"{len(operators)} nodes: {', '.join(operators)}"


def seen_race(folder: Path) -> str:
    frame = read_csv(folder / "calls.csv", index_col="name")
    times, speedups = frame["time_ns"], frame["speedup"]
    expect(set(frame.index) == STYLES | {"numpy", "reference", "skl"}, f"the subjects are {list(frame.index)}")
    expect((frame["status"] == "ok").all(), f"not all are ok: {frame['status'].to_dict()}")
    error = (times["skl"] / times / speedups - 1).abs().max()
    expect(error < 1e-6, f"a speedup differs by {error:.1%} from the ratio of the times next to it")
    expect_picture(folder / "calls.png")
    best = str(times[list(STYLES)].idxmin())
    against_skl = ", ".join(
        f"{name} {speedups[name]:.1f}x ({frame['verdict'][name]})" for name in ("run", "numpy", "reference")
    )
    return (
        f"{len(STYLES)} call styles: run {times['run'] / 1000:.2f} us, quickest {best} {times[best] / 1000:.2f} us; "
        f"over skl: {against_skl}"
    )


def seen_again(folder: Path) -> str:
    frame = read_csv(folder / "again.csv")
    expect_picture(folder / "again.png")
    return f"{len(frame)} rows and {len(frame.columns)} columns of the saved run, and its chart"


def seen_native(folder: Path) -> str:
    result = record(folder / "native.json")
    expect_picture(folder / "flame.svg")
    shares = expect_shares(result)
    return (
        f"a call of {result['call_ns'] / 1000:.1f} us: {shares['python']:.0%} Python, "
        f"{shares['compiled']:.0%} compiled, {len(result['native'])} native functions"
    )


STEPS = (
    Step(
        *("000", "machine", "Which optimizations does this machine have?"),
        lambda _: onnxperf.doctor(quick=True),
        "doctor --quick -o machine.csv",
        seen_machine,
    ),
    Step(
        *("000", "model", "Which operators did the regression become?"),
        lambda _: onnxperf.view("linear.onnx"),
        "view linear.onnx -o linear.json -o linear.svg",
        seen_model,
    ),
    Step(
        *("000", "race", "Which way of calling is the fastest?"),
        race,
        "bench linear.onnx --call all --runtime ort,numpy,reference --input X=X.npy --against skl=linear.py:make_model "
        "--baseline skl --threads 1 -o calls.csv -o calls.png",
        seen_race,
        {"time": 3.0},
    ),
    Step(
        *("000", "table and chart", "Show them as a table and as a bar chart."),
        lambda _: onnxperf.load_run("last"),
        "runs show last -o again.csv -o again.png",
        seen_again,
    ),
    Step(
        *("000", "native profile", "Where does such a call spend its time, in native code too?"),
        lambda sizes: onnxperf.stack(
            "linear.onnx", {"X": np.load("X.npy")}, runtime="ort", native=True, calls=sizes.calls
        ),
        "stack linear.onnx --input X=X.npy --runtime ort --native --calls {calls} -o native.json -o flame.svg",
        seen_native,
    ),
)
