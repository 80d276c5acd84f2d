"""Lowers an ONNX graph to steps: finds kernels, folds constants, and infers types and shapes as far as possible."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxperf.model.graph import bodies, dims_of, element_dtype, short_domain, with_bodies
from onnxperf.runtimes.numpy import kernels
from onnxperf.runtimes.numpy.base import Body, Kernel, Node, Value, find_kernel
from onnxperf.runtimes.numpy.fallback import fallback_kernel
from onnxperf.runtimes.numpy.faults import compiling, label, quoted
from onnxperf.runtimes.numpy.fold import most_bytes

FOLD_LIMIT_BYTES = 512 << 20
"""The maximum size of all results of constant nodes together; other results are computed in every run."""
_NEVER_FOLDED = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")
)


@dataclass(eq=False)
class Step:
    """A node, or several fused ones, computed in every run."""

    node: Node
    kernel: Kernel
    arguments: tuple[Value | None, ...]
    """The arguments, in order: inputs, then captures of its bodies."""
    outputs: tuple[Value | None, ...]
    captures: tuple[Value, ...] = ()
    fused: tuple[onnx.NodeProto, ...] = ()
    """The nodes of the model that it computes, if there are several; `node` then bears their names."""


@dataclass(eq=False)
class Lowered:
    """A graph as steps."""

    inputs: tuple[Value, ...]
    """Parameters: the graph's inputs (including overridden initializers), then outer values that it reads."""
    captures: tuple[str, ...]
    outputs: tuple[Value, ...]
    steps: list[Step] = field(default_factory=list)


@dataclass
class Context:
    """State shared by all graphs of a model while they are lowered."""

    opsets: dict[str, int]
    fallbacks: set[str]
    compile_body: Any
    """Turns a lowered subgraph into a function; supplied by the compiler."""
    folded_bytes: float = 0
    """The size of all results of constant nodes so far."""


def lower(
    graph: onnx.GraphProto,
    context: Context,
    outer: MutableMapping[str, Value] | None = None,
    overridden: Iterable[str] = (),
    holder: onnx.GraphProto | None = None,
) -> Lowered:
    """Lower a graph; `outer` are the values visible to a subgraph, `overridden` initializers become parameters.

    Its nodes must be sorted, and everything that they read must exist. For a graph stripped of its weights, these and
    its inputs are in another graph, its `holder`.
    """
    kernels.load_all()
    scope = _Scope(graph, holder or graph, context, outer or {}, frozenset(overridden))
    for proto in graph.node:
        with compiling(partial(label, proto)):
            scope.add(proto)
    outputs = tuple(scope.read(output.name) for output in graph.output)
    captured = tuple(scope.captured.values())
    return Lowered((*scope.parameters, *captured), tuple(scope.captured), outputs, scope.steps)


def arguments_of(node: Node, kernel: Kernel) -> tuple[Value | None, ...]:
    """The inputs of a node that its kernel receives."""
    chosen = range(len(node.inputs)) if kernel.uses is None else kernel.uses
    return tuple(node.inputs[i] if i < len(node.inputs) else None for i in chosen)


