"""A model reduced to the graph record needed to compare graphs, and names for unnamed nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import onnx
from msgspec.structs import replace

from onnxperf.model.graph import bodies, initialisers, numbered_nodes, short_domain
from onnxperf.records.graph import Graph, GraphNode

_OVERRIDABLE_SINCE = 4
"""Before this IR version every initializer had to be an input, and onnxruntime treats them as constants."""


# ---------------------------------------------------------------- outline


def outline(proto: onnx.ModelProto) -> Graph:
    """Names, operators and connections of a model, including its subgraphs."""
    opsets = {short_domain(each.domain): each.version for each in proto.opset_import}
    graph = _graph(proto.graph, opsets)
    if proto.ir_version >= _OVERRIDABLE_SINCE:
        return graph
    constants = initialisers(proto.graph)
    inputs = tuple(name for name in graph.inputs if name not in constants)
    return replace(graph, inputs=inputs, constants=frozenset(constants))


def _graph(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> Graph:
    inputs = tuple(each.name for each in graph.input)
    return Graph(
        inputs=inputs,
        outputs=tuple(each.name for each in graph.output),
        # A feed may override an initializer that is also an input: nothing may be precomputed from it.
        constants=frozenset(initialisers(graph).difference(inputs)),
        nodes=tuple(_node(node, opsets) for node in graph.node),
    )


def _node(node: onnx.NodeProto, opsets: Mapping[str, int]) -> GraphNode:
    domain = short_domain(node.domain)
    return GraphNode(
        name=node.name,
        op_type=node.op_type,
        domain=domain,
        inputs=tuple(node.input),
        outputs=tuple(node.output),
        attributes=_digest(node, domain, opsets.get(domain, 0)),
        activation=_activation(node),
        subgraphs=tuple((name, _graph(body, opsets)) for name, body in bodies(node)),
    )


def _activation(node: onnx.NodeProto) -> str:
    found = next((each for each in node.attribute if each.name == "activation"), None)
    return found.s.decode(errors="replace") if found is not None else ""


def _digest(node: onnx.NodeProto, domain: str, version: int) -> str:
    # onnxruntime writes defaults into the graph that it saves, so they must count in the original, too.
    defaults = default_attributes(node.op_type, domain, version)
    attributes = {name: _serialised(attribute) for name, attribute in defaults.items()}
    for attribute in node.attribute:
        if not attribute.HasField("g") and not attribute.graphs:
            attributes[attribute.name] = _serialised(attribute)
    if not attributes:
        return ""
    digest = hashlib.sha256()
    for name, content in sorted(attributes.items()):
        for part in (name.encode(errors="surrogatepass"), content):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


@lru_cache(maxsize=1024)
def default_attributes(op_type: str, domain: str, version: int) -> Mapping[str, onnx.AttributeProto]:
    """Attributes that an operator has by default."""
    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return {}
    return {name: each.default_value for name, each in schema.attributes.items() if each.default_value.name}


def _serialised(attribute: onnx.AttributeProto) -> bytes:
    if attribute.doc_string:
        copy = onnx.AttributeProto()
        copy.CopyFrom(attribute)
        copy.ClearField("doc_string")
        attribute = copy
    content: bytes = attribute.SerializeToString(deterministic=True)
    return content


# ---------------------------------------------------------------- names


def with_names(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, bool]:
    """A copy whose nodes all have unique names, and whether it was needed; if not, the model itself."""
    names = [node.name for _, node in numbered_nodes(proto)]
    reserved = set(names)
    if "" not in reserved and len(reserved) == len(names):
        return proto, False
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    # An existing name is never assigned to an unnamed node, even if that node comes first.
    held: set[str] = set()
    suffixes: dict[str, int] = {}
    for position, node in numbered_nodes(copy):
        if not node.name or node.name in held:
            node.name = _free(node.name or f"{node.op_type}_{position}", reserved, suffixes)
        held.add(node.name)
        reserved.add(node.name)
    return copy, True


def _free(name: str, reserved: set[str], suffixes: dict[str, int]) -> str:
    candidate = name
    while candidate in reserved:
        suffixes[name] = suffixes.get(name, 0) + 1
        candidate = f"{name}_{suffixes[name]}"
    return candidate
