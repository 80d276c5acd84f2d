"""Conversion of saved_model folders by tf2onnx."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.errors import BadInput, BadOption, MissingExtra
from onnxperf.frameworks.base import ExportRequest
from onnxperf.wording.numbers import significant

if TYPE_CHECKING:
    import onnx

SAVED_MODEL_OPTIONS = {
    "custom_ops": "--custom-ops",
    "extra_opset": "--extra_opset",
    "inputs_as_nchw": "--inputs-as-nchw",
    "outputs_as_nchw": "--outputs-as-nchw",
}


def export_saved_model(source: str | os.PathLike[str], request: ExportRequest) -> onnx.ModelProto:
    """Run tf2onnx in a separate process, as recommended by its documentation."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        output = Path(folder) / "model.onnx"
        command = [sys.executable, "-P", "-m", "tf2onnx.convert", "--saved-model", str(source), "--output", str(output)]
        command += [] if request.opset is None else ["--opset", str(request.opset)]
        for name, value in request.options.items():
            if name not in SAVED_MODEL_OPTIONS:
                raise BadOption.unknown("option of tf2onnx", name, SAVED_MODEL_OPTIONS, option="options")
            command += [SAVED_MODEL_OPTIONS[name], str(value)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=request.timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise BadInput(f"tf2onnx took longer than {significant(request.timeout)} s; increase `timeout`") from error
        if done.returncode or not output.is_file():
            if "No module named tf2onnx" in done.stderr:
                raise MissingExtra("tf2onnx", "tensorflow")
            last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason reported")
            raise BadInput(f"tf2onnx cannot convert {str(source)!r}: {' '.join(last.split())[:300]}")
        try:
            proto = onnx.load(output)
        except DecodeError as error:
            raise BadInput(f"tf2onnx wrote a damaged model for {str(source)!r}") from error
    proto.graph.ClearField("doc_string")  # it contains the folder
    return proto
