"""Models in an older opset than the one that an exporter writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxperf.errors import BadOption
from onnxperf.wording.names import one_line

if TYPE_CHECKING:
    import onnx

_ASSERTION = re.compile(r"^\S+: \w+: Assertion .* failed: ")
"""The place in the converter's source that precedes the reason."""
_WRITTEN_BY_TORCH = 18
"""The oldest opset that torch's exporter writes itself."""


def written_for(asked: int | None) -> int | None:
    """The opset to request from torch's exporter: for an older one, it would silently return another."""
    return None if asked is None else max(asked, _WRITTEN_BY_TORCH)


def lowered(proto: onnx.ModelProto, asked: int) -> onnx.ModelProto:
    """The model in the requested opset, by onnx's version converter; if it fails, an error with its reason."""
    import onnx
    import onnx.version_converter

    from onnxperf.model.graph import opset_of

    written = opset_of(proto)
    if written <= asked:
        return proto
    try:
        converted = onnx.version_converter.convert_version(proto, asked)
        onnx.checker.check_model(converted)
    except Exception as error:  # onnx's C++ code may raise anything
        reason = _ASSERTION.sub("", one_line(error)).replace("`", "'")
        raise _refusal(asked, written, reason) from error
    if opset_of(converted) != asked:
        raise _refusal(asked, written, f"it returned opset {opset_of(converted)}")
    return converted


def _refusal(asked: int, written: int, why: str) -> BadOption:
    what = f"torch's exporter writes opset {written}, and onnx's version converter cannot lower this model: {why}"
    return BadOption(what, option="opset", value=asked)
