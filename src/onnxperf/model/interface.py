"""Changes to a model's interface: names of inputs, outputs and dimensions, and its origin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import onnx

from onnxperf.errors import BadOption
from onnxperf.model.graph import all_names, all_nodes, initialisers, with_bodies
from onnxperf.wording.numbers import count

Axis = tuple[str, int]
"""Name of an input or output, and number of an axis."""

_SYMBOL = re.compile(r"[^\W\d]\w*")
_MADE_UP = re.compile(r"[su]\d+|unk__\d+|_?dim_?\d+")
"""Symbols of torch and tf2onnx for unnamed sizes."""
# torch writes the source lines that created a node, including their folders.
_PRIVATE_KEYS = frozenset({"pkg.torch.onnx.stack_trace"})


# ---------------------------------------------------------------- names of values


def rename_inputs(proto: onnx.ModelProto, names: Sequence[str]) -> None:
    """Give the inputs these names, in order, everywhere in the model."""
    old = [value.name for value in proto.graph.input]
    _check_names("input_names", old, names)
    _rename(proto, dict(zip(old, names, strict=True)))


def distinct_names(outputs: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Names of outputs, changed if an input or another output has the same name."""
    names: list[str] = []
    for output in outputs:
        name = f"{output}_output" if output in inputs else output
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def rename_outputs(proto: onnx.ModelProto, names: Sequence[str]) -> None:
    """Give the outputs these names, in order, everywhere in the model."""
    old = [value.name for value in proto.graph.output]
    _check_names("output_names", old, names)
    _own_outputs(proto.graph)
    current = [value.name for value in proto.graph.output]
    _rename(proto, dict(zip(current, names, strict=True)))


def _check_names(option: str, old: Sequence[str], new: Sequence[str]) -> None:
    if len(old) != len(new):
        problem = f"{count(len(new), 'name')} for {len(old)} of the model: {', '.join(old)}"
        raise BadOption(problem, option=option, value=",".join(new))
    for name in new:
        if not name or not name.isprintable():
            raise BadOption(f"{name!r} is not a printable name", option=option)
        if new.count(name) > 1:
            raise BadOption(f"{name} is given twice", option=option, value=",".join(new))


def _own_outputs(graph: onnx.GraphProto) -> None:
    """Give an output that is also an input, a constant or another output its own node, so that it can be renamed."""
    taken = {value.name for value in graph.input} | initialisers(graph)
    used = all_names(graph)
    for value in graph.output:
        if value.name in taken:
            fresh = _fresh(f"{value.name}_output", used)
            graph.node.append(onnx.helper.make_node("Identity", [value.name], [fresh]))
            value.name = fresh
        taken.add(value.name)
        used.add(value.name)


def _rename(proto: onnx.ModelProto, wanted: Mapping[str, str]) -> None:
    """Rename values all at once; other values that have one of the new names are renamed first."""
    changes = {old: new for old, new in wanted.items() if old != new}
    used = all_names(proto.graph) | set(changes.values())
    interface = {value.name for value in (*proto.graph.input, *proto.graph.output)}
    for new in changes.values():
        if new in changes or new not in used:
            continue
        if new in interface:
            raise BadOption(f"the name {new!r} already belongs to another input or output; choose another name")
        changes = {**changes, new: _fresh(f"{new}_inner", used)}
    if changes:
        _rename_graph(proto.graph, changes)


def _fresh(stem: str, used: set[str]) -> str:
    name, number = stem, 1
    while name in used:
        number += 1
        name = f"{stem}_{number}"
    used.add(name)
    return name


def _rename_graph(graph: onnx.GraphProto, changes: Mapping[str, str]) -> None:
    # In ONNX an inner graph cannot reuse an outer name for something else, so a name means one value everywhere.
    for each in with_bodies(graph):
        for value in (*each.input, *each.output, *each.value_info):
            value.name = changes.get(value.name, value.name)
        for tensor in (*each.initializer, *(sparse.values for sparse in each.sparse_initializer)):
            tensor.name = changes.get(tensor.name, tensor.name)
        for node in each.node:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    names[index] = changes.get(name, name)


# ---------------------------------------------------------------- dimensions


def free_axes(values: Iterable[onnx.ValueInfoProto]) -> dict[Axis, str]:
    """Every free axis of tensors, with its symbol, which may be empty."""
    return {
        (value.name, axis): dim.dim_param
        for value in values
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if not dim.HasField("dim_value") or dim.dim_value < 0
    }


