"""`fix-initialisers`: turns initializers that are also inputs into constants, which onnxruntime may fold and fuse."""

from __future__ import annotations

import onnx

from onnxperf.model.graph import initialisers
from onnxperf.model.rewrites.base import CONSTANTS_NEED_NO_INPUT, keep


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Remove them from the inputs; in models of an old IR version they are inputs by definition."""
    names = initialisers(proto.graph)
    if proto.ir_version < CONSTANTS_NEED_NO_INPUT or all(value.name not in names for value in proto.graph.input):
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    keep(copy.graph.input, [value for value in proto.graph.input if value.name not in names])
    return copy
