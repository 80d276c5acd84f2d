"""Modules of the source framework that nodes come from, as recorded by exporters in the model."""

from __future__ import annotations

import onnx

from onnxperf.model.graph import all_nodes, text

_NAMESPACE = "namespace"
"""What torch's exporter writes for a node: `: Net/encoder: Encoder/encoder.0: Layer/relu: aten.relu.default`."""


def modules_of(proto: onnx.ModelProto) -> dict[str, str]:
    """Modules by node name, such as `encoder.layer.0`; empty for the outermost one."""
    found = {node.name: _module(node) for node in all_nodes(proto)}
    return {name: module for name, module in found.items() if module is not None}


def _module(node: onnx.NodeProto) -> str | None:
    namespace = next((text(each.value) for each in node.metadata_props if each.key == _NAMESPACE), None)
    if namespace is not None:
        # The first scope is the model, the last one the operation.
        scopes = [scope.partition(": ")[0] for scope in namespace.split("/")[1:-1]]
        return scopes[-1] if scopes else ""
    if not node.name.startswith("/"):
        return None
    return _joined(node.name[1:].split("/")[:-1])


def _joined(scopes: list[str]) -> str:
    """The scopes in a name by torch's older exporter: `/layer1/layer1.0/conv1/Conv` contains a repeated one."""
    path: list[str] = []
    for scope in scopes:
        if path and scope.startswith(f"{path[-1]}."):
            path.pop()
        path.append(scope)
    return ".".join(path)
