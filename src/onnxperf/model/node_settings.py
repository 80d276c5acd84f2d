"""Settings of an executed graph's nodes that a trace omits: the types of packed weights, and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import onnx

from onnxperf.model.graph import bodies, text
from onnxperf.records.graph import Path
from onnxperf.records.headroom import LEFT_OUT, NodeSettings
from onnxperf.records.trace import TensorType

_LONGEST = 16
"""A longer list of integers does not affect the amount of work; for texts, the limit is sixteen times as high."""
_Types = Mapping[str, TensorType]


def answer_settings(proto: onnx.ModelProto, _question: bytes) -> bytes:
    """The settings of all nodes, encoded by the reader process."""
    return msgspec.msgpack.encode(list(_of_graph(proto.graph, (), {})))


def decode_settings(answer: bytes) -> list[NodeSettings]:
    """Decode the reader's answer."""
    return msgspec.msgpack.decode(answer, type=list[NodeSettings])


def _of_graph(graph: onnx.GraphProto, path: Path, outer: _Types) -> Iterator[NodeSettings]:
    made = {value.name for value in graph.input} | {name for node in graph.node for name in node.output}
    own = {each.name: _type(each) for each in graph.initializer}
    # A name in this graph hides the outer one.
    known = {**{name: each for name, each in outer.items() if name not in made}, **own}
    for node in graph.node:
        yield _of_node(node, path, known)
        for _, body in bodies(node):
            yield from _of_graph(body, (*path, node.name), known)


def _of_node(node: onnx.NodeProto, path: Path, known: _Types) -> NodeSettings:
    attributes = [each for each in node.attribute if isinstance(each.name, str)]
    return NodeSettings(
        path=path,
        name=node.name,
        op_name=node.op_type,
        constants=tuple(known.get(name) if name else LEFT_OUT for name in node.input),
        numbers={each.name: found for each in attributes if (found := _numbers(each)) is not None},
        texts={
            each.name: text(each.s)
            for each in attributes
            if each.type == onnx.AttributeProto.STRING and len(each.s) <= 16 * _LONGEST
        },
    )


def _numbers(attribute: onnx.AttributeProto) -> tuple[int, ...] | None:
    if attribute.type == onnx.AttributeProto.INT:
        return (attribute.i,)
    if attribute.type == onnx.AttributeProto.INTS and len(attribute.ints) <= _LONGEST:
        return tuple(attribute.ints)
    return (len(attribute.floats),) if attribute.type == onnx.AttributeProto.FLOATS else None


def _type(tensor: onnx.TensorProto) -> TensorType:
    names = onnx.TensorProto.DataType
    known = tensor.data_type in names.values()
    return TensorType(names.Name(tensor.data_type).lower() if known else "", tuple(tensor.dims))
