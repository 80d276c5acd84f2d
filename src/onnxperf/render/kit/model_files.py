"""ONNX models as files; weights of large ones go into a separate file next to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.drafts import written_aside
from onnxperf.render.kit.files import explained, write

if TYPE_CHECKING:
    from onnx import ModelProto

INLINE_BYTES = 2**30
"""Above this size, weights go into a separate file: protobuf is limited to 2 GiB, and readers need room."""


def write_model(proto: ModelProto, path: Path, size_bytes: int) -> bool:
    """Write a model of this size; returns whether its weights went into a separate file."""
    if size_bytes <= INLINE_BYTES:
        write(path, proto.SerializeToString())
        return False
    import onnx

    weights = path.with_name(f"{path.name}.data")
    with explained(path), written_aside(weights, path) as folder:
        parts = _with_raw_weights(proto)
        onnx.save_model(parts, folder / path.name, save_as_external_data=True, location=weights.name)
        return (folder / weights.name).is_file()


def _with_raw_weights(proto: ModelProto) -> ModelProto:
    """A copy, for saving moves weights out of the proto it is given; only raw ones can be moved."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if not tensor.HasField("raw_data") and tensor.data_type != onnx.TensorProto.STRING:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    return copy
