"""Small models that cost whoever opens them far more than their size: memory, time, depth or breadth without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

_OPSET = helper.make_opsetid("", 17)
_HUGE = 2**40


def _value(name: str, shape: list[Any] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: list[NodeProto],
    inputs: list[onnx.ValueInfoProto] | None = None,
    initialisers: list[TensorProto] | None = None,
    functions: list[FunctionProto] | None = None,
    output: onnx.ValueInfoProto | None = None,
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "bomb",
        [_value("X", [2])] if inputs is None else inputs,
        [_value("Y", None) if output is None else output],
        initialisers or [],
    )
    opsets = [_OPSET, helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions or [], ir_version=8)


def _node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    return helper.make_node(op, inputs, outputs, **attributes)


def _integers(name: str, values: list[int]) -> TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def _claimed(name: str, dims: list[int], kind: int = TensorProto.FLOAT) -> TensorProto:
    """A tensor that claims to be large and holds 8 bytes."""
    return TensorProto(name=name, dims=dims, data_type=kind, raw_data=b"\0" * 8)


# ---------------------------------------------------------------- sizes


def _initialiser(dims: list[int], kind: int = TensorProto.FLOAT) -> ModelProto:
    nodes = [_node("Shape", ["W"], ["S"]), _node("Mul", ["S", "S"], ["T"]), _node("Reshape", ["X", "T"], ["Y"])]
    return _model(nodes, initialisers=[_claimed("W", dims, kind)])


def _propagated(op: str, dims: list[int], kind: int = TensorProto.INT64) -> ModelProto:
    """Shape inference that follows values reads the whole initialiser as if it were a shape."""
    nodes = [_node("Shape", ["X"], ["S"]), _node(op, ["S", "W"], ["T"]), _node("Reshape", ["X", "T"], ["Y"])]
    return _model(nodes, initialisers=[_claimed("W", dims, kind)])


def _added(length: int) -> ModelProto:
    """Not a bomb: two large initialisers, and their sum."""
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [length], b"\0" * (4 * length), raw=True) for name in "AB"]
    return _model([_node("Add", ["A", "B"], ["C"]), _node("Add", ["C", "X"], ["Y"])], [_value("X", [1])], weights)


def _made(op: str, sizes: list[int], **attributes: Any) -> ModelProto:
    """An operator that makes what its constant input says."""
    first = [] if op == "ConstantOfShape" else ["X"]
    return _model([_node(op, [*first, "sizes"], ["Y"], **attributes)], initialisers=[_integers("sizes", sizes)])


def _declared(shape: list[Any], kind: int = TensorProto.FLOAT) -> ModelProto:
    return _model([_node("Identity", ["X"], ["Y"])], [_value("X", shape, kind)])


def _range(stop: int) -> ModelProto:
    numbers = {"start": 0, "stop": stop, "step": 1}
    tensors = [helper.make_tensor(name, TensorProto.INT64, [], [value]) for name, value in numbers.items()]
    return _model([_node("Range", list(numbers), ["Y"])], initialisers=tensors)


def _doubled(times: int, op: str = "Concat") -> ModelProto:
    """A value that is as long as two of the value before; starts as a constant, so that it can be folded."""
    attributes = {"axis": 0} if op == "Concat" else {}
    nodes = [_node(op, [f"T{n}", f"T{n}"], [f"T{n + 1}"], **attributes) for n in range(times)]
    last = _node("ConstantOfShape" if op == "Mul" else "Identity", [f"T{times}"], ["Y"])
    return _model([*nodes, last], initialisers=[_integers("T0", [2] * (4 if op == "Concat" else 1))])


def _outer_product(size: int) -> ModelProto:
    nodes = [
        _node("ConstantOfShape", ["shape"], ["A"]),
        _node("Transpose", ["A"], ["B"], perm=[1, 0]),
        _node("MatMul", ["A", "B"], ["Y"]),
    ]
    return _model(nodes, initialisers=[_integers("shape", [size, 1])])


def _resized() -> ModelProto:
    scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1.0, 1.0, 1e5, 1e5])
    return _model([_node("Resize", ["X", "", "scales"], ["Y"])], [_value("X", [1, 1, 8, 8])], [scales])


def _one_hot() -> ModelProto:
    depth = helper.make_tensor("depth", TensorProto.INT64, [], [_HUGE])
    values = helper.make_tensor("values", TensorProto.FLOAT, [2], [0.0, 1.0])
    ids = _value("X", [2], TensorProto.INT64)
    return _model([_node("OneHot", ["X", "depth", "values"], ["Y"])], [ids], [depth, values])


def _random() -> ModelProto:
    return _model([_node("RandomNormal", [], ["Y"], shape=[2**20, 2**20])])


def _sparse() -> ModelProto:
    model = _model([_node("Identity", ["W"], ["Y"])])
    values = helper.make_tensor("W", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("W_indices", TensorProto.INT64, [1], [5])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [_HUGE]))
    return model


def _external(location: str, **more: int) -> ModelProto:
    tensor = TensorProto(name="W", dims=[4], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return _model([_node("Add", ["X", "W"], ["Y"])], [_value("X", [4])], [tensor])


# ---------------------------------------------------------------- loops, bodies, functions


def _loop(trips: int, depth: int = 1, grow: bool = False) -> ModelProto:
    """Loops in loops; `grow` doubles a value in each step."""
    trip, go = (
        helper.make_tensor("trips", TensorProto.INT64, [], [trips]),
        helper.make_tensor("go", TensorProto.BOOL, [], [1]),
    )

    def body(level: int) -> GraphProto:
        i, c, s, t = (f"{name}{level}" for name in ("i", "c", "s", "t"))
        step = _node("Concat", [s, s], [t], axis=0) if grow else _node("Add", [s, s], [t])
        inner = step if level == depth else _node("Loop", ["trips", "go", s], [t], body=body(level + 1))
        return helper.make_graph(
            [_node("Identity", [c], [f"{c}_out"]), inner],
            f"body{level}",
            [_value(i, [], TensorProto.INT64), _value(c, [], TensorProto.BOOL), _value(s, None)],
            [_value(f"{c}_out", [], TensorProto.BOOL), _value(t, None)],
        )

    return _model([_node("Loop", ["trips", "go", "X"], ["Y"], body=body(1))], initialisers=[trip, go])


def _nested(depth: int) -> ModelProto:
    """Branches in branches."""
    node, name = _node("Identity", ["X"], ["t0"]), "t0"
    for level in range(1, depth):
        branch = helper.make_graph([node], f"branch{level}", [], [_value(name, None)])
        name = f"t{level}"
        node = _node("If", ["C"], [name], then_branch=branch, else_branch=GraphProto(name="none"))
    inputs = [_value("X", [2]), _value("C", [1], TensorProto.BOOL)]
    return _model([node, _node("Identity", [name], ["Y"])], inputs)


def _functions(length: int, calls: int) -> ModelProto:
    """A chain of functions, each of which calls the next some times."""

    def function(number: int) -> FunctionProto:
        last = number == length - 1
        op, domain = ("Neg", "") if last else (f"f{number + 1}", "local")
        names = ["x", *(f"t{n}" for n in range(calls - 1)), "y"]
        nodes = [helper.make_node(op, [a], [b], domain=domain) for a, b in pairwise(names)]
        opsets = [_OPSET, helper.make_opsetid("local", 1)]
        return helper.make_function("local", f"f{number}", ["x"], ["y"], nodes, opsets)

    call = helper.make_node("f0", ["X"], ["Y"], domain="local")
    return _model([call], functions=[function(number) for number in range(length)])


def _own_caller(length: int = 1) -> ModelProto:
    """Functions that call each other in a circle."""
    model = _functions(length, 2)
    for node in model.functions[-1].node:
        node.op_type, node.domain = "f0", "local"
    return model


# ---------------------------------------------------------------- breadth, names, versions


def _chain(length: int, op: str = "Neg") -> ModelProto:
    names = ["X", *(f"t{n}" for n in range(length - 1)), "Y"]
    return _model([_node(op, [a], [b]) for a, b in pairwise(names)])


def _fan(width: int) -> ModelProto:
    """One node with many inputs, each used by all that follow."""
    names = [f"t{n}" for n in range(width)]
    nodes = [_node("Neg", ["X"], [name]) for name in names]
    return _model([*nodes, *(_node("Sum", names, [f"s{n}"]) for n in range(60)), _node("Sum", ["s0", "s59"], ["Y"])])


def _circle() -> ModelProto:
    return _model([_node("Add", ["X", "B"], ["A"]), _node("Neg", ["A"], ["B"]), _node("Neg", ["B"], ["Y"])])


def _long_name(length: int) -> ModelProto:
    model = _chain(2)
    model.graph.node[0].name = model.graph.name = "n" * length
    return model


def _control_name() -> ModelProto:
    model = _chain(2)
    model.graph.node[0].name = "\x1b]0;owned\x07\x1b[2J" * 1000
    return model


def _attribute(length: int) -> ModelProto:
    model = _chain(2)
    values = AttributeProto(name="extra", type=AttributeProto.INTS, ints=[2**62] * length)
    model.graph.node[0].attribute.append(values)
    return model


def _opset(version: int, ir_version: int = 8) -> ModelProto:
    model = _chain(2)
    model.opset_import[0].version, model.ir_version = version, ir_version
    return model


def _text_of_bytes() -> bytes:
    """A name that is not UTF-8."""
    return bytes(_chain(2).SerializeToString()).replace(b"bomb", b"\xff\xfe\xfd\xfc")


def _deep_types(depth: int) -> ModelProto:
    """A sequence of sequences of sequences…"""
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [1])
    for _ in range(depth):
        kind = helper.make_sequence_type_proto(kind)
    return _model([_node("Identity", ["X"], ["Y"])], [helper.make_value_info("X", kind)])


def _raw_depth(depth: int) -> bytes:
    """Groups in groups of the wire format, deeper than a parser follows."""
    return b"\x08\x08" + b"\x3b" * depth + b"\x3c" * depth


BOMBS: dict[str, Callable[[], ModelProto | bytes]] = {
    "initialiser of 2**40": lambda: _initialiser([_HUGE]),
    "initialiser of 2**62": lambda: _initialiser([2**62]),
    "initialiser of 2**20 x 2**20": lambda: _initialiser([2**20, 2**20]),
    "initialiser of 2**63 elements": lambda: _initialiser([2**32, 2**31]),
    "initialiser of integers": lambda: _initialiser([_HUGE], TensorProto.INT64),
    "initialiser of texts": lambda: _initialiser([_HUGE], TensorProto.STRING),
    "initialiser of negative size": lambda: _initialiser([-1, -(2**40)]),
    "shape times an initialiser of 2**40": lambda: _propagated("Mul", [_HUGE]),
    "shape plus an initialiser of 2**33": lambda: _propagated("Add", [2**33]),
    "shape and floats of 2**40": lambda: _propagated("Mul", [_HUGE], TensorProto.FLOAT),
    "sum of two honest initialisers": lambda: _added(1_000_000),
    "initialiser of 1,000 axes": lambda: _initialiser([2] * 1000),
    "ConstantOfShape": lambda: _made("ConstantOfShape", [2**20, 2**20]),
    "ConstantOfShape just below memory": lambda: _made("ConstantOfShape", [2**31]),
    "Expand": lambda: _made("Expand", [2**38, 2]),
    "Tile": lambda: _made("Tile", [2**38]),
    "Pad": lambda: _made("Pad", [2**38, 2**38]),
    "Range": lambda: _range(_HUGE),
    "Range beyond 2**62": lambda: _range(2**62),
    "Resize": _resized,
    "OneHot": _one_hot,
    "RandomNormal": _random,
    "outer product": lambda: _outer_product(2**19),
    "sparse initialiser": _sparse,
    "doubled 34 times": lambda: _doubled(34),
    "doubled 60 times": lambda: _doubled(60),
    "squared 60 times": lambda: _doubled(60, "Mul"),
    "input of 2**40": lambda: _declared([_HUGE]),
    "input of 2**63 - 1": lambda: _declared([2**63 - 1, 2**63 - 1]),
    "input of texts": lambda: _declared([_HUGE], TensorProto.STRING),
    "input of 65 axes": lambda: _declared([1] * 65),
    "input of 5,000 axes": lambda: _declared(["n"] * 5000),
    "loop without end": lambda: _loop(2**62),
    "loops in loops": lambda: _loop(2**16, depth=4),
    "loop that grows": lambda: _loop(60, grow=True),
    "30 branches in branches": lambda: _nested(30),
    "24 functions that call the next twice": lambda: _functions(24, 2),
    "8 functions that call the next 50 times": lambda: _functions(8, 50),
    "3,000 functions in a chain": lambda: _functions(3000, 1),
    "function that calls itself": _own_caller,
    "functions in a circle": lambda: _own_caller(3),
    "20,000 nodes": lambda: _chain(20_000),
    "wide and dense": lambda: _fan(1000),
    "circle of nodes": _circle,
    "name of 4 MB": lambda: _long_name(1 << 22),
    "names that control a terminal": _control_name,
    "attribute of 500,000 numbers": lambda: _attribute(500_000),
    "opset 2**31": lambda: _opset(2**31),
    "opset 2**62 and IR 2**62": lambda: _opset(2**62, 2**62),
    "name that is not UTF-8": _text_of_bytes,
    "sequences in sequences": lambda: _deep_types(30),
    "groups in groups": lambda: _raw_depth(5000),
    "external data in /dev/zero": lambda: _external("/dev/zero"),
    "external data outside": lambda: _external("../../../../../../etc/passwd"),
    "external data of 2**62": lambda: _external("m.onnx", offset=0, length=2**62),
    "external data at a negative offset": lambda: _external("m.onnx", offset=-(2**62), length=16),
}


def bombs() -> Iterator[tuple[str, bytes]]:
    """Every bomb with its name."""
    for name, make in BOMBS.items():
        made = make()
        yield name, made if isinstance(made, bytes) else bytes(made.SerializeToString())
