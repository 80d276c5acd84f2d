"""`drop-unused`: removes initializers and nodes that no output needs."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.base import EditedModel, keep, used_by


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Remove what nothing uses; inputs of the model stay, with their values."""
    unused = unused_initialisers(proto.graph)
    nodes = len(proto.graph.node)
    model = EditedModel(proto).finished()
    dead = unused_initialisers(model.graph)
    if not unused and nodes == len(model.graph.node):
        return None
    keep(model.graph.initializer, [each for each in model.graph.initializer if each.name not in dead])
    return model


def unused_initialisers(graph: onnx.GraphProto) -> set[str]:
    """Names of initializers that no node uses, that are not outputs, and that cannot be fed."""
    used = {name for node in graph.node for name in used_by(node)}
    used.update(value.name for value in (*graph.input, *graph.output))
    return {each.name for each in graph.initializer if each.name not in used}
