"""Finds the files that hold a model's external data, and rejects those that are missing, short or elsewhere."""

from __future__ import annotations

import math
from pathlib import Path, PureWindowsPath

import onnx

from onnxperf.errors import BadModel
from onnxperf.model.graph import all_tensors, is_external
from onnxperf.model.tensors import stored_bytes


def external_files(proto: onnx.ModelProto, model_path: Path, what: str) -> tuple[Path, ...]:
    """The files that store a model's tensors, each once, sorted by name."""
    sizes: dict[str, int] = {}
    for tensor in all_tensors(proto):
        if not is_external(tensor):
            continue
        entries = {e.key: e.value for e in tensor.external_data}
        location = entries.get("location", "")
        if location not in sizes:
            sizes[location] = _check_file(location, model_path, tensor.name, what)
        _check_extent(entries, sizes[location], tensor, what)
    return tuple(model_path.parent / location for location in sorted(sizes))


def load_external_data(proto: onnx.ModelProto, model_path: Path) -> None:
    """Read external data into a model, from files that `external_files` accepts: onnx rejects all links."""
    external_files(proto, model_path, repr(str(model_path)))
    for tensor in filter(is_external, all_tensors(proto)):
        entries = {e.key: e.value for e in tensor.external_data}
        with (model_path.parent / entries["location"]).open("rb") as file:
            file.seek(int(entries.get("offset") or 0))
            tensor.raw_data = file.read(int(entries.get("length") or 0) or -1)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")


def _check_file(location: str, model_path: Path, tensor: str, what: str) -> int:
    """The size of a file, after checking that a model may read it."""
    stored = f"{what} stores tensor {tensor!r} in {location!r}"
    if not location:
        raise BadModel(f"{what} is damaged: tensor {tensor!r} is external but has no file name")
    spelled = PureWindowsPath(location)  # parses both kinds of slashes
    file = model_path.parent / location
    try:
        if spelled.anchor or ".." in spelled.parts or not _is_inside(file, model_path):
            raise BadModel(f"{stored}, outside the model's folder; move the file next to the model")
        if not file.is_file():
            raise BadModel(f"{stored}, which is missing from {str(model_path.parent)!r}; put it next to the model")
        status = file.stat()
    except (OSError, ValueError) as error:
        raise BadModel(f"{stored}, which cannot be read: {error}") from error
    if status.st_nlink > 1:
        # the file may also exist outside the folder under another name; onnx rejects it for this reason
        raise BadModel(f"{stored}, which is a hard link to a file that may be elsewhere; replace it with a copy")
    return status.st_size


def _is_inside(file: Path, model_path: Path) -> bool:
    """Whether a file is really located in the model's folder.

    Caches such as Hugging Face's hold links to both files, and the targets are in one folder: as in onnxruntime, the
    folder of the link's target counts as well.
    """
    real = file.resolve()
    return any(real.is_relative_to(folder) for folder in (model_path.parent.resolve(), model_path.resolve().parent))


def _check_extent(entries: dict[str, str], size: int, tensor: onnx.TensorProto, what: str) -> None:
    try:
        offset, length = int(entries.get("offset") or 0), int(entries.get("length") or 0)
    except ValueError:
        offset = length = -1
    if offset < 0 or length < 0:
        raise BadModel(f"{what} is damaged: offset or length of the external tensor {tensor.name!r} is not a size")
    length = length or stored_bytes(tensor.data_type, math.prod(tensor.dims)) or 0
    if offset + length > size:
        raise BadModel(
            f"external data {entries['location']!r} of {what} is truncated: tensor {tensor.name!r} ends at byte "
            f"{offset + length}, the file at {size}; fetch or export it again"
        )
