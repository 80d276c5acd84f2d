"""Rewrites by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from onnxperf.errors import BadOption

if TYPE_CHECKING:  # the names are also used without onnx
    from onnx import ModelProto

    from onnxperf.model.rewrites.base import Rewriting

EINSUM = "einsum"
"""A rewrite that needs the shapes of a call: implemented in `contraction`."""
REWRITES: dict[str, str] = {
    "drop-casts": "drop_casts",
    "drop-nan-guards": "drop_nan_guards",
    "drop-unused": "drop_unused",
    "fix-initialisers": "fix_initialisers",
    "float32": "float32",
    "flush-denormals": "flush_denormals",
    "fold-constants": "fold_constants",
    "gelu": "gelu",
    "layernorm": "layernorm",
    "merge-transposes": "merge_transposes",
    "opset": "opset",
    "widen-float16": "widen_float16",
}
"""The file in this folder for each of the others."""
READS_WEIGHTS = frozenset({"widen-float16", "float32", "flush-denormals", "fold-constants"})
"""Those that need external data."""


def check_name(name: str) -> None:
    """Reject an unknown rewrite."""
    if name not in REWRITES and name != EINSUM:
        raise BadOption.unknown("rewrite", name, sorted([*REWRITES, EINSUM]))


def rewrite(proto: ModelProto, name: str) -> ModelProto | None:
    """The model with one rewrite applied; None if there is nothing to rewrite, or its graph is not valid."""
    from onnxperf.model.rewrites.base import is_sound

    check_name(name)
    if not is_sound(proto.graph):
        return None
    module = importlib.import_module(f"onnxperf.model.rewrites.{REWRITES[name]}")
    return cast("Rewriting", module.rewrite)(proto)
