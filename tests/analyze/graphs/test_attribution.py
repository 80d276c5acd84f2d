"""Executed nodes given back to the nodes of the original model that they replaced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from onnx import helper, numpy_helper
from onnx.helper import make_node

from onnxperf.analyze.graphs.attribution import attribute, source_times, split_estimate
from onnxperf.model.outline import outline, with_names
from onnxperf.records.graph import Graph, GraphNode
from onnxperf.records.profile import NodeTime, SourceGroup
from tests.analyze.steps import lines_executed

WEIGHTS = frozenset({"w", "b", "k", "s", "z"})
LEVELS = {
    "disable": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
NODE = re.compile(r"(\S*): (\w+)\[?(\w*)\]?\(([^)]*)\) -> (.*)")


def graph(*lines: str, outputs: Sequence[str] = ("y",), **bodies: Graph) -> Graph:
    """Nodes written as `name: Operator[activation](inputs) -> outputs`; a name in `bodies` gets that body."""
    nodes = []
    for line in lines:
        found = NODE.fullmatch(line)
        assert found, line
        name, op_type, activation, inputs, made = found.groups()
        body = (("body", bodies[name]),) if name in bodies else ()
        nodes.append(
            GraphNode(
                name=name,
                op_type=op_type,
                inputs=tuple(each.strip() for each in inputs.split(",")) if inputs else (),
                outputs=tuple(each.strip() for each in made.split(",")),
                activation=activation,
                subgraphs=body,
            )
        )
    return Graph(inputs=("x",), outputs=tuple(outputs), constants=WEIGHTS, nodes=tuple(nodes))


def described(groups: Sequence[SourceGroup]) -> set[str]:
    """`kind sources <- executed`, with the path before and the twin after."""
    return {
        f"{'/'.join((*group.path, group.kind))} {'+'.join(group.sources)}<-{'+'.join(group.executed)}"
        + (f" = {group.same_as}" if group.same_as else "")
        for group in groups
    }


# ---------------------------------------------------------------- by hand


CONV = ("c: Conv(x, w) -> c", "r: Relu(c) -> r")
RESIDUAL = (*CONV, "d: Conv(r, w) -> d", "a: Add(d, r) -> a", "e: Relu(a) -> e", "p: MaxPool(e) -> y")

CASES = {
    "one node makes the outputs of several": (
        ("m: Mul(x, k) -> m", "n: Neg(x) -> n", "a: Add(m, n) -> y"),
        ("f: Both(x, k) -> m, n", "a: Add(m, n) -> y"),
        {"fused m+n<-f", "kept a<-a"},
    ),
    "two nodes that share the outputs of several are one group": (
        ("p: Split(x) -> p, q", "n: Neg(x) -> n", "m: Abs(x) -> m", "a: Sum(p, q, n, m) -> y"),
        ("f: Both(x) -> p, n", "g: Other(x) -> m, q", "a: Sum(p, q, n, m) -> y"),
        {"fused p+n+m<-f+g", "kept a<-a"},
    ),
    "an output without a name stands for nothing": (
        ("s: Split(x) -> , t", "n: Neg(t) -> y"),
        ("s: Split(x) -> , t", "n: Neg(t) -> y"),
        {"kept s<-s", "kept n<-n"},
    ),
    "a shape that is computed may have changed something": (
        ("h: Abs(x) -> h", "r: Reshape(x, h) -> r", "n: Neg(r) -> y"),
        ("n: Neg(x) -> y",),
        {"fused h+r+n<-n"},
    ),
    "nothing changed": (CONV, CONV, {"kept c<-c", "kept r<-r"}),
    "a fused node has the last output": (CONV, ("c: FusedConv(x, w) -> r",), {"fused c+r<-c"}),
    "a weight that was changed still belongs to the fused node": (
        ("c: Conv(x, w) -> c", "n: BatchNormalization(c, s, b) -> y"),
        ("c: Conv(x, new_w) -> y",),
        {"fused c+n<-c"},
    ),
    "another operator is no longer the same node": (("g: Gelu(x) -> y",), ("g: FastGelu(x) -> y",), {"fused g<-g"}),
    "the blocked layout names nodes after tensors": (
        (*CONV, "p: MaxPool(r) -> y"),
        (
            "r_nchwc: Conv[Relu](x, reorder) -> token_0",
            "y_nchwc: MaxPool(token_0) -> token_1",
            "ReorderOutput: ReorderOutput(token_1) -> y",
        ),
        {"fused c+r<-r_nchwc", "kept p<-y_nchwc", "inserted <-ReorderOutput"},
    ),
    "a blocked convolution absorbs a sum and an activation": (
        RESIDUAL,
        (
            "r_nchwc: Conv[Relu](x, w) -> t0",
            "d_nchwc: Conv[Relu](t0, w, , t0) -> t1",
            "y_nchwc: MaxPool(t1) -> t2",
            "out: ReorderOutput(t2) -> y",
        ),
        {"fused c+r<-r_nchwc", "fused d+a+e<-d_nchwc", "kept p<-y_nchwc", "inserted <-out"},
    ),
    "a blocked convolution leaves a sum to the node that does it": (
        RESIDUAL,
        (
            "r_nchwc: Conv[Relu](x, w) -> t0",
            "d_nchwc: Conv(t0, w) -> t1",
            "a: Add(t1, t0) -> t2",
            "e: Relu(t2) -> t3",
            "y_nchwc_token_7: MaxPool(t3) -> t4",
            "out: ReorderOutput(t4) -> y",
        ),
        {
            "fused c+r<-r_nchwc",
            "kept d<-d_nchwc",
            "kept a<-a",
            "kept e<-e",
            "kept p<-y_nchwc_token_7",
            "inserted <-out",
        },
    ),
    "a reorder that transposes does the work of the transposition": (
        ("c: Conv(x, w) -> c", "t: Transpose(c) -> y"),
        ("c_nchwc: Conv(x, w) -> t0", "o: ReorderOutput(t0) -> y"),
        {"kept c<-c_nchwc", "fused t<-o"},
    ),
    "one of two equal nodes was kept": (
        ("m: Mul(x, k) -> m", "i: Identity(x) -> i", "n: Mul(i, k) -> n", "a: Add(m, n) -> y"),
        ("n: Mul(x, k) -> n", "a: Add(n, n) -> y"),
        {"kept n<-n", "kept a<-a", "duplicate m<- = n", "removed i<-"},
    ),
    "two equal nodes that are both executed are both kept": (
        ("m: Mul(x, k) -> m", "n: Mul(x, k) -> n", "a: Add(m, n) -> y"),
        ("m: Mul(x, k) -> m", "n: Mul(x, k) -> n", "a: Add(m, n) -> y"),
        {"kept m<-m", "kept n<-n", "kept a<-a"},
    ),
    "random nodes are never equal": (
        ("m: RandomNormal() -> m", "n: RandomNormal() -> n", "a: Add(m, n) -> y"),
        ("f: Fused() -> y",),
        {"fused m+n+a<-f"},
    ),
    "what depends on constants only was folded": (
        ("v: Constant() -> v", "f: Mul(k, v) -> f", "a: Add(x, f) -> y"),
        ("a: Add(x, f) -> y",),
        {"kept a<-a", "folded v<-", "folded f<-"},
    ),
    "a shape that is known was folded": (
        ("h: Shape(x) -> h", "g: Gather(h, k) -> g", "r: Reshape(x, g) -> y"),
        ("r: Reshape(x, new) -> y",),
        {"kept r<-r", "folded h<-", "folded g<-"},
    ),
    "a shape that is executed was not folded": (
        ("h: Shape(x) -> h", "g: Gather(h, k) -> g", "r: Reshape(x, g) -> y"),
        ("h: Shape(x) -> h", "r: Other(x, h) -> y"),
        {"kept h<-h", "fused g+r<-r"},
    ),
    "nodes without an effect were removed": (
        ("i: Identity(x) -> i", "d: Dropout(i) -> d", "u: Neg(x) -> u", "r: Relu(d) -> r", "o: Identity(r) -> y"),
        ("r: Relu(x) -> y",),
        {"kept r<-r", "removed i<-", "removed d<-", "removed u<-", "removed o<-"},
    ),
    "a cast that changes nothing was removed before and after": (
        ("c: Cast(x) -> c", "r: Relu(c) -> r", "e: Cast(r) -> y"),
        ("r: Relu(x) -> y",),
        {"kept r<-r", "removed c<-", "removed e<-"},
    ),
    "transpositions that cancel were removed": (
        ("q: Transpose(x) -> q", "r: Add(q, k) -> r", "t: Transpose(r) -> y"),
        ("r: Add(x, k2) -> y",),
        {"kept r<-r", "removed q<-", "removed t<-"},
    ),
    "casts and copies were inserted": (
        ("r: Relu(x) -> r", "n: Neg(r) -> y"),
        (
            "InsertedPrecisionFreeCast_x: Cast(x) -> InsertedPrecisionFreeCast_x",
            "r: Relu(InsertedPrecisionFreeCast_x) -> InsertedPrecisionFreeCast_r",
            "n: Neg(InsertedPrecisionFreeCast_r) -> InsertedPrecisionFreeCast_y",
            "InsertedPrecisionFreeCast_y: Cast(InsertedPrecisionFreeCast_y) -> q",
            "Memcpy: MemcpyToHost(q) -> y",
        ),
        {
            "kept r<-r",
            "kept n<-n",
            "inserted <-InsertedPrecisionFreeCast_x",
            "inserted <-InsertedPrecisionFreeCast_y",
            "inserted <-Memcpy",
        },
    ),
    "transpositions around a node in another layout were inserted": (
        ("m: MaxPool(x) -> m", "r: Relu(m) -> y"),
        (
            "Transpose: Transpose(x) -> Transpose_out",
            "m_token_1: NhwcMaxPool(Transpose_out) -> m_token_2",
            "Transpose_token_3: Transpose(m_token_2) -> m",
            "r: Relu(m) -> y",
        ),
        {"fused m<-m_token_1", "kept r<-r", "inserted <-Transpose", "inserted <-Transpose_token_3"},
    ),
    "a transposition of the user's own hides none that was inserted before it": (
        ("m: MaxPool(x) -> m", "t: Transpose(m) -> y"),
        (
            "m_token_1: NhwcMaxPool(x) -> m_token_2",
            "Transpose_token_3: Transpose(m_token_2) -> m",
            "t: Transpose(m) -> y",
        ),
        {"fused m<-m_token_1", "inserted <-Transpose_token_3", "kept t<-t"},
    ),
    "helpers of the user's own are kept": (
        ("i: ReorderInput(x) -> i", "InsertedCast_1: Cast(i) -> InsertedCast_1", "r: Relu(InsertedCast_1) -> y"),
        ("i: ReorderInput(x) -> i", "InsertedCast_1: Cast(i) -> InsertedCast_1", "r: Relu(InsertedCast_1) -> y"),
        {"kept i<-i", "kept InsertedCast_1<-InsertedCast_1", "kept r<-r"},
    ),
    "a function was inlined": (
        ("f: Function(x) -> f, g", "a: Add(f, g) -> y"),
        (
            "1: Mul(x, k) -> in_1",
            "2: Cast(in_1) -> in_2",
            "3: Exp(in_2) -> f",
            "4: Sqrt(in_2) -> g",
            "a: Add(f, g) -> y",
        ),
        {"fused f<-1+2+3+4", "kept a<-a"},
    ),
    "a node that serves two groups belongs to neither": (
        ("f: Function(x) -> f", "g: Function(f) -> y"),
        ("1: Sqrt(k) -> in_1", "2: Div(x, in_1) -> f", "3: Div(f, in_1) -> y"),
        {"fused f<-2", "fused g<-3", "unattributed <-1"},
    ),
    "a node that two groups compute is in both": (
        ("n: Neg(x) -> n", "a: Abs(n) -> a", "e: Exp(n) -> e", "s: Add(a, e) -> y"),
        ("a: NegAbs(x) -> a", "e: NegExp(x) -> e", "s: Add(a, e) -> y"),
        {"fused n+a<-a", "fused n+e<-e", "kept s<-s"},
    ),
    "a kernel that reads quantised weights dequantises them": (
        (
            "q: DequantizeLinear(x, s) -> q",
            "v: DequantizeLinear(w, s) -> v",
            "c: Conv(q, v) -> c",
            "o: QuantizeLinear(c, s) -> y",
        ),
        ("c: QLinearConv(x, s, w, s, s) -> y",),
        {"fused q+v+c+o<-c"},
    ),
    "an identity between fused nodes was removed": (
        ("c: Conv(x, w) -> c", "i: Identity(c) -> i", "r: Relu(i) -> y"),
        ("c: FusedConv(x, w) -> y",),
        {"fused c+r<-c", "removed i<-"},
    ),
    "names that are missing or doubled": (
        (": Neg(x) -> n", ": Abs(n) -> y"),
        (": Neg(x) -> n", "t: Abs(n) -> y", "t: Foo(x) -> q"),
        {"kept Neg_0<-Neg#0", "kept Abs_1<-t", "unattributed <-t"},
    ),
    "circles do no harm": (
        ("a: Identity(b) -> b", "c: Neg(d) -> d", "e: Cast(f) -> f", "g: Add(b, d, f) -> y"),
        ("g: Foo(x) -> y",),
        {"fused c+e+g<-g", "removed a<-"},
    ),
    "a circle of nodes that change nothing has no beginning": (
        ("i: Identity(p) -> q", "j: Identity(q) -> p", "n: Neg(x) -> y"),
        ("f: Foo(x) -> q", "n: Neg(x) -> y"),
        {"removed i<-", "fused j<-f", "kept n<-n"},
    ),
    "a circle of readers has no end": (
        ("i: Identity(p) -> q", "j: Identity(q) -> p", "n: Neg(x) -> y"),
        ("p_nchwc: Conv(x) -> t", "n: Neg(x) -> y"),
        {"fused j<-p_nchwc", "removed i<-", "kept n<-n"},
    ),
    "a circle before a node is not its input": (
        ("i: Cast(p) -> q", "j: Cast(q) -> p", "n: Neg(q) -> y"),
        ("n: Neg(x) -> y",),
        {"fused i+j+n<-n"},
    ),
    "a tensor that is made twice, and not in the original, belongs to nothing": (
        ("n: Neg(x) -> y",),
        ("h: Transpose(x) -> t", "g: Foo(x) -> t", "n: Neg(x) -> y"),
        {"inserted <-h", "unattributed <-g", "kept n<-n"},
    ),
}


@pytest.mark.parametrize(("source", "executed", "expected"), CASES.values(), ids=CASES)
def test_executed_nodes_belong_to_what_they_replaced(
    source: Sequence[str], executed: Sequence[str], expected: set[str]
) -> None:
    assert described(attribute(graph(*source), graph(*executed))) == expected


BODY = graph("k2: Mul(k, k) -> k2", "n: Neg(i) -> n", "a: Mul(n, k2) -> a", outputs=["a"])
SMALL_BODY = graph("n: NegMul(i, k2) -> a", outputs=["a"])
LOOP = ("l: Loop(x) -> y",)


@pytest.mark.parametrize(
    ("source", "executed", "expected"),
    [
        (graph(*LOOP, l=BODY), graph(*LOOP, l=SMALL_BODY), {"kept l<-l", "l/fused n+a<-n", "l/folded k2<-"}),
        (
            graph(*LOOP, l=BODY),
            graph("f: Foo(x) -> y"),
            {"fused l<-f", "l/unattributed k2<-", "l/unattributed n<-", "l/unattributed a<-"},
        ),
        (
            graph("l: Loop(x) -> l", "r: Relu(x) -> y", l=graph(*LOOP, l=SMALL_BODY)),
            graph("r: Relu(x) -> y"),
            {"kept r<-r", "removed l<-", "l/removed l<-", "l/l/removed n<-"},
        ),
        (
            graph("f: Function(x) -> y"),
            graph(*LOOP, l=graph(*LOOP, l=SMALL_BODY)),
            {"fused f<-l", "l/fused f<-l", "l/l/fused f<-n"},
        ),
        (
            graph("r: Relu(x) -> y"),
            graph("r: Relu(x) -> y", "l: Loop(x) -> l", l=graph(outputs=["i"])),
            {"kept r<-r", "unattributed <-l"},
        ),
        (
            graph("r: Relu(x) -> y"),
            graph("r: Relu(x) -> y", "l: Loop(x) -> l", l=SMALL_BODY),
            {"kept r<-r", "unattributed <-l", "l/unattributed <-n"},
        ),
    ],
)
def test_bodies_are_attributed_inside_their_node(source: Graph, executed: Graph, expected: set[str]) -> None:
    assert described(attribute(source, executed)) == expected


# ---------------------------------------------------------------- real onnxruntime


def weight(name: str, *shape: int) -> onnx.TensorProto:
    values = np.random.default_rng(len(name)).standard_normal(shape) * 0.1
    return numpy_helper.from_array(values.astype(np.float32), name)


def constant(name: str, value: object, dtype: type = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


def info(
    name: str, shape: Sequence[int | str] | None = None, kind: int = onnx.TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    lines: Sequence[str | onnx.NodeProto],
    shape: Sequence[int | str],
    initialisers: Sequence[onnx.TensorProto],
    outputs: Sequence[str] = ("y",),
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    nodes = [protos(line) if isinstance(line, str) else line for line in lines]
    made = helper.make_graph(nodes, "g", [info("x", shape)], [info(name) for name in outputs], initialisers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8, functions=functions)


def protos(line: str, **attributes: int | list[int]) -> onnx.NodeProto:
    node = graph(line).nodes[0]
    return make_node(node.op_type, node.inputs, node.outputs, node.name, None, None, None, **attributes)


def cnn() -> onnx.ModelProto:
    lines: list[str | onnx.NodeProto] = [
        protos("n0: Conv(x, w0, b0) -> c0", pads=[1] * 4),
        "n1: Relu(c0) -> r0",
        protos("n2: MaxPool(r0) -> p0", kernel_shape=[2, 2], strides=[2, 2]),
        protos("n3: Conv(p0, w1) -> c1", pads=[1] * 4),
        "n4: BatchNormalization(c1, s, b, m, v) -> bn",
        "n5: Relu(bn) -> r1",
        protos("n6: Conv(r1, w1) -> c2", pads=[1] * 4),
        "n7: Add(c2, p0) -> a",
        "n8: Relu(a) -> r2",
        "n9: GlobalAveragePool(r2) -> gap",
        "n10: Flatten(gap) -> fl",
        "n11: MatMul(fl, q) -> mq",
        "n12: Add(mq, bq) -> aq",
        "n13: Mul(k, k) -> kk",
        "n14: Mul(aq, kk) -> sc",
        "n15: Softmax(sc) -> y",
        "n16: Identity(fl) -> fl2",
        "n17: MatMul(fl2, q) -> mq2",
        "n18: Relu(mq2) -> o2",
    ]
    vectors = [weight(name, 32) for name in ("b0", "s", "b", "m")]
    rest = [
        weight("w0", 32, 3, 3, 3),
        weight("w1", 32, 32, 3, 3),
        weight("q", 32, 10),
        weight("bq", 10),
        weight("k", 1),
    ]
    return model(lines, [1, 3, 16, 16], [*vectors, constant("v", np.ones(32)), *rest], ("y", "o2"))


def layer_norm(given: str, made: str, name: str) -> list[str | onnx.NodeProto]:
    return [
        protos(f"{name}.mean: ReduceMean({given}) -> {name}.mean", axes=[-1]),
        f"{name}.sub: Sub({given}, {name}.mean) -> {name}.sub",
        f"{name}.pow: Pow({name}.sub, two) -> {name}.pow",
        protos(f"{name}.var: ReduceMean({name}.pow) -> {name}.var", axes=[-1]),
        f"{name}.eps: Add({name}.var, eps) -> {name}.eps",
        f"{name}.sqrt: Sqrt({name}.eps) -> {name}.sqrt",
        f"{name}.div: Div({name}.sub, {name}.sqrt) -> {name}.div",
        f"{name}.mul: Mul({name}.div, scale) -> {name}.mul",
        f"{name}.add: Add({name}.mul, bias) -> {made}",
    ]


def transformer() -> onnx.ModelProto:
    lines = layer_norm("x", "n", "norm")
    for each in "qkv":
        lines += [
            f"{each}.mm: MatMul(n, w{each}) -> {each}.0",
            f"{each}.add: Add({each}.0, bias) -> {each}.1",
            f"{each}.shape: Reshape({each}.1, heads) -> {each}.2",
            protos(f"{each}.t: Transpose({each}.2) -> {each}.3", perm=[0, 2, 1, 3]),
        ]
    lines += [
        protos("kt: Transpose(k.3) -> k.4", perm=[0, 1, 3, 2]),
        "qk: MatMul(q.3, k.4) -> qk",
        "div: Div(qk, two) -> div",
        protos("soft: Softmax(div) -> soft", axis=-1),
        "drop: Dropout(soft) -> drop",
        "av: MatMul(drop, v.3) -> av",
        protos("at: Transpose(av) -> at", perm=[0, 2, 1, 3]),
        "back: Reshape(at, flat) -> back",
        "res: Add(back, x) -> res",
        "up: MatMul(res, w1) -> up",
        "up.add: Add(up, b1) -> h",
        "g.div: Div(h, root) -> g.div",
        "g.erf: Erf(g.div) -> g.erf",
        "g.add: Add(g.erf, one) -> g.add",
        "g.mul: Mul(h, g.add) -> g.mul",
        "g.half: Mul(g.mul, half) -> g",
        "down: MatMul(g, w2) -> y",
    ]
    scalars = [constant(*each) for each in (("two", 2), ("eps", 1e-5), ("root", 2**0.5), ("one", 1), ("half", 0.5))]
    shapes = [constant("heads", [0, 0, 2, 4], np.int64), constant("flat", [0, 0, 8], np.int64)]
    weights = [weight("scale", 8), weight("bias", 8), weight("w1", 8, 16), weight("b1", 16), weight("w2", 16, 8)]
    return model(lines, ["batch", "words", 8], [*scalars, *shapes, *weights, *(weight(f"w{e}", 8, 8) for e in "qkv")])


def functions() -> onnx.ModelProto:
    inner = [make_node("Mul", ["a", "k"], ["m"]), make_node("Exp", ["m"], ["e"])]
    inner += [make_node("Add", ["e", "a"], ["b"]), make_node("Sqrt", ["e"], ["c"])]
    function = helper.make_function("mine", "Scaled", ["a", "k"], ["b", "c"], inner, [helper.make_opsetid("", 17)])
    calls = [
        make_node("Scaled", [given, "k"], [f"{name}.b", f"{name}.c"], name=name, domain="mine")
        for name, given in (("f", "x"), ("g", "f.b"))
    ]
    return model([*calls, "s: Sum(f.c, g.b, g.c) -> y"], [2, 3], [weight("k", 3)], functions=[function])


def branches() -> onnx.ModelProto:
    """An If with a constant condition, around another one, and a loop."""
    leaf = [helper.make_graph([protos("in.neg: Neg(q) -> t0"), protos("in.exp: Exp(t0) -> t1")], "a", [], [info("t1")])]
    leaf.append(helper.make_graph([protos("in.abs: Abs(q) -> t2")], "b", [], [info("t2")]))
    nested = make_node("If", ["yes"], ["z"], name="inner", then_branch=leaf[0], else_branch=leaf[1])
    then_branch = helper.make_graph([protos("relu: Relu(x) -> q"), nested], "c", [], [info("z")])
    else_branch = helper.make_graph([protos("neg: Neg(x) -> t3")], "d", [], [info("t3")])
    body_nodes = [
        "l.sq: Mul(k, k) -> kk",
        "l.add: Add(state, kk) -> s1",
        "l.relu: Relu(s1) -> s2",
        "l.go: Identity(c) -> d",
    ]
    body = helper.make_graph(
        [protos(line) for line in body_nodes],
        "e",
        [info("i", [], onnx.TensorProto.INT64), info("c", [], onnx.TensorProto.BOOL), info("state")],
        [info("d", [], onnx.TensorProto.BOOL), info("s2")],
    )
    lines = [
        make_node("If", ["yes"], ["o"], name="outer", then_branch=then_branch, else_branch=else_branch),
        make_node("Loop", ["three", "yes", "o"], ["y"], name="loop", body=body),
    ]
    return model(lines, [2, 3], [constant("yes", True, bool), constant("three", 3, np.int64), weight("k", 3)])


def quantised() -> onnx.ModelProto:
    lines: list[str | onnx.NodeProto] = [
        "q: QuantizeLinear(x, s, z) -> xq",
        "d: DequantizeLinear(xq, s, z) -> xd",
        "dw: DequantizeLinear(wq, s) -> wd",
        "conv: Conv(xd, wd) -> c",
        "relu: Relu(c) -> r",
        "q2: QuantizeLinear(r, s, z) -> rq",
        "d2: DequantizeLinear(rq, s, z) -> rd",
        protos("pool: MaxPool(rd) -> p", kernel_shape=[2, 2]),
        "q3: QuantizeLinear(p, s, z) -> pq",
        "d3: DequantizeLinear(pq, s, z) -> y",
    ]
    weights = [constant("s", 0.1), constant("z", 0, np.uint8), constant("wq", np.ones((4, 3, 3, 3)), np.int8)]
    return model(lines, [1, 3, 8, 8], weights)


MODELS = {made.__name__: made for made in (cnn, transformer, functions, branches, quantised)}


def executed_graph(proto: onnx.ModelProto, level: str, folder: Path) -> Graph:
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(folder / "executed.onnx")
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Weights beside the graph, where nothing has to read them: some models have hundreds of megabytes.
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
    ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return outline(onnx.load(options.optimized_model_filepath, load_external_data=False))


def all_nodes(of: Graph, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for position, node in enumerate(of.nodes):
        name = node.name or f"{node.op_type}#{position}"
        yield path, name
        for _, body in node.subgraphs:
            yield from all_nodes(body, (*path, name))


def check_complete(source: Graph, executed: Graph, groups: Sequence[SourceGroup]) -> None:
    """Every executed node in exactly one group, every original one in at least one; and kinds as they are defined."""
    placed = Counter((group.path, name) for group in groups for name in group.executed)
    assert placed == Counter(all_nodes(executed))
    assert {name for _, name in all_nodes(source)} == {name for group in groups for name in group.sources}
    for group in groups:
        assert len(group.sources) == len(group.source_ops)
        assert len(group.executed) == len(group.executed_ops)
        assert bool(group.same_as) is (group.kind == "duplicate")
        if group.kind in ("kept", "fused"):
            assert group.sources
            assert group.executed
            alone = len(group.sources) == len(group.executed) == 1
            assert (group.kind == "kept") is (alone and group.source_ops == group.executed_ops)
        else:
            assert bool(group.sources) is not bool(group.executed)


def attributed(proto: onnx.ModelProto, level: str, folder: Path) -> set[str]:
    proto, _ = with_names(proto)
    source, executed = outline(proto), executed_graph(proto, level, folder)
    groups = attribute(source, executed)
    check_complete(source, executed, groups)
    assert all(group.kind != "unattributed" for group in groups)
    return described(groups)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_lost_at_any_level(name: str, level: str, tmp_path: Path) -> None:
    attributed(MODELS[name](), level, tmp_path)


NORM = "+".join(f"norm.{each}" for each in ("mean", "sub", "pow", "var", "eps", "sqrt", "div", "mul", "add"))


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("cnn", "basic", {"fused n3+n4<-n3", "duplicate n11<- = n17", "folded n13<-", "removed n16<-", "kept n7<-n7"}),
        ("cnn", "extended", {"fused n0+n1<-n0", "fused n3+n4+n5<-n3", "kept n12<-n12"}),
        ("transformer", "extended", {f"fused {NORM}<-norm.mul/LayerNormFusion/", "fused k.t+kt<-kt", "removed drop<-"}),
        ("transformer", "extended", {"fused up.add+g.div+g.erf+g.add+g.mul+g.half<-BiasGelu"}),
        ("transformer", "extended", {"fused qk+div<-qk/MatMulScaleFusion/"}),
        ("branches", "basic", {"kept relu<-_if_then_branch_Relu", "removed outer<-", "outer/removed neg<-"}),
        ("branches", "basic", {"kept in.exp<-_if_then_branch_Exp", "removed inner<-", "inner/removed in.abs<-"}),
        ("branches", "basic", {"kept loop<-loop", "loop/folded l.sq<-", "loop/kept l.add<-l.add"}),
        ("quantised", "extended", {"fused d+dw+conv+relu+q2<-conv", "fused d2+pool+q3<-pool"}),
    ],
)
def test_what_onnxruntime_fuses_is_recognised(name: str, level: str, expected: set[str], tmp_path: Path) -> None:
    assert expected <= attributed(MODELS[name](), level, tmp_path)


def test_only_the_branch_that_is_not_taken_is_removed(tmp_path: Path) -> None:
    found = attributed(branches(), "basic", tmp_path)
    assert {line for line in found if line.startswith(("outer/", "inner/"))} == {
        "outer/removed neg<-",
        "inner/removed in.abs<-",
    }


def test_the_blocked_layout_is_recognised_where_the_processor_has_it(tmp_path: Path) -> None:
    found = attributed(cnn(), "all", tmp_path)
    if not any("_nchwc" in line for line in found):
        pytest.skip("this processor has no blocked layout")
    assert {
        "fused n0+n1<-r0_nchwc",
        "kept n2<-p0_nchwc",
        "fused n6+n7+n8<-c2_nchwc",
        "kept n9<-gap_nchwc",
        "inserted <-ReorderOutput",
    } <= found


LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
SHIPPED = sorted((Path(ort.__file__).parent / "datasets").glob("*.onnx"))


HEAVY = {"light_bvlc_alexnet", "light_vgg19", "light_zfnet512"}
"""Saving these writes hundreds of megabytes."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.thorough] if path.stem in HEAVY else [], id=path.stem)
        for path in (*LIGHT, *SHIPPED)
    ],
)
def test_models_of_other_projects_are_attributed_whole(path: Path, tmp_path: Path) -> None:
    for level in ("basic", "all"):
        attributed(onnx.load(path), level, tmp_path)


