"""Views to be rendered: a small one, one with every kind of body, a long one, and one whose names are traps."""

from __future__ import annotations

from onnxperf.records.view import (
    GraphView,
    Metrics,
    NodeMetric,
    ViewFunction,
    ViewGraph,
    ViewNode,
    ViewTensor,
    ViewTotals,
    ViewValue,
)

NASTY_NAMES = (
    'say "hi"',
    "it's",
    "two\nlines",
    "</script><script>alert(1)</script>",
    "<b>&amp;</b>",
    "größe→∞ 模型 🐍",
    "\x1b[31mred\x1b[0m\x00",
    "back\\slash\\",
    "[bold]markup[/bold]",
    "{record|<port>}",
    "\u202eright to left",
    "",
    "twice",
    "twice",
)


def node(index: int, op_type: str, inputs: tuple[str, ...], outputs: tuple[str, ...], **more: object) -> ViewNode:
    """A node of the main graph, unless another key is given."""
    fields: dict[str, object] = {"key": str(index), "label": more.get("name") or f"{op_type}_{index}", "depth": index}
    return ViewNode(index=index, op_type=op_type, inputs=inputs, outputs=outputs, **(fields | more))  # type: ignore[arg-type]


def linear_view() -> GraphView:
    """A linear model: three nodes in a row."""
    x = ViewValue(name="X", type="float32", shape=("N", 10))
    y = ViewValue(name="variable", type="float32", shape=("N", 1))
    return GraphView(
        model="linear",
        producer="skl2onnx 1.20.0",
        ir_version=7,
        opsets={"ai.onnx": 13},
        metadata={"author": "me"},
        graph=ViewGraph(
            name="g",
            inputs=(x,),
            outputs=(y,),
            initializers=(
                ViewTensor(name="coef", dtype="float32", shape=(10, 1), size_bytes=40),
                ViewTensor(name="intercept", dtype="float32", shape=(1,), size_bytes=4, preview="[0.5]"),
                ViewTensor(name="shape_tensor", dtype="int64", shape=(2,), size_bytes=16, preview="[-1, 1]"),
            ),
            nodes=(
                node(0, "MatMul", ("X", "coef"), ("multiplied",), name="mm", macs=10),
                node(1, "Add", ("multiplied", "intercept"), ("resh",), name="add"),
                node(2, "Reshape", ("resh", "shape_tensor"), ("variable",), name="rs"),
            ),
            types={"X": x, "multiplied": ViewValue(name="multiplied", type="float32", shape=("N", 1)), "variable": y},
        ),
        totals=ViewTotals(
            nodes=3, parameters=13, weight_bytes=60, macs=10, operators={"MatMul": 1, "Add": 1, "Reshape": 1}
        ),
        free_dims=("N",),
    )


def linear_metrics() -> Metrics:
    """Almost all time in the product."""
    shares = {"0": 0.9, "1": 0.08, "2": 0.02}
    return Metrics(
        by="time",
        title="share of 10 µs",
        nodes={
            key: NodeMetric(key=key, share=share, value=share * 10, unit="us", lines=(f"{share * 10:.1f} µs",))
            for key, share in shares.items()
        },
    )


def nested_view() -> GraphView:
    """An If whose branches differ, and a call of a local function."""
    branches = {
        name: ViewGraph(
            name=name,
            outputs=(ViewValue(name=f"{name}_out", type="float32", shape=("N",)),),
            initializers=(ViewTensor(name=f"{name}_two", dtype="float32", shape=(), size_bytes=4, preview="2.0"),),
            nodes=(node(0, op, ("x", f"{name}_two"), (f"{name}_out",), key=f"0/{name}/0", label=f"{op}_in_{name}"),),
        )
        for name, op in (("then_branch", "Mul"), ("else_branch", "Add"))
    }
    function = ViewFunction(
        key="f0",
        name="Twice",
        domain="own",
        opsets={"ai.onnx": 18},
        attributes=(("alpha", "1.0"), ("beta", "")),
        graph=ViewGraph(
            name="Twice",
            inputs=(ViewValue(name="a"),),
            outputs=(ViewValue(name="b"),),
            nodes=(node(0, "Add", ("a", "a"), ("b",), key="f0/0", label="Add_in_Twice"),),
        ),
    )
    return GraphView(
        model="nested",
        opsets={"ai.onnx": 18, "own": 1},
        graph=ViewGraph(
            inputs=(
                ViewValue(name="cond", type="bool", shape=()),
                ViewValue(name="x", type="float32", shape=("N",)),
                ViewValue(name="rows", type="sequence(map(int64, float32))"),
            ),
            outputs=(ViewValue(name="y", type="float32", shape=("N",)),),
            nodes=(
                node(0, "If", ("cond",), ("chosen",), subgraphs=branches),
                node(1, "Twice", ("chosen", ""), ("y",), domain="own", function="f0", attributes=(("alpha", "3.0"),)),
            ),
        ),
        functions=(function,),
        totals=ViewTotals(nodes=5, operators={"Add": 2, "If": 1, "Mul": 1, "own::Twice": 1}),
    )


def long_view(blocks: int = 100, tail: int = 5) -> GraphView:
    """The same three operators over and over, after a beginning and before an end that are different."""
    ops = ["Shape", *["Conv", "Relu", "Add"] * blocks, *["Softmax", "Exp", "Log", "Neg", "Abs"][:tail]]
    nodes = tuple(node(place, op, (f"t{place}",), (f"t{place + 1}",), name=f"n{place}") for place, op in enumerate(ops))
    return GraphView(
        model="long",
        opsets={"ai.onnx": 18},
        graph=ViewGraph(
            inputs=(ViewValue(name="t0", type="float32", shape=(1,)),),
            outputs=(ViewValue(name=f"t{len(ops)}", type="float32", shape=(1,)),),
            initializers=tuple(
                ViewTensor(name=f"w{place}", dtype="float32", shape=(256,), size_bytes=1024) for place in range(blocks)
            ),
            nodes=nodes,
        ),
        totals=ViewTotals(nodes=len(ops), parameters=256 * blocks, weight_bytes=1024 * blocks),
    )


def nasty_view() -> GraphView:
    """A chain whose every name (of nodes, tensors, operators, dimensions, metadata, attributes) is a trap."""
    names = NASTY_NAMES
    nodes = tuple(
        node(
            place,
            name or "Identity",
            (names[place - 1] if place else "in",),
            (f"{name}" if name else f"out{place}",),
            name=name,
            label=f"{name}_{place}",
            domain=name if place % 2 else "",
            attributes=((name, repr(name)),),
            doc=name,
        )
        for place, name in enumerate(names)
    )
    values = tuple(ViewValue(name=name, type="float32", shape=(name, 3, None)) for name in ("in", *names[:-2]))
    tensors = tuple(
        ViewTensor(name=name, dtype="float32", shape=(1,), size_bytes=4, preview=name) for name in names[:-3]
    )
    return GraphView(
        model=names[3],
        producer=names[0],
        opsets={"ai.onnx": 18, names[2]: 1},
        metadata=dict.fromkeys(names, names[3]),
        doc="\n".join(names),
        graph=ViewGraph(
            name=names[1],
            inputs=values[:3],
            outputs=values[-3:],
            initializers=tensors,
            nodes=nodes,
            types={value.name: value for value in values},
        ),
        totals=ViewTotals(nodes=len(nodes), operators={names[0]: 1}),
    )
