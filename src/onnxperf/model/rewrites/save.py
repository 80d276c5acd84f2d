"""Writes a rewritten model, with its weights next to it if the original stored them in other files."""

from __future__ import annotations

from pathlib import Path

import onnx

from onnxperf.model.external import load_external_data
from onnxperf.model.graph import all_tensors, is_external
from onnxperf.model.opened import check_size

_SMALLEST_EXTERNAL_BYTES = 1024
_LARGEST_FILE_BYTES = 1 << 30
"""The process that writes may not write files of 2 GiB."""


def has_external_data(proto: onnx.ModelProto) -> bool:
    """Whether any tensor is in another file."""
    return any(map(is_external, all_tensors(proto)))


def with_weights(proto: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """A copy with its external data in memory; the model itself if it has none."""
    if not has_external_data(proto):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    load_external_data(copy, path)
    return copy


def save(proto: onnx.ModelProto, path: Path, beside: bool) -> None:
    """Write a model whose weights are in memory; `beside` puts the large ones into files next to it."""
    if beside:
        _move_out(proto, path)
    data = proto.SerializeToString()
    check_size(len(data), "the rewritten model")
    path.write_bytes(data)


def _move_out(proto: onnx.ModelProto, path: Path) -> None:
    large = [each for each in all_tensors(proto) if len(each.raw_data) >= _SMALLEST_EXTERNAL_BYTES]
    number, offset = 0, 0
    for tensor in large:
        length = len(tensor.raw_data)
        if offset and offset + length > _LARGEST_FILE_BYTES:
            number, offset = number + 1, 0
        file = path.with_name(f"{path.name}.{number}.data")
        with file.open("ab" if offset else "wb") as stream:
            stream.write(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", file.name), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        offset += length
