"""Symbolic dimensions: values that depend on them are computed in every call and cannot be fused or planned."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import executed_as_written, executed_where, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.profile import NodeTime
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import count, sampled_percent

_SHAPE_OPERATORS = frozenset({"Shape", "Size"})
_FOLLOWING = frozenset(
    {
        "Gather",
        "Concat",
        "Unsqueeze",
        "Squeeze",
        "Slice",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Cast",
        "Range",
        "ConstantOfShape",
    }
)
"""Operators applied to shapes, if their outputs are integers."""
_MOST_ELEMENTS = 8
"""Maximum number of elements of a tensor that counts as a shape or a part of one."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Nodes that only compute shapes in a model with symbolic input dimensions."""
    sizes = sizes_of_symbols(facts)
    nodes = executed_where(facts.profile, _computes_shapes)
    share = share_of(facts.profile, nodes)
    if not sizes or share is None or not any(node.op_name in _SHAPE_OPERATORS for node in nodes):
        return
    settings = {f"dim.{name}": str(size) for name, size in sizes.items()}
    yield Hazard(
        kind="dynamic-dims",
        title="shapes computed in every call",
        evidence=f"{count(len(nodes), 'node that computes shapes', 'nodes that compute shapes')}, "
        f"{sampled_percent(share)} of the time, because "
        f"{count(len(sizes), 'dimension is', 'dimensions are')} symbolic: {dims_text(sizes)}",
        remedy=f"fix the {_free(len(sizes))}, if their sizes never change, in the session or in the model",
        nodes=names_of(nodes),
        share=share,
        trials=(Trial(name=", ".join(f"{key}={value}" for key, value in settings.items()), settings=settings),),
    )


def _free(number: int) -> str:
    return "free dimension" if number == 1 else f"{number} free dimensions"


def sizes_of_symbols(facts: Facts) -> dict[str, int]:
    """Sizes of symbolic dimensions in the profile, as far as tensor shapes reveal them."""
    inspection = facts.inspection
    found: dict[str, int] = {}
    for name, shape in _shapes(facts):
        dims = inspection.tensors[name].dims if name in inspection.tensors else None
        if dims is not None and len(dims) == len(shape):
            for dim, size in zip(dims, shape, strict=True):
                if isinstance(dim, str):
                    found.setdefault(dim, size)
    return {name: found[name] for name in inspection.symbols if name in found}


def _shapes(facts: Facts) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Tensors of the model with shapes known from the profile: first inputs of unchanged nodes, then results."""
    graph = facts.inspection.graph
    executed = executed_as_written(facts.profile, graph)
    fed = set(graph.inputs)
    for node in graph.nodes:
        if node.name in executed and not fed.isdisjoint(node.inputs):
            types = executed[node.name].inputs
            if len(types) == len(node.inputs):
                yield from ((name, each.shape) for name, each in zip(node.inputs, types, strict=True) if name in fed)
    for each in facts.profile.nodes:
        yield from ((name, found.shape) for name, found in zip(each.tensors, each.outputs, strict=False))


def _computes_shapes(node: NodeTime) -> bool:
    if node.op_name in _SHAPE_OPERATORS:
        return True
    made = [each for each in node.outputs if each.dtype == "int64" and math.prod(each.shape) <= _MOST_ELEMENTS]
    return node.op_name in _FOLLOWING and bool(made) and len(made) == len(node.outputs)
