"""The runtime `numpy`: a graph compiled to one Python function."""

from __future__ import annotations

from pathlib import Path

import onnx

from onnxperf.records import SessionOptions
from onnxperf.runtimes.numpy.session import NumpySession

CALLS = ("run",)


def open_session(model: Path | bytes, options: SessionOptions) -> NumpySession:
    """Compile a model; threads are those of numpy's BLAS, which only a process of its own can set."""
    del options
    return NumpySession(onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model))
