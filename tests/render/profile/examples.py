"""Profiles, diffs and optimisations to render: a CNN with a loop, its nodes fused, and names that mean harm."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.optimize import optimization_answer
from onnxperf.records.diff import Diff, DiffRow, Side
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import (
    NodeTime,
    OperatorTime,
    Optimization,
    Profile,
    SourceGroup,
    SourceTime,
    added,
    usual,
)
from onnxperf.records.trace import TensorType
from onnxperf.wording.labels import label, signature
from tests.render import examples

IMAGE = TensorType("float", (1, 64, 112, 112))
WEIGHTS = TensorType("float", (64, 64, 3, 3))
BIAS = TensorType("float", (64,))
OPERATORS = ("Conv", "MatMul", "Gemm", "Relu", "Add", "Softmax", "LayerNormalization", "Transpose", "Reshape", "Gather")
LONG_NAME = "/encoder/layers.11/self_attention/output/dense/MatMul_output_0_transposed_by_the_exporter_for_onnx"


def times(us: int) -> tuple[int, ...]:
    """Six iterations: the first is the slowest, and one of the others is slower than this time."""
    return (us * 3, us, us, us + us // 20, us, us)


def node(name: str = "n0", us: int = 100, **changes: Any) -> NodeTime:
    fields: dict[str, Any] = {
        "name": name,
        "op_name": "Conv",
        "provider": "CPUExecutionProvider",
        "inputs": (IMAGE, WEIGHTS, BIAS),
        "outputs": (IMAGE,),
        "calls": 6,
        "self_us": times(us),
        "total_us": times(us),
    }
    fields |= changes
    own, total = usual(fields["self_us"]), usual(fields["total_us"])
    return NodeTime(**({"usual_us": own, "usual_total_us": total} | fields))


def operator(nodes: list[NodeTime]) -> OperatorTime:
    return OperatorTime(
        op_name=nodes[0].op_name,
        nodes=len(nodes),
        calls=sum(node.calls for node in nodes),
        self_us=(self_us := added(node.self_us for node in nodes)),
        total_us=added(node.total_us for node in nodes),
        usual_us=usual(self_us),
    )


def operators(nodes: tuple[NodeTime, ...]) -> tuple[OperatorTime, ...]:
    groups: dict[str, list[NodeTime]] = {}
    for each in nodes:
        groups.setdefault(each.op_name, []).append(each)
    return tuple(sorted(map(operator, groups.values()), key=lambda o: -sum(o.self_us)))


def many_nodes(number: int = 60) -> tuple[NodeTime, ...]:
    """Nodes of twenty operators, among them a loop with a body and a loop in that."""
    names = [*OPERATORS, *(f"com.microsoft.Fused{op}" for op in OPERATORS)]
    nodes = [node(f"/layer.{i}/{names[i % 20]}", 1800 // (i + 1), op_name=names[i % 20]) for i in range(number)]
    nodes[7] = node(LONG_NAME, 420, op_name="MatMul", shapes=4)
    inner = node("inner", 90, path=("Loop_12", "Loop_in"), op_name="Mul", calls=600)
    loop_in = node("Loop_in", 3, path=("Loop_12",), op_name="Loop", calls=60, total_us=times(95))
    loop = node("Loop_12", 5, op_name="Loop", total_us=times(150), inputs=(), outputs=())
    body = node("body/Add", 50, path=("Loop_12",), op_name="Add", calls=60)
    return (*nodes, inner, loop_in, body, loop)


def group(kind: Any = "fused", **changes: Any) -> SourceGroup:
    fields: dict[str, Any] = {
        "kind": kind,
        "sources": ("n3", "n4", "n5"),
        "source_ops": ("Conv", "BatchNormalization", "Relu"),
        "executed": ("n3",),
        "executed_ops": ("FusedConv",),
    }
    return SourceGroup(**(fields | changes))


def groups() -> tuple[SourceGroup, ...]:
    nothing: dict[str, Any] = {"executed": (), "executed_ops": ()}
    return (
        group(),
        group("kept", sources=("n6",), source_ops=("MatMul",), executed=("n6",), executed_ops=("MatMul",)),
        group("inserted", sources=(), source_ops=(), executed=("ReorderInput",), executed_ops=("ReorderInput",)),
        group("folded", sources=tuple(f"Shape_{i}" for i in range(12)), source_ops=("Shape",) * 12, **nothing),
        group("duplicate", sources=("n11",), source_ops=("Cast",), same_as="n17", **nothing),
        group("removed", sources=("drop",), source_ops=("Dropout",), **nothing),
        group("unattributed", sources=(), source_ops=(), executed=("mystery",), executed_ops=("Add",)),
    )


def sources() -> tuple[SourceTime, ...]:
    costs = {"fused": 900, "kept": 400, "inserted": 40, "unattributed": 7}
    return tuple(source(each, times(costs.get(each.kind, 0))) for each in groups())


def source(group: SourceGroup, self_us: tuple[int, ...], calls: int = 6) -> SourceTime:
    return SourceTime(group=group, calls=calls, self_us=self_us, usual_us=usual(self_us))


def profile(*nodes: NodeTime, **changes: Any) -> Profile:
    nodes = nodes or many_nodes()
    fields: dict[str, Any] = {
        "model": "resnet.onnx",
        "machine": examples.machine(),
        "session": SessionOptions(threads=2),
        "events": 1234,
        "iterations": 6,
        "loading_us": 3210,
        "initialization_us": 45_100,
        "run_us": times(9000),
        "executor_us": times(8900),
        "profiled_ns": 9_300_000.0,
        "unprofiled_ns": 8_700_000.0,
        "operators": operators(nodes),
        "nodes": nodes,
        "sources": sources(),
        "notes": ("nodes ran on several threads; their times may overlap",),
        "answer": "Conv takes 41 %, MatMul takes 12 % of the time in 64 nodes.",
    }
    return Profile(**(fields | changes))


def row(side: Side = "=", before: int = 100, after: int = 90, **changes: Any) -> DiffRow:
    fields: dict[str, Any] = {
        "side": side,
        "op_name": "Conv",
        "provider": "CPUExecutionProvider",
        "inputs": (IMAGE, WEIGHTS, BIAS),
        "outputs": (IMAGE,),
        "idx": 0,
        "before_name": "" if side == "+" else "n3",
        "after_name": "" if side == "-" else "n3",
        "before_us": () if side == "+" else times(before),
        "after_us": () if side == "-" else times(after),
    }
    fields |= changes
    fields |= {"before_usual_us": usual(fields["before_us"]), "after_usual_us": usual(fields["after_us"])}
    sides = [name for name in ("before", "after") if fields[f"{name}_us"]]
    fields |= {f"{name}_launch_us": (fields[f"{name}_usual_us"],) * 5 for name in sides}
    if side == "=":
        verdict = "undecided" if fields.get("noise") else "faster" if after < before else "slower"
        speedup = {"speedup": before / after, "speedup_low": 0.9 * before / after, "speedup_high": 1.1 * before / after}
        fields = speedup | {"verdict": verdict} | fields
    call = signature(fields["op_name"], fields["inputs"], fields["outputs"])
    return DiffRow(label=label(side, fields["provider"], call, fields["idx"]), **fields)


def rows() -> tuple[DiffRow, ...]:
    return (
        row("+", after=40, op_name="ReorderInput", after_name="ReorderInput"),
        row(before=1800, after=900),
        row(
            before=400,
            after=401,
            op_name="MatMul",
            noise=True,
            verdict="undecided",
            before_name=LONG_NAME,
            after_name=LONG_NAME,
        ),
        row("-", before=300, op_name="BatchNormalization", before_name="n4"),
        row("-", before=250, op_name="Relu", before_name="n5"),
        *(row(before=2, after=3, op_name="Add", idx=i) for i in range(5)),
        row("-", before=1, op_name="Dropout", before_name="drop"),
        row(before=200, after=300, op_name="Mul", path=("Loop_12",), before_name="a", after_name="b"),
    )


def race() -> Any:
    return examples.case(examples.subject("before"), examples.subject("after", 7010.0, "faster"), baseline="before")


def diff(*given: DiffRow, **changes: Any) -> Diff:
    fields: dict[str, Any] = {
        "before": profile(model="resnet.onnx (disable)", session=SessionOptions(threads=2, opt_level="disable")),
        "after": profile(model="resnet.onnx (all)"),
        "rows": given or rows(),
        "race": replace(race(), model="resnet.onnx"),
        "answer": "all is 1.20 times as fast as disable.",
        "notes": ("profiled iterations alternated",),
    }
    return Diff(**(fields | changes))


def optimization(**changes: Any) -> Optimization:
    fields: dict[str, Any] = {
        "model": "resnet.onnx",
        "output": "resnet.optimised.onnx",
        "session": SessionOptions(threads=2),
        "conditions": {"onnxruntime": "1.31.1", "providers": "CPUExecutionProvider"},
        "before": {"Conv": 53, "BatchNormalization": 53, "Relu": 49, "Add": 16, "Cast": 2},
        "after": {"FusedConv": 33, "Conv": 20, "Add": 16, "ReorderInput": 1},
        "groups": groups(),
        "notes": ("the file is for this machine only",),
    }
    record = Optimization(**(fields | changes))
    return replace(record, answer=optimization_answer(record))


def hostile(name: str) -> tuple[Profile, Diff, Optimization]:
    """Records in which everything bears one name."""
    ops: dict[str, Any] = {"sources": (name,), "source_ops": (name,)}
    fused = group(**ops, executed=(name,), executed_ops=(name,), path=(name,))
    words: dict[str, Any] = {"model": name, "notes": (name,)}
    nodes = (node(name, op_name=name, path=(name,), provider=name), node(name))
    profiled = profile(*nodes, sources=(source(fused, (1, 2, 3), calls=1),), answer=name, **words)
    both = row(op_name=name, provider=name, before_name=name, after_name=name + "2", path=(name,))
    compared = diff(both, before=profiled, after=profiled, race=replace(race(), model=name), answer=name, notes=(name,))
    found = (fused, group("folded", **ops, same_as=name))
    return profiled, compared, optimization(groups=found, output=name, before={name: 2}, after={"x": 1}, **words)
