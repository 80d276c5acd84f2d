"""How long graphs of 2,000 nodes take to be listed and drawn, beside onnx's own printers and Graphviz.

usage: python -m benchmarks.views
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from collections.abc import Callable

import onnx
from onnx import TensorProto, helper, printer

from benchmarks.report import keep
from onnxperf.model.load import open_model
from onnxperf.model.view import view_of
from onnxperf.records.view import GraphView
from onnxperf.render.graph_dot import graph_dot
from onnxperf.render.graph_svg import graph_svg
from onnxperf.render.graph_text import graph_text

NODES = 2_000
DRAWING_GOAL_S, TEXT_GOAL_S = 5.0, 0.5
REPEATS = 5
_SHAPE: tuple[str | int, ...] = ("batch", 16, 64)


def seconds(function: Callable[[], object]) -> float:
    """The median time of a call."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def attention_model() -> onnx.ModelProto:
    """Blocks of attention: three branches, a mask that every block uses, and a way around each block."""
    nodes: list[onnx.NodeProto] = []

    def node(op: str, *inputs: str) -> str:
        output = f"{op}_{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [output], name=output))
        return output

    last = "x"
    for _ in range(NODES // 10):
        query, key, value = (node("MatMul", last, "w") for _ in range(3))
        scores = node("Add", node("MatMul", query, node("Transpose", key)), "mask")
        mixed = node("MatMul", node("MatMul", node("Softmax", scores), value), "w")
        last = node("Add", mixed, last)
    return model(nodes, last)


def wide_model() -> onnx.ModelProto:
    """Many short branches from one input to one output, as ensembles have them."""
    nodes, ends = [], []
    for branch in range(NODES // 4):
        names = [f"b{branch}_{step}" for step in range(4)]
        for op, source, target in zip(("Mul", "Relu", "Neg", "Exp"), ("x", *names), names, strict=False):
            inputs = [source, "mask"] if op == "Mul" else [source]
            nodes.append(helper.make_node(op, inputs, [target], name=target))
        ends.append(names[-1])
    nodes.append(helper.make_node("Sum", ends, ["y"], name="sum"))
    return model(nodes, "y")


def tangled_model() -> onnx.ModelProto:
    """Every node also uses what was computed 1 to 60 nodes before it."""
    nodes = [
        helper.make_node("Add", [f"t{i}", f"t{max(0, i - i * 7919 % 60)}"], [f"t{i + 1}"], name=f"n{i}")
        for i in range(NODES)
    ]
    nodes[0].input[:] = ["x", "x"]
    return model(nodes, f"t{NODES}")


def model(nodes: list[onnx.NodeProto], output: str) -> onnx.ModelProto:
    """A model with these nodes."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, _SHAPE) for name in ("x", "mask")]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    weights = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [0.0] * 64 * 64)
    graph = helper.make_graph(nodes, "benchmark", inputs, outputs, [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def graphviz(view: GraphView) -> float | None:
    """Time of Graphviz for the same graph, where the program is installed."""
    program = shutil.which("dot")
    if program is None:
        return None
    dot = graph_dot(view).encode()
    start = time.perf_counter()
    subprocess.run([program, "-Tsvg"], input=dot, check=True, capture_output=True)
    return time.perf_counter() - start


def row(name: str, proto: onnx.ModelProto) -> str:
    """Times of one model."""
    opened = open_model(proto)
    reading = seconds(lambda: view_of(opened))
    view = view_of(opened)
    drawing, listing = seconds(lambda: graph_svg(view)), seconds(lambda: graph_text(view))
    everything = seconds(lambda: graph_text(view, all=True))
    printed, helped = seconds(lambda: printer.to_text(proto)), seconds(lambda: helper.printable_graph(proto.graph))
    other = graphviz(view)
    cells = [
        f"{name}, {view.totals.nodes} nodes",
        f"{reading:.2f} s",
        f"{drawing:.2f} s",
        "not installed" if other is None else f"{other:.2f} s, {other / drawing:.1f} times",
        f"{listing:.3f} s",
        f"{everything:.3f} s",
        f"{printed:.3f} s",
        f"{helped:.3f} s",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the figures and keep them."""
    models = {"attention": attention_model(), "wide": wide_model(), "tangled": tangled_model()}
    header = ["model", "reading, shapes", "SVG", "Graphviz", "text", "text --all", "onnx.printer", "printable_graph"]
    keep(
        "views",
        [
            f"A drawing has {DRAWING_GOAL_S:.0f} s at most, a text {TEXT_GOAL_S} s; both after the model was read, "
            f"whose shapes are inferred meanwhile; medians of {REPEATS}.",
            "",
            f"| {' | '.join(header)} |",
            f"|{'---|' * len(header)}",
            *(row(name, proto) for name, proto in models.items()),
        ],
    )


if __name__ == "__main__":
    main()
