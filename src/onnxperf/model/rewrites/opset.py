"""`opset`: converts the model to the newest opset that the installed onnxruntime supports."""

from __future__ import annotations

import importlib.metadata

import onnx
import onnx.version_converter

from onnxperf.model.graph import opset_of

_KNOWN_BY: tuple[tuple[tuple[int, int], int], ...] = (
    ((1, 31), 26),
    ((1, 18), 21),
    ((1, 17), 20),
    ((1, 15), 19),
)
"""Onnxruntime releases known to support an opset, newest first; releases in between may support a newer one."""
_OLDEST = 18
_ERRORS = (RuntimeError, ValueError, TypeError, KeyError, IndexError, onnx.checker.ValidationError)
"""Errors that the converter raises for models that it cannot convert."""


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Convert the model; None if it is new enough, or if the converter cannot do it without loss."""
    wanted, found = newest_opset(), opset_of(proto)
    if not 0 < found < wanted or proto.functions or proto.graph.sparse_initializer:
        return None
    try:
        converted = onnx.version_converter.convert_version(proto, wanted)
    except _ERRORS:
        return None
    return converted if opset_of(converted) > found else None


def newest_opset() -> int:
    """The newest opset that both the installed onnxruntime and onnx support."""
    try:
        words = importlib.metadata.version("onnxruntime").split(".")
        release = int(words[0]), int(words[1])
    except (importlib.metadata.PackageNotFoundError, ValueError, IndexError):
        release = (0, 0)
    known = next((opset for since, opset in _KNOWN_BY if release >= since), _OLDEST)
    return min(known, onnx.defs.onnx_opset_version())
