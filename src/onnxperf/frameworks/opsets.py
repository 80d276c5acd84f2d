"""Models in an older version of ONNX's operators than the one that an exporter writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxperf.errors import BadOption
from onnxperf.wording.names import one_line

if TYPE_CHECKING:
    import onnx

_ASSERTION = re.compile(r"^\S+: \w+: Assertion .* failed: ")
"""Where in its source the converter gave up, which stands before the reason."""
_WRITTEN_BY_TORCH = 18
"""The oldest opset that torch's exporter writes by itself."""


def written_for(asked: int | None) -> int | None:
    """The opset to ask torch's exporter for: of an older one, it would return another in silence."""
    return None if asked is None else max(asked, _WRITTEN_BY_TORCH)


def lowered(proto: onnx.ModelProto, asked: int) -> onnx.ModelProto:
    """The model in the opset that was asked for, by onnx's version converter; refused with its reason if it fails."""
    import onnx
    import onnx.version_converter

    from onnxperf.model.graph import opset_of

    written = opset_of(proto)
    if written <= asked:
        return proto
    try:
        converted = onnx.version_converter.convert_version(proto, asked)
        onnx.checker.check_model(converted)
    except Exception as error:  # C++ code of onnx, which raises what it likes
        reason = _ASSERTION.sub("", one_line(error)).replace("`", "'")
        raise _refusal(asked, written, reason) from error
    if opset_of(converted) != asked:
        raise _refusal(asked, written, f"it returned opset {opset_of(converted)}")
    return converted


def _refusal(asked: int, written: int, why: str) -> BadOption:
    what = f"torch's exporter writes opset {written}, and onnx's version converter cannot lower this model: {why}"
    return BadOption(what, option="opset", value=asked)
