"""How long graphs of 2,000 nodes take to be listed and drawn, beside onnx's own printers and Graphviz.

usage: python -m benchmarks.views [--print]
       --print shows the figures without keeping them
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import onnx
from msgspec.structs import replace
from onnx import TensorProto, helper, printer

from benchmarks.kept import keep
from onnxperf.model.load import open_model
from onnxperf.model.view import view_of
from onnxperf.records.view import GraphView
from onnxperf.render.graph.dot import graph_dot
from onnxperf.render.graph.svg import graph_svg
from onnxperf.render.graph.text import Listing, graph_text

NODES = 2_000
DRAWING_GOAL_S, TEXT_GOAL_S = 5.0, 0.5
REPEATS = 5
GRAPHVIZ_TIMEOUT_S = 60.0
_WIDTH = 64
_SHAPE: tuple[str | int, ...] = ("batch", 16, _WIDTH)


class Times(NamedTuple):
    """What one model takes, in seconds."""

    name: str
    nodes: int
    reading: float
    drawing: float
    graphviz: str
    listing: float
    everything: float
    printer: float
    printable: float


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
        query, key, value = (node("MatMul", last, f"w{len(nodes)}") for _ in range(3))
        scores = node("Add", node("MatMul", query, node("Transpose", key)), "mask")
        mixed = node("MatMul", node("MatMul", node("Softmax", scores), value), f"w{len(nodes)}")
        last = node("Add", mixed, last)
    return model(nodes, last, [_WIDTH, _WIDTH])


def wide_model() -> onnx.ModelProto:
    """Many short branches from one input to one output, as ensembles have them."""
    nodes, ends = [], []
    for branch in range(NODES // 4):
        names = [f"b{branch}_{step}" for step in range(4)]
        for op, source, target in zip(("Mul", "Add", "Sub", "Div"), ("x", *names), names, strict=False):
            nodes.append(helper.make_node(op, [source, f"w_{target}"], [target], name=target))
        ends.append(names[-1])
    nodes.append(helper.make_node("Sum", ends, ["y"], name="sum"))
    return model(nodes, "y", [_WIDTH])


def tangled_model() -> onnx.ModelProto:
    """Every node also uses what was computed 1 to 60 nodes before it."""
    nodes = [
        helper.make_node("Sum", [f"t{i}", f"t{max(0, i - i * 7919 % 60)}", f"w{i}"], [f"t{i + 1}"], name=f"n{i}")
        for i in range(NODES)
    ]
    nodes[0].input[:] = ["x", "x", "w0"]
    return model(nodes, f"t{NODES}", [_WIDTH])


def model(nodes: Sequence[onnx.NodeProto], output: str, weight: Sequence[int]) -> onnx.ModelProto:
    """A model with these nodes; what they take and nobody makes, and begins with w, is a weight of that shape."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, _SHAPE) for name in ("x", "mask")]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    zeros = bytes(4 * prod(weight))
    weights = [
        helper.make_tensor(name, TensorProto.FLOAT, weight, zeros, raw=True)
        for node in nodes
        for name in node.input
        if name.startswith("w")
    ]
    graph = helper.make_graph(nodes, "benchmark", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def graphviz(view: GraphView, ours: float) -> str:
    """One run of Graphviz for the same graph, where the program is installed, against our drawing."""
    program = shutil.which("dot")
    if program is None:
        return "not installed"
    dot = graph_dot(replace(view, graph=replace(view.graph, initializers=()))).encode()
    start = time.perf_counter()
    try:
        subprocess.run([program, "-Tsvg"], input=dot, check=True, capture_output=True, timeout=GRAPHVIZ_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"> {GRAPHVIZ_TIMEOUT_S:.0f} s, > {GRAPHVIZ_TIMEOUT_S / ours:.0f} times"
    taken = time.perf_counter() - start
    return f"{taken:.2f} s, {taken / ours:.1f} times"


def measured(name: str, proto: onnx.ModelProto) -> Times:
    """Times of one model."""
    opened = open_model(proto)
    view = view_of(opened)
    drawing = seconds(lambda: graph_svg(view))
    return Times(
        name=name,
        nodes=view.totals.nodes,
        reading=seconds(lambda: view_of(opened)),
        drawing=drawing,
        graphviz=graphviz(view, drawing),
        listing=seconds(lambda: graph_text(view)),
        everything=seconds(lambda: graph_text(view, Listing(all=True))),
        printer=seconds(lambda: printer.to_text(proto)),
        printable=seconds(lambda: helper.printable_graph(proto.graph)),
    )


def row(times: Times) -> str:
    """One model in the table."""
    cells = [
        f"{times.name}, {times.nodes} nodes",
        f"{times.reading:.2f} s",
        f"{times.drawing:.2f} s",
        times.graphviz,
        *(f"{each:.3f} s" for each in (times.listing, times.everything, times.printer, times.printable)),
    ]
    return f"| {' | '.join(cells)} |"


def verdict(what: str, goal_s: float, slowest_s: float, with_reading_s: float) -> str:
    """Whether a goal was met by the slowest model."""
    word = "met" if slowest_s <= goal_s else "MISSED"
    return f"- {what} within {goal_s:g} s: {word}, {slowest_s:.2f} s; {with_reading_s:.2f} s with reading the model"


def lines_of(rows: Sequence[Times]) -> list[str]:
    """The figures as a table, and the goals."""
    header = ["model", "reading, shapes", "SVG", "Graphviz", "text", "text --all", "onnx.printer", "printable_graph"]
    return [
        f"Medians of {REPEATS}; of Graphviz one run, which ends after {GRAPHVIZ_TIMEOUT_S:.0f} s. Graphviz gets what "
        "`view -o -.dot` writes, without the weights: it would give them boxes, which our drawing does not.",
        "",
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
        *map(row, rows),
        "",
        "The goals are for rendering alone; before that the model is read and its shapes are inferred.",
        "",
        verdict(
            "a drawing",
            DRAWING_GOAL_S,
            max(each.drawing for each in rows),
            max(each.reading + each.drawing for each in rows),
        ),
        verdict(
            "a text (also with `--all`)",
            TEXT_GOAL_S,
            max(max(each.listing, each.everything) for each in rows),
            max(each.reading + max(each.listing, each.everything) for each in rows),
        ),
    ]


def main() -> None:
    """Print the figures and keep them."""
    models = {"attention": attention_model(), "wide": wide_model(), "tangled": tangled_model()}
    lines = lines_of([measured(name, proto) for name, proto in models.items()])
    if "--print" in sys.argv[1:]:
        print("\n".join(lines))
    else:
        keep("views", lines)


if __name__ == "__main__":
    main()
