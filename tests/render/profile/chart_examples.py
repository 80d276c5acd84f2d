"""Profiles to draw: a small CNN as it is and as onnxruntime optimises it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.records.diff import Diff
from onnxperf.records.profile import GroupKind, NodeTime, OperatorTime, Profile, SourceGroup, SourceTime, usual
from onnxperf.records.trace import TensorType

CPU = "CPUExecutionProvider"
BIG, HALF, ONE, TWO = (1, 64, 112, 112), (1, 64, 56, 56), (1, 1, 112, 112), (1, 2, 112, 112)
Row = tuple[str, str, list[tuple[int, ...]], tuple[int, ...], int]

SHARED: list[Row] = [
    ("Conv", "stem", [(1, 3, 112, 112), (64, 3, 3, 3), (64,)], BIG, 1900),
    ("BatchNormalization", "bn", [BIG, (64,), (64,), (64,), (64,)], BIG, 640),
    ("PRelu", "relu1", [BIG, (64, 1, 1)], BIG, 510),
    ("Conv", "block/conv1", [BIG, (64, 64, 3, 3), (64,)], BIG, 31000),
    ("PRelu", "relu2", [BIG, (64, 1, 1)], BIG, 520),
    ("ReduceMean", "mean", [BIG], ONE, 90),
    ("ReduceMax", "max", [BIG], ONE, 480),
    ("Concat", "cat", [ONE, ONE], TWO, 12),
    ("Mul", "mul", [ONE, BIG], BIG, 300),
]
BEFORE: list[Row] = [
    ("Conv", "block/conv2", [BIG, (64, 64, 3, 3), (64,)], HALF, 8100),
    ("Conv", "attention", [TWO, (1, 2, 7, 7)], ONE, 260),
    ("Sigmoid", "sigmoid", [ONE], ONE, 25),
    ("Add", "add", [HALF, HALF], HALF, 95),
]
AFTER: list[Row] = [
    ("Conv", "block/conv2_fused", [BIG, (64, 64, 3, 3), (64,), HALF], HALF, 4300),
    ("Conv", "attention_nchwc", [TWO, (8, 2, 7, 7)], (1, 8, 112, 112), 310),
    ("ReorderInput", "reorder_0", [BIG], BIG, 150),
    ("ReorderInput", "reorder_1", [BIG], BIG, 155),
    ("ReorderOutput", "reorder_2", [HALF], HALF, 40),
]


def times(us: float, seed: int, iterations: int = 6) -> tuple[int, ...]:
    rng = np.random.default_rng(seed)
    return tuple(
        int(us * factor) for factor in np.exp(rng.normal(0, 0.03, iterations)) * np.r_[2, np.ones(iterations - 1)]
    )


def node(row: Row, seed: int, scale: float = 1) -> NodeTime:
    op, name, inputs, output, us = row
    spent = times(us * scale, seed)
    types = tuple(TensorType("float", shape) for shape in inputs)
    outputs = (TensorType("float", output),)
    return NodeTime(
        name=name,
        op_name=op,
        provider=CPU,
        inputs=types,
        outputs=outputs,
        calls=6,
        self_us=spent,
        total_us=spent,
        usual_us=usual(spent),
        usual_total_us=usual(spent),
    )


def profile(nodes: Sequence[NodeTime], model: str = "cnn.onnx", sources: Sequence[SourceTime] = ()) -> Profile:
    groups = defaultdict(list)
    for each in nodes:
        groups[each.op_name].append(each)
    operators = []
    for op, members in groups.items():
        spent = tuple(map(sum, zip(*(member.self_us for member in members), strict=True)))
        calls = sum(member.calls for member in members)
        most = sum(member.usual_us for member in members)
        operators.append(
            OperatorTime(op_name=op, nodes=len(members), calls=calls, self_us=spent, total_us=spent, usual_us=most)
        )
    return Profile(
        model=model,
        events=99,
        iterations=6,
        launches=(2, 1, 1, 1, 1),
        operators=tuple(operators),
        nodes=tuple(nodes),
        sources=tuple(sources),
    )


def source(kind: GroupKind, names: tuple[str, ...], us: int) -> SourceTime:
    group = SourceGroup(kind=kind, sources=names if kind != "inserted" else (), executed=names)
    return SourceTime(group=group, calls=6, self_us=times(us, us), usual_us=usual(times(us, us)))


SOURCES = (
    source("kept", ("block/conv1",), 31000),
    source("fused", ("block/conv2", "add"), 4300),
    source("kept", ("stem",), 1900),
    source("inserted", ("reorder_0", "reorder_1"), 305),
    source("fused", ("attention", "sigmoid"), 310),
    source("unattributed", ("something",), 40),
    source("folded", ("shape", "gather"), 0),
)


def before() -> Profile:
    return profile([node(row, seed) for seed, row in enumerate([*SHARED, *BEFORE])])


def after() -> Profile:
    return profile([node(row, 50 + seed, 0.8) for seed, row in enumerate([*SHARED, *AFTER])], "cnn.opt.onnx", SOURCES)


def many(count: int, name: str = "layer", op: str = "MatMul") -> Profile:
    row: Row = (op, name, [(1, 128, 768), (768, 768)], (1, 128, 768), 900)
    return profile([node((f"{op}{i % 70}", f"{name}/{i}", *row[2:]), i) for i in range(count)], f"{name}.onnx")


def diff(first: Profile | None = None, second: Profile | None = None) -> Diff:
    first, second = first or before(), second or after()
    return Diff(before=first, after=second, rows=compared_rows(first, second))
