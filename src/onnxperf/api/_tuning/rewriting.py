"""What a model's file shows, and the model rewritten: asked here, answered by the process that reads models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from onnxperf.api._shared.einsum_reading import Graphs, einsums_in
from onnxperf.measure.model_reader import Shapes, applied
from onnxperf.model.opened import Model
from onnxperf.model.rewrites.find import EINSUM, READS_WEIGHTS, check_name
from onnxperf.records.inspection import Inspection

if TYPE_CHECKING:
    from onnx import ModelProto

_DONE = b"written"


class _Rewriting(Struct, frozen=True):
    """How a model is to be rewritten."""

    name: str
    model: bytes
    """Its file; names of files need not be text."""
    output: bytes
    shapes: dict[str, tuple[int, ...]] = {}
    """Of the inputs, to which the model is fixed; only with `graphs`."""
    graphs: dict[int, bytes] = {}
    """What takes the places of Einsum nodes."""


def inspection_of(model: Model) -> Inspection:
    """What a model's file shows: types, constants, denormals, and the nodes that advice is about."""
    answer = applied(model, f"{__name__}:inspect", os.fsencode(model.path), weights=True)
    return msgspec.msgpack.decode(answer, type=Inspection)


def rewritten(model: Model, name: str, folder: Path, shapes: Shapes | None = None) -> Path | None:
    """A file in the folder with the rewritten model; None if there is nothing to rewrite.

    Its weights are in files next to it if those of the model are. `einsum` fixes the inputs to `shapes`, or to those
    that the model declares.
    """
    check_name(name)
    path = folder / f"{name}.onnx"
    wanted = _Rewriting(name, os.fsencode(model.path), os.fsencode(path))
    if name == EINSUM:
        settled = dict(shapes) if shapes is not None else _declared(model)
        graphs = _decompositions(model, settled)
        if not graphs:
            return None
        wanted = msgspec.structs.replace(wanted, shapes=settled, graphs=dict(graphs))
    answer = applied(model, f"{__name__}:rewrite", msgspec.msgpack.encode(wanted), weights=True)
    return path if answer == _DONE else None


def _declared(model: Model) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs that have no free dimension."""
    found = {}
    for each in model.inputs:
        sizes = tuple(size for size in each.shape or () if isinstance(size, int))
        if each.shape is not None and len(sizes) == len(each.shape):
            found[each.name] = sizes
    return found


def _decompositions(model: Model, shapes: Shapes) -> Graphs:
    """For each Einsum node the graph without Einsum that should be the fastest by estimate."""
    from onnxperf.contraction.candidates import candidates
    from onnxperf.contraction.equation import parse

    einsums = einsums_in(model, shapes)
    graphs: dict[int, bytes] = {}
    for site in einsums.sites:
        if site.reason or site.shapes is None:
            continue
        rivals = candidates(parse(site.equation, site.shapes), site.dtype, einsums.opset)
        best = next((each for each in rivals if "Einsum" not in _operators(each.model)), None)
        if best is not None:
            graphs |= dict.fromkeys(site.nodes, best.model.SerializeToString())
    return graphs


def _operators(proto: ModelProto) -> Iterator[str]:
    return (node.op_type for node in proto.graph.node)


# ---------------------------------------------------------------- in the reader


def inspect(proto: ModelProto, question: bytes) -> bytes:
    """Answers `inspection_of`."""
    from onnxperf.model import inspection

    return msgspec.msgpack.encode(inspection.inspect(proto, Path(os.fsdecode(question)).parent))


def rewrite(proto: ModelProto, question: bytes) -> bytes:
    """Answers `rewritten`."""
    from onnxperf.model.rewrites import find, save

    wanted = msgspec.msgpack.decode(question, type=_Rewriting)
    path = Path(os.fsdecode(wanted.model))
    source = save.with_weights(proto, path) if wanted.name in READS_WEIGHTS else proto
    changed = _with_graphs(source, wanted) if wanted.graphs else find.rewrite(source, wanted.name)
    if changed is None:
        return b""
    save.save(save.with_weights(changed, path), Path(os.fsdecode(wanted.output)), save.has_external_data(proto))
    return _DONE


def _with_graphs(proto: ModelProto, wanted: _Rewriting) -> ModelProto:
    import onnx

    from onnxperf.contraction import rewrite

    graphs = {place: onnx.load_from_string(graph) for place, graph in wanted.graphs.items()}
    return rewrite.replaced(rewrite.fixed(proto, wanted.shapes), graphs)
