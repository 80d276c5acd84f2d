"""The Einsum nodes of a model, and their replacement by other graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import onnx

from onnxperf.contraction.equation import Shape, parse
from onnxperf.contraction.graph import ELEMENT_TYPES, check_target
from onnxperf.errors import BadModel, BadOption
from onnxperf.model.cost import KnownType, infer_types, without_weights
from onnxperf.model.graph import all_names, bodies, set_shape, short_domain
from onnxperf.model.graph import opset_of as declared_opset
from onnxperf.model.outline import with_names

_DTYPES: dict[int, str] = {number: name for name, number in ELEMENT_TYPES.items()}
_FREE_CONSTANTS = 4
"""From this IR version on, an initializer does not have to be an input as well."""
_LONGEST_PREFIX = 100
UNKNOWN_SHAPES = "its input shapes are unknown; set them with `dims`"

Types = Mapping[str, KnownType]
_Message = TypeVar("_Message")


# ---------------------------------------------------------------- sites


@dataclass(frozen=True)
class Site:
    """Einsum nodes with the same equation, shapes and type: results for one are valid for all."""

    equation: str
    shapes: tuple[Shape, ...] | None
    """Shapes of their inputs; None if unknown."""
    dtype: str
    """Their element type; empty if unknown."""
    reason: str = ""
    """Why they cannot be replaced; empty if they can."""
    nodes: tuple[int, ...] = ()
    """Their positions among the nodes of the main graph; none for nodes elsewhere."""
    names: tuple[str, ...] = ()
    """Their names; operator and position for unnamed ones."""


def opset_of(proto: onnx.ModelProto) -> int:
    """The version of ONNX's own operators that a model uses."""
    found = declared_opset(proto)
    if not found:
        raise BadModel("the model does not declare the opset of ONNX's operators; export it again")
    return found


def sites(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> list[Site]:
    """All Einsum nodes, with equal ones grouped; `shapes` are those of the model's inputs."""
    types = _types(proto, shapes)
    named, _ = with_names(without_weights(proto))
    groups: dict[Site, list[tuple[int | None, str]]] = {}
    for index, node in enumerate(named.graph.node):
        if _is_einsum(node):
            groups.setdefault(_judged(node, types, named), []).append((index, node.name))
        for reason, inner in _inner(node):
            groups.setdefault(Site(_equation(inner), None, "", reason), []).append((None, inner.name))
    for function in named.functions:
        for inner in _nested(function.node):
            site = Site(_equation(inner), None, "", f"inside the function {function.name!r}")
            groups.setdefault(site, []).append((None, inner.name))
    return [
        replace(
            site,
            nodes=tuple(index for index, _ in members if index is not None),
            names=tuple(name for _, name in members),
        )
        for site, members in groups.items()
    ]


def _is_einsum(node: onnx.NodeProto) -> bool:
    return node.op_type == "Einsum" and not short_domain(node.domain)


def _inner(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.NodeProto]]:
    """Einsum nodes in the bodies of a node, each with the node that directly contains it."""
    for _, body in bodies(node):
        for each in body.node:
            if _is_einsum(each):
                yield f"inside the body of {node.op_type} {node.name!r}", each
            yield from _inner(each)


