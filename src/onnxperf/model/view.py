"""Reads a model into the record that listings and drawings are made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import onnx
from msgspec.structs import replace

from onnxperf.model.cost import INFERENCE_ERRORS, Shape, inferred, multiplications, whole, without_weights
from onnxperf.model.functions import Key, call_key, function_key
from onnxperf.model.graph import ONNX_DOMAIN, all_nodes, bodies, initialisers, set_shape, short_domain, text
from onnxperf.model.load import LoadedModel
from onnxperf.model.outline import default_attributes, with_names
from onnxperf.model.view_values import attribute_text, is_graph, view_sparse, view_tensor, view_value
from onnxperf.records.view import (
    Dims,
    GraphView,
    ViewFunction,
    ViewGraph,
    ViewNode,
    ViewTensor,
    ViewTotals,
    ViewValue,
)
from onnxperf.wording.names import one_line

_MULTIPLY = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
"""Operators whose multiply-adds are counted."""
_REPEATING = frozenset({"Loop", "Scan", "SequenceMap"})
"""Operators whose body runs a number of times unknown in advance."""
_NEUTRAL = {"pads": 0, "strides": 1, "dilations": 1}
"""Attribute lists without effect if all their numbers equal this: the default of the operator."""
_MOST_MACS = 2**53
"""Maximum multiply-adds of one node: no machine could compute more, and no JSON reader could read it."""
_NO_TYPES: Mapping[str, Dims] = MappingProxyType({})


def view_of(model: LoadedModel, values: bool = False, shapes: Mapping[str, Dims] | None = None) -> GraphView:
    """A model to show; `values` adds those of all tensors, `shapes` override those of inputs."""
    view = view_of_proto(model.proto, model.path.parent, values, shapes)
    return replace(view, model=model.label, fingerprint=model.fingerprint)


def view_of_proto(
    proto: onnx.ModelProto, folder: Path, values: bool = False, shapes: Mapping[str, Dims] | None = None
) -> GraphView:
    """The same for a graph without a file; its external data are in `folder`."""
    settled = dict(_settled_symbols(proto.graph.input, shapes or {}))
    bare, notes = _inferred(proto, shapes or {}, settled)
    free = tuple(dict.fromkeys(_symbols(bare.graph.input)))
    named, _ = with_names(bare)
    reader = _Reader(
        folder=folder,
        values=values,
        labels=iter([node.name for node in all_nodes(named)]),
        functions={function_key(each): f"f{number}" for number, each in enumerate(proto.functions)},
        opsets={short_domain(each.domain): each.version for each in proto.opset_import},
        sizes={**dict.fromkeys(free, 1), **settled},
    )
    graph = reader.graph(bare.graph, proto.graph)
    functions = tuple(reader.function(each) for each in bare.functions)
    return GraphView(
        model="",
        producer=f"{text(proto.producer_name)} {text(proto.producer_version)}".strip(),
        ir_version=proto.ir_version,
        opsets=_opsets(proto.opset_import),
        metadata={text(each.key): text(each.value) for each in proto.metadata_props},
        doc=text(proto.doc_string or proto.graph.doc_string),
        graph=graph,
        functions=functions,
        totals=_totals([graph, *(each.graph for each in functions)]),
        free_dims=free,
        notes=notes,
    )


# ---------------------------------------------------------------- types


def _inferred(
    proto: onnx.ModelProto, shapes: Mapping[str, Dims], settled: Mapping[str, int]
) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """The model without its weights, and with its tensors' types as far as ONNX can infer them."""
    bare = without_weights(proto)
    if shapes:
        del bare.graph.value_info[:]  # the exporter's declarations still contain the free sizes
    for value in bare.graph.input:
        if value.name in shapes and value.type.HasField("tensor_type"):
            set_shape(value, shapes[value.name])
    for dim in (dim for value in bare.graph.output for dim in value.type.tensor_type.shape.dim):
        if dim.dim_param in settled:
            dim.dim_value = settled[dim.dim_param]
    try:
        return inferred(bare), ()
    except INFERENCE_ERRORS as error:
        return bare, (f"shapes inside the graph are unknown: shape inference failed ({one_line(error)[:200]})",)


