"""Extract a part of a graph as a separate model with random weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx
from msgspec import Struct
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from onnxperf.model.graph import bodies

_FEWEST_RANDOM = 8
"""Weights with fewer elements are kept: factors, bounds and the like determine what is computed."""
_RANDOM = frozenset(
    {
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.BFLOAT16,
        onnx.TensorProto.INT8,
        onnx.TensorProto.UINT8,
    }
)
"""Types of weights; other integers are shapes and indices."""
_NARROW = (0.01, 0.1)
"""Range of random values for weights in another file, which is not read."""


class TensorFacts(Struct, frozen=True):
    """Facts about a tensor from a run of the whole model."""

    element_type: int
    """ONNX number of the type."""
    shape: tuple[int, ...]
    data: bytes | None = None
    """Its values, if they determine shapes or indices and become constants."""


class PartInterface(Struct, frozen=True):
    """Inputs and outputs of a part."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def interface_of(graph: onnx.GraphProto, start: int, stop: int) -> PartInterface:
    """The tensors that the nodes from `start` up to, but excluding, `stop` take from and return to other nodes."""
    nodes = graph.node[start:stop]
    made = {name for node in nodes for name in node.output if name}
    constants = {each.name for each in graph.initializer}
    used = list(dict.fromkeys(name for node in nodes for name in _used(node)))
    elsewhere = {name for node in (*graph.node[:start], *graph.node[stop:]) for name in _used(node)}
    returned = elsewhere | {each.name for each in graph.output}
    outputs = [name for node in nodes for name in node.output if name in returned]
    if not outputs:  # unused, but a model has to return something
        outputs = [name for node in nodes[-1:] for name in node.output if name]
    return PartInterface(
        tuple(name for name in used if name not in made and name not in constants), tuple(dict.fromkeys(outputs))
    )


def part_of(
    proto: onnx.ModelProto, start: int, stop: int, facts: Mapping[str, TensorFacts], seed: int
) -> onnx.ModelProto:
    """The nodes from `start` up to, but excluding, `stop` as a model with random weights."""
    graph = proto.graph
    interface = interface_of(graph, start, stop)
    nodes = [_copied(node, seed) for node in graph.node[start:stop]]
    used = {name for node in nodes for name in _used(node)}
    weights = [_randomised(each, seed) for each in graph.initializer if each.name in used]
    fixed = {name: facts[name] for name in interface.inputs if name in facts and facts[name].data is not None}
    weights += [_constant(name, each) for name, each in fixed.items()]
    part = helper.make_graph(
        nodes,
        "part",
        [_declared(name, facts) for name in interface.inputs if name not in fixed],
        [_declared(name, facts) for name in interface.outputs],
        weights,
    )
    model = helper.make_model(part, opset_imports=proto.opset_import, functions=proto.functions)
    model.ir_version = max(proto.ir_version, 4)  # earlier versions require weights to be inputs as well
    return model


def node_names(graph: onnx.GraphProto) -> tuple[str, ...]:
    """Labels of nodes: operator and name."""
    return tuple(f"{node.op_type} {node.name}".strip() for node in graph.node)


def _used(node: onnx.NodeProto) -> Iterable[str]:
    """Names used by a node, including its bodies."""
    yield from (name for name in node.input if name)
    for _, body in bodies(node):
        own = {each.name for each in (*body.input, *body.initializer)}
        for inner in body.node:
            yield from (name for name in _used(inner) if name not in own)
            own.update(inner.output)
        yield from (each.name for each in body.output if each.name not in own)


def _declared(name: str, facts: Mapping[str, TensorFacts]) -> onnx.ValueInfoProto:
    known = facts.get(name)
    if known is None:
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, known.element_type, known.shape)


def _constant(name: str, facts: TensorFacts) -> onnx.TensorProto:
    return helper.make_tensor(name, facts.element_type, facts.shape, facts.data or b"", raw=True)


def _copied(node: onnx.NodeProto, seed: int) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.doc_string = ""
    del copy.metadata_props[:]
    for attribute in copy.attribute:
        if node.op_type == "Constant" and attribute.HasField("t"):
            attribute.t.CopyFrom(_randomised(attribute.t, seed))
    return copy


def _randomised(tensor: onnx.TensorProto, seed: int) -> onnx.TensorProto:
    """Random values with the same type, shape and approximate magnitude as the replaced ones."""
    external = tensor.data_location == onnx.TensorProto.EXTERNAL
    if tensor.data_type not in _RANDOM or (not external and int(np.prod(tensor.dims)) < _FEWEST_RANDOM):
        return tensor
    rng = np.random.default_rng([seed, *tensor.name.encode()])
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    values = _like(None if external else numpy_helper.to_array(tensor), tuple(tensor.dims), rng)
    return numpy_helper.from_array(values.astype(dtype), tensor.name)


def _like(values: NDArray[np.generic] | None, shape: Sequence[int], rng: np.random.Generator) -> NDArray[np.float32]:
    if values is None:
        return rng.uniform(*_NARROW, size=shape).astype(np.float32)
    known = values.astype(np.float32)
    known = known[np.isfinite(known)]
    if not known.size:
        return np.zeros(shape, np.float32)
    drawn = rng.standard_normal(shape, dtype=np.float32) * known.std() + known.mean()
    # Within the old bounds: a variance stays positive, and quantized values stay in their range.
    return np.asarray(np.clip(drawn, known.min(), known.max()), dtype=np.float32)
