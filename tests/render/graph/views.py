"""Graphs to be drawn, small and hostile."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.view import GraphView, Metrics, NodeMetric, ViewGraph, ViewNode, ViewTensor, ViewValue

HOSTILE_NAMES = (
    'a "quoted" name',
    "it's",
    "two\nlines",
    "</script><script>alert(1)</script>",
    "]]>",
    "<b>&amp;",
    "größe 形状 🙂",
    "bell\x07 and nul\x00",
    "lone surrogate \ud800",
    "not a character \ufffe\uffff",
    "\u202eturned",
    "",
)


def float_value(name: str, *shape: int | str) -> ViewValue:
    return ViewValue(name=name, type="float32", shape=shape)


def node(index: int, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **fields: object) -> ViewNode:
    given = {"key": str(index), "label": f"{op_type}_{index}", "inputs": tuple(inputs), "outputs": tuple(outputs)}
    return ViewNode(index=index, op_type=op_type, **(given | fields))  # type: ignore[arg-type]


def named_view(name: str) -> GraphView:
    """A model in which everything that can have a name has this one."""
    body = ViewGraph(name=name, outputs=(float_value(name),), nodes=(node(0, name, [name], [name], key="1/then/0"),))
    nodes = (
        node(0, name, [name, "w"], [f"{name}1"], label=name, name=name, domain=name, attributes=((name, name),)),
        node(1, "If", [f"{name}1"], [f"{name}2"], label=name, name=name, subgraphs={name: body}, doc=name),
    )
    graph = ViewGraph(
        name=name,
        inputs=(ViewValue(name=name, type=name, shape=(name, None, 3)),),
        outputs=(float_value(f"{name}2", name),),
        initializers=(ViewTensor(name="w", dtype=name, shape=(), size_bytes=4, preview=name),),
        nodes=nodes,
        types={f"{name}1": float_value(f"{name}1", name, 2)},
    )
    return GraphView(model=name, graph=graph)


def chain_view(*operators: str, model: str = "chain") -> GraphView:
    """Nodes in a row, each with one input and one output."""
    nodes = tuple(node(i, op, [f"t{i}"], [f"t{i + 1}"]) for i, op in enumerate(operators))
    graph = ViewGraph(
        inputs=(float_value("t0", "batch", 4),),
        outputs=(float_value(f"t{len(nodes)}", "batch", 4),),
        nodes=nodes,
        types={f"t{i}": float_value(f"t{i}", "batch", 4) for i in range(len(nodes) + 1)},
    )
    return GraphView(model=model, graph=graph)


def shares(*given: float, line: str = "12 µs") -> Metrics:
    """Metrics of the first nodes of a model."""
    costs = {
        str(i): NodeMetric(key=str(i), share=share, value=share * 100, unit="us", lines=(line,))
        for i, share in enumerate(given)
    }
    return Metrics(by="time", title="time on a machine", nodes=costs, notes=("a note",))
