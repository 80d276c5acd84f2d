"""The Einsum nodes of a model, found and replaced by the process that reads models: what is asked, and what answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from onnxperf.contraction.rewrite import Site
from onnxperf.measure.model_reader import Shapes, applied
from onnxperf.model.opened import Model

if TYPE_CHECKING:
    from onnx import ModelProto

Graphs = Mapping[int, bytes]
"""Serialised graphs by the place of the Einsum node that they replace."""


class FoundEinsums(Struct, frozen=True):
    """The Einsum nodes of a model."""

    opset: int
    sites: tuple[Site, ...]


class _Search(Struct, frozen=True):
    shapes: dict[str, tuple[int, ...]]


class _Replacement(Struct, frozen=True):
    shapes: dict[str, tuple[int, ...]]
    graphs: dict[int, bytes]
    path: str


def einsums_in(model: Model, shapes: Shapes) -> FoundEinsums:
    """All Einsum nodes, equal ones together; `shapes` are those of the model's inputs."""
    answer = applied(model, f"{__name__}:find", msgspec.msgpack.encode(_Search(dict(shapes))))
    return msgspec.msgpack.decode(answer, type=FoundEinsums)


def write_replaced(model: Model, shapes: Shapes, graphs: Graphs, path: Path) -> None:
    """Write a copy with fixed shapes, and with graphs in place of nodes; its external data stay where they are."""
    wanted = _Replacement(dict(shapes), dict(graphs), str(path))
    applied(model, f"{__name__}:replace", msgspec.msgpack.encode(wanted))


# ---------------------------------------------------------------- in the reader


def find(proto: ModelProto, question: bytes) -> bytes:
    """Answers `einsums_in`."""
    from onnxperf.contraction import rewrite
    from onnxperf.model.graph import opset_of

    shapes = msgspec.msgpack.decode(question, type=_Search).shapes
    return msgspec.msgpack.encode(FoundEinsums(opset_of(proto), tuple(rewrite.sites(proto, shapes))))


def replace(proto: ModelProto, question: bytes) -> bytes:
    """Answers `write_replaced`."""
    import onnx

    from onnxperf.contraction import rewrite

    wanted = msgspec.msgpack.decode(question, type=_Replacement)
    graphs = {place: onnx.load_from_string(graph) for place, graph in wanted.graphs.items()}
    copy = rewrite.replaced(rewrite.fixed(proto, wanted.shapes), graphs)
    Path(wanted.path).write_bytes(copy.SerializeToString())
    return b""
