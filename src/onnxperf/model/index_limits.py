"""Upper bounds for the integers of inputs that index a table of the model, read from its graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import onnx

from onnxperf.model.functions import DEEPEST, Key, call_key, function_key
from onnxperf.model.graph import bodies, dims_of
from onnxperf.records.view import Dims

_INTEGER_TYPES = frozenset(
    {
        onnx.TensorProto.INT8,
        onnx.TensorProto.INT16,
        onnx.TensorProto.INT32,
        onnx.TensorProto.INT64,
        onnx.TensorProto.UINT8,
        onnx.TensorProto.UINT16,
        onnx.TensorProto.UINT32,
        onnx.TensorProto.UINT64,
    }
)


@dataclass(frozen=True)
class _Value:
    """What the walk knows about a value: which input its numbers come from, and its size."""

    inputs: frozenset[str] = frozenset()
    dims: Dims | None = None


@dataclass(frozen=True)
class _Lookup:
    """Which operator input is the table, which one indexes it, and along which axis."""

    table: int
    indices: int
    axis: int = 0
    axis_attribute: str = ""


_Scope = dict[str, _Value]
_Call = tuple[Key, tuple[_Value, ...], bytes]
"""A function, its arguments, and its attributes."""


@dataclass(frozen=True)
class _Functions:
    """Local functions, and the calls followed so far: identical calls have the same bounds."""

    by_key: Mapping[Key, onnx.FunctionProto]
    followed: set[_Call] = field(default_factory=set)
    depth: int = 0


_NOTHING = _Value()

_LOOKUPS: dict[str, tuple[_Lookup, ...]] = {
    "Gather": (_Lookup(0, 1, axis_attribute="axis"),),
    "GatherElements": (_Lookup(0, 1, axis_attribute="axis"),),
    "ArrayFeatureExtractor": (_Lookup(0, 1, axis=-1),),
    # onnxruntime's optimizer folds the three lookups of BERT into this one
    "EmbedLayerNormalization": (_Lookup(2, 0), _Lookup(4, 1)),
}

_EVERY_INPUT = slice(None)
_FIRST_INPUT = slice(0, 1)
# operators that move numbers around without changing them, and the inputs from which they take them
_CARRIERS: dict[str, slice] = {
    "Cast": _FIRST_INPUT,
    "CastLike": _FIRST_INPUT,
    "Compress": _FIRST_INPUT,
    "Concat": _EVERY_INPUT,
    "Expand": _FIRST_INPUT,
    "Flatten": _FIRST_INPUT,
    "Gather": _FIRST_INPUT,
    "GatherElements": _FIRST_INPUT,
    "GatherND": _FIRST_INPUT,
    "Identity": _FIRST_INPUT,
    "Reshape": _FIRST_INPUT,
    "Slice": _FIRST_INPUT,
    "Split": _FIRST_INPUT,
    "Squeeze": _FIRST_INPUT,
    "Tile": _FIRST_INPUT,
    "Transpose": _FIRST_INPUT,
    "Trilu": _FIRST_INPUT,
    "Unsqueeze": _FIRST_INPUT,
    "Where": slice(1, 3),
}
_SAME_SHAPE = frozenset({"Cast", "CastLike", "DequantizeLinear", "Identity"})


def index_limits(proto: onnx.ModelProto) -> dict[str, int]:
    """Exclusive upper bound of every integer input that indexes a table of known size."""
    scope: _Scope = {i.name: _input_value(i) for i in proto.graph.input}
    functions = _Functions({function_key(each): each for each in proto.functions})
    limits: dict[str, int] = {}
    for name, limit in _walk_graph(proto.graph, scope, functions):
        limits[name] = min(limit, limits.get(name, limit))
    return limits


def _input_value(value_info: onnx.ValueInfoProto) -> _Value:
    tensor = value_info.type.tensor_type
    carried = frozenset({value_info.name} if tensor.elem_type in _INTEGER_TYPES else ())
    return _Value(carried, dims_of(tensor))


def _walk_graph(graph: onnx.GraphProto, scope: _Scope, functions: _Functions) -> Iterator[tuple[str, int]]:
    """The bounds found in a graph; `scope` holds the outer values visible to it, and is not changed."""
    inner = dict(scope)
    for tensor in graph.initializer:
        # an initializer that is also an input may be fed, so it still carries its own numbers
        inner[tensor.name] = _Value(inner.get(tensor.name, _NOTHING).inputs, tuple(tensor.dims))
    yield from _walk_nodes(graph.node, inner, functions)


def _walk_nodes(
    nodes: Iterable[onnx.NodeProto], scope: _Scope, functions: _Functions, call: onnx.NodeProto | None = None
) -> Iterator[tuple[str, int]]:
    for node in nodes:
        attributes = _attributes(node, call)
        yield from _bounds(node, attributes, scope)
        for _, body in bodies(node):
            yield from _walk_graph(body, scope | _body_inputs(body, node, scope), functions)
        yield from _walk_call(node, scope, functions)
        scope.update(dict.fromkeys(node.output, _result(node, attributes, scope)))


def _walk_call(node: onnx.NodeProto, scope: _Scope, functions: _Functions) -> Iterator[tuple[str, int]]:
    """The bounds found in the function that a node calls, unless an identical call was already followed."""
    key = call_key(node)
    if key not in functions.by_key:
        return
    arguments = tuple(scope.get(name, _NOTHING) for name in node.input)
    call = key, arguments, b"".join(each.SerializeToString(deterministic=True) for each in node.attribute)
    is_telling = functions.depth < DEEPEST and any(each.inputs for each in arguments)
    if call in functions.followed or not is_telling:
        return
    functions.followed.add(call)
    function = functions.by_key[key]
    inner = replace(functions, depth=functions.depth + 1)
    yield from _walk_nodes(function.node, dict(zip(function.input, arguments, strict=False)), inner, node)


def _attributes(node: onnx.NodeProto, call: onnx.NodeProto | None) -> dict[str, onnx.AttributeProto]:
    """Attributes by name; inside a function, those passed by its caller are looked up there."""
    outer = {a.name: a for a in call.attribute} if call is not None else {}
    return {a.name: outer.get(a.ref_attr_name, a) if a.ref_attr_name else a for a in node.attribute}


def _bounds(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], scope: _Scope
) -> Iterator[tuple[str, int]]:
    for lookup in _LOOKUPS.get(node.op_type, ()):
        if max(lookup.table, lookup.indices) >= len(node.input):
            continue
        dims = scope.get(node.input[lookup.table], _NOTHING).dims
        axis = attributes[lookup.axis_attribute].i if lookup.axis_attribute in attributes else lookup.axis
        size = dims[axis] if dims and -len(dims) <= axis < len(dims) else None
        if isinstance(size, int) and size:
            yield from ((name, size) for name in scope.get(node.input[lookup.indices], _NOTHING).inputs)


def _body_inputs(graph: onnx.GraphProto, node: onnx.NodeProto, scope: _Scope) -> _Scope:
    """Loop and Scan pass their inputs to their body in order; a slice of an input still holds its numbers."""
    outer = (scope.get(name, _NOTHING) for name in node.input)
    return {i.name: _Value(value.inputs) for i, value in zip(graph.input, outer, strict=False)}


def _result(node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], scope: _Scope) -> _Value:
    if node.op_type == "Constant":
        return _Value(dims=tuple(attributes["value"].t.dims) if "value" in attributes else None)
    taken = node.input[_CARRIERS.get(node.op_type, slice(0))]
    carried = frozenset().union(*(scope.get(name, _NOTHING).inputs for name in taken))
    first = scope.get(node.input[0], _NOTHING).dims if node.input else None
    if node.op_type in _SAME_SHAPE:
        return _Value(carried, first)
    if node.op_type == "Transpose" and first is not None:
        return _Value(carried, _permuted(first, attributes))
    return _Value(carried)


def _permuted(dims: Dims, attributes: Mapping[str, onnx.AttributeProto]) -> Dims | None:
    order = list(attributes["perm"].ints) if "perm" in attributes else list(reversed(range(len(dims))))
    return tuple(dims[i] for i in order) if sorted(order) == list(range(len(dims))) else None