class _Scope:
    """The values visible to the nodes of one graph."""

    def __init__(
        self,
        graph: onnx.GraphProto,
        holder: onnx.GraphProto,
        context: Context,
        outer: MutableMapping[str, Value],
        overridden: frozenset[str],
    ) -> None:
        self._context = context
        self._outer = outer
        self._types = {v.name: v.type for v in (*graph.value_info, *graph.output)}
        self.captured: dict[str, Value] = {}
        self.steps: list[Step] = []
        self._values: dict[str, Value] = {}
        for tensor in holder.initializer:
            if tensor.name not in overridden:
                with compiling(partial(_initialiser, tensor.name)):
                    self._define(tensor.name, numpy_helper.to_array(tensor))
        for sparse in holder.sparse_initializer:
            if sparse.values.name not in overridden:
                with compiling(partial(_initialiser, sparse.values.name)):
                    self._define(sparse.values.name, _dense(sparse))
        self.parameters = []
        for declared in holder.input:
            if declared.name not in self._values:
                self._types[declared.name] = declared.type
                self._values[declared.name] = self._typed(declared.name)
                self.parameters.append(self._values[declared.name])

    def read(self, name: str) -> Value:
        """The value with that name, from this graph or an outer one."""
        if name in self._values:
            return self._values[name]
        outer = self._outer[name]
        if outer.constant is not None:
            return outer
        if name not in self.captured:
            self.captured[name] = Value(name, outer.dtype, outer.shape)
        return self.captured[name]

    def add(self, proto: onnx.NodeProto) -> None:
        """Find a kernel for a node, and compute it now if all its inputs are known."""
        node, captures = self._node(proto)
        kernel = find_kernel(node)
        if kernel is None:
            self._context.fallbacks.add(f"{proto.domain}.{proto.op_type}" if proto.domain else proto.op_type)
            kernel = fallback_kernel(node, [value.name for value in captures], self._constants_in_bodies(proto))
        arguments = (*arguments_of(node, kernel), *captures)
        if not self._fold(node, kernel, arguments):
            self.steps.append(Step(node, kernel, arguments, node.outputs, captures))

    def _node(self, proto: onnx.NodeProto) -> tuple[Node, tuple[Value, ...]]:
        inputs = tuple(self.read(name) if name else None for name in proto.input)
        outputs = tuple(self._typed(name) if name else None for name in proto.output)
        version = self._context.opsets.get(short_domain(proto.domain), 1)
        node = Node(proto, version, self._context.opsets, {}, inputs, outputs)
        for attribute in proto.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                node.bodies[attribute.name] = self._body(attribute.g)
            else:
                node.attributes[attribute.name] = _attribute(attribute)
        names = dict.fromkeys(name for body in node.bodies.values() for name in body.captures)
        captures = tuple(self.read(name) for name in names)
        for value in outputs:
            if value is not None:
                self._values[value.name] = value
        return node, captures

    def _constants_in_bodies(self, proto: onnx.NodeProto) -> dict[str, Any]:
        """Constants of this and outer graphs that a node's bodies read: our own bodies have them bound."""
        visible = ChainMap(self._values, self._outer)
        names = (name for graph in _graphs(proto) for node in graph.node for name in node.input)
        return {
            name: visible[name].constant for name in names if name in visible and visible[name].constant is not None
        }

    def _body(self, graph: onnx.GraphProto) -> Body:
        lowered = lower(graph, self._context, ChainMap(self._values, self._outer))
        return Body(self._context.compile_body(lowered), lowered.captures, lowered.inputs, len(lowered.steps))

    def _fold(self, node: Node, kernel: Kernel, arguments: tuple[Value | None, ...]) -> bool:
        """Compute a node at compile time, if its results are certainly small; if it fails, so will the run."""
        known = all(value is None or value.constant is not None for value in arguments)
        if not known or _is_random(node.proto):
            return False
        constants = [None if value is None else value.constant for value in arguments]
        try:
            bound = most_bytes(node)
            if bound is None or bound > FOLD_LIMIT_BYTES - self._context.folded_bytes:
                return False
            result = kernel.function(*constants)
        except Exception:
            return False
        results = result if node.output_count > 1 else (result,)
        if any(value is not None and each is None for value, each in zip(node.outputs, results, strict=False)):
            return False  # an optional without a value looks like an unknown value
        self._context.folded_bytes += sum(_own_bytes(each, constants) for each in results)
        for value, constant in zip(node.outputs, results, strict=False):
            if value is not None:
                self._define(value.name, constant)
        return True

    def _define(self, name: str, constant: Any) -> None:
        array = isinstance(constant, np.ndarray | np.generic)
        if array:
            constant = np.asarray(constant)
        shape = constant.shape if array else None
        self._values[name] = Value(name, constant.dtype if array else None, shape, constant)

    def _typed(self, name: str) -> Value:
        declared = self._types.get(name)
        if declared is None or not declared.HasField("tensor_type"):
            return Value(name)
        tensor = declared.tensor_type
        return Value(name, element_dtype(tensor.elem_type), dims_of(tensor))


def _graphs(proto: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The subgraphs of a node, including nested ones."""
    for _, body in bodies(proto):
        yield from with_bodies(body)


def _own_bytes(result: Any, constants: Iterable[Any]) -> int:
    """Memory of a result that it does not share with a constant."""
    arrays = (each for each in constants if isinstance(each, np.ndarray))
    if not isinstance(result, np.ndarray) or any(np.may_share_memory(result, each) for each in arrays):
        return 0
    return int(result.nbytes)


def _initialiser(name: str) -> str:
    return f"initializer {quoted(name)}"


def _is_random(proto: onnx.NodeProto) -> bool:
    inner = (node.op_type for graph in _graphs(proto) for node in graph.node)
    return not _NEVER_FOLDED.isdisjoint((proto.op_type, *inner))


def _attribute(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SparseTensorProto):
        return _dense(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [text.decode("utf-8", "surrogateescape") for text in value]
    return list(value) if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS) else value


def _dense(sparse: onnx.SparseTensorProto) -> Any:
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), dtype=values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense
