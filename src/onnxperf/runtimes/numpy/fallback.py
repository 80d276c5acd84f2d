"""Operators without a kernel of ours run in onnx's reference evaluator, one node at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnxperf.errors import BadModel
from onnxperf.model.graph import ONNX_DOMAIN
from onnxperf.runtimes.numpy.base import Kernel, Node


def fallback_kernel(node: Node, captures: Sequence[str], constants: Mapping[str, Any]) -> Kernel:
    """A kernel that runs the node in the reference evaluator, through its public interface only."""
    if not onnx.defs.has(node.op, domain=node.domain, max_inclusive_version=node.version):
        raise BadModel(
            f"operator {node.op} of domain {node.domain or ONNX_DOMAIN} does not exist in opset {node.version}; "
            "the numpy runtime cannot run it"
        )
    names = [*node.proto.input, *captures]
    evaluators: dict[tuple[str, ...], ReferenceEvaluator] = {}

    def run(*arrays: Any) -> Any:
        given = {**constants, **{name: array for name, array in zip(names, arrays, strict=True) if name}}
        types = tuple(_type_name(value) for value in given.values())
        if types not in evaluators:
            evaluators[types] = ReferenceEvaluator(_one_node_model(node, given))
        outputs: Any = evaluators[types].run(None, given)
        if node.output_count == 1:
            return outputs[0]
        results = iter(outputs)  # only named outputs were requested
        return tuple(next(results) if name else None for name in node.proto.output[: node.output_count])

    return Kernel(run)


def _type_name(value: object) -> str:
    return value.dtype.name if isinstance(value, np.ndarray | np.generic) else type(value).__name__


def _one_node_model(node: Node, given: dict[str, object]) -> onnx.ModelProto:
    """The types of the inputs matter: some operators are defined by functions that depend on them."""
    used = [name for name in node.proto.output[: node.output_count] if name]
    graph = helper.make_graph(
        [node.proto],
        "fallback",
        [_declare(name, value) for name, value in given.items()],
        [onnx.ValueInfoProto(name=name) for name in used],
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in node.opsets.items()]
    return helper.make_model(graph, opset_imports=opsets)


def _declare(name: str, value: object) -> onnx.ValueInfoProto:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "OUS":
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
    if isinstance(value, np.ndarray):
        return helper.make_tensor_value_info(name, onnx.TensorProto.STRING, value.shape)
    return onnx.ValueInfoProto(name=name)
