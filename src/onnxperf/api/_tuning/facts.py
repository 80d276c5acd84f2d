"""What decides which knobs are worth trying, read from a model in the process that reads models."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from onnxperf.api._shared.setups import environment_of
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._shared.variants import session_of
from onnxperf.api._tuning.request import Aim
from onnxperf.errors import OnnxperfError
from onnxperf.measure.model_reader import applied
from onnxperf.records.options import SessionOptions
from onnxperf.records.tune import TuneChoice
from onnxperf.runtimes.find import find_runtime
from onnxperf.runtimes.ort import config_keys
from onnxperf.tuning.base import ModelFacts

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_ENGINES = {"openvino": "openvino", "numpy": "numpy"}
"""Runtimes that may be faster, and the module without which they are not installed."""
_OF_ALL_RUNTIMES = frozenset({"threads"})
"""Settings that these have, too."""
_HEAVY = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "Attention", "Einsum", "Resize"})
"""Operators that are worth running side by side; trees are, too."""


class _GraphFacts(Struct, frozen=True):
    operators: dict[str, int]
    branches: bool
    cast_chain: bool


def facts_of(entry: Entry, cores: int, aim: Aim) -> ModelFacts:
    """Facts of a model with its inputs; a requested call style is the only one.

    Other runtimes do not have the settings of onnxruntime: if some were given, there are no such choices.
    """
    found = msgspec.msgpack.decode(applied(entry.model, f"{__name__}:graph_facts", b""), type=_GraphFacts)
    names = [size for each in entry.model.inputs for size in each.shape or () if isinstance(size, str)]
    return ModelFacts(
        operators=found.operators,
        symbolic={name: entry.feeds.dims[name] for name in dict.fromkeys(names) if name in entry.feeds.dims},
        branches=found.branches,
        cast_chain=found.cast_chain,
        cores=cores,
        calls=() if aim.call else tuple(_other_calls(entry)),
        runtimes=() if {*aim.fixed} - _OF_ALL_RUNTIMES else tuple(_other_runtimes()),
    )


def version_for(session: SessionOptions) -> str:
    """The version of onnxruntime that a session has."""
    if not session.env:
        from onnxperf.runtimes.ort.session import VERSION  # the library is large, and not always needed

        return VERSION
    packages = environment_of(session.env).packages
    return next((text for name, text in packages.items() if name.startswith("onnxruntime")), config_keys.NEWEST)


def is_known(choice: TuneChoice, version: str, provider: str = "cpu") -> bool:
    """Whether this onnxruntime has everything that a choice names."""
    try:
        session = session_of(choice.settings)
        for key, value in session.options.items():
            config_keys.check_key(key, version, [provider])
            config_keys.check_value(key, value)
        for name in session.disabled_optimizers:
            config_keys.check_optimizer(name, version, [provider])
    except OnnxperfError:
        return False
    return True


def _other_runtimes() -> Iterator[str]:
    return (name for name, module in _ENGINES.items() if importlib.util.find_spec(module) is not None)


def _other_calls(entry: Entry) -> Iterator[str]:
    for style in find_runtime("ort").calls:
        try:
            style.check(entry.feeds.arrays)
        except OnnxperfError:
            continue
        if style.name != "run":
            yield style.name


# ---------------------------------------------------------------- in the reader


def graph_facts(proto: ModelProto, _question: bytes) -> bytes:
    """Answers `facts_of`."""
    nodes = [*_all_nodes(proto.graph.node), *(node for each in proto.functions for node in _all_nodes(each.node))]
    operators = Counter(node.op_type for node in nodes)
    return msgspec.msgpack.encode(_GraphFacts(dict(operators), _has_branches(proto.graph), _has_cast_chain(nodes)))


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes with those of their subgraphs, without recursion: strangers may nest them deeply."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            waiting += attribute.g.node
            for graph in attribute.graphs:
                waiting += graph.node


def _has_branches(graph: GraphProto) -> bool:
    """Whether two heavy nodes are equally far from the inputs, counted in heavy nodes, and share none of their way."""
    depths: dict[str, int] = {}
    found: Counter[int] = Counter()
    for node in graph.node:
        depth = max((depths.get(name, 0) for name in node.input), default=0)
        if node.op_type in _HEAVY or node.op_type.startswith("TreeEnsemble"):
            depth += 1
            found[depth] += 1
        depths |= dict.fromkeys(node.output, depth)
    return any(number > 1 for number in found.values())


def _has_cast_chain(nodes: Iterable[NodeProto]) -> bool:
    casts = [node for node in nodes if node.op_type == "Cast"]
    written = {name for node in casts for name in node.output}
    return any(name in written for node in casts for name in node.input)