def _settled_symbols(inputs: Iterable[onnx.ValueInfoProto], shapes: Mapping[str, Dims]) -> Iterator[tuple[str, int]]:
    """Given sizes of symbols, by name: other tensors may use them too."""
    for value in map(view_value, inputs):
        for declared, size in zip(value.shape or (), shapes.get(value.name, ()), strict=False):
            if isinstance(declared, str) and isinstance(size, int):
                yield declared, size


def _symbols(inputs: Iterable[onnx.ValueInfoProto]) -> Iterator[str]:
    for value in inputs:
        yield from (size for size in view_value(value).shape or () if isinstance(size, str))


def _opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {each.domain or ONNX_DOMAIN: each.version for each in imports}


# ---------------------------------------------------------------- graphs


@dataclass(frozen=True)
class _Reader:
    """Walks graphs in the order in which `with_names` names their nodes."""

    folder: Path
    values: bool
    labels: Iterator[str]
    functions: Mapping[Key, str]
    opsets: Mapping[str, int]
    sizes: Mapping[str, int]
    """The sizes of symbols with which multiply-adds are counted."""

    def graph(
        self, graph: onnx.GraphProto, stored: onnx.GraphProto, prefix: str = "", outer: Mapping[str, Dims] = _NO_TYPES
    ) -> ViewGraph:
        """A graph; `stored` is the same graph with its weights."""
        types = {value.name: value for value in _known(graph, {each.name for each in stored.initializer})}
        initializers = tuple(self._initializers(stored))
        shapes = {name: value.shape for name, value in types.items() if value.shape is not None}
        known = {**outer, **shapes, **{each.name: each.shape for each in initializers}}
        settled = {value.name: value for value in map(view_value, graph.input)}  # with the given shapes
        return ViewGraph(
            name=stored.name,
            inputs=tuple(settled[value.name] for value in stored.input),
            outputs=tuple(types.get(value.name) or view_value(value) for value in graph.output),
            initializers=initializers,
            nodes=tuple(self._nodes(graph.node, prefix, known)),
            types=types,
        )

    def function(self, function: onnx.FunctionProto) -> ViewFunction:
        """A local function."""
        key = self.functions[function_key(function)]
        defaults = tuple((each.name, attribute_text(each, self.folder)) for each in function.attribute_proto)
        return ViewFunction(
            key=key,
            name=function.name,
            domain=short_domain(function.domain),
            overload=function.overload,
            opsets=_opsets(function.opset_import),
            attributes=(*((name, "") for name in function.attribute), *defaults),
            graph=ViewGraph(
                name=function.name,
                inputs=tuple(ViewValue(name=name) for name in function.input),
                outputs=tuple(ViewValue(name=name) for name in function.output),
                nodes=tuple(self._nodes(function.node, f"{key}/", _NO_TYPES)),
            ),
        )

    def _initializers(self, graph: onnx.GraphProto) -> Iterator[ViewTensor]:
        yield from (view_tensor(each, self.folder, self.values) for each in graph.initializer)
        yield from (view_sparse(each, self.folder, self.values) for each in graph.sparse_initializer)

    def _nodes(self, nodes: Sequence[onnx.NodeProto], prefix: str, known: Mapping[str, Dims]) -> Iterator[ViewNode]:
        depths: dict[str, int] = {}
        for index, node in enumerate(nodes):
            depth = max((depths.get(name, 0) for name in _reads(node)), default=0)
            depths.update((name, depth + 1) for name in node.output if name)
            yield self._node(node, index, prefix, depth, known)

    def _node(self, node: onnx.NodeProto, index: int, prefix: str, depth: int, known: Mapping[str, Dims]) -> ViewNode:
        key, label = f"{prefix}{index}", next(self.labels)
        domain = short_domain(node.domain)
        plain = [each for each in node.attribute if not is_graph(each)]
        defaults = default_attributes(node.op_type, domain, self.opsets.get(domain, 0))
        return ViewNode(
            index=index,
            key=key,
            label=label,
            name=node.name,
            op_type=node.op_type,
            domain=domain,
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            attributes=tuple((each.name, attribute_text(each, self.folder, self.values)) for each in plain),
            defaults=tuple(each.name for each in plain if defaults.get(each.name) == each or _does_nothing(each)),
            subgraphs={name: self.graph(body, body, f"{key}/{name}/", known) for name, body in bodies(node)},
            function=self.functions.get(call_key(node), ""),
            depth=depth,
            macs=self._macs(node, known),
            doc=text(node.doc_string),
        )

    def _macs(self, node: onnx.NodeProto, known: Mapping[str, Dims]) -> int | None:
        if short_domain(node.domain) or node.op_type not in _MULTIPLY:
            return None
        shapes = {name: self._settled(known[name]) for name in (*node.input, *node.output) if name in known}
        known_shapes = {name: shape for name, shape in shapes.items() if shape is not None}
        with suppress(KeyError, IndexError):  # an unknown shape
            count = int(multiplications(node, known_shapes))
            return count if count < _MOST_MACS else None
        return None

    def _settled(self, shape: Dims) -> Shape | None:
        """The shape, with free sizes of inputs taken as 1; None if another size is unknown."""
        return whole(tuple(self.sizes.get(size) if isinstance(size, str) else size for size in shape))