def own_name(symbol: str) -> str:
    """The symbol of an axis, if the author of the source chose it; empty for symbols invented by converters."""
    return symbol if symbol.isidentifier() and not _MADE_UP.fullmatch(symbol) else ""


def rename_symbols(proto: onnx.ModelProto, changes: Mapping[str, str]) -> None:
    """Rename symbols of dimensions everywhere in the model."""
    for each in with_bodies(proto.graph):
        for value in (*each.input, *each.output, *each.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param:
                    _set_dimension(dim, _substituted(dim.dim_param, changes))


def name_input_axes(proto: onnx.ModelProto, names: Mapping[Axis, str], sizes: Mapping[str, Sequence[int]]) -> None:
    """Name the free axes of inputs; unnamed ones get the size that the sample has there.

    The converter's symbols are replaced everywhere else, too, even inside expressions such as 2*s72.
    """
    symbols: dict[str, set[str]] = {}
    for (value, axis), symbol in free_axes(proto.graph.input).items():
        symbols.setdefault(symbol, set()).add(names.get((value, axis)) or str(sizes[value][axis]))
    rename_symbols(proto, {old: new.pop() for old, new in symbols.items() if old and len(new) == 1})
    for value in proto.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if (value.name, axis) in names:
                dim.dim_param = names[value.name, axis]
            elif not dim.HasField("dim_value") or dim.dim_value < 0:
                dim.dim_value = sizes[value.name][axis]


def name_output_axes(
    proto: onnx.ModelProto,
    dims: Sequence[Mapping[str, int]],
    shapes: Sequence[Mapping[str, tuple[int, ...]]],
) -> None:
    """Name the axes of outputs that follow a dimension of the inputs, as shown by two runs with different sizes."""
    pairs = {(dims[0][name], dims[1][name]): name for name in dims[0]}
    for value in proto.graph.output:
        first, second = (run.get(value.name) for run in shapes)
        if first is None or second is None or len(first) != len(second):
            continue
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or len(tensor.shape.dim) not in (0, len(first)):
            continue
        while len(tensor.shape.dim) < len(first):
            tensor.shape.dim.add()
        for dim, sizes in zip(tensor.shape.dim, zip(first, second, strict=True), strict=True):
            if sizes in pairs:
                dim.dim_param = pairs[sizes]
            elif sizes[0] != sizes[1] and not _speaks_of(dim.dim_param, dims[0]):
                dim.ClearField("value")  # it varies, but no name describes how


def drop_foreign_symbols(proto: onnx.ModelProto, known: Iterable[str]) -> None:
    """Remove symbols of outputs that mean nothing to a user, such as unk__764."""
    names = set(known)
    for value in proto.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param and not _speaks_of(dim.dim_param, names):
                dim.ClearField("value")


def _speaks_of(symbol: str, names: Iterable[str]) -> bool:
    """Whether a symbol, or an expression of symbols, uses only known names."""
    known = set(names)
    return symbol in known or (bool(symbol) and all(word in known for word in _SYMBOL.findall(symbol)))


def _substituted(symbol: str, changes: Mapping[str, str]) -> str:
    if symbol in changes:
        return changes[symbol]
    return _SYMBOL.sub(lambda found: changes.get(found[0], found[0]), symbol)


def _set_dimension(dim: onnx.TensorShapeProto.Dimension, text: str) -> None:
    if text.isascii() and text.isdigit():
        dim.dim_value = int(text)
    else:
        dim.dim_param = text


# ---------------------------------------------------------------- origin


def tidy(proto: onnx.ModelProto) -> None:
    """Remove what a converter should not have written: local folders, an opset declared twice."""
    holders = (*all_nodes(proto), proto.graph, *proto.graph.value_info, *proto.graph.initializer)
    for holder in holders:
        kept = [(each.key, each.value) for each in holder.metadata_props if each.key not in _PRIVATE_KEYS]
        if len(kept) < len(holder.metadata_props):
            del holder.metadata_props[:]
            for key, text in kept:
                holder.metadata_props.add(key=key, value=text)
    versions: dict[str, int] = {}
    for opset in proto.opset_import:
        versions[opset.domain] = max(opset.version, versions.get(opset.domain, 0))
    del proto.opset_import[:]
    for domain, version in versions.items():
        proto.opset_import.add(domain=domain, version=version)


def stamp(proto: onnx.ModelProto, facts: Mapping[str, str]) -> None:
    """Write the origin into the model."""
    kept = {each.key: each.value for each in proto.metadata_props} | dict(facts)
    del proto.metadata_props[:]
    for key, text in kept.items():
        proto.metadata_props.add(key=key, value=text)