# ---------------------------------------------------------------- any graph


@st.composite
def sources_and_merges(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """A graph, and what is left of it when some of its nodes are merged into the next ones, renamed or dropped."""
    known, nodes, executed = ["x", "k"], [], []
    for number in range(draw(st.integers(0, 12))):
        inputs = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        op_type = draw(st.sampled_from(["Add", "Relu", "Identity", "Transpose", "Cast", "Shape", "Conv"]))
        name = draw(st.sampled_from([f"n{number}", ""]))
        nodes.append(GraphNode(name=name, op_type=op_type, inputs=tuple(inputs), outputs=(f"t{number}",)))
        known.append(f"t{number}")
        fate = draw(st.sampled_from(["kept", "merged", "blocked", "fused", "helped", "strange"]))
        if fate in ("kept", "fused", "helped"):
            executed.append(replace(nodes[-1], op_type=op_type if fate == "kept" else f"Fused{op_type}"))
        if fate == "blocked":
            executed.append(replace(nodes[-1], name=f"t{number}_nchwc", outputs=(f"reorder_{number}",)))
        if fate in ("blocked", "helped"):
            helper_op = draw(st.sampled_from(["ReorderOutput", "Transpose", "Cast"]))
            executed.append(
                GraphNode(name="", op_type=helper_op, inputs=(f"reorder_{number}",), outputs=(f"t{number}",))
            )
        if fate == "strange":
            executed.append(replace(nodes[-1], name="", outputs=(f"strange_{number}",)))
    whole = Graph(inputs=("x",), outputs=(known[-1],), constants=frozenset({"k"}), nodes=tuple(nodes))
    return whole, replace(whole, nodes=tuple(draw(st.permutations(executed)) if draw(st.booleans()) else executed))


@given(sources_and_merges())
def test_no_node_is_lost_or_counted_twice(graphs: tuple[Graph, Graph]) -> None:
    source, executed = graphs
    groups = attribute(source, executed)
    placed = Counter(name for group in groups for name in group.executed)
    assert placed == Counter(name for _, name in all_nodes(executed))
    labels = {node.name or f"{node.op_type}_{position}" for position, node in enumerate(source.nodes)}
    assert labels == {name for group in groups for name in group.sources}


TENSORS = st.sampled_from(["x", "k", "", *(f"t{number}" for number in range(5))])
WILD_NODES = st.builds(
    GraphNode,
    name=st.sampled_from(["", "n", "t0_nchwc", "t1", "m_token_1", "InsertedPrecisionFreeCast_t2"]),
    op_type=st.sampled_from(
        ["Add", "Conv", "QLinearConv", "Relu", "Identity", "Cast", "Transpose", "Reshape", "Shape"]
    ),
    inputs=st.lists(TENSORS, max_size=3).map(tuple),
    outputs=st.lists(TENSORS, max_size=2).map(tuple),
    activation=st.sampled_from(["", "Relu"]),
)
WILD_GRAPHS = st.builds(
    Graph,
    inputs=st.just(("x",)),
    outputs=st.lists(TENSORS, max_size=2).map(tuple),
    constants=st.just(frozenset({"k"})),
    nodes=st.lists(WILD_NODES, max_size=8).map(tuple),
)


@given(WILD_GRAPHS, WILD_GRAPHS)
def test_no_node_of_a_graph_with_circles_and_doubles_is_lost(source: Graph, executed: Graph) -> None:
    """A file may hold anything."""
    groups = attribute(source, executed)
    placed = Counter(name for group in groups for name in group.executed)
    assert placed == Counter(name for _, name in all_nodes(executed))
    labels = {node.name or f"{node.op_type}_{position}" for position, node in enumerate(source.nodes)}
    assert labels == {name for group in groups for name in group.sources}


@given(sources_and_merges())
def test_a_graph_that_is_executed_as_it_is_keeps_every_node(graphs: tuple[Graph, Graph]) -> None:
    groups = attribute(graphs[0], graphs[0])
    assert all(group.kind == "kept" for group in groups)
    assert len(groups) == len(graphs[0].nodes)


def sums(length: int, kept_every: int) -> tuple[Graph, Graph]:
    """A chain of sums, and the same with one node left of so many."""
    lines = [f"n{number}: Add(t{number}, t{max(0, number - 3)}) -> t{number + 1}" for number in range(length)]
    source = graph(*lines, outputs=[f"t{length}"])
    return source, replace(source, nodes=source.nodes[kept_every - 1 :: kept_every])


@pytest.mark.parametrize("kept_every", [1, 10, 500])
def test_the_work_grows_with_the_graph_and_not_with_its_square(kept_every: int) -> None:
    assert sum(len(group.executed) for group in attribute(*sums(500, kept_every))) == 500 // kept_every
    small, large = sums(500, kept_every), sums(2000, kept_every)
    assert lines_executed(lambda: attribute(*large)) < 5 * lines_executed(lambda: attribute(*small))


# ---------------------------------------------------------------- times


def timed(name: str, *self_us: int, op_name: str = "Add", path: tuple[str, ...] = ()) -> NodeTime:
    usual = sum(self_us) / max(len(self_us), 1)
    return NodeTime(
        name=name,
        op_name=op_name,
        path=path,
        calls=len(self_us),
        self_us=self_us,
        total_us=self_us,
        usual_us=usual,
        usual_total_us=usual,
    )


def test_groups_are_listed_by_their_time_and_those_without_come_last() -> None:
    groups = attribute(
        graph("a: Add(x, x) -> a", "i: Identity(a) -> i", "b: Mul(i, k) -> m", "c: Relu(m) -> c", "d: Neg(c) -> y"),
        graph("a: Add(x, x) -> a", "b: Fused(a) -> c", "d: Neg(c) -> y"),
    )
    times = source_times(groups, [timed("a", 5, 1), timed("b", 7, 8), timed("stranger", 1, 2), timed("d", 0, 0)])
    assert [(time.group.sources, time.group.executed, time.calls, time.self_us) for time in times] == [
        (("b", "c"), ("b",), 2, (7, 8)),
        (("a",), ("a",), 2, (5, 1)),
        ((), ("stranger",), 2, (1, 2)),
        (("d",), ("d",), 2, (0, 0)),
        (("i",), (), 0, (0, 0)),
    ]
    assert times[2].group.kind == "unattributed"


def test_a_body_is_told_from_another_by_its_path() -> None:
    source = graph("l: Loop(x) -> l", "m: Loop(l) -> y", l=SMALL_BODY, m=SMALL_BODY)
    nodes = [timed("n", 3, path=("l",)), timed("n", 4, path=("m",)), timed("n", 5)]
    times = source_times(attribute(source, source), nodes)
    assert [(time.group.path, time.self_us, time.group.kind) for time in times if time.calls] == [
        ((), (5,), "unattributed"),
        (("m",), (4,), "kept"),
        (("l",), (3,), "kept"),
    ]


def test_nodes_without_a_name_are_found_by_operator_and_order() -> None:
    lines = [": Mul(x, k) -> a", ": Neg(a) -> b", ": Mul(b, k) -> y"]
    groups = attribute(graph("p: Mul(x, k) -> a", "q: Neg(a) -> b", "r: Mul(b, k) -> y"), graph(*lines))
    nodes = [timed("Mul_7", 3, op_name="Mul"), timed("Neg_4", 2, op_name="Neg"), timed("Mul_2", 1, op_name="Mul")]
    times = source_times(groups, nodes)
    assert [(time.group.sources, time.group.executed, time.self_us) for time in times] == [
        (("p",), ("Mul_7",), (3,)),
        (("q",), ("Neg_4",), (2,)),
        (("r",), ("Mul_2",), (1,)),
    ]


def test_nodes_of_one_name_are_told_apart_by_their_operator() -> None:
    both = graph("t: Neg(x) -> n", "t: Abs(n) -> y")
    times = source_times(attribute(both, both), [timed("t", 2, op_name="Abs"), timed("t", 9, op_name="Neg")])
    assert [(time.group.source_ops, time.self_us) for time in times] == [(("Neg",), (9,)), (("Abs",), (2,))]


@given(sources_and_merges(), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10**9)), max_size=20))
def test_sums_are_preserved_exactly(graphs: tuple[Graph, Graph], measured: Sequence[tuple[int, int]]) -> None:
    names = [name for _, name in all_nodes(graphs[1])]
    nodes = [timed((names * 21)[place] if names else "?", time_us, place, op_name="Add") for place, time_us in measured]
    times = source_times(attribute(*graphs), nodes)
    for iteration in range(2 if nodes else 0):
        assert sum(each.self_us[iteration] for each in times) == sum(node.self_us[iteration] for node in nodes)
    assert sum(each.calls for each in times) == sum(node.calls for node in nodes)


def test_a_trace_without_nodes_has_groups_without_time() -> None:
    times = source_times(attribute(graph(*CONV), graph(*CONV)), [])
    assert [(time.calls, time.self_us) for time in times] == [(0, ()), (0, ())]


# ---------------------------------------------------------------- shares


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ({}, (1 / 3, 1 / 3, 1 / 3)),
        ({"a": 1, "b": 2, "c": 1}, (0.25, 0.5, 0.25)),
        ({"a": 1, "b": 3}, (1 / 6, 1 / 2, 1 / 3)),  # c is unknown: its equal part, and a and b share the rest
        ({"a": 0, "b": 0, "c": 0}, (1 / 3, 1 / 3, 1 / 3)),
        ({"a": 0, "b": 1, "c": 1}, (0, 0.5, 0.5)),
        ({"a": float("nan"), "b": -1, "c": float("inf")}, (1 / 3, 1 / 3, 1 / 3)),
        ({"a": 1e308, "b": 1e308, "c": 1e308}, (1 / 3, 1 / 3, 1 / 3)),
        ({"stranger": 5}, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_a_group_is_split_by_weight_and_in_equal_parts_where_unknown(
    weights: dict[str, float], shares: tuple[float, ...]
) -> None:
    group = SourceGroup(kind="fused", sources=("a", "b", "c"))
    assert split_estimate(group, weights) == pytest.approx(dict(zip("abc", shares, strict=True)))


def test_a_group_without_sources_has_nothing_to_split() -> None:
    assert split_estimate(SourceGroup(kind="inserted", executed=("r",)), {"r": 1}) == {}