def _known(graph: onnx.GraphProto, stored: set[str]) -> Iterator[ViewValue]:
    """Shapes from inference, then declared types, which take precedence."""
    for value in (*graph.value_info, *graph.output, *graph.input):
        if value.name not in stored and value.type.WhichOneof("value") is not None:
            yield view_value(value)


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """Tensors that a node needs, including outer tensors read by its bodies."""
    yield from filter(None, node.input)
    for _, body in bodies(node):
        own = {each.name for each in body.input} | initialisers(body)
        for inner in body.node:
            yield from (name for name in _reads(inner) if name not in own)
            own.update(inner.output)
        yield from (each.name for each in body.output if each.name not in own)


def _does_nothing(attribute: onnx.AttributeProto) -> bool:
    neutral = _NEUTRAL.get(attribute.name)
    return neutral is not None and len(attribute.ints) > 0 and all(number == neutral for number in attribute.ints)


# ---------------------------------------------------------------- sums


def _totals(graphs: Sequence[ViewGraph]) -> ViewTotals:
    every = [graph for each in graphs for graph in each.with_bodies()]
    nodes = [node for graph in every for node in graph.nodes]
    tensors = [tensor for graph in every for tensor in graph.initializers]
    multiplying = [node for node in nodes if node.op_type in _MULTIPLY and not node.domain]
    counted = [node.macs for node in multiplying if node.macs is not None]
    repeated = {node.key for graph in graphs for node in _repeated_nodes(graph)}
    operators = Counter(f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in nodes)
    return ViewTotals(
        nodes=len(nodes),
        parameters=sum(math.prod(tensor.shape) for tensor in tensors),
        weight_bytes=sum(tensor.size_bytes for tensor in tensors),
        macs=sum(counted) if counted else None,
        macs_unknown=sum(node.macs is None or node.key in repeated for node in multiplying),
        operators=dict(operators.most_common()),
    )


def _repeated_nodes(graph: ViewGraph) -> Iterator[ViewNode]:
    for node in (node for each in graph.with_bodies() for node in each.nodes if node.op_type in _REPEATING):
        for body in node.subgraphs.values():
            yield from (inner for each in body.with_bodies() for inner in each.nodes)
