"""ONNX models as files; the weights of large ones go into a file beside them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.errors import FileNotWritten
from onnxperf.wording.names import visible

if TYPE_CHECKING:
    from onnx import ModelProto

INLINE_BYTES = 2**30
"""Beyond this the weights go into a file beside the model; protobuf ends at 2 GiB, and readers need room."""


def write_model(proto: ModelProto, path: Path, size_bytes: int) -> bool:
    """Write a model of this size; returns whether its weights went into a file beside it."""
    try:
        return _write(proto, path, size_bytes > INLINE_BYTES)
    except OSError as error:
        raise FileNotWritten(f"cannot write {visible(str(path))}: {error.strerror or error}") from error


def _write(proto: ModelProto, path: Path, large: bool) -> bool:
    """Write aside and move: a reader finds the old model or the new one, never a part."""
    import onnx

    with tempfile.TemporaryDirectory(prefix=".onnxperf-", dir=path.absolute().parent) as folder:
        written = Path(folder) / path.name
        weights = written.with_name(f"{path.name}.data")
        if large:
            onnx.save_model(_with_raw_weights(proto), written, save_as_external_data=True, location=weights.name)
        else:
            written.write_bytes(proto.SerializeToString())
        has_weights_beside = weights.is_file()
        if has_weights_beside:
            weights.replace(path.with_name(weights.name))
        written.replace(path)
    return has_weights_beside


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
