"""The reader's side: parses and analyzes models, and returns only records."""

from __future__ import annotations

import importlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from onnxperf.errors import BadModel
from onnxperf.measure.memory import trim
from onnxperf.measure.reading import (
    Applied,
    Apply,
    FindRandom,
    FoundRandom,
    ModelPlace,
    Open,
    Opened,
    OperatorCount,
    Outline,
    Outlined,
    Sized,
    SizeUp,
    Translate,
    Translated,
    View,
    Viewed,
    Weigh,
    Weighed,
)
from onnxperf.measure.worker.host import Host
from onnxperf.measure.worker.limits import allow_memory
from onnxperf.model.cost import infer_types, work_of_nodes
from onnxperf.model.graph import all_nodes, all_tensors
from onnxperf.model.load import Parsed, describe, parse_file
from onnxperf.model.modules import modules_of
from onnxperf.model.outline import outline as outline_of
from onnxperf.model.outline import with_names
from onnxperf.model.randomness import random_operators
from onnxperf.model.tensors import stored_bytes
from onnxperf.model.view import view_of_proto
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import CompiledSession
from onnxperf.runtimes.find import find_runtime

_KEPT = 2
"""Number of models kept parsed: a comparison uses two."""
_LARGEST = 2**62
"""Maximum size of a tensor in bytes; larger declared sizes cannot exist."""
_State = tuple[int, int, int]


@dataclass(eq=False)
class _Shelf:
    """Cache of the most recently parsed models, valid as long as their files do not change."""

    parsed: dict[bytes, tuple[_State, Parsed]] = field(default_factory=dict)

    def take(self, place: ModelPlace) -> Parsed:
        """The model, parsed unless cached."""
        state = _state(place.path)
        if self.parsed.get(place.name, (None,))[0] != state:
            self.parsed.pop(place.name, None)
            for other in list(self.parsed)[: 1 - _KEPT]:
                del self.parsed[other]
            trim()
            allow_memory(place.memory_bytes)
            self.parsed[place.name] = state, parse_file(place.path, place.what)
        else:
            allow_memory(place.memory_bytes)
        return self.parsed[place.name][1]


def _state(path: Path) -> _State:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return 0, 0, 0  # parsing raises the error
    return status.st_mtime_ns, status.st_size, status.st_ino


_SHELF = _Shelf()


def open_file(_host: Host, request: Open) -> Opened:
    """Parse a model and describe it."""
    found = describe(_SHELF.take(request.place), request.place.path, request.alone)
    return Opened(
        inputs=found.inputs,
        overridable=found.overridable,
        outputs=found.outputs,
        files=tuple(map(os.fsencode, found.files)),
        size_bytes=found.size_bytes,
        table_sizes=found.table_sizes,
    )


def view(_host: Host, request: View) -> Viewed:
    """Read everything to show of a model."""
    proto = _SHELF.take(request.place).proto
    return Viewed(view_of_proto(proto, request.place.path.parent, request.values, request.shapes))


def find_random(_host: Host, request: FindRandom) -> FoundRandom:
    """Find operators that draw random numbers."""
    return FoundRandom(random_operators(_SHELF.take(request.place).proto))


def outline(_host: Host, request: Outline) -> Outlined:
    """Reduce a model to its outline, and write a copy with node names if needed."""
    proto = _SHELF.take(request.place).proto
    named, is_copy = with_names(proto) if request.named else (proto, False)
    if is_copy and request.copy_path:
        Path(request.copy_path).write_bytes(named.SerializeToString())
    counts = Counter((node.domain, node.op_type) for node in all_nodes(proto))
    return Outlined(
        graph=outline_of(named),
        operators=tuple(OperatorCount(*operator, nodes) for operator, nodes in counts.items()),
        modules=modules_of(named),
        functions=len(proto.functions),
        written=is_copy and bool(request.copy_path),
    )


def weigh(_host: Host, request: Weigh) -> Weighed:
    """Estimate the work of nodes from inferred shapes."""
    named, _ = with_names(_SHELF.take(request.place).proto)
    return Weighed(work_of_nodes(named, request.shapes))


def size_up(_host: Host, request: SizeUp) -> Sized:
    """Infer the sizes of tensors, and add up the stored weights."""
    proto = _SHELF.take(request.place).proto
    types = infer_types(proto, request.shapes)
    sizes = {name: _size(each.element, each.shape) for name, each in types.items() if each.shape is not None}
    known = {name: size for name, size in sizes.items() if size < _LARGEST}
    listed = (attribute for node in all_nodes(proto) for attribute in node.attribute)
    # operators such as LinearRegressor store their weights in attributes
    numbers = sum(4 * len(each.floats) + 8 * len(each.ints) for each in listed)
    return Sized(known, numbers + sum(_size(tensor.data_type, tensor.dims) for tensor in all_tensors(proto)))


def _size(data_type: int, dims: Iterable[int]) -> int:
    """Bytes of a tensor; strings, whose length is not in the shape, count as 0."""
    return stored_bytes(data_type, math.prod(dims)) or 0


def apply(_host: Host, request: Apply) -> Applied:
    """Apply a function, which is imported on its first request."""
    module, _, name = request.function.partition(":")
    function: Callable[[onnx.ModelProto, bytes], bytes] = getattr(importlib.import_module(module), name)
    return Applied(function(_SHELF.take(request.place).proto, request.question))


def translate(_host: Host, request: Translate) -> Translated:
    """Compile a model with the numpy runtime, without running it."""
    _SHELF.take(request.place)
    session = find_runtime("numpy").open_session(request.place.path, SessionOptions())
    if not isinstance(session, CompiledSession):
        raise BadModel(f"the numpy runtime cannot compile {request.place.what}")
    return Translated(session.source)