def _nested(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        if _is_einsum(node):
            yield node
        yield from (inner for _, inner in _inner(node))


def _equation(node: onnx.NodeProto) -> str:
    return next((each.s.decode(errors="replace") for each in node.attribute if each.name == "equation"), "")


def _judged(node: onnx.NodeProto, types: Types, proto: onnx.ModelProto) -> Site:
    """A node of the main graph as a separate site."""
    shapes = _input_shapes(node, types)
    elements = {types[name].element for name in node.input if name in types} - {0}
    dtype = _dtype(next(iter(elements))) if len(elements) == 1 else ""
    return Site(_equation(node), shapes, dtype, _problem(node, shapes, elements, opset_of(proto)))


def _input_shapes(node: onnx.NodeProto, types: Types) -> tuple[Shape, ...] | None:
    found = [types[name].shape if name in types else None for name in node.input]
    known = tuple(shape for shape in found if shape is not None)
    return known if len(known) == len(found) else None


def _dtype(element: int) -> str:
    try:
        return _DTYPES.get(element) or str(onnx.TensorProto.DataType.Name(element)).lower()
    except ValueError:  # an undefined number
        return f"type {element}"


def _problem(node: onnx.NodeProto, shapes: tuple[Shape, ...] | None, elements: Collection[int], opset: int) -> str:
    """Why no graph can replace a node; empty if one can."""
    if not _equation(node) or not all(node.input) or len(node.output) != 1 or not node.output[0]:
        return "it is damaged: an Einsum needs an equation, operands and one result"
    if shapes is None:
        return UNKNOWN_SHAPES
    if len(elements) != 1:
        return "its inputs have different element types" if elements else "its element type is unknown"
    (element,) = elements
    if element not in _DTYPES:
        return f"its element type is {_dtype(element)}; graphs can be built for {', '.join(ELEMENT_TYPES)}"
    try:
        check_target(_DTYPES[element], opset)
        parse(_equation(node), shapes)
    except BadOption as error:
        return str(error)
    return ""


# ---------------------------------------------------------------- types


def _types(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> dict[str, KnownType]:
    """Types of all tensors; ONNX's own inference uses the first size of a letter, even if it is 1 and broadcasts."""
    bare = without_weights(proto)
    while True:
        types = infer_types(bare, shapes)
        results = _misjudged(bare.graph, types)
        if not results:
            return types
        _cut(bare.graph, results)


def _misjudged(graph: onnx.GraphProto, types: Types) -> dict[str, KnownType]:
    """True types of Einsum results that inference got wrong by itself, not because of its inputs."""
    results: dict[str, KnownType] = {}
    doubtful: set[str] = set()
    for node in graph.node:
        if not doubtful.isdisjoint(_used(node)):
            doubtful.update(node.output)
        elif _is_einsum(node) and (true := _result(node, types)) and types.get(node.output[0]) != true:
            results[node.output[0]] = true
            doubtful.update(node.output)
    return results


def _result(node: onnx.NodeProto, types: Types) -> KnownType | None:
    shapes = _input_shapes(node, types)
    if shapes is None or not node.input or len(node.output) != 1 or not node.output[0]:
        return None
    try:
        return KnownType(types[node.input[0]].element, parse(_equation(node), shapes).output_shape)
    except BadOption:
        return None


def _cut(graph: onnx.GraphProto, results: Mapping[str, KnownType]) -> None:
    """Turn these results into inputs, and drop the declarations of everything that depends on them."""
    nodes = [node for node in graph.node if not results.keys() & set(node.output)]
    doubtful = set(results)
    for node in nodes:
        if not doubtful.isdisjoint(_used(node)):
            doubtful.update(node.output)
    _keep(graph.value_info, [value for value in graph.value_info if value.name not in doubtful])
    _keep(graph.output, [value for value in graph.output if value.name not in results])
    for value in graph.output:
        if value.name in doubtful:
            value.type.tensor_type.ClearField("shape")
    _keep(graph.node, nodes)
    for name, true in results.items():
        graph.input.append(onnx.helper.make_tensor_value_info(name, true.element, true.shape))


def _used(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node reads, including outer names read by its bodies."""
    yield from node.input
    for _, body in bodies(node):
        for each in body.node:
            yield from _used(each)


# ---------------------------------------------------------------- replaced


def replaced(proto: onnx.ModelProto, replacements: Mapping[int, onnx.ModelProto]) -> onnx.ModelProto:
    """A copy with the nodes at these positions replaced by graphs with inputs X0, X1, ... and output Y."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    if not replacements:
        return copy
    _join_opsets(copy, replacements.values())
    labels = [node.name for node in with_names(without_weights(proto))[0].graph.node]
    insertion = _Insertion(all_names(proto.graph))
    nodes: list[onnx.NodeProto] = []
    for index, node in enumerate(proto.graph.node):
        if index in replacements:
            label = labels[index] if _is_handy(labels[index]) else f"Einsum_{index}"
            nodes += insertion.nodes(node, replacements[index].graph, label)
        else:
            nodes.append(node)
    _keep(copy.graph.node, nodes)
    _add_constants(copy, [*insertion.constants.values()])
    _declare(copy.graph, insertion.results)
    return copy


def _join_opsets(proto: onnx.ModelProto, candidates: Iterable[onnx.ModelProto]) -> None:
    opset = opset_of(proto)
    for candidate in candidates:
        if opset_of(candidate) != opset:
            raise BadModel(f"a graph of opset {opset_of(candidate)} cannot be inserted into a model of opset {opset}")
        present = {short_domain(each.domain) for each in proto.opset_import}
        proto.opset_import.extend(each for each in candidate.opset_import if short_domain(each.domain) not in present)


def _is_handy(label: str) -> bool:
    return label.isprintable() and len(label) <= _LONGEST_PREFIX


class _Insertion:
    """Graphs inserted into one model: their names must be free, and equal constants are stored once."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.constants: dict[bytes, onnx.TensorProto] = {}
        self.results: dict[str, onnx.ValueInfoProto] = {}

    def nodes(self, place: onnx.NodeProto, graph: onnx.GraphProto, label: str) -> list[onnx.NodeProto]:
        """The nodes of a graph with new names, connected like the replaced node."""
        (result,) = place.output
        inputs = (value.name for value in graph.input)
        outside = dict(zip(inputs, place.input, strict=True)) | {graph.output[0].name: result}
        outside |= {tensor.name: self._constant(tensor) for tensor in graph.initializer}
        inside = all_names(graph).difference(outside, {""})
        names = outside | self._fresh(inside, label)
        self.results[result] = _renamed_value(graph.output[0], names)
        return [_renamed(node, names) for node in graph.node]

    def _fresh(self, names: Collection[str], label: str) -> dict[str, str]:
        prefix, number = f"{label}/", 0
        while any(prefix + name in self.taken for name in names):
            number += 1
            prefix = f"{label}_{number}/"
        self.taken.update(prefix + name for name in names)
        return {name: prefix + name for name in names}

    def _constant(self, tensor: onnx.TensorProto) -> str:
        nameless = onnx.TensorProto()
        nameless.CopyFrom(tensor)
        nameless.ClearField("name")
        content: bytes = nameless.SerializeToString(deterministic=True)
        if content not in self.constants:
            nameless.name = self._fresh([tensor.name], "einsum")[tensor.name]
            self.constants[content] = nameless
        return self.constants[content].name


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = names.get(node.name, "")
    copy.input[:] = [names.get(name, "") for name in node.input]
    copy.output[:] = [names.get(name, "") for name in node.output]
    for _, body in bodies(copy):
        _rename_body(body, names)
    return copy


def _rename_body(body: onnx.GraphProto, names: Mapping[str, str]) -> None:
    body.name = names.get(body.name, "")
    for value in (*body.input, *body.output, *body.value_info, *body.initializer):
        value.name = names[value.name]
    for sparse in body.sparse_initializer:
        sparse.values.name = names[sparse.values.name]
    _keep(body.node, [_renamed(node, names) for node in body.node])


def _renamed_value(value: onnx.ValueInfoProto, names: Mapping[str, str]) -> onnx.ValueInfoProto:
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = names[value.name]
    return copy


def _add_constants(proto: onnx.ModelProto, constants: Sequence[onnx.TensorProto]) -> None:
    graph = proto.graph
    if constants and proto.ir_version < _FREE_CONSTANTS:
        # before, onnxruntime treated every initializer as a constant; from now on an input could be overridden
        initialisers = {tensor.name for tensor in graph.initializer}
        _keep(graph.input, [value for value in graph.input if value.name not in initialisers])
        proto.ir_version = _FREE_CONSTANTS
    graph.initializer.extend(constants)


def _declare(graph: onnx.GraphProto, results: Mapping[str, onnx.ValueInfoProto]) -> None:
    """Declare the types of results: onnx infers nothing through operators of other domains."""
    outputs = {value.name for value in graph.output}
    others = [value for value in graph.value_info if value.name not in results]
    _keep(graph.value_info, [*others, *(value for name, value in results.items() if name not in outputs)])


def _keep(field: MutableSequence[_Message], values: Sequence[_Message]) -> None:
    """Make these the only members of a field."""
    del field[:]
    field.extend(values)


# ---------------------------------------------------------------- fixed


def fixed(proto: onnx.ModelProto, shapes: Mapping[str, Shape]) -> onnx.ModelProto:
    """A copy for inputs of these shapes only: the graphs that replace Einsum nodes contain them as constants."""
    types = _types(proto, shapes)
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    symbols: set[str] = set()
    for value in copy.graph.input:
        if value.name in shapes and value.type.HasField("tensor_type"):
            symbols.update(dim.dim_param for dim in value.type.tensor_type.shape.dim if dim.dim_param)
            set_shape(value, shapes[value.name])
    for value in (*copy.graph.output, *copy.graph.value_info):
        known = types[value.name].shape if value.name in types else None
        if known is not None:
            set_shape(value, known)
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in symbols:  # it now has a size, even if that is unknown
                dim.ClearField("dim_param")
    copy.graph.value_info.extend(_corrections(copy, types))
    return copy


def _corrections(proto: onnx.ModelProto, types: Types) -> Iterator[onnx.ValueInfoProto]:
    """Types that inference would get wrong: onnxruntime shares buffers based on them, and fails if they are wrong."""
    declared = {value.name for value in (*proto.graph.value_info, *proto.graph.output)}
    plain = infer_types(proto, {})
    for name, true in types.items():
        if name not in declared and true.shape is not None and plain.get(name, true) != true:
            yield onnx.helper.make_tensor_value_info(name, true.element, true.shape)
