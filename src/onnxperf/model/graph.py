"""Shared functions to read a graph: its nodes, tensors, names, sizes and types, at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import onnx

from onnxperf.records.view import Dims

ONNX_DOMAIN = "ai.onnx"
"""ONNX's own domain, which most files leave empty."""


def text(value: str | bytes) -> str:
    """Prose in a model, such as documentation: protobuf returns bytes if it is not UTF-8."""
    return value if isinstance(value, str) else value.decode(errors="replace")


def short_domain(domain: str) -> str:
    """A domain; ONNX's own is empty."""
    return "" if domain == ONNX_DOMAIN else domain


def opset_of(proto: onnx.ModelProto) -> int:
    """Version of ONNX's own operators that a model uses; 0 if it uses none."""
    return next((each.version for each in proto.opset_import if not short_domain(each.domain)), 0)


# ---------------------------------------------------------------- nodes and names


def all_nodes(proto: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node of a model, including those of subgraphs and functions."""
    return (node for _, node in numbered_nodes(proto))


def numbered_nodes(proto: onnx.ModelProto) -> Iterator[tuple[int, onnx.NodeProto]]:
    """Every node of a model with its position in its own graph."""
    yield from _nested(proto.graph.node)
    for function in proto.functions:
        yield from _nested(function.node)


def _nested(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[int, onnx.NodeProto]]:
    for position, node in enumerate(nodes):
        yield position, node
        for _, body in bodies(node):
            yield from _nested(body.node)


def bodies(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """Bodies of a node by attribute name; those of a list are numbered."""
    for attribute in node.attribute:
        yield from _bodies_in(attribute)


def _bodies_in(attribute: onnx.AttributeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    if attribute.HasField("g"):
        yield attribute.name, attribute.g
    yield from ((f"{attribute.name}[{number}]", body) for number, body in enumerate(attribute.graphs))


def with_bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for _, body in bodies(node):
            yield from with_bodies(body)


def initialisers(graph: onnx.GraphProto) -> set[str]:
    """Names of all initializers of a graph."""
    return {each.name for each in graph.initializer}.union(each.values.name for each in graph.sparse_initializer)


def all_names(graph: onnx.GraphProto) -> set[str]:
    """Every name used in a graph and its bodies."""
    names: set[str] = set()
    for each in with_bodies(graph):
        names.update((each.name, *initialisers(each)))
        names.update(value.name for value in (*each.input, *each.output, *each.value_info))
        names.update(name for node in each.node for name in (node.name, *node.input, *node.output))
    return names


# ---------------------------------------------------------------- tensors


def all_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor stored anywhere in a model."""
    yield from _graph_tensors(proto.graph)
    for function in proto.functions:
        yield from _node_tensors(function.node)
        for attribute in function.attribute_proto:
            yield from _attribute_tensors(attribute)
    for training in proto.training_info:
        yield from _graph_tensors(training.initialization)
        yield from _graph_tensors(training.algorithm)


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            yield from _attribute_tensors(attribute)


def _attribute_tensors(attribute: onnx.AttributeProto) -> Iterator[onnx.TensorProto]:
    if attribute.HasField("t"):
        yield attribute.t
    yield from attribute.tensors
    if attribute.HasField("sparse_tensor"):
        yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)
    for sparse in attribute.sparse_tensors:
        yield from (sparse.values, sparse.indices)
    for _, body in _bodies_in(attribute):
        yield from _graph_tensors(body)


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the values of a tensor are in a separate file."""
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


# ---------------------------------------------------------------- types and sizes


def element_dtype(elem_type: int) -> np.dtype[np.generic] | None:
    """Numpy's type for an element type; None if there is none."""
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
    except KeyError:
        return None


def dims_of(tensor: onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor) -> Dims | None:
    """The declared shape of a tensor; None if even the rank is unknown."""
    return tuple(map(_size, tensor.shape.dim)) if tensor.HasField("shape") else None


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    # some exporters write -1 for a free dimension, and onnxruntime accepts it
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def set_shape(value: onnx.ValueInfoProto, dims: Dims) -> None:
    """Declare the shape of a tensor, replacing the previous one."""
    sizes = (
        onnx.TensorShapeProto.Dimension(dim_value=size)
        if isinstance(size, int)
        else onnx.TensorShapeProto.Dimension(dim_param=size)
        for size in dims
    )
    value.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto(dim=sizes))
